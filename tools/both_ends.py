"""The same releases fitted on both ends of the ecosystem: are the draws equal? Into results/both_ends.json.

    python tools/both_ends.py .venv/bin/python .venv-python3.13/bin/python

Each Python has this package with its own JAX, NumPy and ArviZ. For each fit: whether all draws are the same to the last
bit, the largest difference in posterior standard deviations, and, where they differ, the largest difference of means in
standard errors.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def fits():
    "Simulated releases of fixed keys and their fits, by name; one of each route."
    import dp_bayes_nb as db
    made = lambda model, theta, n, epsilon=1.0: db.simulate_release(model, theta, n, epsilon, seed=7)
    few = dict(draws=500, warmup=500, progress=False)
    line = db.LinearRegression({"age": (18, 90)}, {"wage": (0, 100)})
    ill = db.Grouped(db.Bernoulli("ill"), "area", ["a", "b", "c", "d", "e"], sizes="public")
    three = [made(db.Bernoulli(), {"probability": 0.3}, n) for n in (100, 200, 400)]
    yield "share, exact", db.fit(made(db.Bernoulli(), {"probability": 0.3}, 400), **few)
    yield "seven categories, exact", db.fit(made(db.Categorical(7), {"probabilities": np.full(7, 1 / 7)}, 500), **few)
    yield "clipped rate, curve", db.fit(made(db.Poisson((0, 20)), {"rate": 4.0}, 300), db.Gamma(1, 0.1), **few)
    yield "mean and variance, mesh", db.fit(made(db.Normal((0, 10)), {"mean": 4.0, "variance": 2.0}, 400),
                                            db.NormalInverseGamma(5, 1, 2, 2), **few)
    yield "three tables, chain", db.fit(three, method="collapsed", **few)
    yield "five groups, pooled", db.fit(made(ill, {"probability": [0.1, 0.2, 0.3, 0.2, 0.1]}, [90, 80, 70, 60, 50]),
                                        pool="partial", **few)
    yield "mean and variance, Gibbs", db.fit(made(db.Normal((0, 10)), {"mean": 4.0, "variance": 2.0}, 400),
                                             db.NormalInverseGamma(5, 1, 2, 2), method="gibbs", **few)
    theta = {"coefficients": np.array([0.5, 10.0]), "noise_variance": 25.0}
    yield "regression, chain", db.fit(made(line, theta, 1000), db.NormalInverseGamma([0, 0], 0.01, 2, 2), **few)


def draw(path):
    "All draws of this Python, and its versions, into a file."
    import importlib.metadata
    import platform
    import warnings
    warnings.simplefilter("ignore")
    arrays = {f"{name}: {variable}": values.values for name, idata in fits()
              for variable, values in idata.posterior.data_vars.items()}
    versions = {name: importlib.metadata.version(name) for name in ("jax", "numpy", "scipy", "arviz")}
    np.savez(path, versions=json.dumps({"python": platform.python_version(), **versions}), **arrays)


def compare(a, b):
    "The same draws, or how far apart: in posterior standard deviations, and means in standard errors."
    from dp_bayes_nb.base.draws import ess
    if np.array_equal(a, b):
        return {"equal": True}
    sd = np.maximum(a.std(axis=(0, 1)), 1e-300)
    error = sd * np.sqrt(1 / ess(a) + 1 / ess(b))
    return {"equal": False, "largest difference, sd": float(f"{np.max(np.abs(a - b) / sd):.2g}"),
            "means apart, standard errors": float(f"{np.max(np.abs(a.mean((0, 1)) - b.mean((0, 1))) / error):.2g}")}


def main():
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{k}.npz" for k in range(2)]
        for python, file in zip(sys.argv[1:3], files):
            subprocess.run([python, __file__, "--draw", file], check=True, cwd=ROOT)
        one, other = (np.load(file) for file in files)
        found = {name: compare(one[name], other[name]) for name in one.files if name != "versions"}
        ends = [json.loads(str(each["versions"])) for each in (one, other)]
    for name, result in found.items():
        print(name, result)
    (ROOT / "results" / "both_ends.json").write_text(json.dumps(
        {"about": "draws of the same releases and seeds on both ends (tools/both_ends.py)",
         "date": time.strftime("%Y-%m-%d"), "ends": ends, "fits": found}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:
        draw(sys.argv[2])
    elif len(sys.argv) == 3:
        main()
    else:
        sys.exit(__doc__)
