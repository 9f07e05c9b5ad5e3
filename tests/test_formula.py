"""A regression that is typed as a formula: the sums of a table that holds its terms as columns, and the same posterior;
the same sums on every engine; no record moves them further than the sensitivity says; a file brings terms, no program.
"""

import dataclasses
import json
import math
import sys

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_persons import engines

import dp_bayes_nb as dpb
from dp_bayes_nb.base import formula as room
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.releases.readings import of_persons

REGIONS = ["n", "s", "w"]
BOUNDS = {"wage": (1.0, 1e5), "age": (18.0, 90.0), "income": (10.0, 1e6), "change": (-2.0, 3.0)}
WAGE = "log(wage) ~ age*C(region) + I(age**2) + log(income) + change:log(income)"
LEVELS, PRIOR = {"region": REGIONS}, dpb.NormalInverseGamma(0.0, 0.01, 3.0, 2.0)


def declared(formula=WAGE, **changes):
    names = room.read_formula(formula)
    used = {*names.columns, names.response.column}
    bounds = {name: ends for name, ends in (BOUNDS | changes).items() if name in used}
    return dpb.LinearRegression.from_formula(formula, bounds=bounds, levels=LEVELS if "region" in used else None)


def table(n, seed=41):
    "Records, some of them beyond the declared ranges; none is 0 or less, so that NumPy can be asked."
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"age": rng.uniform(10, 99, n), "income": np.exp(rng.normal(9, 3, n)),
                         "wage": np.exp(rng.normal(8, 2, n)), "change": rng.normal(0, 2, n),
                         "region": rng.choice(REGIONS, n)})


def spelled(frame):
    "The model of a table that holds the terms as columns, and that table; NumPy's own arithmetic."
    age, income, change, wage = (np.clip(frame[name], *BOUNDS[name]) for name in ("age", "income", "change", "wage"))
    logs = np.log(BOUNDS["income"])
    corners = np.outer(BOUNDS["change"], logs)
    columns = {"age": age, "region": frame["region"], "age2": age**2, "log": np.log(income),
               "south": age * (frame["region"] == "s"), "west": age * (frame["region"] == "w"),
               "product": change * np.log(income), "y": np.log(wage)}
    model = dpb.LinearRegression(
        {"age": BOUNDS["age"], "region": REGIONS, "age2": (18.0**2, 90.0**2), "log": tuple(logs), "south": (0.0, 90.0),
         "west": (0.0, 90.0), "product": (corners.min(), corners.max())}, {"y": tuple(np.log(BOUNDS["wage"]))})
    return model, pd.DataFrame(columns)


def test_the_sums_are_those_of_a_table_with_the_terms_as_columns(monkeypatch):
    model, frame = declared(), table(2_000)
    other, columns = spelled(frame)
    assert model.sensitivity() == other.sensitivity() and len(model.names) == len(other.names)
    of = lambda *what: exact_sums(*what, grid_exponent=30).integers
    apart = lambda: np.abs(np.subtract(of(model, frame), of(other, columns)))
    assert apart().max() <= 2_000  # one step a record
    monkeypatch.setattr(room, "_W", room._W * (1 + 1e-6))  # the mutant: a logarithm that is a little off
    assert apart().max() > 2_000


def test_the_sums_are_the_same_on_every_engine(tmp_path):
    frame, model = table(300), declared()
    frame = frame.rename(columns={"region": "ward"}).assign(id=range(300), ill=0)
    model = dataclasses.replace(model, covariates={name: ends for name, ends in BOUNDS.items() if name != "wage"} | {
        "ward": REGIONS}, terms=["age", "ward", "age:ward", "change:log(income)", "age**2"])
    found = {name: exact_sums(model, each, grid_exponent=37) for name, each in engines(frame, tmp_path).items()
             if name not in ("pandas object", "pandas nullable", "pandas arrow", "csv.gz", "polars scan")}
    assert len(found) >= 8 and all(each == found["pandas"] for each in found.values()), found


@pytest.mark.parametrize("method", ["exact", pytest.param("naive", marks=pytest.mark.slow)])
def test_draws_are_those_of_the_spelled_out_model(method, monkeypatch):
    """From one release, and new responses; the mutant is a term of another range.
    Equal numbers, once the chains' key is not made of the names of columns too.
    """
    monkeypatch.setattr(sys.modules["dp_bayes_nb.posterior.fit"], "run_entropy", lambda *what: (0, 7))
    model, frame = declared(), table(500)
    other, _ = spelled(frame)
    made = dpb.release(model, frame, epsilon=4.0)
    options = {"seed": 7, "draws": 100, "warmup": 100, "chains": 2, "method": method, "progress": False}
    one, two = (dpb.fit(dataclasses.replace(made, family=each, names=each.names), PRIOR, **options)
                for each in (model, other))
    for name in ("coefficients", "noise_variance"):
        assert np.array_equal(one.posterior[name].values, two.posterior[name].values), name
    rows = {"age": [20.0, 60.0], "region": ["n", "w"], "income": [100.0, 1e4], "change": [0.5, -1.0]}
    same = {"age": [20.0, 60.0], "region": ["n", "w"], "age2": [400.0, 3600.0], "log": np.log([100.0, 1e4]),
            "south": [0.0, 0.0], "west": [0.0, 60.0], "product": [0.5 * math.log(100), -math.log(1e4)]}
    theta = {name: one.posterior[name].values[0, 0] for name in ("coefficients", "noise_variance")}
    wages, logs = (each.predictor(new)(jax.random.key(1), theta) for each, new in ((model, rows), (other, same)))
    np.testing.assert_allclose(wages, np.exp(logs), rtol=1e-9)
    wrong = declared(income=(10.0, 1e5))
    third = dpb.fit(dataclasses.replace(made, family=wrong, names=wrong.names), PRIOR, **options)
    assert not np.array_equal(third.posterior["coefficients"].values, one.posterior["coefficients"].values)


def test_a_plain_formula_is_the_plain_model():
    model = declared("wage ~ change + C(region) + age")
    assert model == dpb.LinearRegression({"change": (-2, 3), "region": REGIONS, "age": (18, 90)}, {"wage": (1, 1e5)})
    assert "terms" not in repr(model) and "terms" not in model.to_dict()
    assert declared("wage ~ age - 1") == dpb.LinearRegression({"age": (18, 90)}, {"wage": (1, 1e5)}, False)
    assert declared("wage ~ age + I(age**2)") == dpb.LinearRegression(
        {"age": (18, 90)}, {"wage": (1, 1e5)}, terms=["age", "age**2"])
    turned = dpb.LinearRegression.from_formula("y ~ C(region)", bounds={"y": (0, 1)},
                                               levels={"region": ["w", "n", "s"]})
    assert turned.features == ("region[n]", "region[s]", "y"), "levels in declared order"


ENDS = [0.0, -1.0, 1.0, 18.0, 90.0, 1e5, 1e6, 10.0]
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(ENDS)
RECORDS = st.fixed_dictionaries({**dict.fromkeys(BOUNDS, NUMBERS), "region": st.sampled_from(REGIONS)})


@settings(max_examples=200, deadline=None, derandomize=True)
@given(RECORDS, RECORDS)
def test_no_record_moves_the_sums_further_than_the_sensitivity(one, other):
    "Also 0, negative and huge numbers where a logarithm is taken: they are clipped first."
    model = declared()
    of = lambda record: np.array(model.statistic({name: np.array([v], None if name == "region" else float)
                                                  for name, v in record.items()}), float).ravel()
    moved = np.abs(of(one) - of(other))
    assert np.all(np.isfinite(moved)) and moved.sum() <= model.sensitivity() * (1 + 1e-12)
    assert math.sqrt(np.sum(moved**2)) <= model.sensitivity(norm="l2") * (1 + 1e-12)


def test_an_audit_of_a_formula_finds_nothing():
    found = dpb.audit(declared("log(wage) ~ age*C(region) + I(age**2)"), epsilon=1.0, trials=200, releases=1,
                      confidence=0.9999)
    assert not found.contradicted and found.moved <= found.sensitivity * (1 + 1e-9), found


@pytest.mark.slow
def test_the_model_keeps_its_promises():
    theta = {"coefficients": [0.01, 0.2, 0.4, 0.0001, 6.0], "noise_variance": 0.5}
    dpb.check_model(3, declared("log(wage) ~ age + I(age**2) + C(region)"), theta, PRIOR)


def test_simulated_records_are_about_the_design():
    model = declared("log(wage) ~ age + I(age**2)")
    theta = {"coefficients": np.array([0.1, -0.001, 5.0]), "noise_variance": np.array(1e-12)}
    x = model.simulate_records(jax.random.key(0), theta, 50)
    np.testing.assert_allclose(np.log(x["wage"]), 0.1 * x["age"] - 0.001 * x["age"] ** 2 + 5, rtol=1e-6)


def test_a_file_brings_terms_and_no_program(tmp_path):
    made = dpb.release(declared(), table(200), epsilon=1.0)
    made.save(tmp_path / "r.json")
    assert dpb.Release.load(tmp_path / "r.json") == made
    text = json.loads((tmp_path / "r.json").read_text())
    text.pop("sha256")
    place, good = tmp_path / "made", tmp_path / "good.json"
    good.write_text(seal(text))
    assert dpb.Release.load(good) == made, "as a file is sealed by whoever writes one"
    for wrong in ([["age"], [f"open('{place}', 'w')"]], [["age", "age"]], [["log(change)"]], ["age"] * 3, "age ~ x", 7,
                  [[7]], [[["age"]]], [[]], [{"age": 1}]):
        bad = json.loads(json.dumps(text))
        bad["model"]["terms"] = wrong
        (tmp_path / "bad.json").write_text(seal(bad))
        with pytest.raises(ValueError, match="terms must be|covariates.* must be") as said:
            dpb.Release.load(tmp_path / "bad.json")
        assert "sha256" not in str(said.value)
    assert not place.exists()


def test_without_terms_an_old_file_is_what_it_was(tmp_path):
    made = dpb.release(dpb.LinearRegression({"age": (18, 90)}, {"wage": (1, 1e5)}), table(100), epsilon=1.0)
    made.save(tmp_path / "r.json")
    assert not {"terms", "log_response"} & set(json.loads((tmp_path / "r.json").read_text())["model"])
    assert dpb.Release.load(tmp_path / "r.json") == made


def test_bad_declarations_are_refused_in_words():
    def refused(words, formula=WAGE, kind=dpb.LinearRegression, bounds=BOUNDS, levels=LEVELS):
        with pytest.raises(ValueError, match=words):
            used = {*room.read_formula(formula).columns, room.read_formula(formula).response.column}
            kind.from_formula(formula, bounds={k: v for k, v in bounds.items() if k in used or k == "extra"},
                              levels={k: v for k, v in levels.items() if k in used})

    refused("nothing of income", bounds={k: v for k, v in BOUNDS.items() if k != "income"})
    refused("of columns of the formula", bounds=BOUNDS | {"extra": (0, 1)})
    refused("above 0 where a logarithm", bounds=BOUNDS | {"income": (0, 1e6)})
    refused("above 0 where a logarithm", bounds=BOUNDS | {"wage": (-1, 1e6)})
    refused("have an intercept where it has a category", "wage ~ C(region) - 1")
    refused("'income' as a term", "wage ~ age + age:income + C(region):age + income:C(region)")
    refused("have a covariate", "wage ~ 1")
    refused("a number with a range", "wage ~ age", levels={"wage": [1, 2]}, bounds={"age": (18, 90)})
    refused("nothing of wage", "wage ~ age", bounds={"age": (18, 90)})
    refused("of the answers 'wage' too", "wage ~ age", dpb.LogisticRegression)
    refused("of the answers 'vote' too", "vote ~ age", dpb.PoissonRegression, levels={"vote": ["no", "yes"]})
    refused("two finite numbers", "wage ~ I(age**9)", bounds=BOUNDS | {"age": (0, 1e100)})
    refused("made of names", "wage ~ exp(age)")
    votes = {"vote": ["no", "yes"], "region": REGIONS}
    refused("without logarithms", "vote ~ log(income)", dpb.LogisticRegression, levels=votes)
    refused("without logarithms", "vote ~ I(age**2)", dpb.LogisticRegression, levels=votes)
    refused("each also a term by itself", "vote ~ age:C(region)", dpb.LogisticRegression, levels=votes)
    refused("have an intercept", "vote ~ age - 1", dpb.LogisticRegression, levels=votes)
    for kind in (dpb.LinearRegression, dpb.LogisticRegression):
        with pytest.raises(ValueError, match="it takes no data"):
            kind.from_formula("wage ~ age", {"wage": (0, 1), "age": (0, 1)}, data=table(3))
    with pytest.raises(ValueError, match="the response and the intercept have different names"):
        dpb.LinearRegression({"log(y)": (0, 1)}, {"y": (1, 9)}, log_response=True)
    with pytest.raises(ValueError, match="fourth_moments must be False with a category"):
        dpb.LinearRegression({"a": (1, 9), "r": REGIONS}, {"y": (0, 1)}, terms=["a", "a:r"], fourth_moments=True)
    with pytest.raises(ValueError, match="above 0, because its logarithm is taken"):
        room_of = dpb.fit(dpb.release(declared("wage ~ log(income)"), table(50), epsilon=1), PRIOR, draws=10, warmup=10,
                          chains=2, progress=False)
        dpb.predict(room_of, {"income": [0.0]})


def test_regressions_from_tables_have_formulas_too():
    votes = ("vote", ["no", "yes"])
    assert dpb.LogisticRegression.from_formula(
        "vote ~ age * C(region) + income", bounds={k: BOUNDS[k] for k in ("age", "income")},
        levels={"region": REGIONS, "vote": votes[1]}, knots=4
    ) == dpb.LogisticRegression(votes, {"age": (18, 90), "region": REGIONS, "income": (10, 1e6)}, knots=4,
                                interactions=[("age", "region")])
    assert dpb.PoissonRegression.from_formula("visits ~ age", bounds={"visits": (0, 15), "age": (18, 90)}
                                              ) == dpb.PoissonRegression(("visits", (0, 15)), {"age": (18, 90)})
    assert type(dpb.OrderedLogistic.from_formula("health ~ age", bounds={"age": (18, 90)}, levels={
        "health": ["poor", "fair", "good"]})) is dpb.OrderedLogistic


def test_without_formulaic_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ModuleNotFoundError, match=r"formulaic.*\[formula\]"):
        dpb.LinearRegression.from_formula("y ~ a", bounds={"y": (0, 1), "a": (0, 1)})
    assert dpb.LinearRegression({"a": (1, 2)}, {"y": (0, 1)}, terms=["log(a)"]).features == ("log(a)", "y")


def test_readings_of_persons_say_what_a_term_is_of():
    rows = pd.DataFrame({"id": np.repeat(range(50), 2), "age": np.linspace(18, 90, 100), "wage": np.full(100, 5.0)})
    made = dpb.release(declared("log(wage) ~ log(age) + I(age**2)"), rows, epsilon=9, person="id",
                       combine={"age": "mean", "wage": "sum"})
    said = [of_persons(made, name) for name in ("mean of log(wage)", "sd of age**2", "mean of log(age)", "mean of x")]
    assert said == ["mean of log(summed wage) per person", "sd of mean age**2 per person",
                    "mean of log(mean age) per person", "mean of x"]
