"""Intervals from releases whose n is private, at the designs of a published competitor, into
results/scoreboard_private_n.json. A run that was stopped goes on where it was: `python benchmarks/private_n.py`.
"""

import importlib.metadata
import json
import sys
import time
from pathlib import Path

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np

from dp_bayes_nb import __version__
from dp_bayes_nb.base.chains import run_chain
from dp_bayes_nb.base.files import atomic_write
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.priors import Beta
from dp_bayes_nb.models.conjugate_priors import Gamma
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.models.rates import Exponential
from dp_bayes_nb.noise.design import simulate_noise
from dp_bayes_nb.chains.measurements import tables_kernel
from dp_bayes_nb.ways.noisy_tables import sample_levels
from dp_bayes_nb.research.measured_calibration import one_table
from dp_bayes_nb.research.trials import run_trials

RESULTS = Path(__file__).parent.parent / "results" / "scoreboard_private_n.json"
TRIALS, DRAWS, WARMUP, SEED, N, MOST = 4000, 1000, 200, 2303, 100, 1000
RATE, SHARE = 0.1, 0.2  # the truth: a mean time of 10, a share of one fifth


TIMES = {"vague, nearly 1/rate: Gamma(0.001, 0.001 u)": (0.001, 0.001),
         "weak, from the public bound: Gamma(2, u)": (2.0, 1.0),
         "informed: mean 0.1, sd 0.05": None}
SHARES = {"vague: Beta(1/2, 1/2)": Beta(0.5, 0.5), "vague: Beta(1, 1)": Beta(1.0, 1.0),
          "informed: Beta(2, 8)": Beta(2.0, 8.0)}
THEIRS = {10: (0.944, 6.07), 20: (0.942, 4.96), 50: (0.949, 5.12), 100: (0.955, 7.31)}
TARGETS = {10: 5.9, 20: 4.8, 50: 4.9, 100: None}
WAITING = "Exponential, mean 10, clipped to [0, {u}]"
COUNTS = "Bernoulli, share 0.2"


def seen(key, family, theta, noise, matrix):
    "What is published of N simulated records: two noisy rows, and nothing about n beside them."
    key_data, key_noise = jax.random.split(key)
    s = family.record_statistics(family.simulate_records(key_data, theta, N), True).sum(axis=0)
    z = matrix @ jnp.append(float(N), s) + simulate_noise(key_noise, jax.tree.map(jnp.asarray, noise))
    return Measurement(z, noise, None, matrix)


def one_chain(what, data, key):
    "Draws of the parameter from one simulated release, by the chain of `fit`."
    (family, name), (noise, matrix, prior, truth) = what, data
    key_data, key_fit = jax.random.split(key)
    measurement = seen(key_data, family, {name: truth}, noise, matrix)
    tables = one_table(family, prior, measurement, float(MOST))
    states, _ = run_chain(key_fit, tables_kernel(tables), draws=DRAWS, warmup=WARMUP)
    return {"draws": states.theta[name]}


PAIR = np.array([[0.0, 1.0], [1.0, -1.0]])  # sums of v and of 1 - v, from (n, sum of v)


def by_chain(family, kind, prior, truth, seed):
    "Draws from all simulated releases, (trials, draws), and their effective numbers."
    (name,), noise = family.parameters, Noise(kind, np.ones(2), np.zeros(2))
    data = noise, PAIR, jax.tree.map(jnp.asarray, prior), jnp.asarray(truth)
    out = run_trials(jax.random.key(seed), one_chain, (family, name), data, TRIALS)["draws"]
    ess = np.array([az.ess(draws[None]) for draws in out])
    return out, {"effective draws, 1%": float(np.quantile(ess, 0.01)), "effective draws, median": float(np.median(ess))}


def waiting(u, prior):
    "Intervals for the mean time: records in units of u, so that one program does for every u."
    a, b = (4.0, 40.0 / u) if prior is None else prior
    out, ess = by_chain(Exponential((0.0, 1.0)), "laplace", Gamma(a, b), RATE * u, SEED + u)
    return *np.quantile(u / out, (0.025, 0.975), axis=1), ess


def counts(prior):
    "Intervals for the share: exact where that is fast, else by the chain."
    if prior.alpha + prior.beta != 1:
        out, ess = by_chain(Bernoulli(), "gaussian", prior, SHARE, SEED)
        return *np.quantile(out, (0.025, 0.975), axis=1), ess
    noise = Noise("gaussian", np.ones(2), np.zeros(2))
    keys, ends = jax.random.split(jax.random.key(SEED), TRIALS), []
    theta = {"probability": jnp.asarray(SHARE)}
    for i, z in enumerate(np.asarray(jax.jit(jax.vmap(lambda k: seen(k, Bernoulli(), theta, noise, PAIR).z))(keys))):
        tables = one_table(Bernoulli(), prior, Measurement(z, noise, None, PAIR), float(MOST))
        drawn = sample_levels(np.random.default_rng((SEED, i)), Bernoulli(), tables, prior, (1, 4 * DRAWS))
        ends.append(np.quantile(drawn["probability"], (0.025, 0.975)))
    return *np.transpose(ends), {"effective draws, 1%": 4.0 * DRAWS, "effective draws, median": 4.0 * DRAWS}


def summary(low, high, truth, ess):
    "Coverage, widths, and their standard errors."
    width, inside = high - low, np.mean((low <= truth) & (truth <= high))
    again = np.random.default_rng(SEED).choice(width, (500, len(width)))
    values = {"coverage": inside, "coverage, se": (inside * (1 - inside) / len(width)) ** 0.5,
              "mean width": width.mean(), "mean width, se": width.std(ddof=1) / len(width) ** 0.5,
              "median width": np.median(width), "median width, se": np.median(again, axis=1).std(), **ess}
    return {name: float(f"{value:.4g}") for name, value in values.items()}


def studies():
    "All rows: design, prior, the run, the truth, what others reached, the target."
    times = [(name, prior, u) for name, prior in TIMES.items() for u in THEIRS]
    rows = [(WAITING.format(u=u), name, lambda u=u, prior=prior: waiting(u, prior), 1 / RATE, THEIRS[u], TARGETS[u])
            for name, prior, u in times]
    shares = [(COUNTS, name, lambda prior=prior: counts(prior), SHARE, (0.949, 0.1637), 0.160)
              for name, prior in SHARES.items()]
    return rows[:len(THEIRS)] + shares[:1] + rows[len(THEIRS):] + shares[1:]


def main(only=""):
    settings = {"releases": TRIALS, "draws": DRAWS, "warm-up": WARMUP, "seed": SEED, "records": N, "n_range": [0, MOST],
                "dp_bayes_nb": __version__, **{p: importlib.metadata.version(p) for p in ("numpy", "jax", "jaxlib")}}
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = kept.get("rows", []) if kept.get("settings") == settings else []
    about = ("95% equal-tailed intervals from simulated releases, records and noise drawn afresh; n private, flat on "
             "n_range; add/remove neighbours. Times: sums of v and of 1 - v, v = x/u, each with Laplace noise of scale "
             "1 (epsilon = 1). Shares: successes and failures, each with N(0, 1) noise (1-GDP). Others: Awan and Wang, "
             "arXiv 2303.05328, who for times take n as public")
    for design, prior, run, truth, theirs, target in studies():
        if only not in design or any((row["design"], row["prior"]) == (design, prior) for row in rows):
            continue
        start = time.perf_counter()
        low, high, ess = run()
        row = {"design": design, "prior": prior, **summary(low, high, truth, ess), "target, width": target,
               "others, coverage": theirs[0], "others, width": theirs[1],
               "s": float(f"{time.perf_counter() - start:.3g}")}
        rows.append(row)
        atomic_write(RESULTS, json.dumps({"about": about, "settings": settings, "rows": rows}, indent=1) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
