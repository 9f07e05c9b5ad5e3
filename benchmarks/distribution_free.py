"""Coverage and width of means and medians of columns whose distribution nobody is told: results/distribution_free.json.

    python benchmarks/distribution_free.py                                             every design, 400 releases each
    python benchmarks/distribution_free.py --releases 1600 --columns counts atoms      more releases of some columns

Designs take turns, PART releases at a time, and what is in the file is not run again: the command goes on where it was
stopped. Seeds are the design's place in the list and the number of the release.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.priors import Beta, Independent
from dp_bayes_nb.models.histogram import AtEnds, Histogram, PolyaTree
from dp_bayes_nb.posterior.histograms import quantile_interval, sample_histogram

PATH = "results/distribution_free.json"
SEED, DRAWS, LEVEL, PART = 20, 500, 0.95, 100
DEFAULT = PolyaTree().alpha
EVEN = tuple(np.linspace(0, 20, 41))
INSIDE = tuple(np.linspace(-0.25, 19.75, 41))
LOGARITHMIC = (0.0, *np.geomspace(0.1, 20, 36))
RATINGS = tuple(np.linspace(0, 6, 25))
NAMES = ("mean", "median, a bin at least", "median, evenly spread", "mean by NOISYVAR")


def poisson(rng, n):
    return rng.poisson(4.0, n).astype(float)


def atoms(rng, n):
    return rng.choice([2.0, 5.0, 5.5, 12.0], n, p=[0.3, 0.25, 0.25, 0.2])


def ratings(rng, n):
    return rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], n, p=[0.1, 0.05, 0.15, 0.3, 0.4])


def half_hours(rng, n):
    return np.clip(np.round(2 * np.exp(rng.normal(1.0, 0.8, n))) / 2, 0, 20)


COLUMNS = {  # public edges, and what nobody is told: n records
    "lognormal": (LOGARITHMIC, lambda rng, n: np.exp(rng.normal(0.0, 1.0, n))),
    "bimodal": (EVEN, lambda rng, n: np.where(rng.random(n) < 0.4, rng.normal(4, 1, n), rng.normal(12, 2, n))),
    "zero-inflated": (EVEN, lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, rng.gamma(2.0, 2.0, n))),
    "counts": (EVEN, poisson),
    "atoms": (EVEN, atoms),
}
DESIGNS = [{"column": column, "n": n, "epsilon": epsilon} for n, epsilon in ((500, 1.0), (5000, 1.0), (500, 0.5),
                                                                           (5000, 0.5)) for column in COLUMNS]
PRIORS = [{**DESIGNS[i], "a": a} for i in range(10, 15) for a in (0.5, 1.0)]  # the same releases, another prior
COLUMNS |= {"counts, inside": (INSIDE, poisson), "atoms, inside": (INSIDE, atoms)}
BETWEEN = [{"column": column, "n": n, "epsilon": 1.0} for n in (500, 5000)  # values inside their bins, not at an edge
           for column in ("counts, inside", "atoms, inside")]
COLUMNS |= {"ratings": (RATINGS, ratings), "half hours": (EVEN, half_hours)}
LATER = [{"column": column, "n": n, "epsilon": epsilon} for n, epsilon in ((500, 1.0), (5000, 1.0), (500, 0.5),
                                                                         (5000, 0.5))
         for column in ("ratings", "half hours")]  # columns that no choice of a prior was made on
UNIFORM = {i: {**DESIGNS[i], "position": "uniform"} for i in (3, 13)}  # counts, under another prior of the position
# Wang, Cheng and Awan (arXiv 2210.06140), their file results/simulation_mean_N=10000_mu=1_B=2000_nSIM=2000.txt and its
# like: 90% intervals of the mean of N(1/2, 1) clamped to [0, 1], 2,000 simulations, mu-GDP
CLAMPED = [{"column": "clamped normal", "n": 10_000, "mu": mu} for mu in (1.0, 0.5, 0.3, 0.1)]


def sums(model, x):
    "The exact sums of records."
    e = np.asarray(model.edges)
    j = np.where(x <= e[0], 0, np.searchsorted(e, x, side="right"))
    place = (np.clip(x, e[0], e[-1]).sum() - len(x) * e[0]) / (e[-1] - e[0])
    return np.append(np.bincount(j, minlength=model.bins), place * model.weight)


def draws(rng, model, s, n, kind, scale, alpha=DEFAULT, told=1.0, size=DRAWS, position=AtEnds()):
    "A release and its posterior draws; `told`: by what the scale is multiplied that the posterior is told."
    noise = rng.laplace(0, scale, len(s)) if kind == "laplace" else rng.normal(0, scale, len(s))
    seen = Measurement(s + noise, Noise(kind, np.full(len(s), told * scale), np.zeros(len(s))), n)
    prior = Independent({"probabilities": PolyaTree(np.full(model.bins - 1, alpha)), "position": position})
    found = sample_histogram(rng, model, seen, prior, (1, size))
    p, e = found["probabilities"][0], model.limits
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
    "Mean of the clipped column and its median, from two million records."
    x = np.clip(sample(np.random.default_rng(SEED), 2_000_000), low, high)
    return float(x.mean()), float(np.median(x))


def averages(rows, names):
    "Coverage and mean widths."
    return {name: {"coverage": float(c), "width": float(w)} for name, (c, w) in zip(names, np.mean(rows, axis=0))}


def one_design(design, place, releases):
    "Coverage and mean widths of one design, over some releases."
    edges, sample = COLUMNS[design["column"]]
    model, n = Histogram(edges), design["n"]
    alpha, position = design.get("a", DEFAULT), Beta(1.0, 1.0) if design.get("position") == "uniform" else AtEnds()
    true_mean, true_median = truth(sample, edges[0], edges[-1])
    scale, tails, rows = model.sensitivity() / design["epsilon"], [0.025, 0.975], []
    for k in releases:
        rng = np.random.default_rng([SEED, place, k])
        x = sample(rng, n)
        p, mean = draws(rng, model, sums(model, x), n, "laplace", scale, alpha, position=position)
        _, low, high = quantile_interval(p, model.limits, 0.5, LEVEL, "bin")
        _, a, b = quantile_interval(p, model.limits, 0.5, LEVEL, "even")
        found = [np.quantile(mean, tails), (low, high), (a, b),
                 noisy_mean(rng, x, edges[0], edges[-1], design["epsilon"], LEVEL)]
        true = (true_mean, true_median, true_median, true_mean)
        rows.append([[u <= t <= v, v - u] for (u, v), t in zip(found, true)])
    return averages(np.array(rows, float), NAMES)


def clamped(design, place, releases):
    "The same of the published setting: a 90% interval of the mean under mu-GDP."
    model, n = Histogram(np.linspace(0, 1, 17), weight=8.0), design["n"]
    scale, rows = model.sensitivity(norm="l2") / design["mu"], []
    for k in releases:
        rng = np.random.default_rng([SEED, 100 + place, k])
        _, mean = draws(rng, model, sums(model, rng.normal(0.5, 1.0, n)), n, "gaussian", scale)
        u, v = np.quantile(mean, [0.05, 0.95])
        rows.append([u <= 0.5 <= v, v - u])
    return averages(np.array(rows, float)[:, None], ["mean"])


def joined(old, new, releases):
    "The averages of a design with those of some more releases."
    if old is None:
        return {**new, "releases": releases}
    share, total = releases / (releases + old["releases"]), releases + old["releases"]
    mix = lambda a, b: {key: round(a[key] + share * (b[key] - a[key]), 7) for key in b}
    return {**{name: mix(old[name], value) for name, value in new.items()}, "releases": total}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--releases", type=int, default=400, help="of each design")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--columns", nargs="+", choices=[*COLUMNS, "clamped normal"], help="all by default")
    args = parser.parse_args()
    done = json.load(open(PATH)) if os.path.exists(PATH) else {
        "seed": SEED, "draws": DRAWS, "level": LEVEL, "weight": 2.0, "designs": []}
    name = lambda d: tuple(d.get(key) for key in KEY)
    known = {name(d): d for d in done["designs"]}
    jobs = [(d, i, clamped) for i, d in enumerate(CLAMPED)] + [(d, i, one_design) for i, d in enumerate(DESIGNS)]
    jobs += [(d, 10 + i // 2, one_design) for i, d in enumerate(PRIORS)]
    jobs += [(d, 30 + i, one_design) for i, d in enumerate(BETWEEN)]
    jobs += [(d, i, one_design) for i, d in UNIFORM.items()]
    jobs += [(d, 40 + i, one_design) for i, d in enumerate(LATER)]
    jobs = [job for job in jobs if args.columns is None or job[0]["column"] in args.columns]
    with ProcessPoolExecutor(args.processes) as pool:
        for start in range(0, args.releases, PART):
            left = [job for job in jobs if known.get(name(job[0]), {"releases": 0})["releases"] <= start]
            found = [pool.submit(run, design, place, range(start, start + PART)) for design, place, run in left]
            for (design, *_), new in zip(left, found):
                known[name(design)] = {**design, **joined(known.get(name(design)), new.result(), PART)}
                done["designs"] = [*known.values()]
                with open(PATH, "w") as file:
                    json.dump(done, file, indent=1)
                    file.write("\n")
                print(known[name(design)], flush=True)


KEY = ("column", "n", "epsilon", "mu", "a", "position")
if __name__ == "__main__":
    main()
