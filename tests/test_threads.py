"""No program of a sampler gives LAPACK a batch of matrices that jaxlib divides among threads: its own threads wait,
and with two cores two such batches in one program waited for each other for ever.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dp_bayes_nb as d
from dp_bayes_nb.base.checks import batched_operations
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.ways.methods import choose_method
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.releases.simulate import simulate_release

DIVIDED, CHAINS = 200_000, 64
NUMBERS = {f"x{j}": (-1.0, 1.0) for j in range(8)}
MODELS = {  # with many sums: model, true parameter (None: drawn), prior
    "20 normal columns": (d.MultivariateNormal({f"x{j}": (-2, 2) for j in range(20)}),
                          {"mean": np.zeros(20), "covariance": np.eye(20)}, None),
    "40 categories": (d.Categorical(40), {"probabilities": np.full(40, 1 / 40)}, None),
    "regression on eight columns": (d.LinearRegression(NUMBERS, {"y": (-3.0, 3.0)}),
                                    {"coefficients": np.full(9, 0.1), "noise_variance": 0.3},
                                    d.NormalInverseGamma(np.zeros(9), 1.0, 3.0, 2.0)),
    "tables of five columns": (d.LogLinear({name: 3 for name in "abcde"}, margins=2), None, None),
    "a mixture": (d.NormalMixture(range(40, 100, 2)), None, None),
}

QUICK = ("40 categories", "tables of five columns")


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
                                  for name in MODELS])
def test_chains_side_by_side_leave_no_batch_to_the_threads_of_jaxlib(name):
    model, theta, prior = MODELS[name]
    prior = check_prior(model, prior)
    theta = prior.sample(jax.random.key(3)) if theta is None else theta
    release = simulate_release(model, theta, 2000, 1.0, seed=1)
    seen = jax.tree.map(jnp.asarray, measured(release))
    _, method = choose_method(model, prior, "laplace", 2000, "auto")
    kernel = method.kernel(model, seen, model.designed_prior(prior, 2000.0, seen.noise))
    keys = jax.random.split(jax.random.key(0), CHAINS)
    start, states = jax.make_jaxpr(jax.vmap(kernel.init), return_shape=True)(keys)
    assert batched_operations(start) < DIVIDED
    assert batched_operations(jax.vmap(kernel.step), keys, states) < DIVIDED
