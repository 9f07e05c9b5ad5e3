"""Published tables of three cells against all tables that there are, whatever was printed of them: with noise and without."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from dp_bayes_nb import (Bernoulli, Beta, Categorical, Clamped, Clip, Counts, Dirichlet, Exact, Exponential, Gamma,
                         Gaussian, Grouped, Laplace, Normal, PrintedAbove, Release, Rounded, Suppressed, declare, fit,
                         read_table)
from dp_bayes_nb.noise.statements import print_rows
from dp_bayes_nb.posterior.noisy_tables import _by_size, released_tree
from dp_bayes_nb.posterior.whole_counts import Leaves, node_marginals, pass_up
from dp_bayes_nb.releases import document

MOST = 14  # of a cell, in the enumeration
CELLS = np.array(list(product(range(MOST + 1), repeat=3)))
H = np.vstack([np.eye(3), np.ones(3)])
TABLES = [table for table in CELLS if table.sum() <= 5 and table[0] <= table[1]]
TIES = ("even", "away", "up", "down")
STATEMENTS = [Exact(), *(Rounded(2, ties) for ties in TIES), *(Rounded(4, ties) for ties in TIES), Rounded(3),
              Suppressed(2), Clamped(1, 3), PrintedAbove(0), Rounded(2, "up") & Suppressed(3), Clamped(low=1) & Rounded(2)]
ALPHA, GAMMA = np.array([0.5, 1.0, 2.0]), (1.5, 4.0)


def prints(statement, y):
    "What is printed of rows y (…, p), and whether all of them are."
    values, there = print_rows((statement,) * y.size, y.ravel().astype(float))
    return values.reshape(y.shape), there.reshape(y.shape).all(axis=-1)


def log_prior(kind, n, s=CELLS):
    "The log prior of tables: counts with gamma rates, or categories of which n is known, or is anything up to MOST."
    if kind == "counts":
        shape, rate = GAMMA
        return (gammaln(s + shape) - gammaln(s + 1) - s * np.log1p(rate)).sum(axis=1)
    total = s.sum(axis=1)
    value = (gammaln(s + ALPHA) - gammaln(s + 1)).sum(axis=1) + gammaln(total + 1) - gammaln(total + ALPHA.sum())
    return np.where(total <= MOST if n is None else total == n, value, -np.inf)


def chance(statement, v, y, scale):
    "P(printed v | a true row y): by the noise on whole numbers, value by value."
    if scale == 0:
        shown, there = prints(statement, y[:, None])
        return there & ((shown[:, 0] == v) | (np.isnan(shown[:, 0]) & np.isnan(v)))
    e, at = np.arange(-40, 41), np.arange(3 * MOST + 1)
    p = np.exp(-np.abs(e) / scale)
    shown, there = prints(statement, (at[:, None] + e)[..., None])
    same = there & ((shown[..., 0] == v) | (np.isnan(shown[..., 0]) & np.isnan(v)))
    return (p / p.sum() * same).sum(axis=1)[y.astype(int)]


def enumerated(kind, statement, values, n, scale):
    "The posterior of each row, as probabilities of 0, …: all tables, one by one."
    with np.errstate(divide="ignore"):
        log_p = log_prior(kind, n) + sum(np.log(chance(statement, v, y, scale)) for v, y in zip(values, (CELLS @ H.T).T))
    p = np.exp(log_p - log_p.max())
    return [np.bincount(row, p / p.sum(), 3 * MOST + 1) for row in (CELLS @ H.T).T.astype(int)]


def declared(kind, statement, values, n, scale):
    "The same table as somebody publishes it."
    model, more = (Counts(["a", "b", "c"]), {}) if kind == "counts" else (Categorical(3), {"n": n} if n else {"n_range": (0, MOST)})
    return declare(model, [None if np.isnan(v) else v for v in values], matrix=H, source="s", printed=statement,
                   noise=Laplace(scale=scale, discrete=scale > 0), **more)


def exact(kind, statement, values, n, scale):
    "What the package says of each row."
    release = declared(kind, statement, values, n, scale)
    tree = released_tree(release.family, document.measured(release), release.n_range)
    leaves = Leaves(np.full(3, GAMMA[0]), -np.log1p(GAMMA[1])) if kind == "counts" else Leaves(ALPHA)
    passed = pass_up(tree, leaves)[0]
    if kind != "counts" and release.n is None:
        passed = _by_size(passed, ALPHA.sum())
    out = np.zeros((4, 3 * MOST + 1))
    for node, (low, p) in node_marginals(passed).items():
        at = int(low) + np.arange(len(p))
        out[node, at[at < out.shape[1]]] = p[at < out.shape[1]]
    return out


def compare(kind, statement, scale, tables=TABLES, known=False, draws=0):
    "All prints of tables, each once."
    rng, seen = np.random.default_rng(37), set()
    for table in tables:
        n = int(table.sum()) if known else None
        y = H @ table + (0 if scale == 0 else np.rint(rng.laplace(0, scale, 4)))
        values, there = prints(statement, y)
        if not there or (n, str(values)) in seen or (kind != "counts" and not table.any()):  # no records: the prior
            continue
        seen.add((n, str(values)))
        wanted, found = enumerated(kind, statement, values, n, scale), exact(kind, statement, values, n, scale)
        for row, p in enumerate(wanted):
            np.testing.assert_allclose(found[row], p, atol=2e-6, err_msg=f"{kind} {statement} {values} row {row}")
    assert len(seen) > 2 or statement.steps == (PrintedAbove(0),)


@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
@pytest.mark.parametrize("kind, known", [("counts", False), ("categories", True), ("categories", False)])
def test_rows_without_noise_against_all_tables(kind, known, statement):
    "Items 11 and 12: every print of every small table is accepted, and the posterior is that of the tables behind it."
    compare(kind, statement, 0.0, known=known)


@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
@pytest.mark.parametrize("kind", ["counts", "categories"])
def test_rows_with_noise_against_all_tables(kind, statement):
    "The same with discrete Laplace noise of scale 1/2."
    compare(kind, statement, 0.5, tables=TABLES[::3])


def test_an_exact_row_of_whole_numbers_is_no_interval_of_the_line(monkeypatch):
    "The mutant: rows without noise on no grid, as in 0.6.0."
    monkeypatch.setattr(document, "row_grid", lambda family, matrix, noise: noise.grid)
    for statement in (Suppressed(2), Rounded(4, "up"), Rounded(4, "down")):
        with pytest.raises(AssertionError):
            compare("counts", statement, 0.0)


@pytest.mark.parametrize("kind", ["counts", "categories"])
def test_halves_that_may_have_gone_either_way(kind):
    "Where nobody says, every table is kept that one rule or another prints."
    for v in (-4.0, 0.0, 4.0, 8.0):
        found = document.unprinted((Rounded(4, "either"),), np.array([v]), np.ones(1))
        y = np.arange(-20, 21)
        by_any = np.any([prints(Rounded(4, ties), y[:, None])[0][:, 0] == v for ties in TIES], axis=0)
        assert y[(y >= found.low) & (y <= found.high)].tolist() == y[by_any].tolist()
    release = declared(kind, Rounded(4, "either"), np.array([4.0, 4.0, 0.0, 8.0]), None, 0.0)
    assert [release.unprinted.low.tolist(), release.unprinted.high.tolist()] == [[2, 2, -2, 6], [6, 6, 2, 10]]
    assert Release.from_json(release.to_json()) == release


def test_a_rounded_table_may_disagree_with_its_total():
    "Item 12: what is printed decides what is exact, and not the noise alone."
    draws = fit(declare(Categorical(["a", "b"]), [20, 85], n=104, noise=Laplace(scale=0), printed=Rounded(5), source="s"))
    s = draws.confidential["s"].values.reshape(-1, 2)
    assert set(s[:, 0]) == {18, 19, 20, 21} and np.all(s.sum(axis=1) == 104)  # b is 83 to 87
    common = dict(noise=Laplace(scale=0), printed=Rounded(5), source="s")
    for release in (declare(Categorical(["a", "b"]), [20, 85], n=105, n_noise=Laplace(scale=0), **common),
                    declare(Categorical(["a", "b"]), [20, 85], n=105, noise=Laplace(scale=0), source="s",
                            printed={"n": Rounded(5), "count[a]": Rounded(5), "count[b]": Rounded(5)}),
                    declare(Categorical(["a", "b"]), {"n": 105, "a": 20, "b": 85}, matrix=np.eye(3), **common)):
        assert release.n is None
        found = fit(release).confidential
        assert set(np.unique(found["n"])) == set(range(103, 108)) and found["s"].values[..., 0].min() == 18
    with pytest.raises(ValueError, match="exact"):
        declare(Categorical(["a", "b"]), [20, 85], n=105, n_noise=Laplace(scale=0), noise=Laplace(scale=0), source="s")
    with pytest.raises(ValueError, match="contradict"):  # no table is rounded so
        declare(Categorical(["a", "b"]), [20, 85], n=98, **common)


def test_one_blank_share():
    "A blank below 5 of 200 records, without noise: none to four, and the share of equation (1)."
    found = fit(declare(Bernoulli(), [None], n=200, noise=Laplace(scale=0), printed=Suppressed(5), source="s"))
    share = found.posterior["probability"].values
    assert set(np.unique(found.confidential["s"])) == {0, 1, 2, 3, 4}
    assert abs(share.mean() - 3 / 202) < 4 * share.std() / len(share.ravel()) ** 0.5  # each count is as likely
