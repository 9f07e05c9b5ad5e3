"""Posteriors of noisy tables beside one that samples the counts themselves, and that one beside complete enumeration.

The oracle (`tests/oracles/table_counts.py`) is NumPy, and shares no code with the package. `benchmarks/tables.py exact`
runs the same comparison over n and epsilon; its result is checked here as it is committed.
"""

import json
from pathlib import Path

import arviz as az
import jax
import numpy as np
import pytest
from oracles import table_counts as oracle

import dp_bayes_nb as d

FOUND = json.loads((Path(__file__).parent.parent / "results" / "tables.json").read_text())["exact"]["rows"]
SHAPE, PAIRS = (2, 3, 2), [(0, 1), (0, 2), (1, 2)]
MODEL = d.LogLinear({"a": 2, "b": 3, "c": 2}, 2)
TRUTH = {"effects": np.array([0.3, -0.5, 0.2, 0.4, 0.35, -0.2, 0.5, -0.3, 0.15])}

# ---------------------------------------------------------------- the oracle itself


def two_by_two(kind, n=5):
    "A noisy table of 2 x 2 cells and its margins, with three effects under N(0, 1)."
    X = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    M = oracle.margin_matrix((2, 2), [(0,), (1,), (0, 1)])
    counts = np.random.default_rng(1).multinomial(n, [0.4, 0.3, 0.2, 0.1])
    z = M @ counts + np.array([2, -1, 0, 1, 1, 0, -2, 1.0])
    return oracle.Table(z, M, n, kind, np.full(8, 1.5), lambda x: x @ X.T, lambda x: -0.5 * (x**2).sum(-1))


def errors(table, sampled):
    "Means of the cells against enumeration in Monte Carlo errors, and sd over the exact ones."
    mean, sd = oracle.enumerated(table, *oracle.normal_nodes(3, 1.0, points=25))
    found, spread, error = oracle.mean_and_error(sampled["p"])
    return np.abs((found - mean) / error).max(), np.abs(spread / sd - 1).max()


@pytest.mark.parametrize("kind", ["laplace", pytest.param("gaussian", marks=pytest.mark.slow)])
def test_the_oracle_agrees_with_complete_enumeration(kind):
    "Four cells at 4 standard errors: by chance once in 4,000; sd within 4%, of some 20,000 effective draws."
    table = two_by_two(kind)
    z, wide = errors(table, oracle.sample(table, 3, chains=200, warmup=150, sweeps=300))
    assert z < 4 and wide < 0.04


def test_an_oracle_without_the_multinomial_coefficient_fails(monkeypatch):
    "The check bites."
    plain = oracle.Chains.__init__
    def forgetful(self, table, x, c, rng):
        plain(self, table, x, c, rng)
        self.log_factorial[:] = 0
        self._refresh()
    monkeypatch.setattr(oracle.Chains, "__init__", forgetful)
    table = two_by_two("laplace")
    assert errors(table, oracle.sample(table, 3, chains=200, warmup=150, sweeps=100))[0] > 8


def test_directions_of_the_counts_reach_every_table():
    "All pairs of cells are there, and what leaves margins alone does so."
    matrix = oracle.margin_matrix(SHAPE, PAIRS)
    every, null = oracle.directions(matrix)
    assert len(every) >= 66 and not every.sum(axis=1).any()
    assert len(null) and not (null @ matrix.T).any()


# ---------------------------------------------------------------- fit beside it


def cells(idata):
    "Draws of the cells' probabilities, (chain, draw, cells)."
    log_p = jax.jit(jax.vmap(jax.vmap(lambda x: MODEL.log_cells({"effects": x}))))
    return np.exp(np.asarray(log_p(idata.posterior["effects"].values)))


def apart(release, p, sweeps, wrong=1.0):
    "Means of draws less exact ones, in posterior sd, and their Monte Carlo error; `wrong`: the oracle has other noise."
    table, effects = oracle.log_linear_table(SHAPE, PAIRS, release.values, release.n, release.noise.kind,
                                             wrong * np.asarray(release.noise.scale))
    exact = oracle.sample(table, effects, chains=200, warmup=200, sweeps=sweeps)
    mean, sd, error = oracle.mean_and_error(exact["p"])
    ess = np.array([az.ess(p[:, :, k]) for k in range(p.shape[2])])
    return np.abs(p.mean((0, 1)) - mean) / sd, np.sqrt((error / sd) ** 2 + 1 / ess)


@pytest.mark.slow  # the committed comparison, with its mutant, is looked at below
def test_a_fit_of_pairs_agrees_with_sampling_the_counts():
    "Twelve cells within .05 sd, beyond three Monte Carlo errors of about .02; noise of another scale is told apart."
    release = d.simulate_release(MODEL, TRUTH, 1000, 0.5, seed=104)
    p = cells(d.fit(release, draws=1000, warmup=200, progress=False))
    far, error = apart(release, p, 150)
    assert error.max() < 0.04 and (far < 0.05 + 3 * error).all()
    assert not (apart(release, p, 100, wrong=2.0)[0] < 0.05 + 3 * error).all()


def test_the_committed_comparison_holds():
    "n of 100 and more: every cell within .05 sd and two Monte Carlo errors; the mutant fails."
    seen = [row for row in FOUND.values() if row.get("n", 0) >= 100]
    assert len(seen) == 18 and {row["mechanism"] for row in seen} == {"laplace", "gaussian"}
    for row in seen:
        assert row["apart, sd, largest"] < 0.05 + 2 * row["its Monte Carlo error, largest"]
    mutant = next(row for name, row in FOUND.items() if name.startswith("mutant"))
    assert mutant["apart, sd, largest"] > 3 * 0.05
