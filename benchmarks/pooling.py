"""Partial pooling against each table alone and all as one: errors, coverage by size, new groups, mutants, time.

`python benchmarks/pooling.py [seconds]` writes results/pooling.json: designs of 20 groups of 5 to 5,000 records
(sizes log-uniform) until the time is up, condition after condition in turn, then one of 3,000 groups for each epsilon.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binomtest

from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.posterior.pooled_groups import Pooled, group_curves, hyper_of
from dp_bayes_nb.posterior.pooling import pool_curves

GROUPS, DRAWS, PRIVATE = 20, 400, np.array([[0.0, 1.0], [1.0, -1.0]])
CONDITIONS = [{"epsilon": e, "tau": t, "kind": "plain"} for e in (0.1, 1.0) for t in (0.0, 0.3, 1.0)]
CONDITIONS += [{"epsilon": e, "tau": 0.3, "kind": k} for e in (0.1, 1.0) for k in ("outliers", "correlated", "private")]
MUTANTS = [{"epsilon": 1.0, "tau": 1.0, "kind": "plain", "mutant": "spread"},
           {"epsilon": 1.0, "tau": 0.3, "kind": "outliers", "mutant": "normal"},
           {"epsilon": 1.0, "tau": 0.3, "kind": "correlated", "mutant": "no slope"}]
PRIORS = {"spread": Pooled(scale=0.003), "normal": Pooled("normal"), "no slope": Pooled(slope=False)}


def design(rng, condition, groups):
    "Sizes, true log odds, measurements, and the true log odds of a new group of average size."
    n = np.round(np.exp(rng.uniform(np.log(5), np.log(5000), groups)))
    x = -0.5 + condition["tau"] * rng.standard_normal(groups)
    if condition["kind"] == "outliers":
        x += 3.0 * (rng.random(groups) < 0.05)
    if condition["kind"] == "correlated":
        x += 0.3 * (np.log(n) - np.log(n).mean())
    s, b = rng.binomial(n.astype(int), expit(x)), 1 / condition["epsilon"]
    e = lambda: rng.geometric(1 - np.exp(-1 / b), groups) - rng.geometric(1 - np.exp(-1 / b), groups)
    if condition["kind"] == "private":
        z, noise = np.stack([s + e(), n - s + e()], axis=1), Noise("laplace", np.full(2, b), np.ones(2))
        seen = [Measurement(row.astype(float), noise, None, PRIVATE) for row in z]
    else:
        noise = Noise("laplace", np.array([b]), np.ones(1))
        seen = [Measurement(np.array([float(a)]), noise, float(k)) for a, k in zip(s + e(), n)]
    return n, x, seen, -0.5 + condition["tau"] * rng.standard_normal()


def alone(curves):
    "Posterior means of shares, each group by itself under a uniform prior, and of one share for all."
    x, L = curves.x[:, 1:-1], curves.value[:, 1:-1]
    c = (x[:, 1:] + x[:, :-1]) / 2
    w = np.diff(x) * (L[:, 1:] + L[:, :-1]) * expit(c) * expit(-c)
    grid = logit(np.linspace(0.002, 0.998, 4000))
    total = sum(np.interp(grid, a, np.log(np.maximum(v, 1e-26))) for a, v in zip(curves.x, curves.value))
    p = np.exp(total - total.max())
    return (w * expit(c)).sum(axis=1) / w.sum(axis=1), (p @ expit(grid)) / p.sum()


def run(seed, condition, groups=GROUPS, draws=DRAWS):
    "One design: errors, which groups are covered, is a new group covered."
    rng = np.random.default_rng(seed)
    n, x, seen, new = design(rng, condition, groups)
    start = time.time()
    curves = group_curves(Bernoulli(), seen, [(0, 50_000)] * groups if condition["kind"] == "private" else None)
    prior = PRIORS.get(condition.get("mutant"), Pooled())
    hyper = hyper_of(Bernoulli(), prior, None if condition["kind"] == "private" else n, groups)[0]
    out = pool_curves(tuple(int(v) for v in rng.integers(2**32, size=8)), curves, hyper, draws)
    seconds, truth, shares = time.time() - start, expit(x), expit(out.x)
    low, high = np.quantile(shares, [0.025, 0.975], axis=0)
    a, b = np.quantile(out.new, [0.025, 0.975])
    error = lambda estimate: float(np.sqrt(np.mean((estimate - truth) ** 2)))
    separate, one = alone(curves)
    return {"pooled": error(shares.mean(axis=0)), "separate": error(separate), "complete": error(one), "n": n,
            "covered": (low <= truth) & (truth <= high), "new": bool(a <= new <= b), "efficiency": out.efficiency,
            "seconds": seconds}


def summary(condition, runs):
    "Root mean square errors over designs, ratios, and coverage with its p-value by size."
    rms = {k: float(np.sqrt(np.mean([r[k] ** 2 for r in runs]))) for k in ("pooled", "separate", "complete")}
    n, covered = np.concatenate([r["n"] for r in runs]), np.concatenate([r["covered"] for r in runs])
    sizes = {}
    for low, high in ((5, 50), (50, 500), (500, 5001)):
        here = covered[(n >= low) & (n < high)]
        test = binomtest(int(here.sum()), max(len(here), 1), 0.95)
        sizes[f"{low}-{high - 1}"] = [int(here.sum()), len(here), float(test.pvalue)]
    news = [r["new"] for r in runs]
    return {**condition, "designs": len(runs), **rms, "to_separate": rms["pooled"] / rms["separate"],
            "to_complete": rms["pooled"] / rms["complete"], "coverage": float(covered.mean()), "by_size": sizes,
            "new_groups": [int(sum(news)), len(news)], "efficiency": float(np.median([r["efficiency"] for r in runs]))}


def holm(rows):
    "The smallest p-value of all sizes of all rows, times their number."
    p = [size[2] for row in rows for size in row["by_size"].values()]
    return min(1.0, len(p) * min(p))


def main(limit=240.0):
    every = CONDITIONS + MUTANTS
    runs, start, turn = [[] for _ in every], time.time(), 0
    while time.time() - start < limit and turn < 200:
        for k, condition in enumerate(every):
            if time.time() - start < limit or not runs[k]:
                runs[k].append(run([20, turn, k], condition))
        turn += 1
    rows = [summary(*pair) for pair in zip(every, runs)]
    mutants = {row["mutant"]: row for row in rows if "mutant" in row}
    rows = [row for row in rows if "mutant" not in row]
    large = []
    for condition in (CONDITIONS[1], CONDITIONS[4]):
        run([1], condition, 3000, 50)  # compiled
        large.append(summary(condition, [one := run([2], condition, 3000, 1000)]) | {"seconds": one["seconds"]})
    found = {"groups": GROUPS, "draws": DRAWS, "conditions": rows, "holm": holm(rows), "mutants": mutants,
             "holm_of_mutants": {name: holm([row]) for name, row in mutants.items()}, "three_thousand": large}
    path = Path(__file__).resolve().parent.parent / "results" / "pooling.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    for row in [*rows, *mutants.values(), *large]:
        print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()})
    print("Holm", found["holm"], found["holm_of_mutants"])


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
