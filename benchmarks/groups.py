"""Groups of clipped exponentials whose sizes are private: coverage by size, each group by itself and pooled.

`python benchmarks/groups.py [designs]` writes results/groups.json: designs of 32 groups of 20 to 3,000 records, the
rates drawn from the prior (each by itself) or from a log-normal (pooled), and the mutant that takes the noise for a
fifth of what it is.

`python benchmarks/groups.py coordinates [designs]` writes results/pooled_chains.json: 20 groups of 20 to 2,000 records
with three categories, or a mean and a variance, pooled by a chain: error beside separate fits, coverage, and a mutant
that allows groups hardly any spread. `python benchmarks/groups.py chains` adds seconds for 20, 200 and 2,000 groups.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import dp_bayes_nb as dp
from dp_bayes_nb.fields import pooled_chains
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
    return n, rate, dp.simulate_release(MODEL, {"rate": rate.tolist()}, n.tolist(), epsilon, seed=seed)


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


SEVERAL, CHAINS = 20, Path(__file__).resolve().parent.parent / "results" / "pooled_chains.json"
CATEGORIES, HEIGHTS = dp.Categorical(["a", "b", "c"], "vote"), dp.Normal((0, 100), column="cm")
INNER = {"categories": (CATEGORIES, dp.Dirichlet(1.0)),
         "normal": (HEIGHTS, dp.NormalInverseGamma(50.0, 0.01, 2.0, 200.0))}


def several(turn, kind, epsilon, groups=SEVERAL):
    "Sizes, true parameters, and a release of groups with two coordinates each."
    rng = np.random.default_rng([26, turn, kind == "normal", int(10 * epsilon), groups])
    n = np.round(np.exp(rng.uniform(np.log(20), np.log(2000), groups))).astype(int)
    e = rng.standard_normal((groups, 2))
    if kind == "categories":
        p = np.exp((np.array([0.4, -0.7]) + 0.4 * e) @ pooled_chains.centred(3).T)
        theta = {"probabilities": p / p.sum(axis=1, keepdims=True)}
    else:
        theta = {"mean": 45 + 6 * e[:, 0], "variance": 144 * np.exp(0.4 * e[:, 1])}
    model = dp.Grouped(INNER[kind][0], "region", groups, sizes="public")
    seed, plain = int(rng.integers(2**31)), {name: value.tolist() for name, value in theta.items()}
    return n, theta, dp.simulate_release(model, plain, n.tolist(), epsilon, seed=seed)


def as_numbers(theta):
    "Numbers to compare, (…, groups, 2 or 3): shares; or mean / 10 and log variance."
    if "probabilities" in theta:
        return np.asarray(theta["probabilities"])
    return np.stack([np.asarray(theta["mean"]) / 10, np.log(theta["variance"])], axis=-1)


MUTANT = dp.Pooled(scale=0.003)  # hardly any spread


def one_of_several(turn, kind, epsilon, alone=True, prior=None):
    "Squared errors pooled and alone, hits by class of size, and hits of a new group."
    n, theta, release = several(turn, kind, epsilon)
    drawn = posterior_draws(release, prior, pool="partial", draws=500, warmup=300, chains=2, progress=False).theta
    flat = lambda theta: {name: v.reshape(-1, *v.shape[2:]) for name, v in theta.items()}
    truth, ours = as_numbers(theta), as_numbers(flat(drawn))
    good, at = inside(ours, truth).sum(axis=-1), np.digitize(n, (20, 93, 431, 2001)) - 1
    error = lambda x: float(np.mean((x.mean(axis=0) - truth) ** 2))
    found = {"pooled": error(ours), "hits": np.bincount(at, weights=good, minlength=3).tolist(),
             "of": (truth.shape[-1] * np.bincount(at, minlength=3)).tolist()}
    if alone:
        single = posterior_draws(release, INNER[kind][1], draws=500, warmup=500, chains=2, progress=False).theta
        found["alone"] = error(as_numbers(flat(single)))
    return found


def condition(kind, epsilon, designs, mutant=False):
    "Errors and coverage of one condition."
    prior = MUTANT if mutant else None
    runs = [one_of_several(turn, kind, epsilon, not mutant, prior) for turn in range(designs)]
    hits, of = (np.array([run[name] for run in runs]) for name in ("hits", "of"))
    found = {"kind": kind, "epsilon": epsilon, "designs": designs, "all": test(hits.sum(axis=1), of.sum(axis=1)),
             "by_size": {name: test(hits[:, j], of[:, j]) for j, name in enumerate(("20-92", "93-430", "431-2000"))}}
    if not mutant:
        errors = {name: float(np.sqrt(np.mean([run[name] for run in runs]))) for name in ("pooled", "alone")}
        found |= errors | {"to_separate": errors["pooled"] / errors["alone"],
                           "worst": float(np.sqrt(max(run["pooled"] / run["alone"] for run in runs))),
                           "of_designs": [round(float(np.sqrt(run["pooled"] / run["alone"])), 3) for run in runs]}
    print(json.dumps(found), flush=True)
    return found


def keep(**found):
    "Add to the results."
    old = json.loads(CHAINS.read_text()) if CHAINS.exists() else {}
    CHAINS.write_text(json.dumps(old | found, indent=1) + "\n")


def coordinates(designs=40):
    rows = [condition(kind, epsilon, designs) for kind in INNER for epsilon in (1.0, 0.1)]
    p = [size["p"] for row in rows for size in row["by_size"].values()]
    keep(groups=SEVERAL, conditions=rows, holm=min(1.0, len(p) * min(p)))
    mutant = condition("categories", 1.0, designs // 2, mutant=True)
    keep(mutant=mutant, holm_of_mutant=min(1.0, 3 * min(size["p"] for size in mutant["by_size"].values())))


def chains(draws=100):
    "Seconds of one step of four chains for all groups, compiled before; of the second run."
    found = []
    for groups in (20, 200, 2000):
        _, _, release = several(0, "categories", 1.0, groups)
        for _ in range(2):
            start = time.time()
            posterior_draws(release, pool="partial", draws=draws, warmup=0, chains=4, progress=False)
        found.append({"groups": groups, "ms_per_step": round(1000 * (time.time() - start) / draws, 2)})
        print(found[-1], flush=True)
    keep(time=found)


if __name__ == "__main__":
    named = {"coordinates": coordinates, "chains": chains}
    call, rest = (named[sys.argv[1]], sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in named else (main, sys.argv[1:])
    call(*map(int, rest))
