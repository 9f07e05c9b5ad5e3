"""Few records: the sampler of records beside the one that takes sums as normal, and beside an oracle of its own.

`python benchmarks/records.py [part ...]` runs the parts `tables` (posterior means of the cells of a 2 x 3 x 2 table
beside chains that sample its counts, of another program), `slope` (coverage and width of 95% intervals of the published
design at n = 100 and epsilon = 10, on the releases of `logistic.py`, and of a mutant that counts records too often),
`nodes` (the same release with more nodes in a gap) and `mixing` (effective draws and seconds), goes on where the last
run stopped, and writes results/records.json.
"""

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("TQDM_DISABLE", "1")

import arviz as az
import jax
import jax.numpy as jnp
import logistic as published
import numpy as np
import tables

import dp_bayes_nb as d
from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.base.files import atomic_write
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.noise.design import noise_design, simulate_values
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.research.trials import method_draws
from dp_bayes_nb.tables import records

RESULTS = Path(__file__).resolve().parent.parent / "results" / "records.json"
SIZES = (10, 30, 100)
SLOPE, RELEASES, BATCH = ("arcsine", 100, 10.0), 200, 50
DRAWS, WARMUP = 500, 200
METHODS = {"records": 200, "mutant: a record counts four times": 50}  # of the releases


def kept(part, found):
    "Write a row at once, and go on."
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known.setdefault(part, {}).update(found)
    atomic_write(RESULTS, json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    for name, row in found.items():
        print(part, name, {k: v for k, v in row.items() if not isinstance(v, list)}, flush=True)


def done(part):
    "Rows of a part that an earlier run has kept."
    return json.loads(RESULTS.read_text()).get(part, {}) if RESULTS.exists() else {}


def of_tables():
    "Posterior means of cells at few records, and agreement with normal sums at 1,000."
    cases = [(name, row, release, {}) for name, row, release in tables.releases(SIZES)]
    name, row, release = next(case for case in tables.releases((1000,)) if case[1]["epsilon"] == 0.5)
    cases += [(name, row, release, {})]
    middle = next(case for case in cases if case[1]["n"] == 30 and case[1]["epsilon"] == 5.0)
    cases += [("mutant: the scale of the noise half as large", {"n": 30}, middle[2], {"wrong": 2.0})]
    for name, row, release, more in cases:
        if name not in done("tables"):
            kept("tables", {name: tables.rounded({**row, **tables.compared(
                release, draws=2500, sweeps=250, method="records", **more)})})


def slope_model(epsilon=SLOPE[2], n=SLOPE[1], points=None):
    "The model of the published design, and the noise of its release."
    knots = published.recommend_knots(n, epsilon)
    model = d.LogisticRegression(("y", [0, 1]), {"x": (-1.0, 1.0)}, knots=knots, points=points)
    noise = noise_design(model, epsilon=epsilon)[0]
    return model, Noise(noise.kind, jnp.asarray(noise.scale), jnp.asarray(noise.grid))


@partial(jax.jit, static_argnames=("model", "name", "n"))
def slopes(model, prior, name, noise, n, sums, keys):
    "Draws of the slope (releases, draws) by one chain each."
    def one(s, key):
        key_noise, key_fit = jax.random.split(key)
        seen = Measurement(simulate_values(key_noise, s, noise), noise, float(n))
        theta, _ = method_draws(key_fit, model, prior, records.RECORDS, seen, draws=DRAWS, warmup=WARMUP)
        return theta["coefficients"][:, 0]
    return jax.vmap(one)(sums, keys)


def counted(name):
    "The mutant, where it is asked for: move 2 takes each record for four."
    plain = records.log_given
    return patch.object(records, "log_given", (lambda what, counts, x: plain(what, 4 * counts, x))
                        if name.startswith("mutant") else plain)


def of_slope():
    "Coverage and width of intervals of the slope."
    model, noise = slope_model()
    prior = model.accept(published.PRIORS["information"])
    sums, plain = published.simulated(SLOPE, RELEASES, model)
    at = published.SETTINGS.index(SLOPE)
    keys = jax.random.split(jax.random.fold_in(jax.random.key(published.SEED), at), RELEASES)
    true = published.BETA[SLOPE[0]][1]
    error = lambda v: float(np.std(v, ddof=1) / np.sqrt(len(v)))
    for name, releases in METHODS.items():
        row = done("slope").get(name, {"ends": [], "means": [], "worth": [], "processor": 0.0})
        for start in range(len(row["ends"]), releases, BATCH):
            part, clock = slice(start, start + BATCH), time.process_time()
            with counted(name):
                x = np.asarray(slopes(model, prior, name, noise, SLOPE[1], jnp.asarray(sums[part]), keys[part]))
            row["processor"] += time.process_time() - clock
            row["ends"] += np.round(np.quantile(x, [0.025, 0.975], axis=1).T, 4).tolist()
            row["means"] += np.round(x.mean(axis=1), 4).tolist()
            row["worth"] += np.round(published.effective(x), 1).tolist()
            ends = np.array(row["ends"])
            inside, width = (ends[:, 0] <= true) & (true <= ends[:, 1]), ends[:, 1] - ends[:, 0]
            kept("slope", {name: {**row, "releases": len(ends), "coverage": float(inside.mean()),
                                  "coverage_error": error(inside), "width": float(width.mean()),
                                  "width_error": error(width), "bias": float(np.mean(row["means"]) - true),
                                  "bias_error": error(row["means"]), "least_effective": min(row["worth"]),
                                  "median_effective": float(np.median(row["worth"]))}})
    inside = np.abs(plain[:, 0] - true) <= 1.959964 * plain[:, 1]
    kept("slope", {"no noise": {"coverage": float(inside.mean()),
                                "width": float((2 * 1.959964 * plain[:, 1]).mean())}})


def seen_slope(n, epsilon, points=None):
    "A release of the published design, whatever the nodes are, and its model with so many nodes in a gap."
    model, noise = slope_model(epsilon, n, points)
    rng = np.random.default_rng([published.SEED, n])
    x = published.covariate(rng, "arcsine", n)
    y = (rng.random(n) < 1 / (1 + np.exp(-0.5 - 2 * x))).astype(int)
    s = np.array([float(np.sum(t)) for t in model.statistic({"x": x, "y": y})])
    return model, Measurement(simulate_values(jax.random.key(n), jnp.asarray(s), noise), noise, n)


def chains(model, seen, draws=500, warmup=300, method="records"):
    "Four chains: the first parameter, effective draws, rhat, seconds after compilation; N(0, 5²) for a slope."
    prior = model.accept(published.PRIORS["normal"] if model is not tables.MODEL else None)
    kernel = methods_of(model)[method].kernel(model, seen, prior)
    run = lambda draws, warmup: run_chains(jax.random.key(0), kernel, draws=draws, warmup=warmup, chains=4)
    clock = time.process_time()
    run(50, 50)
    compiled, clock = time.process_time() - clock, time.process_time()
    states, infos = run(draws, warmup)
    seconds, x = time.process_time() - clock, np.asarray(states.x)
    own = np.asarray(next(iter(states.theta.values())))
    ess = lambda a: [float(az.ess(a[..., j])) for j in range(a.shape[-1])]
    return {"mean": float(own[..., 0].mean()), "sd": float(own[..., 0].std()),
            "low": float(np.quantile(own[..., 0], 0.025)), "high": float(np.quantile(own[..., 0], 0.975)),
            "effective": min(ess(own)), "least_effective": min(ess(x)), "of": 4 * draws,
            "rhat": max(float(az.rhat(own[..., j])) for j in range(own.shape[-1])),
            **{name: float(np.mean(value)) for name, value in infos.items() if name != "lp"},
            "processor seconds": seconds, "of compilation, and 100 steps": compiled}


def of_nodes():
    "The slope at n = 100 with 2 to 8 nodes in a gap of the same soft table."
    for points in (2, 4, 8):
        name = f"n = 100, epsilon = 10, {points} nodes in a gap"
        if name not in done("nodes"):
            kept("nodes", {name: tables.rounded({"nodes": points, **chains(*seen_slope(100, 10.0, points))})})


def of_mixing():
    "Effective draws and seconds over n and epsilon, for a slope and for a table of three columns."
    for n, epsilon in ((100, 1.0), (100, 10.0), (100, 100.0)):
        name = f"slope, n = {n}, epsilon = {epsilon:g}"
        if name not in done("mixing"):
            kept("mixing", {name: tables.rounded({"n": n, "epsilon": epsilon, **chains(*seen_slope(n, epsilon))})})
    for n, epsilon in ((100, 0.5), (100, 5.0), (100, 50.0), (2000, 0.5)):
        name = f"table, n = {n}, epsilon = {epsilon:g}"
        if name not in done("mixing"):
            release = d.simulate_release(tables.MODEL, tables.TRUTH, n, epsilon, seed=n)
            seen = Measurement(jnp.asarray(release.values), jax.tree.map(jnp.asarray, release.noise), n)
            kept("mixing", {name: tables.rounded({"n": n, "epsilon": epsilon, **chains(tables.MODEL, seen)})})


PARTS = {"tables": of_tables, "slope": of_slope, "nodes": of_nodes, "mixing": of_mixing}


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"no such part: {sorted(unknown)}; there are {list(PARTS)}")
    for each in wanted:
        PARTS[each]()
