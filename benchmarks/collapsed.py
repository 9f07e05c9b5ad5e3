"""Effective draws per second: integrating the sum out, against Algorithm 1."""

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
from table import clock, interleave, record

from dp_bayes_nb.collapsed import collapsed_kernel, grid_kernel
from dp_bayes_nb.core import Noise, Released, run_chains
from dp_bayes_nb.families import Bernoulli, Categorical
from dp_bayes_nb.gibbs import gibbs_kernel
from dp_bayes_nb.priors import Beta, Dirichlet

CHAINS, DRAWS, ROUNDS = 100, 2500, 3
CELLS = [(1e4, 0.001), (1e5, 1.0)]  # noise larger than the data's own spread by far; hardly any noise
MODELS = {
    "Bernoulli": (Bernoulli(), Beta(10.0, 10.0), 1.0),
    "Categorical(3)": (Categorical(3), Dirichlet(jnp.full(3, 10.0)), 2.0),  # changing one record moves two counts
}


def simulated(family, prior, sensitivity, n, epsilon):
    "A release drawn from the model."
    key_theta, key_s, key_noise = jax.random.split(jax.random.key(7), 3)
    s = family.simulate(key_s, prior.sample(key_theta), n)
    b = jnp.full(s.shape, sensitivity / epsilon)
    return Released(s + jnp.round(b * jax.random.laplace(key_noise, s.shape)), Noise("laplace", b, jnp.ones(s.shape)), jnp.asarray(n))


def methods(family):
    "Kernels to compare, built anew at every call: the grid is tabulated within the time."
    kernels = {"gibbs": gibbs_kernel, "collapsed": collapsed_kernel}
    if isinstance(family, Bernoulli):
        kernels["exact"] = lambda *args: grid_kernel(*args, exact=True)
    return kernels


def is_independent(family, name):
    return isinstance(family, Bernoulli) and name != "gibbs"


def effective(family, name, theta):
    "Effective draws: all, where draws are independent; else ArviZ's bulk size of the slowest component."
    if is_independent(family, name):
        return float(CHAINS * DRAWS)
    (values,) = theta.values()
    return float(np.min(az.ess(np.asarray(values), method="bulk") if values.ndim == 2 else
                        [az.ess(np.asarray(values[..., j]), method="bulk") for j in range(values.shape[-1])]))


def main():
    rows = {}
    for model, (family, prior, sensitivity) in MODELS.items():
        first = {}
        for n, epsilon in CELLS:
            released = simulated(family, prior, sensitivity, n, epsilon)

            def run(kernel, warmup=0):
                "Draws only: warm-up is given to Algorithm 1 for nothing. One length, so one compilation."
                return run_chains(jax.random.key(1), kernel(family, released, prior), draws=DRAWS, warmup=warmup, chains=CHAINS)[0].theta  # noqa: B023 (called in this round only)

            kernels, sizes = methods(family), {}
            for name, kernel in kernels.items():
                if name not in first:
                    first[name], _ = clock(lambda: run(kernel))  # noqa: B023
                sizes[name] = effective(family, name, run(kernel, 0 if is_independent(family, name) else DRAWS))
            times = interleave({name: (lambda k=kernel: run(k)) for name, kernel in kernels.items()}, ROUNDS)
            for name, t in times.items():
                ratio = np.median(times["gibbs"][:, 0] / t[:, 0]) * sizes[name] / sizes["gibbs"]
                rows[f"{model}, n = {n:.0e}, epsilon = {epsilon:g}, {name}"] = {
                    "ESS/draw": sizes[name] / (CHAINS * DRAWS), "ESS/s": sizes[name] / float(np.median(t[:, 0])),
                    "times gibbs": float(ratio), "compilation, s": max(0.0, first[name] - float(np.median(t[:, 0])))}
    record("collapsed", rows, f"effective draws per second of sampling, {CHAINS} chains of {DRAWS}; target: 100 times gibbs at epsilon = 0.001")


if __name__ == "__main__":
    main()
