"""The mesh of two parameters and two sums: priors with edges, its warnings, and the chain that it replaced."""

import warnings

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.base.measurement import Noise
from dp_bayes_nb.base.priors import LogDensity
from dp_bayes_nb.curves import mesh as host
from dp_bayes_nb.models.bounds import Clip, Redact
from dp_bayes_nb.models.conjugate_priors import NormalInverseGamma
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.models.gamma import GammaData
from dp_bayes_nb.models.normal import LogNormal, Normal
from dp_bayes_nb.models.varied_counts import NegativeBinomial
from dp_bayes_nb.posterior.fit import fit
from dp_bayes_nb.chains.mesh import box_of, build_mesh, host_box, mesh_draws, mesh_kernel, target_of
from dp_bayes_nb.releases.simulate import simulate_release

NORMAL, USUAL = Normal((0, 10)), NormalInverseGamma(5.0, 1.0, 3.0, 4.0, name="mean", variance_name="variance")
MADE = simulate_release(NORMAL, {"mean": 5.0, "variance": 4.0}, 500, 1.0, seed=jax.random.key(1))


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


def host_draws(prior):
    drawn, infos = mesh_draws((1, 2), NORMAL, MADE.released, prior, draws=3, warmup=0, chains=2000)
    return drawn["mean"], infos["accepted"]


def compiled_draws(prior):
    kernel = mesh_kernel(NORMAL, MADE.released, prior)
    states, infos = run_chains(jax.random.key(0), kernel, draws=3, warmup=0, chains=2000)
    return np.asarray(states.theta["mean"]), np.asarray(infos["accepted"])


@pytest.mark.parametrize("draws_of", [host_draws, pytest.param(compiled_draws, marks=pytest.mark.slow)])
def test_no_draw_is_where_the_prior_forbids(draws_of):
    "Also the first states of many chains."
    prior = LogDensity(lambda t: jnp.where((t["mean"] > 4.99) & (t["mean"] < 5.03), USUAL.log_density(t), -jnp.inf))
    mean, accepted = draws_of(prior)
    assert mean.min() > 4.99 and mean.max() < 5.03 and accepted.mean() > 0.8


DESIGNS = {  # of clipped records: with redaction the chain may climb into the wrong valley, and says so by rhat
    "clipped incomes": (LogNormal(Clip(2, 90)), NormalInverseGamma(2.5, 1.0, 4.0, 2.0),
                        {"log_mean": 2.9, "log_variance": 0.5}, 800, 0.7, {}),
}


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.slow
def test_mesh_and_chain_agree(name):
    "Means within Monte Carlo error, standard deviations within five per cent."
    family, prior, truth, n, epsilon, more = DESIGNS[name]
    made = simulate_release(family, truth, n, epsilon, **more, seed=jax.random.key(17))
    mesh, chain = (fit(made, prior, method=method, draws=draws, progress=False).posterior
                   for method, draws in (("collapsed", 4000), ("chain", 6000)))
    for one in truth:
        sd = [float(p[one].std()) for p in (mesh, chain)]
        error = sum(s**2 / p[one].attrs["ess_bulk"] for s, p in zip(sd, (mesh, chain))) ** 0.5
        assert abs(float(mesh[one].mean() - chain[one].mean())) < 4 * error
        assert abs(sd[0] / sd[1] - 1) < 0.05

# ---------------------------------------------------------------- the mesh on the host, against the compiled one

CUT = LogDensity(lambda t: jnp.where(t["mean"] + t["variance"] / 4 > 6.2, USUAL.log_density(t), -jnp.inf))
RATES = LogDensity(lambda t: -2 * t["shape"] - 3 * t["rate"],
                   lambda key: dict(zip(("shape", "rate"), jax.random.exponential(key, (2,)))))
HOST = {  # family, prior, truth, n, epsilon, law
    "clipped": (NORMAL, NormalInverseGamma(5.0, 1.0, 3.0, 4.0), {"mean": 4.0, "variance": 9.0}, 700, 0.4, "laplace"),
    "redacted": (Normal(Redact(-1, 1)), NormalInverseGamma(0.0, 0.1, 2.0, 0.5), {"mean": -1.6, "variance": 0.4}, 900,
                 1.0, "laplace"),
    "sparse": (NORMAL, NormalInverseGamma(5.0, 1e-3, 1e-3, 1e-3), {"mean": 3.0, "variance": 1.0}, 50, 0.1, "laplace"),
    "million": (NORMAL, NormalInverseGamma(5.0, 0.1, 2.0, 4.0), {"mean": 6.0, "variance": 2.0}, 10**6, 10.0, "laplace"),
    "gaussian": (LogNormal(Clip(1, 100)), NormalInverseGamma(2.0, 0.5, 3.0, 1.0),
                 {"log_mean": 2.5, "log_variance": 0.5}, 400, 0.5, "gaussian"),
    "edge": (NORMAL, CUT, {"mean": 5.0, "variance": 4.0}, 500, 1.0, "laplace"),
    "gamma": (GammaData(Clip(0.1, 6)), RATES, {"shape": 1.5, "rate": 1.2}, 300, 2.0, "gaussian"),
    "counts": (NegativeBinomial((0, 12)), None, {"mean": 3.0, "size": 2.0}, 400, 0.5, "laplace"),
}


def both(name, spoil=lambda target: target):
    "The cells of one release on the host, and compiled, over one box; what they were made of."
    family, prior, truth, n, epsilon, law = HOST[name]
    prior = check_prior(family, prior)
    more = {} if law == "laplace" else {"mechanism": law, "delta": 1e-6}
    made = simulate_release(family, truth, n, epsilon, **more, seed=jax.random.key(23)).released
    compiled = jax.tree.map(np.asarray, build_mesh(family, made, prior))
    target = target_of(family, made, prior)
    cells = host.cells_of(spoil(target), host.Box(*(getattr(compiled.box, part) for part in host.Box._fields)))
    return family, made, prior, target, cells, compiled


def by_place(y, size, log_mass):
    "Cells in an order of their own, without those that hold nothing."
    keep = log_mass > -40
    order = np.lexsort(np.round(np.column_stack([size, y])[keep], 9).T)
    return [part[keep][order] for part in (y, size, log_mass)]


def same_cells(name, spoil=lambda target: target):
    *_, cells, compiled = both(name, spoil)
    used = np.isfinite(compiled.log_mass)
    assert cells.rounds == compiled.rounds and len(cells.y) == used.sum()
    for one, other in zip(by_place(cells.y, cells.size, cells.log_mass),
                          by_place(compiled.y[used], compiled.size[used], compiled.log_mass[used])):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


ALL = ["edge", *(pytest.param(name, marks=pytest.mark.slow) for name in HOST if name != "edge")]  # 10 s to compile each


@pytest.mark.parametrize("name", ALL)
def test_the_cells_are_those_of_the_compiled_mesh(name):
    same_cells(name)


def test_a_mesh_of_other_noise_has_other_cells():
    "The mutant: a hundredth more of it."
    def louder(target):
        return target._replace(noise=Noise(target.noise.kind, 1.01 * target.noise.scale, target.noise.grid))
    with pytest.raises(AssertionError):
        same_cells("edge", louder)
    with pytest.raises(AssertionError):  # an edge of the prior that is not looked for
        same_cells("edge", lambda target: target._replace(log_prior=None))


def by_cells(target, cells, side=6):
    """The values of each parameter, and their distribution functions, by the exact density at 36 points of each cell, a
    400th of the mass at most, also where a prior reaches over forty orders of magnitude. Points are anywhere in their
    36th of a cell: cells stand in rows, and points at their centres would have one value in common.
    """
    held = cells.log_mass > -20
    ticks = np.arange(side) / side - 0.5
    inside = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = inside + np.random.default_rng(0).random((held.sum(), side**2, 2)) / side
    x, log_jacobian = cells.box.coordinates((cells.y[held, None] + cells.size[held, None] * inside).reshape(-1, 2))
    at = target.at(x)
    value = at.log_prior + log_jacobian + target.law(at) + np.repeat(np.log(cells.size[held]).sum(axis=1), side**2)
    p = np.nan_to_num(np.exp(value - np.nanmax(value)))
    for name, along in at.theta.items():
        order = np.argsort(along)
        yield name, along[order], (np.cumsum(p[order]) - p[order] / 2) / p.sum()


def far_from_cells(name, factor=1.0):
    "Largest distance between distribution functions of draws and of equation (1), times the root of effective draws."
    *_, target, cells, _ = both(name)
    noise = Noise(target.noise.kind, factor * target.noise.scale, target.noise.grid)
    points, _ = host.draws_of(np.random.default_rng(3), target._replace(noise=noise), cells, 4, 4000)
    ranks = [np.interp(points.theta[one], value, cdf) for one, value, cdf in by_cells(target, cells)]
    return max(st.kstest(u, "uniform").statistic * min(float(az.ess(u.reshape(4, -1))), u.size)**0.5 for u in ranks)


@pytest.mark.parametrize("name", ALL)
def test_draws_have_the_distribution_of_the_exact_density(name):
    "One in ten thousand."
    assert far_from_cells(name) < 2.23


def test_draws_with_other_noise_do_not():
    assert far_from_cells("edge", factor=1.3) > 2.23


def test_an_impossible_release_is_told_by_its_noise():
    "Thousands of scales from anything that could be: log p is a plane, with slopes ±1/b."
    V, b = np.array([[9.0, -3.0, 4.0]]), np.array([2.0, 3.0])
    d = np.array([[2000.0, 3000.0], [-2e4, 50.0], [1e5, -1e6]])
    law = lambda d: host.log_law(d, np.repeat(V, len(d), axis=0), Noise("laplace", b, np.zeros(2)))
    for j in (0, 1):
        step = np.eye(2)[j]
        np.testing.assert_allclose((law(d + step) - law(d - step)) / 2, -np.sign(d[:, j]) / b[j], rtol=1e-4)


@pytest.mark.slow
def test_intervals_cover():
    """Ranks of the truth in a thousand posteriors of fresh releases are uniform, truths from the prior: KS at one in a
    thousand for each of two parameters. A mutant that takes the noise for half of what it is does not pass.
    """
    family, prior = NORMAL, check_prior(NORMAL, NormalInverseGamma(5.0, 2.0, 4.0, 12.0))
    truths = jax.tree.map(np.asarray, prior.sample(jax.random.key(8), (1000,)))
    box, ranks = host_box(family, prior), {"fair": [], "mutant": []}
    for i in range(1000):
        truth = {name: float(value[i]) for name, value in truths.items()}
        made = simulate_release(family, truth, 300, 0.5, seed=jax.random.key(9000 + i)).released
        for which, factor in (("fair", 1.0), ("mutant", 0.5)):
            if which == "mutant" and i >= 200:
                continue
            target = target_of(family, made, prior)
            noise = Noise(target.noise.kind, factor * target.noise.scale, target.noise.grid)
            target = target._replace(noise=noise)
            points, _ = host.draws_of(np.random.default_rng(i), target, host.cells_of(target, box), 1, 400)
            ranks[which].append([(np.sum(points.theta[name] < truth[name]) + 0.5) / 401 for name in truth])
    p_of = lambda ranks: min(st.kstest(one, "uniform").pvalue for one in np.array(ranks).T)
    assert p_of(ranks["fair"]) > 1e-3
    assert p_of(ranks["mutant"]) < 1e-3
