"""Programs that first fits compile, in a fresh process; other names, bounds, levels and prior numbers compile none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dp_bayes_nb

COUNTED = """
import json, sys, warnings
import jax
import jax.numpy as jnp
import numpy as np
import dp_bayes_nb as d
warnings.simplefilter("ignore")
compiled, found = [], {}
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **more: compiled.append(more.get("fun_name", "")) if event.endswith("backend_compile_duration")
    else None)
for name, code in json.loads(sys.stdin.read()).items():
    exec(code)
    for which in (0, 1):
        release, options = made(which)
        del compiled[:]
        idata = d.fit(release, progress=False, **{"draws": 50, "warmup": 50, "chains": 2} | options)
        found.setdefault(name, []).append(list(compiled))
print(json.dumps(found))
"""
# `made(0)` is the first fit, `made(1)` one of other names, bounds, levels and numbers
SHARE = """
def made(which):
    return d.declare(d.Bernoulli("ill" if which else "x"), [300.0 + which], n=900, noise=d.Laplace(scale=9.0),
                     source="made up"), {}
"""
CATEGORIES = """
def made(which):
    model = d.Categorical(7 if which else list("abcdefg"), "x" * (1 + which))
    return d.declare(model, [90, 130, 40, 7, 0, 400, 333 - which], noise=d.Laplace(scale=2.0, discrete=True), n=1000,
                     source="made up"), {}
"""
TRACT = """
def made(which):
    names = ["white alone", "one race, not white", "two or more races"] if which else list("abc")
    return d.declare(d.Counts(names), [1773.9 + which, 1652.04, 1385.23], matrix=[[1, 1, 1], [1, 1, 0], [1, 0, 0]],
                     noise=d.Gaussian(sd=[1.64, 5.51, 2.34]), source="made up"), {}
"""
HISTOGRAM = """
def made(which):
    model = d.Histogram(range(0, 101, 5) if which else np.arange(21) ** 1.5, "minutes" if which else "cost")
    values = [*np.random.default_rng(which).multinomial(3000, np.ones(22) / 22), 3000.0]
    return d.declare(model, values, noise=d.Laplace(scale=4.0), n=3000, source="made up"), {}
"""
POOLED_SHARES = """
def made(which):
    rng = np.random.default_rng(which)
    n = np.round(np.exp(rng.uniform(3, 7, 20)))
    model = d.Grouped(d.Bernoulli("ill" if which else "x"), "region", [f"{which}{i}" for i in range(20)],
                      sizes="public")
    z = rng.binomial(n.astype(int), 0.3)
    return d.declare(model, z, noise=d.Laplace(scale=2.0, discrete=True), n=n, source="made up"), {"pool": "partial"}
"""
RATE = """
def made(which):
    model = d.Poisson((0, 20 + 5 * which), "visits" if which else "calls")
    prior = d.Gamma(1 + which, 1)
    return d.declare(model, [2500.0], n=500, noise=d.Laplace(scale=20.0), source="made up"), {"prior": prior}
"""
POOLED_RATES = """
def made(which):
    model = d.Exponential((0, 20 + which), "wait" * (1 + which))
    tables = [d.declare(model, [z], noise=d.Laplace(scale=20.0), n=n, source=f"{which}{n}")
              for z, n in ((300.0, 80), (1300.0, 250), (90.0, 30))]
    return tables, {"pool": "partial"}
"""
TWO_UNKNOWNS = """
def made(which):
    model = d.Normal((0, 100 + 50 * which), column="weight" if which else "x")
    prior = d.NormalInverseGamma(50.0 + which, 0.1, 2.0, 200.0)
    return d.simulate_release(model, {"mean": 40.0, "variance": 200.0}, 1000, 1.0, seed=3), {"prior": prior}
"""
VARIED = """
def made(which):
    model = d.NegativeBinomial((0, 15), "visits" if which else "calls")
    return d.simulate_release(model, {"mean": 3.0 + which, "size": 2.0}, 1000, 1.0, seed=3), {}
"""
REGRESSION = """
def made(which):
    names, low, high = (("age", "dose", "wage"), -2.0, 5.0) if which else (("a", "b", "y"), -1.0, 1.0)
    limits = {names[0]: (low, high), names[1]: (2 * low, 3 * high)}
    plane = d.LinearRegression(limits, {names[2]: (10 * low, 20 * high)})
    theta = {"coefficients": [0.5, -0.2, 0.1], "noise_variance": 0.3}
    prior = d.NormalInverseGamma([0.3 * which] * 3, [1.0 + which] * 3, 3.0, 2.0 - which)
    return d.simulate_release(plane, theta, 400, 1.0, seed=1 + which), {"prior": prior}
"""
LOG_LINEAR = """
def made(which):
    names = {"age": ["low", "high"], "g": ["1", "2", "3"]} if which else {"a": ["x", "y"], "b": ["u", "v", "w"]}
    model = d.LogLinear(names, 2)
    theta = {name: np.zeros(p.shape) for name, p in model.parameters.items()}
    return d.simulate_release(model, theta, 5000, 1.0, seed=1), {"draws": 10, "warmup": 10}
"""
LOGISTIC = """
def made(which):
    columns = (("sick", ["n", "y"]), {"pay": [0, 9000], "g": ["f", "m"]}) if which else (
        ("ill", ["no", "yes"]), {"age": [18, 90], "r": ["a", "b"]})
    model = d.LogisticRegression(*columns, knots=3)
    theta = {name: np.zeros(p.shape) for name, p in model.parameters.items()}
    return d.simulate_release(model, theta, 5000, 1.0, seed=1), {"draws": 10, "warmup": 10}
"""
ANOTHER_SHAPE = RATE.replace("(0, 20 + 5 * which)", "(which, 20)")
TOGETHER = {  # fits of one process, those first that compile nothing, and how many programs each may compile at first
    "tables and curves": {
        "share": (SHARE, 0), "categories": (CATEGORIES, 0), "tract": (TRACT, 0), "histogram": (HISTOGRAM, 0),
        "pooled shares": (POOLED_SHARES, 0), "rate": (RATE, 4), "two unknowns": (TWO_UNKNOWNS, 3),
        "varied counts": (VARIED, 3), "pooled rates": (POOLED_RATES, 3)},
    "regression": {"regression": (REGRESSION, 9)},
    "models of tables": {"log-linear": (LOG_LINEAR, 8), "logistic": (LOGISTIC, 9)},
}


def programs(codes: dict) -> dict:
    "Names of the programs that the fits of a fresh process compile: {name: [those of the first, those of the other]}."
    root = str(Path(dp_bayes_nb.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", COUNTED], input=json.dumps(codes), capture_output=True, text=True,
                          timeout=600, env={**os.environ, "PYTHONPATH": root, "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("together", [pytest.param(name, marks=pytest.mark.slow) if name == "models of tables" else name
                                      for name in TOGETHER])
def test_first_fits_compile_few_programs_and_other_declarations_none(together):
    "The mutant, after the curves: a count that may be below the bounds is another program."
    codes = {name: code for name, (code, _) in TOGETHER[together].items()}
    found = programs(codes | ({"another shape": ANOTHER_SHAPE} if "rate" in codes else {}))
    for name, (_, most) in TOGETHER[together].items():
        first, other = found[name]
        assert len(first) <= most and not other, (name, first, other)
    if "rate" in codes:
        assert "jit(_moments)" in found["rate"][0] and "jit(_moments)" in found["another shape"][1], found
