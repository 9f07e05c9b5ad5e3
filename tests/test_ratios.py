"""Percentages, ratios and percent changes: readings and posteriors against every table, files, refusals, mutants."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats as st

import dp_bayes_nb as dpb
from dp_bayes_nb import (Bernoulli, Beta, Categorical, Clamped, Counts, Dirichlet, Gamma, Gaussian, Grouped, Laplace,
                         RandomRounded, Ratio, Release, Rounded, Suppressed, Within, declare, explain, fit)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.noise.printing import unprinted
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.ways.ratios import base_weights, draw_behind, summed, weighed

WALKS = Ratio(Bernoulli("walks", "yes", failure="no"), per=100)
CHANGE = Ratio(Counts(["new", "old"], exposure=[5, 4]), per=100, change=True)


def printed_as(fraction, step, ties):
    "A fraction rounded to a step: exact arithmetic."
    q = fraction / step
    down = q.numerator // q.denominator
    half = q - down == Fraction(1, 2)
    up = {"even": down % 2 == 1, "up": True, "down": False, "away": q > 0}[ties] if half else q - down > Fraction(1, 2)
    return (down + up) * step


def bases(model, release, prior):
    "P(n | printed) of each base, and what was summed."
    w = weighed(model, measured(release), release.n_range, model.accept(prior))
    value = base_weights(w)
    p = np.exp(value - value.max())
    return dict(zip(w.n.tolist(), p / p.sum())), w


def same_bases(model, release, prior, wanted):
    "To 1e-9 those of weights {n: w}."
    found, total = bases(model, release, prior)[0], sum(wanted.values())
    for n, weight in wanted.items():
        assert abs(found.get(float(n), 0.0) - weight / total) < 1e-9, (n, found.get(float(n)), weight / total)


@pytest.mark.parametrize("value, step, ties, a, b", [
    ("12.5", "0.5", "even", 1.0, 1.0), ("37", "1", "away", 0.2, 0.7), ("38", "1", "down", 3.0, 1.0),
    ("60", "20", "even", 1.0, 4.0), ("0.1", "0.1", "up", 1.0, 1.0)])
def test_bases_of_a_share_against_every_count(value, step, ties, a, b):
    "Ties occur: of 8 records three are 37.5%, of 40 one is 2.5%."
    low, high = (1, 70) if value != "0.1" else (400, 1200)
    value, step = Fraction(value), Fraction(step)
    wanted = {n: sum(st.betabinom(n, a, b).pmf(x) for x in range(n + 1) if printed_as(Fraction(100 * x, n), step, ties)
                     == value) for n in (range(low, high + 1) if high < 100 else ())}
    if not wanted:  # few counts are near a tenth of a percent
        wanted = {n: sum(st.betabinom(n, a, b).pmf(x) for x in range(4) if printed_as(Fraction(100 * x, n), step, ties)
                         == value) for n in range(low, high + 1)}
    made = declare(WALKS, float(value), n_range=(low, high), printed=Rounded(float(step), ties), source="made up")
    same_bases(WALKS, made, Beta(a, b), wanted)


def test_another_rule_of_ties_and_an_exact_percentage_are_found():
    wanted = {n: sum(1 / (n + 1) for x in range(n + 1) if printed_as(Fraction(100 * x, n), Fraction(1), "even") == 38)
              for n in range(1, 71)}
    of = lambda statement: declare(WALKS, 38.0, n_range=(1, 70), printed=statement, source="made up")
    same_bases(WALKS, of(Rounded(1, "even")), None, wanted)
    for statement, why in ((Rounded(1, "down"), "halves that go down"), (dpb.Exact(), "a percentage taken as exact"),
                           (Rounded(2, "even"), "another step")):
        must_fail(lambda statement=statement: same_bases(WALKS, of(statement), None, wanted), why)


def test_a_known_base_gives_the_count_and_the_beta_posterior():
    made = declare(WALKS, 32.4, n=37, printed=Rounded(0.1), source="a school")
    idata = fit(made, Beta(2.0, 3.0), draws=2000, progress=False)
    assert set(idata.confidential["s"].values.ravel()) == {12.0} and "n" not in idata.confidential
    u = st.beta(14, 28).cdf(idata.posterior["probability"].values.ravel())
    assert st.kstest(u, "uniform").pvalue > 1e-3
    assert idata.posterior.attrs["way"] == "ratios" and "base" in explain(made).how


def test_several_answers_against_every_table():
    "Two of four answers, of a base in a range: the counts drawn, and the mean of all."
    model, alpha = Ratio(Categorical(list("abcd")), per=100), np.array([0.4, 1.0, 2.0, 0.7])
    made = declare(model, {"b": 40.0, "d": 13.0}, n_range=(6, 24), printed=Rounded(1), source="made up")
    tables = {}
    for n in range(6, 25):
        for x in itertools.product(range(n + 1), repeat=3):
            table = (*x, n - sum(x))
            if min(table) >= 0 and printed_as(Fraction(100 * table[1], n), Fraction(1), "even") == 40 and printed_as(
                    Fraction(100 * table[3], n), Fraction(1), "even") == 13:
                tables[n, table] = st.dirichlet_multinomial(alpha, n).pmf(table)
    same_bases(model, made, Dirichlet(alpha), {n: sum(w for (m, _), w in tables.items() if m == n)
                                               for n in range(6, 25)})
    idata = fit(made, Dirichlet(alpha), draws=2000, progress=False)
    s, p = idata.confidential["s"].values.reshape(-1, 4), np.array(list(tables.values())) / sum(tables.values())
    assert {(sum(row), tuple(row)) for row in s.astype(int).tolist()} <= set(tables)
    mean = p @ np.array([x for _, x in tables])
    theta = p @ np.array([(np.array(x) + alpha) / (n + alpha.sum()) for n, x in tables])
    for draws, wanted in ((s, mean), (idata.posterior["probabilities"].values.reshape(-1, 4), theta)):
        def close(wanted, draws=draws):
            assert np.all(np.abs(draws.mean(axis=0) - wanted) < 5 * draws.std(axis=0) / len(draws)**0.5 + 1e-9)
        close(wanted)
        must_fail(lambda wanted=wanted: close(wanted[::-1]), "another order of the answers")


def test_draws_of_counts_given_a_base():
    "Backwards through the convolution: all pairs of counts behind two figures of one base."
    model = Ratio(Categorical(3), per=100)
    made = declare(model, {"0": 30.0, "2": 20.0}, n=300, printed=Rounded(2), source="made up")
    _, w = bases(model, made, Dirichlet([0.5, 1.0, 3.0]))
    (first, weights, _), (other, more, _) = summed(w, np.array([0])).parts
    x, y = first[0] + np.arange(weights.shape[1]), other[0] + np.arange(more.shape[1])
    joint = weights[0][:, None] * more[0]  # and the answer in between, with α = 1: weight 1
    n, drawn = draw_behind(np.random.default_rng(1), w, 40_000)
    seen = np.zeros(joint.shape)
    np.add.at(seen, ((drawn[:, 0] - x[0]).astype(int), (drawn[:, 1] - y[0]).astype(int)), 1)
    alike = lambda p: st.chisquare(seen[p > 0], p[p > 0] / p.sum() * seen.sum()).pvalue > 1e-3
    assert alike(joint) and set(n) == {300.0} and not seen[joint == 0].any()
    assert not alike((joint > 0) * 1.0), "flat weights must fail"


def test_rates_and_their_base_against_every_count():
    law = lambda E: st.nbinom(1.3, 0.02 / (0.02 + E))
    wanted = {n: law(4).pmf(n) * sum(law(5).pmf(x) for x in range(400) if printed_as(
        Fraction(400 * x, 5 * n) - 100, Fraction(1, 10), "away") == Fraction("-3.7")) for n in range(30, 121)}
    made = declare(CHANGE, -3.7, n_range=(30, 120), printed=Rounded(0.1, "away"), source="made up")
    same_bases(CHANGE, made, Gamma(1.3, 0.02), wanted)
    plain = Ratio(Counts(["new", "old"]), per=100, change=True)
    must_fail(lambda: same_bases(plain, declare(plain, -3.7, n_range=(30, 120), printed=Rounded(0.1, "away"),
                                                source="made up"), Gamma(1.3, 0.02), wanted), "no exposures")
    idata = fit(made, Gamma(1.3, 0.02), draws=1000, progress=False)
    s, n = idata.confidential["s"], idata.confidential["n"].values
    assert np.array_equal(s.sel(statistic="old").values, n)
    assert set(np.round(100 * (4 * s.sel(statistic="new").values / (5 * n) - 1), 1).ravel()) == {-3.7}
    given = st.gamma(1.3 + s.values, scale=1 / (0.02 + np.array([5.0, 4.0])))
    assert np.all([st.kstest(u.ravel(), "uniform").pvalue > 1e-3 for u in np.moveaxis(given.cdf(
        idata.posterior["rates"].values), -1, 0)])


def test_noise_before_the_division_against_every_pair():
    "Both counts with noise on whole numbers, and clamped: sums over everything."
    model = Ratio(Bernoulli(), numerator=Laplace(scale=2.0, discrete=True),
                  denominator=Laplace(scale=1.0, discrete=True))
    made = declare(model, 1.0, n_range=(4, 12), printed=Clamped(0, 1) & Rounded(0.25), source="made up")
    k = np.arange(-50, 51)
    p, q = (np.exp(-np.abs(k) / b) / np.exp(-np.abs(k) / b).sum() for b in (2.0, 1.0))
    def chance(x, n, p=p, q=q):
        down = (n + k)[None, :]
        up = (x + k)[:, None]
        return float((np.outer(p, q) * ((down > 0) & (np.clip(up / np.where(down > 0, down, 1), 0, 1) >= 0.875))).sum())
    wanted = {n: sum(chance(x, n) for x in range(n + 1)) / (n + 1) for n in range(4, 13)}
    same_bases(model, made, None, wanted)
    sharp = (k == 0) * 1.0
    wrong = {n: sum(chance(x, n, q=sharp) for x in range(n + 1)) / (n + 1) for n in range(4, 13)}
    must_fail(lambda: same_bases(model, made, None, wrong), "a base without noise")


def test_a_noisy_or_rounded_base_is_weighed():
    noisy = declare(WALKS, {"yes": 25.0}, n=21.3, n_noise=Laplace(scale=3), n_range=(1, 60), source="made up",
                    printed={"percent[yes]": Rounded(1)})
    wanted = {n: np.exp(-abs(n - 21.3) / 3) * sum(1 / (n + 1) for x in range(n + 1) if printed_as(
        Fraction(100 * x, n), Fraction(1), "even") == 25) for n in range(1, 61)}
    same_bases(WALKS, noisy, None, wanted)
    rounded = declare(WALKS, {"yes": 25.0}, n=20, n_range=(1, 60), source="made up",
                      printed={"n": Rounded(10), "percent[yes]": Rounded(1)})
    found = bases(WALKS, rounded, None)[0]
    assert min(found) == 15 and max(found) == 25
    must_fail(lambda: same_bases(WALKS, rounded, None, wanted), "noise taken for rounding")


def test_continuous_noise_is_continuous_in_its_scale_and_its_limits():
    "Very little noise reads as none; Gaussian and Laplace noise of one variance are near each other for wide ends."
    plain = declare(Ratio(Bernoulli()), 0.25, n_range=(4, 9), printed=Rounded(0.01), source="made up")
    exact = bases(plain.model, plain, None)[0]
    for noise in (Laplace(scale=1e-6), Gaussian(sd=1e-6)):
        for given in ((noise, None), (None, noise), (noise, noise)):
            model = Ratio(Bernoulli(), numerator=given[0], denominator=given[1])
            found = bases(model, declare(model, 0.25, n_range=(4, 9), printed=Rounded(0.01), source="made up"), None)[0]
            assert max(abs(found[n] - exact[n]) for n in exact) < 1e-9


def test_what_no_count_gives_is_refused_with_the_nearest_base():
    for given, said in (
            (dict(values=32.4, n=36), r"yes\].*n = 36 gives, got 32.4; the nearest n that could give it is 37"),
            (dict(values=32.4, n_range=(1, 30)), "n from 1 to 30 gives, got 32.4; the nearest.* is 34"),
            (dict(values=120.0, n=37), "from 0 to 100, because it is a share"),
            (dict(values=0.1, n_range=(1, 300)), "the nearest n that could give it is 667"),
            (dict(values={"yes": 32.4}, n=20, n_range=(1, 60),
                  printed={"n": Rounded(10), "percent[yes]": Rounded(0.1)}), "any n from 15 to 25")):
        with pytest.raises(ValueError, match=said):
            declare(WALKS, **{"printed": Rounded(0.1), "source": "a school"} | given)
    two = Ratio(Categorical(["bus", "car", "walk"]), per=100)
    with pytest.raises(ValueError, match=r"figures of one base, any n from 1 to 20, got \[14.3, 33.3\].* is 21"):
        declare(two, {"bus": 14.3, "car": 33.3}, n_range=(1, 20), printed=Rounded(0.1), source="a school")
    with pytest.raises(ValueError, match="figures of one base"):  # each alone is a half
        declare(two, [50.0, 50.0, 50.0], n_range=(1, 100), printed=Rounded(0.1), source="a school")
    with pytest.raises(ValueError, match="group 'b'.*the nearest n that could give it is 37"):
        declare(Grouped(WALKS, "school", ["a", "b"], sizes="public"), [[50.0], [32.4]], n=[40, 36],
                printed=Rounded(0.1), source="two schools")


def test_percentages_of_groups():
    model = Grouped(WALKS, "school", ["a", "b"], sizes="public")
    made = declare(model, [[50.0], [32.4]], n=[40, 37], printed=Rounded(0.1), source="two schools")
    idata = fit(made, draws=100, progress=False)
    assert set(map(tuple, idata.confidential["s"].values.reshape(-1, 2).tolist())) == {(20.0, 12.0)}


def test_files_and_words():
    for model, value in ((WALKS, 32.5), (CHANGE, -2.0), (Ratio(Bernoulli(), numerator=dpb.RandomRounded(3)), 0.5),
                         (Ratio(Categorical(2), 1000, denominator=Gaussian(sd=2)), 500.0)):
        made = declare(model, {model.names[0]: value}, n=40, printed=Rounded(0.5, "up"), source="made up")
        again = Release.from_json(made.to_json())
        assert again == made and again.model == model and hash(model) == hash(again.model)
        assert "Ratio(" in repr(made)
    with pytest.raises(ValueError, match="no sum of records"):
        dpb.release(WALKS, {"walks": ["yes", "no"]}, epsilon=1.0)
    with pytest.raises(ValueError, match="one table"):
        fit([declare(WALKS, 50.0, n=n, printed=Rounded(1), source=f"school {n}") for n in (10, 12)], progress=False)
    with pytest.raises(ValueError, match="a rule for all counts"):
        Ratio(Bernoulli(), numerator=Suppressed(5))


def test_a_hidden_or_ranged_share_is_read():
    for statement, value in ((Suppressed(5), None), (Within(0, 5), None)):
        made = declare(WALKS, value, n=60, printed=statement, source="made up")
        _, w = bases(WALKS, made, None)
        x, p = summed(w, np.array([0])).parts[0][:2]
        assert (x[0] + np.flatnonzero(p[0] > 0)).tolist() == ([0, 1, 2] if value is None and statement == Suppressed(5)
                                                              else [0, 1, 2, 3])  # 3 of 60 are 5%, not below it


def test_simulated_copies():
    made = declare(WALKS, 32.4, n_range=(20, 200), printed=Rounded(0.1), source="a school")
    copy = dpb.simulate_like(made, {"probability": 0.3}, 50, seed=3)
    assert copy.simulated and (copy.values[0] * 50 / 100) % 1 == 0


def test_open_ends_are_asked_for():
    "Other models' rounded numbers keep their ends to the bit; a figure's end that is not its own is one float inside."
    given = (Rounded(1, "even"),), np.array([37.0]), np.zeros(1)
    usual, open_ = unprinted(*given), unprinted(*given, open_ends=True)
    assert (usual.low[0], usual.high[0]) == (36.5, 37.5)
    assert (open_.low[0], open_.high[0]) == (np.nextafter(36.5, 99), np.nextafter(37.5, 0))
    even = unprinted((Rounded(1, "even"),), np.array([38.0]), np.zeros(1), open_ends=True)
    assert (even.low[0], even.high[0]) == (37.5, 38.5)


@pytest.mark.parametrize("step", [Rounded(5) & RandomRounded(3), Rounded(10, ties="up"), RandomRounded(3)], ids=str)
def test_rules_in_a_row_before_the_division_are_read_from_the_file(step):
    model = Ratio(Bernoulli("walks"), per=100, numerator=step, denominator=step)
    release = declare(model, 33.0, n_range=(1, 60), printed=Rounded(1), source="a test")
    assert Release.from_json(release.to_json()) == release


def test_the_base_of_two_counts_is_no_number_of_records():
    change = Ratio(Counts(["2024", "2023"]), per=100, change=True)
    with pytest.raises(ValueError, match=r"N is the largest base \('2023'\) that there can be"):
        declare(change, 5.1, printed=Rounded(0.1), source="x")
    said = repr(declare(change, 5.1, n_range=(0, 400), printed=Rounded(0.1), source="x"))
    assert "n is the base ('2023')" in said and "combinations" not in said
