"""Tables of 6 × 8 counts, all cells, both margins and the total rounded at random to multiples of 3: coverage, seconds.

    python benchmarks/crossing_margins.py [tables] [results/crossing_margins.json] [seconds]

Rates are Gamma(1, .1), the prior that is fitted, by `fit` with its default of 4,000 draws. A run goes on where the file
ends. Counts are whole, so
that an interval from the 2.5% to the 97.5% quantile contains a count in 95% or more of the tables; `rank` is the share
of truths whose rank among the draws, ties broken at random, is in the middle 95%, and should be .95. The naive reading
takes rounded cells as exact and ignores totals.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from dp_bayes_nb import Counts, Gamma, RandomRounded, declare, fit
from dp_bayes_nb.base.draws import ess, rhat

ROWS, COLUMNS, BASE, SHAPE, RATE = 6, 8, 3, 1.0, 0.1
K = ROWS * COLUMNS
H = np.vstack([np.eye(K, dtype=int), np.kron(np.eye(ROWS, dtype=int), np.ones(COLUMNS, int)),
               np.tile(np.eye(COLUMNS, dtype=int), ROWS), np.ones((1, K), int)])


def rounded(rng, y):
    "Whole numbers rounded at random, without bias, to multiples of the base."
    rest = y % BASE
    return y - rest + BASE * (rng.random(len(y)) < rest / BASE)


def one(seed):
    "One table: for each cell whether intervals contain it, its rank and their width; seconds; diagnostics."
    rng = np.random.default_rng((4219, seed))
    truth = rng.poisson(rng.gamma(SHAPE, 1 / RATE, K))
    z = rounded(rng, H @ truth)
    start, processor = time.perf_counter(), time.process_time()
    cells = Counts([f"cell {j}" for j in range(K)])
    release = declare(cells, z, matrix=H, printed=RandomRounded(BASE), source="made up")
    draws = fit(release, Gamma(shape=SHAPE, rate=RATE), seed=seed, progress=False).confidential["s"].values
    seconds = time.perf_counter() - start, time.process_time() - processor
    s = draws.reshape(-1, K)
    low, high = np.quantile(s, [0.025, 0.975], axis=0)
    rank = ((s < truth).sum(axis=0) + rng.random(K) * ((s == truth).sum(axis=0) + 1)) / (len(s) + 1)
    row = {"inside": np.mean((low <= truth) & (truth <= high)), "rank": np.mean(np.abs(rank - 0.5) < 0.475),
            "width": np.mean(high - low), "naive": np.mean(z[:K] == truth), "wall": seconds[0], "processor": seconds[1],
            "ess": ess(draws).min(), "rhat": np.nanmax(rhat(draws))}
    return {name: round(float(value), 4) for name, value in row.items()}


def summary(found):
    "The study in numbers; Monte Carlo errors of coverage are between tables."
    column = {name: np.array([each[name] for each in found]) for name in found[0]}
    error = lambda name: round(float(column[name].std(ddof=1) / len(found) ** 0.5), 4) if len(found) > 1 else None
    quantiles = lambda name: np.quantile(column[name], [0.05, 0.5, 0.95]).round(3).tolist()
    return {"tables": len(found), "cells": len(found) * K,
            **{name: [round(float(column[name].mean()), 4), error(name)]
               for name in ("inside", "rank", "width", "naive")},
            **{f"{name}, 5%, 50%, 95%": quantiles(name) for name in ("wall", "processor", "ess", "rhat")},
            "rhat above 1.01": float(np.mean(column["rhat"] > 1.01)),
            "ess below 400": float(np.mean(column["ess"] < 400))}


def text(found):
    "The file: the study in numbers, and the tables, a line each."
    rows = ",\n".join(f"  {json.dumps(list(each.values()))}" for each in found)
    said = json.dumps(summary(found) | {"columns": list(found[0])}, indent=1)
    return f'{said[:-2]},\n "rows": [\n{rows}\n ]\n}}\n'


def before(path):
    "Tables of a file that a run goes on from."
    there = json.loads(path.read_text()) if path.exists() else {}
    return [dict(zip(there["columns"], row)) for row in there["rows"]] if "rows" in there else []


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables, where, seconds = (*sys.argv[1:], *("1000", "results/crossing_margins.json", "1e9")[len(sys.argv) - 1:])
    begin, found = time.perf_counter(), before(Path(where))
    while len(found) < int(tables) and time.perf_counter() - begin < float(seconds):
        found.append(one(len(found)))
        if len(found) > 1:
            Path(where).write_text(text(found))
    print(json.dumps(summary(found), indent=1))
