"""The sampler of records: against complete enumeration in NumPy, ranks that are uniform, and what is committed."""

import json
from functools import partial
from pathlib import Path

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import table_counts as oracle

import dp_bayes_nb as dpb
from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.base.checks import ks_p_value, must_fail
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.research.trials import method_draws
from dp_bayes_nb.tables.records import RECORDS, kernel

FOUND = json.loads((Path(__file__).parent.parent / "results" / "records.json").read_text())
MODEL = dpb.LogLinear({"a": 2, "b": 2}, [("a",), ("b",)])
PRIOR = MODEL.accept(dpb.NormalEffects())


@pytest.mark.slow  # in the quick set: the same of Laplace noise, with its mutant, in nbs/tables/15_records
def test_chains_agree_with_all_tables_of_three_records():
    """Cells of 2 x 2 and some combinations of its margins with Gaussian noise, in Monte Carlo errors; by chance above
    4.5 once in 30,000 runs. Half the noise is noticed.
    """
    H = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]])
    z, scale = np.array([3.0, 1.0, -1.0]), np.array([0.8, 1.5, 0.6])
    X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]) / 2**0.5
    table = oracle.Table(z, H @ oracle.margin_matrix((2, 2), [(0,), (1,)]), 3, oracle.GAUSSIAN, scale,
                         lambda x: x @ X.T, None)
    mean, sd = oracle.enumerated(table, *oracle.normal_nodes(2, 1.0, points=61))

    def check(told):
        seen = Measurement(z, Noise("gaussian", told * scale, np.zeros(3)), 3, H)
        states, _ = run_chains(jax.random.key(5), kernel(MODEL, seen, PRIOR), draws=1000, warmup=100, chains=4)
        log_p = np.asarray(states.theta["effects"]) @ X.T
        p = np.exp(oracle.log_softmax(log_p))
        worth = np.array([float(az.ess(p[..., k])) for k in range(4)])
        assert worth.min() > 1000
        assert np.all(np.abs(p.mean(axis=(0, 1)) - mean) / sd * np.sqrt(worth) < 4.5)
        assert np.all(np.abs(p.std(axis=(0, 1)) / sd - 1) * np.sqrt(worth) < 4.5)

    check(1.0)
    must_fail(lambda: check(0.4), "less than half the noise")


@partial(jax.jit, static_argnames="releases")
def ranks(releases, told):
    "Ranks of the first true effect among draws; the program does not know n. `told`: the share of the noise."
    noise = Noise("gaussian", jnp.full(4, 6.0), jnp.zeros(4))

    def one(key, n):
        key_theta, key_s, key_e, key_fit = jax.random.split(key, 4)
        theta = PRIOR.sample(key_theta)
        s = MODEL.simulate(key_s, theta, n)
        z = s + noise.scale * jax.random.normal(key_e, s.shape)
        seen = Measurement(z, Noise("gaussian", told * noise.scale, noise.grid), n)
        draws, _ = method_draws(key_fit, MODEL, PRIOR, RECORDS, seen, draws=30, warmup=40, options={"records": 40})
        return jnp.mean(draws["effects"][:, 0] < theta["effects"][0])

    return jax.vmap(one)(jax.random.split(jax.random.key(7), releases), jnp.where(jnp.arange(releases) % 2, 40.0, 20.0))


@pytest.mark.slow
def test_ranks_of_an_effect_are_uniform_and_a_smaller_noise_is_noticed():
    "100 tables of 20 and of 40 records; four standard errors of a coverage of .8 are .16."
    found, wrong = (np.asarray(ranks(100, told)) for told in (1.0, 0.2))
    inside = lambda r: np.mean((r > 0.1) & (r < 0.9))
    assert ks_p_value(dpb.ks_uniform(found), len(found)) > 0.01
    assert abs(inside(found) - 0.8) < 4 * np.sqrt(0.16 / 100)
    assert inside(wrong) < 0.8 - 4 * np.sqrt(0.16 / 100)


def test_more_records_than_there_is_room_for_are_no_posterior():
    "In a compiled program that learns too late how many there are."
    noise = Noise("laplace", jnp.full(4, 8.0), jnp.zeros(4))
    run = jax.jit(lambda n: method_draws(jax.random.key(0), MODEL, PRIOR, RECORDS, Measurement(
        jnp.full(4, 10.0), noise, n), draws=3, warmup=2, options={"records": 20})[0]["effects"])
    assert np.isnan(run(21.0)).all() and np.isfinite(run(20.0)).all()


def test_every_model_of_cells_has_the_method():
    for model in (MODEL, dpb.LogisticRegression(("y", [0, 1]), {"x": (0.0, 1.0)})):
        assert methods_of(model)["records"] is RECORDS and not RECORDS.ways[0].normal


def test_the_committed_comparison_holds():
    "Cells of 2 x 3 x 2 within four Monte Carlo errors of the oracle at every n and epsilon; the mutant is not."
    rows, mutant = FOUND["tables"], "mutant: the scale of the noise half as large"
    far = {name: row["apart, sd, largest"] / row["its Monte Carlo error, largest"] for name, row in rows.items()}
    assert len(far) == 20 and far.pop(mutant) > 5 and max(far.values()) < 4


def test_the_committed_coverage_holds():
    "Published design, n = 100 and epsilon = 10: in the band of 200 releases; records counted four times are not."
    own, wrong = FOUND["slope"]["records"], FOUND["slope"]["mutant: a record counts four times"]
    assert own["releases"] == 200
    assert abs(own["coverage"] - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 200)
    assert 1.5 < own["width"] < 1.9
    assert wrong["releases"] == 50 and wrong["coverage"] < 0.95 - 3 * np.sqrt(0.95 * 0.05 / 50)
