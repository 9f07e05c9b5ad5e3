"""Programs of a first fit, in a fresh process; other names, texts and bounds compile nothing more."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dp_bayes_nb as d
from dp_bayes_nb.base.checks import assert_close, must_fail

COUNTED = """
import json, sys, warnings
import jax, jax.monitoring
import numpy as np
import dp_bayes_nb as d
warnings.simplefilter("ignore")
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **more: compiled.append(seconds) if event.endswith("backend_compile_duration") else None)
counts = []
for spoken in json.loads(sys.argv[1]):
    model = getattr(d, spoken["family"])(*spoken["declared"], **spoken.get("more", {}))
    theta = {name: np.zeros(p.shape) for name, p in model.parameters.items()}
    released = d.simulate_release(1, model, theta, 5000, 1.0)[1]
    compiled.clear()
    d.fit(released, draws=10, warmup=10, chains=2, progress=False)
    counts.append(len(compiled))
print(json.dumps(counts))
"""
FITS = {  # a fit, the same with other names, texts and bounds, and the most programs of the first
    "log-linear": ([{"family": "LogLinear", "declared": [{"a": ["x", "y"], "b": ["u", "v", "w"]}, 2]},
                    {"family": "LogLinear", "declared": [{"age": ["low", "high"], "g": ["1", "2", "3"]}, 2]}], 8),
    "logistic": ([{"family": "LogisticRegression", "more": {"knots": 3},
                   "declared": [["ill", ["no", "yes"]], {"age": [18, 90], "r": ["a", "b"]}]},
                  {"family": "LogisticRegression", "more": {"knots": 3},
                   "declared": [["sick", ["n", "y"]], {"pay": [0, 9000], "g": ["f", "m"]}]}], 9),
}


@pytest.mark.parametrize("name", FITS)
def test_a_first_fit_compiles_few_programs_and_another_declaration_none(name):
    declared, most = FITS[name]
    said = subprocess.run([sys.executable, "-c", COUNTED, json.dumps(declared)], check=True, capture_output=True,
                          text=True, timeout=500).stdout
    first, other = json.loads(said.splitlines()[-1])
    assert 0 < first <= most and other == 0, (first, other)


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
