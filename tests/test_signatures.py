"""Signatures agree: a key or an integer seed, a column by keyword, a `Design` or its numbers."""

import inspect

import jax
import numpy as np
import pytest

import dp_bayes_nb as dpb

DESIGN = dpb.Design(200, 0.5)
THETA = {"probability": 0.3}


@pytest.fixture(scope="module")
def released():
    return dpb.simulate_release(dpb.Bernoulli(), THETA, 200, 0.5, seed=1)


def lacking(functions):
    "Arguments and results without a type, by function."
    found = {function.__name__: inspect.signature(function) for function in functions}
    return {name: said for name, signature in found.items() if (said := [
        *(p.name for p in signature.parameters.values() if p.annotation is p.empty),
        *(["return"] if signature.return_annotation is signature.empty else [])])}


def test_public_functions_say_their_types():
    every = [getattr(dpb, name) for name in dpb.__all__]
    functions = [each for each in every if callable(each) and not inspect.isclass(each)]
    assert len(functions) > 50 and lacking(functions) == {}


def test_arguments_of_public_methods_say_their_types():
    every = [getattr(dpb, name) for name in dpb.__all__]
    inside = [(each, name, method) for each in every if inspect.isclass(each) for base in each.__mro__
              if base.__module__.startswith("dp_bayes_nb") for name, method in vars(base).items()
              if inspect.isfunction(method) and not name.startswith("_")]
    assert len(inside) > 500
    said = {f"{each.__name__}.{name}": lacking([method]).get(method.__name__, []) for each, name, method in inside}
    assert {name: found for name, found in said.items() if {*found} - {"self", "return"}} == {}


def test_a_missing_type_is_seen():
    def half(x: int, y, *more, z: float = 1.0):
        return x, y, more, z
    assert lacking([half]) == {"half": ["y", "more", "return"]}


def test_a_key_and_an_integer_are_the_same_seed(released):
    run = dict(draws=20, chains=2, progress=False)
    fits = [dpb.fit(released, seed=seed, **run) for seed in (3, jax.random.key(3), jax.random.key(4))]
    first, second, other = (idata.posterior["probability"].values for idata in fits)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    assert fits[1].attrs["seed"] == 3
    for function in (dpb.predict, dpb.predictive_check):
        found = [function(fits[0], seed=seed) for seed in (3, jax.random.key(3), jax.random.key(4))]
        assert found[0].equals(found[1]) and not found[0].equals(found[2])


def test_prediction_intervals_take_a_key():
    model = dpb.LinearRegression({"age": (18, 90)}, {"wage": (0, 800)})
    theta = {"coefficients": [2.0, 300.0], "noise_variance": 2500.0}
    made = dpb.simulate_release(model, theta, 400, 2.0, seed=1)
    prior = dpb.NormalInverseGamma(0.0, 0.001, 2.0, 400.0)
    idata = dpb.fit(made, prior, method="naive", draws=20, chains=2, progress=False)
    same, also, other = (
        dpb.prediction_intervals(idata, {"age": [20, 60]}, seed=seed)
        for seed in (3, jax.random.key(3), jax.random.key(4))
    )
    assert same.equals(also) and not same.equals(other)
    with pytest.raises(ValueError, match="seed must be"):
        dpb.prediction_intervals(idata, {"age": [20, 60]}, seed="3")


def test_split_keys_are_seeds_that_a_file_can_keep(released, tmp_path):
    key, other = jax.random.split(jax.random.key(9))
    a, b = (dpb.fit(released, seed=k, draws=10, chains=2, progress=False) for k in (key, other))
    assert not np.array_equal(a.posterior["probability"], b.posterior["probability"])
    a.to_netcdf(str(tmp_path / "a.nc"))


def test_integers_where_keys_are():
    pairs = [dpb.simulate_release(dpb.Bernoulli(), THETA, 200, 0.5, seed=key) for key in (7, jax.random.key(7))]
    assert pairs[0] == pairs[1]
    run = dict(design=DESIGN, trials=20, draws=10)
    a, b = (dpb.calibrate(dpb.Bernoulli(), seed=key, **run) for key in (3, jax.random.key(3)))
    np.testing.assert_array_equal(a.ranks, b.ranks)
    c, d = (
        dpb.plan(dpb.Bernoulli(), design=DESIGN, trials=10, seed=key, progress=False)
        for key in (3, jax.random.key(3))
    )
    assert str(c) == str(d)


def of_old_calls(made):
    "Calls as they were written before 0.8, and what each is told to write."
    coin, run = dpb.Bernoulli(), dict(design=DESIGN, trials=20, draws=10)
    seed, model = "takes the {} first, and a seed by its name; did you mean seed=…?", "'family'; did you mean model?"
    first, key, like = seed.format("model"), "'key'; did you mean seed?", seed.format("release")
    return [
        (lambda: dpb.simulate_release(7, coin, THETA, 200, 0.5), first),
        (lambda: dpb.simulate_release(jax.random.key(7), coin, THETA, 200, 0.5), first),
        (lambda: dpb.simulate_release(family=coin, theta=THETA, n=200, epsilon=0.5), model),
        (lambda: dpb.simulate_release(coin, THETA, 200, 0.5, key=7), key),
        (lambda: dpb.simulate_like(7, made, THETA), like), (lambda: dpb.simulate_like(made, THETA, key=7), key),
        (lambda: dpb.simulate_like(jax.random.key(7), made, THETA), like),
        (lambda: dpb.calibrate(3, coin, **run), first), (lambda: dpb.calibrate(family=coin, **run), model),
        (lambda: dpb.calibrate(coin, key=3, **run), key),
        (lambda: dpb.plan(family=coin, design=DESIGN), model), (lambda: dpb.plan(coin, key=3, design=DESIGN), key),
        (lambda: dpb.plan_bounds(family=coin, prior=None, n=10, epsilon=1.0), model),
        (lambda: dpb.plan_bounds(coin, None, n=10, epsilon=1.0, key=3), key),
        (lambda: dpb.release(family=coin, data=[0, 1, 1], epsilon=1.0), model),
        (lambda: dpb.contrast(None, rest=True), "'rest'; did you mean against=\"rest\"?")]


def test_calls_as_they_were_before_0_8_are_told_what_to_write(released):
    for call, said in of_old_calls(released):
        with pytest.raises((TypeError, ValueError)) as refused:
            call()
        assert str(refused.value).endswith(said), (said, refused.value)
    with pytest.raises(ValueError, match="against must be a whole number >= 1, got True"):
        dpb.contrast(dpb.fit(released, draws=10, chains=2, progress=False).posterior["probability"], against=True)
    assert dpb.Release.from_json(released.to_json()).simulated_sums is None


CALLS = {"simulate_release": lambda **k: dpb.simulate_release(dpb.Bernoulli(), THETA, **k, seed=1).to_json(),
         "calibrate": lambda **k: dpb.calibrate(dpb.Bernoulli(), trials=20, draws=10, **k, seed=1).ranks.tolist(),
         "plan": lambda **k: str(dpb.plan(dpb.Bernoulli(), trials=10, progress=False, **k))}
GAUSSIAN = dpb.Design(200, 0.5, "gaussian", 1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_a_design_stands_for_its_numbers(name):
    call = CALLS[name]
    assert call(design=DESIGN) == call(n=200, epsilon=0.5) == call(design=DESIGN, n=200)
    for differs in (dict(n=201), dict(epsilon=0.6), dict(mechanism="gaussian", delta=1e-6)):
        with pytest.raises(ValueError, match="left out beside design, or equal"):
            call(design=DESIGN, **differs)
    with pytest.raises(ValueError, match="mechanism must be left out beside design, or equal"):
        call(design=GAUSSIAN, mechanism="laplace")
    with pytest.raises(ValueError, match="design must be a Design"):
        call(design=(200, 0.5))


@pytest.mark.parametrize("name", [name if name == "simulate_release" else pytest.param(name, marks=pytest.mark.slow)
                                  for name in CALLS])
def test_a_design_of_another_mechanism_stands_for_its_numbers(name):
    found = CALLS[name](design=GAUSSIAN)
    assert found == CALLS[name](n=200, epsilon=0.5, mechanism="gaussian", delta=1e-6) != CALLS[name](design=DESIGN)


def test_a_design_is_checked():
    assert DESIGN == dpb.Design(np.int64(200), 0.5, "laplace", None, "change_one") and hash(DESIGN) == hash(
        dpb.Design(200, 0.5)
    )
    for wrong in (
        dict(n=0),
        dict(n=2.5),
        dict(epsilon=-1),
        dict(epsilon="1"),
        dict(delta=1e-6),
        dict(mechanism="gaussian"),
        dict(mechanism="none"),
        dict(neighbours="any"),
    ):
        with pytest.raises(ValueError, match="must be"):
            dpb.Design(**{"n": 200, "epsilon": 0.5, **wrong})


def test_numbers_that_are_missing_are_refused():
    with pytest.raises(ValueError, match="epsilon must be"):
        dpb.simulate_release(dpb.Bernoulli(), THETA, 200, seed=1)
    with pytest.raises(ValueError, match="n must be"):
        dpb.calibrate(dpb.Bernoulli(), epsilon=1.0, trials=20, draws=10, seed=1)


@pytest.mark.parametrize(
    "model, arguments",
    [
        (dpb.Bernoulli, ()),
        (dpb.Categorical, (3,)),
        (dpb.Poisson, ((0, 9),)),
        (dpb.Geometric, ((0, 9),)),
        (dpb.Exponential, ((0, 9),)),
        (dpb.Pareto, ((1, 9), 1)),
        (dpb.Weibull, ((0, 9), 1.5)),
        (dpb.Normal, ((0, 9),)),
        (dpb.LogNormal, ((1, 9),)),
        (dpb.GammaData, ((1, 9),)),
    ],
)
def test_every_model_of_one_column_takes_it_by_keyword(model, arguments):
    made = model(*arguments, column="x")
    assert made.columns[0].name == "x" and inspect.signature(model).parameters["column"].default is None
    assert model(*arguments).columns[0].name is None
