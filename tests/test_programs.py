"""How many programs a first fit compiles: counted in a fresh process with an empty cache."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

COUNTED = """
import json, logging, sys
import jax, numpy as np
import dp_bayes_nb as dp
compiled = []
class Listener(logging.Handler):
    def emit(self, record):
        if record.getMessage().startswith("Finished XLA compilation of"):
            compiled.append(record.getMessage().split()[4])
jax.config.update("jax_log_compiles", True)
for name in ("jax._src.dispatch", "jax._src.interpreters.pxla", "jax._src.compiler"):
    logging.getLogger(name).addHandler(Listener())
    logging.getLogger(name).propagate = False
found = []
for which in (0, 1):
    release, options = made(which)
    del compiled[:]
    dp.fit(release, progress=False, **options)
    found.append(list(compiled))
print(json.dumps(found))
"""


def programs(made, folder):
    "Names of the programs that a first fit compiles, and of those of another fit: of other names, bounds and numbers."
    env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder), "JAX_PLATFORMS": "cpu"}
    before, after = COUNTED.split("found = []\n")
    code = "\n".join([before, textwrap.dedent(made), "found = []", after])
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


POOLED_SHARES = """
def made(which):
    rng = np.random.default_rng(which)
    n = np.round(np.exp(rng.uniform(3, 7, 20)))
    levels = [f"{which}{i}" for i in range(20)]
    model = dp.Grouped(dp.Bernoulli("ill" if which else "x"), "region", levels, sizes="public")
    z = rng.binomial(n.astype(int), 0.3)
    return dp.declare(model, z, noise=dp.Laplace(scale=2.0, discrete=True), n=n, source="made up"), {"pool": "partial"}
"""
POOLED_TABLES = """
def made(which):
    model = dp.Exponential((0, 20 + which), "wait" * (1 + which))
    tables = [dp.declare(model, [z], noise=dp.Laplace(scale=20.0), n=n, source=f"{which}{n}")
              for z, n in ((300.0, 80), (1300.0, 250), (90.0, 30))]
    return tables, {"pool": "partial"}
"""
HISTOGRAM = """
def made(which):
    model = dp.Histogram(range(0, 101, 5) if which else np.arange(21) ** 1.5, "minutes" if which else "cost")
    values = [*np.random.default_rng(which).multinomial(3000, np.ones(22) / 22), 3000.0]
    return dp.declare(model, values, noise=dp.Laplace(scale=4.0), n=3000, source="made up"), {}
"""
CATEGORIES = """
def made(which):
    model = dp.Categorical(7 if which else list("abcdefg"), "x" * (1 + which))
    return dp.declare(model, [90, 130, 40, 7, 0, 400, 333 - which], noise=dp.Laplace(scale=2.0, discrete=True), n=1000,
                      source="made up"), {}
"""
TRACT = """
def made(which):
    names = ["white alone", "one race, not white", "two or more races"] if which else list("abc")
    return dp.declare(dp.Counts(names), [1773.9 + which, 1652.04, 1385.23], matrix=[[1, 1, 1], [1, 1, 0], [1, 0, 0]],
                      noise=dp.Gaussian(sd=[1.64, 5.51, 2.34]), source="made up"), {}
"""


@pytest.mark.parametrize("made, first", [(POOLED_SHARES, 0), (HISTOGRAM, 0), (CATEGORIES, 0), (TRACT, 0)],
                         ids=["pooled shares", "histogram", "categories", "tract"])
def test_exact_methods_compile_nothing(made, first, tmp_path):
    found = programs(made, tmp_path)
    assert [len(each) for each in found] == [first, 0], found


def test_pooled_tables_of_a_rate_need_its_moments_once(tmp_path):
    first, other = programs(POOLED_TABLES, tmp_path)
    assert first.count("jit(_moments)") == 1 and "jit(_moments)" not in other, (first, other)
