"""Chains of every sampler start apart: farther than a posterior standard deviation, so that rhat can speak."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.models.bounds import Redact
from dp_bayes_nb.chains import collapsed, moves
from dp_bayes_nb.models.conjugate_priors import NormalInverseGamma
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.models.counts import Categorical
from dp_bayes_nb.posterior.fit import fit
from dp_bayes_nb.ways.methods import choose_method
from dp_bayes_nb.chains.mesh import log_law
from dp_bayes_nb.models.normal import Normal
from dp_bayes_nb.releases.simulate import simulate_release

COUNTED = Categorical(3), {"probabilities": [0.2, 0.3, 0.5]}, None
MEASURED = Normal((0, 10)), {"mean": 4.0, "variance": 4.0}, NormalInverseGamma(5.0, 1.0, 3.0, 8.0)
SEEN = db.NaiveBayes(("insured", ["no", "yes"]), {"health": ["poor", "fair", "good"]})
CLASSES = SEEN, {"class_probabilities": [0.4, 0.6], "health": [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]}, None
CASES = {"chain of counts": (*COUNTED, "collapsed"), "gibbs of counts": (*COUNTED, "gibbs"),
         "chain": (*MEASURED, "chain"),
         "mesh": (*MEASURED, "collapsed"), "gibbs": (*MEASURED, "gibbs"), "naive Bayes": (*CLASSES, "collapsed")}


@cache
def posterior_sd(name):
    "Posterior standard deviations of a case by the way that `fit` takes, which for most is no chain; and its release."
    family, theta, prior, _ = CASES[name]
    made = simulate_release(family, {k: np.array(v) for k, v in theta.items()}, 2000, 1.0, seed=jax.random.key(0))
    posterior = fit(made, prior, draws=400, warmup=100, chains=4, progress=False).posterior
    return {k: posterior[k].values.std(axis=(0, 1)) for k in theta}, made.released


def spread_of_starts(name, away=lambda key: key):
    "Range of four chains' starts in posterior standard deviations, the largest over coordinates."
    family, _, prior, method = CASES[name]
    sd, released = posterior_sd("mesh" if family is MEASURED[0] else name)
    prior = check_prior(family, prior)
    kernel = choose_method(family, prior, "laplace", 2000, method)[1].kernel(family, released, prior)
    starts = jax.jit(jax.vmap(kernel.init))(jax.vmap(away)(jax.random.split(jax.random.key(1), 4)))
    return max(float(np.max(np.ptp(np.asarray(starts.theta[k]), axis=0) / sd[k])) for k in sd)


@pytest.mark.parametrize("name", [name if name in ("chain", "mesh")
                                  else pytest.param(name, marks=pytest.mark.slow) for name in CASES])
def test_chains_start_farther_apart_than_the_posterior_is_wide(name):
    assert spread_of_starts(name) > 1.5


def test_a_common_start_is_noticed():
    assert spread_of_starts("chain", away=lambda key: jax.random.key(0)) < 1e-9


def test_redacted_records_that_were_absurd():
    "The mean of log incomes was 7.6 to 8.7 with rhat 1.00 and no warning; the truth is 3.5."
    family, prior = db.LogNormal(Redact(1, 500)), NormalInverseGamma(3.5, 1.0, 3.0, 1.0)
    found = db.fit(simulate_release(family, {"log_mean": 3.5, "log_variance": 0.36}, 1000, 1.0, seed=jax.random.key(1)),
                   prior, progress=False)
    assert abs(float(found.posterior["log_mean"].mean()) - 3.5) < 0.1
    assert jnp.asarray(found.sample_stats["acceptance_rate"].values).mean() > 0.85


def test_a_very_wide_prior_hides_no_part_of_a_posterior():
    """Shares of a posterior with two parts under a prior that hardly says anything, against a dense grid;
    0.59 where a third was lost.
    """
    family, prior = Normal((0, 10)), NormalInverseGamma(0.0, 1e-8, 1e-3, 1e-3)
    made = simulate_release(family, {"mean": 5.0, "variance": 1.0}, n=200, epsilon=1.0, seed=jax.random.key(0))
    mean, log_variance = jnp.meshgrid(jnp.linspace(4.0, 5.8, 181), jnp.linspace(-12.0, 3.5, 156), indexing="ij")
    released = made.released

    def log_density(m, v):
        theta = {"mean": m, "variance": jnp.exp(v)}
        first, second = family.moments(theta)
        V = released.n * jnp.stack([second[0, 0], second[0, 1], second[1, 1]])
        return check_prior(family, prior).log_density(theta) + v + log_law(released.z - released.n * first, V,
                                                                           released.noise)

    value = jax.jit(jax.vmap(jax.vmap(log_density)))(mean, log_variance)
    weight = jax.nn.softmax(value.ravel()).reshape(value.shape)
    expected = float(weight[log_variance < -3].sum())
    drawn = float((fit(made, prior, draws=3000, progress=False).posterior["variance"] < jnp.exp(-3.0)).mean())
    assert abs(drawn - expected) < 0.03 < abs(0.588 - expected)


def homes_of_chains(keys=150):
    "Log density of where chains start from, for a mean of which one sum of two was published, against the best one."
    family = Normal((40, 160))
    shown = db.declare(family, {"x": -1200}, matrix=[[60, 0]], noise=db.Laplace(scale=100), n=80, source="s").released
    prior = check_prior(family, NormalInverseGamma(90.0, 1.0, 3.0, 600.0))
    kernel = collapsed.chain_kernel(family, shown, prior)
    log_density = partial(collapsed.conditional_log_posterior, family, shown, prior, shown.noise.variance)
    at = jax.jit(jax.vmap(lambda key: log_density(kernel.init(key).first_mode)))
    height = at(jax.random.split(jax.random.key(1), keys))
    return np.asarray(height - height.max())


def test_no_chain_starts_where_it_cannot_return():
    "One home in thirty was no mode, where a climb had stopped on the way: one fit of four chains in eight was wrong."
    assert homes_of_chains().min() > -0.1


def test_climbs_by_fisher_steps_alone_are_noticed(monkeypatch):
    alone = lambda target, curvature, starts: moves.climb(moves.fisher(target, curvature), starts[1], 40)
    monkeypatch.setattr(collapsed, "higher_mode", alone)
    assert homes_of_chains().min() < -10


def test_a_climb_that_ends_on_a_slope_is_no_mode(monkeypatch):
    "Even if climbs are Fisher steps alone: the chain takes the other climb's mode, where proposals can be made."
    def alone(target, curvature, start):
        x, F = moves.climb(moves.fisher(target, curvature), start, 40)
        return collapsed.Climb(40, x, x, target(x), x, F, 0.0, True)
    monkeypatch.setattr(collapsed, "summit", alone)
    assert homes_of_chains().min() > -0.1


def test_fit_warns_of_walkers_that_find_little_room_and_of_no_others():
    "In any chain, in more than half of its steps; a rule without chains, or of the least room, would be another."
    import xarray as xr
    from dp_bayes_nb.posterior.diagnose import _sampler_problems
    def said(*shares):
        ridge = np.arange(100)[None, :] < 100 * np.array(shares)[:, None]
        stats = {"ridge": (("chain", "draw"), ridge), "nonfinite": (("chain", "draw"), np.zeros(ridge.shape))}
        return [words for words in _sampler_problems(xr.Dataset(stats)) if "thin ridge" in words]
    assert len(said(0.0, 0.6)) == len(said(0.9, 0.9)) == 1
    assert said(0.4, 0.4) == said(0.0, 0.0) == []
