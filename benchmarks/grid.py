"""What the exact posterior of a count costs as the table grows: nothing in n is summed, so it should stay flat."""

import jax
import jax.numpy as jnp
import numpy as np
from table import interleave, record

from dp_bayes_nb.collapsed import grid_posterior
from dp_bayes_nb.core import Noise, Released
from dp_bayes_nb.families import Bernoulli
from dp_bayes_nb.priors import Beta
from dp_bayes_nb.tilting import noisy_binomial_log_pmf

EPSILON, SHARE, ROUNDS = 0.01, 0.3, 15
SIZES = [10.0**k for k in range(2, 9)]
# Beyond a million records `fit` uses the normal sum; the exact law is clocked there too, to show its cost.
METHODS = {"exact": True, "collapsed": False}
one_likelihood = jax.jit(noisy_binomial_log_pmf)


def main():
    calls = {}
    for n in SIZES:
        noise = Noise("laplace", jnp.array([1 / EPSILON]), jnp.array([1.0]))
        released = Released(jnp.array([round(SHARE * n) + 17.0]), noise, jnp.asarray(n))
        calls["likelihood", n] = lambda r=released: one_likelihood(r.z[0], jnp.log(SHARE / (1 - SHARE)), r.n, r.noise.scale[0], r.noise.grid[0])
        for name, exact in METHODS.items():
            calls[name, n] = lambda r=released, exact=exact: grid_posterior(Bernoulli(), r, Beta(10.0, 10.0), exact)
    for call in calls.values():
        jax.block_until_ready(call())  # compile
    times = interleave(calls, ROUNDS)
    base = {name: times[name, SIZES[0]][:, 0] for name in ("likelihood", *METHODS)}
    rows = {f"n = {n:.0e}": {
        **{f"{name}, ms": 1e3 * float(np.median(times[name, n][:, 0])) for name in base},
        **{f"{name}, times n = 100": float(np.median(times[name, n][:, 0] / base[name])) for name in base}} for n in SIZES}
    record("grid", rows, "one exact likelihood, and the whole tabulated posterior, against the number of records")


if __name__ == "__main__":
    main()
