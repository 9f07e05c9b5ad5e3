"""Tables of 6 × 8 counts, all cells, both margins and the total rounded at random to multiples of 3: coverage, seconds.

    python benchmarks/crossing_margins.py [tables] [results/crossing_margins.json] [seconds]

Rates are Gamma(1, .1), the prior that is fitted; 4,000 draws a table, as a default fit makes them. Counts are whole, so
that an interval from the 2.5% to the 97.5% quantile contains a count in 95% or more of the tables; `rank` is the share
of truths whose rank among the draws, ties broken at random, is in the middle 95%, and should be .95. The naive reading
takes rounded cells as exact and ignores totals.
"""

import json
import sys
import time

import numpy as np

from dp_bayes_nb.base.draws import ess, rhat
from dp_bayes_nb.base.measurement import ValueTable
from dp_bayes_nb.counts.lattice import lattice, sample_lattice
from dp_bayes_nb.counts.tree import Leaves, Rows

ROWS, COLUMNS, BASE, SHAPE, RATE = 6, 8, 3, 1.0, 0.1
K = ROWS * COLUMNS
H = np.vstack([np.eye(K, dtype=int), np.kron(np.eye(ROWS, dtype=int), np.ones(COLUMNS, int)),
               np.tile(np.eye(COLUMNS, dtype=int), ROWS), np.ones((1, K), int)])


def rounded(rng, y):
    "Whole numbers rounded at random, without bias, to multiples of the base."
    rest = y % BASE
    return y - rest + BASE * (rng.random(len(y)) < rest / BASE)


def readings(z):
    "What rounded numbers say of the true ones, as rows."
    table = np.full(len(z), None)
    for i, value in enumerate(z):
        y = np.arange(value - BASE + 1, value + BASE)
        table[i] = ValueTable(int(y[0]), np.log(1 - np.abs(y - value) / BASE))
    p, reach = len(z), BASE - 1.0
    return Rows(np.arange(p), z - reach, z + reach, np.zeros(p), np.ones(p), np.full(p, "laplace"), table)


def one(seed):
    "One table: for each cell whether intervals contain it, its rank and their width; seconds; diagnostics."
    rng = np.random.default_rng((4219, seed))
    truth = rng.poisson(rng.gamma(SHAPE, 1 / RATE, K))
    z = rounded(rng, H @ truth)
    start, processor = time.perf_counter(), time.process_time()
    L = lattice(H, readings(z), Leaves(np.full(K, SHAPE), -np.log1p(RATE)))
    draws, _ = sample_lattice(rng, L, 4, 1000)
    seconds = time.perf_counter() - start, time.process_time() - processor
    s = draws.reshape(-1, K)
    low, high = np.quantile(s, [0.025, 0.975], axis=0)
    rank = ((s < truth).sum(axis=0) + rng.random(K) * ((s == truth).sum(axis=0) + 1)) / (len(s) + 1)
    return {"inside": np.mean((low <= truth) & (truth <= high)), "rank": np.mean(np.abs(rank - 0.5) < 0.475),
            "width": np.mean(high - low), "naive": np.mean(z[:K] == truth), "wall": seconds[0], "processor": seconds[1],
            "ess": float(ess(draws).min()), "rhat": float(np.nanmax(rhat(draws)))}


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


if __name__ == "__main__":
    tables, where, seconds = (*sys.argv[1:], *("1000", "results/crossing_margins.json", "1e9")[len(sys.argv) - 1:])
    begin, found = time.perf_counter(), []
    while len(found) < int(tables) and time.perf_counter() - begin < float(seconds):
        found.append(one(len(found)))
        with open(where, "w") as file:
            json.dump(summary(found), file, indent=1)
            file.write("\n")
    print(json.dumps(summary(found), indent=1))
