"""How many programs a first fit compiles, and that other names, bounds and prior numbers compile none."""

import subprocess
import sys

FITS = """
import warnings
warnings.simplefilter("ignore")
import jax
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: compiled.append(event) if event.endswith("backend_compile_duration") else None)
import dp_bayes_nb as d
from dp_bayes_nb.posterior.fit import posterior_draws

def programs(release, prior):
    before = len(compiled)
    posterior_draws(release, prior, draws=50, warmup=50, chains=2, progress=False)
    return len(compiled) - before
"""


def programs(code: str) -> list[int]:
    "How many programs are compiled in a process of its own, as the code prints them."
    done = subprocess.run([sys.executable, "-c", FITS + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


REGRESSION = """
def release(a, b, y, low, high, seed):
    plane = d.LinearRegression({a: (low, high), b: (2 * low, 3 * high)}, {y: (10 * low, 20 * high)})
    return d.simulate_release(seed, plane, {"coefficients": [0.5, -0.2, 0.1], "noise_variance": 0.3}, 400, 1.0)[1]

def prior(mean, precision, scale):
    return d.NormalInverseGamma([mean] * 3, [precision] * 3, 3.0, scale)

made = [release("a", "b", "y", -1.0, 1.0, 1), release("age", "dose", "wage", -2.0, 5.0, 2)]
print(programs(made[0], prior(0.0, 1.0, 2.0)), programs(made[1], prior(0.3, 2.5, 1.0)))
"""


def test_a_first_regression_compiles_few_programs_and_others_none():
    first, other = programs(REGRESSION)
    assert first <= 10 and other == 0  # three of them large: the search of the mode, starts, and a piece of all chains


def test_another_shape_is_noticed():
    "The mutant: a category has other columns, and needs programs of its own."
    code = REGRESSION + """
plane = d.LinearRegression({"a": (-1, 1), "g": ["x", "y", "z"]}, {"y": (-3, 3)})
theta = {"coefficients": [0.5, -0.2, 0.1, 0.0], "noise_variance": 0.3}
print(programs(d.simulate_release(3, plane, theta, 400, 1.0)[1], d.NormalInverseGamma([0.0] * 4, [1.0] * 4, 3.0, 1.0)))
"""
    assert programs(code)[-1] > 0
