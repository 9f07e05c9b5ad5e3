"""Exact posteriors of counts: a second fit against 0.1.0's kernel, the first posterior of a process,
a plain SciPy loop, and the accuracy.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
from scipy.special import betainc, gammaln
from table import interleave, record

import dp_bayes_nb as d
from dp_bayes_nb.curves.grid import grid_kernel
from dp_bayes_nb.base.chains import Kernel, run_chains
from dp_bayes_nb.counts.exact_categories import share_mixtures, table_counts
from dp_bayes_nb.counts.exact_counts import count_posterior, share_moments, tabulate

ROUNDS, STARTS = 5, 3
SHARE = d.simulate_release(d.Bernoulli(), {"probability": 0.3}, 1000, 0.1)
CATEGORIES = d.simulate_release(d.Categorical(5), {"probabilities": [0.3, 0.1, 0.2, 0.2, 0.2]}, 1000, 0.1)
COLD = """
import sys, time
import arviz
start, processor = time.perf_counter(), time.process_time()
import dp_bayes_nb
idata = dp_bayes_nb.fit(dp_bayes_nb.Release.load(sys.argv[1]))
print(time.perf_counter() - start, time.process_time() - processor)
"""
IMPORT = (
    "import time; s, p = time.perf_counter(), time.process_time(); import arviz; print(time.perf_counter() - s, "
    "time.process_time() - p)")
COMMAND = "import sys; from dp_bayes_nb.cli import main; main(['fit', sys.argv[1]])"


def old_fit():
    "A fit as 0.1.0 made it: a new function at each call, which JAX compiles anew."
    kernel = grid_kernel(SHARE.family, SHARE.released, d.Beta(1.0, 1.0), exact=True)
    anew = Kernel(lambda key: kernel.step(key, None)[0], kernel.step)
    return run_chains(jax.random.key(0), anew, draws=1000, warmup=0, chains=4)


def all_counts(n, z, scale):
    "The posterior quantiles of a share by the sum over all counts: eight lines of SciPy."
    s = np.arange(n + 1.0)
    log_w = -np.abs(z - s) / scale  # a flat prior: the beta-binomial is uniform
    w = np.exp(log_w - log_w.max())
    theta = np.linspace(0, 1, 513)
    F = np.array([w @ betainc(1 + s, 1 + n - s, t) for t in theta]) / w.sum()
    return np.interp([0.025, 0.5, 0.975], F, theta)


def ours(n, z, scale):
    "The same by this package."
    return tabulate(count_posterior(n, z, scale, 1.0, 1.0)).quantile([0.025, 0.5, 0.975])[0]


def process(code, path):
    "What a new process prints, and how long it lives."
    start = time.perf_counter()
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", code, str(path)], capture_output=True, text=True,
                         check=True, env=os.environ).stdout
    return out, time.perf_counter() - start


def accuracy(trials=40):
    "Largest and median error of tabulated quantiles in posterior standard deviations, over random designs."
    rng, errors = np.random.default_rng(7), []
    for _ in range(trials):
        n, scale = int(10 ** rng.uniform(0, 3.5)), 1 / 10 ** rng.uniform(-4, 1.3)
        alpha, beta = [(1.0, 1.0), (500.0, 500.0), (0.5, 50.0)][rng.integers(3)]
        z, s = np.round(rng.uniform(-0.5 * n - 3 * scale, 1.5 * n + 3 * scale)), np.arange(n + 1.0)
        log_w = gammaln(alpha + s) - gammaln(s + 1) + gammaln(beta + n - s) - gammaln(n - s + 1) - np.abs(z - s) / scale
        w = np.exp(log_w - log_w.max()) / np.exp(log_w - log_w.max()).sum()
        posterior, u = count_posterior(n, z, scale, alpha, beta), np.linspace(0.005, 0.995, 100)
        theta = tabulate(posterior).quantile(u)[0]
        F = np.array([w @ betainc(alpha + s, beta + n - s, t) for t in theta])
        errors.append(np.trapezoid(np.abs(F - u), theta) / share_moments(posterior)[1][0])
    return {"designs": trials, "largest W1, posterior sd": float(max(errors)),
            "median W1, posterior sd": float(np.median(errors))}


def main():
    calls = {"0.1.0": lambda: jax.block_until_ready(old_fit()[0]), "now": lambda: d.fit(SHARE, progress=False),
             "now, five categories": lambda: d.fit(CATEGORIES, progress=False),
             "ours": lambda: ours(1000, 300.0, 10.0), "SciPy": lambda: all_counts(1000, 300.0, 10.0),
             "five curves": lambda: tabulate(share_mixtures(table_counts(1000, CATEGORIES.values, 20.0, 1.0)[0]))}
    for call in calls.values():
        call()  # everything is compiled that can be
    ms = {name: 1e3 * found[:, 0] for name, found in interleave(calls, ROUNDS).items()}
    np.testing.assert_allclose(ours(1000, 300.0, 10.0), all_counts(1000, 300.0, 10.0), atol=2e-4)
    rows = {"second fit of a share": {"0.1.0, ms": float(np.median(ms["0.1.0"])),
                                      "now, ms": float(np.median(ms["now"])),
                                      "times faster": float(np.median(ms["0.1.0"] / ms["now"])),
                                      "five categories, ms": float(np.median(ms["now, five categories"]))},
            "a tabulated share, n = 1000": {"ms": float(np.median(ms["ours"])),
                                            "SciPy over all counts, ms": float(np.median(ms["SciPy"])),
                                            "times faster": float(np.median(ms["SciPy"] / ms["ours"])),
                                            "five categories, ms": float(np.median(ms["five curves"]))},
            "accuracy": accuracy()}
    with tempfile.TemporaryDirectory() as folder:
        for name, release in (("share", SHARE), ("five categories", CATEGORIES)):
            path = Path(folder) / "release.json"
            release.save(path, overwrite=True)
            bare = np.array([process(IMPORT, path)[0].split() for _ in range(STARTS)], float)
            cold = np.array([process(COLD, path)[0].split() for _ in range(STARTS)], float)
            command = [process(COMMAND, path)[1] for _ in range(STARTS)]
            rows[f"cold start, {name}"] = {"import of ArviZ, s": float(np.median(bare[:, 0])),
                                           "beyond it, s": float(np.median(cold[:, 0])),
                                           "processor: import of ArviZ, s": float(np.median(bare[:, 1])),
                                           "processor: beyond it, s": float(np.median(cold[:, 1])),
                                           "dp-bayes fit, summary only, s": float(np.median(command))}
    record("exact", rows,
           "1,000 records, epsilon = 0.1; medians, rounds interleaved; cold starts in processes of their own")


if __name__ == "__main__":
    main()
