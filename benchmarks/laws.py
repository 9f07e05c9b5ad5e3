"""Calibration of the models by weighted records, and how often a second statistic sees a wrong model, into
results/laws.json. A run that was stopped goes on where it was; cells that are done are skipped.

    python benchmarks/laws.py                          every cell, 400 trials each or as TRIALS says
    python benchmarks/laws.py --trials 100 --n 10000   fewer trials, one number of records
    python benchmarks/laws.py --only misfit            the misfit of Poisson counts only
"""

import argparse
import importlib.metadata
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats as st
from scipy.optimize import brentq

from dp_bayes_nb.base.files import atomic_write
from dp_bayes_nb.base.measurement import Released
from dp_bayes_nb.base.priors import Beta
from dp_bayes_nb.models.above import Above
from dp_bayes_nb.models.conjugate_priors import Gamma, NormalInverseGamma
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.models.mixture import NormalMixture
from dp_bayes_nb.models.rates import Poisson
from dp_bayes_nb.models.varied_counts import (
    NegativeBinomial, Overdispersion, TruncatedPoisson, ZeroInflatedNegativeBinomial, ZeroInflatedPoisson,
)
from dp_bayes_nb.noise.design import noise_design, simulate_noise
from dp_bayes_nb.ways.methods import choose_method
from dp_bayes_nb.ways.modes import RIDGE
from dp_bayes_nb.regression.covariates import NormalInverseWishart
from dp_bayes_nb.regression.multivariate_normal import MultivariateNormal
from dp_bayes_nb.regression.model import LinearRegression
from dp_bayes_nb.regression.tobit import TobitRegression
from dp_bayes_nb.research.evaluation import calibrate
from dp_bayes_nb.research.ranks import pooled_p_values
from dp_bayes_nb.research.trials import BATCH, method_draws

ROOT = Path(__file__).parent.parent
RESULTS, WORK = ROOT / "results" / "laws.json", ROOT / ".cache" / "laws"
SEED, DRAWS, WARMUP, EPSILON, SIZES = 2211, 99, 300, 1.0, (300, 10_000, 1_000_000)
SPREAD = {"mean": Gamma(16.0, 5.0), "size": Overdispersion(0.7)}
COLUMNS = {d: NormalInverseWishart(np.zeros(d), 4.0, 4.0 * np.eye(d), d + 5.0) for d in (2, 5, 10)}  # variance 1
LAWS = {  # model, prior; bounds that clip a few records in a hundred, and half of them
    "negative binomial": (NegativeBinomial((0, 15), above=[6]), SPREAD),
    "negative binomial, clipped": (NegativeBinomial((0, 4), above=[2]), SPREAD),
    "zero-inflated Poisson": (ZeroInflatedPoisson((0, 9)), {"rate": Gamma(16.0, 4.0), "inflation": Beta(2.0, 4.0)}),
    "zero-inflated Poisson, clipped": (ZeroInflatedPoisson((0, 4)),
                                       {"rate": Gamma(16.0, 4.0), "inflation": Beta(2.0, 4.0)}),
    "zero-inflated negative binomial": (ZeroInflatedNegativeBinomial((0, 15), above=[0, 6]),
                                        {**SPREAD, "inflation": Beta(2.0, 4.0)}),
    "truncated Poisson": (TruncatedPoisson((1, 9)), {"rate": Gamma(8.0, 4.0)}),
    "truncated Poisson, clipped": (TruncatedPoisson((1, 3)), {"rate": Gamma(8.0, 4.0)}),
    "normal mixture": (NormalMixture(range(40, 100, 4)), None),
    "normal mixture, one mode": (NormalMixture(range(40, 100, 4)), None),
    "two normal columns": (MultivariateNormal({"a": (-2, 2), "b": (-2, 2)}), COLUMNS[2]),
    "two normal columns, clipped": (MultivariateNormal({"a": (-1, 1), "b": (-1, 1)}), COLUMNS[2]),
    "five normal columns": (MultivariateNormal({f"x{j}": (-2, 2) for j in range(5)}), COLUMNS[5]),
    "ten normal columns": (MultivariateNormal({f"x{j}": (-2, 2) for j in range(10)}), COLUMNS[10]),
}
LAWS["ten normal columns, short chains"] = LAWS["ten normal columns"]  # as others: at n = 300 they are too short
LAWS["zero-inflated negative binomial, one mode"] = LAWS["zero-inflated negative binomial"]
# the chain that knows one mode only: what the default method of these models is for
METHODS = dict.fromkeys(("normal mixture, one mode", "zero-inflated negative binomial, one mode"), "collapsed")
# draws and warm-up of chains that are slow; else DRAWS and WARMUP
LENGTHS = {"normal mixture": (999, 1000), ("ten normal columns", 300): (999, 500)}
LENGTHS |= {name: (999, 500) for name in LAWS if name.startswith("zero-inflated negative")}
TRIALS = {"two normal columns": 1000, "five normal columns": 200, "ten normal columns": 30,  # more cost too much
          "ten normal columns, short chains": 30}
TOGETHER = {"five normal columns": 20, **{name: 5 for name in LAWS if name.startswith("ten")}}  # trials a file


def calibrated(name, n, trials):
    "Ranks and coverage of one law at one number of records."
    model, prior = LAWS[name]
    folder = WORK / f"{name.replace(' ', '_').replace(',', '')}_{n}"
    start = time.perf_counter()
    draws, warmup = LENGTHS.get((name, n), LENGTHS.get(name, (DRAWS, WARMUP)))
    found = calibrate(model, prior, n=n, epsilon=EPSILON, trials=trials, draws=draws, warmup=warmup, power=False,
                      method=METHODS.get(name, "auto"), path=folder, batch=TOGETHER.get(name, BATCH), seed=SEED)
    return {"p_values": {k: float(v) for k, v in found.p_values.items()},
            "coverage": dict(zip(found.parameters, map(float, found.coverage()))), "trials": trials,
            **({"mixed": mixed(found)} if found.slow.any() else {}),
            **({"ridges": ridges(found, folder)} if found.method == "modes" else {}),
            **({"pooled": pooled(found)} if isinstance(model, MultivariateNormal) else {}),
            "coverage_error": float(found.coverage_error()), "method": found.method,
            "slow": float(found.slow.mean()), "seconds": time.perf_counter() - start}


def mixed(found):
    "Coverage where the chain had effective draws enough, and how many releases these are."
    quick = ~found.slow.astype(bool)
    inside = np.abs((found.ranks[quick] + 0.5) / (found.draws + 1) - 0.5) < 0.475
    return {"trials": int(quick.sum()), "coverage": dict(zip(found.parameters, map(float, inside.mean(axis=0))))}


def ridges(found, folder):
    "Coverage where `fit` would warn of a ridge, and elsewhere."
    batches = [np.load(file)["info accepted"] for file in sorted(folder.glob("trials-*.npz"))]
    of_ridges = np.concatenate(batches)[:len(found.ranks)] < RIDGE
    inside = np.abs((found.ranks + 0.5) / (found.draws + 1) - 0.5) < 0.475
    share = lambda which: dict(zip(found.parameters, map(float, inside[which].mean(axis=0)))) if which.any() else {}
    return {"trials": int(of_ridges.sum()), "coverage": share(of_ridges), "others": share(~of_ridges)}


def pooled(found):
    "p-values of the ranks of all means, of all variances and of all covariances together."
    ends = [name[name.index("[") + 1:-1].split(", ") for name in found.parameters]
    kinds = np.array(["mean" if len(e) == 1 else "variance" if e[0] == e[1] else "covariance" for e in ends])
    return {f"{kind}, {what}": p for kind in map(str, np.unique(kinds))
            for what, p in pooled_p_values(found.ranks[:, kinds == kind], found.draws).items()}


def misfit(size, limit=6, weight=7, upper=15, mean=3.0, n=1000, draws=2000, trials=400):
    """p-values of the noisy count above a limit under Poisson, of negative binomial tables of a size: given the noisy
    sum (what `row_check` computes), and under the posterior of both (what `predictive_check` computes).
    """
    rng, rates, x = np.random.default_rng(SEED), np.linspace(2.0, 4.5, 126), np.arange(upper)
    model = Above(Poisson((0, upper)), [limit], weight)
    law = st.nbinom(size, size / (size + mean)) if np.isfinite(size) else st.poisson(mean)
    b, each = model.sensitivity() / EPSILON, jax.jit(jax.vmap(lambda rate: model.moments({"rate": rate})))
    mu, S = (np.asarray(a) * n for a in each(jnp.asarray(rates)))
    T = np.stack([np.asarray(v, float) for v in model.statistic(np.arange(upper + 1.0))], axis=1)
    noise = lambda shape: rng.geometric(-np.expm1(-1 / b), shape) - rng.geometric(-np.expm1(-1 / b), shape)
    tables = rng.multinomial(n, [*law.pmf(x), law.sf(upper - 1)], trials)
    out = {"given the sum": [], "joint": []}
    for first, second in tables @ T + noise((trials, 2)):
        s = first + np.arange(-12 * b, 12 * b + 1)
        log_w = st.norm.logpdf(s, mu[:, :1], np.sqrt(S[:, :1, 0])) - np.abs(s - first) / b
        slope = S[:, 0, 1] / S[:, 0, 0]
        sd = np.sqrt(S[:, 1, 1] - slope * S[:, 0, 1])
        given = mu[:, 1:] + slope[:, None] * (s - mu[:, :1])  # of the count, for each rate and sum
        for name in out:
            more = 0.0 if name == "given the sum" else np.log(_blurred(second - given, sd[:, None], b))
            w = np.exp(log_w + more - (log_w + more).max()).ravel().cumsum()
            r, k = np.divmod(np.searchsorted(w, rng.random(draws) * w[-1]), len(s))
            if name == "joint":  # a new table at the same rate
                again = mu[r, 1] + np.sqrt(S[r, 1, 1]) * rng.normal(size=draws) + noise(draws)
            else:
                again = given[r, k] + sd[r] * rng.normal(size=draws) + noise(draws)
            out[name].append(min(1.0, 2 * min((again <= second).mean(), (again >= second).mean())))
    return {name: {f"p < {level}": float(np.mean(np.array(p) < level)) for level in (0.01, 0.05)}
            for name, p in out.items()} | {"trials": trials}


def tobit(share, n, trials, model_class=TobitRegression):
    """Coverage of 95% intervals of the slope: covariate even over its range, a share of the responses clipped."""
    x, e = np.meshgrid(np.linspace(-1, 1, 2001)[1::2], st.norm.ppf((np.arange(1000) + 0.5) / 1000))
    size = brentq(lambda c: np.mean(np.abs(c * (x + e)) > 1) - share, 0.1, 5.0)  # slope, and noise
    model = model_class({"x": (-1, 1)}, {"y": (-1, 1)})
    prior = check_prior(model, NormalInverseGamma(0.0, 0.25, 2.0, 0.5))
    _, chosen = choose_method(model, prior, "laplace", n, "auto")
    noise = jax.tree.map(jnp.asarray, noise_design(model, epsilon=EPSILON)[0])

    def trial(key):
        key_x, key_e, key_noise, key_chain = jax.random.split(key, 4)
        covariate = jax.random.uniform(key_x, (n,), minval=-1.0, maxval=1.0)
        records = {"x": covariate, "y": size * (covariate + jax.random.normal(key_e, (n,)))}
        z = model.record_statistics(records).sum(axis=0) + simulate_noise(key_noise, noise)
        draws, _ = method_draws(key_chain, model, prior, chosen, Released(z, noise, jnp.asarray(float(n))), draws=200,
                                warmup=100)
        return jnp.quantile(draws["coefficients"][:, 0], jnp.array([0.025, 0.5, 0.975]))
    start = time.perf_counter()
    run = jax.jit(lambda keys: jax.lax.map(trial, keys, batch_size=20))
    q = np.asarray(run(jax.random.split(jax.random.key(SEED), trials)))
    covered = (q[:, 0] <= size) & (size <= q[:, 2])
    return {"coverage": float(covered.mean()), "slope": float(size), "median": float(q[:, 1].mean()),
            "width": float((q[:, 2] - q[:, 0]).mean()), "trials": trials, "seconds": time.perf_counter() - start}


def _blurred(d, sd, b):
    "Density of a normal number with Laplace noise at d."
    left, right = (st.norm.logcdf(sign * d / sd - sd / b) - sign * d / b for sign in (1, -1))
    return np.exp(0.5 * (sd / b) ** 2 + np.logaddexp(left, right)) / (2 * b) + 1e-300


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--n", type=int, choices=(1000, *SIZES))
    parser.add_argument("--only", choices=["misfit", "Tobit", "LinearRegression", *LAWS])
    args = parser.parse_args()
    cells = [("misfit", f"size {size:g}", lambda size=size: misfit(size)) for size in (1.0, 2.0, 3.0, 5.0, np.inf)]
    cells += [(kind, f"{share:.0%} clipped, n = {n}", lambda kind=kind, share=share, n=n: tobit(
        share, n, args.trials, TobitRegression if kind == "Tobit" else LinearRegression))
              for kind in ("Tobit", "LinearRegression") for n in (10_000, 1000) for share in (0.3, 0.08)
              if args.n in (None, n)]
    cells += [(name, f"n = {n}", lambda name=name, n=n: calibrated(name, n, TRIALS.get(name, args.trials)))
              for n in SIZES if args.n in (None, n) for name in LAWS]
    for name, cell, run in cells:
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        done = results.get("cells", {}).get(name, {}).get(cell, {})
        wanted = TRIALS.get(name, args.trials) if name != "misfit" else 1
        if args.only not in (None, name) or done.get("trials", 0) >= wanted:
            continue
        found = run()
        cells_there = results.get("cells", {})
        cells_there.setdefault(name, {})[cell] = found
        versions = {p: importlib.metadata.version(p) for p in ("numpy", "jax", "jaxlib")}
        about = {"seed": SEED, "draws": DRAWS, "epsilon": EPSILON, "versions": versions}
        atomic_write(RESULTS, json.dumps({"about": about, "cells": cells_there}, indent=1) + "\n")
        print(name, cell, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
