"""A calibration of a thousand trials with a thousand draws each, beside the same trials one at a time."""

import jax
import jax.numpy as jnp
import numpy as np
from table import clock, interleave, record

from dp_bayes_nb.conjugate_priors import Gamma
from dp_bayes_nb.core import run_chains
from dp_bayes_nb.evaluation import calibrate
from dp_bayes_nb.families import Bernoulli, check_prior
from dp_bayes_nb.fit import choose_method, fit
from dp_bayes_nb.priors import Beta
from dp_bayes_nb.release import simulate_release
from dp_bayes_nb.rates import Exponential, Geometric, Poisson

TRIALS, DRAWS, ROUNDS, LOOP = 1000, 1000, 2, 5
DESIGN = dict(n=1000, epsilon=0.1)
MODELS = {
    "Bernoulli": (Bernoulli(), Beta(10.0, 10.0)),
    "Exponential, clipped": (Exponential((0.025, 3.69)), Gamma(10.0, 10.0)),
    "Poisson, clipped": (Poisson((1, 10)), Gamma(20.0, 4.0)),
    "Geometric, clipped": (Geometric((0, 5)), Beta(8.0, 8.0)),
}


def loop(family, prior, posterior):
    "A few trials, one after the other: truth, release, posterior, rank."
    ranks = []
    for key in jax.random.split(jax.random.key(1), LOOP):
        key_theta, key_release = jax.random.split(key)
        theta = prior.sample(key_theta)
        _, made = simulate_release(key_release, family, theta, **DESIGN)
        (name,) = theta
        ranks.append(np.sum(posterior(made)[name] < theta[name]))
    return jnp.asarray(ranks)


def by_fit(prior):
    "Draws as a user gets them."
    def posterior(made):
        found = fit(made, prior, draws=DRAWS, chains=1, warmup=0, progress=False).posterior
        return {name: found[name].values for name in found.data_vars}
    return posterior


def by_kernel(prior):
    "Draws alone: compiled, without ArviZ."
    def posterior(made):
        _, method = choose_method(made.family, prior, made.noise.kind, made.n, "auto")
        kernel = method.kernel(made.family, made.released, prior)
        return run_chains(jax.random.key(0), kernel, draws=DRAWS, warmup=0, chains=1)[0].theta
    return posterior


def main():
    import logging
    import warnings

    warnings.simplefilter("ignore", UserWarning)
    logging.getLogger("arviz").setLevel(logging.ERROR)
    rows = {}
    for name, (family, prior) in MODELS.items():
        prior = check_prior(family, prior)
        calls = {
            "calibrate": lambda f=family, p=prior: calibrate(0, f, p, **DESIGN, trials=TRIALS, draws=DRAWS).ranks,
            "fit": lambda f=family, p=prior: loop(f, p, by_fit(p)),
            "kernel": lambda f=family, p=prior: loop(f, p, by_kernel(p)),
        }
        first = {call: clock(function)[0] for call, function in calls.items()}
        wall = {call: t[:, 0] for call, t in interleave(calls, ROUNDS).items()}
        each = wall["calibrate"] / TRIALS
        rows[name] = {"first run with compilation, s": first["calibrate"], "s": float(np.median(wall["calibrate"])), "target, s": 60.0,
                      "trials/s": float(np.median(1 / each)), "trials/s of a loop over fit": float(np.median(LOOP / wall["fit"])),
                      "times the loop over fit": float(np.median(wall["fit"] / LOOP / each)),
                      "times a loop over compiled posteriors": float(np.median(wall["kernel"] / LOOP / each))}
    record("calibration", rows, f"{TRIALS} trials of {DRAWS} draws with the default method, n = 1000, epsilon = 0.1; "
           f"{jax.device_count()} device(s); loops measured over {LOOP} trials in the same rounds")


if __name__ == "__main__":
    main()
