"""Noisy tables, into results/tables.json. `python benchmarks/tables.py exact`: the posterior of every cell of a 2 x 3 x
2 table, from its noisy pairs of columns, beside one that samples the counts themselves. `calibration [releases]`: ranks
of the truth, five and eight columns; `cost`: seconds and memory by cells. Rows that are there are kept."""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

os.environ.setdefault("TQDM_DISABLE", "1")
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import arviz as az  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from oracles import table_counts as oracle  # noqa: E402
from scipy.stats import chisquare  # noqa: E402

import dp_bayes_nb as d  # noqa: E402
from dp_bayes_nb.base.files import atomic_write  # noqa: E402
from dp_bayes_nb.base.measurement import Measurement  # noqa: E402
from dp_bayes_nb.noise.design import noise_design, simulate_values  # noqa: E402
from dp_bayes_nb.ways.methods import methods_of  # noqa: E402
from dp_bayes_nb.research.trials import method_draws  # noqa: E402
from dp_bayes_nb.tables import sampler  # noqa: E402

RESULTS = ROOT / "results" / "tables.json"
SHAPE, PAIRS = (2, 3, 2), [(0, 1), (0, 2), (1, 2)]
MODEL = d.LogLinear({"a": 2, "b": 3, "c": 2}, 2)
TRUTH = {"effects": np.array([0.3, -0.5, 0.2, 0.4, 0.35, -0.2, 0.5, -0.3, 0.15])}
DESIGN = {"n": [10, 30, 100, 1000, 10_000], "epsilon": [0.05, 0.5, 5.0], "mechanism": ["laplace", "gaussian"]}
DELTA = 1e-6


def cells(idata):
    "Draws of the cells' probabilities, (chain, draw, cells)."
    effects = idata.posterior["effects"].values
    log_p = jax.jit(jax.vmap(jax.vmap(lambda x: MODEL.log_cells({"effects": x}))))
    return np.exp(np.asarray(log_p(effects)))


def compared(release, draws=2500, sweeps=250, seed=0, wrong=1.0, method="collapsed"):
    "Means of cells by `fit` and by sampling the counts, apart, in posterior sd; `wrong`: the oracle has other noise."
    start = time.process_time()
    p = cells(d.fit(release, method=method, draws=draws, warmup=300, seed=seed, progress=False))
    middle = time.process_time()
    table, effects = oracle.log_linear_table(SHAPE, PAIRS, release.values, release.n, release.noise.kind,
                                             wrong * np.asarray(release.noise.scale))
    found = oracle.sample(table, effects, chains=200, warmup=300, sweeps=sweeps, seed=seed)
    mean, sd, error = oracle.mean_and_error(found["p"])
    ess = np.array([az.ess(p[:, :, k]) for k in range(p.shape[2])])
    apart = (p.mean((0, 1)) - mean) / sd
    return {"apart, sd, largest": np.abs(apart).max(), "apart, sd, root mean square": np.sqrt((apart**2).mean()),
            "its Monte Carlo error, largest": np.sqrt((error / sd) ** 2 + 1 / ess).max(),
            "sd over the exact one, least": (p.std((0, 1)) / sd).min(),
            "sd over the exact one, most": (p.std((0, 1)) / sd).max(),
            "seconds of fit": middle - start, "seconds of the oracle": time.process_time() - middle}


def releases(sizes):
    "Name, design and release of each case of the design with so many records."
    seed = 0
    for mechanism in DESIGN["mechanism"]:
        more = {} if mechanism == "laplace" else {"mechanism": "gaussian", "delta": DELTA}
        for n in DESIGN["n"]:
            for epsilon in DESIGN["epsilon"]:
                if n in sizes:
                    release = d.simulate_release(MODEL, TRUTH, n, epsilon, **more, seed=100 + seed)
                    yield (f"{mechanism}, n = {n}, epsilon = {epsilon:g}",
                           {"mechanism": mechanism, "n": n, "epsilon": epsilon}, release)
                seed += 1


def exact():
    rows = {}
    for name, row, release in releases(DESIGN["n"]):
        rows[name] = {**row, "noise": float(release.noise.scale[0]), **compared(release)}
        print(name, {k: round(v, 3) for k, v in rows[name].items() if isinstance(v, float)}, flush=True)
    release = d.simulate_release(MODEL, TRUTH, 1000, 0.5, seed=104)
    rows["mutant: the scale of the noise half as large"] = compared(release, wrong=2.0)
    return {"about": "posterior means of the 12 cells of a 2 x 3 x 2 table from its three noisy tables of pairs: fit, "
                     "which takes the margins as normal, beside chains that sample whole counts with the noise that "
                     "was drawn; one release a row, effects and prior the same; processor seconds of a busy machine",
            "rows": rows}


def rounded(value):
    "Three significant digits."
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return float(f"{value:.3g}") if isinstance(value, (float, np.floating)) else value


def again():
    "The rows of 100 records once more, on the same releases, with four times as many draws of both: is it chance?"
    rows = {}
    for name, row, release in releases([100]):
        rows[name] = {**row, **compared(release, draws=10_000, sweeps=1000, seed=1)}
        print(name, {k: round(v, 3) for k, v in rows[name].items() if isinstance(v, float)}, flush=True)
    return {"about": again.__doc__, "rows": rows}


# Ranks of the truth among draws of the posterior, the truth drawn from the prior
COLUMNS = {"five columns": (2, 3, 2, 4, 3), "eight columns": (2, 3, 2, 2, 3, 2, 2, 2)}
CONDITIONS = list(product([300, 10_000, 1_000_000], [0.1, 1.0], ["laplace", "gaussian"]))  # n, epsilon, mechanism
CALIBRATION_SEED, RANKED, SPACING, WARMUP, MUTANT = 2107, 20, 15, 250, 3.0


def ranked(model, theta):
    "What is ranked: the first effects, two cells, and the effects' square."
    log_p = model.log_cells(theta)
    return jnp.concatenate([theta["effects"][..., :8], log_p[jnp.array([0, -1])], jnp.sum(theta["effects"] ** 2)[None]])


@partial(jax.jit, static_argnames="model")
def rank(key, model, prior, noise, n, wrong):
    "Ranks 0 … RANKED of one release, and the least effective draws of what is ranked; `wrong` divides the noise."
    key_theta, key_sums, key_noise, key_fit = jax.random.split(key, 4)
    theta = prior.sample(key_theta)
    values = simulate_values(key_noise, model.simulate(key_sums, theta, n), noise)
    claimed = replace(noise, scale=noise.scale / wrong)
    draws, info = method_draws(key_fit, model, prior, methods_of(model)["collapsed"],
                               Measurement(values, claimed, n), draws=RANKED * SPACING, warmup=WARMUP)
    found = jax.vmap(partial(ranked, model))(draws)
    return (found[SPACING - 1::SPACING] < ranked(model, theta)).sum(axis=0), found, info["diverging"].sum()


def calibrated(name, releases, wrong, rows):
    "Ranks of so many releases, release r in condition r of CONDITIONS; goes on after the rows that are there."
    model = d.LogLinear({f"c{j}": k for j, k in enumerate(COLUMNS[name])}, 2)
    prior = model.accept(None)
    for r in range(len(rows), releases):
        n, epsilon, mechanism = CONDITIONS[r % len(CONDITIONS)]
        noise = noise_design(model, epsilon=epsilon, **({} if mechanism == "laplace" else
                                                        {"mechanism": mechanism, "delta": DELTA}))[0]
        noise = jax.tree.map(jnp.asarray, noise)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(CALIBRATION_SEED), list(COLUMNS).index(name)), r)
        start = time.process_time()
        ranks, found, diverging = rank(key, model, prior, noise, float(n), wrong)
        ess = [float(az.ess(np.asarray(found)[None, :, k])) for k in range(found.shape[1])]
        rows.append({"n": n, "epsilon": epsilon, "mechanism": mechanism, "ranks": np.asarray(ranks).tolist(),
                     "least effective": round(min(ess)), "diverging": int(diverging),
                     "seconds": round(time.process_time() - start, 1)})
        print(name, wrong, r, rows[-1], flush=True)
        yield


def tested(rows, bins=7):
    "p-values of a chi-squared test of each quantity's ranks, and the least times their number (Bonferroni)."
    ranks = np.array([row["ranks"] for row in rows])
    counts = [np.bincount(r * bins // (RANKED + 1), minlength=bins) for r in ranks.T]
    p = [float(chisquare(c).pvalue) for c in counts]
    return {"releases": len(rows), "p": [round(x, 4) for x in p], "least p times their number": min(p) * len(p)}


def calibration(releases=120, mutants=36):
    "Ranks of the truth of releases in rotating conditions; the mutants are told a third of the noise."
    for name in COLUMNS:
        for label, number, wrong in ((name, releases, 1.0), (f"mutant: {name}", mutants, MUTANT)):
            part = f"calibration: {label}"
            rows = known(part).get("rows", [])
            for _ in calibrated(name, int(number), wrong, rows):
                keep(part, {"about": calibration.__doc__, "columns": COLUMNS[name], **tested(rows), "rows": rows})


# Cost
GRIDS = {f"{4**k:,} cells": dict(columns={f"c{j}": 4 for j in range(k)}, margins=2) for k in (5, 7, 8, 10)}
GRIDS["chain of 21 columns of 4"] = dict(columns={f"c{j}": 4 for j in range(21)},
                                         margins=[(f"c{j}", f"c{j + 1}") for j in range(20)])


def cost_row(name, n):
    "Seconds of processor of a gradient, of a covariance and of a draw; compilation apart; and memory."
    model = d.LogLinear(**GRIDS[name])
    theta = {"effects": 0.1 * jax.random.normal(jax.random.key(1), model.parameters["effects"].shape)}
    noise = jax.tree.map(jnp.asarray, noise_design(model, epsilon=1.0)[0])
    values = simulate_values(jax.random.key(2), n * model.mean(theta), noise)
    def seconds(fn, *args, times=3):
        fn = jax.jit(fn)
        start = time.process_time()
        jax.block_until_ready(fn(*args))
        first, start = time.process_time() - start, time.process_time()
        for _ in range(times):
            jax.block_until_ready(fn(*args))
        return first, (time.process_time() - start) / times
    compiled, gradient = seconds(jax.grad(lambda theta: jnp.sum(model.mean(theta) ** 2)), theta)
    _, moments = seconds(model.moments, theta)
    released = Measurement(values, noise, float(n))
    start = time.process_time()
    task = sampler.task_of(model, released, model.accept(None))
    home, run = time.process_time() - start, sampler.chain_of(task)
    state = jax.jit(run.init)(jax.random.key(3))
    _, draw = seconds(lambda key, state: run.step(key, state)[0], jax.random.key(4), state)
    return {"cells": model.cells.size, "sums": len(model.names), "effects": int(theta["effects"].size), "n": n,
            "gradient": gradient, "mean and covariance": moments, "start": home, "draw": draw,
            "compilation of the gradient": compiled, "memory in MB": peak_memory()}


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cost():
    "Seconds of processor, each row a process of its own: a gradient of the sums, mean and covariance, a kept draw."
    rows = known("cost").get("rows", {})
    for name in GRIDS:
        for n in (10**4, 10**7) if name == next(iter(GRIDS)) else (10**4,):
            label = f"{name}, n = {n:,}"
            if label not in rows:
                found = subprocess.run([sys.executable, __file__, "cost_row", name, str(n)], check=True,
                                       capture_output=True, text=True)
                rows[label] = rounded(json.loads(found.stdout.splitlines()[-1]))
                keep("cost", {"about": cost.__doc__, "rows": rows})
                print(label, rows[label], flush=True)


def known(part):
    "What is kept of a part."
    return json.loads(RESULTS.read_text()).get(part, {}) if RESULTS.exists() else {}


def keep(part, found):
    whole = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    atomic_write(RESULTS, json.dumps(dict(sorted({**whole, part: found}.items())), indent=1) + "\n")


PARTS = {"exact": exact, "again": again, "calibration": calibration, "cost": cost}


def main(name="exact", *options):
    if name == "cost_row":
        print(json.dumps(cost_row(options[0], int(options[1]))))
    elif name not in PARTS:
        sys.exit(f"no such part: {name}; there are {list(PARTS)}")
    elif found := PARTS[name](*options):
        keep(name, rounded(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
