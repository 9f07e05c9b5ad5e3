"""A user's first fit, into results/first_fit.json: each row in a fresh process with an empty cache, processor seconds.

`first`: the first `fit` of a declaration with all that it imports, ArviZ too; imports of JAX, of the package and of the
model are made before. `again`: another release of the same declaration. `other`: one with other names, levels, bounds
and numbers of its prior. Programs are those that XLA compiled. Draws, warm-up and chains are the defaults. The import
of ArviZ alone is timed too: it took 2 s where the targets were set, and says how fast another machine is.
`ess a second`: effective draws of the parameter that has fewest, by a processor second of `again`; `SAMPLERS` are there
for it alone.

    python benchmarks/first_fit.py                     every row
    python benchmarks/first_fit.py share "clipped rate" --against c3bbc7b~1
                                                       some rows, and an old revision in turn with this one
    python benchmarks/first_fit.py --quiet normal      print, and keep nothing
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results" / "first_fit.json"
EDGES = [*range(21)]
SHARES = np.linspace(1, 2, 22) / np.linspace(1, 2, 22).sum()
LINE = {"coefficients": [0.5, 0.2, -0.1, 0.3], "noise_variance": 0.3}
LOGIT = {"coefficients": [0.03, 0.05, 0.001, -4.0]}
EFFECTS = {"effects": np.random.default_rng(38).normal(0.0, 0.3, 105)}
TRACT = "matrix=[[1, 1, 1], [1, 1, 0], [1, 0, 0]], noise=db.Gaussian(sd=[1.64, 5.51, 2.34])"
# A row: what `fit` gets beside the release, and twice what is simulated (model, parameters, records, epsilon) with its
# prior: of `first` and `again`, and of `other`. In place of records and epsilon a declaration has the values published.
ROWS = {
    "share": ("", ('db.Bernoulli("smokes", success="yes")', {"probability": 0.3}, 2000, 1.0, "None"),
              ('db.Bernoulli("owns a car", success="1")', {"probability": 0.6}, 3000, 1.0, "db.Beta(2.0, 5.0)")),
    "seven categories": (
        "", ('db.Categorical([*"abcdefg"], column="grade")', {"probabilities": [1 / 7] * 7}, 2000, 1.0, "None"),
        ('db.Categorical([*"tuvwxyz"], column="kind")', {"probabilities": [*[0.1] * 6, 0.4]}, 3000, 1.0,
         "db.Dirichlet([1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0])")),
    "census tract": (
        "", (f'db.declare(db.Counts(["alone", "one", "more"]), {{0}}, {TRACT}, source="a bureau")',
             [[1773.90, 1652.04, 1385.23], [1528.1, 1402.2, 1203.8]], "None"),
        (f'db.declare(db.Counts(["owner", "tenant", "vacant"]), {{0}}, {TRACT}, source="an office")',
         [[812.4, 733.0, 419.9]], "None")),
    "clipped rate": ("", ('db.Exponential((0, 90), "days")', {"rate": 0.1}, 1000, 0.5, "db.Gamma(2.0, 10.0)"),
                     ('db.Exponential((0, 60), "minutes")', {"rate": 0.2}, 2000, 0.5, "db.Gamma(3.0, 20.0)")),
    "histogram": ("", (f'db.Histogram({EDGES}, "age")', {"probabilities": SHARES, "position": 0.4}, 3000, 1.0, "None"),
                  (f'db.Histogram({[2 * e for e in EDGES]}, "pay")', {"probabilities": SHARES[::-1], "position": 0.4},
                   4000, 1.0, "None")),
    "normal": ("", ('db.Normal((40, 160), column="height")', {"mean": 100.0, "variance": 225.0}, 1000, 1.0,
                    "db.NormalInverseGamma(100.0, 0.1, 2.0, 200.0)"),
               ('db.Normal((30, 170), column="weight")', {"mean": 90.0, "variance": 300.0}, 2000, 1.0,
                "db.NormalInverseGamma(90.0, 0.2, 3.0, 300.0)")),
    "regression": (
        "", ('db.LinearRegression({name: (-1.0, 1.0) for name in "abc"}, {"y": (-3.0, 3.0)})', LINE, 2000, 1.0,
             "db.NormalInverseGamma([0.0] * 4, [1.0] * 4, 3.0, 2.0)"),
        ('db.LinearRegression({"u": (0.0, 2.0), "v": (-2.0, 1.0), "w": (-1.0, 3.0)}, {"z": (-4.0, 5.0)})', LINE, 3000,
         1.0, "db.NormalInverseGamma([0.0] * 4, [0.5] * 4, 4.0, 3.0)")),
    "20 groups pooled": (
        ', pool="partial"',
        ('db.Grouped(db.Bernoulli("smokes"), by="region", levels=[f"r{i}" for i in range(20)], sizes="public")',
         {"probability": np.linspace(0.2, 0.4, 20)}, [200] * 20, 1.0, "None"),
        ('db.Grouped(db.Bernoulli("has a car"), by="state", levels=[f"s{i}" for i in range(20)], sizes="public")',
         {"probability": np.linspace(0.3, 0.6, 20)}, [300] * 20, 1.0, "None")),
    "logistic": (
        "", ('db.LogisticRegression(("ill", ["no", "yes"]), {"age": (18, 90), "bmi": (15, 40), "pay": (0, 900)})',
             LOGIT, 5000, 1.0, "None"),
        ('db.LogisticRegression(("votes", ["no", "does"]), {"years": (16, 80), "km": (10, 60), "rent": (0, 700)})',
         LOGIT, 6000, 1.0, "None")),
    "log-linear": ("", ('db.LogLinear({name: [*"pqrs"] for name in "abcde"}, 2)', EFFECTS, 5000, 1.0, "None"),
                   ('db.LogLinear({name: [*"wxyz"] for name in "fghij"}, 2)', EFFECTS, 6000, 1.0, "None")),
}
NORMALS = {"mean": [4.0, 6.0], "covariance": [[4.0, 1.0], [1.0, 3.0]]}
WORDS = {"class_probabilities": [0.6, 0.4], "w": [[0.7, 0.3], [0.2, 0.8]], "v": [[0.5, 0.5], [0.9, 0.1]]}
TWO = {"low_mean": -1.0, "gap": 2.0, "low_sd": 0.8, "high_sd": 0.8, "high_share": 0.4}
SAMPLERS = {  # no targets: what matters is the ratio of new and old
    "gibbs": (', method="gibbs"', ('db.Exponential((0, 90), "days")', {"rate": 0.1}, 1000, 0.5, "db.Gamma(2.0, 10.0)")),
    "collapsed": ("", ('db.MultivariateNormal({"a": (-5, 15), "b": (-5, 15)})', NORMALS, 2000, 1.0, "None")),
    "gibbs_noisy": (', method="gibbs_noisy"', (
        'db.LinearRegression({name: (-1.0, 1.0) for name in "abc"}, {"y": (-3.0, 3.0)}, fourth_moments=True)', LINE,
        2000, 1.0, "db.NormalInverseGamma([0.0] * 4, [1.0] * 4, 3.0, 2.0)")),
    "mixture": ("", ("db.NormalMixture([-4, -2, -1, 0, 1, 2, 4])", TWO, 3000, 1.0, "None")),
    "naive Bayes": ("", ('db.NaiveBayes(("y", ["n", "p"]), {"w": ["a", "b"], "v": ["c", "d"]})', WORDS, 1000, 1.0,
                         "None")),
    "pooled rates": (', pool="partial"', (
        'db.Grouped(db.Poisson((0, 9), "visits"), by="region", levels=[f"r{i}" for i in range(8)], sizes="public")',
        {"rate": np.linspace(1.0, 3.0, 8)}, [200] * 8, 1.0, "None")),
}
# Seconds that are aimed at (first, again, other), and the most programs (first, other), which a test holds.
TARGETS = {"share": (2.1, 0.07, 0.07), "seven categories": (2.1, 0.14, 0.14), "census tract": (2.1, 0.06, 0.06),
           "clipped rate": (3.0, 0.1, 0.1), "histogram": (2.5, 0.3, 0.3), "normal": (5.0, 0.4, 0.4),
           "regression": (7.0, 2.5, 2.5), "20 groups pooled": (4.0, 1.2, 1.2), "logistic": (25.0, 10.0, 10.0),
           "log-linear": (60.0, 50.0, 50.0)}
PROGRAMS = {"share": (0, 0), "seven categories": (0, 0), "census tract": (0, 0), "clipped rate": (3, 0),
            "histogram": (0, 0), "normal": (2, 0), "regression": (10, 0), "20 groups pooled": (0, 0),
            "logistic": (9, 0), "log-linear": (8, 0)}

MAKE = """
import json, sys, jax, numpy as np, dp_bayes_nb as db
for path, model, theta, n, epsilon, seed in json.load(sys.stdin):
    if epsilon is None:
        made = eval(model.format(theta))
    else:
        model = eval(model)
        theta = {name: np.asarray(theta.get(name, np.zeros(each.shape))) for name, each in model.parameters.items()}
        made = db.simulate_release(model, theta, np.asarray(n) if isinstance(n, list) else n, epsilon, seed=seed)
    made.save(path)
"""
CHILD = r"""
import json, re, sys, time, warnings, jax, jax.numpy
import dp_bayes_nb as db
programs = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: programs.append(event) if event == "/jax/core/compile/backend_compile_duration" else None)
warnings.simplefilter("ignore")
fit, load, steps = db.fit, db.Release.load, json.loads(sys.argv[1])
for name in re.findall(r"db\.(\w+)", sys.argv[1]):
    getattr(db, name)
for name, path, prior, model, options in steps:
    before, start = len(programs), time.process_time()
    found = eval(f"fit(load(path), {prior}, progress=False{options})")
    spent = time.process_time() - start
    said = {name: spent, f"programs of {name}": len(programs) - before}
    if name == "again":
        import arviz, numpy
        draws = [found.posterior[each].values for each in load(path).family.parameters]
        each = [one for drawn in draws for one in numpy.moveaxis(drawn.reshape(*drawn.shape[:2], -1), -1, 0)]
        said["ess a second"] = min(float(arviz.ess(one)) for one in each if one.std() > 0) / spent
    print(json.dumps(said), flush=True)
"""


def releases(folder, names):
    "Simulated releases of the rows, as files: of each row those of the first, again and other fits."
    asked, steps = [], {}
    for name in names:
        options, *both = (ROWS | SAMPLERS)[name]
        steps[name], every = [], {"first": (0, 1), "again": (0, 2), "other": (1, 3)}
        for step, (which, seed) in [*every.items()][:len(both) + 1]:
            path, (model, theta, *rest) = str(folder / f"{name}, {step}.json"), both[which]
            n, epsilon = rest[:2] if len(rest) > 1 else (None, None)
            theta = theta[min(seed, len(theta)) - 1 if which == 0 else 0] if epsilon is None else {
                key: np.asarray(value).tolist() for key, value in theta.items()}
            asked.append((path, model, theta, n, epsilon, seed))
            steps[name].append((step, path, rest[-1], model, options))
    subprocess.run([sys.executable, "-W", "ignore", "-c", MAKE], input=json.dumps(asked), text=True, check=True,
                   env=surroundings(ROOT, folder))
    return steps


def surroundings(tree, folder, **more):
    "The environment of a fresh process: the package of a tree, one thread of BLAS, and no cache of anything."
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_") and name != "XLA_FLAGS"}
    return {**kept, "PYTHONPATH": str(tree), "JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false",
            "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": tempfile.mkdtemp(dir=folder), **more}


def measure(steps, tree, folder, limit, **more):
    "What one process says of a row: seconds and programs of each step that ended before the limit."
    code, said = [sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(steps)], {}
    try:
        done = subprocess.run(code, cwd=folder, env=surroundings(tree, folder, **more), capture_output=True,
                              text=True, timeout=limit)
        out, trouble = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired as late:
        out, trouble = (late.stdout or b"").decode(), [f"not finished after {limit} s"]
    for line in out.splitlines():
        said |= json.loads(line)
    return {name: round(value, 3) for name, value in said.items()} | ({"trouble": trouble[0]} if trouble else {})


def arviz_alone(folder):
    "Seconds of the import of ArviZ after that of the package: most of a short first fit."
    code = "import time, dp_bayes_nb, jax.numpy; t = time.process_time(); import arviz; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=folder, env=surroundings(ROOT, folder),
                          capture_output=True, text=True, check=True)
    return round(float(done.stdout), 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help=f"some of {', '.join(ROWS)} (default: all)")
    parser.add_argument("--against", metavar="REV", help="an old revision, measured in turn with this tree")
    parser.add_argument("--limit", type=int, default=900, help="seconds a process may take")
    parser.add_argument("--rounds", type=int, default=1, help="processes for each row; the least time is kept")
    parser.add_argument("--quiet", action="store_true", help="keep nothing in results/first_fit.json")
    args = parser.parse_args()
    if unknown := {*args.rows} - {*ROWS, *SAMPLERS}:
        parser.error(f"there are no rows {sorted(unknown)}")
    kept = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees, arviz = {"new": ROOT}, min(arviz_alone(folder) for _ in range(3))
        print(f"ArviZ alone: {arviz} s")
        if args.against:
            trees["old"] = folder / "old"
            subprocess.run(["git", "worktree", "add", "-q", "--detach", trees["old"], args.against], cwd=ROOT,
                           check=True)
        try:
            for row, steps in releases(folder, args.rows or [*ROWS, *SAMPLERS]).items():
                found = {}
                for _ in range(args.rounds):
                    for which, tree in trees.items():
                        said = measure(steps, tree, folder, args.limit)
                        found[which] = {key: (max if key == "ess a second" else min)(
                            value, found.get(which, {}).get(key, value)) for key, value in said.items()}
                target = {"target": dict(zip(("first", "again", "other"), TARGETS[row]))} if row in TARGETS else {}
                kept[row] = {**kept.get(row, {}), **found, **target, "seconds of ArviZ alone": arviz}
                print(row, *(f"{key}: {value}" for key, value in kept[row].items()), sep="\n    ", flush=True)
                if not args.quiet:
                    keep(kept, args.against)
        finally:
            if args.against:
                subprocess.run(["git", "worktree", "remove", "--force", trees["old"]], cwd=ROOT, check=True)


def keep(rows, against):
    "Rows in their order, old or new, never half written."
    from dp_bayes_nb.base.files import atomic_write
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "jax", "jaxlib", "arviz")}
    old = json.loads(RESULT.read_text())["old is"] if RESULT.exists() and not against else against
    about = {"about": "processor seconds and compiled programs of a first fit in a fresh process with an empty cache",
             "old is": old, "python": platform.python_version(), **versions}
    kept = {name: rows[name] for name in (*ROWS, *SAMPLERS) if name in rows}
    atomic_write(RESULT, json.dumps({**about, "rows": kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
