"""Randomised response: exact draws against tables of all truths, the declaration, refusals, and what must fail."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st
from scipy.special import gammaln

import dp_bayes_nb as dpb
from dp_bayes_nb import (Bernoulli, Beta, Categorical, Dirichlet, Exact, Grouped, Laplace, LearnedDirichlet, LogLinear,
                         Noise, RandomizedResponse, RandomRounded, Rounded, Suppressed, declare)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.counts.reports import draw_shares, speaks_for_one
from dp_bayes_nb.posterior.fit import posterior_draws
from dp_bayes_nb.ways.reports import known_reports
from dp_bayes_nb.releases.document import Release, measured

YES_NO, SILENT = Bernoulli("cheated", "yes", failure="no"), Laplace(scale=0)
SKEW = [[0.7, 0.1, 0.1], [0.25, 0.85, 0.25], [0.05, 0.05, 0.65]]
CYCLIC = [[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]]
ALPHA, COUNTS = np.array([0.7, 1.0, 2.0]), [2, 3, 1]


def table_means(Q, c, alpha):
    "E[N | c] by every table of reports and truths."
    rows = [[v for v in itertools.product(range(n + 1), repeat=3) if sum(v) == n] for n in c]
    x = np.array(list(itertools.product(*rows)))
    N, log_Q = x.sum(axis=1), np.log(np.asarray(Q))
    value = (x * log_Q).sum(axis=(1, 2)) - gammaln(x + 1).sum(axis=(1, 2)) + gammaln(alpha + N).sum(axis=1)
    w = np.exp(value - value.max())
    return w @ N / w.sum()


def fitted(Q, seed=1, draws=2000, **more):
    model = RandomizedResponse(Categorical(["a", "b", "c"], "x"), matrix=Q)
    made = declare(model, dict(zip("abc", COUNTS)) if len(Q) == 3 else COUNTS, noise=SILENT, source="made up", **more)
    return dpb.fit(made, Dirichlet(ALPHA), draws=draws, warmup=200, seed=seed, progress=False)


def has_means(idata, mean, errors=5.0, autocorrelation=1.0):
    s = idata.confidential["s"].values
    error = errors * s.std(axis=(0, 1)) * (autocorrelation / (s.shape[0] * s.shape[1])) ** 0.5
    assert np.all(np.abs(s.mean(axis=(0, 1)) - mean) < error), (s.mean(axis=(0, 1)), mean, error)


def test_counts_of_truths_against_every_table():
    mean = table_means(SKEW, COUNTS, ALPHA)
    has_means(fitted(SKEW), mean)
    turned = np.array(SKEW).T / np.array(SKEW).T.sum(axis=0)
    must_fail(lambda: has_means(fitted(turned.tolist()), mean), "Q transposed")


def test_a_chain_where_a_report_speaks_for_several_truths():
    assert speaks_for_one(np.array(SKEW)) and not speaks_for_one(np.array(CYCLIC))
    idata = fitted(CYCLIC, draws=20_000)
    assert idata.posterior.attrs["method"] == "augment" and "lp" in idata.sample_stats
    mean = table_means(CYCLIC, COUNTS, ALPHA)
    has_means(idata, mean, autocorrelation=20.0)
    turned = np.array(CYCLIC).T.tolist()
    must_fail(lambda: has_means(fitted(turned, draws=20_000), mean, autocorrelation=20.0), "Q transposed")


def test_cohorts_are_one_matrix():
    "Two cohorts, with designs of their own, against the product of their likelihoods."
    one, two = np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([[0.6, 0.3], [0.4, 0.7]])
    Q, c = np.vstack([0.25 * one, 0.75 * two]), np.array([4, 1, 7, 8])
    t = (np.arange(20_000) + 0.5) / 20_000
    shares = np.stack([t, 1 - t])
    value = c[:2] @ np.log(one @ shares) + c[2:] @ np.log(two @ shares)
    w = np.exp(value - value.max())
    draws = draw_shares(np.random.default_rng(1), Q, c, np.ones(2), 20_000)[:, 0]
    assert abs(draws.mean() - w @ t / w.sum()) < 5 * draws.std() / len(draws) ** 0.5


def test_noisy_counts_of_cohorts_add_up_to_their_sizes():
    "Against every table of four counts; without the sizes the share is .769, some seven Monte Carlo errors away."
    designs, z, scale = [[[0.95, 0.3], [0.05, 0.7]], [[0.9, 0.2], [0.1, 0.8]]], np.array([11, 0, 0, 1]), 1.5
    model = RandomizedResponse.cohorts(Categorical(["y", "n"], "x"), designs, [5, 7])
    made = declare(model, z, noise=Laplace(scale=scale, discrete=True), n=12, source="made up")
    t = (np.arange(1000) + 0.5) / 1000
    def share(sized):
        c = np.array([c for c in itertools.product(range(13), repeat=4) if sum(c) == 12])
        c = c[c[:, :2].sum(axis=1) == 5] if sized else c
        seen = (gammaln(c + 1) + np.abs(c - z) / scale).sum(axis=1)
        value = c @ np.log(model.Q @ np.stack([t, 1 - t])) - seen[:, None]
        w = np.exp(value - value.max()).sum(axis=0)
        return w @ t / w.sum()
    idata = dpb.fit(made, Dirichlet([1.0, 1.0]), draws=1500, warmup=100, seed=1, progress=False)
    found = idata.posterior["probabilities"].values[..., 0]
    error = found.std() / idata.posterior["probabilities"].attrs["ess_bulk"][0] ** 0.5
    def close(mean):
        assert abs(found.mean() - mean) < 4 * error
    close(share(True))
    must_fail(lambda: close(share(False)), "sizes that are not used")


def test_counts_of_cohorts_that_are_not_their_sizes_are_refused():
    model = RandomizedResponse.cohorts(Categorical(["y", "n"], "x"), [[[0.8, 0.3], [0.2, 0.7]]] * 2, [6, 9])
    made = declare(model, [4, 2, 3, 6], noise=SILENT, source="made up")
    assert Release.from_json(made.to_json()) == made and made.model.sizes == ((2, 6), (2, 9))
    for values, more, said in (([5, 2, 3, 5], {"noise": SILENT}, "add up to 6, the size of cohort 1, got 7 or more"),
                               ([3, 2, 4, 6], {"noise": SILENT}, "add up to 6, the size of cohort 1, got 5 or less"),
                               ([4, 2, 3, 5], {"noise": SILENT}, "n must be 15, the respondents of all cohorts"),
                               ([15, 3, 1, 1], {"noise": Laplace(scale=0.2), "n": 15}, "size of cohort 1, got 1"),
                               ([9, 3, 3, 6], {"printed": RandomRounded(3), "n": 15},
                                "size of cohort 1, got 8 or more")):
        with pytest.raises(ValueError, match=said):
            declare(model, values, source="made up", **more)


def test_cohorts_in_groups_and_in_part():
    model = RandomizedResponse.cohorts(Categorical(["y", "n"], "x"), [[[0.8, 0.3], [0.2, 0.7]]] * 2, [60, 40])
    groups = Grouped(model, "region", ["north", "south"], sizes="public")
    made = declare(groups, [[30, 20, 25, 25], [10, 10, 5, 5]], n=[100, 30], printed=Exact(), source="made up")
    assert groups.inner.sizes is None and Release.from_json(made.to_json()) == made and made.group("south").n == 30
    part = {"report[0]": 30, "report[2]": 20}
    with pytest.raises(ValueError, match="counts of 2 reports that add up to 60, the size of cohort 1, got 61 or more"):
        declare(model, part | {"report[0]": 61}, n=100, printed=Exact(), source="made up")
    s = dpb.fit(declare(model, part, n=100, printed=Exact(), source="made up"), draws=300, progress=False)
    alike = dpb.fit(declare(model, [30, 30, 20, 20], printed=Exact(), source="made up"), draws=300, progress=False)
    one, other = (x.posterior["probabilities"].values[..., 0] for x in (s, alike))
    assert abs(one.mean() - other.mean()) < 0.25 * other.std()  # the counts that were left out follow from the sizes


def test_the_declaration_is_kept():
    for model in (RandomizedResponse(YES_NO, keep=0.8, reports="permanent", reports_per_person=12),
                  RandomizedResponse(YES_NO, matrix=[[1.0, 0.3], [0.0, 0.7]])):
        made = declare(model, 30, n=100, noise=SILENT, source="made up")
        assert Release.from_json(made.to_json()) == made and made.budget["epsilon"] is None
        assert "local ε" in repr(made)
    fresh = RandomizedResponse(YES_NO, keep=0.8, reports_per_person=12)
    assert np.isclose(fresh.local_epsilon, 12 * np.log(4))
    must_fail(lambda: np.testing.assert_allclose(RandomizedResponse(YES_NO, keep=0.8).Q,
                                                 RandomizedResponse(YES_NO, epsilon=0.8).Q), "keep taken as ε")
    tampered = made.to_json().replace('"infinite"', "0.5")
    with pytest.raises(ValueError):
        Release.from_json(tampered)


def test_release_refuses_the_model():
    with pytest.raises(ValueError, match="respondents randomise"):
        dpb.release(RandomizedResponse(YES_NO, keep=0.8), {"cheated": ["yes", "no"]}, epsilon=1.0)


def test_rows_that_follow_from_n_are_put_back():
    made = declare(RandomizedResponse(Categorical(3), epsilon=1.0), [5, 0, 7], noise=SILENT, source="made up")
    assert made.n == 12 and known_reports(made.model, measured(made)).tolist() == [5, 0, 7]


def test_what_cannot_be_fitted_is_refused_in_words():
    bits = RandomizedResponse(Categorical(3), epsilon=1.0, bits=True)
    for made, said in ((declare(bits, [5, 6, 7], n=12, noise=Laplace(scale=2), source="made up"), "bits"),
                       (declare(bits, [5, 6, 7], n_range=(0, 90), noise=Laplace(scale=2), source="made up"), "bits"),
                       (declare(RandomizedResponse(Categorical(3), epsilon=1.0), [11, 7], n=18, noise=Laplace(scale=2),
                                matrix=[[1, 1, 0], [0, 0, 1]], source="made up"), "sums")):
        with pytest.raises(ValueError, match=said):
            dpb.fit(made, progress=False)
    with pytest.raises(ValueError, match="Dirichlet"):
        made = declare(RandomizedResponse(Categorical(3), epsilon=1.0), [5, 6, 7], noise=SILENT, source="made up")
        dpb.fit(made, dpb.LogDensity(lambda theta: 0.0 * theta["probabilities"].sum()), progress=False)


def test_the_likelihood_is_exact():
    made = declare(RandomizedResponse(Categorical(3), matrix=SKEW), COUNTS, noise=SILENT, source="made up")
    theta = np.array([0.5, 0.3, 0.2])
    by_hand = gammaln(7) - gammaln(np.array(COUNTS) + 1).sum() + np.array(COUNTS) @ np.log(np.array(SKEW) @ theta)
    assert np.isclose(float(dpb.log_likelihood(made)({"probabilities": jnp.asarray(theta)})), by_hand, rtol=1e-12)
    slope = jax.grad(lambda p: dpb.log_likelihood(made)({"probabilities": p}))(jnp.asarray(theta))
    assert np.allclose(slope, np.array(SKEW).T @ (np.array(COUNTS) / (np.array(SKEW) @ theta)))


SHARES = (np.arange(1000) + 0.5) / 1000


def share_mean(counts, seen, Q):
    "Mean share under a flat prior, given weights of counts of yes among n: (counts, n) -> weight."
    r = Q[0] * SHARES + Q[1] * (1 - SHARES)
    w = sum(seen(c, n) * st.binom.pmf(c, n, r) for c, n in counts)
    return float(w @ SHARES / w.sum()), sum(n * float(w.sum()) for w, n in (
        (seen(c, n) * st.binom.pmf(c, n, r), n) for c, n in counts)) / float(w.sum())


def near(draws, mean, autocorrelation, slip=0.0):
    "Means of chains, four standard errors; draws are worth 1 in `autocorrelation`; slip: of a grid."
    error = 4 * draws.std() * (autocorrelation / draws.size) ** 0.5 + slip
    assert abs(draws.mean() - mean) < error, (draws.mean(), mean, error)


def fit_shares(made, prior=None, **more):
    "Draws of the shares, or of the share."
    return next(iter(dpb.fit(made, prior, progress=False, **more).posterior.data_vars.values())).values


def test_counts_that_were_rounded_at_random():
    made = declare(RandomizedResponse(YES_NO, keep=0.75), [15], n=40, printed=RandomRounded(3), source="made up")
    chance = {13: 1 / 3, 14: 2 / 3, 15: 1, 16: 2 / 3, 17: 1 / 3}
    mean, _ = share_mean([(c, 40) for c in chance], lambda c, n: chance[c], (0.75, 0.25))
    share = fit_shares(made, Beta(1.0, 1.0), draws=1500, warmup=200, seed=1)
    near(share, mean, 12)
    other, _ = share_mean([(c, 40) for c in chance], lambda c, n: chance[c], (1.0, 0.0))
    must_fail(lambda: near(share, other, 12), "reports taken as truths")


def test_unknown_and_noisy_numbers_of_respondents():
    made = declare(RandomizedResponse(YES_NO, keep=0.75), [14], n=40, n_noise=Laplace(scale=3), n_range=(0, 70),
                   noise=Laplace(scale=2), source="made up")
    weight = lambda c, n: np.exp(-abs(c - 14) / 2 - abs(n - 40) / 3)
    pairs = [(c, n) for n in range(71) for c in range(n + 1)]
    mean, size = share_mean(pairs, weight, (0.75, 0.25))
    idata = dpb.fit(made, Beta(1.0, 1.0), draws=2000, warmup=100, seed=1, progress=False)
    near(idata.posterior["probability"].values, mean, 20)
    near(idata.confidential["n"].values, size, 20)
    assert idata.confidential["n"].values.max() <= 70 and np.ptp(idata.confidential["n"].values) > 10
    fixed, _ = share_mean([(c, 40) for c in range(41)], weight, (1.0, 0.0))
    must_fail(lambda: near(idata.posterior["probability"].values, fixed, 20), "reports taken as truths")


def test_pooled_groups_look_through_the_reports():
    "Every way in which a count of reports is published gives about the pooled shares that the counts give."
    rng, n = np.random.default_rng(1), np.full(6, 4000)
    truth = rng.uniform(0.1, 0.4, 6)
    c = rng.binomial(n, 0.25 + 0.5 * truth)[:, None]
    model = Grouped(RandomizedResponse(YES_NO, keep=0.75), "region", list("abcdef"), sizes="public")
    def pooled(**more):
        return dpb.fit(declare(model, c // 3 * 3, n=n, source="made up", **more), pool="partial", draws=500,
                       progress=False)
    def close(idata):
        assert np.abs(idata.posterior["probability"].mean(["chain", "draw"]).values - truth).max() < 0.06
    for more in ({"printed": Exact()}, {"printed": RandomRounded(3)}, {"printed": Suppressed(5)},
                 {"noise": Laplace(scale=5, discrete=True)}):
        idata = pooled(**more)
        close(idata)
        if "printed" in more:
            s = idata.confidential["s"].mean(["chain", "draw"]).values.ravel()
            assert np.abs(s / n - truth).max() < 0.06
    taken = Grouped(YES_NO, "region", list("abcdef"), sizes="public")
    taken = declare(taken, c, n=n, printed=Exact(), source="made up")
    must_fail(lambda: close(dpb.fit(taken, pool="partial", draws=500, progress=False)), "reports taken as truths")


def test_groups_are_compared():
    model = Grouped(RandomizedResponse(YES_NO, keep=0.75), "region", ["north", "south"], sizes="public")
    made = declare(model, [[310], [420]], n=[1000, 900], printed=Exact(), source="made up")
    line = dpb.contrast(dpb.fit(made, progress=False), a="south", b="north").iloc[0]
    difference = (420 / 900 - 310 / 1000) / 0.5
    assert abs(line["mean"] - difference) < 0.02 and 0.03 < line["sd"] < 0.06


def hashed(rng):
    "Q of twelve cohorts: a public hash of three words to two values, told rightly with probability 0.8."
    return [np.where(np.arange(2)[:, None] == each, 0.8, 0.2) for each in rng.integers(0, 2, (12, 3))], 10


def bloomed(rng):
    "Q of two cohorts of RAPPOR: the pattern of three bits of a Bloom filter, each turned over with probability 1/4."
    set_bit = np.where(rng.integers(0, 2, (2, 3, 3)) == 1, 0.75, 0.25)  # cohort, bit, word
    patterns = np.array(list(itertools.product((0, 1), repeat=3)))[:, :, None]
    return [np.prod(np.where(patterns == 1, each, 1 - each), axis=1) for each in set_bit], 60


@pytest.mark.parametrize("design", [hashed, bloomed])
def test_local_hashing_and_patterns_of_bits_are_cohorts(design):
    "Against the product of the likelihoods of all cohorts on a grid."
    rng = np.random.default_rng(3)
    designs, n = design(rng)
    c = np.concatenate([rng.multinomial(n, Q @ [0.6, 0.3, 0.1]) for Q in designs])
    step = (np.arange(150) + 0.5) / 150
    grid = np.array([(a, b, 1 - a - b) for a in step for b in step if a + b < 1])
    value = sum(part @ np.log(Q @ grid.T) for part, Q in zip(np.split(c, len(designs)), designs))
    w = np.exp(value - value.max())
    mean = w @ grid / w.sum()
    model = RandomizedResponse.cohorts(Categorical(3, "word"), designs, [n] * len(designs))
    made = declare(model, c, printed=Exact(), source="made up")
    x = fit_shares(made, draws=1500, warmup=200, seed=1)
    agree = lambda mean: [near(x[..., t], mean[t], 25, 0.004) for t in (0, 1)]
    agree(mean)
    must_fail(lambda: agree(mean[::-1]), "words exchanged")


@pytest.mark.parametrize("alike, other", [(0.1, 10.0), (10.0, 0.1)])
def test_a_concentration_that_is_learned(alike, other):
    rng, k, Q = np.random.default_rng(5), 8, RandomizedResponse(Categorical(8), keep=0.5)
    truth = np.array([0.9, 0.1, *np.zeros(k - 2)]) if alike < 1 else np.full(k, 1 / k)
    made = declare(Q, rng.multinomial(300, Q.Q @ truth), printed=Exact(), source="made up")
    learned = fit_shares(made, LearnedDirichlet([0.1, 10.0]), draws=500).std(axis=(0, 1))
    same = lambda alpha: np.testing.assert_allclose(learned, fit_shares(made, Dirichlet(alpha), draws=500).std(
        axis=(0, 1)), rtol=0.2)
    same(alike)
    must_fail(lambda: same(other), "another α")


def test_the_chain_learns_the_concentration_too():
    "A cyclic design with two α, against the mixture on a grid; bits against their own α."
    step = (np.arange(200) + 0.5) / 200
    grid = np.array([(a, b, 1 - a - b) for a in step for b in step if a + b < 1])
    rows = np.array([[1.0] * 3, [8.0] * 3])
    c = np.array([30, 10, 12])
    value = c @ np.log(np.array(CYCLIC) @ grid.T) + (rows - 1) @ np.log(grid).T
    value += (gammaln(rows.sum(axis=1)) - gammaln(rows).sum(axis=1))[:, None]
    w = np.exp(value - value.max())
    made = declare(RandomizedResponse(Categorical(3), matrix=CYCLIC), c, printed=Exact(), source="made up")
    x = fit_shares(made, LearnedDirichlet([1.0, 8.0]), draws=4000, warmup=200, seed=2)[..., 0]
    near(x, float((w.sum(axis=0) @ grid)[0] / w.sum()), 25, 0.004)
    must_fail(lambda: near(x, float((w[0] @ grid)[0] / w[0].sum()), 25, 0.004), "the first α alone")
    bits = RandomizedResponse(Categorical(6), epsilon=3.0, bits=True)
    made = declare(bits, [1000, 180, 90, 95, 97, 93], n=2000, printed=Exact(), source="made up")
    x, own, other = (fit_shares(made, prior, draws=500).mean(axis=(0, 1))
                     for prior in (LearnedDirichlet([0.1, 500.0]), Dirichlet(0.1), Dirichlet(500.0)))
    np.testing.assert_allclose(x, own, atol=0.01)
    must_fail(lambda: np.testing.assert_allclose(x, other, atol=0.01), "another α")


def test_priors_that_are_learned_are_checked():
    made = declare(RandomizedResponse(Categorical(3), keep=0.5), [5, 6, 7], printed=Exact(), source="made up")
    for alphas in ([], [0.5, -1.0], "x", [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="alphas"):
            dpb.fit(made, LearnedDirichlet(alphas), progress=False)
    one = declare(RandomizedResponse(YES_NO, keep=0.75), [5], n=20, printed=Exact(), source="made up")
    with pytest.raises(ValueError, match="prior must be"):
        dpb.fit(one, LearnedDirichlet(), progress=False)


def test_log_linear_truths_by_categories_in_a_model_of_your_own():
    "The likelihood of the cells as categories is that of RandomizedResponse(LogLinear(...)), by log_likelihood too."
    model = LogLinear({"sex": ["f", "m"], "ill": ["no", "yes"]}, margins=[("sex",), ("ill",)])
    Q = np.kron(np.eye(2), [[0.8, 0.2], [0.2, 0.8]])  # sex is told, illness is randomised
    c, effects = np.array([40, 20, 35, 25]), jnp.array([0.1, -0.7])
    declared = lambda truths, Q: declare(RandomizedResponse(truths, matrix=Q), c, printed=Exact(), source="made up")
    cells = dpb.log_likelihood(declared(Categorical(4, "sex and ill"), Q))
    ours = dpb.log_likelihood(declared(model, [np.eye(2), [[0.8, 0.2], [0.2, 0.8]]]))
    by_cells = lambda x: cells({"probabilities": model.cell_probabilities({"effects": x})})
    value, slope = jax.value_and_grad(by_cells)(effects)
    p = np.asarray(model.cell_probabilities({"effects": effects}))
    by_hand = lambda p: gammaln(121) - gammaln(c + 1).sum() + c @ np.log(Q @ p)
    assert np.isclose(float(value), by_hand(p), rtol=1e-12) and np.all(np.isfinite(slope)) and np.any(slope != 0)
    assert np.isclose(float(ours({"effects": effects})), by_hand(p), rtol=1e-12)
    must_fail(lambda: np.testing.assert_allclose(float(value), by_hand(p[[0, 2, 1, 3]])), "cells in another order")


@pytest.mark.slow
def test_groups_are_pooled():
    rng, G = np.random.default_rng(0), 20
    truth, n = np.clip(rng.normal(0.3, 0.05, G), 0.01, 0.9), rng.integers(200, 800, G)
    c = rng.binomial(n, 0.25 + 0.5 * truth)
    model = Grouped(RandomizedResponse(YES_NO, keep=0.75), "region", [f"r{i}" for i in range(G)], sizes="public")
    made = declare(model, c[:, None], n=n, noise=SILENT, source="made up")
    alone = dpb.fit(made, progress=False).posterior["probability"].values.reshape(-1, G)
    pooled = dpb.fit(made, pool="partial", progress=False).posterior["probability"].values.reshape(-1, G)
    error = lambda draws: ((draws.mean(axis=0) - truth) ** 2).mean()
    assert error(pooled) < error(alone) and pooled.std(axis=0).mean() < alone.std(axis=0).mean()


def test_a_result_is_summed_up():
    made = declare(RandomizedResponse(YES_NO, keep=0.75), 30, n=100, noise=SILENT, source="made up")
    said = str(dpb.summary(dpb.fit(made, draws=200, progress=False)))
    assert "local ε = 1.1" in said and "probability" in said


@pytest.mark.slow
def test_models_of_reports_keep_the_contract():
    dpb.check_model(jax.random.key(1), RandomizedResponse(YES_NO, keep=0.7), {"probability": 0.3})
    dpb.check_model(jax.random.key(2), RandomizedResponse(Categorical(["a", "b", "c"], "x"), epsilon=1),
                    {"probabilities": np.array([0.5, 0.3, 0.2])})
    dpb.check_model(jax.random.key(3), RandomizedResponse(Categorical(["a", "b"], "x"), matrix=[
        [0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), {"probabilities": np.array([0.4, 0.6])})


def test_rounded_and_noisy_counts_widen_the_posterior():
    model = RandomizedResponse(Categorical(["a", "b", "c"], "x"), epsilon=1.5)
    run = lambda **more: dpb.fit(declare(model, [300, 240, 160], n=700, source="made up", **more), draws=500,
                                 warmup=200, seed=3, progress=False).posterior["probabilities"].std(
                                     ["chain", "draw"]).values
    exact, rounded, noisy = run(noise=SILENT), run(noise=SILENT, printed=Rounded(10)), run(noise=Laplace(scale=20))
    assert np.all(np.abs(rounded / exact - 1) < 0.2) and np.all(noisy > 1.1 * exact)


def test_beta_prior_of_yes_or_no_is_used():
    made = declare(RandomizedResponse(YES_NO, keep=0.75), 30, n=100, noise=SILENT, source="made up")
    strong = dpb.fit(made, Beta(2000.0, 8000.0), draws=200, progress=False).posterior["probability"].values
    assert abs(strong.mean() - 0.2) < 0.005


def test_counts_whose_readings_leave_out_numbers_are_drawn_as_whole_tables():
    "Two tables that differ in three counts: pairs of counts do not connect them. Impossible ones are refused."
    from dp_bayes_nb.counts import reports as counted
    Q = np.array([[0.5, 0.1], [0.3, 0.3], [0.2, 0.6]])
    model = RandomizedResponse(Categorical(["a", "b"], "x"), matrix=Q.tolist())
    moved = lambda by: Noise({0: 0.5, by: 0.5})
    release = declare(model, [10, 10, 10], n=27, printed=[moved(3), moved(2), moved(1)], source="x")
    x = (np.arange(4000) + 0.5) / 4000
    p = Q @ np.array([x, 1 - x])
    tables = np.array([[7, 10, 10], [10, 8, 9]])
    w = sum(np.exp((c * np.log(p.T) - gammaln(c + 1)).sum(axis=1)) for c in tables)
    right = (w * x).sum() / w.sum()
    sd = np.sqrt((w * x**2).sum() / w.sum() - right**2)

    def check():
        drawn = np.asarray(posterior_draws(release, Dirichlet([1.0, 1.0]), draws=2000).theta["probabilities"])[..., 0]
        error = sd / np.sqrt(float(az.ess(drawn)))
        assert error < 0.1 * sd and abs(drawn.mean() - right) < 4 * error, (drawn.mean(), right, error)
    check()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "_draw_listed", lambda rng, printed, log_p: np.tile(tables[0], (len(log_p), 1)))
        with pytest.raises(AssertionError):
            check()
    never = declare(model, [10, 10, 10], n=30, printed=[Noise({-3: 0.5, 3: 0.5})] * 3, source="x")
    with pytest.raises(ValueError, match="add up to n"):
        posterior_draws(never, Dirichlet([1.0, 1.0]), draws=50)
    rule = Noise({k: 1 / 300 for k in range(-600, 600, 4)})
    wide = declare(model, [1000] * 3, n=3000, printed=[rule] * 3, source="x")
    with pytest.raises(ValueError, match="too many possible counts"):
        posterior_draws(wide, Dirichlet([1.0, 1.0]), draws=50)
