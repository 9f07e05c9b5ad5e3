"""Very many cells: a million posteriors on two cores, warm and cold, memory, and ratios to one at a time,
to a SciPy loop over brute force, and to NUTS for each cell. `python benchmarks/many.py [CELLS [ROW …]]`: a million
cells and all rows by default; rows of the file that are not named are kept.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("TQDM_DISABLE", "1")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])

import numpy as np  # noqa: E402
from scipy.optimize import brentq  # noqa: E402
from scipy.special import betainc  # noqa: E402

import dp_bayes_nb as d  # noqa: E402
from dp_bayes_nb.base.files import atomic_write  # noqa: E402
from dp_bayes_nb.many import fit_many as room  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results" / "many.json"
LEVELS = (0.025, 0.5, 0.975)
CASES = {"shares, Laplace, epsilon 1": ("share", "scale", 1.0), "shares, Gaussian, epsilon 1": ("share", "sd", 4.2),
         "shares, Laplace, epsilon 0.1": ("share", "scale", 10.0),
         "shares, Gaussian, epsilon 0.1": ("share", "sd", 42.0),
         "clipped exponentials, Laplace, epsilon 1": ("exponential", "scale", 5.0),
         "clipped exponentials, Gamma(1, 1), Laplace, epsilon 1": ("sparse", "scale", 20.0),
         "five categories, Laplace, epsilon 1": ("categories", "scale", 2.0)}  # fmt: skip
FEWER = {"share": 1, "exponential": 5, "sparse": 5, "categories": 20}  # times fewer cells; five where noise is wide


def table(what, kind, scale, rows, seed=0):
    "Model, prior, cells and columns of values: n from 10 to 100,000."
    rng = np.random.default_rng(seed)
    n = np.rint(10 ** rng.uniform(1, 5, rows))
    noise = lambda *shape: np.rint(rng.laplace(size=shape) * scale if kind == "scale" else rng.normal(0, scale, shape))
    if what == "share":
        cells, model, prior, value = {"value": rng.binomial(n.astype(int), rng.random(rows)) + noise(rows)}, \
            d.Bernoulli(), None, "value"
    elif what in ("exponential", "sparse"):  # a prior that is 0 at 0, and one that is largest there
        most, prior = (5, d.Gamma(2.0, 1.0)) if what == "exponential" else (20, d.Gamma(1.0, 1.0))
        rate = rng.gamma(float(prior.shape), 1, rows) + 0.01
        mean = -np.expm1(-most * rate) / rate
        cells = {"value": n * mean + rng.normal(size=rows) * np.sqrt(n) * mean + noise(rows)}
        model, value = d.Exponential((0, most)), "value"
    else:
        counts = np.array([rng.multinomial(int(m), p) for m, p in zip(n, rng.dirichlet(np.ones(5), rows))])
        z = counts + noise(rows, 5)
        cells, model, prior, value = {f"z{j}": z[:, j] for j in range(5)}, d.Categorical(5), None, \
            tuple(f"z{j}" for j in range(5))
    return model, prior, {**cells, "n": n, kind: np.full(rows, scale)}, value


def threads(model, prior, cells, value):
    "Shares of the processor time of the main thread and of each worker: what one core alone must do, and the rest."
    real, spent = room._block, {}
    def block(*arguments):
        start = time.thread_time()
        found = real(*arguments)
        worker = threading.current_thread().name.rsplit("_", 1)[-1]  # each part has a pool of its own
        spent[worker] = spent.get(worker, 0.0) + time.thread_time() - start
        return found
    room._block, start = block, time.process_time()
    d.fit_many(cells, model, prior, value=value)
    room._block, whole = real, time.process_time() - start
    return [1 - sum(spent.values()) / whole, *sorted(t / whole for t in spent.values())]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(name, rows):
    "One case, in this process: cold (with imports of methods, and compiling), warm, memory of a tenth and of all."
    what, kind, scale = CASES[name]
    rows = max(rows // max(FEWER[what], 5 if scale >= 10 else 1), 500)
    model, prior, cells, value = table(what, kind, scale, rows)
    few = {column: array[:1000] for column, array in cells.items()}
    start = time.perf_counter()
    d.fit_many(few, model, prior, value=value)
    cold = time.perf_counter() - start
    d.fit_many({column: array[:rows // 10] for column, array in cells.items()}, model, prior, value=value)
    tenth = peak()
    start, processor = time.perf_counter(), time.process_time()
    found = d.fit_many(cells, model, prior, value=value)
    warm, processor = time.perf_counter() - start, time.process_time() - processor
    whole, load = peak(), os.getloadavg()[0]
    some = {column: array[:max(rows // 10, 4096)] for column, array in cells.items()}
    shares = threads(model, prior, some, value)
    said = {"cells run": rows, "first thousand, s": cold, "warm, s": warm}
    if rows < 10**6:
        said["not run: a million in proportion, s"] = 1e6 * warm / rows
    return said | {"processor, microseconds a cell": 1e6 * processor / rows,
                   "processor of a million, half on each of two cores, s": 0.5 * 1e6 * processor / rows,
                   "processor by thread, main and workers": shares,
                   "with a problem": int((found["problem"] != "").sum()), "load average": load,
                   "peak memory of a tenth, MB": tenth, "peak memory, MB": whole}  # fmt: skip


def brute(n, z, scale):
    "A share's quantiles by SciPy and the sum over all counts."
    s = np.arange(n + 1.0)
    w = np.exp(-np.abs(z - s) / scale + np.abs(z - np.clip(z, 0, n)) / scale)
    w /= w.sum()
    return [brentq(lambda t, u=u: w @ betainc(1 + s, 1 + n - s, t) - u, 0, 1) for u in LEVELS]


def nuts_sampler():
    "A cell by NUTS, the count taken as normal: 1,000 draws after 1,000, compiled once for all cells."
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS
    def model(n, z, scale):
        theta = numpyro.sample("theta", dist.Beta(1, 1))
        s = n * theta + jnp.sqrt(n * theta * (1 - theta)) * numpyro.sample("e", dist.Normal(0, 1))
        numpyro.sample("z", dist.Laplace(s, scale), obs=z)
    sampler = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, progress_bar=False, jit_model_args=True)
    def nuts(n, z, scale):
        sampler.run(jax.random.key(0), float(n), float(z), float(scale))
        return np.quantile(sampler.get_samples()["theta"], LEVELS)
    return nuts


def ratios(rows=20_000):
    "Seconds a cell, in one run, and how many times faster `fit_many` is."
    model, prior, cells, _ = table("share", "scale", 1.0, rows)
    made = [d.simulate_release(model, {"probability": 0.3}, 1000, 1.0, seed=i) for i in range(50)]
    d.fit(made[0], progress=False), d.fit_many({k: v[:1000] for k, v in cells.items()}, model)
    cell, nuts = [[cells[k][i] for k in ("n", "value", "scale")] for i in range(20)], nuts_sampler()
    nuts(*cell[0])
    calls = {"fit_many": (rows, lambda: d.fit_many(cells, model)),
             "fit, one by one": (50, lambda: [d.fit(each, progress=False) for each in made]),
             "SciPy, every count": (20, lambda: [brute(*each) for each in cell]),
             "NUTS a cell": (10, lambda: [nuts(*each) for each in cell[:10]])}
    seconds = {}
    for name, (count, call) in calls.items():
        start = time.perf_counter()
        call()
        seconds[name] = (time.perf_counter() - start) / count
    return {name: {"cells run": calls[name][0], "seconds a cell": value,
                   "fit_many is faster by": value / seconds["fit_many"]}
            for name, value in seconds.items()}


def rounded(value):
    "Three significant digits."
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main():
    one = "--one" in sys.argv  # one row, in a process of its own
    rows, *names = [each for each in sys.argv[1:] if each != "--one"] or [10**6]
    rows, known = int(rows), [*CASES, "ratios"]
    if wrong := set(names) - set(known):
        sys.exit(f"no such row: {sorted(wrong)}; there are {known}")
    if one:
        print(json.dumps(run(names[0], rows) if names[0] != "ratios" else ratios()))
        return
    kept = json.loads(RESULTS.read_text())["rows"] if names and RESULTS.exists() else {}
    for name in names or known:
        done = subprocess.run([sys.executable, "-W", "ignore", __file__, str(rows), name, "--one"], capture_output=True,
                              text=True, check=True)
        kept[name] = rounded(json.loads(done.stdout))
        print(name, kept[name], flush=True)
    write(rows, {name: kept[name] for name in known if name in kept})


def write(rows, found):
    about = {"cells asked for": rows, "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
             "load average": os.getloadavg()[0],  # much above the cores: other work took part of them
             "note": "n from 10 to 100,000; each row says how many cells were run, and its load average: above the "
                     "cores of the machine, wall times are longer than alone; NUTS takes counts as normal"}
    RESULTS.parent.mkdir(exist_ok=True)
    atomic_write(RESULTS, json.dumps({"about": about, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
