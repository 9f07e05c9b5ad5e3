"""Readings of perturbed counts, from `declare` to the posterior: against every table behind them, in files, refused"""

import json
import math
import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st

from dp_bayes_nb import (Bands, Bernoulli, Beta, CanonicalNoise, Categorical, CellKey, Clamped, Counts, Exact, Gamma,
                         Geometric, Grouped, Laplace, Noise, Normal, Poisson, RandomizedResponse, RandomRounded,
                         Release, Rounded, SharedGamma, Suppressed, Within, declare, explain, fit, simulate_like,
                         summary)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.chains.measurements import without_implied
from dp_bayes_nb.counts.tree import Leaves, node_marginals, pass_up
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.ways.noisy_tables import released_tree

SHAPE, RATE = 1.5, 0.1  # of the gamma prior of a Poisson rate
KEY = CellKey([{0: 1}, {-1: 0.4, 0: 0.3, 2: 0.3}, {-2: 0.2, -1: 0.1, 0: 0.3, 1: 0.4},
               {-2: 0.1, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.1}])
HOP = Noise({-1: 0.25, 0: 0.5, 2: 0.25})


def rounded(base, y, z):
    "P(z | y) of counts rounded at random to a base, with probability remainder/base upwards."
    q = y % base
    return np.where(z == y - q, 1 - q / base, 0.0) + np.where((z == y - q + base) & (q > 0), q / base, 0.0)


def keyed(y, z):
    "P(z | y) by the rows of KEY."
    return np.array([dict(KEY.ptable[min(int(t), 3)]).get(int(z - t), 0.0) for t in np.ravel(y)]).reshape(np.shape(y))


def marginals(release, leaves):
    "The exact posterior of each row's count that `fit` draws from: {node: probabilities of 0, 1, …}."
    tree = released_tree(release.family, without_implied(release.family, measured(release)), release.n_range)
    return {node: np.append(np.zeros(int(low)), p) for node, (low, p) in node_marginals(
        pass_up(tree, leaves)[0]).items()}


def gamma_leaves(K):
    return Leaves(np.full(K, SHAPE), np.full(K, -np.log1p(RATE)))


def agree(found, wanted, tolerance=1e-9):
    "Two distributions of a count, as probabilities of 0, 1, …."
    length = max(len(found), len(wanted))
    a, b = (np.append(p, np.zeros(length - len(p))) for p in (found, wanted))
    np.testing.assert_allclose(a, b, atol=tolerance)
    assert abs((a - b) @ np.arange(length)) < tolerance * length


def within_noise(draws, law):
    "Draws of a count by its exact distribution: the mean within 4.5 standard errors, exceeded once in 10⁵."
    y = np.arange(len(law))
    mean = law @ y
    assert abs(draws.mean() - mean) < 4.5 * math.sqrt(law @ (y - mean) ** 2 / draws.size) + 1e-9


def ends_only(table, t):
    "The mutant: every count between the ends of a table is as likely to be printed so."
    return np.where((t >= table.start) & (t < table.start + len(table.log_chance)), 0.0, -np.inf)


# ---------------------------------------------------------------- against every table


@pytest.mark.parametrize("z", [0, 3, 6, 60])
def test_a_count_rounded_to_base_3(z, monkeypatch):
    "A Poisson count with a gamma prior, printed by itself: the sum over all counts, and an interval is not it."
    y = np.arange(200.0)
    p = st.nbinom.pmf(y, SHAPE, RATE / (1 + RATE)) * rounded(3, y, z)
    wanted = p / p.sum()
    release = declare(Counts(["a"]), [z], printed=RandomRounded(3), source="made up")
    agree(marginals(release, gamma_leaves(1))[0], wanted)
    if z == 6:
        within_noise(fit(release, Gamma(SHAPE, RATE), progress=False).posterior["counts"].values, wanted)
    monkeypatch.setattr("dp_bayes_nb.counts.tree._read_together", lambda tables, length, t: np.stack(
        [ends_only(table, each) for table, each in zip(tables, t)]))
    with pytest.raises(AssertionError):
        agree(marginals(release, gamma_leaves(1))[0], wanted)


def three_cells(n):
    "All tables of three cells with n records, (N, 3)."
    return np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)], float)


def test_categories_of_known_n_rounded_at_random():
    release = declare(Categorical(["a", "b", "c"], "x"), [6, 12, 3], n=20, printed=RandomRounded(3), source="made up")
    s = three_cells(20)
    p = np.prod([rounded(3, s[:, j], z) for j, z in enumerate((6, 12, 3))], axis=0)  # Dirichlet(1, 1, 1): all alike
    p /= p.sum()
    found = marginals(release, Leaves(np.ones(3)))
    for j in range(3):
        agree(found[j], np.bincount(s[:, j].astype(int), p))
    share = fit(release, progress=False).posterior["probabilities"].values.reshape(-1, 3)
    mean, sd = p @ (s + 1) / 23, np.sqrt(p @ ((s + 1) * (s + 2)) / (23 * 24) - (p @ (s + 1) / 23) ** 2)
    assert np.all(np.abs(share.mean(axis=0) - mean) < 4.5 * sd / math.sqrt(len(share)))


def test_groups_of_counts_rounded_at_random():
    "Of yes or no, and of three answers: the counts of each group are drawn from its own sum."
    yes = declare(Grouped(Bernoulli("ill"), "region", ["north", "south"], sizes="public"), [6, 12], n=[20, 13],
                  printed=RandomRounded(3), source="made up")
    drawn = fit(yes, progress=False).confidential["s"].values
    for g, (z, n) in enumerate(((6, 20), (12, 13))):
        p = rounded(3, np.arange(n + 1.0), z)  # Beta(1, 1): all counts alike
        within_noise(drawn[:, :, g, 0], p / p.sum())
    values, sizes = [6, 12, 3, 9, 9, 3], (20, 22)
    three = declare(Grouped(Categorical(["a", "b", "c"], "x"), "region", ["north", "south"], sizes="public"), values,
                    n=sizes, printed=RandomRounded(3), source="made up")
    drawn = fit(three, progress=False).confidential["s"].values
    for g, n in enumerate(sizes):
        s = three_cells(n)
        p = np.prod([rounded(3, s[:, j], values[3 * g + j]) for j in range(3)], axis=0)
        for j in range(3):
            within_noise(drawn[:, :, g, j], np.bincount(s[:, j].astype(int), p / p.sum()))


def test_a_total_with_a_cell_key_of_its_own():
    "Two cells and their total, each perturbed: against all tables; the mutant forgets the total."
    values = (5, 7, 14)
    release = declare(Counts(["a", "b"]), values, matrix=[[1, 0], [0, 1], [1, 1]], printed=KEY, source="made up")
    s = np.array(list(product(range(40), repeat=2)), float)
    prior = st.nbinom.pmf(s, SHAPE, RATE / (1 + RATE)).prod(axis=1)
    cells = prior * keyed(s[:, 0], 5) * keyed(s[:, 1], 7)
    p = cells * keyed(s.sum(axis=1), 14)
    found = marginals(release, gamma_leaves(2))
    def check(p):
        p = p / p.sum()
        for node, t in enumerate((s[:, 0], s[:, 1], s.sum(axis=1))):
            agree(found[node], np.bincount(t.astype(int), p))
    check(p)
    with pytest.raises(AssertionError):
        check(cells)
    within_noise(fit(release, Gamma(SHAPE, RATE), progress=False).posterior["counts"].values[..., 0],
                 np.bincount(s[:, 0].astype(int), p / p.sum()))


def test_a_total_is_doubted_where_it_shows_the_number_of_a_part():
    def doubt(values):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            declare(Counts(["a", "b"]), values, matrix=[[1, 0], [0, 1], [1, 1]], printed=KEY, source="s")
        return [str(each.message) for each in caught]

    (said,) = doubt([3, 0, 3])
    assert "may be of the same records as its part 'a'" in said
    assert doubt([3, 0, 4]) == doubt([3, 9, 12]) == []  # another deviation; a part that is not empty


def test_small_counts_are_hidden_after_they_were_rounded():
    "A blank is a rounded count of 0 or 3: a true 5 may be behind it, a true 6 is not."
    rule = RandomRounded(3) & Suppressed(6)
    release = declare(Counts(["a", "b"]), [None, 6], printed=rule, source="made up")
    y = np.arange(200.0)
    prior, found = st.nbinom.pmf(y, SHAPE, RATE / (1 + RATE)), marginals(release, gamma_leaves(2))
    for node, chance in enumerate((rounded(3, y, 0) + rounded(3, y, 3), rounded(3, y, 6))):
        p = prior * chance
        agree(found[node], p / p.sum())
    assert found[0][5] > 0 and len(found[0]) == 6


def both(release, s, p):
    "The exact posteriors of two cells against tables s (N, 2) and their weights p."
    found = marginals(release, gamma_leaves(2))
    for j in range(2):
        agree(found[j], np.bincount(s[:, j], p / p.sum()))


def test_numbers_between_possible_ones_are_not_possible(monkeypatch):
    "A table with a hole: 5, 7 and 8 lead to 7, and 6 does not. The mutant looks for a window as if there were none."
    y = np.arange(60.0)
    chance = np.array([dict(HOP.chances).get(7 - t, 0.0) for t in y])
    for total in ([], [11]):
        matrix = [[1, 0], [0, 1], [1, 1]][:2 + len(total)]
        release = declare(Counts(["a", "b"]), [7, 7, *total], matrix=matrix, noise=HOP, source="made up")
        s = np.array(list(product(range(20), repeat=2)))
        p = np.prod(st.nbinom.pmf(s, SHAPE, RATE / (1 + RATE)), axis=1) * chance[s].prod(axis=1)
        for z in total:
            p = p * np.array([dict(HOP.chances).get(z - t, 0.0) for t in s.sum(axis=1)])
        both(release, s, p)
    late = declare(Counts(["a"]), [None], noise=HOP, printed=Suppressed(8), source="made up")
    blank = np.array([sum(c for d, c in HOP.chances if t + d < 8) for t in y])
    w = st.nbinom.pmf(y, SHAPE, RATE / (1 + RATE)) * blank
    agree(marginals(late, gamma_leaves(1))[0], w / w.sum())
    noisy = declare(Counts(["a"]), [7], printed=HOP, noise=Laplace(scale=0.3, discrete=True), source="made up")
    e = np.arange(-80, 81)
    law = np.exp(-np.abs(e) / 0.3) / np.exp(-np.abs(e) / 0.3).sum()
    w = st.nbinom.pmf(y, SHAPE, RATE / (1 + RATE)) * np.array(
        [sum(p * dict(HOP.chances).get(7 - t - k, 0.0) for k, p in zip(e, law)) for t in y])
    agree(marginals(noisy, gamma_leaves(1))[0], w / w.sum())
    monkeypatch.setattr("dp_bayes_nb.counts.tree._hulls", lambda tables: None)
    with pytest.raises((AssertionError, ValueError)):
        both(release, s, p)


# ---------------------------------------------------------------- noise by its probabilities, canonical noise


def test_noise_by_its_probabilities():
    release = declare(Bernoulli("ill"), 7, n=20, noise=HOP, source="made up")
    p = np.array([dict(HOP.chances).get(7 - y, 0.0) for y in range(21)])
    within_noise(fit(release, progress=False).confidential["s"].values, p / p.sum())
    agree(marginals(declare(Counts(["a"]), [7], noise=HOP, source="made up"), gamma_leaves(1))[0],
          (w := st.nbinom.pmf(np.arange(21.0), SHAPE, RATE / (1 + RATE)) * p) / w.sum())


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_canonical_noise(delta):
    "A difference of two geometric numbers and a uniform one between −1/2 and 1/2, without its tails where δ > 0."
    z, y, b = 18.37, np.arange(41.0), math.exp(-1.0)
    p = b ** np.abs(np.rint(z - y))
    if delta:  # the cut: P(|N| > c) = q, from the distribution function between its knots
        q, e = 2 * delta * b / (1 - b + 2 * delta * b), np.linspace(0, 30, 3_000_001)
        density = (1 - b) / (1 + b) * b ** np.floor(e + 0.5)
        c = e[np.searchsorted(np.cumsum(density) * 1e-5, (1 - q) / 2)]
        p = np.where(np.abs(z - y) <= c, p, 0.0)
        assert 0 < (p > 0).sum() < 41
    release = declare(Bernoulli("ill"), z, n=40, noise=CanonicalNoise(1.0, delta), source="made up")
    within_noise(fit(release, progress=False).confidential["s"].values, p / p.sum())


def canonical_draws_agree(noise, epsilon):
    "Draws against the cut mixture of uniform cells: the cut, the mass inside, and Kolmogorov's distance (.1%: 1.95)."
    c = noise.cut
    k = np.arange(-math.ceil(c), math.ceil(c) + 1.0)
    low, high = np.clip(k - 0.5, -c, c), np.clip(k + 0.5, -c, c)
    mass = np.exp(-epsilon * np.abs(k)) * (high - low)
    assert abs((noise.between((low + high) / 2, (low + high) / 2) * (high - low)).sum() - 1) < 1e-8
    x = np.sort(noise.draw(np.zeros(4000), np.random.default_rng(1)))
    F = np.interp(x, np.append(low[:1], high), np.append(0.0, np.cumsum(mass / mass.sum())))
    assert np.abs(F - (np.arange(4000) + 0.5) / 4000).max() < 1.95 / 4000**0.5


@pytest.mark.parametrize("epsilon, delta, cut", [(1e-6, 0.5, 1.0), (1e-6, 0.05, 10.0), (1.0, 0.05, None),
                                                 (0.1, 1e-6, None), (40.0, 0.05, 1.45), (800.0, 0.99, 0.51)])
def test_canonical_noise_of_tiny_and_huge_budgets(epsilon, delta, cut):
    "As ε → 0 the noise is uniform on 1/δ; as ε → ∞ it is cut at 3/2 − δ. Either end was endless once."
    noise = CanonicalNoise(epsilon, delta)
    assert cut is None or abs(noise.cut - cut) < 1e-4
    canonical_draws_agree(noise, epsilon)
    if epsilon < 2 and noise.cut > 1:
        must_fail(lambda: canonical_draws_agree(CanonicalNoise(epsilon + 1, delta), epsilon), "another budget")


# ---------------------------------------------------------------- files


STATED = [Within(0, 5), Within(5, None), Bands([(15, 10), (100, 50)]), Bands([(0, 5)], "up"), RandomRounded(3),
          RandomRounded(3, [0.25, 0.5]), KEY, HOP, CanonicalNoise(1.0), CanonicalNoise(0.5, 0.01),
          RandomRounded(3) & Suppressed(6), HOP & RandomRounded(3), CanonicalNoise(1.0, 0.01) & Clamped(low=0)]


def of_two(statement):
    "A release with a number that the statement may print, and another that was printed as it was."
    noisy, rest = statement.steps[0], statement
    value = None if statement == Within(5, None) else 0 if statement == Within(0, 5) else 20 if isinstance(
        statement, Bands) else 12
    if hasattr(noisy, "law"):
        rest = Exact() if len(statement.steps) == 1 else statement.steps[1]
        return declare(Counts(["a", "b"]), [value, 7], noise=[noisy, Laplace(scale=1, discrete=True)],
                       printed=[rest, Exact()], source="made up")
    return declare(Counts(["a", "b"]), [value, 7], printed=[rest, Exact()], source="made up")


def changed(release, **parts):
    "A file with other parts, sealed again."
    document = json.loads(release.to_json())
    document.pop("sha256")
    return seal({**document, **parts})


@pytest.mark.parametrize("statement", STATED, ids=str)
def test_statements_survive_a_file(statement):
    release = of_two(statement)
    assert release.printed[0] == statement
    text = release.to_json()
    again = Release.from_json(text)
    assert again == release and again.to_json() == text and json.loads(text)["schema"] == 3
    with pytest.raises(ValueError, match="schema|printed"):
        Release.from_json(changed(release, schema=2))
    with pytest.raises(ValueError, match="was changed after it was written"):
        Release.from_json(text.replace('"made up"', '"made  up"'))


def test_rows_that_share_a_long_statement_hold_it_once():
    release = declare(Counts(list("abcd")), [12, 5, 7, 9], printed=[KEY, Exact(), KEY, KEY], source="made up")
    rows = json.loads(release.to_json())["printed"]
    assert rows[2] == rows[3] and rows[2] != rows[0] and len(str(rows[2])) < 40
    assert Release.from_json(release.to_json()) == release
    for row in ({"as_row": 1}, {"as_row": 3}, {"as_row": True}, {"cell_key": [[[0, 0.5]]]}, {"random_rounded": 1}):
        with pytest.raises(ValueError):
            Release.from_json(changed(release, printed=[rows[0], "exact", row, rows[3]]))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("call, why", [
    (lambda: declare(Counts(["a"]), [7], printed=RandomRounded(3), source="s"), "'a'.* multiples of 3, as RandomRound"),
    (lambda: CellKey([{0: 1}, {0: 0.5, 1: 0.4}]), "row 1 of the ptable must be of probabilities that sum to one"),
    (lambda: declare(Counts(["a", "b"]), [7, -1], printed=KEY, source="s"), r"values\['b'\] must be such as CellKey"),
    (lambda: declare(Counts(["a", "b"]), [6, 6, 60], matrix=[[1, 0], [0, 1], [1, 1]], printed=RandomRounded(3),
                     source="s"), "3 rows that contradict one another.*'a', 'b', 'a \\+ b'"),
    (lambda: declare(Normal((0, 9), column="x"), [21, 30], n=30, printed=RandomRounded(3), source="s"),
     "must be a count, because RandomRounded"),
    (lambda: declare(Counts(["a"]), [7], noise=RandomRounded(3), source="s"), "printed=RandomRounded"),
    (lambda: declare(Counts(["a"]), [60], printed=Within(0, 5), source="s"), "such as Within"),
    (lambda: declare(Counts(["a"]), [25], printed=Bands([(15, 10)]), source="s"), "such as Bands"),
    (lambda: Bands([(15, 10), (16, 50)]), "larger numbers are not printed smaller"),
    (lambda: CanonicalNoise(1.0) & Rounded(3), "canonical noise without δ only"),
    (lambda: Noise({0.5: 1}), "different whole numbers")])
def test_what_cannot_have_been_printed_is_refused_in_words(call, why):
    with pytest.raises(ValueError, match=why):
        call()


@pytest.mark.parametrize("model, prior", [(Poisson((0, 10), column="x"), Gamma(1, 1)),
                                          (Geometric((0, 10), column="x"), Beta(1, 1))])
def test_models_that_take_no_table_say_so(model, prior):
    release = declare(model, 60, n=30, printed=RandomRounded(3), source="made up")
    for ask in (explain, lambda *given: fit(*given, progress=False)):
        with pytest.raises(ValueError, match="printed at random.*take a probability for each count"):
            ask(release, prior)


# ---------------------------------------------------------------- simulated again


@pytest.mark.parametrize("statement, chance", [(RandomRounded(3), lambda y, z: rounded(3, y, z)), (KEY, keyed)],
                         ids=["RandomRounded", "CellKey"])
def test_a_simulated_release_is_printed_by_the_same_rule(statement, chance):
    "400 cells of 4 each: how often each number is printed, by a χ² test that is exceeded once in 10,000."
    K, count = 400, 4
    release = declare(Counts([f"c{i}" for i in range(K)]), [3.0] * K, printed=statement, source="made up")
    made = simulate_like(release, {"counts": np.full(K, count)}, seed=5)
    assert made.printed == release.printed and made.simulated
    expected = K * np.array([chance(np.array([float(count)]), z)[0] for z in range(10)])
    seen = np.bincount(made.values.astype(int), minlength=10)
    assert np.all(seen[expected == 0] == 0)
    kept = expected > 0
    far = (seen - expected)[kept] ** 2 / expected[kept]
    assert st.chi2.sf(far.sum(), kept.sum() - 1) > 1e-4
    assert np.all(np.isfinite(fit(made, Gamma(SHAPE, RATE), draws=50, progress=False).posterior["counts"].values))


# ---------------------------------------------------------------- exposures under crossing rows


def test_margins_of_a_table_with_exposures():
    "A 2 × 2 table with exact margins has one free cell; cells of one rate, with exposures 1, 5, 2 and 10."
    rows, columns, a = (5, 9), (4, 10), np.arange(5.0)
    H, s = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], np.stack([a, 5 - a, 4 - a, 5 + a])
    def law(exposure):  # the total is known, so that the rate cancels
        p = np.prod(st.poisson.pmf(s, np.array(exposure, float)[:, None]), axis=0)
        return p / p.sum()
    drawn = {}
    for exposure in ((1, 5, 2, 10), (1, 5, 2, 3)):
        model = Counts(["a", "b", "c", "d"], exposure=exposure)
        release = declare(model, [*rows, *columns], matrix=H, printed=Exact(), source="made up")
        drawn[exposure] = fit(release, SharedGamma(2, 3), progress=False).posterior["counts"].values[..., 0]
        within_noise(drawn[exposure], law(exposure))
    assert round(float(law((1, 5, 2, 10)) @ a), 5) == 1.42857
    with pytest.raises(AssertionError):  # the mutant: exposures forgotten; 1 · 10 and 5 · 2 would not show it
        within_noise(drawn[1, 5, 2, 3], law((1, 1, 1, 1)))


@pytest.mark.parametrize("statement, said", [
    (Suppressed(10), "hidden if below 10"), (Within(None, 4), "4 or less"), (Within(1, 4), "between 1 and 4"),
    (Rounded(5, "up"), "rounded to 5, halves up"), (Clamped(0, 9), "moved to 0 if below it and to 9 if above it"),
    (Suppressed(5) & RandomRounded(3), "hidden if below 5, then rounded at random to 3"),
    (Bands([(15, 10), (100, 50)]), "rounded to 10 from 15 on, to 50 from 100 on"), (Exact(), "Exact()"),
    (CellKey([{0: 1}, {-1: 0.5, 1: 0.5}]), "moved by a cell key, −1 to 1"),
    (CanonicalNoise(0.5, 0.1), "with canonical noise, epsilon = 0.5, delta = 0.1")], ids=str)
def test_a_statement_is_said_in_words(statement, said):
    assert statement.words == said


def test_noise_by_its_probabilities_is_not_called_none():
    for noise in (HOP, CanonicalNoise(1.0, 0.05)):
        assert "noise as stated row by row; budget" in repr(declare(Counts(["a"]), [7], noise=noise, source="x"))
    assert "no noise; budget" in repr(declare(Counts(["a"]), [6], printed=RandomRounded(3), source="x"))


def test_a_grand_total_is_called_by_its_label_or_by_its_parts():
    cells, H = [f"c{i}" for i in range(20)], np.vstack([np.eye(20), np.ones((1, 20))])
    values = [3] * 20 + [61]
    for matrix, name in ((H, "row 21 (the sum of c0 to c19)"),
                         (pd.DataFrame(H, [*cells, "All"]), "All")):
        with pytest.raises(ValueError, match=re.escape(f"values['{name}'] must be multiples of 3")):
            declare(Counts(cells), values, matrix=matrix, printed=RandomRounded(3), source="x")
    by_number = declare(Counts(cells), [3] * 20 + [60], matrix=H, printed={"row 21": Rounded(2)}, source="x")
    assert by_number.printed[-1] == Rounded(2) and by_number.names[-1] == "row 21"  # in a file, and for draws
    partly = declare(Categorical(cells), [9, 20], matrix=[[0] + [0, 1] * 10, [1] + [0] * 20], printed=Exact(),
                     source="x")
    assert partly.names[0] == "row 1" and "row 1 (the sum of 10 from count[c1] to count[c19]): 9" in repr(partly)


@pytest.mark.parametrize("value, printed", [(-3, RandomRounded(3)), (-4, Exact()), (None, Suppressed(0))])
def test_a_negative_count_is_told_from_a_number_out_of_reach(value, printed):
    with pytest.raises(ValueError, match="'a'] must be 0 or more, because it is a count to which no noise was added"):
        declare(Counts(["a", "b"]), [value, 6], printed=printed, source="x")


def test_a_ptable_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes("i,j,p,größe\n".encode("latin-1"))
    for name in ("missing.csv", "latin.csv", "", "a\0b"):
        with pytest.raises(ValueError, match="ptable must be a table, or the path of a CSV file that can be read"):
            CellKey(str(tmp_path / name))


def test_exposures_without_a_prior_of_rates_are_said_to_be_unused():
    made = declare(Counts(["a", "b"], exposure=[8000, 61000]), [4, 31], printed=Exact(), source="x")
    for prior, said in ((None, True), (SharedGamma(0.5, 1), False), (Gamma(0.5, 1), False)):
        assert ("exposures are not used" in repr(explain(made, prior))) == said
        assert ("exposures are not used" in str(summary(fit(made, prior, draws=100, progress=False)))) == said
    assert not explain(declare(Counts(["a", "b"]), [4, 31], printed=Exact(), source="x")).note


def test_explain_says_a_reason_once():
    H = np.vstack([np.kron(np.eye(2), np.ones(2)), np.kron(np.ones(2), np.eye(2))])
    said = repr(explain(declare(Counts([*"abcd"]), [5, 7, 4, 8], matrix=H, printed=Exact(), source="x")))
    assert " ".join(said.split()).count("its rows must add up cells") == 1


def test_yes_and_no_in_the_place_of_yes_are_told_from_each_other():
    model = RandomizedResponse(Bernoulli("cheated", "yes", failure="no"), keep=0.75)
    with pytest.raises(ValueError, match=r"got 2 numbers; give 'report\[yes\]' alone, and n=500 if these are all"):
        declare(model, [180, 320], printed=Exact(), source="x")
