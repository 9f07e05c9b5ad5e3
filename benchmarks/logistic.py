"""Logistic regression from one noisy soft table, on the published design: coverage, width and time of 95% intervals.

x = 2B − 1 with B ~ Beta(½, ½), logit P(y = 1) = ½ + 2x, and intervals for the slope (Awan and Wang, arXiv
2303.05328); then other covariates. `python benchmarks/logistic.py [repetitions [settings]]` works through SETTINGS in
order, the first so many of them, goes on where the last run stopped (a setting is kept with its repetitions), and
writes results/logistic.json. Knots are what `recommend_knots` says of n and epsilon, of an exponential or a bell shape
where the covariate has one and of the arcsine shape else. Where a chain has fewer than LEAST effective draws of the
slope, the same release is fitted again with four times as many draws.
"""

import json
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.noise.design import noise_design, simulate_values
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.research.trials import method_draws
from dp_bayes_nb.tables.effects import InformationPrior, NormalCoefficients
from dp_bayes_nb.tables.logistic import LogisticRegression
from dp_bayes_nb.tables.soft_tables import recommend_knots

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results" / "logistic.json"
SEED = 2103  # fixed before the first run; the design of the sampler was chosen on others
DRAWS, WARMUP, LEAST, BATCH = 600, 200, 100, 100
PRIORS = {"information": InformationPrior(10.0), "normal": NormalCoefficients(5.0)}
PUBLISHED = [(1000, 1.0), (2000, 1.0), (1000, 0.1), (500, 1.0), (100, 10.0), (1000, 10.0), (1000, 0.3), (1000, 3.0),
             (2000, 0.3)]
OTHERS = [(name, n, 1.0) for n in (1000, 10_000, 100_000) for name in ("exponential", "bimodal", "normal", "binary")]
SETTINGS = [("arcsine", *each) for each in PUBLISHED] + OTHERS
BETA = {"arcsine": (0.5, 2.0),
        "exponential": (1.0, 2.5), "bimodal": (0.5, 2.0), "normal": (0.5, 2.0), "binary": (-0.2, 0.6)}


def covariate(rng, name, n):
    "Records of x in [−1, 1]."
    if name == "arcsine":
        return 2 * rng.beta(0.5, 0.5, n) - 1
    if name == "exponential":
        return 2 * np.minimum(rng.exponential(1.0, n), 5.0) / 5 - 1
    if name == "bimodal":
        return np.clip(rng.choice([-0.5, 0.5], n) + 0.12 * rng.standard_normal(n), -1, 1)
    if name == "normal":
        return np.clip(0.33 * rng.standard_normal(n), -1, 1)
    return np.where(rng.random(n) < 0.1, 1.0, -1.0)


def on_records(x, y):
    "Slope of the logistic regression on the records and its standard error, by Newton's method; ridge of N(0, 5²)."
    X, b = np.stack([np.ones_like(x), x], axis=1), np.zeros(2)
    for _ in range(25):
        p = 1 / (1 + np.exp(-X @ b))
        H = X.T @ (X * (p * (1 - p))[:, None]) + np.eye(2) / 25
        b = b + np.linalg.solve(H, X.T @ (y - p) - b / 25)
    return b[1], np.sqrt(np.linalg.inv(H)[1, 1])


def simulated(setting, repetitions, model):
    "Confidential sums (repetitions, m) and the regression on the records (repetitions, 2)."
    name, n, epsilon = setting
    sums, records = [], []
    for r in range(repetitions):
        rng = np.random.default_rng([SEED, SETTINGS.index(setting), r])
        x = covariate(rng, name, n)
        y = (rng.random(n) < 1 / (1 + np.exp(-BETA[name][0] - BETA[name][1] * x))).astype(int)
        sums.append([float(np.sum(t)) for t in model.statistic({"x": x, "y": y})])
        records.append(on_records(x, y))
    return np.array(sums), np.array(records)


@partial(jax.jit, static_argnames=("model", "draws"))
def intervals(model, prior, noise, n, sums, keys, draws):
    "Slopes (releases, draws)."
    def one(s, key):
        key_noise, key_fit = jax.random.split(key)
        released = Measurement(simulate_values(key_noise, s, noise), noise, n)
        theta, _ = method_draws(key_fit, model, prior, methods_of(model)["collapsed"], released, draws=draws,
                                warmup=WARMUP)
        return theta["coefficients"][:, 0]
    return jax.vmap(one)(sums, keys)


def effective(chains):
    "Effective sample size of each chain, by initial positive pairs."
    c = chains - chains.mean(axis=-1, keepdims=True)
    N = c.shape[-1]
    f = np.fft.rfft(c, 2 * N, axis=-1)
    a = np.fft.irfft(np.abs(f) ** 2, axis=-1)[..., :N]
    a = a[..., :N - 1 + N % 2] / a[..., :1]  # lag 0, and pairs after it
    pairs = a[..., 1::2] + a[..., 2::2]
    positive = np.cumprod(pairs > 0, axis=-1)
    return N / (1 + 2 * (pairs * positive).sum(axis=-1))


def measure(setting, prior_name, repetitions):
    "One setting: a row of the result."
    name, n, epsilon = setting
    shape = {"exponential": "exponential", "normal": "normal"}.get(name, "arcsine")
    model = LogisticRegression(("y", [0, 1]), {"x": (-1.0, 1.0)}, knots=recommend_knots(n, epsilon, shape=shape))
    prior = model.accept(PRIORS[prior_name])
    noise = noise_design(model, epsilon=epsilon)[0]
    noise = Noise(noise.kind, jnp.asarray(noise.scale), jnp.asarray(noise.grid))
    sums, records = simulated(setting, repetitions, model)
    keys = jax.random.split(jax.random.fold_in(jax.random.key(SEED), SETTINGS.index(setting)), repetitions)
    padded = lambda a: jnp.concatenate([a, jnp.repeat(a[-1:], -len(a) % BATCH, axis=0)])
    sums_p, keys_p = padded(jnp.asarray(sums)), padded(keys)
    run = lambda at, draws: np.asarray(intervals(model, prior, noise, float(n), sums_p[at], keys_p[at], draws))
    first = np.arange(BATCH)
    run(first, DRAWS)  # compiles
    wall, processor = time.time(), time.process_time()
    chains = np.concatenate([run(at, DRAWS) for at in np.arange(len(sums_p)).reshape(-1, BATCH)])[:repetitions]
    wall, processor = (time.time() - wall) / len(sums_p), (time.process_time() - processor) / len(sums_p)
    ends, worth = np.quantile(chains, [0.025, 0.975], axis=1).T, effective(chains)
    mean, poor = chains.mean(axis=1), np.flatnonzero(worth < LEAST)
    for start in range(0, len(poor), BATCH):  # once more: the same release, more draws
        at = poor[start:start + BATCH]
        again = run(np.resize(at, BATCH), 4 * DRAWS)[:len(at)]
        ends[at], mean[at] = np.quantile(again, [0.025, 0.975], axis=1).T, again.mean(axis=1)
        worth[at] = effective(again)
    true = BETA[name][1]
    inside, width = (ends[:, 0] <= true) & (true <= ends[:, 1]), ends[:, 1] - ends[:, 0]
    plain = np.abs(records[:, 0] - true) <= 1.959964 * records[:, 1]
    error = lambda v: float(v.std(ddof=1) / np.sqrt(len(v)))
    return {"covariate": name, "n": n, "epsilon": epsilon, "prior": prior_name, "repetitions": repetitions,
            "knots": dict(model.knots)["x"], "coverage": float(inside.mean()), "coverage_error": error(inside * 1.0),
            "width": float(width.mean()), "width_error": error(width), "median_width": float(np.median(width)),
            "missed_low": float((ends[:, 1] < true).mean()), "missed_high": float((ends[:, 0] > true).mean()),
            "bias": float(mean.mean() - true), "bias_error": error(mean),
            "no_noise": {"coverage": float(plain.mean()), "width": float((2 * 1.959964 * records[:, 1]).mean())},
            "draws": DRAWS, "run_again": len(poor), "least_effective": float(worth.min()),
            "median_effective": float(np.median(worth)), "wall_seconds": wall, "processor_seconds": processor}


def main(repetitions=1000, settings=len(SETTINGS)):
    rows = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
    same = lambda row, setting, prior: (row["covariate"], row["n"], row["epsilon"], row["prior"]) == (*setting, prior)
    for setting in SETTINGS[:settings]:
        for prior in PRIORS:
            if any(same(row, setting, prior) and row["repetitions"] >= repetitions for row in rows):
                continue
            row = measure(setting, prior, repetitions)
            rows = [old for old in rows if not same(old, setting, prior)] + [row]
            RESULT.write_text(json.dumps({"seed": SEED, "rows": rows}, indent=1) + "\n")
            print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
