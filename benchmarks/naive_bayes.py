"""One posterior of a private naive Bayes model with two classes and ten features, by each method."""

import jax
import jax.numpy as jnp
import numpy as np
from table import clock, interleave, record

from dp_bayes_nb.base.chains import run_chains
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.ways.methods import choose_method
from dp_bayes_nb.naive_bayes.model import NaiveBayes
from dp_bayes_nb.releases.simulate import simulate_release

N, EPSILON, ROUNDS, CHAINS, DRAWS = 10_000, 1.0, 5, 4, 1000
FAMILY = NaiveBayes(("class", 2), {f"x{k}": 2 for k in range(10)})


def posterior(made, prior, method):
    "Draws as `fit` makes them, without ArviZ."
    _, chosen = choose_method(FAMILY, prior, made.noise.kind, made.n, method)
    warmup = 0 if chosen.independent(FAMILY) else DRAWS
    kernel = chosen.kernel(FAMILY, made.released, prior)
    return run_chains(jax.random.key(0), kernel, draws=DRAWS, warmup=warmup, chains=CHAINS)[0].theta


def main():
    import arviz as az

    prior = check_prior(FAMILY, None)
    theta = jax.tree.map(jnp.asarray, prior.sample(jax.random.key(1)))
    made = simulate_release(FAMILY, theta, N, EPSILON, seed=jax.random.key(2))
    calls = {method: lambda m=method: posterior(made, prior, m) for method in ("naive", "variational", "collapsed")}
    first = {name: clock(call)[0] for name, call in calls.items()}
    times = interleave(calls, ROUNDS)
    rows = {}
    for name, t in times.items():
        draws = np.asarray(calls[name]()["class_probabilities"][..., 0])
        rows[name] = {"s": float(np.median(t[:, 0])), "processor s": float(np.median(t[:, 1])), "target, s": 1.0,
                      "first call with compilation, s": first[name], "ESS/draw": float(az.ess(draws)) / draws.size}
    record("naive_bayes", rows,
           f"two classes, ten features of two levels, n = {N}, epsilon = {EPSILON:g}; {CHAINS} chains of {DRAWS} "
           f"draws, "
           "the sampler's after as many of warm-up")


if __name__ == "__main__":
    main()
