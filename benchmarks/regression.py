"""The exact regression sampler: effective draws per second against Gibbs-SS-Update, against n, and against the number
of columns.

Effective draws are ArviZ's bulk size of the slowest parameter. Seconds have everything in them, mode search and warm-up
(of 400 draws 200, of 4,000 sweeps 500), unless they are of draws alone. `python benchmarks/regression.py 5 10` runs the
last part for five and ten coefficients: covariates' moments from the free prior, some of them nearly collinear, and
covariates with correlations near .3, made record by record.
"""

import resource
import sys
import time

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
from table import clock, interleave, record, recorded

from dp_bayes_nb.models.conjugate_priors import NormalInverseGamma
from dp_bayes_nb.base.chains import bind, run_chains
from dp_bayes_nb.base.measurement import Noise, Released
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.regression.model import LinearRegression
from dp_bayes_nb.regression.exact import curvature, exact_kernel, log_law
from dp_bayes_nb.regression.gibbs import gibbs_update_kernel
from dp_bayes_nb.regression.sums import released_sums

CHAINS, DRAWS, WARMUP, SWEEPS, ROUNDS = 64, 400, 200, 4000, 3


def family_of(d):
    "d coefficients: d − 1 covariates and the intercept."
    return LinearRegression({f"x{j}": (-1, 1) for j in range(d - 1)}, {"y": (-1, 1)})


def simulated(family, prior, n, b, seed=11):
    "A release drawn from the model, noise scale b, and the truth."
    key_theta, key_s, key_noise = jax.random.split(jax.random.key(seed), 3)
    theta = prior.sample(key_theta)
    s = family.simulate(key_s, theta, float(n))
    noise = Noise("laplace", jnp.full(s.shape, float(b)), jnp.full(s.shape, 2.0**-20))
    return theta, Released(s + b * jax.random.laplace(key_noise, s.shape), noise, jnp.asarray(float(n)))


def draws_of(theta):
    "All parameters, (chain, draw, parameter)."
    return np.concatenate([np.asarray(theta["coefficients"]), np.asarray(theta["noise_variance"])[..., None]], axis=-1)


def effective(theta):
    "Bulk effective size of the slowest parameter, all chains."
    x = draws_of(theta)
    return float(min(az.ess(x[..., j], method="bulk") for j in range(x.shape[-1])))


def exact(family, released, prior):
    return run_chains(jax.random.key(1), exact_kernel(family, released, prior), draws=DRAWS, warmup=WARMUP,
                      chains=CHAINS)


def against_gibbs():
    "n = 1000, b = 24, one covariate: whole runs, warm-up counted for both, and draws alone, from runs of two lengths."
    family = family_of(2)
    prior = check_prior(family, NormalInverseGamma(0.0, 19 / 0.5, 20.0, 0.5))
    _, released = simulated(family, prior, 1000, 24.0)
    gibbs = gibbs_update_kernel(family, released, prior)
    kernels = {"exact": (lambda: exact_kernel(family, released, prior), DRAWS, WARMUP),
               "gibbs_update": (lambda: gibbs, SWEEPS, SWEEPS // 8)}
    runs = {(name, times): lambda make=make, draws=times * draws, warmup=warmup: run_chains(jax.random.key(1), make(),
        draws=draws, warmup=warmup, chains=CHAINS)[0].theta
            for name, (make, draws, warmup) in kernels.items() for times in (1, 3)}
    first = {name: clock(runs[name, 1])[0] for name in kernels}
    sizes = {run: effective(call()) for run, call in runs.items()}
    seconds = {run: float(np.median(t[:, 0])) for run, t in interleave(runs, ROUNDS).items()}
    rows, base = {}, {}
    for name, (_, draws, warmup) in reversed(kernels.items()):
        whole = sizes[name, 1] / seconds[name, 1]
        alone = 2 / 3 * sizes[name, 3] / (seconds[name, 3] - seconds[name, 1])
        base = base or {"whole": whole, "alone": alone}
        rows[f"n = 1000, b = 24, {name}"] = {"draws": draws, "warm-up": warmup, "ESS/draw": sizes[name,
            1] / CHAINS / draws, "ESS/s": whole, "times gibbs_update": whole / base["whole"],
                                             "ESS/s, draws alone": alone, "times gibbs_update, draws alone": alone
                                             / base["alone"], "first run, s": first[name]}
    return rows


def against_n():
    "One covariate, a fixed noise scale."
    family = family_of(2)
    prior = check_prior(family, NormalInverseGamma(0.0, 19 / 0.5, 20.0, 0.5))
    made = {n: simulated(family, prior, n, 24.0)[1] for n in (10, 1000, 100_000, 1_000_000)}
    runs = {n: lambda released=released: exact(family, released, prior)[0].theta for n, released in made.items()}
    sizes = {n: effective(run()) for n, run in runs.items()}
    times = {n: float(np.median(t[:, 0])) for n, t in interleave(runs, ROUNDS).items()}
    cost = {n: times[n] / sizes[n] for n in made}
    return {f"b = 24, n = {n:.0e}": {"ESS/draw": sizes[n] / CHAINS / DRAWS, "ESS/s": 1 / cost[n],
                                     "cost, times n = 10": cost[n] / cost[10]} for n in made}


def correlated(family, n, b, seed=11):
    "A release of n records with one common factor among the covariates, noise scale b, and the truth."
    k, rng = len(family.covariates), np.random.default_rng(seed)
    theta = {"coefficients": np.append(0.15 / np.sqrt(k) * rng.normal(size=k), 0.1), "noise_variance": 0.03}
    first, second = np.zeros(k + 1), np.zeros((k + 1, k + 1))
    for _ in range(0, n, 10_000):
        x = np.tanh(np.sqrt(0.3) * rng.normal(size=(10_000, 1)) + np.sqrt(0.7) * rng.normal(size=(10_000, k)))
        y = x @ theta["coefficients"][:-1] + theta["coefficients"][-1] + np.sqrt(theta["noise_variance"]) * rng.normal(
            size=10_000)
        v = np.column_stack([x, np.clip(y, -1, 1)])
        first, second = first + v.sum(axis=0), second + v.T @ v
    s = released_sums(family.blocks, jnp.asarray(first), jnp.asarray(second))
    noise = Noise("laplace", jnp.full(s.shape, float(b)), jnp.full(s.shape, 2.0**-20))
    return theta, Released(s + b * jax.random.laplace(jax.random.key(seed), s.shape), noise, jnp.asarray(float(n)))


def against_columns(d, design, n, epsilon=1.0, chains=4, warmup=WARMUP, releases=1):
    """d coefficients, ε = 1: several chains, and whether the intervals of the truth cover it,
    in one release or more; the rest is of the first.
    """
    family = family_of(d)
    prior = check_prior(family, NormalInverseGamma(0.0, 1.0, 20.0, 0.5))
    b, row, covered = family.sensitivity() / epsilon, {}, []
    for seed in range(11, 11 + releases):
        theta, released = simulated(family, prior, n, b, seed) if design == "free" else correlated(family, n, b, seed)
        start = time.perf_counter()
        kernel = exact_kernel(family, released, prior)
        states, infos = run_chains(jax.random.key(1), kernel, draws=DRAWS, warmup=warmup, chains=chains)
        x = jax.block_until_ready(draws_of(states.theta))
        seconds = time.perf_counter() - start
        truth = np.append(np.asarray(theta["coefficients"]), float(theta["noise_variance"]))
        low, high = np.quantile(x.reshape(-1, d + 1), [0.025, 0.975], axis=0)
        covered.append(float(((low <= truth) & (truth <= high)).mean()))
        row = row or {**diagnosed(x, infos), **searched(*kernel.init.args),
                      "sd / prior sd of a slope": float(x.std((0, 1))[0])
                      / float(np.sqrt(prior.scale / (prior.shape - 1))), "seconds, with compilation": seconds,
                      "peak memory, GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
    return {**row, "warm-up": warmup, "releases": releases, "truth covered": float(np.mean(covered)),
            "least covered in a release": min(covered)}


def diagnosed(x, infos):
    "What chains say of themselves."
    sizes = [[float(az.ess(chain[None, :, j], method="bulk")) for j in range(x.shape[-1])] for chain in x]
    return {"least ESS of 400": float(np.min(sizes)), "rhat": float(max(az.rhat(x[..., j])
        for j in range(x.shape[-1]))), "leapfrogs": float(infos["leapfrogs"].mean()),
            "diverging": float(infos["diverging"].mean()), "least moved": float(infos["moved"].mean(-1).min())}


def searched(setting):
    """How far from the mode the search ended, and the curvature there, scaled to a unit diagonal:
    its least and largest eigenvalue.
    """
    problem = setting.problem
    H = np.asarray(jax.jit(curvature)(bind(log_law, problem), problem.seen, problem.weight, setting.mode.w)[2])
    scale = np.sqrt(np.abs(np.diag(H)))
    e = np.linalg.eigvalsh(H / scale / scale[:, None])
    return {"decrement": float(setting.mode.decrement), "least scaled curvature": float(e[0]),
            "largest scaled curvature": float(e[-1])}


def main(columns):
    if not columns:
        record("regression", {**against_gibbs(), **against_n()},
               "exact sampler of a regression; targets: 15 times gibbs_update at n = 1000, b = 24; cost within 10 "
               "times from n = 10 to 1e6")
    rows = recorded("regression_columns")
    for d in columns or (5, 10, 20, 50):
        for design in ("free", "correlated") if d <= 20 else ("correlated",):
            n, *sizes = (100_000, 4, WARMUP, 5) if d <= 20 else (1_000_000, 2, 2 * WARMUP, 1)
            name = f"d = {d}, {design} covariates, n = {n:.0e}, epsilon = 1"
            rows[name] = against_columns(d, design, n, 1.0, *sizes)
            print(name, rows[name], flush=True)
    record("regression_columns", rows,
           "exact sampler of a regression against the number of coefficients, Laplace noise; target: an ESS of 100 in "
           "400 draws at d = 20")


if __name__ == "__main__":
    main([int(d) for d in sys.argv[1:]])
