"""A new law of noise and a new model, added to a copy of the package: how many files that takes, and that they work."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIB = "dp_bayes_nb"

LAW = '''
import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, logsumexp

from .laws import Law


class TwoSidedGeometric(Law):
    "P(e = k) = (1 - a)/(1 + a) a^|k| with a = exp(-1/scale), of Ghosh, Roughgarden and Sundararajan (2009)."
    kind, spread, root = "geometric", 2.0, 2.0

    def kernel(self, u):
        return -abs(u)

    def reach(self, chance, scale, grid):
        return -jnp.log(chance) * scale

    def count_log_pmf(self, z, eta, n, scale, grid):
        s = jnp.arange(65.0)
        ways = gammaln(n + 1) - gammaln(s + 1) - gammaln(jnp.maximum(n - s, 0) + 1)
        log_p = ways + s * eta - n * jax.nn.softplus(eta) - abs(z - s) / scale
        return logsumexp(jnp.where(s <= n, log_p, -jnp.inf)) + jnp.log(jnp.tanh(0.5 / scale))


LAWS = {"geometric": TwoSidedGeometric()}
'''
LAW_WORKS = '''
import numpy as np
import scipy.stats as st
from dp_bayes_nb import Bernoulli, Beta, Release, declare, fit
from dp_bayes_nb.base.measurement import Noise

alpha, n, z = .6, 12, 7
noise = Noise("geometric", np.array([-1 / np.log(alpha)]), np.ones(1))
made = Release.from_json(declare(Bernoulli("ill"), [z], noise=noise, n=n, source="an example").to_json())
assert made.noise.kind == "geometric"
draws = fit(made, Beta(2.0, 3.0), draws=5000, seed=1, progress=False).posterior["probability"].values.ravel()
s = np.arange(n + 1)
w = st.betabinom(n, 2, 3).pmf(s) * alpha ** abs(z - s)
mean = lambda w: w @ ((2 + s) / (5 + n)) / w.sum()
error = 4 * draws.std() / len(draws) ** .5
assert abs(draws.mean() - mean(w)) < error, (draws.mean(), mean(w))
assert abs(draws.mean() - mean(st.betabinom(n, 2, 3).pmf(s) * (s == z))) > error  # the noise is not forgotten
'''

MODEL = '''
import jax
import jax.numpy as jnp

from ..base.supports import Parameter
from .conjugate_priors import Gamma
from .contract import Model, family_class
from .declarations import Column


@family_class
class Rayleigh(Model):
    "Squared lengths below `most`, which are exponential: of wind speeds, or of errors in the plane."
    most: float = 100.0
    statistics, parameters = ("square",), {"rate": Parameter("positive")}
    prior_type, default_prior = Gamma, Gamma(1.0, 1.0)
    columns = property(lambda self: (Column(None, (), 0, self.most**0.5),))
    statistic = lambda self, x: (x * x,)
    sensitivity = lambda self, neighbours="change_one", norm="l1", grid_exponent=None: self.most
    moments = lambda self, theta: (1 / theta["rate"][None], theta["rate"][None, None] ** -2)
    simulate_records = lambda self, key, theta, n: jnp.sqrt(jax.random.exponential(key, (n,)) / theta["rate"])
'''
MODEL_WORKS = '''
import numpy as np
from dp_bayes_nb import Gamma, Release, fit, release
from dp_bayes_nb.models.registry import MODELS, family_from_dict
from importlib import import_module

Rayleigh = import_module("dp_bayes_nb.models.rayleigh").Rayleigh
assert family_from_dict(Rayleigh().to_dict()) == Rayleigh()
lengths = np.sqrt(np.random.default_rng(1).exponential(2.0, 4000)).clip(0, 10)
made = Release.from_json(release(Rayleigh(), lengths, epsilon=0.05).to_json())
rate = fit(made, Gamma(1.0, 1.0), seed=1, progress=False).posterior["rate"].values
assert abs(rate.mean() - 1 / (lengths**2).mean()) < 6 * rate.std(), (rate.mean(), rate.std())
assert rate.std() > 5 * rate.mean() / len(lengths) ** 0.5  # the noise is not forgotten: its sd is 20 times the sum's
'''


ADDED = [  # a file, its text, a table of the package with the line before and after, and what then works
    ("noise/two_sided.py", LAW, "base/measurement.py", 'LAWS_OF = ("noise.laws",)',
     'LAWS_OF = ("noise.laws", "noise.two_sided")', LAW_WORKS),
    ("models/rayleigh.py", MODEL, "models/registry.py", '"GammaData": "models.gamma",',
     '"GammaData": "models.gamma",\n    "Rayleigh": "models.rayleigh",', MODEL_WORKS)]
EACH = """
import json, sys, traceback
known = []
for code in json.loads(sys.argv[1]):
    try:
        exec(code, {})
        known.append(True)
    except Exception:
        known.append(False)
        traceback.print_exc()
print(json.dumps(known))
"""


def test_what_is_added_touches_two_files(tmp_path):
    "Each its own, and the table in which it has a line; it is then written, read, released and fitted like the others."
    shutil.copytree(ROOT / LIB, tmp_path / LIB, ignore=shutil.ignore_patterns("__pycache__"))
    git = lambda *words: subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path,
                                        check=True, capture_output=True, text=True).stdout.splitlines()
    git("init", "-q"), git("add", "-A"), git("commit", "-qm", "The package as it is")

    def known():
        done = subprocess.run([sys.executable, "-c", EACH, json.dumps([each[-1] for each in ADDED])], cwd=tmp_path,
                              text=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(tmp_path),
                                                                   "PYTHONDONTWRITEBYTECODE": "1"})
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    for name, text, *_ in ADDED:
        (tmp_path / LIB / name).write_text(text.lstrip())
    assert known()[0] == [False, False], "without their lines in the tables they are not known"
    for _, _, where, before, after, _ in ADDED:
        table = tmp_path / LIB / where
        assert table.read_text().count(before) == 1
        table.write_text(table.read_text().replace(before, after))
    found, said = known()
    assert found == [True, True], said
    touched = lambda: {row[3:] for row in git("status", "--porcelain", "--untracked-files=all", "--ignored")}
    assert touched() == {f"{LIB}/{each}" for name, _, where, *_ in ADDED for each in (name, where)}
    (tmp_path / LIB / "second.json").write_text("{}")
    assert len(touched()) == 5, "another table would be found"
