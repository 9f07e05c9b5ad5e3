"""Declarations as data: what a program computes with traced bounds and without names is what the model itself says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dp_bayes_nb import (Above, Bernoulli, Categorical, Exponential, GammaData, Geometric, Grouped, LogLinear,
                         LogNormal, NegativeBinomial, Normal, NormalMixture, Pareto, Poisson, Redact, Weibull)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.base.supports import constrain, free_size
from dp_bayes_nb.models.contract import family_class
from dp_bayes_nb.models.declarations import as_data, from_data, own_names

# declarations that are one program each, differing in names and numbers; several of them, as the program differs
ALIKE = {
    "counts": [Poisson((0, 20), "visits"), Poisson((0, 31), "calls"), Poisson((0.0, 17), "a0")],
    "counts between": [Poisson((1, 20), "visits"), Poisson((1, 18), "x")],
    "many counts": [Poisson((0, 5000)), Poisson((0, 10**9))],
    "redacted counts": [Poisson(Redact(1, 9), "y"), Poisson(Redact(1, 12), "x")],
    "waiting times": [Exponential((0, 30), "s"), Exponential((0, 0.5), "t")],
    "waiting times between": [Exponential((1, 30), "s"), Exponential((7, 8), "t")],
    "failures": [Geometric((2, 20), "j"), Geometric((2, 30), "k")],
    "sizes": [Pareto((2, 50), lower=1.0, column="r"), Pareto((30, 31), lower=4.0, column="s")],
    "lifetimes": [Weibull((0, 10), shape=1.5, column="x"), Weibull((0, 3), shape=0.7, column="y")],
    "normal": [Normal((0, 100), column="y"), Normal((-3, 2), column="z"), Normal((1e6, 2e6), column="x")],
    "normal, known": [Normal((0, 100), variance=4.0, column="y"), Normal((5, 6), variance=900.0, column="z")],
    "redacted normal": [Normal(Redact(0, 100), column="v"), Normal(Redact(-1, 1), column="u")],
    "incomes": [LogNormal((1, 500), column="j"), LogNormal((0.1, 3), column="i")],
    "gamma": [GammaData((1, 365), column="e"), GammaData((0.2, 3), column="d")],
    "gamma, known": [GammaData((0, 365), shape=2.0, column="e"), GammaData((0, 4), shape=0.5, column="d")],
    "above": [Above(Poisson((0, 20), "v"), [9], weight=10), Above(Poisson((0, 25), "w"), [3], weight=10)],
    "above normal": [Above(Normal((0, 100), column="x"), [50.0, 70.0]),
                     Above(Normal((-2, 1), column="y"), [-1.0, 0.0])],
    "share": [Bernoulli("ill"), Bernoulli("well")],
    "categories": [Categorical(["a", "b", "c"], "x"), Categorical(["north", "mid", "south"], "region")],
    "dispersed": [NegativeBinomial((0, 15), "visits"), NegativeBinomial((0, 15), "calls")],
    "mixture": [NormalMixture(range(40, 100, 4), "minutes"), NormalMixture(range(40, 100, 4), "hours")],
    "groups": [Grouped(Bernoulli("ill", 1), by="region", levels=["n", "s"], sizes="public"),
               Grouped(Bernoulli("well", 1), by="sex", levels=["f", "m"], sizes="public")],
}
QUICK = ("counts", "many counts", "waiting times between", "normal", "gamma, known", "above", "categories", "groups")


def answers(model, theta):
    "What samplers ask a model of one column for."
    out = {"moments": model.moments(theta)}
    m = len(model.names)
    if not model.lacks("project"):
        out["project"] = model.project(jnp.linspace(-0.3, 0.8, m) * 40.0, 40.0)
        out["feasible"] = model.feasible(jnp.full(m, 3.0), 40.0)
    if hasattr(model, "latent_moments"):
        out |= {"latent": model.latent_moments(theta), "observe": model.observe, "total": model.total}
    return out


program = jax.jit(answers)


def theta_of(model, seed):
    "Parameters at coordinates near 0."
    x = 0.7 * np.random.default_rng(seed).normal(size=free_size(model.parameters))
    return jax.tree.map(np.asarray, constrain(model.parameters, jnp.asarray(x))[0])


def compare(model, seed, other=None):
    theta = theta_of(model, seed)
    found, expected = program(other or model, theta), jax.jit(lambda theta: answers(model, theta))(theta)
    for name in expected:
        for a, b in zip(jax.tree.leaves(found[name]), jax.tree.leaves(expected[name]), strict=True):
            b = np.asarray(b, float)
            np.testing.assert_allclose(np.asarray(a, float), b, rtol=1e-9, atol=1e-11 * np.abs(b).max(initial=1e-300),
                                       err_msg=f"{name} of {model!r}")


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
                                  for name in ALIKE])
def test_one_program_computes_what_each_declaration_says(name):
    models = ALIKE[name]
    assert len(set(map(jax.tree.structure, models))) == 1, models
    if models[0].inner is not None:  # its groups have moments, not the whole
        theta = {"probability": np.array([0.2, 0.7])}
        for model in models:
            simulate = lambda model, n: model.simulate(jax.random.key(1), theta, n)
            found, expected = jax.jit(simulate)(model, 90.0), simulate(model, 90.0)
            np.testing.assert_array_equal(found, expected)
        return
    before = program._cache_size()
    for seed, model in enumerate(models):
        compare(model, seed)
    assert program._cache_size() == before + 1


def test_another_declaration_gives_other_numbers():
    "The mutant: bounds of another declaration, in the same program."
    must_fail(lambda: compare(*ALIKE["counts"][:1], 0, ALIKE["counts"][1]), "other bounds")


@pytest.mark.parametrize("one, other", [
    (Poisson((0, 20)), Poisson((1, 20))), (Poisson((0, 20)), Poisson(Redact(0, 20))),
    (Normal((0, 1)), LogNormal((1, 2))),
    (Normal((0, 1)), Normal((0, 1), variance=2.0)), (Poisson((0, 20)), Poisson((0, 10**6))),
    (Categorical(["a", "b"]), Categorical(["a", "b", "c"])), (Exponential((0, 3)), Exponential((1, 3))),
    (Above(Poisson((0, 20)), [3]), Above(Poisson((0, 20)), [3, 5])),
    (Grouped(Bernoulli("x", 1), by="g", levels=["a", "b"], sizes="public"),
     Grouped(Bernoulli("x", 1), by="g", levels=["a", "b"], sizes="private"))])
def test_what_differs_in_shape_is_another_program(one, other):
    assert jax.tree.structure(one) != jax.tree.structure(other)


def test_equal_names_stay_equal_and_other_names_stay_other():
    "A program that compared two of its names would see what it sees without one."
    @family_class
    class Two(Bernoulli):
        again: str = "x"
        spoken = (*Bernoulli.spoken, "again")
    seen = [from_data(as_data(Two("x", again=name))[1], ()) for name in ("x", "y")]
    assert [model.column == model.again for model in seen] == [True, False]
    assert seen[0].column == "a0" and not {"x", "y"} & {seen[1].column, seen[1].again}


def test_records_of_a_program_have_the_names_of_the_declaration():
    model = LogLinear({"smokes": ["n", "y"], "age": ["lo", "mid", "hi"]}, 2)
    theta = theta_of(model, 0)
    made = jax.jit(lambda model, key: model.simulate_records(key, theta, 4))(model, jax.random.key(0))
    assert set(made) == {"a0", "a3"} and set(own_names(model, made)) == {"smokes", "age"}
    direct = model.simulate_records(jax.random.key(0), theta, 4)
    assert all(np.array_equal(value, direct[name]) for name, value in own_names(model, made).items())
    assert model.written(own_names(model, made))["age"].tolist() == model.written(direct)["age"].tolist()


@pytest.mark.parametrize("given, words", [
    ({"traced": ("lo",)}, "traced must be"), ({"traced": "bounds"}, "traced must be"),
    ({"spoken": ("col",)}, "spoken must be"),
    ({"traced": ("column",), "spoken": ("column",)}, "spoken must be")])
def test_fields_that_do_not_exist_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        type("Wrong", (Poisson,), given)


def test_a_model_of_ones_own_is_a_constant_unless_it_says_more():
    "Its code may ask bounds and compare names, which a program could not."
    @family_class
    class Mine(Poisson):
        def moments(self, theta):
            mean, covariance = super().moments(theta)
            return mean, covariance * (2.0 if self.bounds.upper > 50 or self.column == "y" else 1.0)
    @family_class
    class Again(Mine):
        traced = ("bounds",)
    assert as_data(Mine((0, 3), "x")) == ((), Mine((0, 3), "x")) and len(as_data(Again((0, 3), "x"))[0]) == 1
    theta = {"rate": np.asarray(2.0)}
    variances = [float(program(Mine((0, 20), name), theta)["moments"][1][0, 0]) for name in ("x", "y")]
    assert variances[1] == 2 * variances[0]
    assert hash(Poisson((0, 20), "x")) != hash(Poisson((0, 21), "x")) and Poisson((0, 20)) != Poisson((0, 21))
