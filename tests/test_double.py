"What the package sets in JAX: double precision, without which it refuses, and a folder of compiled programs; no more."

import os
import subprocess
import sys
from pathlib import Path

import dp_bayes_nb

ROOT = Path(dp_bayes_nb.__file__).parents[1]
CALLS = """
import jax
import numpyro
import dp_bayes_nb as db

def release(n):
    return db.declare(db.Bernoulli(), [40], n=n, noise=db.Laplace(scale=2), source="s")

made, beta = release(100), db.Beta(1.0, 1.0)
"""
REFUSED = """
calls = {
    "fit": lambda: db.fit(made, progress=False),
    "log_likelihood": lambda: db.log_likelihood(made),
    "fit_many": lambda: db.fit_many([made], progress=False),
    "declare": lambda: release(101),
    "simulate_release": lambda: db.simulate_release(db.Bernoulli(), {"probability": 0.4}, 50, 1.0, seed=1),
    "calibrate": lambda: db.calibrate(db.Bernoulli(), beta, n=50, epsilon=1.0, trials=20, draws=50, seed=1),
}
calls |= {"its function": lambda: of_theta({"probability": 0.4})} if "of_theta" in globals() else {}
for name, call in calls.items():
    try:
        print(name, "computed", jax.numpy.zeros(1).dtype, call())
    except ValueError as error:
        assert "jax_enable_x64 must be True" in str(error), (name, error)
print(jax.config.jax_enable_x64)
"""


def run(code, **variables):
    "What a fresh interpreter prints."
    clean = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True,
                          timeout=600,
                          env={**clean, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **variables})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_single_precision_that_was_set_later_is_refused_everywhere():
    before = CALLS + "of_theta = db.log_likelihood(made)\n"
    off = "jax.config.update('jax_enable_x64', False)\n"
    on = ("jax.config.update('jax_enable_x64', True)\n"
          "assert db.fit(made, progress=False).posterior.probability.dtype == 'float64'\n")
    numpyro = "numpyro.enable_x64(False)\n"
    assert run(before + off + REFUSED + on + numpyro + REFUSED).split() == ["False", "False"]


def test_single_precision_of_the_environment_is_left_and_refused():
    made = CALLS.replace("release(100)", f"db.Release.load({str(ROOT / 'nbs/releases/health_limit.json')!r})")
    assert run(made + REFUSED, JAX_ENABLE_X64="0") == "False"


def test_what_is_set_is_set_once_and_only_where_nobody_else_did(tmp_path):
    seen = ("import dp_bayes_nb.base.arguments as a\nc = jax.config\nprint(c.jax_enable_x64, "
            "c.jax_compilation_cache_dir, c.jax_persistent_cache_min_compile_time_secs)")
    home, mine = {"XDG_CACHE_HOME": str(tmp_path)}, str(tmp_path / "mine")
    ours = f"{tmp_path}/dp_bayes_nb/jax"
    assert run("import jax\n" + seen, **home) == f"True {ours} 0.2"
    assert run("import jax\njax.config.update('jax_persistent_cache_min_compile_time_secs', 7.0)\n" + seen,
               **home) == f"True {ours} 7.0"
    assert run(f"import jax\njax.config.update('jax_compilation_cache_dir', {mine!r})\n" + seen,
               **home) == f"True {mine} 1.0"


def test_the_readme_and_the_first_page_say_what_is_set():
    for page in ("README.md", "nbs/start.ipynb"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(word in text for word in ("JAX_ENABLE_X64", "JAX_COMPILATION_CACHE_DIR", "~/.cache/dp_bayes_nb/jax"))
