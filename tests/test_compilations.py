"""A second fit of the same shape compiles nothing, whatever the method;
and the exact posterior of counts never compiles.
"""

import itertools
import os
import subprocess
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_contract import DECLARED
from test_programs import TOGETHER

import dp_bayes_nb as d
from dp_bayes_nb.base.chains import Kernel, _compiled
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.posterior.route import _designed
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.releases.document import measured

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import first_fit  # noqa: E402

COMPILED = "/jax/core/compile/backend_compile_duration"
seen: list[str] = []
jax.monitoring.register_event_duration_secs_listener(lambda event, duration, **_: seen.append(event)
                                                     if event == COMPILED else None)
flat = d.LogDensity(lambda theta: jnp.zeros(()))
CATEGORIES = d.Categorical(3), {"probabilities": [0.2, 0.3, 0.5]}
SHARE = d.Bernoulli(), {"probability": 0.3}
WAITING = d.Exponential((0, 10)), {"rate": 0.5}  # this one, HEIGHTS, TABLES and MONTHS are in test_contract too,
CUT = d.Exponential(d.Redact(0.05, 3.0)), {"rate": 1.0}
HEIGHTS = d.Normal((40, 160)), {"mean": 100.0, "variance": 225.0}  # whose programs are in the cache then
LINE = d.LinearRegression({"x": (-1.0, 1.0)}, {"y": (-3.0, 3.0)}), {"coefficients": [0.5, 0.2], "noise_variance": 0.3}
ON_LINE = d.NormalInverseGamma([0.0, 0.0], [1.0, 1.0], 3.0, 2.0)
FOURTH = d.LinearRegression({"x": (-1.0, 1.0)}, {"y": (-3.0, 3.0)}, fourth_moments=True), LINE[1]
AROUND = d.NormalInverseWishart([0.0], 1.0, [[1.0]], 6.0)
ROWS, SIZES = [[0.7, 0.3], [0.2, 0.8]], [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
TABLES = (d.NaiveBayes(("class", ["no", "yes"]), {"word": 2, "size": ["s", "m", "l"]}),
          {"class_probabilities": [0.4, 0.6], "word": ROWS, "size": SIZES})
MONTHS = (d.HiddenMarkov(("region", ["a", "b"]), ("month", [1, 2, 3, 4]), {"word": 2, "size": 3}, states=2,
                         records=((60, 70, 50, 80), (90, 40, 60, 70))),
          {"initial_probabilities": [0.5, 0.5], "transition_probabilities": ROWS, "word": ROWS[::-1], "size": SIZES})

FITS = {  # name: family and parameters, prior, method, options
    "share exact": (*SHARE, None, "exact", {}),
    "share on the grid": (*SHARE, flat, "exact", {}),
    "share collapsed": (*SHARE, None, "collapsed", {}),
    "share gibbs": (*SHARE, None, "gibbs", {}),
    "share naive": (*SHARE, None, "naive", {}),
    "categories exact": (*CATEGORIES, None, "exact", {}),
    "categories collapsed": (*CATEGORIES, None, "collapsed", {}),
    "categories gibbs": (*CATEGORIES, None, "gibbs", {}),
    "categories naive": (*CATEGORIES, None, "naive", {}),
    "clipped collapsed": (*WAITING, d.Gamma(10.0, 10.0), "collapsed", {}),
    "clipped gibbs": (*WAITING, d.Gamma(10.0, 10.0), "gibbs", {}),
    "redacted gibbs": (*CUT, d.Gamma(10.0, 10.0), "gibbs", {"joint": True}),
    "normal": (*HEIGHTS, d.NormalInverseGamma(100.0, 0.1, 2.0, 200.0), "auto", {}),
    "line exact": (*LINE, ON_LINE, "exact", {}),
    "line naive": (*LINE, ON_LINE, "naive", {}),
    "line gibbs noisy": (*FOURTH, ON_LINE, "gibbs_noisy", {}),
    "line gibbs prior": (*LINE, ON_LINE, "gibbs_prior", {"covariate_prior": AROUND}),
    "line gibbs update": (*LINE, ON_LINE, "gibbs_update", {"covariate_prior": AROUND}),
    "line individual": (*LINE, ON_LINE, "individual", {"covariate_prior": AROUND}),
    "naive Bayes": (*TABLES, None, "collapsed", {}),
    "naive Bayes naive": (*TABLES, None, "naive", {}),
    "naive Bayes gibbs": (*TABLES, None, "gibbs", {}),
    "naive Bayes variational": (*TABLES, None, "variational", {}),
    "hidden Markov": (*MONTHS, None, "collapsed", {}),
    "hidden Markov naive": (*MONTHS, None, "naive", {}),
}


def released(family, theta, key, n=60):
    n = 520 if family is MONTHS[0] else n  # its cells declare how many
    return d.simulate_release(family, {k: jnp.asarray(v) for k, v in theta.items()}, n, 1.0, seed=key)


def compilations(call):
    start = len(seen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = call()
    return len(seen) - start, result


def fitted(release, prior, method, options, seed):
    return d.fit(release, prior, method=method, draws=20, warmup=20, chains=2, seed=seed, progress=False, **options)


OFTEN = ("share exact", "share on the grid", "clipped collapsed", "normal", "line gibbs prior", "naive Bayes")


@pytest.mark.parametrize("name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow)
                                  for name in FITS])
def test_a_second_fit_compiles_nothing(name):
    family, theta, prior, method, options = FITS[name]
    first, second = (released(family, theta, key) for key in (1, 2))
    fitted(first, prior, method, options, 0)
    count, _ = compilations(lambda: fitted(second, prior, method, options, 1))
    assert count == 0


def test_a_new_function_at_each_call_is_noticed():
    "The mutant: a kernel whose functions are made anew, as those of 0.1.0 were."
    from dp_bayes_nb.curves.grid import grid_kernel
    from dp_bayes_nb.base.chains import Kernel, run_chains
    release = released(*SHARE, 1)

    def fit_anew():
        kernel = grid_kernel(release.family, release.released, d.Beta(1.0, 1.0), exact=True)
        return run_chains(jax.random.key(0), Kernel(lambda key: kernel.init(key), kernel.step), draws=20, warmup=0,
                          chains=2)

    fit_anew()
    assert compilations(fit_anew)[0] > 0


def program_of(kernel):
    "What is new in a program: the structure of a kernel, and the kinds of its numbers."
    leaves, structure = jax.tree.flatten(_compiled(kernel))
    return structure, [(np.shape(leaf), np.result_type(leaf)) for leaf in leaves]


def test_kernels_of_two_releases_are_one_program():
    "Every kernel there is, of the first model that has it: `modes` had a function of its own for each release."
    alike, kernels = set(), {method.kernel for model, *_ in DECLARED.values() for method in methods_of(model).values()
                      if method.kernel is not None}
    for model, theta, prior, n in DECLARED.values():
        own = [method for method in methods_of(model).values() if method.kernel not in {*alike, None}]
        releases = [released(model, theta, key, n) for key in (1, 2)] if own else []
        data = [(each.family, measured(each)) for each in releases]
        data = [(*each, _designed(each[0], check_prior(each[0], prior), each[1])[0]) for each in data]
        for method in own:
            if not any(method.unavailable(*each[:1], each[1].noise.kind, n, each[2]) for each in data):
                first, second = (program_of(method.kernel(*each)) for each in data)
                assert first == second, method
                alike.add(method.kernel)
    assert alike == kernels and len(kernels) > 15
    anew = lambda: program_of(Kernel(print, print, kept=lambda state: state))
    assert anew() != anew()  # as it was


@pytest.mark.parametrize("again", [d.predictive_check, lambda idata, seed: d.predict(idata, 3, seed=seed)],
                         ids=["predictive_check", "predict"])
@pytest.mark.parametrize("family, theta", [SHARE, CATEGORIES], ids=["share", "categories"])
def test_a_second_prediction_compiles_nothing(family, theta, again):
    first, second = (fitted(released(family, theta, key), None, "exact", {}, key) for key in (1, 2))
    again(first, seed=0)
    assert compilations(lambda: again(second, seed=1))[0] == 0


def test_a_second_prediction_of_a_regression_compiles_nothing():
    first, second = (fitted(released(*LINE, key), ON_LINE, "naive", {}, key) for key in (1, 2))
    d.predict(first, {"x": [0.1, 0.2]}, seed=0)
    assert compilations(lambda: d.predict(second, {"x": [0.3, -0.2]}, seed=1))[0] == 0


COLD = """
import sys, jax
compiled = []
listen = jax.monitoring.register_event_duration_secs_listener
listen(lambda event, *_, **__: compiled.append(event) if "compile" in event else None)
"""
HEAVY = ("arviz", "xarray", "matplotlib", "duckdb", "opendp", "blackjax", "pandas")


def in_a_process(code, *arguments):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", COLD + code, *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_posterior_of_counts_compiles_nothing(tmp_path):
    "One after the other in one process: while nothing was compiled, each is as the first."
    families, noises = (SHARE, CATEGORIES, (d.Bernoulli("smokes", success="yes"), SHARE[1])), (("laplace", None),
                                                                                              ("gaussian", 1e-6))
    for number, ((family, theta), (mechanism, delta)) in enumerate(itertools.product(families, noises)):
        made = d.simulate_release(family, theta, 200, 1.0, mechanism=mechanism, delta=delta, seed=1)
        made.save(tmp_path / f"{number}.json")
    out = in_a_process("""
import dp_bayes_nb as d
for path in sys.argv[1:]:
    print(d.fit(d.Release.load(path)).attrs["method"], len(compiled))
""", *sorted(tmp_path.glob("*.json")))
    assert out.split() == ["exact", "0"] * 6


def test_summaries_on_the_command_line_compile_nothing_and_import_nothing_heavy(tmp_path):
    "One after the other in one process too; what either imports is there at the end."
    for name, (family, theta) in (("share", SHARE), ("categories", CATEGORIES)):
        d.simulate_release(family, theta, 200, 1.0, seed=1).save(tmp_path / f"{name}.json")
    out = in_a_process(f"""
from dp_bayes_nb.cli import main
for path, prior in zip(sys.argv[1:], ("Beta(2, 5)", "Dirichlet([1, 2, 3])")):
    code = main(["fit", path, "--prior", prior])
    print(code, len(compiled), [name for name in {HEAVY!r} if name in sys.modules])
""", tmp_path / "share.json", tmp_path / "categories.json")
    assert out.splitlines().count("0 0 []") == 2 and out.count("probabilit") >= 2
    assert out.rstrip().endswith("0 0 []")


def test_what_is_compiled_or_imported_in_a_process_is_noticed():
    "The mutant of both."
    out = in_a_process(f"""
import jax.numpy, dp_bayes_nb as d
jax.numpy.zeros(3).block_until_ready()
import xarray
print(len(compiled) > 0, [name for name in {HEAVY!r} if name in sys.modules])
""")
    assert "True" in out and "xarray" in out


ELSEWHERE = TOGETHER["models of tables"]  # they draw for a minute here, and for a moment in test_programs.py


def test_programs_that_are_counted_elsewhere_have_the_bounds_of_the_benchmark():
    assert all(first_fit.PROGRAMS[row] == (most, 0) for row, (_, most) in ELSEWHERE.items())
    assert set(ELSEWHERE) < set(first_fit.ROWS)


@pytest.mark.slow  # in the quick set: programs of the same and of more models, in test_programs.py
@pytest.mark.parametrize("rows", [pytest.param((row,), id=row) for row in first_fit.ROWS if row not in ELSEWHERE])
def test_a_first_fit_compiles_few_programs(rows, tmp_path):
    "As the benchmark counts; of a declaration that differs fewer, of the same none."
    flags = {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}
    for row, steps in first_fit.releases(tmp_path, rows).items():
        said = first_fit.measure(steps, first_fit.ROOT, tmp_path, 900, **flags)
        first, other = first_fit.PROGRAMS[row]
        assert said["programs of first"] <= first and said["programs of other"] <= other, said
        assert said["programs of again"] == 0
