"""Groups of clipped exponentials whose sizes are private: coverage by size, each group by itself and pooled.

`python benchmarks/groups.py [designs]` writes results/groups.json: designs of 32 groups of 20 to 3,000 records, the
rates drawn from the prior (each by itself) or from a log-normal (pooled), and the mutant that takes the noise for a
fifth of what it is.
"""

import json
import sys
from pathlib import Path

import numpy as np

import dp_bayes_nb as dp
from dp_bayes_nb.posterior.fit import posterior_draws
from pooling import inside, test

GROUPS, UPPER, PRIOR, CLASSES = 32, 20.0, dp.Gamma(4.0, 40.0), (20, 105, 550, 3001)
RESULT = Path(__file__).resolve().parent.parent / "results" / "groups.json"
MODEL = dp.Grouped(dp.Exponential((0, UPPER), "days"), "region", GROUPS)


def design(turn, kind, epsilon):
    "Sizes, rates, and a release."
    rng = np.random.default_rng([19, turn, kind == "pooled", int(10 * epsilon)])
    n = np.round(np.exp(rng.uniform(np.log(20), np.log(3000), GROUPS))).astype(int)
    rate = np.exp(-2.3 + 0.4 * rng.standard_normal(GROUPS)) if kind == "pooled" else rng.gamma(4.0, 1 / 40.0, GROUPS)
    seed = int(rng.integers(2**31))
    return n, rate, dp.simulate_release(seed, MODEL, {"rate": rate.tolist()}, n.tolist(), epsilon)[1]


def too_quiet(release):
    "The same numbers as if their noise had a fifth of its scale: the mutant."
    noise = [dp.Laplace(scale=float(b) / 5, discrete=False) for b in release.noise.scale]
    return dp.declare(MODEL, np.reshape(release.values, (GROUPS, 2)), n_range=release.n_range, noise=noise,
                      matrix=release.matrix, source="a mutant")


def draws_of(kind, release):
    "Draws of the rates, (draws, G)."
    if kind == "pooled":
        theta = posterior_draws(release, pool="partial", draws=500, chains=2).theta
    else:
        release = too_quiet(release) if kind == "mutant" else release
        theta = posterior_draws(release, PRIOR, draws=500, warmup=500, chains=2).theta
    return theta["rate"].reshape(-1, GROUPS)


def coverage(kind, epsilon, designs):
    "Coverage by size and its p-values."
    hits, of = [], []
    for turn in range(designs):
        n, rate, release = design(turn, "groups" if kind == "mutant" else kind, epsilon)
        at, good = np.digitize(n, CLASSES) - 1, inside(draws_of(kind, release), rate)
        hits.append(np.bincount(at[good], minlength=3))
        of.append(np.bincount(at, minlength=3))
    hits, of = np.array(hits), np.array(of)
    sizes = {f"{a}-{b - 1}": test(hits[:, j], of[:, j]) for j, (a, b) in enumerate(zip(CLASSES, CLASSES[1:]))}
    return {"kind": kind, "epsilon": epsilon, "designs": designs, "all": test(hits.sum(1), of.sum(1)), "by_size": sizes}


def main(designs=60):
    rows = [coverage(kind, epsilon, designs) for kind in ("groups", "pooled") for epsilon in (0.1, 1.0)]
    p = [size["p"] for row in rows for size in row["by_size"].values()]
    mutant = coverage("mutant", 0.1, designs // 2)
    found = {"model": f"exponential, clipped to [0, {UPPER:g}], sizes private", "conditions": rows,
             "holm": min(1.0, len(p) * min(p)), "mutant": mutant,
             "holm_of_mutant": min(1.0, 3 * min(size["p"] for size in mutant["by_size"].values()))}
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    for row in [*rows, mutant]:
        print(row["kind"], row["epsilon"], row["all"], {k: v["coverage"] for k, v in row["by_size"].items()})
    print(found["holm"], found["holm_of_mutant"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
