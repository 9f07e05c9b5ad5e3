"""Partial pooling against each table alone, all as one and an oracle: errors, coverage by size, new groups, time.

`python benchmarks/pooling.py [seconds]` goes on where the last run stopped (designs are kept in .cache/pooling.jsonl)
and writes results/pooling.json: 200 designs of 20 groups of 5 to 5,000 records (sizes log-uniform) and 20 designs of
3,000 for every condition. `python benchmarks/pooling.py time` adds how long 3,000 groups with 1,000 joint draws take.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import t as student

from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.fields.pooled_groups import Pooled, group_curves, hyper_of
from dp_bayes_nb.fields.pooling import pool_curves

ROOT = Path(__file__).resolve().parent.parent
KEPT, RESULT = ROOT / ".cache" / "pooling.jsonl", ROOT / "results" / "pooling.json"
DRAWS, DESIGNS, PRIVATE = 400, {20: 200, 3000: 20}, np.array([[0.0, 1.0], [1.0, -1.0]])
CONDITIONS = [{"epsilon": e, "tau": t, "kind": "plain"} for e in (0.1, 1.0) for t in (0.0, 0.3, 1.0)]
CONDITIONS += [{"epsilon": e, "tau": 0.3, "kind": k} for e in (0.1, 1.0) for k in ("outliers", "correlated", "private")]
MUTANTS = [{"epsilon": 1.0, "tau": 1.0, "kind": "plain", "mutant": "spread"},
           {"epsilon": 1.0, "tau": 0.3, "kind": "outliers", "mutant": "normal"},
           {"epsilon": 1.0, "tau": 0.3, "kind": "correlated", "mutant": "no slope"},
           {"epsilon": 1.0, "tau": 0.3, "kind": "plain", "mutant": "new group"}]
DRAWN = [{"epsilon": e, "tau": None, "kind": "drawn"} for e in (0.1, 1.0)]  # everything from the prior
EVERY = CONDITIONS + MUTANTS[:3] + DRAWN + MUTANTS[3:]  # a design's seed has its condition's place: append only
LARGE = [0, 1, 2, 4, 6, 7, 8, 10, 15]  # conditions with 3,000 groups
PRIORS = {"spread": Pooled(scale=0.003), "normal": Pooled("normal"), "no slope": Pooled(slope=False)}
CLASSES = [5, 16, 50, 158, 500, 1581, 5001]
GRID = np.linspace(-14.0, 14.0, 2801)


def hyperparameters(rng, condition):
    "Location, slope, spread, and how effects are drawn."
    if condition["kind"] == "drawn":
        m, slope, tau = rng.logistic(), 0.15 * rng.standard_t(3), abs(rng.standard_normal())
        return m, slope, tau, lambda size: rng.standard_t(3, size)
    slope = 0.3 if condition["kind"] == "correlated" else 0.0
    return -0.5, slope, condition["tau"], rng.standard_normal


def design(rng, condition, groups):
    "Sizes, the part of the true log odds that sizes explain, true log odds, measurements, those of a new group."
    n = np.round(np.exp(rng.uniform(np.log(5), np.log(5000), groups)))
    m, slope, tau, effects = hyperparameters(rng, condition)
    line = m + slope * (np.log(n) - np.log(n).mean())
    x = line + tau * effects(groups)
    if condition["kind"] == "outliers":
        x += 3.0 * (rng.random(groups) < 0.05)
    s, b = rng.binomial(n.astype(int), expit(x)), 1 / condition["epsilon"]
    e = lambda: rng.geometric(1 - np.exp(-1 / b), groups) - rng.geometric(1 - np.exp(-1 / b), groups)
    if condition["kind"] == "private":
        z, noise = np.stack([s + e(), n - s + e()], axis=1), Noise("laplace", np.full(2, b), np.ones(2))
        seen = [Measurement(row.astype(float), noise, None, PRIVATE) for row in z]
    else:
        noise = Noise("laplace", np.array([b]), np.ones(1))
        seen = [Measurement(np.array([float(a)]), noise, float(k)) for a, k in zip(s + e(), n)]
    new = m + tau * effects(1)[0]
    if condition["kind"] == "outliers":
        new += 3.0 * (rng.random() < 0.05)
    return n, line, x, seen, new


def estimates(curves, condition, line):
    """Posterior means of shares without pooling: under a uniform prior of each share (what `fit` has), under log odds
    that are flat from -9 to 9, one share for all, and under the law that the groups were drawn from."""
    theta, v = expit(GRID), np.stack([np.interp(GRID, a, b) for a, b in zip(curves.x, curves.value)])
    mean = lambda w: (w * theta).sum(axis=1) / w.sum(axis=1)
    found = {"separate": mean(v * theta * (1 - theta)), "flat": mean(v * (abs(GRID) <= 9))}
    p = np.log(np.maximum(v, 1e-26)).sum(axis=0) + np.log(theta) + np.log1p(-theta)
    p = np.exp(p - p.max())
    found["complete"] = np.full(len(v), (p @ theta) / p.sum())
    if condition["tau"]:
        law = lambda shift: np.exp(-0.5 * ((GRID - line[:, None] - shift) / condition["tau"]) ** 2)
        found["oracle"] = mean(v * (0.95 * law(0) + 0.05 * law(3) if condition["kind"] == "outliers" else law(0)))
    return found


def pooled(condition, n, seen, words, draws):
    "Tables and joint draws."
    mutant, private = condition.get("mutant"), condition["kind"] == "private"
    curves = group_curves(Bernoulli(), seen, [(0, 50_000)] * len(n) if private else None)
    hyper = hyper_of(Bernoulli(), PRIORS.get(mutant, Pooled()), None if private else n, len(n))[0]
    out = pool_curves(words, curves, hyper, draws)
    return curves, out._replace(new=out.theta[:, 0]) if mutant == "new group" else out


def inside(draws, truth):
    "Is the truth in the interval that has 95% of what lies between draws?"
    low, high = np.quantile(draws, [0.025, 0.975], axis=0, method="weibull")
    return (low <= truth) & (truth <= high)


def run(k, turn, groups, draws=DRAWS):
    "One design: squared errors, groups of each size and how many are covered, is a new group covered."
    condition, seed = EVERY[k], [20, turn, k] + ([] if groups == 20 else [groups])
    rng = np.random.default_rng(seed)
    n, line, x, seen, new = design(rng, condition, groups)
    curves, out = pooled(condition, n, seen, tuple(int(v) for v in rng.integers(2**32, size=8)), draws)
    shares, truth = expit(out.x), expit(x)
    covered, at = inside(shares, truth), np.digitize(n, CLASSES) - 1
    found = estimates(curves, condition, line) | {"pooled": shares.mean(axis=0)}
    return {"k": k, "turn": turn, "groups": groups, "hits": np.bincount(at[covered], minlength=6).tolist(),
            "of": np.bincount(at, minlength=6).tolist(), "new": bool(inside(out.new, new)),
            "efficiency": round(out.efficiency, 3),
            **{name: float(np.mean((each - truth) ** 2)) for name, each in found.items()}}


def test(hits, of):
    """Coverage and its p-value against .95: groups of one design go together, so designs are what is counted. The
    variance is at least that of independent groups of which .95 are covered: the one found is too small where more are.
    """
    hits, of = np.asarray(hits, float), np.asarray(of, float)
    away, D = hits - 0.95 * of, len(hits)
    se = max(np.sqrt(D / max(D - 1, 1) * np.sum((away - away.mean()) ** 2)), np.sqrt(0.95 * 0.05 * of.sum()))
    p = 2 * student.sf(abs(away.sum()) / se, max(D - 1, 1))
    return {"covered": int(hits.sum()), "of": int(of.sum()), "coverage": round(float(hits.sum() / of.sum()), 4), "p": p}


def summary(k, groups, runs):
    "Root mean square errors over designs, ratios, and coverage with its p-value by size."
    names = [name for name in ("pooled", "separate", "flat", "complete", "oracle") if name in runs[0]]
    rms = {name: float(np.sqrt(np.mean([r[name] for r in runs]))) for name in names}
    hits, of = (np.array([r[name] for r in runs]) for name in ("hits", "of"))
    by_size = {f"{a}-{b - 1}": test(hits[:, j], of[:, j]) for j, (a, b) in enumerate(zip(CLASSES, CLASSES[1:]))}
    each = np.sqrt([r["pooled"] / r["separate"] for r in runs])
    eff = [r["efficiency"] for r in runs]
    return {**EVERY[k], "groups": groups, "designs": len(runs), "error": rms,
            "to_separate": rms["pooled"] / rms["separate"], "to_complete": rms["pooled"] / rms["complete"],
            "oracle_to_separate": rms["oracle"] / rms["separate"] if "oracle" in rms else None,
            "worst_design": float(each.max()), "coverage": test(hits.sum(axis=1), of.sum(axis=1)), "by_size": by_size,
            "new_groups": test([r["new"] for r in runs], np.ones(len(runs))),
            "efficiency": [float(np.median(eff)), float(min(eff))]}


def holm(rows, sign=0):
    "The smallest p-value of all sizes of all rows times their number; sign -1: of too few covered only."
    p = [s["p"] if sign == 0 or np.sign(s["coverage"] - 0.95) == sign else 1.0
         for row in rows for s in row["by_size"].values()]
    return min(1.0, len(p) * min(p))


def write(more=None):
    "The summary of all designs that are kept."
    runs: dict = {}
    for line in KEPT.read_text().splitlines():
        runs.setdefault((one := json.loads(line))["groups"], {}).setdefault(one["k"], []).append(one)
    old = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    rows = {g: [summary(k, g, runs[g][k]) for k in sorted(runs[g])] for g in sorted(runs)}
    found = {"draws": DRAWS, "time": old.get("time")} | (more or {})
    for g, name in ((20, "twenty"), (3000, "three_thousand")):
        right = [row for row in rows.get(g, []) if "mutant" not in row]
        if right:
            found[name] = right
            found[f"holm_{name}"] = {"drawn_from_the_prior": holm([r for r in right if r["kind"] == "drawn"]),
                                     "too_few_covered": holm(right, -1), "too_many_covered": holm(right, 1)}
    found["mutants"] = [row | {"holm": holm([row])} for row in rows.get(20, []) if "mutant" in row]
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    return found


def go_on(limit):
    "Designs that are missing, condition after condition in turn, until the time is up."
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.touch()
    done = {(r["k"], r["turn"], r["groups"]) for r in map(json.loads, KEPT.read_text().splitlines())}
    wanted = [(k, turn, 20) for turn in range(DESIGNS[20]) for k in range(len(EVERY))]
    wanted += [(k, turn, 3000) for turn in range(DESIGNS[3000]) for k in LARGE]
    start = time.time()
    with KEPT.open("a") as file:
        for one in wanted:
            if time.time() - start > limit:
                return
            if one not in done:
                file.write(json.dumps(run(*one)) + "\n")
                file.flush()


def timed():
    "Wall and processor seconds of 3,000 groups with 1,000 joint draws, from measurements to draws: first, then again."
    for _ in range(3):
        for k in (1, 4):
            n, _, _, seen, _ = design(np.random.default_rng([2, k]), EVERY[k], 3000)
            wall, cpu = time.time(), time.process_time()
            pooled(EVERY[k], n, seen, (1, 2, 3, 4), 1000)
            print(json.dumps([EVERY[k]["epsilon"], round(time.time() - wall, 2), round(time.process_time() - cpu, 2)]))


def measure():
    "The same in a process of its own with two processors and nothing compiled before."
    two = sorted(os.sched_getaffinity(0))[:2]
    with tempfile.TemporaryDirectory() as empty:
        env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": empty, "OMP_NUM_THREADS": "1"}
        env.pop("XLA_FLAGS", None)
        load = os.getloadavg()[0]
        out = subprocess.run([sys.executable, __file__, "timed"], env=env, capture_output=True, text=True, check=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, two)).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    return {"processors": 2, "load_before": round(load, 1), "draws": 1000} | {
        f"epsilon {e}": {kind: dict(zip(("wall", "processor"), row[1:])) for kind, row in zip(
            ("first", "second", "third"), [r for r in rows if r[0] == e])} for e in (0.1, 1.0)}


def main(what="240"):
    if what == "timed":
        return timed()
    if what != "time":
        go_on(float(what))
    found = write({"time": measure()} if what == "time" else None)
    for row in [*found.get("twenty", []), *found.get("three_thousand", []), *found["mutants"]]:
        sizes = " ".join(f"{s['coverage']:.3f}" for s in row["by_size"].values())
        print(row["epsilon"], row["tau"], row["kind"], row.get("mutant", ""), row["groups"], row["designs"],
              f"sep {row['to_separate']:.3f} oracle {row['oracle_to_separate'] or 0:.3f} one {row['to_complete']:.3f}",
              f"coverage {row['coverage']['coverage']:.3f} [{sizes}] new {row['new_groups']['coverage']:.3f}",
              f"p {row['new_groups']['p']:.2g}", "holm" in row and row["holm"], row["efficiency"])
    print("Holm", found.get("holm_twenty"), found.get("holm_three_thousand"))
    print(found.get("time"))


if __name__ == "__main__":
    main(*sys.argv[1:])
