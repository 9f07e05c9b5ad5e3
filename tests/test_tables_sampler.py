"""The sampler of many margins: what `fit` gives with it, Gaussian noise against quadrature, and its way out."""

import subprocess
import sys
from dataclasses import replace

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.base.checks import assert_close, must_fail
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.priors import LogDensity
from dp_bayes_nb.base.supports import Parameter
from dp_bayes_nb.models.contract import family_class
from dp_bayes_nb.posterior.fit import posterior_draws
from dp_bayes_nb.posterior.route import explain, method_for
from dp_bayes_nb.chains.measurements import stacked_tables, tables_kernel, tables_of
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.releases.simulate import simulate_release
from dp_bayes_nb.tables import sampler
from dp_bayes_nb.tables.cells import LEVEL, Cells, TableModel, categories
from dp_bayes_nb.tables.log_linear import LogLinear


@family_class
class Pair(TableModel):
    "Two binary columns, independent, of which the table of both is released; a mutant fixes its covariance."
    fixed: tuple = ()

    cells = Cells((categories("a", (0, 1)), categories("b", (0, 1))), ((("a", LEVEL), ("b", LEVEL)),))
    parameters = {"logits": Parameter("real", (2,))}

    def log_cells(self, theta):
        a, b = (jnp.array([jax.nn.log_sigmoid(-x), jax.nn.log_sigmoid(x)]) for x in theta["logits"])
        return (a[:, None] + b).reshape(-1)

    def moments(self, theta):
        mean, covariance = super().moments(theta)
        return mean, super().moments({"logits": jnp.array(self.fixed)})[1] if self.fixed else covariance


def half(theta):
    "Log density of a normal prior with standard deviation 2."
    return -0.125 * jnp.sum(jnp.square(theta["logits"]))


PRIOR = LogDensity(half)
Z, SCALE, N = np.array([52.0, 19.0, 6.0, 1.0]), 1.5, 80.0
SEEN = Measurement(Z, Noise("gaussian", np.full(4, SCALE), np.zeros(4)), N)


def by_quadrature(points=121):
    "Means and standard deviations of the two logits, in NumPy."
    t = [np.linspace(-5.0, 1.0, points), np.linspace(-4.0, 1.5, points)]
    log_p = np.empty((points, points))
    for i, j in np.ndindex(points, points):
        a, b = (1 / (1 + np.exp(-t[k][at])) for k, at in enumerate((i, j)))
        p = np.array([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b])
        C = N * (np.diag(p) - np.outer(p, p)) + SCALE**2 * np.eye(4)
        r = Z - N * p
        log_p[i, j] = (-0.5 * r @ np.linalg.solve(C, r) - 0.5 * np.linalg.slogdet(C)[1]
                       - (t[0][i] ** 2 + t[1][j] ** 2) / 8)
    p = np.exp(log_p - log_p.max())
    each = [p.sum(axis=1 - k) / p.sum() for k in (0, 1)]
    mean = np.array([w @ x for w, x in zip(each, t)])
    return mean, np.sqrt([w @ (x - m) ** 2 for w, x, m in zip(each, t, mean)])


@pytest.fixture(scope="module")
def oracle():
    return by_quadrature()


def moments_of(task, draws=1500):
    "Means and standard deviations of the draws, with 3,000 effective draws at least."
    states, _ = run_chains(jax.random.key(0), sampler.chain_of(task), draws=draws, warmup=150, chains=4)
    x = np.asarray(states.x)
    import arviz as az
    assert min(float(az.ess(x[..., k])) for k in (0, 1)) > 3000
    return x.mean(axis=(0, 1)), x.std(axis=(0, 1))


def near(found, oracle):
    "Within 4.5 standard errors of 3,000 effective draws: of a mean sd/√3000; of a skewed sd about sd √(2/3000)."
    (mean, sd), (true_mean, true_sd) = found, oracle
    assert np.all(np.abs(mean - true_mean) < 4.5 * true_sd / 3000**0.5), (mean, true_mean)
    assert np.all(np.abs(sd - true_sd) < 4.5 * true_sd * (2 / 3000) ** 0.5), (sd, true_sd)


def test_a_surrogate_force_samples_the_exact_density(oracle):
    task = replace(sampler.task_of(Pair(), SEEN, PRIOR), surrogate=True)
    near(moments_of(task), oracle)


def test_accepting_by_the_surrogate_is_noticed(oracle):
    task = replace(sampler.task_of(Pair(), SEEN, PRIOR), surrogate=True)
    wrong = replace(task, family=Pair(fixed=tuple(np.asarray(task.first_mode).tolist())))
    must_fail(lambda: near(moments_of(wrong), oracle), "a covariance that does not follow the parameters")


def test_forces_and_chains_are_chosen_by_size():
    small = LogLinear({"a": 2, "b": 3}, 2)
    seen = Measurement(np.full(6, 20.0), Noise("gaussian", np.ones(6), np.zeros(6)), 120.0)
    task = sampler.task_of(small, seen, small.accept(None))
    assert (task.surrogate, sampler.chain_of(task).together, task.rounds) == (False, True, 4)
    large = replace(task, surrogate=True)
    assert not sampler.chain_of(large).together
    theta = {"effects": jnp.zeros(5)}
    assert sampler.work(small.mean, theta) < sampler.work(small.moments, theta) < 1000


def test_fit_takes_it_and_draws_the_confidential_sums():
    model = LogLinear({"a": 2, "b": 3}, 2)
    truth = {"effects": jnp.array([0.3, -0.2, 0.1, 0.0, 0.4])}
    made = simulate_release(model, truth, 500, 1.0, seed=jax.random.key(3))
    assert method_for(made, None)[1] is sampler.TABLES
    drawn = posterior_draws(made, draws=20, warmup=30, chains=2, progress=False)
    assert drawn.theta["effects"].shape == (2, 20, 5)
    assert {"accepted", "moved", "diverging", "step", "lp"} <= set(drawn.infos)
    assert_close(np.asarray(drawn.confidential["s"]).sum(axis=-1), np.full((2, 20), 500.0), rtol=1e-6)
    again = posterior_draws(made, draws=20, warmup=30, chains=2, progress=False)
    assert np.array_equal(drawn.theta["effects"], again.theta["effects"])


PRIVATE = LogLinear({"a": 2, "b": 2}, [("a",), ("b",)])


def private_size():
    "A release of an unknown number of records, and what samplers see of it."
    truth = {"effects": jnp.array([0.3, -0.2])}
    made = simulate_release(PRIVATE, truth, 60, 0.5, neighbours="add_remove", n_max=2000, seed=jax.random.key(4))
    assert method_for(made, None)[1] is sampler.TABLES.tables and explain(made).way == sampler.MARGINS.name
    prior = PRIVATE.accept(None)
    return tables_of(PRIVATE, [measured(made)], prior, [made.n_range]), prior


def summary(kernel, draws):
    "Means, standard errors and sds of the effects and of the number of records."
    states, _ = run_chains(jax.random.key(5), kernel, draws=draws, warmup=300, chains=4, progress=False)
    found = np.concatenate([np.asarray(states.theta["effects"]), np.asarray(states.n)], axis=-1)
    sd = found.std(axis=(0, 1))
    return found.mean(axis=(0, 1)), sd / np.sqrt([float(az.ess(found[..., k])) for k in range(3)]), sd


@pytest.mark.slow
def test_a_private_size_has_a_coordinate_of_its_own():
    "Beside the generic sampler: means within 4 standard errors, sds within 10%; not with twice the noise."
    tables, prior = private_size()
    mean, error, sd = summary(tables_kernel(tables), 6000)
    def near(tables):
        other, other_error, other_sd = summary(sampler.sized_kernel(PRIVATE, tables, prior), 2000)
        assert np.all(np.abs(mean - other) < 4 * np.hypot(error, other_error)), (mean, other, error, other_error)
        assert np.all(np.abs(other_sd / sd - 1) < 0.1), (sd, other_sd)
    near(tables)
    noise = tables.groups[0].noise
    wrong = replace(tables, groups=(replace(tables.groups[0], noise=replace(noise, scale=2 * noise.scale)),))
    must_fail(lambda: near(wrong), "noise of twice the scale")


def test_several_tables_go_to_the_generic_sampler(monkeypatch):
    tables, prior = private_size()
    one = jax.tree.map(lambda part: part[0], tables.groups[0])
    monkeypatch.setattr(sampler, "_generic", sampler._generic._replace(kernel=lambda *asked: "generic"))
    two = stacked_tables(PRIVATE, [one] * 2, prior, [(0, 2000)] * 2)
    rounded = replace(tables, groups=(replace(tables.groups[0], low=one.z[None] - 1, high=one.z[None] + 1),))
    assert [sampler.sized_kernel(PRIVATE, each, prior) for each in (two, rounded)] == ["generic"] * 2
    assert sampler.sized_kernel(PRIVATE, tables, prior) != "generic"


FACTORS = """
import threading
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from dp_bayes_nb.base.linear_algebra import cholesky
A = np.random.default_rng(0).normal(size=(16, 99, 99))
S = jnp.asarray(A @ A.transpose(0, 2, 1) + 99 * np.eye(99))
factor = jax.vmap(lambda S: cholesky(S, definite=True))
step = lambda S, _: (S + 1e-9 * jnp.abs(factor(S)[:, :, :1]) * jnp.eye(99), None)
run = jax.jit(lambda S: lax.scan(step, S, None, length=60)[0])
threads = [threading.Thread(target=lambda: jax.block_until_ready(run(S))) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_batches_of_large_factors_do_not_wait_for_one_another():
    "Four threads factor 16 matrices of 99 rows again and again; given to LAPACK as batches they stop for ever."
    subprocess.run([sys.executable, "-c", FACTORS], check=True, timeout=240)
