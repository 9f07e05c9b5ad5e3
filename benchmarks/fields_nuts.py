"""Fits along time and on maps against NUTS on the same model and the same curves; results/fields_nuts.json.

`python benchmarks/fields_nuts.py [design …]`: twelve designs. On "two modes" expectation propagation is wrong, and so
is NUTS, whose chains stay in one mode: there, what is shown is that `moved_by_check` notices. NUTS draws coordinates
w of all cells given the sizes, such that w is N(0, I) wherever likelihoods are normal: an exact change of variables,
in which trees are short. What was measured is kept after each design, and a design that stands in the file is left
out: delete its entry to repeat it. `python benchmarks/fields_nuts.py ours` repeats our part alone, of the designs
whose moments by NUTS stand there.

For each design: root mean square, over cells, of the difference of means in standard deviations, and of the ratio of
standard deviations less 1; the same for the sizes; the least effective number of draws of a cell; processor time.
"""

import json
import math
import os
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import arviz as az
import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space

import dp_bayes_nb as dp
from dp_bayes_nb.fields.structured import SHAPE, _drawn, ready, sizes_at

FILE = Path(__file__).resolve().parent.parent / "results/fields_nuts.json"
DRAWS, WARMUP, CHAINS, OURS = 20_000, 800, 4, 40_000


class Pieces(NamedTuple):
    "What NUTS needs, dense: of the seen cells."
    halves: list  # of the parts' covariances, (N, r) each
    lonely: list  # (N,) each: cells without a node
    X: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    scale: float
    precision: np.ndarray  # sites of the change of variables
    linear: np.ndarray
    table: tuple


def pieces_of(one) -> Pieces:
    "The model of a fit, from its precisions and constraints alone."
    field, halves, lonely = one.field, [], []
    for part in field.parts:
        N = null_space(np.asarray(part.A, float))
        half = N @ np.linalg.inv(np.linalg.cholesky(N.T @ part.Q.toarray() @ N)).T
        at = part.at[field.seen]
        halves.append(np.where((at >= 0)[:, None], half[np.maximum(at, 0)], 0.0))
        lonely.append((at < 0).astype(float))
    x, value, slope = one.table
    w = np.exp(value - value.max(axis=1, keepdims=True)) * np.gradient(x, axis=1)
    w /= w.sum(axis=1, keepdims=True)
    m = (w * x).sum(axis=1)
    lam = 1 / np.maximum((w * (x - m[:, None])**2).sum(axis=1), 1e-6)
    return Pieces(halves, lonely, field.X[field.seen], field.mean, field.precision**-0.5, one.scale, lam, lam * m,
                  (x, value, slope))


def at_table(table, x):
    "Log likelihoods (N,) of cells at x (N,): cubic between nodes, straight beyond."
    X, value, slope = map(jnp.asarray, table)
    rows = jnp.arange(len(X))
    i = jnp.clip((X <= x[:, None]).sum(axis=1) - 1, 0, X.shape[1] - 2)
    left, h = X[rows, i], X[rows, i + 1] - X[rows, i]
    u = jnp.clip((x - left) / h, 0.0, 1.0)
    v, w, a, b = value[rows, i], value[rows, i + 1], slope[rows, i] * h, slope[rows, i + 1] * h
    inside = (v * (1 + 2 * u) + a * u) * (1 - u)**2 + (w * (3 - 2 * u) - b * (1 - u)) * u**2
    beyond = x - jnp.clip(x, X[:, 0], X[:, -1])
    return inside + beyond * jnp.where(beyond < 0, slope[:, 0], slope[:, -1])


def sizes_of(h, parts, scale):
    "tau, log shares of the parts and of the cells' own, and the log prior density at (log tau, log odds of sticks)."
    tau, left, shares = jnp.exp(h[0]), 0.0, []
    prior = h[0] - 0.5 * (tau / scale)**2
    for j in range(parts):
        a, b = SHAPE, SHAPE * (parts - j)
        one, rest = -jnp.logaddexp(0, -h[1 + j]), -jnp.logaddexp(0, h[1 + j])
        prior += a * one + b * rest
        shares.append(left + one)
        left += rest
    return tau, jnp.array([*shares, left]), prior


def placed(pieces: Pieces, h, w):
    "Cells at w, and log ∫ p(η | h) Π sites, up to a constant."
    tau, shares, prior = sizes_of(h, len(pieces.halves), pieces.scale)
    root = tau * jnp.exp(0.5 * shares)
    own = root[-1]**2 + sum(root[k]**2 * each for k, each in enumerate(pieces.lonely))
    if len(pieces.halves) == 1 and not pieces.lonely[0].any():
        size, axes = np.linalg.eigh(pieces.halves[0] @ pieces.halves[0].T)
        R = [axes * jnp.sqrt(root[0]**2 * np.maximum(size, 0) + root[1]**2)]
    else:
        R = [half * root[k] for k, half in enumerate(pieces.halves)] + [jnp.diag(jnp.sqrt(own))]
    R = jnp.concatenate([*R, pieces.X * pieces.sd], axis=1)
    center = pieces.X @ pieces.mean
    M = jnp.eye(R.shape[1]) + (R.T * pieces.precision) @ R
    L = jnp.linalg.cholesky(M)
    b = jax.scipy.linalg.solve_triangular(L, R.T @ (pieces.linear - pieces.precision * center), lower=True)
    eta = center + R @ jax.scipy.linalg.solve_triangular(L.T, b + w, lower=False)
    return eta, 0.5 * b @ b - jnp.log(jnp.diagonal(L)).sum() + prior


def log_density(pieces: Pieces, position):
    "Of sizes h and coordinates w: what the sites say of a cell is taken out and its likelihood put in."
    eta, evidence = placed(pieces, position["h"], position["w"])
    left = at_table(pieces.table, eta) + 0.5 * pieces.precision * eta**2 - pieces.linear * eta
    return evidence + left.sum() - 0.5 * position["w"] @ position["w"]


def nuts(pieces: Pieces, seed: int, draws=DRAWS, warmup=WARMUP, chains=CHAINS):
    "Draws (chains, draws, …) of cells and sizes."
    d, N = len(pieces.halves), len(pieces.precision)
    r = N + pieces.X.shape[1] + (0 if d == 1 and not pieces.lonely[0].any() else sum(h.shape[1] for h in pieces.halves))
    target = lambda q: log_density(pieces, q)

    def chain(key):
        first, second, third = jax.random.split(key, 3)
        start = {"h": jnp.r_[-1.0, jnp.zeros(d)] + 0.3 * jax.random.normal(third, (1 + d,)), "w": jnp.zeros(r)}
        (state, parameters), _ = blackjax.window_adaptation(blackjax.nuts, target, target_acceptance_rate=0.8).run(
            first, start, num_steps=warmup)
        step = blackjax.nuts(target, **parameters).step

        def move(state, key):
            state, info = step(key, state)
            eta, _ = placed(pieces, state.position["h"], state.position["w"])
            return state, (eta, state.position["h"], info.num_integration_steps, info.is_divergent)
        return jax.lax.scan(move, state, jax.random.split(second, draws))[1]
    return [np.asarray(each) for each in jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), chains))]


def moments_of(one, theirs) -> dict:
    "What is kept of NUTS: moments of cells and of the sizes, and how much its draws are worth."
    eta, h, steps, divergent = theirs
    d, flat = len(one.field.parts), eta.reshape(-1, eta.shape[-1])
    sizes = np.array(jax.vmap(lambda h: jnp.r_[h[0], jnp.exp(sizes_of(h, d, 1.0)[1])])(h.reshape(-1, 1 + d)))
    ess = az.ess(az.convert_to_dataset({"eta": eta, "h": h}))
    return {"mean": flat.mean(axis=0).tolist(), "sd": flat.std(axis=0).tolist(),
            "sizes_mean": sizes.mean(axis=0).tolist(), "sizes_sd": sizes.std(axis=0).tolist(),
            "effective": float(ess["eta"].min()),
            "effective_median": float(ess["eta"].median()), "effective_sizes": float(ess["h"].min()),
            "steps": float(steps.mean()), "divergent": int(divergent.sum())}


def compared(one, ours, nuts: dict) -> dict:
    "How far draws (D, G) of the fit lie from NUTS'."
    cells, sd = ours.cells[:, one.field.seen], np.array(nuts["sd"])
    shift, ratio = (cells.mean(axis=0) - np.array(nuts["mean"])) / sd, cells.std(axis=0) / sd - 1
    sizes = np.array([[math.log(tau), *shares] for tau, shares in (sizes_at(z, one.scale) for z in ours.z)])
    rms = lambda x: float(np.sqrt(np.mean(np.square(x))))
    return {"cells": len(sd), "means": rms(shift), "sds": rms(ratio), "worst_mean": float(np.abs(shift).max()),
            "worst_sd": float(np.abs(ratio).max()), "mean_sd_ratio": float(ratio.mean()),
            "sizes_mean": sizes.mean(axis=0).tolist(), "sizes_sd": sizes.std(axis=0).tolist()}


# Designs
def labels(n):
    return [str(i) for i in range(1, n + 1)]


def walk_rates(rng, n, mean, step=0.08, own=0.05):
    return mean * np.exp(np.cumsum(step * rng.standard_normal(n)) + own * rng.standard_normal(n))


def series(mean, scale, n=40, missing=0.0, seed=0, **along):
    "Counts along weeks under Laplace noise."
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(n)[:n - round(missing * n)])
    season = 0.3 * np.sin(np.arange(n) * 2 * np.pi / along["season"]) if "season" in along else 0.0
    z = np.rint(rng.poisson(walk_rates(rng, n, mean) * np.exp(season)) + rng.laplace(0, scale, n))
    names = [labels(n)[i] for i in kept]
    release = dp.declare(dp.Counts(names), z[kept], noise=dp.Laplace(scale=scale), source="made up")
    return release, dp.Along("week", **along)


def small_map(seed=0):
    "A lattice of 6 × 5, a second part of four areas and an island; three areas were not released."
    rng, names = np.random.default_rng(seed), [f"a{i}" for i in range(35)]
    grid = np.arange(30).reshape(6, 5)
    pairs = [*zip(grid[1:].ravel(), grid[:-1].ravel()), *zip(grid[:, 1:].ravel(), grid[:, :-1].ravel()), (30, 31),
             (31, 32), (32, 33)]
    rate = 8 * np.exp(0.4 * np.sin(np.arange(35) / 5) + 0.1 * rng.standard_normal(35))
    z, kept = np.rint(rng.poisson(rate) + rng.laplace(0, 2, 35)), [i for i in range(35) if i not in (3, 17, 31)]
    release = dp.declare(dp.Counts([names[i] for i in kept]), z[kept], noise=dp.Laplace(scale=2), source="made up")
    return release, dp.OnMap("area", edges=[(names[i], names[j]) for i, j in pairs], areas=names)


def shares(seed=0, n=30):
    "Shares of 80 records a week, by noisy counts."
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(1 - np.cumsum(0.15 * rng.standard_normal(n))))
    z = np.rint(rng.binomial(80, p) + rng.laplace(0, 3, n))
    model = dp.Grouped(dp.Bernoulli("ill"), "week", labels(n), sizes="public")
    return dp.declare(model, z, n=[80] * n, noise=dp.Laplace(scale=3), source="made up"), dp.Along("week")


def hidden(seed=0, n=40):
    "Exact counts, hidden below 10."
    rng = np.random.default_rng(seed)
    y = rng.poisson(walk_rates(rng, n, 11, 0.12))
    values = [None if v < 10 else int(v) for v in y]
    return dp.declare(dp.Counts(labels(n)), values, printed=dp.Suppressed(10), source="made up"), dp.Along("week")


def clipped(seed=0, n=30):
    "Sums of 60 waiting times, clipped at 20 days."
    rng, mean = np.random.default_rng(seed), 6.0
    level = mean * np.exp(np.cumsum(0.1 * rng.standard_normal(n)))
    z = [np.minimum(rng.exponential(m, 60), 20).sum() + rng.laplace(0, 40) for m in level]
    model = dp.Grouped(dp.Exponential((0, 20), "days"), "week", labels(n), sizes="public")
    return dp.declare(model, np.array(z), n=[60] * n, noise=dp.Laplace(scale=40), source="made up"), dp.Along("week")


def area_and_week(seed=0):
    "Shares of 60 records in 6 areas around a ring and 7 weeks."
    rng, areas, weeks = np.random.default_rng(seed), list("abcdef"), labels(7)
    x = -1 + 0.4 * np.sin(np.arange(6))[:, None] + 0.15 * np.cumsum(rng.standard_normal(7))
    x = x + 0.1 * rng.standard_normal((6, 7))
    z = np.rint(rng.binomial(60, 1 / (1 + np.exp(-x))) + rng.laplace(0, 3, x.shape)).ravel()
    model = dp.Grouped(dp.Bernoulli("ill"), ("area", "week"), {"area": areas, "week": weeks}, sizes="public")
    release = dp.declare(model, z, n=[60] * 42, noise=dp.Laplace(scale=3), source="made up")
    return release, [dp.OnMap("area", edges=list(zip(areas, areas[1:] + areas[:1]))), dp.Along("week")]


def two_modes(seed=0, n=12):
    "Counts that a key moved up or down by 40: all are near 60 or all near 140, with about the same evidence."
    rng = np.random.default_rng(seed)
    y = 100 + rng.integers(-6, 7, n)
    key = dp.CellKey([{0: 1}] * 41 + [{-40: .605, 40: .395}])
    return dp.declare(dp.Counts(labels(n)), y, printed=key, source="made up"), dp.Along("week")


def one_noisy(seed=0, n=12):
    "One cell of huge noise among exact ones."
    rng = np.random.default_rng(seed)
    y = rng.poisson(walk_rates(rng, n, 200, 0.05, 0.02)).astype(float)
    y[5] = 2000.0
    noise = [dp.Laplace(scale=400.0 if i == 5 else 1.0) for i in range(n)]
    return dp.declare(dp.Counts(labels(n)), y, noise=noise, source="made up"), dp.Along("week")


DESIGNS = {"series of 3": lambda: series(3, 2),
           "series of 60, a fifth missing": lambda: series(60, 14, missing=0.2, seed=1),
           "series of 1000": lambda: series(1000, 30, seed=2), "order 2": lambda: series(60, 5, order=2, seed=3),
           "season": lambda: series(100, 10, n=36, season=6, seed=4), "map": small_map, "shares": shares,
           "hidden": hidden, "clipped": clipped, "area and week": area_and_week, "two modes": two_modes,
           "one of huge noise": one_noisy}


def measure(name: str, nuts_moments: dict | None) -> dict:
    "A design, by both."
    release, pool = DESIGNS[name]()
    one = ready([release], None, pool)
    if nuts_moments is None:
        began = time.process_time()
        nuts_moments = moments_of(one, nuts(pieces_of(one), 1))
        nuts_moments["seconds"] = time.process_time() - began
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, doubt, moves, _ = _drawn(np.random.default_rng(1), one, OURS)
    return {"ours": compared(one, ours, nuts_moments) | {"moved_by_check": doubt, "moves": moves,
                                                         "seconds": time.process_time() - began}, "nuts": nuts_moments}


def main(names):
    again = "ours" in names
    for name in [name for name in names if name != "ours"] or DESIGNS:
        kept = json.loads(FILE.read_text()) if FILE.exists() else {}
        if name in kept and not again or name not in kept and again:
            continue
        found = measure(name, kept[name]["nuts"] if again else None)
        kept = json.loads(FILE.read_text()) if FILE.exists() else {}
        FILE.write_text(json.dumps(kept | {name: found}, indent=1) + "\n")
        print(name, json.dumps(found), flush=True)


if __name__ == "__main__":
    os.nice(10)
    main(sys.argv[1:])
