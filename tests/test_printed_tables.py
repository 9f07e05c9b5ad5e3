"""Published tables of three cells against all tables that there are, whatever was printed, with noise and without"""

from itertools import product

import jax
import numpy as np
import pytest
from scipy.special import gammaln

from dp_bayes_nb import (Bernoulli, Categorical, Clamped, Clip, Counts, Exact, Exponential, Gamma,
                         Grouped, Laplace, Poisson, PrintedAbove, Release, Rounded, Suppressed, declare, fit,
                         read_table)
from dp_bayes_nb.noise.printing import print_rows
from dp_bayes_nb.chains.measurements import without_implied
from dp_bayes_nb.ways.noisy_tables import _by_size, released_tree
from dp_bayes_nb.counts.tree import Leaves, node_marginals, pass_up
from dp_bayes_nb.releases import checks, document

MOST = 14  # of a cell, in the enumeration
CELLS = np.array(list(product(range(MOST + 1), repeat=3)))
H = np.vstack([np.eye(3), np.ones(3)])
TABLES = [table for table in CELLS if table.sum() <= 5 and table[0] <= table[1]]
TIES = ("even", "away", "up", "down")
STATEMENTS = [Exact(), *(Rounded(2, ties) for ties in TIES), *(Rounded(4, ties) for ties in TIES), Rounded(3),
              Suppressed(2), Clamped(1, 3), PrintedAbove(0), Rounded(2, "up") & Suppressed(3),
              Clamped(low=1) & Rounded(2)]
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
        rows = [np.log(chance(statement, v, y, scale)) for v, y in zip(values, (CELLS @ H.T).T)]
    log_p = log_prior(kind, n) + sum(rows)
    p = np.exp(log_p - log_p.max())
    return [np.bincount(row, p / p.sum(), 3 * MOST + 1) for row in (CELLS @ H.T).T.astype(int)]


def declared(kind, statement, values, n, scale):
    "The same table as somebody publishes it."
    size = {"n": n} if n else {"n_range": (0, MOST)}
    model, more = (Counts(["a", "b", "c"]), {}) if kind == "counts" else (Categorical(3), size)
    return declare(model, [None if np.isnan(v) else v for v in values], matrix=H, source="s", printed=statement,
                   noise=Laplace(scale=scale, discrete=scale > 0), **more)


def exact(kind, statement, values, n, scale):
    "What the package says of each row."
    release = declared(kind, statement, values, n, scale)
    seen = without_implied(release.family, document.measured(release))  # as `fit` does
    tree = released_tree(release.family, seen, release.n_range)
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
    for room in (checks, document):
        monkeypatch.setattr(room, "row_grid", lambda family, matrix, noise: noise.grid)
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
    common = dict(noise=Laplace(scale=0), printed=Rounded(5), source="s")
    draws = fit(declare(Categorical(["a", "b"]), [20, 85], n=104, **common))
    s = draws.confidential["s"].values.reshape(-1, 2)
    assert set(s[:, 0]) == {18, 19, 20, 21} and np.all(s.sum(axis=1) == 104)  # b is 83 to 87
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


OVERLAP = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])  # no tree: a chain with normal sums


def overlapping(values, printed, n=80, names=("a", "b", "c"), draws=2000):
    "Mean and sd of the three shares under a flat prior, table by table, and by the package."
    tables = np.array([t for t in product(range(n + 1), repeat=3) if sum(t) == n])
    shown, _ = prints(printed, tables @ OVERLAP.T)
    same = tables[np.all((shown == values) | (np.isnan(shown) & np.isnan(values)), axis=1)]
    share = (same + 1) / (n + 3)
    sd = np.sqrt(share.var(axis=0) + (share * (1 - share) / (n + 4)).mean(axis=0))
    release = declare(Categorical(names), [None if np.isnan(v) else v for v in values], n=n, matrix=OVERLAP,
                      noise=Laplace(scale=0), printed=printed, source="s")
    draws = fit(release, warmup=draws // 4, draws=draws, progress=False)
    found = draws.posterior["probabilities"].values.reshape(-1, 3)
    rows = draws.confidential["s"].values.reshape(-1, 3) @ OVERLAP.T
    return share.mean(axis=0), sd, found.mean(axis=0), found.std(axis=0), np.unique(np.round(rows, 6), axis=0)


def _close(wanted_mean, wanted_sd, mean, sd, rows):
    assert len(rows) > 100  # the chain moves inside the interval
    np.testing.assert_allclose(mean, wanted_mean, atol=0.015)
    np.testing.assert_allclose(sd, wanted_sd, rtol=0.08)


@pytest.mark.parametrize("values, printed", [([40.0, 60.0], Rounded(20)), pytest.param(
    [np.nan, 60.0], Suppressed(45), marks=pytest.mark.slow)], ids=str)
def test_rows_that_overlap_move_inside_their_intervals(values, printed, monkeypatch):
    "A chain with a row that is not known exactly and has no noise; as in 0.6.0 it stood still, in silence."
    _close(*overlapping(np.array(values), printed))
    if printed == Rounded(20):
        from dp_bayes_nb.chains import measurements
        monkeypatch.setattr(measurements, "_between_ends", lambda key, table, mean, covariance, y, D: y)
        with pytest.raises(AssertionError):
            _close(*overlapping(np.array(values), printed, names=("still", "as", "before"), draws=400))


@pytest.mark.parametrize("printed, v, low, high", [(Rounded(5), 30.0, 27.5, 32.5), (Suppressed(30), None, -np.inf, 30)])
def test_one_sum_without_noise_that_was_rounded_or_left_blank(printed, v, low, high):
    "A clipped rate from an interval of its sum: the likelihood is the mass of the normal sum between the ends."
    from scipy.stats import norm
    family = Exponential(Clip(0, 10))
    release = declare(family, [v], n=20, noise=Laplace(scale=0), printed=printed, source="s")
    draws = fit(release, Gamma(2.0, 1.0), progress=False)
    x = np.linspace(1e-3, 20, 40_001)
    law = [np.array(part) for part in jax.jit(jax.vmap(lambda r: family.moments({"rate": r})))(x)]
    mean, sd = 20 * law[0][:, 0], np.sqrt(20 * law[1][:, 0, 0])
    w = x * np.exp(-x) * (norm.cdf((high - mean) / sd) - norm.cdf((low - mean) / sd))
    mean, second = (w * x).sum() / w.sum(), (w * x**2).sum() / w.sum()
    found = draws.posterior["rate"].values.ravel()
    assert abs(found.mean() - mean) < 5 * found.std() / len(found) ** 0.5
    np.testing.assert_allclose(found.std(), np.sqrt(second - mean**2), rtol=0.08)
    s = draws.confidential["s"].values
    assert low <= s.min() and s.max() <= high and len(np.unique(s)) > 1000


def test_groups_and_frames_of_rounded_counts_without_noise():
    "Grouped counts, and a table of somebody's, with blanks below 5."
    model = Grouped(Bernoulli("ill"), "region", ["x", "y", "z"])
    found = fit(declare(model, [None, 20, 40], n=[50, 60, 70], noise=Laplace(scale=0), source="s",
                        printed=[Suppressed(5), Rounded(5), Exact()]), progress=False)
    assert [set(np.unique(found.confidential["s"].values[:, :, g])) for g in range(3)] == [
        set(range(5)), set(range(18, 23)), {40}]
    blank = read_table({"cell": ["a", "b"], "count": [None, 7]}, model=Counts, value="count", name="cell", sd=0,
                       printed=Suppressed(5), source="s")
    assert (blank.unprinted.low[0], blank.unprinted.high[0], blank.unprinted.low[1]) == (-np.inf, 4, 7)
    assert set(np.unique(fit(blank).posterior["counts"].values[..., 0])) == set(range(5))


def test_a_rounded_total_limits_an_unknown_n():
    "A row without noise that follows from n alone says what n is, whichever way it is written."
    common = dict(n_range=(0, 200), noise=Laplace(scale=0), source="s",
                  printed=[Rounded(5), Rounded(5), Rounded(10)])
    for total in ([0, 1, 1], [1, 0, 0]):
        found = fit(declare(Categorical(["a", "b"]), [20, 85, 100], matrix=[[0, 1, 0], [0, 0, 1], total], **common))
        assert set(np.unique(found.confidential["n"])) == set(range(101, 106))
    one = fit(declare(Categorical(3), [8], matrix=[[1, 1, 1]], n_range=(1, 30), noise=Laplace(scale=0),
                      printed=Rounded(4), source="s"))
    assert set(np.unique(one.confidential["n"])) == set(range(6, 11))
    with pytest.raises(ValueError, match="follow from one another"):  # no tree: refused, and not without its total
        fit(declare(Categorical(3), [12, 12, 20], matrix=[[1, 1, 0], [0, 1, 1], [1, 1, 1]], n_range=(1, 60),
                    noise=Laplace(scale=0), printed=Rounded(4), source="s"))


def test_shares_of_n_are_whole_counts():
    "5/9 of 9 records are 5, whatever floats make of it."
    for n in (9, 17, 49, 107):
        for s in range(1, n):
            for share, printed in ((s / n, Exact()), (round(s / n, 2), Rounded(0.01, "either"))):
                release = declare(Bernoulli(), [share], n=n, matrix=[[1 / n]], noise=Laplace(scale=0), printed=printed,
                                  source="s")
                tree = released_tree(release.family, document.measured(release))
                low, p = node_marginals(pass_up(tree, Leaves(np.ones(2)))[0])[0]
                assert low <= s < low + len(p), (n, s, printed)


def test_an_exact_sum_of_clipped_counts_has_no_rate_at_the_end_of_the_line():
    "A variance that is 0 but for rounding is no certainty."
    for n, z in ((200, 400), (3, 2), (20, 30)):
        rate = fit(declare(Poisson(Clip(0, 10)), [z], n=n, noise=Laplace(scale=0), source="s"), Gamma(1.0, 0.1),
                   progress=False).posterior["rate"]
        assert abs(float(rate.mean()) - (1 + z) / (0.1 + n)) < 0.3 * z / n + 0.2


def test_a_rounded_row_is_not_shown_as_exact():
    "The page of a release, and its repr."
    from dp_bayes_nb.releases.readings import describe_release
    release = declare(Categorical(["a", "b"]), [20, 85], n=104, noise=Laplace(scale=0), printed=Rounded(5), source="s")
    for page in (describe_release(release), repr(release)):
        assert "exactly" not in page
    assert "exactly" in repr(declare(Bernoulli(), [20], n=104, noise=Laplace(scale=0), source="s"))
