"""Score tests of departures from a regression of tables: what `fit` says, what it leaves alone, and the messages that
name levels, counts and ranges.
"""
import warnings

import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.noise.design import noise_design
from dp_bayes_nb.posterior.fit import fit
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.tables.misfit import LEVEL, departures, found_misfits, misfits

POISSON = db.PoissonRegression(("visits", (0, 8)), {"smoker": ["no", "yes"]})
WIDE = db.NegativeBinomialRegression(("visits", (0, 8)), {"smoker": ["no", "yes"]})
THETA = {"coefficients": np.log([1.7, 2.0]), "size": 2.0, "shape of smoker": np.zeros(1)}


def as_poisson(released):
    return db.declare(POISSON, dict(zip(POISSON.names, released.values)), n=released.n, source="made up",
                      noise=db.Laplace(scale=released.noise.scale))


def said(released):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = fit(released, draws=150, warmup=150, chains=2, progress=False)
    return [str(each.message) for each in found if "speak against" in str(each.message)], result


@pytest.fixture(scope="module")
def right():
    "The warnings of a fit of a model that is right, and the fit."
    return said(db.simulate_release(POISSON, {k: v for k, v in THETA.items() if k != "size"}, 1500, 1.0, seed=6))


@pytest.mark.slow
def test_fit_names_the_model_for_counts_that_vary_more_and_is_silent_where_the_model_is_right(right):
    released = db.simulate_release(WIDE, THETA, 1500, 1.0, seed=5)
    words, result = said(as_poisson(released))
    assert len(words) == 1 and "NegativeBinomialRegression" in words[0]
    assert words[0] in result.posterior.attrs["problems"]
    assert right[0] == []
    assert all(one.kind != "varies" for one in departures(WIDE)) and departures(POISSON)[-1].kind == "varies"


def test_scores_at_the_truth_are_standard_normal_and_forgotten_noise_is_seen():
    theta, prior = POISSON.scenario[0], POISSON.accept(None)
    def scores(noise):
        out = []
        for key in range(60):
            seen = measured(db.simulate_release(POISSON, theta, 800, 0.5, seed=key))
            taken = type(seen.noise)("laplace", noise * seen.noise.scale, seen.noise.grid)
            out.append(found_misfits(POISSON, theta, type(seen)(seen.z, taken, seen.n), prior))
        return sum(map(bool, out))
    assert scores(1.0) <= 1  # expected 60 × 0.002
    assert scores(0.2) >= 5
    assert LEVEL <= 0.01


def test_what_cannot_be_tested_is_left_alone():
    theta, prior = POISSON.scenario[0], POISSON.accept(None)
    seen = measured(db.simulate_release(POISSON, theta, 800, 0.5, seed=1))
    assert misfits(POISSON, theta, type(seen)(seen.z, seen.noise, None), prior) == []
    broken = {**theta, "coefficients": np.array([np.nan, 0.0])}
    assert misfits(POISSON, broken, seen, prior) == []


def test_two_numbers_that_are_a_range_or_levels_are_told_apart():
    with pytest.warns(UserWarning, match=r"list\(range\(18, 81\)\)"):
        model = db.LogLinear({"age": (18, 80), "sex": 2}, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.LogLinear(model.columns, model.margins)  # in normal form
        db.LogLinear({"a": [0, 1], "b": range(18, 81)}, 2)
        for spec in ((0, 1), [0.0, 1.0], {"levels": [0, 1]}, [18, 90]):
            db.LogisticRegression(("ill", ["no", "yes"]), {"x": spec})
    with pytest.warns(UserWarning, match=r'\{"levels": \[0, 1\]\}'):
        db.LogisticRegression(("ill", ["no", "yes"]), {"x": [0, 1]})


@pytest.mark.parametrize("table, words", [
    ({"age": [20.0, 30.0], "region": ["n", "north"], "visits": [1, 2]}, "'region', whose levels are 'n', 's'"),
    ({"age": [20.0, 30.0], "region": ["n", "s"], "visits": [1.0, 2.5]}, "'visits', which must be whole numbers from 0"),
    ({"age": [20.0, 30.0], "region": ["n", "s"], "visits": [1, -1]}, "'visits', which must be whole numbers from 0")])
def test_a_refused_table_says_what_is_declared(table, words):
    model = db.PoissonRegression(("visits", (0, 5)), {"age": (18, 90), "region": ["n", "s"]}, knots=3)
    with pytest.raises(ValueError, match=words) as error:
        db.release(model, pd.DataFrame(table), epsilon=1.0)
    assert "north" not in str(error.value) and "2.5" not in str(error.value) and "-1" not in str(error.value)


def test_what_a_plan_is_made_for():
    models = (db.LogisticRegression(("ill", ["no", "yes"]), {"age": (18, 90), "region": ["n", "s"]}, knots=3),
              db.OrderedLogistic(("h", ["a", "b", "c"]), {"age": (18, 90)}, knots=3),
              db.MultinomialLogistic(("h", ["a", "b", "c"]), {"age": (18, 90)}, knots=3), POISSON, WIDE)
    for model in models:
        theta, words = model.scenario
        assert {name: np.shape(value) for name, value in theta.items()} == {
            name: tuple(p.shape) for name, p in model.parameters.items()} and "covariates uniform" in words
        p = np.asarray(model.cell_probabilities(theta))
        assert np.all(p > 0) and abs(p.sum() - 1) < 1e-9
    middle = models[1]
    answers = np.exp(np.asarray(middle.answers_at(middle.scenario[0], np.array([[54.0, 1.0]]))))
    np.testing.assert_allclose(answers, 1 / 3, atol=1e-6)


@pytest.mark.slow
def test_a_plan_says_under_which_parameters():
    made = db.plan(POISSON, n=500, epsilon=1.0, trials=2, draws=20, warmup=20, progress=False)
    assert "rates times 1.28" in made.truth and made.truth in repr(made)
    own = db.plan(POISSON, n=500, epsilon=1.0, trials=2, draws=20, warmup=20, progress=False,
                  theta={"coefficients": {"smoker[yes]": 0.3, "intercept": 0.5}})
    assert own.truth.startswith("coefficients as given; else rates times")
    assert db.plan(db.Bernoulli(), n=50, epsilon=1.0, trials=4, progress=False).truth == "drawn from the prior"


def test_knots_are_planned_with_the_noise_of_the_release():
    for mechanism, delta in (("laplace", None), ("gaussian", 1e-6)):
        numbers = db.LogisticRegression(("y", [0, 1]), {"a": (0, 1), "b": (0, 1)}, knots=8)
        noise = noise_design(numbers, epsilon=1.0, mechanism=mechanism, delta=delta)[0]
        from dp_bayes_nb.tables.soft_tables import _noise_variance
        assert _noise_variance(1.0, mechanism, delta, None, 1, 2) == pytest.approx(float(noise.variance[0]), rel=1e-4)


def test_rows_of_answers_have_words(right):
    result = right[1]
    found = db.expected_counts(result, {"smoker": ["yes", "no"]})
    assert found.record.values.tolist() == ["smoker=yes", "smoker=no"] and found.row.values.tolist() == [0, 1]
    assert db.answer_probabilities(result, {"smoker": ["no"]}).record.values.tolist() == ["smoker=no"]
