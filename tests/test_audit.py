"""Audits: no honest model, relation, mechanism or form of a table is blamed, and planted faults are found at the size
that runs here.

The noise is OpenDP's, which has no seed. All audits that must find nothing share one hundredth of false alarm, by
Bonferroni; their p-values of noise and of whole releases blame at 1e-6, which adds a tenth of that. A fault is found at
the default confidence, with a margin of four standard errors or more. Sums and forms of tables are compared without
noise.
"""

import dataclasses
import itertools
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from test_contract import DECLARED

import dp_bayes_nb as dpb
from dp_bayes_nb import audit
from dp_bayes_nb.cli import main
from dp_bayes_nb.data_holder import release as door_of_release  # noqa: F401  (the module is loaded)
from dp_bayes_nb.data_holder import sums as room_of_sums  # noqa: F401
from dp_bayes_nb.models import bounds as room_of_bounds  # noqa: F401
from dp_bayes_nb.models.contract import family_class
from dp_bayes_nb.models.registry import MODELS, register
from dp_bayes_nb.models.promises import RELATIONS
from dp_bayes_nb.research.audit import Audit
from dp_bayes_nb.research.lower_bounds import (best_threshold, credible_bound, epsilon_needed, high_end, low_end,
                                               lower_bound, rho_needed)
from dp_bayes_nb.research.many_releases import exact_p_value, noise_p_value, signs_p_value
from dp_bayes_nb.research.neighbouring_tables import neighbouring_tables
from dp_bayes_nb.research.promise_of_models import moved_by_one_record, relations

HERE_IS = Path(__file__).parent
SUMS, BOUNDS = sys.modules["dp_bayes_nb.data_holder.sums"], sys.modules["dp_bayes_nb.models.bounds"]
DOOR, MANY = sys.modules["dp_bayes_nb.data_holder.release"], sys.modules["dp_bayes_nb.research.many_releases"]
PLACES = {"region": ["north", "south"]}
TRIED = {name: model for name, (model, *_) in DECLARED.items()} | {
    "Grouped, private": dpb.Grouped(dpb.Bernoulli("ill"), "region", PLACES),
    "Grouped, private, two columns": dpb.Grouped(dpb.Normal((5, 20), column="x"), ("region", "sex"),
                                                 {**PLACES, "sex": 2}),
    "Grouped, public": dpb.Grouped(dpb.Exponential((0, 10), "x"), "region", PLACES, sizes="public"),
}
BUDGETS = {"laplace": dict(epsilon=1.0), "gaussian": dict(epsilon=4.0, mechanism="gaussian", delta=1e-6),
           "rho": dict(rho=1.0)}
CASES = list(itertools.product(TRIED, RELATIONS, BUDGETS))
PERSONS = {  # whose rows are combined, and of whom some are kept
    "combined, sum": (dpb.Exponential((0, 10), "x"), dict(combine="sum")),
    "combined, groups": (dpb.Grouped(dpb.Bernoulli("ill"), "region", PLACES),
                         dict(combine={"ill": "any", "region": "first"})),
    "combined, margins": (dpb.LogLinear({"a": 2, "b": 3}, margins=2), dict(combine="last")),
    "two rows": (dpb.Exponential((0, 10), "x"), dict(rows=2)),
    "two rows, groups": (dpb.Grouped(dpb.Bernoulli("ill"), "region", PLACES), dict(rows=2)),
    "three rows, margins": (dpb.LogLinear({"a": 2, "b": 3}, margins=2), dict(rows=3)),
}
CASES_OF_PERSONS = list(itertools.product(PERSONS, ("change_one", "add_remove"), BUDGETS))
# whose tables have missing values, in several forms: every model, and persons
CASES_OF_FORMS = [*((name, model.relation) for name, model in TRIED.items()), *itertools.product(
    PERSONS, ("change_one", "add_remove"))]
# of each audit, here and at the full size, so that all together stay below .01
FALSE_ALARM = 0.009 / (2 * (len(CASES) + len(CASES_OF_PERSONS) + len(CASES_OF_FORMS)))
HERE, FULL = dict(trials=2000, releases=1, forms=()), dict(trials=20_000, releases=20)
FEW = {**HERE, "trials": 200}  # where it is the tables that are searched: noise is drawn by the same mechanism for all
CONFIDENCE = 1 - FALSE_ALARM
BOTH = ("Exponential", "Grouped, private")  # of which all noise is tried here


def here(name, promise, budget):
    """What runs in CI: one declaration of every model under its own relation with Laplace noise; a few under both, by
    all budgets.
    """
    if ", " in name and name.partition(", ")[0] in TRIED:  # another form of a model that is there
        return False
    if promise == TRIED[name].relation:
        return budget == "laplace" or name in BOTH
    return name in BOTH and promise == "add_remove" and budget == "laplace"


def quick(names, few):
    "Names of cases of which a few run in CI, and all in the slow set."
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in names]


def audited(name, promise, budget, size):
    "The audit of a case; None where the model has no such release, which it says in words."
    try:
        return audit(TRIED[name], neighbours=promise, confidence=CONFIDENCE, **BUDGETS[budget], **size)
    except ValueError as error:
        assert re.search(r"^(neighbours|fourth_moments) must be", str(error)), error
        return None


def passed(found):
    assert found.lower_bound <= (found.rho or found.epsilon) and not found.contradicted, found
    assert found.moved <= found.sensitivity * (1 + 1e-9)
    return found.moved / found.sensitivity


@pytest.mark.parametrize("case", [case for case in CASES if here(*case)], ids=", ".join)
def test_no_honest_release_is_blamed(case):
    found = audited(*case, HERE if case[0] in BOTH else FEW)
    if found is not None:
        assert passed(found) > 0.8, "the search finds tables nearly as far apart as the proof says"
    else:
        assert case[1] != TRIED[case[0]].relation


def audited_persons(name, promise, budget, size):
    "The audit of a release of persons: its two tables differ in one person's rows."
    model, options = PERSONS[name]
    return audit(model, neighbours=promise, person="id", confidence=CONFIDENCE, **options, **BUDGETS[budget], **size)


@pytest.mark.parametrize("case", [case for i, case in enumerate(CASES_OF_PERSONS)
                                  if case[2] == ("laplace", "laplace", "rho", "gaussian")[i % 4]], ids=", ".join)
def test_no_honest_release_of_persons_is_blamed(case):
    passed(audited_persons(*case, HERE if case[0] == "combined, groups" else FEW))


def some_missing(model):
    "A value that a missing one counts as, of each column: the first level, or the middle of the limits."
    values = {column.name: column.levels[0] if column.levels else "2024-02-03" if column.date else
              round((column.low + column.high) / 2) for column in model.columns}
    return values if model.by_name else next(iter(values.values()))


def audited_forms(name, promise, forms):
    "The audit of tables with missing values in several forms; few draws, because other tests have many."
    model, options = PERSONS[name] if name in PERSONS else (TRIED[name], {})
    options = options | ({"person": "id"} if name in PERSONS else {})
    return audit(model, epsilon=1, neighbours=promise, missing_as=some_missing(model), confidence=CONFIDENCE,
                 trials=200, releases=0, forms=forms, **options)


def read(found, forms):
    "Nothing is blamed, and these forms are accepted; of those that were read some are as far apart as can be."
    passed(found)
    apart = {row["form"]: row["apart"] for row in found.form_table}
    assert {name for name in forms if apart[name] is not None} == set(forms), found
    assert max(apart[name] for name in forms) > 0.5 * found.sensitivity


def how_held(name, promise):
    "What decides how a table is read: are its numbers whole, the kinds of its columns, and whose rows they are."
    model, options = PERSONS[name] if name in PERSONS else (TRIED[name], {})
    kinds = frozenset((c.date, bool(c.levels), bool(c.texts), c.open) for c in model.columns)
    return model.by_name, model.integer, kinds, tuple(options)


FEW_FORMS = ["pandas sparse", "arrow (texts in slots)", "polars", "duckdb of arrow", "csv"]
OFTEN = [("Bernoulli, texts", "change_one"), ("Normal", "change_one"), ("combined, sum", "add_remove"),
         ("two rows, groups", "change_one")]
IN_ALL = [*{how_held(*case): case for case in reversed(CASES_OF_FORMS)}.values()]  # one case of each way


@pytest.mark.parametrize("case", [case if case in OFTEN else pytest.param(case, marks=pytest.mark.slow)
                                  for case in CASES_OF_FORMS if case in OFTEN or case not in IN_ALL], ids=", ".join)
def test_no_form_of_an_honest_table_is_blamed(case):
    "A form of each engine: the sums of every model are asked of each."
    read(audited_forms(*case, "few"), FEW_FORMS)


@pytest.mark.slow
@pytest.mark.parametrize("case", IN_ALL, ids=", ".join)
def test_no_form_of_all_is_blamed(case):
    "The few among them; which forms there are matters to how columns are read, not to what is summed of them."
    read(audited_forms(*case, "all"), [*FEW_FORMS, "pandas objects", "arrow", "polars lazy", "csv.gz", "parquet",
                                       "ibis of arrow"])


NOT_RELEASED = {"Counts", "RandomizedResponse", "Ratio"}


def test_every_model_is_audited():
    "All that `release` takes: Counts has no records, RandomizedResponse has its noise already, and a Ratio is no sum."
    assert {type(model).__name__ for model in TRIED.values()} == set(MODELS) - NOT_RELEASED
    assert {(type(TRIED[name]), promise) for name, promise, budget in CASES if here(name, promise, budget)} >= {
        (type(model), model.relation) for model in TRIED.values()}
    assert len(CASES_OF_FORMS) >= 40
    with pytest.raises(ValueError, match="model must be one whose records are summed"):
        audit(dpb.Counts(["a", "b"]), epsilon=1)


def refuted(cases):
    "Those of kept audits that blame a release, or that reach further than its design."
    return [case for case, seen in cases.items() if "claims" in seen and (
        seen["contradicted"] or seen["attained"] > 1 + 1e-9
        or any(row["lower_bound"] > row["claimed"] for row in seen["claims"]))]


def test_kept_audits_of_the_full_size_exceed_no_claim():
    "results/audit.json: the share of one hundredth that each had, and what it saw; a bound that is higher is noticed."
    kept = json.loads((HERE_IS.parent / "results" / "audit.json").read_text())
    about, cases = kept["about"], kept["cases"]
    assert about["cases"] == len(CASES) + len(CASES_OF_PERSONS) >= len(cases)
    assert about["cases"] * (1 - about["confidence of each"]) <= 0.009 * (1 + 1e-9)
    assert set(cases) <= {" | ".join(case) for case in CASES + CASES_OF_PERSONS}
    assert all(seen["trials"] == FULL["trials"] for seen in cases.values() if "claims" in seen)
    assert refuted(cases) == []
    case, seen = next((case, seen) for case, seen in cases.items() if "claims" in seen)
    higher = {**seen, "claims": [{**row, "lower_bound": 1.01 * row["claimed"]} for row in seen["claims"]]}
    assert refuted({**cases, case: higher}) == refuted({case: {**seen, "attained": 1.01}}) == [case]


# ---------------------------------------------------------------- planted faults


def half_the_scale(honest):
    "Noise of half the scale, whose document says the whole."
    return lambda d, m, epsilon, delta, rho=None: (
        honest(d._replace(steps=d.steps / 2, scale=d.scale / 2), m, epsilon, delta, rho)[0], d.scale)


def budget_twice(honest):
    "Noise that was designed for twice the budget (four times in rho)."
    return lambda d, m, epsilon, delta, rho=None: (
        honest(d._replace(scale=d.scale / 2), m, epsilon and 2 * epsilon, delta, rho and 4 * rho)[0], d.scale)


@family_class
class HalfRange(dpb.Exponential):
    "Its sensitivity is half the range of clipped records."
    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 0.5 * super().sensitivity(neighbours, norm)

    def rounded_sensitivity(self, grid_exponent=0, neighbours="change_one", norm="l1"):
        return math.ceil(0.5 * super().rounded_sensitivity(grid_exponent, neighbours, norm))

    def step_range(self, grid_exponent=0):
        low, high = super().step_range(grid_exponent)
        return low, np.ceil((low + high) / 2)


@family_class
class RowForgotten(dpb.Categorical):
    "Its sensitivity forgets the count that a changed record leaves."
    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 1.0


@family_class
class GroupForgotten(dpb.Grouped):
    "A record that changes its group is taken for one that leaves it; a neighbour that only changes its value."
    fixed = ()

    def to_dict(self):
        return {**super().to_dict(), "family": "GroupForgotten"}


for mutant in (HalfRange, RowForgotten, GroupForgotten):
    register(mutant, releases_only=True)

SHARE = dpb.Bernoulli()
CLIPPED, CLIPPED_X = dpb.Exponential((0, 10)), dpb.Exponential((0, 10), "x")
MECHANISMS = {  # a fault of the mechanism, a model, a claim
    f"{fault.__name__}, {type(model).__name__}, {name}": (fault, model, claim)
    for fault in (half_the_scale, budget_twice) for model in (SHARE, CLIPPED)
    for name, claim in {"laplace": dict(epsilon=1.0), "add_remove": dict(epsilon=1.0, neighbours="add_remove"),
                        "gaussian": dict(epsilon=4.0, mechanism="gaussian", delta=1e-6), "rho": dict(rho=1.0)}.items()}
WRONG = {"half of a clipped range": (HalfRange((0, 10)), dict(epsilon=1.0)),
         "half of a clipped range, rho": (HalfRange((0, 10)), dict(rho=1.0)),
         "half of a clipped range, add_remove": (HalfRange((5, 20)), dict(epsilon=1.0, neighbours="add_remove")),
         "a row forgotten": (RowForgotten(3), dict(epsilon=1.0))}


def caught(found):
    "By draws alone, whatever is known of the tables: the bound of a claim exceeds it."
    assert found.contradicted and found.verdict.startswith("contradicted: at least")
    assert any(row["lower_bound"] > row["claimed"] for row in found.table), found
    assert found.mechanism == "gaussian" and found.rho is None or found.lower_bound > (found.rho or found.epsilon)


@pytest.mark.parametrize("name", quick(MECHANISMS, [
    "half_the_scale, Bernoulli, laplace", "half_the_scale, Exponential, gaussian", "budget_twice, Exponential, rho",
    "budget_twice, Bernoulli, add_remove"]))
def test_a_fault_of_the_mechanism_is_found_at_this_size(name, monkeypatch):
    fault, model, claim = MECHANISMS[name]
    monkeypatch.setattr(DOOR, "measurement", fault(DOOR.measurement))
    found = audit(model, **claim, **HERE)
    caught(found)
    assert found.noise < 1e-6, "and its document says another scale"


@pytest.mark.parametrize("name", WRONG)
def test_a_sensitivity_that_is_too_small_is_found_at_this_size(name):
    model, claim = WRONG[name]
    found = audit(model, **claim, **HERE)
    caught(found)
    assert "are" in found.verdict and found.moved > 1.9 * found.sensitivity, "and seen without draws"


def scale_short(honest):
    "Noise of 95% of the scale that its document says."
    return lambda d, m, epsilon, delta, rho=None: (
        honest(d._replace(steps=d.steps * 0.95, scale=d.scale * 0.95), m, epsilon, delta, rho)[0],
        honest(d, m, epsilon, delta, rho)[1])


def now_and_then(honest, each=100):
    "The exact sums once in a hundred releases."
    def measured(d, m, epsilon, delta, rho=None):
        draw, scale = honest(d, m, epsilon, delta, rho)
        turn = itertools.count(1)
        return (lambda exact: list(exact) if next(turn) % each == 0 else draw(exact)), scale
    return measured


def rarely(honest):
    "The exact table once in five hundred releases."
    return now_and_then(honest, 500)


def shared(honest):
    "One number of noise for all sums."
    def measured(d, m, epsilon, delta, rho=None):
        draw, scale = honest(d, m, epsilon, delta, rho)
        def one(exact):
            noise = draw([0] * len(exact))[0]
            return [v + noise for v in exact]
        return one, scale
    return measured


def again(honest):
    "Noise that serves two releases."
    def measured(d, m, epsilon, delta, rho=None):
        draw, scale = honest(d, m, epsilon, delta, rho)
        kept = []
        def one(exact):
            noise = kept.pop() if kept else draw([0] * len(exact))
            kept.extend([] if one.turn else [noise])
            one.turn = not one.turn
            return [v + e for v, e in zip(exact, noise)]
        one.turn = False
        return one, scale
    return measured


# nine sums of 4,000 releases: with 2,000 one run in 40 misses it
SEVERAL = dpb.MultivariateNormal({"x": (0, 10), "y": (0, 10), "z": (0, 10)})
UNSEEN = {"a scale 5% too small": (scale_short, SEVERAL, dict(epsilon=1.0, trials=4000)),
          "a scale 5% too small, rho": (scale_short, SEVERAL, dict(rho=1.0, trials=4000)),
          "a leak in a hundred": (now_and_then, CLIPPED, dict(epsilon=1.0)),
          "a leak in a hundred, rho": (now_and_then, CLIPPED, dict(rho=1.0)),
          "a table in five hundred": (rarely, dpb.Categorical(10), dict(epsilon=1.0)),
          "a table in five hundred, rho": (rarely, dpb.Categorical(10), dict(rho=0.5)),
          "one noise for both groups, rho": (shared, TRIED["Grouped, public"], dict(rho=1.0)),
          "noise of the last release": (again, CLIPPED, dict(epsilon=1.0))}


@pytest.mark.parametrize("name", quick(UNSEEN, [
    "a scale 5% too small", "a leak in a hundred, rho", "a table in five hundred", "one noise for both groups, rho",
    "noise of the last release"]))
def test_a_fault_that_a_bound_may_miss_is_found_in_the_noise(name, monkeypatch):
    """The noise is not what is stated, wherever the bound lies: each fault spends more than the claim, so that a
    bound above the claim, rare as it is, is right as well."""
    fault, model, claim = UNSEEN[name]
    monkeypatch.setattr(DOOR, "measurement", fault(DOOR.measurement))
    found = audit(model, **{**HERE, **claim})
    assert found.moved <= found.sensitivity * (1 + 1e-9)
    assert found.noise < 1e-6 and found.contradicted and "not what releases state" in found.verdict


def test_values_off_their_grid_and_repeated_numbers_are_seen(monkeypatch):
    "A digit beyond the grid could carry the exact sum; one number for two releases hides that there are two."
    honest = MANY.release

    def finer(*args, **options):
        made = honest(*args, **options)
        object.__setattr__(made, "values", made.values + made.noise.grid / 4)
        return made

    monkeypatch.setattr(MANY, "release", finer)
    assert audit(SHARE, epsilon=1, trials=200, releases=2, forms=()).noise == 0
    monkeypatch.setattr(MANY, "release", honest)
    monkeypatch.setattr(DOOR.secrets, "token_hex", lambda k: "0" * 16)
    assert audit(SHARE, epsilon=1, trials=200, releases=2, forms=()).noise == 0


def test_the_test_of_noise_keeps_its_level_and_sees_another_scale():
    "600 honest samples at .05: at most what one binomial count in a thousand exceeds; a quarter more scale is seen."
    rng = np.random.default_rng(3)
    a = math.exp(-1 / 40)
    draw = lambda size: rng.geometric(1 - a, size) - rng.geometric(1 - a, size)
    low = sum(noise_p_value(draw(500), "laplace", 40.0) < 0.05 for _ in range(600))
    assert low <= stats.binom.ppf(0.999, 600, 0.05)
    assert noise_p_value(draw(4000), "laplace", 50.0) < 1e-6 and noise_p_value([], "laplace", 1.0) == 1


def test_the_test_of_signs_keeps_its_level_and_sees_one_pair_of_ten():
    "As above; 300 releases of five numbers, of which two agree in sign three times of four."
    rng = np.random.default_rng(4)
    draw = lambda: np.rint(rng.laplace(0, 5, (300, 5))).astype(int)
    assert sum(signs_p_value(draw()) < 0.05 for _ in range(600)) <= stats.binom.ppf(0.999, 600, 0.05)
    x = draw()
    x[::2, 3] = np.abs(x[::2, 3]) * np.sign(x[::2, 1])
    assert signs_p_value(x) < 1e-6 and signs_p_value(np.zeros((0, 2))) == 1 and signs_p_value(np.zeros((9, 1))) == 1


def test_the_count_of_exact_releases_keeps_its_level_and_sees_a_few():
    "As above, two and three numbers of small noise; and ten exact releases of four thousand."
    rng = np.random.default_rng(5)
    a = math.exp(-1 / 2)
    draw = lambda *size: rng.geometric(1 - a, size) - rng.geometric(1 - a, size)
    for k in (2, 3):
        low = sum(exact_p_value(draw(300, k), "laplace", 2.0) < 0.05 for _ in range(600))
        assert low <= stats.binom.ppf(0.999, 600, 0.05)
    x = draw(4000, 10)
    assert exact_p_value(x, "laplace", 2.0) > 1e-3 and exact_p_value(np.zeros((0, 2)), "laplace", 2.0) == 1
    x[::400] = 0
    assert exact_p_value(x, "laplace", 2.0) < 1e-12 and noise_p_value(x.ravel(), "laplace", 2.0) > 1e-6


@family_class
class RowsForgotten(dpb.Exponential):
    "A person's second row is not paid for: a sensitivity of half of it, where two rows are kept."
    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 0.5 * super().sensitivity(neighbours, norm)

    def rounded_sensitivity(self, grid_exponent=0, neighbours="change_one", norm="l1"):
        return math.ceil(0.5 * super().rounded_sensitivity(grid_exponent, neighbours, norm))


register(RowsForgotten, releases_only=True)


def test_a_person_whose_rows_are_not_all_paid_for_is_found(monkeypatch):
    "Combined sums by draws, a row too many that is kept by the two tables; a design of one row is refused."
    caught(audit(RowsForgotten((0, 10), "x"), epsilon=1, person="id", combine="sum", **HERE))
    honest, design = SUMS.kept_rows, DOOR.size_design
    monkeypatch.setattr(SUMS, "kept_rows", lambda model, person, *rest: honest(
        model, dataclasses.replace(person, rows=person.rows + 1), *rest))
    found = audit(CLIPPED_X, epsilon=1, person="id", rows=2, **HERE)
    assert found.contradicted and found.moved == pytest.approx(1.5 * found.sensitivity)
    monkeypatch.setattr(DOOR, "size_design", lambda *args: design(*args[:6], 1))
    with pytest.raises(ValueError, match="sensitivity must be"):
        audit(CLIPPED_X, epsilon=1, person="id", rows=2, **HERE)


def passed_through(model, person, table, kinds, x, presence, drop):
    "Rows are taken for persons."
    import narwhals as nw
    return table.with_columns(held=nw.lit(1)), kinds, x, presence


def by_rule(rule):
    "Rows of a person by a rule, of numbers."
    return CLIPPED_X, dict(combine=rule)


ROWS_FOR_PERSONS = {**{rule: (*by_rule(rule), 4) for rule in ("sum", "mean", "max", "min", "first")},
                    "redacted": (dpb.Poisson(dpb.Redact(2, 6), "x"), dict(combine="sum"), 3),
                    "two sums": (dpb.Normal((40, 160), column="x"), dict(combine="sum"), 3.6),
                    "levels": (dpb.Bernoulli("x", "yes", "no"), dict(combine="any"), 4),
                    "added": (*by_rule("sum"), 4), "sum, rho": (*by_rule("sum"), 4)}


@pytest.mark.parametrize("name", quick(ROWS_FOR_PERSONS, ["sum", "mean", "max", "redacted"]))
def test_rows_that_are_taken_for_persons_are_found(name, monkeypatch):
    "By draws; the tables are several times the sensitivity apart."
    model, options, times = ROWS_FOR_PERSONS[name]
    claim = dict(rho=1.0) if "rho" in name else dict(epsilon=1.0)
    claim |= dict(neighbours="add_remove") if name == "added" else {}
    few = {**HERE, "trials": 200, "releases": 0, "confidence": CONFIDENCE}
    assert passed(audit(model, person="id", **claim, **options, **few)) > 0.8, "rows of one person are one record"
    monkeypatch.setattr(SUMS, "combined_rows", passed_through)
    found = audit(model, person="id", **claim, **options, **HERE)
    caught(found)
    assert found.moved > 0.999 * times * found.sensitivity and "sums are" in found.verdict


UNCLIPPED = {
    "sum": (CLIPPED, {}), "two sums": (dpb.Normal((40, 160)), {}), "logarithms": (dpb.LogNormal((1, 500)), {}),
    "groups": (dpb.Grouped(CLIPPED_X, "region", PLACES), {}), "added": (CLIPPED, dict(neighbours="add_remove")),
    "rho": (CLIPPED, dict(epsilon=None, rho=1.0)), "counts": (dpb.Poisson((0, 12)), {}),
    "person": (CLIPPED_X, dict(person="id", combine="sum"))}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", quick(UNCLIPPED, ["sum", "logarithms", "person"]))
def test_a_clip_that_is_removed_ends_in_a_verdict(name, monkeypatch):
    "Sums beyond what can be added, or of 10²⁸: how far apart is said in words."
    monkeypatch.setattr(BOUNDS.Bounds, "apply", lambda self, x: x)
    model, options = UNCLIPPED[name]
    found = audit(model, **{"epsilon": 1.0, **options}, **HERE)
    assert found.contradicted and found.moved > 100 * found.sensitivity
    assert f"tables are {found.moved:.6g} apart, and the noise is designed for {found.sensitivity:.6g}" in repr(found)
    if name in ("sum", "two sums", "added", "rho"):
        assert found.trials == 0 and "more than 53 bits" in found.verdict and "nothing was drawn" in repr(found)
    if name == "logarithms":
        assert "are refused: data could not be summed" in found.verdict and found.lower_bound == 0


def fill_a_thousandfold(honest):
    "A missing number counts as a thousand times what is declared."
    return lambda value, absent, kind, fill: honest(value, absent, kind, fill if fill is None or isinstance(
        fill, str) else 1000 * fill)


FILLED = {
    "clipped": (CLIPPED_X, 5, {}), "an array": (CLIPPED, 5, {}), "redacted": (dpb.Poisson(dpb.Redact(2, 6)), 5, {}),
    "a level": (SHARE, 1, {}), "groups": (dpb.Grouped(CLIPPED_X, "region", PLACES), {"x": 5}, {}),
    "a response": (dpb.LinearRegression({"age": (18, 90)}, {"wage": (0, 800)}), {"wage": 50}, {}),
    "persons": (CLIPPED_X, 5, dict(person="id", combine="sum")), "rows": (CLIPPED_X, 5, dict(person="id", rows=2))}


@pytest.mark.parametrize("name", quick(FILLED, ["clipped", "a level", "persons"]))
def test_a_fill_that_is_a_thousand_times_too_large_is_found(name, monkeypatch):
    "By the sums, which are not those of the records; or because a record becomes one that there cannot be."
    model, fill, options = FILLED[name]
    monkeypatch.setattr(SUMS, "_filled", fill_a_thousandfold(SUMS._filled))
    found = audit(model, epsilon=1, missing_as=fill, **options, **HERE)
    said = "outside the declared support" if name == "a level" else "the sums are"
    assert found.contradicted and said in found.verdict


LIKE_NUMBERS = ("no", "1", "0", "1.0", "true", "01")
FORMS = {  # forms in which values were once taken as they are held, and how far tables were then apart, at the least
    "a person a slot": ("arrow (texts in slots)", CLIPPED_X, dict(person="id", combine="sum"), 4),
    "a person a slot, any": ("arrow (texts in slots)", dpb.Bernoulli("x", "1", "0"),
                             dict(person="id", combine="any"), 4),
    "an id that is two": ("dask of csv files", CLIPPED_X, dict(person="id", combine="mean"), 2),
    "two ids, two rows each": ("dask of csv files", CLIPPED_X, dict(person="id", rows=2), 1.4),
    "files typed one by one": ("dask of csv files", dpb.Categorical(LIKE_NUMBERS, "x"), dict(missing_as="no"), 10),
    "files, success": ("dask of csv files", dpb.Bernoulli("x", "1", ["no", "1.0"]), dict(missing_as="1"), 10),
    "groups by files": ("dask of csv files", dpb.Grouped(CLIPPED_X, "place", LIKE_NUMBERS),
                        dict(missing_as={"place": "no"}), 10),
    "a float in a file": ("dask of csv files", dpb.Categorical(("no", "1", "1.0"), "x"), {}, 10),
    "a code with a zero": ("dask of csv files", dpb.Categorical(("no", "1", "01"), "x"), {}, 10),
    "true as a text": ("dask of csv files", dpb.Categorical(("no", "true", "True"), "x"), {}, 10),
    "categories of numbers": ("pandas categories", dpb.Bernoulli("x", "1"), dict(missing_as="1"), 10),
    "categories, levels": ("pandas categories", dpb.Categorical(LIKE_NUMBERS, "x"), dict(missing_as="no"), 10),
    "categories, groups": ("pandas sparse", dpb.Grouped(CLIPPED_X, "place", LIKE_NUMBERS),
                           dict(missing_as={"place": "no"}), 10),
}


@pytest.mark.parametrize("name", quick(FORMS, ["a person a slot", "an id that is two", "files typed one by one",
                                               "a code with a zero", "categories of numbers", "categories, groups"]))
def test_a_form_that_decides_how_others_are_read_is_found(name, monkeypatch):
    "Columns taken as they are held: dictionaries, categories of numbers, files that are typed one by one."
    form, model, options, times = FORMS[name]
    size = dict(epsilon=1, trials=200, releases=0, confidence=CONFIDENCE, forms=(form,))
    assert not audit(model, **options, **size).contradicted
    monkeypatch.setattr(SUMS, "spelled_out", lambda frame, wanted: (frame, {}))
    found = audit(model, **options, **size)
    assert found.contradicted and found.moved <= found.sensitivity * (1 + 1e-9), "no other table shows it"
    assert max(row["apart"] or 0 for row in found.form_table) >= times * found.sensitivity
    assert f"as {form}" in found.verdict and re.search("the tables are up to [0-9.]+ apart", repr(found))


def test_a_person_of_whom_rows_are_counted_needs_tables():
    with pytest.raises(ValueError, match="tables must be given where a person counts rows"):
        audit(dpb.Poisson((0, 9), "x"), epsilon=1, person="id", combine="count", **HERE)
    with pytest.raises(ValueError, match="model must be one of named columns"):
        audit(SHARE, epsilon=1, person="id", rows=2, **HERE)
    a = pd.DataFrame({"x": [1, 1, 1, 2], "id": [1, 1, 1, 2]})
    given = audit(dpb.Poisson((0, 9), "x"), epsilon=1, person="id", combine="count", tables=(a, a.iloc[2:]), **HERE)
    assert given.moved == 2 and not given.contradicted


def test_group_sizes_that_are_not_public_are_told_apart_by_what_is_published():
    wrong = GroupForgotten(dpb.Bernoulli("ill"), "region", PLACES, sizes="public")
    with pytest.raises(ValueError, match="tables that differ in n"):
        audit(wrong, epsilon=1, **HERE)


def test_a_release_without_noise_is_not_what_was_measured(monkeypatch):
    "Draws of the measurement are honest; `release` publishes the exact sum."
    honest = DOOR._draw
    monkeypatch.setattr(DOOR, "_draw", lambda draw, exact: list(exact))
    found = audit(CLIPPED, epsilon=1, trials=1000, releases=40, forms=())
    assert found.agreement < 1e-6 and found.contradicted and "do not draw alike" in found.verdict
    monkeypatch.setattr(DOOR, "_draw", honest)
    assert not audit(CLIPPED, epsilon=1, trials=1000, releases=4, confidence=CONFIDENCE, forms=()).contradicted


# ---------------------------------------------------------------- the statistics


@pytest.mark.parametrize("needed", [epsilon_needed, rho_needed])
def test_the_ends_keep_their_word_and_the_bounds_their_order(needed):
    "Clopper and Pearson's ends by exact sums; needed numbers rise with p and fall with q."
    for p in (1e-4, 0.01, 0.2, 0.5, 0.9):
        k = np.arange(101)
        weights = stats.binom.pmf(k, 100, p)
        assert weights @ (low_end(k, 100, 0.01) > p) <= 0.01 and weights @ (high_end(k, 100, 0.01) < p) <= 0.01
    p, q = np.sort(np.random.default_rng(0).uniform(0.01, 0.98, (2, 300)), axis=0)[::-1]
    assert np.all(needed(p + 0.01, q) >= needed(p, q)) and np.all(needed(p, q) >= needed(p, q + 0.01))
    assert np.all(needed(q, p) == 0)


def test_what_is_needed_is_what_mechanisms_have():
    "Randomised response attains its ε; a normal pair never exceeds its ρ, and has an event near ε at a δ."
    p = math.exp(1.5) / (1 + math.exp(1.5))
    assert epsilon_needed(p, 1 - p) == pytest.approx(1.5, rel=1e-12)
    t = np.linspace(-8, 8, 4001)
    for mu in (0.1, 1.0, 3.0):
        assert rho_needed(stats.norm.sf(t - mu), stats.norm.sf(t)).max() < mu**2 / 2
    delta = stats.norm.cdf(0.5 - 1) - math.e * stats.norm.cdf(-1 - 0.5)  # of a shift of one sd at ε = 1, exactly
    found = epsilon_needed(stats.norm.sf(t - 1), stats.norm.sf(t), delta)
    assert found.max() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_a_threshold_chosen_on_the_counted_half_blames_too_often():
    "Of honest audits at confidence .5: at most a half by halves (four standard errors), more where halves are one."
    rng, blamed = np.random.default_rng(0), np.zeros(2)
    for _ in range(200):
        noise = np.rint(rng.laplace(0, 100, (2, 300)))
        T = [np.abs(y) - np.abs(y - 100) for y in (noise[0] + 100, noise[1])]
        same = [np.repeat(v[:150], 2) for v in T]
        blamed += [lower_bound(*v, epsilon_needed, 0.5).lower > 1 for v in (T, same)]
    assert blamed[0] / 200 <= 0.5 and blamed[1] > 1.5 * blamed[0]


def test_credible_bounds_are_quantiles_of_the_posterior():
    rng = np.random.default_rng(1)
    for (k, l), needed in itertools.product([(480, 60), (30, 0)], [epsilon_needed, rho_needed]):
        p, q = rng.beta(k + 0.5, 1000 - k + 0.5, 400_000), rng.beta(l + 0.5, 1000 - l + 0.5, 400_000)
        assert credible_bound(k, l, 1000, needed, 0.02) == pytest.approx(np.quantile(needed(p, q), 0.02), rel=0.01)


def test_the_best_threshold_is_the_best():
    first, second = np.repeat([0.0, 1.0, 2.0], [10, 40, 50]), np.repeat([0.0, 1.0, 2.0], [50, 40, 10])
    bounds = {t: epsilon_needed(low_end((first >= t).sum(), 100, 0.01), high_end((second >= t).sum(), 100, 0.01))
              for t in (0.0, 1.0, 2.0)}
    assert best_threshold(first, second, epsilon_needed, 0.01, 100) == max(bounds, key=bounds.get)


# ---------------------------------------------------------------- the page of all models


def test_the_page_names_every_model_and_tests_that_exist():
    "Its saved output, which is computed from the code."
    cells = json.loads((HERE_IS.parent / "nbs/research/17_promise_of_models.ipynb").read_text())["cells"]
    page = "".join("".join(out.get("data", {}).get("text/markdown", ""))
                   for cell in cells if cell["cell_type"] == "code" for out in cell["outputs"])
    for name in set(MODELS) - NOT_RELEASED:
        assert f"**{name}**" in page, name
    named = set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", page))
    assert len(named) == 3
    for file, test in named:
        assert f"def {test}(" in (HERE_IS / file).read_text()


def test_every_model_says_why_its_sensitivity_holds():
    for name, model in TRIED.items():
        assert len(model.proof) > 40 and model.proof.endswith("."), name
        for each in relations(model):
            moved = moved_by_one_record(model, each)
            assert 0 < moved["l2"] <= moved["l1"] * (1 + 1e-12)
    assert relations(TRIED["HiddenMarkov"]) == ("change_value",) and relations(TRIED["NaiveBayes"]) == ("change_one",)
    assert relations(SHARE) == ("change_one", "add_remove")


# ---------------------------------------------------------------- what is said, and refused


@pytest.mark.parametrize("promise", RELATIONS)
def test_found_tables_are_neighbours(promise):
    "They differ in one record, or by one; where cells are public, not in the columns that say the cell."
    for model, fixed in ((TRIED["Grouped, public"], "region"), (TRIED["NaiveBayes"], None)):
        if promise == "add_remove" and fixed:
            continue
        a, b, words = neighbouring_tables(np.random.default_rng(0), model, promise, "l1", 0)
        if promise == "add_remove":
            assert len(a) == len(b) + 1 and a.iloc[:-1].equals(b)
        else:
            assert len(a) == len(b) and (a.iloc[:-1] == b.iloc[:-1]).all(axis=None) and "made-up" in words
            assert promise != "change_value" or fixed is None or (a[fixed] == b[fixed]).all()


def test_an_audit_says_what_was_tested():
    found = audit(dpb.Normal((40, 160)), epsilon=2, trials=500, releases=1, forms=("polars",))
    assert isinstance(found, Audit) and found.confidence == 0.99
    said = repr(found)
    for word in ("Normal", "epsilon = 2", "laplace", "change_one", "L1 2.25", "500 of each table, 1 of them",
                 "99% bound", "no contradiction found", "never proves",
                 "1 read, in which the sums differ by 2.25 at most"):
        assert word in said, word
    assert found._repr_html_().count("<tr>") == len(said.splitlines()) == 8
    assert found.form_table == [{"form": "polars", "apart": 2.25}] and not found.faults
    assert [*found.table[0]] == ["what", "claimed", "lower_bound", "credible_bound", "order", "hits", "trials"]
    assert found.lower_bound == found.table[0]["lower_bound"] < found.credible_bound


def test_given_tables_are_audited_and_never_shown():
    secret = 31_337
    a, b = pd.DataFrame({"x": [secret, 0, 1]}), pd.DataFrame({"x": [secret, 0, 20_000]})
    found = audit(dpb.Exponential((0, 50_000), "x"), epsilon=1, tables=(a, b), **HERE)
    assert "given by the caller" in repr(found) and str(secret) not in repr(found) + found._repr_html_()
    assert not found.contradicted and found.moved == pytest.approx(19_999)
    filled = audit(SHARE, epsilon=1, tables=([1, 0, None], [1, 0, 0]), missing_as=1, **HERE)
    assert filled.moved == 1
    two = audit(SHARE, epsilon=1, tables=([1, 1, 1], [1, 0, 0]), **HERE)  # no neighbours: twice the budget is found
    assert two.contradicted and two.verdict.endswith("if the tables are neighbours")


@pytest.mark.parametrize(("why", "options"), [
    ("trials must be", dict(trials=199)), ("releases must be", dict(releases=-1)),
    ("confidence must be", dict(confidence=1.0)), ("epsilon must be", dict(epsilon=0)),
    ("delta must be", dict(mechanism="gaussian")), ("neighbours must be", dict(neighbours="add_one")),
    ("an audit charges no ledger", dict(ledger="budget.json")), ("options must be", dict(persons="id")),
    ("tables that differ in n", dict(tables=([0, 1], [0]))), ("same sums", dict(tables=([0, 1], [1, 0]))),
    ("two tables", dict(tables=[[0, 1]])), ("seed must be", dict(seed=-1)),
    ("data must", dict(tables=([0, 5], [0, 1]))), ("forms must be", dict(forms=("a scroll",))),
    ("forms must be", dict(forms="scrolls")), ("forms must be", dict(forms=3))])
def test_bad_input_is_refused(why, options):
    with pytest.raises(ValueError, match=why):
        audit(SHARE, **{"epsilon": 1, **HERE, **options})


# ---------------------------------------------------------------- the command


@pytest.fixture
def family(tmp_path):
    (tmp_path / "family.toml").write_text('family = "Exponential"\nbounds = [0, 10]\ncolumn = "days"\n')
    return str(tmp_path / "family.toml")


def test_the_command_exits_with_0_and_1_and_2(family, monkeypatch, capsys, tmp_path):
    command = ["audit", family, "--trials", "1000", "--releases", "2", "--confidence", str(CONFIDENCE), "--forms",
               "none"]
    for budget in (["--epsilon", "1"], ["--rho", "1"], ["--epsilon", "4", "--mechanism", "gaussian", "--delta", "1e-6"],
                   ["--epsilon", "1", "--neighbours", "add_remove", "--n-max", "50"]):
        assert main([*command, *budget]) == 0
        assert "no contradiction found" in capsys.readouterr().out
    assert main([*command, "--epsilon", "1", "--person", "id", "--combine", "sum", "--forms", "polars", "csv"]) == 0
    assert "each record is a person" in capsys.readouterr().out
    (tmp_path / "a.csv").write_text("days\n10\n5\n")
    (tmp_path / "b.csv").write_text("days\n0\n5\n")
    given = ["--tables", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main([*command, "--epsilon", "1", *given]) == 0
    monkeypatch.setattr(DOOR, "measurement", half_the_scale(DOOR.measurement))
    assert main([*command, "--epsilon", "1"]) == 1
    assert "contradicted: at least epsilon" in capsys.readouterr().out
    for wrong in ([], ["--epsilon", "1", "--rho", "1"], ["--epsilon", "-1"], ["--epsilon", "1", "--person", "id"]):
        assert main([*command, *wrong]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
