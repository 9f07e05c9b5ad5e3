"""What it costs to misread a coarsened table, and what totals add under a cell key; results/readings.json.

`python benchmarks/readings.py`: three studies, each with its Monte Carlo error. (1) One rate of 60 Poisson(4) cells, of
which those below 5 are hidden, or all are rounded at random to base 3: coverage and width of 95% intervals, read right,
and as people read them. (2) Twenty cells and their total under a cell key, by the exact posterior of the tree.
(3) One count with canonical noise: by enumeration, without Monte Carlo error. `python benchmarks/readings.py again`
repeats (2) at mean 20 with 4,000 further tables of another seed, and keeps them next to the first 1,000.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln
from scipy.stats import beta, binom

from dp_bayes_nb import CanonicalNoise, CellKey, RandomRounded, Suppressed
from dp_bayes_nb.counts.tree import Leaves, count_tree, node_marginals, pass_up
from dp_bayes_nb.noise.printing import print_rows, unprinted

ROOT = Path(__file__).resolve().parent.parent
KEY = CellKey([{0: 1}, {-1: .5, 1: .5}, {-2: .1, -1: .3, 0: .2, 1: .2, 2: .2},
               {-2: .1, -1: .2, 0: .4, 1: .2, 2: .1}])  # unbiased, deviations up to 2


def reading(statement, value, y):
    "log P(value is printed | y)."
    found = unprinted((statement,), np.array([value], float), np.ones(1))
    if found.tables:
        return found.tables[0].at(y)
    return np.where((y >= found.low[0]) & (y <= found.high[0]), 0.0, -np.inf)


def interval(x, log_density):
    "95% of a density on a grid."
    w = np.exp(log_density - log_density.max())
    cdf = np.cumsum(w) / w.sum()
    return x[np.searchsorted(cdf, [0.025, 0.975])]


def harm(repetitions=600, cells=60, rate=4.0, seed=17):
    "Coverage and mean width of 95% intervals of one rate, flat prior."
    rng, x, y = np.random.default_rng(seed), np.linspace(0.02, 12, 6000), np.arange(61.0)
    log_p = y * np.log(x)[:, None] - x[:, None] - gammaln(y + 1)  # (x, y)
    curves = {}

    def log_likelihood(statement, v):
        key = statement, "blank" if np.isnan(v) else v
        if key not in curves:
            curves[key] = np.logaddexp.reduce(log_p + reading(statement, v, y), axis=1)
        return curves[key]

    exact = lambda v: v * np.log(x) - x
    ways = {"hidden, as 0": [], "hidden, as 2": [], "hidden, read": [], "base 3, as exact": [], "base 3, read": []}
    hide, base = Suppressed(5), RandomRounded(3)
    for _ in range(repetitions):
        true = rng.poisson(rate, cells).astype(float)
        for name, statement, fill in (("hidden, as 0", hide, 0.0), ("hidden, as 2", hide, 2.0),
                                      ("hidden, read", hide, None), ("base 3, as exact", base, 0.0),
                                      ("base 3, read", base, None)):
            if name in ("hidden, as 0", "base 3, as exact"):
                printed, _ = print_rows((statement,) * cells, true, rng)
            value = sum(log_likelihood(statement, v) if fill is None else exact(
                fill if np.isnan(v) else v) for v in printed)
            ways[name].append(interval(x, value))
    out = {}
    for name, ends in ways.items():
        ends = np.array(ends)
        covered = np.mean((ends[:, 0] <= rate) & (rate <= ends[:, 1]))
        out[name] = {"coverage": round(float(covered), 3), "width": round(float(np.diff(ends, axis=1).mean()), 3),
                     "error": round(float(np.sqrt(covered * (1 - covered) / repetitions)), 3)}
    return out


def totals(mean, repetitions=1000, cells=20, seed=18):
    "The total of cells under a cell key, with its own row and from the cells alone: rates Gamma(4, 4/mean)."
    rng = np.random.default_rng((seed, int(mean)))
    leaves = Leaves(np.full(cells, 4.0), -np.log1p(4 / mean))
    sets = [*([j] for j in range(cells)), list(range(cells))]
    sets = [np.array(each) for each in sets]
    found = {"with the total": [], "cells alone": []}
    for _ in range(repetitions):
        s = rng.poisson(rng.gamma(4, mean / 4, cells)).astype(float)
        z, _ = print_rows((KEY,) * (cells + 1), np.append(s, s.sum()), rng)
        seen = unprinted((KEY,) * (cells + 1), z, np.ones(cells + 1))
        tables = np.full(cells + 1, None)
        for i, table in enumerate(seen.tables or ()):
            tables[i] = table
        for name in found:
            low, high, table = seen.low.copy(), seen.high.copy(), tables.copy()
            if name == "cells alone":
                low[-1], high[-1], table[-1] = 0.0, np.inf, None
            tree = count_tree(sets, cells, low, high, 0.0, 1.0, "laplace", table)
            first, p = node_marginals(pass_up(tree, leaves)[0])[cells]
            t, cdf = first + np.arange(len(p)), np.cumsum(p)
            low, high = (t[np.searchsorted(cdf, q)] for q in (0.025, 0.975))
            below = cdf[int(s.sum() - first)] - rng.random() * p[int(s.sum() - first)]
            sd = np.sqrt(p @ (t - p @ t) ** 2)
            found[name].append((low <= s.sum() <= high, high - low, 0.025 <= below <= 0.975, sd))
    out = {}
    for name, rows in found.items():
        covered, width, uniform, sd = np.array(rows, float).mean(axis=0)
        out[name] = {"coverage": round(uniform, 3), "whole": round(covered, 3), "width": round(width, 3),
                     "sd": round(sd, 3), "error": round(float(np.sqrt(.95 * .05 / repetitions)), 3)}
    return out


def canonical(n=100, theta=0.2, epsilon=1.0, points=20_001):
    "Coverage and width of the 95% interval under Beta(1, 1), over all counts and all noise."
    assert CanonicalNoise(epsilon).law.scale == 1 / epsilon
    b, s, t = np.exp(-epsilon), np.arange(n + 1), np.linspace(0, 1, points)
    noise = lambda e: (1 - b) / (1 + b) * b ** np.abs(e)
    cdf = beta.cdf(t[:, None], 1 + s, 1 + n - s)
    covered = width = 0.0
    for z in range(-40, n + 41):
        w = noise(z - s)
        low, high = np.interp([0.025, 0.975], cdf @ (w / w.sum()), t)
        p = binom.pmf(s, n, theta) @ noise(z - s)
        covered, width = covered + p * (low <= theta <= high), width + p * (high - low)
    return {"coverage": round(float(covered), 4), "width": round(float(width), 4)}


def again(repetitions=4000, seed=19):
    "The study with its totals at mean 20 repeated: the first tables and further ones stand apart."
    path = ROOT / "results" / "readings.json"
    found = json.loads(path.read_text())
    found["totals again"] = {"seed": seed, "repetitions": repetitions, "20": totals(20, repetitions, seed=seed)}
    return found


if __name__ == "__main__":
    found = again() if sys.argv[1:] == ["again"] else {"harm": harm(), "canonical": canonical(),
                                                       "totals": {str(mean): totals(mean) for mean in (1, 4, 20)}}
    (ROOT / "results" / "readings.json").write_text(json.dumps(found, indent=1) + "\n")
    json.dump(found, sys.stdout, indent=1)
