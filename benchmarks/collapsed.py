"""Effective draws per second: integrating the sum out, against Algorithm 1."""

from functools import partial

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
from table import clock, interleave, record

from dp_bayes_nb.chains.collapsed import collapsed_kernel
from dp_bayes_nb.curves.grid import grid_kernel
from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.base.measurement import Noise, Released
from dp_bayes_nb.models.counts import Bernoulli, Categorical
from dp_bayes_nb.chains.gibbs import gibbs_kernel
from dp_bayes_nb.base.priors import Beta, Dirichlet

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
    return Released(s + jnp.round(b * jax.random.laplace(key_noise, s.shape)), Noise("laplace", b, jnp.ones(s.shape)),
                    jnp.asarray(n))


def methods(family):
    "Kernels to compare."
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


def compare(family, prior, released):
    "Effective draws, wall seconds of the rounds and seconds of compilation, by method."
    kernels = methods(family)
    built, first, sizes = {}, {}, {}

    def run(name, warmup=0):
        """Prepare (tabulate the grid, find the mode), then draw with the kernel built before, which is compiled.

        Warm-up is given to Algorithm 1 for nothing; it is as long as the draws, so one program serves both.
        """
        jax.block_until_ready(kernels[name](family, released, prior).step)
        return run_chains(jax.random.key(1), built[name], draws=DRAWS, warmup=warmup, chains=CHAINS)[0].theta

    for name, kernel in kernels.items():
        # called now, so the names are those of this round
        building, _ = clock(lambda: built.setdefault(name, kernel(family, released, prior)).step)  # noqa: B023
        drawing, _ = clock(partial(run, name))
        first[name] = building + drawing
        sizes[name] = effective(family, name, run(name, 0 if is_independent(family, name) else DRAWS))
    times = {name: t[:, 0] for name, t in interleave({name: partial(run, name) for name in kernels}, ROUNDS).items()}
    return sizes, times, {name: max(0.0, first[name] - float(np.median(t))) for name, t in times.items()}


def main():
    rows = {}
    for model, (family, prior, sensitivity) in MODELS.items():
        for n, epsilon in CELLS:
            sizes, times, compilation = compare(family, prior, simulated(family, prior, sensitivity, n, epsilon))
            for name, t in times.items():
                row = {"ESS/draw": sizes[name] / (CHAINS * DRAWS), "ESS/s": sizes[name] / float(np.median(t)),
                       "times gibbs": float(np.median(times["gibbs"] / t)) * sizes[name] / sizes["gibbs"]}
                if (n, epsilon) == CELLS[0]:  # later cells reuse the programs
                    row["compilation, s"] = compilation[name]
                rows[f"{model}, n = {n:.0e}, epsilon = {epsilon:g}, {name}"] = row
    record("collapsed", rows,
           f"effective draws per second of sampling, {CHAINS} chains of {DRAWS}; target: 100 times gibbs at epsilon = "
           f"0.001")


if __name__ == "__main__":
    main()
