"""Logistic regression on six covariates, three of them numbers, from noisy tables: coverage, width and time.

The records are drawn from a distribution with interactions of pairs on a grid much finer than the knots: a skewed
number, a bell and two bells, and three categories of two levels. `python benchmarks/six_covariates.py [releases
[setting]]` works through SETTINGS, one chain for each release, goes on where the last run stopped (each release is
kept), and writes results/six_covariates.json. Where a chain has fewer than LEAST effective draws of a coefficient, the
same release is fitted again with four times as many draws. Expected widths are those of the information of the sums and
the prior at the parameters that the expected sums lead to.
"""

import json
import sys
import time
from functools import lru_cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from dp_bayes_nb.base.files import atomic_write
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.supports import constrain
from dp_bayes_nb.noise.design import noise_design, simulate_values
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.research.trials import method_draws
from dp_bayes_nb.tables import sampler
from dp_bayes_nb.tables.logistic import LogisticRegression

RESULT = Path(__file__).resolve().parent.parent / "results" / "six_covariates.json"
SEED, DRAWS, WARMUP, LEAST, Z = 2106, 400, 200, 100, 1.959964  # the seed was fixed before the first run
SETTINGS = {"10,000 records": (10**4, 8), "1,000,000 records": (10**6, 12)}  # records, knots of each number
NODES = np.linspace(-1.0, 1.0, 65)
SHAPES = {"age": 1.2 * np.log1p(NODES + 1.05) - 1.1 * (NODES + 1), "weight": -0.5 * (NODES / 0.4) ** 2,
          "income": np.logaddexp(-0.5 * ((NODES - 0.45) / 0.2) ** 2, -0.5 * ((NODES + 0.45) / 0.25) ** 2)}
LEVELS = {"sex": 0.5, "insured": 0.85, "town": 0.3}  # share of the second level, but for interactions
PAIRS = {("age", "weight"): 0.8, ("weight", "income"): -0.6, ("age", "income"): 0.5, ("age", "insured"): 0.4,
         ("weight", "sex"): 0.7, ("income", "town"): -0.5, ("sex", "town"): 0.3, ("insured", "town"): -0.4}
TRUTH = {"age": 1.0, "weight": -1.0, "income": 0.5, "sex": 0.4, "insured": -0.3, "town": 0.8, "intercept": -0.3}


@lru_cache
def model(knots):
    return LogisticRegression(("ill", ["no", "yes"]), {**{name: (-1.0, 1.0) for name in SHAPES},
                                                       **{name: {"levels": [0, 1]} for name in LEVELS}}, knots=knots)


@lru_cache
def population():
    "Values of the covariates at each of the fine cells, by name, and the cells' probabilities."
    axes = [*([NODES] * 3), *([np.array([0, 1])] * 3)]
    values = dict(zip([*SHAPES, *LEVELS], (grid.reshape(-1) for grid in np.meshgrid(*axes, indexing="ij"))))
    place = lambda name: np.searchsorted(NODES, values[name])
    log_w = sum(shape[place(name)] for name, shape in SHAPES.items())
    log_w = log_w + sum(values[name] * np.log(p / (1 - p)) for name, p in LEVELS.items())
    log_w = log_w + sum(gamma * values[a] * values[b] for (a, b), gamma in PAIRS.items())
    w = np.exp(log_w - log_w.max())
    return values, w / w.sum()


def chance(values):
    "P(ill = yes) at values of the covariates."
    odds = TRUTH["intercept"] + sum(TRUTH[name] * values[name] for name in (*SHAPES, *LEVELS))
    return 1 / (1 + np.exp(-odds))


def sums_of(family, values, ill, weights=None, size=50_000):
    "Weighted sums of the statistics of records."
    total = np.zeros(len(family.names))
    for start in range(0, len(ill), size):
        part = {name: v[start:start + size] for name, v in values.items()}
        t = family.record_statistics({**part, "ill": ill[start:start + size]})
        w = np.ones(len(t)) if weights is None else weights[start:start + size]
        total += w @ np.asarray(t)
    return total


def simulated(family, n, r):
    "Sums over n simulated records, and slopes with standard errors of the regression on the records."
    rng = np.random.default_rng([SEED, n, r])
    values, w = population()
    cell = np.searchsorted(np.cumsum(w), rng.random(n)).clip(0, len(w) - 1)
    values = {name: v[cell] for name, v in values.items()}
    ill = (rng.random(n) < chance(values)).astype(int)
    X, b = np.column_stack([*values.values(), np.ones(n)]), np.zeros(7)
    for _ in range(12):
        p = 1 / (1 + np.exp(-X @ b))
        H = X.T @ (X * (p * (1 - p))[:, None])
        b = b + np.linalg.solve(H, X.T @ (ill - p))
    return sums_of(family, values, ill), b, np.sqrt(np.diagonal(np.linalg.inv(H)))


def expected(family, noise, n):
    "Posterior standard deviation of each coefficient at the expected sums, and how far the mode is from the truth."
    values, w = population()
    p = chance(values)
    s = sum(n * sums_of(family, values, np.full(len(w), level), w * each) for level, each in ((0, 1 - p), (1, p)))
    task = sampler.task_of(family, Measurement(jnp.asarray(s), noise, float(n)), family.accept(None))
    H = jax.jit(sampler._slope)(task, task.first_mode)[3].information
    of = lambda x: constrain(family.parameters, x)[0]["coefficients"]
    J = jax.jacfwd(of)(task.first_mode)
    sd = np.sqrt(np.diagonal(J @ jnp.linalg.solve(H, J.T)))
    return sd, (np.asarray(of(task.first_mode)) - np.array([*TRUTH.values()])) / sd


@partial(jax.jit, static_argnames=("family", "draws"))
def chain(key, family, prior, noise, n, sums, draws):
    "Draws of the coefficients, and what the chain says."
    key_noise, key_fit = jax.random.split(key)
    released = Measurement(simulate_values(key_noise, sums, noise), noise, n)
    theta, info = method_draws(key_fit, family, prior, methods_of(family)["collapsed"], released, draws=draws,
                               warmup=WARMUP)
    return theta["coefficients"], {name: info[name].mean() for name in ("accepted", "diverging", "leapfrogs", "step")}


def measure(name, releases, rows):
    "The rows of a setting, kept as they come."
    n, knots = SETTINGS[name]
    family = model(knots)
    noise = noise_design(family, epsilon=1.0)[0]
    noise = Noise(noise.kind, jnp.asarray(noise.scale), jnp.asarray(noise.grid))
    setting = rows.setdefault(name, {"n": n, "knots": knots, "cells": family.cells.size, "sums": len(family.names),
                                     "epsilon": 1.0, "noise": float(noise.scale[0]), "releases": []})
    if "expected_sd" not in setting:
        sd, apart = expected(family, noise, n)
        setting |= {"expected_sd": sd.tolist(), "expected_bias_in_sd": apart.tolist()}
    poor = lambda row: min(row["effective"]) < LEAST and "at first" not in row
    done = [r for r, row in enumerate(setting["releases"][:releases]) if not poor(row)]
    for r in sorted({*range(releases)} - {*done}):
        row = fitted(family, noise, n, r)
        if min(row["effective"]) < LEAST:
            row = fitted(family, noise, n, r, 4 * DRAWS) | {"at first": min(row["effective"])}
        setting["releases"][r:r + 1] = [row]
        summarise(setting)
        found = {"seed": SEED, "truth": TRUTH, "draws": DRAWS, "settings": rows}
        atomic_write(RESULT, json.dumps(found, indent=1) + "\n")
        print(name, r, row["processor_seconds"], row["wall_seconds"], min(row["effective"]), row["leapfrogs"],
              row["accepted"], flush=True)


def fitted(family, noise, n, r, draws=DRAWS):
    "One release: quantiles of the coefficients, the regression on the records, and what the chain says."
    import arviz as az
    sums, b, standard = simulated(family, n, r)
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(SEED), n), r)
    wall, processor = time.time(), time.process_time()
    found, info = jax.block_until_ready(chain(key, family, family.accept(None), noise, float(n), jnp.asarray(sums),
                                              draws))
    found = np.asarray(found)
    row = {"mean": found.mean(axis=0), "low": np.quantile(found, 0.025, axis=0),
           "high": np.quantile(found, 0.975, axis=0), "records": b, "standard_error": standard,
           "effective": np.array([float(az.ess(found[None, :, k])) for k in range(found.shape[1])])}
    row = {k: [float(f"{x:.5g}") for x in v] for k, v in row.items()}
    row |= {k: float(f"{float(v):.4g}") for k, v in info.items()}
    return row | {"wall_seconds": round(time.time() - wall, 1),
                  "processor_seconds": round(time.process_time() - processor, 1)}


def summarise(setting):
    "Coverage and width of all releases so far."
    of = lambda key: np.array([row[key] for row in setting["releases"]])
    truth = np.array([*TRUTH.values()])
    low, high, records, standard = map(of, ("low", "high", "records", "standard_error"))
    inside, plain = (low <= truth) & (truth <= high), np.abs(records - truth) <= Z * standard
    listed = lambda v: dict(zip(TRUTH, np.round(v, 4).tolist()))
    setting["summary"] = {
        "releases": len(low), "coverage": listed(inside.mean(axis=0)), "width": listed((high - low).mean(axis=0)),
        "expected_width": listed(2 * Z * np.array(setting["expected_sd"])),
        "bias": listed(of("mean").mean(axis=0) - truth),
        "no_noise": {"coverage": listed(plain.mean(axis=0)), "width": listed(2 * Z * standard.mean(axis=0))},
        "least_effective": float(of("effective").min()),
        "run_again": sum("at first" in row for row in setting["releases"]),
        "median_of_least": float(np.median(of("effective").min(axis=1))),
        "processor_seconds": float(np.median(of("processor_seconds")))}


def main(releases=100, *settings):
    rows = json.loads(RESULT.read_text())["settings"] if RESULT.exists() else {}
    for k, name in enumerate(SETTINGS):
        if not settings or k in settings:
            measure(name, releases, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
