"""What a posterior costs as the table grows: nothing in n is summed, so one likelihood, and the tabulated posterior,
should stay flat.
"""

import jax
import jax.numpy as jnp
import numpy as np
from table import interleave, record

from dp_bayes_nb.base.checks import release_of
from dp_bayes_nb.curves.grid import grid_posterior, log_likelihood
from dp_bayes_nb.models.conjugate_priors import Gamma
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.noise.design import noise_design
from dp_bayes_nb.base.priors import Beta
from dp_bayes_nb.models.rates import Exponential, Poisson

EPSILON, ROUNDS = 0.01, 15
SIZES = [10.0**k for k in range(2, 9)]
# Family, prior, true parameter, and whether the family's exact law is used.
MODELS = {
    "exact count": (Bernoulli(), Beta(10.0, 10.0), {"probability": 0.3}, True),
    "normal count": (Bernoulli(), Beta(10.0, 10.0), {"probability": 0.3}, False),
    "clipped waiting times": (Exponential((0.025, 3.69)), Gamma(10.0, 10.0), {"rate": 1.0}, False),
    "clipped counts": (Poisson((1, 10)), Gamma(20.0, 4.0), {"rate": 5.0}, False),
}
one_likelihood = jax.jit(log_likelihood, static_argnames="exact")


def main():
    calls = {}
    for name, (family, prior, theta, exact) in MODELS.items():
        theta, prior = jax.tree.map(jnp.asarray, theta), check_prior(family, prior)
        noise, _ = noise_design(family, epsilon=EPSILON)
        for n in SIZES:
            z = n * float(family.moments(theta)[0][0]) + 17.0
            released = release_of(z, noise.scale[0], n, grid=noise.grid[0])
            calls[name, "likelihood", n] = lambda f=family, r=released, t=theta, e=exact: one_likelihood(f, r, t, e)
            calls[name, "posterior", n] = lambda f=family, r=released, p=prior, e=exact: grid_posterior(f, r, p, e)
    for call in calls.values():
        jax.block_until_ready(call())  # compile
    times = interleave(calls, ROUNDS)
    rows = {}
    for name in MODELS:
        for n in SIZES:
            ms = {part: 1e3 * times[name, part, n][:, 0] for part in ("likelihood", "posterior")}
            base = {part: 1e3 * times[name, part, SIZES[0]][:, 0] for part in ms}
            rows[f"{name}, n = {n:.0e}"] = {**{f"{part}, ms": float(np.median(ms[part])) for part in ms},
                                            **{f"{part}, times n = 100": float(np.median(ms[part] / base[part]))
                                               for part in ms}}
    record("grid", rows, "one likelihood, and the whole tabulated posterior, against the number of records")


if __name__ == "__main__":
    main()
