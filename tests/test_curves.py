"""Posteriors of one parameter on the host: the truth lies where its posterior says, over a thousand releases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from dp_bayes_nb import Beta, Exponential, Gamma, Geometric, Normal, NormalMean, Poisson, Redact
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.supports import unconstrain
from dp_bayes_nb.curves.curve import posterior_curve
from dp_bayes_nb.models.contract import check_prior

DESIGNS = {  # model, prior, n, kind and scale of the noise
    "normal, laplace": (Normal((-1e4, 1e4), variance=9.0), NormalMean(1.0, 0.5), 25, "laplace", 40.0),
    "normal, gaussian": (Normal((-1e4, 1e4), variance=9.0), NormalMean(1.0, 0.5), 400, "gaussian", 15.0),
    "counts, laplace": (Poisson((0, 12)), Gamma(6.0, 2.0), 500, "laplace", 60.0),
    "redacted, gaussian": (Exponential(Redact(0.0, 4.0)), Gamma(8.0, 8.0), 2000, "gaussian", 30.0),
    "failures, laplace": (Geometric((0, 9)), Beta(8.0, 12.0), 800, "laplace", 45.0),
}
RELEASES = 1000


def ranks(name, releases, factor=1.0):
    "Probability that the posterior gives to less than the truth; with a factor, of wrong noise."
    model, prior, n, kind, scale = DESIGNS[name]
    prior, rng = check_prior(model, prior), np.random.default_rng(20261127)
    truth = prior.sample(jax.random.key(38), (releases,))
    sums = jax.jit(jax.vmap(lambda key, theta: model.simulate(key, theta, n)))(
        jax.random.split(jax.random.key(39), releases), truth)
    noise = rng.laplace(0, scale, releases) if kind == "laplace" else rng.normal(0, scale, releases)
    x = np.asarray(jax.vmap(lambda theta: unconstrain(model.parameters, theta))(truth))[:, 0]
    law, out = Noise(kind, np.array([scale * factor]), np.zeros(1)), np.empty(releases)
    for i, z in enumerate(np.asarray(sums)[:, 0] + noise):
        curve = posterior_curve(model, Measurement(np.array([z]), law, n), prior, False)
        out[i] = np.interp(x[i], curve.x, curve.cdf)
    return out


def check(u, level=1e-3):
    "Ranks are uniform, and 90% intervals hold nine truths in ten: two checks each, which share one percent."
    p = st.kstest(u, "uniform").pvalue, st.binomtest(int(((u > 0.05) & (u < 0.95)).sum()), len(u), 0.9).pvalue
    assert min(p) > level, p


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in DESIGNS])
def test_the_truth_lies_where_its_posterior_says(name):
    check(ranks(name, RELEASES))


def test_half_the_noise_is_noticed():
    "And the right noise is not, on a fifth of the releases."
    check(ranks("counts, laplace", RELEASES // 5))
    must_fail(lambda: check(ranks("counts, laplace", RELEASES // 5, factor=0.4)), "two fifths of the noise")


def test_a_model_of_one_parameter_is_never_given_a_chain():
    "The draws of `fit` are those of the curve, and independent."
    from dp_bayes_nb import Laplace, declare, fit
    model = Poisson((0, 12), "visits")
    release = declare(model, [1500.0], noise=Laplace(scale=60.0), n=500, source="a test")
    idata = fit(release, Gamma(6.0, 2.0), progress=False)
    draws = idata.posterior["rate"]
    assert set(idata.sample_stats) == {"nonfinite"} and draws.attrs["rhat"] < 1.01
    seen = Measurement(np.array([1500.0]), Noise("laplace", np.array([60.0]), np.zeros(1)), 500)
    curve = posterior_curve(model, seen, check_prior(model, Gamma(6.0, 2.0)), False)
    x = np.asarray(jnp.log(draws.values.ravel() / model.parameters["rate"].scale))
    assert st.kstest(np.interp(x, curve.x, curve.cdf), "uniform").pvalue > 1e-3
