"""Randomised response: exact draws against tables of all truths, the declaration, refusals, and what must fail."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import dp_bayes_nb as dpb
from dp_bayes_nb import Bernoulli, Beta, Categorical, Dirichlet, Grouped, Laplace, RandomizedResponse, Rounded, declare
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.counts.reports import draw_shares, speaks_for_one
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
                       (declare(RandomizedResponse(Categorical(3), epsilon=1.0), [5, 6, 7], n_range=(0, 90),
                                noise=Laplace(scale=2), source="made up"), "number of respondents"),
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
