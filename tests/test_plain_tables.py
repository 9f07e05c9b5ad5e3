"""Regressions from tables without names and units: the plain model that programs see is the model itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dp_bayes_nb as d
from dp_bayes_nb.base.checks import assert_close, must_fail

COVARIATES = {"age": (18, 90), "region": ["north", "south", "west"], "pay": (-3, 900)}
CROSSED = {"knots": 3, "interactions": [("age", "region"), ("age", "pay")]}
REGRESSIONS = {
    "LogisticRegression": ("ill", ["no", "yes"]), "OrderedLogistic": ("health", ["poor", "fair", "good"]),
    "MultinomialLogistic": ("way", ["car", "bus", "train"]), "PoissonRegression": ("visits", (0, 5)),
    "NegativeBinomialRegression": ("visits", (0, 5)),
}


def same_posterior(model, prior, plain, its_prior, back):
    "Moments at the same parameters, and prior densities but for a constant: at three draws of the prior."
    away = []
    for key in jax.random.split(jax.random.key(0), 3):
        theta = prior.sample(key)
        there = model.to_plain(theta)
        assert there.keys() == plain.parameters.keys()
        for name, value in back(there).items():
            assert_close(np.asarray(value), np.asarray(theta[name]), rtol=1e-6)
        for one, other in zip(model.moments(theta), plain.moments({k: jnp.asarray(v) for k, v in there.items()})):
            assert_close(np.asarray(other), np.asarray(one), rtol=1e-7, atol=1e-9)
        away.append(float(prior.log_density(theta) - its_prior.log_density(there)))
    assert np.ptp(away) < 1e-6 * max(1.0, abs(away[0])), away


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_regression_without_names_and_units_is_the_same(name):
    model = getattr(d, name)(REGRESSIONS[name], COVARIATES, **CROSSED)
    prior = model.accept(None)
    plain, its_prior = model.plain(prior)
    assert "age" not in repr(plain) and "90" not in repr(plain) and plain != model
    same_posterior(model, prior, plain, its_prior, model.from_plain)
    if name == "OrderedLogistic":  # thresholds left where they are in the middle of the ranges
        wrong = lambda there: {**model.from_plain(there), "thresholds": there["thresholds"]}
        must_fail(lambda: same_posterior(model, prior, plain, its_prior, wrong), "thresholds in the middle")
    other = getattr(d, name)(REGRESSIONS[name], {"a": (0, 1), "b": ["x", "y", "z"], "c": (5, 6)}, knots=3,
                             interactions=[("a", "b"), ("a", "c")])
    assert other.plain(other.accept(None))[0] == plain


def test_classes_of_others_keep_their_names_and_units():
    class Mine(d.LogisticRegression):
        pass
    model = Mine(("ill", ["no", "yes"]), {"age": (18, 90), "region": ["north", "south"]}, knots=3)
    assert model.plain(model.accept(None))[0] is model
