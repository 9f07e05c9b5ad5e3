"""How many programs the first fit of a fresh process compiles: a few, and each of them large enough to be worth it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dp_bayes_nb

CODE = """
import sys, warnings
import jax
import dp_bayes_nb as d
warnings.simplefilter("ignore")
release = d.Release.from_json(sys.stdin.read())
found = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **more: found.append(event) if event == "/jax/core/compile/backend_compile_duration" else None)
idata = d.fit(release, eval(sys.argv[1]), draws=60, chains=2, progress=False)
assert set(release.family.parameters) <= set(idata.posterior)
print(len(found))
"""
TWO = 'd.NormalInverseGamma(50.0, 0.1, 2.0, 200.0)'
OWN = ('d.LogDensity(lambda t: -t["shape"] - 20 * t["rate"], '
       'lambda key: dict(zip(("shape", "rate"), jax.random.exponential(key, (2,)))))')
FITS = {  # family, parameters, n, prior, how many: the prior, and the moments; for few records simulated sums besides
    "two unknowns": (dp_bayes_nb.Normal((0, 100)), {"mean": 40.0, "variance": 200.0}, 1000, TWO, 2),
    "few records": (dp_bayes_nb.Normal((0, 100)), {"mean": 40.0, "variance": 200.0}, 30, TWO, 4),
    "own prior": (dp_bayes_nb.GammaData((1, 100)), {"shape": 2.0, "rate": 0.05}, 1000, OWN, 3),  # its `sample`, too
    "varied counts": (dp_bayes_nb.NegativeBinomial((0, 15)), {"mean": 3.0, "size": 2.0}, 1000, "None", 2),
}


def programs(release, prior):
    "How many programs a fresh process compiles for a fit."
    root = str(Path(dp_bayes_nb.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", CODE, prior], input=release.to_json(), capture_output=True, text=True,
                          timeout=600, env={**os.environ, "PYTHONPATH": root, "JAX_PLATFORMS": "cpu"})
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout)


@pytest.mark.parametrize("name", ["two unknowns", *(pytest.param(name, marks=pytest.mark.slow)
                                                    for name in FITS if name != "two unknowns")])
def test_a_first_fit_compiles_few_programs(name):
    family, theta, n, prior, most = FITS[name]
    release = dp_bayes_nb.simulate_release(3, family, theta, n, 1.0)[1]
    assert programs(release, prior) <= most
