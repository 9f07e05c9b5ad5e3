"""Coverage and width of means and medians of columns whose distribution nobody is told: results/distribution_free.json.

python benchmarks/distribution_free.py [releases of a design, 400] [designs to add in this run, all]

A design that is in the file is not run again. Seeds are the design's place in the list and the number of the release.
"""

import json
import os
import sys
import time

import numpy as np

from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.priors import Beta, Independent
from dp_bayes_nb.models.histogram import Histogram, PolyaTree
from dp_bayes_nb.posterior.histograms import quantile_interval, sample_histogram

PATH = "results/distribution_free.json"
SEED, DRAWS, LEVEL = 20, 500, 0.95
EVEN = tuple(np.linspace(0, 20, 41))
LOGARITHMIC = (0.0, *np.geomspace(0.1, 20, 36))


def poisson(rng, n):
    return rng.poisson(4.0, n).astype(float)


COLUMNS = {  # public edges, and what nobody is told: n records
    "lognormal": (LOGARITHMIC, lambda rng, n: np.exp(rng.normal(0.0, 1.0, n))),
    "bimodal": (EVEN, lambda rng, n: np.where(rng.random(n) < 0.4, rng.normal(4, 1, n), rng.normal(12, 2, n))),
    "zero-inflated": (EVEN, lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, rng.gamma(2.0, 2.0, n))),
    "counts": (EVEN, poisson),
    "atoms": (EVEN, lambda rng, n: rng.choice([2.0, 5.0, 5.5, 12.0], n, p=[0.3, 0.25, 0.25, 0.2])),
}
DESIGNS = [{"column": column, "n": n, "epsilon": epsilon} for n, epsilon in ((500, 1.0), (5000, 1.0), (500, 0.5),
                                                                           (5000, 0.5)) for column in COLUMNS]
# Wang, Cheng and Awan (arXiv 2210.06140), their file results/simulation_mean_N=10000_mu=1_B=2000_nSIM=2000.txt and its
# like: 90% intervals of the mean of N(1/2, 1) clamped to [0, 1], 2,000 simulations, mu-GDP
CLAMPED = [{"column": "clamped normal", "n": 10_000, "mu": mu} for mu in (1.0, 0.5, 0.3, 0.1)]


def sums(model, x):
    "The exact sums of records."
    e = np.asarray(model.edges)
    j = np.clip(np.searchsorted(e, x, side="right") - 1, 0, model.bins - 1)
    place = (np.clip(x, e[0], e[-1]).sum() - len(x) * e[0]) / (e[-1] - e[0])
    return np.append(np.bincount(j, minlength=model.bins), place * model.weight)


def draws(rng, model, s, n, kind, scale, alpha=0.5, told=1.0, size=DRAWS):
    "A release and its posterior draws; `told`: by what the scale is multiplied that the posterior is told."
    noise = rng.laplace(0, scale, len(s)) if kind == "laplace" else rng.normal(0, scale, len(s))
    seen = Measurement(s + noise, Noise(kind, np.full(len(s), told * scale), np.zeros(len(s))), n)
    prior = Independent({"probabilities": PolyaTree(np.full(model.bins - 1, alpha)), "position": Beta(1.0, 1.0)})
    found = sample_histogram(rng, model, seen, prior, (1, size))
    p, e = found["probabilities"][0], np.asarray(model.edges)
    return p, p @ e[:-1] + found["position"][0] * (p @ np.diff(e))


def noisy_mean(rng, x, low, high, epsilon, level):
    "NOISYVAR of Du, Foot, Moniot, Bray and Groce (2020), re-implemented: noisy mean and variance, then simulation."
    n, width, share = len(x), high - low, 0.8
    y, scale = np.clip(x, low, high), width / (share * epsilon * n)
    mean = y.mean() + rng.laplace(0, scale)
    variance = max(y.var(ddof=1) + rng.laplace(0, width**2 / (n * (1 - share) * epsilon)), 0.0)
    drawn = rng.normal(0, np.sqrt(variance / n), 4000) + rng.laplace(0, scale, 4000)
    half = np.diff(np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]))[0] / 2
    return mean - half, mean + half


def truth(sample, low, high):
    "Mean of the clipped column and its median, from two million records."  # errors below a thousandth of a width
    x = np.clip(sample(np.random.default_rng(SEED), 2_000_000), low, high)
    return float(x.mean()), float(np.median(x))


def one_design(design, place, releases):
    "Coverage and mean widths of one design."
    edges, sample = COLUMNS[design["column"]]
    model, n = Histogram(edges), design["n"]
    true_mean, true_median = truth(sample, edges[0], edges[-1])
    scale, tails, rows = model.sensitivity() / design["epsilon"], [0.025, 0.975], []
    for k in range(releases):
        rng = np.random.default_rng([SEED, place, k])
        x = sample(rng, n)
        p, mean = draws(rng, model, sums(model, x), n, "laplace", scale)
        _, low, high = quantile_interval(p, np.asarray(edges), 0.5, LEVEL, "bin")
        _, a, b = quantile_interval(p, np.asarray(edges), 0.5, LEVEL, "even")
        found = [np.quantile(mean, tails), (low, high), (a, b),
                 noisy_mean(rng, x, edges[0], edges[-1], design["epsilon"], LEVEL)]
        rows.append([[u <= t <= v, v - u] for (u, v), t in zip(found, (true_mean, true_median, true_median, true_mean))])
    average = np.mean(np.array(rows, float), axis=0)
    names = ("mean", "median, a bin at least", "median, evenly spread", "mean by NOISYVAR")
    return {name: {"coverage": round(float(c), 4), "width": round(float(w), 5)} for name, (c, w) in zip(names, average)}


def clamped(design, place, releases):
    "The same of the published setting: a 90% interval of the mean under mu-GDP."
    model, n = Histogram(np.linspace(0, 1, 17), weight=8.0), design["n"]
    scale, rows = model.sensitivity(norm="l2") / design["mu"], []
    for k in range(releases):
        rng = np.random.default_rng([SEED, 100 + place, k])
        _, mean = draws(rng, model, sums(model, rng.normal(0.5, 1.0, n)), n, "gaussian", scale)
        u, v = np.quantile(mean, [0.05, 0.95])
        rows.append([u <= 0.5 <= v, v - u])
    c, w = np.mean(np.array(rows, float), axis=0)
    return {"mean": {"coverage": round(float(c), 4), "width": round(float(w), 6)}}


def main(releases=400, most=99):
    done = json.load(open(PATH)) if os.path.exists(PATH) else {
        "seed": SEED, "draws": DRAWS, "level": LEVEL, "weight": 2.0, "designs": []}
    known = {(d["column"], d["n"], d.get("epsilon"), d.get("mu")) for d in done["designs"]}
    jobs = [(d, i, one_design) for i, d in enumerate(DESIGNS)] + [(d, i, clamped) for i, d in enumerate(CLAMPED)]
    jobs = jobs[:10] + jobs[20:] + jobs[10:20]
    for design, place, run in jobs:
        if (design["column"], design["n"], design.get("epsilon"), design.get("mu")) in known or most < 1:
            continue
        start, most = time.time(), most - 1
        done["designs"].append({**design, "releases": releases, **run(design, place, releases)})
        with open(PATH, "w") as file:
            json.dump(done, file, indent=1)
            file.write("\n")
        print(done["designs"][-1], f"{time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
