"""The mesh of two parameters and two sums: priors with edges, its warnings, and the chain that it replaced."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.base.priors import LogDensity
from dp_bayes_nb.models.bounds import Clip
from dp_bayes_nb.models.conjugate_priors import NormalInverseGamma
from dp_bayes_nb.models.normal import LogNormal, Normal
from dp_bayes_nb.posterior.fit import fit
from dp_bayes_nb.posterior.mesh import box_of, mesh_kernel
from dp_bayes_nb.releases.simulate import simulate_release

NORMAL, USUAL = Normal((0, 10)), NormalInverseGamma(5.0, 1.0, 3.0, 4.0, name="mean", variance_name="variance")
MADE = simulate_release(jax.random.key(1), NORMAL, {"mean": 5.0, "variance": 4.0}, 500, 1.0)[1]


def said(prior, draws=300):
    "What a fit warns of."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(MADE, prior, draws=draws, progress=False)
    return " ".join(str(w.message) for w in caught)


def point_and_plain(key):
    "A mean that is 0 to a billionth in most draws, and anything at all in the others."
    first, second, third = jax.random.split(key, 3)
    narrow, wide = 1e-8 * jax.random.normal(first), 1e13 * jax.random.normal(second)
    mean = jnp.where(jax.random.uniform(third) < 0.9, narrow, wide)
    return {"mean": mean, "variance": jnp.exp(jax.random.normal(first))}


def everywhere(theta):
    "A density with heavy tails."
    return -jnp.log1p((theta["mean"] / 1e6) ** 2) - jnp.log(theta["variance"]) ** 2


def pinhole(theta):
    "Next to nothing is allowed, and no `sample` says where."
    return jnp.where((theta["mean"] - 5) ** 2 + (theta["variance"] - 1) ** 2 < 1e-6, 0.0, -jnp.inf)


def test_a_box_too_wide_for_its_cells_is_said():
    assert float(box_of(NORMAL, LogDensity(everywhere, point_and_plain)).widest()) > 3
    assert "the mesh may overlook a part" in said(LogDensity(everywhere, point_and_plain))


def test_a_prior_that_the_mesh_does_not_find_is_said():
    assert "the mesh did not resolve this posterior" in said(LogDensity(pinhole))


@pytest.mark.parametrize("prior", [NormalInverseGamma(5.0, 1.0, 3.0, 4.0), LogDensity(USUAL.log_density)],
                         ids=["conjugate", "own"])
def test_an_ordinary_fit_says_nothing(prior):
    assert said(prior, 1000) == ""


def test_no_draw_is_where_the_prior_forbids():
    "Also the first states of many chains."
    prior = LogDensity(lambda t: jnp.where((t["mean"] > 4.99) & (t["mean"] < 5.03), USUAL.log_density(t), -jnp.inf))
    kernel = mesh_kernel(NORMAL, MADE.released, prior)
    states, infos = run_chains(jax.random.key(0), kernel, draws=3, warmup=0, chains=2000)
    mean = np.asarray(states.theta["mean"])
    assert mean.min() > 4.99 and mean.max() < 5.03 and float(infos["accepted"].mean()) > 0.8


DESIGNS = {  # of clipped records: with redaction the chain may climb into the wrong valley, and says so by rhat
    "clipped incomes": (LogNormal(Clip(2, 90)), NormalInverseGamma(2.5, 1.0, 4.0, 2.0),
                        {"log_mean": 2.9, "log_variance": 0.5}, 800, 0.7, {}),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.slow
def test_mesh_and_chain_agree(name):
    "Means within Monte Carlo error, standard deviations within five per cent."
    family, prior, truth, n, epsilon, more = DESIGNS[name]
    made = simulate_release(jax.random.key(17), family, truth, n, epsilon, **more)[1]
    mesh, chain = (fit(made, prior, method=method, draws=draws, progress=False).posterior
                   for method, draws in (("collapsed", 4000), ("chain", 6000)))
    for one in truth:
        sd = [float(p[one].std()) for p in (mesh, chain)]
        error = sum(s**2 / p[one].attrs["ess_bulk"] for s, p in zip(sd, (mesh, chain))) ** 0.5
        assert abs(float(mesh[one].mean() - chain[one].mean())) < 4 * error
        assert abs(sd[0] / sd[1] - 1) < 0.05
