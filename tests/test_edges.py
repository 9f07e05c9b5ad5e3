"""Edges of priors, sizes and tails: truncated and broken densities, absurd counts, rare events."""

import json
import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import betainc, betaln, gammaln
from scipy.stats import binom, norm

from dp_bayes_nb import (Bernoulli, Beta, Categorical, Dirichlet, Gamma, Gaussian, HiddenMarkov, LinearRegression,
                         LogDensity, LogNormal, NaiveBayes, Normal, NormalInverseGamma, NormalMean, Poisson, declare,
                         fit, simulate_release)
from dp_bayes_nb.many.bulk import Tabulation, bulk_posterior, count_terms, tabulate_moments, tabulation
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.curves.grid import grid_posterior, quantile
from dp_bayes_nb.base.measurement import Released
from dp_bayes_nb.counts.law import first_true
from dp_bayes_nb.ways.methods import SHARE
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.base.supports import constrain
from dp_bayes_nb.noise.design import noise_design

LEVELS = (0.01, 0.2, 0.5, 0.9, 0.999)
MADE = simulate_release(Bernoulli(), {"probability": 0.3}, 2000, epsilon=0.5, seed=jax.random.key(5))


def truncated(below, above=0.0):
    "A uniform prior between two shares."
    return LogDensity(lambda t: jnp.where((t["probability"] < below) & (t["probability"] > above), 0.0, -jnp.inf))


def brute_force(release, below, above):
    "Mean and standard deviation by sums over all counts and many shares."
    theta, s = np.linspace(above, below, 4001)[1:-1], np.arange(release.n + 1)
    noise = np.exp(-np.abs(release.values[0] - s) / release.noise.scale[0])
    weight = binom.pmf(s, release.n, theta[:, None]) @ noise
    mean = weight @ theta / weight.sum()
    return mean, np.sqrt(weight @ (theta - mean) ** 2 / weight.sum())


@pytest.mark.parametrize("ends", [(0.3, 0.0), (0.31, 0.25),  # each is a program of its own
                                  *(pytest.param(ends, marks=pytest.mark.slow) for ends in [(0.5, 0.0), (1.0, 0.3)])])
def test_a_prior_that_is_cut_off_inside_the_posterior(ends):
    draws = fit(MADE, truncated(*ends), draws=2000, progress=False).posterior["probability"].values
    mean, sd = brute_force(MADE, *ends)
    assert ends[1] <= draws.min() and draws.max() <= ends[0]
    assert abs(draws.mean() - mean) < 0.06 * sd and abs(draws.std() / sd - 1) < 0.06


@pytest.mark.parametrize("fn", [lambda t: jnp.nan * t["probability"], lambda t: -jnp.inf + 0 * t["probability"],
                                lambda t: jnp.where(t["probability"] > 0.3, jnp.nan, 0.0)])
def test_a_prior_that_is_no_density_is_refused(fn):
    with pytest.raises(ValueError, match="prior must be a log density"):
        fit(MADE, LogDensity(fn))


def test_a_prior_that_the_grid_would_miss_is_refused():
    with pytest.raises(ValueError, match="narrow interval"):
        fit(MADE, truncated(0.305, 0.295))


def test_counts_are_bisected_up_to_the_largest_file():
    assert first_true(np.array([0.0]), np.array([2.0**53 - 1]), lambda s: s >= 2.0**53 - 2) == 2.0**53 - 2


def test_models_and_draws_that_no_memory_holds_are_refused():
    with pytest.raises(ValueError, match="transition matrix"):
        HiddenMarkov(("r", [0]), ("t", 2000), {"x": 2}, states=2000, records=[[1] * 2000])
    with pytest.raises(ValueError, match="draws must be such that"):
        fit(MADE, draws=10**8)


def tail_errors(prior, n, epsilon, z, levels=(0.5, 0.975, 0.995)):
    "Errors of a bulk table's quantiles in posterior standard deviations."
    noise = jax.tree.map(jnp.asarray, noise_design(Bernoulli(), epsilon=epsilon)[0])
    released = Released(jnp.array([z]), noise, jnp.asarray(float(n)))
    way = Tabulation(True, count_terms(n, noise))
    moments = tabulate_moments(Bernoulli(), prior, n, float(np.min(noise.variance)))
    table = jax.jit(lambda *data: bulk_posterior(Bernoulli(), *data, way, moments))(released, prior)
    a, b, s = float(prior.alpha), float(prior.beta), np.arange(n + 1)
    log_w = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1) + betaln(a + s, b + n - s) - np.abs(z - s) * epsilon
    w = np.exp(log_w - log_w.max()) / np.exp(log_w - log_w.max()).sum()
    m = (a + s) / (a + b + n)
    sd = np.sqrt(w @ ((m - w @ m) ** 2 + m * (1 - m) / (a + b + n + 1)))
    q = np.asarray(jax.nn.sigmoid(jax.jit(jax.vmap(lambda u: quantile(table, u)))(jnp.array(levels))))
    grid = np.linspace(0, q.max() + 4 * sd, 2001)  # a step is a hundredth of a standard deviation
    exact = np.interp(levels, (w * betainc(a + s, b + n - s, grid[:, None])).sum(axis=1), grid)
    return np.abs(q - exact) / sd


@pytest.mark.parametrize("design",
                         [(Beta(1, 50), 100, 10, 0.0), *(pytest.param(design, marks=pytest.mark.slow) for design in (
                             (Beta(10, 10), 1000, 0.1, 300.0), (Beta(1, 1), 20, 20.0, 3.0))),
                          (Beta(1, 1), 4000, 0.04, 400.0)])  # the last: not all counts are in the window
def test_bulk_tables_keep_the_tails_of_rare_counts(design):
    assert tail_errors(*design).max() < 0.01


def test_a_prior_with_a_pole_is_not_tabulated_in_bulk():
    "Its table would lose the upper tail; chapter ‘The sum integrated out’'s grid does not."
    noise = noise_design(Bernoulli(), epsilon=5)[0]
    assert tabulation(Bernoulli(), SHARE, 50, noise, Beta(0.1, 10)) is None
    assert tabulation(Bernoulli(), SHARE, 50, noise, Beta(1, 10)) is not None
    assert tail_errors(Beta(0.1, 10), 50, 5, 0.0).max() > 0.01


@pytest.mark.parametrize("given", [(3,), ("x",), (None,), (lambda t: 0.0, 3), (lambda t: 0.0, "draw")])
def test_a_log_density_is_made_of_functions(given):
    with pytest.raises(ValueError, match="(fn|sample) must be a function"):
        LogDensity(*given)


@pytest.mark.parametrize("bad", ["1", b"1", True, ["1"], np.array("1"), np.array(["1"], dtype=object),
                                 np.datetime64("2024-01-01")])
def test_hyperparameters_that_are_no_numbers_are_refused(bad):
    regression = LinearRegression({"x": (0, 1)}, response={"y": (0, 1)})
    for family, prior in (
        (Bernoulli(), Beta(bad, 1)), (Bernoulli(), Beta(1, bad)), (Categorical(3), Dirichlet(bad)),
        (Poisson((0, 5)), Gamma(bad, 1)), (Poisson((0, 5)), Gamma(1, bad)),
        (Normal((0, 1)), NormalInverseGamma(bad, 1, 1, 1)), (Normal((0, 1)), NormalInverseGamma(0, 1, 1, bad)),
        (regression, NormalInverseGamma(bad, 1, 1, 1)), (regression, NormalInverseGamma(0, bad, 1, 1)),
        (regression, NormalInverseGamma(0, 1, bad, 1)),
        (NaiveBayes(("y", [0, 1]), {"x": [0, 1]}), Dirichlet(bad)),
    ):
        with pytest.raises(ValueError, match="prior"):
            check_prior(family, prior)


def flat(theta):
    return 0.0 * sum(jnp.sum(value) for value in theta.values())


def problems(release, prior):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(fit(release, prior, draws=200, chains=2, progress=False).posterior.attrs["problems"])


def test_a_posterior_that_does_not_integrate_is_said():
    "A count that is capped says nothing of large rates beneath so much noise: a flat density has its mass at infinity."
    made = simulate_release(Poisson((0, 5)), {"rate": 2.0}, 20, epsilon=1e-3)
    assert any("may be improper" in each for each in problems(made, LogDensity(flat)))
    log_normal = LogDensity(lambda t: -jnp.log(t["rate"]) - 0.5 * jnp.log(t["rate"]) ** 2)
    for prior in (LogDensity(lambda t: -t["rate"]), log_normal, Gamma(1.0, 1.0)):
        assert not any("may be improper" in each for each in problems(made, prior))


@pytest.mark.slow
def test_a_mesh_that_runs_off_its_box_is_said():
    made = simulate_release(Normal((0, 1)), {"mean": 0.4, "variance": 0.02}, 20, epsilon=1e-3)
    assert any("may be improper" in each for each in problems(made, LogDensity(flat)))
    law = lambda t: -0.5 * t["mean"] ** 2 - t["variance"] - 1 / t["variance"]
    assert not any("may be improper" in each for each in problems(made, LogDensity(law)))


@pytest.mark.parametrize("n", [20, 80, 500, 5000])
def test_a_mean_on_the_whole_line_has_its_normal_posterior(n):
    "Bounds that clip nothing, Gaussian noise and a normal prior: the posterior is known."
    for family in (Normal((-400, 600), variance=225.0),
                   LogNormal((math.exp(-400), math.exp(600)), log_variance=225.0)):
        sd = 40 * n**0.5
        made = declare(family, 98.0 * n, noise=Gaussian(sd=sd), n=n, source="made up for a test")
        found = grid_posterior(family, measured(made), check_prior(family, NormalMean(90.0, 0.01)), False)
        precision = 0.01 + 1 / (225 / n + (sd / n) ** 2)
        wanted = norm.ppf(LEVELS, 98 - 0.08 / precision, precision**-0.5)
        at = [float(constrain(family.parameters, quantile(found, jnp.asarray(u))[None])[0][name])
              for name in family.parameters for u in LEVELS]
        np.testing.assert_allclose(at, wanted, atol=2e-3 * precision**-0.5)
