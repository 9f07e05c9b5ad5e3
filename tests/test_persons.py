"""Persons with several rows: the sums of tables that differ in one person's rows, on every engine and through files."""

import functools
import itertools
import json
import math
import warnings
from unittest.mock import patch

import numpy as np
import pytest

from dp_bayes_nb import (Above, Bernoulli, Categorical, Clip, Exponential, Gamma, Grouped, HiddenMarkov, Histogram,
                         Ledger, LinearRegression, LogisticRegression, LogLinear, NaiveBayes, Normal, Person, Poisson,
                         Redact, Release, combine, fit, private_quantile, release)
from dp_bayes_nb.cli import main
from dp_bayes_nb.command.results import table_draws
from dp_bayes_nb.data_holder import sums as sums_module
from dp_bayes_nb.data_holder.persons import MOST_COMBINED, step_of
from dp_bayes_nb.data_holder.report import ledger_report
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models.declarations import Column
from dp_bayes_nb.models.promises import check_person, mixed_units
from dp_bayes_nb.noise.add_remove import moving_rows, replaced_rows, size_design, times
from dp_bayes_nb.noise.design import design
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.releases.readings import describe_release, readings

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
dd = pytest.importorskip("dask.dataframe")
ibis = pytest.importorskip("ibis")

YES_NO, WARDS = ["yes", "no"], ["north", "it's", "süd"]
DAYS = Exponential(Clip(0.0, 30.0), "days")
ILL = Bernoulli("ill", "yes", failure="no")
WARD = Categorical(WARDS, "ward")
CASES = {  # a model, and rules for its columns
    "sum": (DAYS, "sum"), "mean": (DAYS, "mean"), "max": (DAYS, "max"), "min": (DAYS, "min"), "count": (DAYS, "count"),
    "redacted sum": (Exponential(Redact(1.0, 20.0), "days"), "sum"), "any": (ILL, "any"), "all": (ILL, "all"),
    "first": (WARD, "first"), "own order": (WARD, {"ward": WARDS[::-1]}), "any of 0 and 1": (Bernoulli("code"), "any"),
    "codes": (Categorical(3, "code"), "last"), "whole numbers": (Poisson((0, 12), "code"), "sum"),
    "pair": (Normal((0.0, 30.0), column="days"), "mean"),
    "line": (LinearRegression({"age": (18, 90), "ward": WARDS}, {"days": (0, 30)}),
             {"age": "mean", "ward": "first", "days": "sum"}),
    "tables": (LogLinear({"ill": YES_NO, "ward": WARDS}, margins=[("ill", "ward")]), "first"),
    "logistic": (LogisticRegression(("ill", ["no", "yes"]), {"age": (18, 90), "ward": WARDS}, knots=4),
                 {"age": "mean", "ward": "first", "ill": "any"}),
    "classes": (NaiveBayes(("ward", WARDS), {"ill": YES_NO, "code": 3}),
                {"ward": "last", "ill": "first", "code": "first"}),
    "groups": (Grouped(ILL, by="ward", levels=WARDS), {"ill": "any", "ward": "first"}),
    "groups of numbers": (Grouped(DAYS, by=["ward", "code"], levels={"ward": WARDS, "code": 3}),
                          {"days": "sum", "ward": "first", "code": "last"}),
    "public groups": (Grouped(DAYS, by="ward", levels=WARDS, sizes="public"), {"days": "mean", "ward": "first"}),
}  # fmt: skip
FAR = [0.0, 30.0, 29.999999, 1e9, 1e300, 1.7e308, 5e-324, 1e-9, 0.1, 0.2, 0.3, 7.3]


def rows_of(rng, who, most=9, least=1, codes=3, ward=None):
    "Any rows of one person, as a frame."
    k = int(rng.integers(least, most + 1))
    return pd.DataFrame({"id": pd.Series([who] * k, dtype=type(who)),
                         "days": np.where(rng.random(k) < 0.6, rng.choice(FAR, k), rng.exponential(5, k)),
                         "ill": pd.Series(rng.choice(YES_NO, k), dtype=str),
                         "ward": pd.Series(rng.choice(WARDS, k) if ward is None else [ward] * k, dtype=str),
                         "age": rng.choice([18.0, 90.0, -1e6, 1e9, 33.3], k), "code": rng.integers(0, codes, k)})


def neighbours(rng, persons=4, least=1, ward=None, codes=3, names=False, tables=2):
    "Tables of which any two differ in the rows of one person, each in an order of its own."
    name = (lambda who: f"person {who}") if names else (lambda who: who)
    others = pd.concat([rows_of(rng, name(who), codes=codes) for who in range(1, persons)])
    tables = [pd.concat([others, rows_of(rng, name(0), least=0 if k and not least else 1, ward=ward, codes=codes)])
              for k in range(tables)]
    return [each.sample(frac=1, random_state=int(rng.integers(2**31))).reset_index(drop=True) for each in tables]


def codes_of(model):
    "How many codes a record may have: 0 and 1 where these are the levels."
    return 2 if model == Bernoulli("code") else 3


def grid_of(model):
    "The grid exponent of a release at epsilon = 1."
    return design(model.inner or model, 1.0, "laplace", None, "change_one").grid_exponent


def length(difference, norm):
    "The norm of whole numbers, exactly where it is L1."
    return sum(map(abs, difference)) if norm == "l1" else math.sqrt(sum(d * d for d in difference))


def summed(model, person, tables, **options):
    "The exact sums of each table."
    return [exact_sums(model, each, grid_exponent=grid_of(model), person=person, **options) for each in tables]


def moved(model, person, tables, **options):
    "How far what is released moves between two tables, in grid steps, and by how much n does."
    return apart(model, person, summed(model, person, tables, **options))


def apart(model, person, found, norm="l1"):
    "The same of their exact sums, which are those of both norms."
    H = None
    if person is None or person.rows is not None or model.private_sizes:
        H = (model.inner or model).size_rows(grid_of(model), norm)
    m = len(model.names) // len(model.group_names)
    released = []
    for each in found:
        sizes = each.sizes or (each.n,)
        released.append([v for g, n in enumerate(sizes) for v in (
            each.integers[g * m:(g + 1) * m] if H is None else H.of(n, each.integers[g * m:(g + 1) * m]))])
    return length([a - b for a, b in zip(*released)], norm), found[0].n - found[1].n


def promised(model, person, norm, relation="change_one", g=None):
    "The sensitivity of the released rows that the noise is drawn for, in grid steps."
    mechanism, delta = ("laplace", None) if norm == "l1" else ("gaussian", 1e-6)
    g = grid_of(model) if g is None else g
    if person.rows is None and not model.private_sizes:
        return model.rounded_sensitivity(g, norm=norm)
    rows = (model.inner or model).size_rows(g, norm)
    if relation == "change_one":
        rows = moving_rows(rows, norm) if model.inner is not None else replaced_rows(rows, norm)
    due = times(person.rows or 1, rows.moved)
    if norm == "l1":  # and that is what a release draws its noise for
        assert size_design(model, 1.0, mechanism, delta, relation, None, person.rows or 1)[0].steps == due
    return due


# ---------------------------------------------------------------- combined


NORMS = ("l1", "l2")  # the sums of two tables are looked at in both


@pytest.mark.parametrize("case", CASES)
def test_one_persons_rows_move_combined_sums_by_the_sensitivity_at_most(case):
    model, rule = CASES[case]
    person, rng = check_person(model, Person("id", combine=rule)), np.random.default_rng(len(case))
    due = {norm: promised(model, person, norm) for norm in NORMS}
    for turn in range(2):  # of eight tables there are 28 pairs
        tables = neighbours(rng, codes=codes_of(model), ward=WARDS[0] if case == "public groups" else None, tables=8)
        sums = summed(model, person, [pl.from_pandas(each) for each in tables])
        for norm, pair in itertools.product(NORMS, itertools.combinations(sums, 2)):
            found, n = apart(model, person, pair, norm)
            assert n == 0 and found <= due[norm] * (1 + 1e-12), (turn, found, due)


@pytest.mark.parametrize("case", ["sum", "mean", "any", "line", "groups"])
def test_a_person_may_come_or_go_where_her_presence_is_private(case):
    model, rule = CASES[case]
    person, rng = check_person(model, Person("id", combine=rule)), np.random.default_rng(3)
    H = (model.inner or model).size_rows(grid_of(model), "l1")
    m = len(model.names) // len(model.group_names)
    for _ in range(2):
        tables = neighbours(rng, tables=4)
        without = tables[0][tables[0]["id"] != 0]
        found = summed(model, person, [without, *tables], empty=True)
        rows = [[v for g, n in enumerate(each.sizes or (each.n,)) for v in H.of(n, each.integers[g * m:(g + 1) * m])]
                for each in found]
        for each, whole in zip(found[1:], rows[1:], strict=True):
            assert each.n - found[0].n == 1 and length([a - b for a, b in zip(whole, rows[0])], "l1") <= H.moved


@pytest.mark.parametrize("options", [{"missing_as": 4.0}, {"missing": "drop"}])
def test_missing_values_of_one_person_move_no_more(options):
    person, rng, due = Person("id", combine="sum"), np.random.default_rng(4), DAYS.rounded_sensitivity(grid_of(DAYS))
    for _ in range(2):
        tables = []
        for each in neighbours(rng, tables=5):
            hers = each["id"] == 0
            holes = hers & (np.random.default_rng(int(rng.integers(2**31))).random(len(each)) < 0.4)
            if options.get("missing") == "drop":  # a person with a complete row stays one
                holes &= each.index != each.index[hers][0]
            tables.append(pl.from_pandas(each.assign(days=each["days"].mask(holes))))
        for pair in itertools.combinations(summed(DAYS, person, tables, **options), 2):
            found, n = apart(DAYS, person, pair)
            assert n == 0 and found <= due


# ---------------------------------------------------------------- kept


KEPT = [case for case in CASES if case not in ("public groups", "classes", "redacted sum", "count")]


@pytest.mark.parametrize("case", KEPT)
def test_one_persons_rows_move_kept_sums_by_the_sensitivity_at_most(case):
    model, rng, largest = CASES[case][0], np.random.default_rng(5), dict.fromkeys(itertools.product((1, 3), NORMS), 0.0)
    for c in (1, 3):
        person = Person("id", rows=c)
        due, gone = ({norm: promised(model, person, norm, relation) for norm in NORMS}
                     for relation in ("change_one", "add_remove"))
        for _ in range(2):  # of five tables there are ten pairs
            tables = neighbours(rng, least=0, codes=codes_of(model), tables=5)
            without = tables[0][tables[0]["id"] != 0]
            *sums, alone = summed(model, person, map(pl.from_pandas, (*tables, without)), empty=True)
            for norm, pair in itertools.product(NORMS, itertools.combinations(sums, 2)):
                found, n = apart(model, person, pair, norm)
                assert abs(n) <= c and found <= due[norm] * (1 + 1e-12)
                largest[c, norm] = max(largest[c, norm], found / due[norm])
            for norm, each in itertools.product(NORMS, sums):
                found, n = apart(model, person, (each, alone), norm)
                assert (n > 0 or each is not sums[0]) and 0 <= n <= c and found <= gone[norm] * (1 + 1e-12)
    assert min(largest[3, norm] for norm in NORMS) > 0.1  # the tables are no trivial ones


def test_planted_faults_are_caught():
    "c times what one changed row costs; rows as neighbours; a public number of rows; a sum in the order of the table."
    narrow, rng = Exponential(Clip(100.0, 101.0), "days"), np.random.default_rng(6)
    high, low = (pd.DataFrame({"id": [0] * k + [1], "days": [v] * k + [100.5]}) for k, v in ((3, 101.0), (1, 100.0)))
    person = Person("id", rows=3)
    found, n = moved(narrow, person, [high, low], empty=True)
    one = narrow.rounded_sensitivity(grid_of(narrow))  # of a row that is replaced
    assert found <= promised(narrow, person, "l1") and n == 2 and found > 3 * one
    sums = [exact_sums(narrow, each, grid_exponent=0, person=person, empty=True).integers[0] for each in (high, low)]
    assert sums[0] - sums[1] == 203  # of Σx alone
    rows = max(moved(DAYS, None, neighbours(rng), empty=True)[0] for _ in range(10))
    assert rows > DAYS.rounded_sensitivity(grid_of(DAYS))  # nobody is asked whose a row is
    assert any(moved(DAYS, person, neighbours(rng), empty=True)[1] for _ in range(10))
    assert promised(DAYS, Person("id", rows=3), "l1") > promised(DAYS, Person("id", rows=1), "l1")


def records_of(model):
    "A few records of a model, the extreme ones among them, as columns of one row each."
    choices = {"days": [0.0, 7.3, 30.0], "ill": YES_NO, "ward": WARDS, "age": [18.0, 50.0, 90.0], "code": [0, 1, 2]}
    names = [column.name for column in model.columns]
    return [dict(zip(names, record)) for record in itertools.product(*(choices[name] for name in names))]


@functools.cache
def sums_of_records(case, g):
    "The exact sums of each of these records alone, which are those of both norms."
    model = CASES[case][0]
    return [exact_sums(model, pd.DataFrame([record]), grid_exponent=g) for record in records_of(model)]


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("case", ["any", "first", "sum", "pair", "tables", "line", "groups"])
def test_the_sensitivity_of_kept_rows_is_exact(case, norm):
    "Against all pairs of at most c records and at most c others."
    model, g = CASES[case][0], 0 if CASES[case][0].integer else 6
    H = (model.inner or model).size_rows(g, norm)
    m = len(model.names) // len(model.group_names)
    points = [[v for k, n in enumerate(found.sizes or (found.n,)) for v in H.of(n, found.integers[k * m:(k + 1) * m])]
              for found in sums_of_records(case, g)]
    points = np.unique(np.array(points, dtype=float), axis=0)
    one = moving_rows(H, norm) if model.inner is not None else replaced_rows(H, norm)
    size = lambda v: np.abs(v).sum(axis=-1) if norm == "l1" else np.sqrt((v**2).sum(axis=-1))
    for c in (1, 2) if len(points) > 8 else (1, 2, 3):
        some = [np.zeros_like(points[0])] + [sum(each) for k in range(1, c + 1) for each in
                                             itertools.combinations_with_replacement(points[:12], k)]
        some = np.unique(np.array(some), axis=0)
        found = max(size(some - each).max() for each in some)
        gone = size(some).max()
        assert found <= times(c, one.moved) * (1 + 1e-12) and gone <= times(c, H.moved) * (1 + 1e-12)
        if case in ("any", "first", "sum", "tables", "groups"):  # no rounding in it: nothing is given away
            assert times(c, one.moved) <= found * (1 + 1e-9) and times(c, H.moved) <= gone * (1 + 1e-9)


# ---------------------------------------------------------------- engines


def engines(frame, folder):
    "A table of persons as every kind of table."
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_parquet(folder / "t.parquet", row_group_size=max(1, len(frame) // 3))
    return {"pandas": frame, "pandas nullable": frame.convert_dtypes(),
            "pandas object": frame.astype({name: object for name in ("id", "ill", "ward")}),
            "pandas arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
            "pandas categorical": frame.astype({"ward": "category"}),
            "polars": pl.from_arrow(arrow), "polars lazy": pl.from_arrow(arrow).lazy(),
            "polars scan": pl.scan_parquet(folder / "t.parquet"), "pyarrow": arrow, "duckdb": duckdb.from_arrow(arrow),
            "dask": dd.from_pandas(frame, npartitions=3), "ibis": ibis.memtable(arrow),
            "csv": folder / "t.csv", "csv.gz": folder / "t.csv.gz", "parquet": folder / "t.parquet"}  # fmt: skip


@pytest.mark.parametrize("case, names", [
    ("own order", True), ("groups of numbers", False),
    *(pytest.param(case, names, marks=pytest.mark.slow)
      for case, names in (("mean", False), ("sum", True), ("codes", False), ("line", True), ("groups", True)))])
def test_persons_are_summed_alike_on_every_engine_and_in_any_order(case, names, tmp_path):
    model, rule = CASES[case]
    table = neighbours(np.random.default_rng(7), persons=7, names=names)[0]
    shuffled = engines(table.sample(frac=1, random_state=1), tmp_path)
    for person in (Person("id", combine=rule), Person("id", rows=2)):
        first, *found = [exact_sums(model, data, grid_exponent=grid_of(model), person=person, empty=True)
                         for data in (table, *shuffled.values())]
        assert first.n == (7 if person.rows is None else sum(table.groupby("id").size().clip(upper=2)))
        assert {name: each for name, each in zip(shuffled, found) if each != first} == {}


@pytest.mark.parametrize("person", [Person("id", combine={"days": "sum", "ward": "first"}), Person("id", rows=2)],
                         ids=["combined", "kept"])
def test_neighbouring_tables_on_every_engine(person, tmp_path):
    model, rng = Grouped(DAYS, by="ward", levels=WARDS), np.random.default_rng(8)
    due = promised(model, person, "l1")
    for _ in range(1):
        folders = [tmp_path / f"{rng.integers(10**9)}" for _ in range(2)]
        for folder in folders:
            folder.mkdir()
        kinds = [engines(each, folder) for each, folder in zip(neighbours(rng, names=True), folders)]
        for name in kinds[0]:
            found, n = moved(model, person, [each[name] for each in kinds], empty=person.rows is not None)
            assert found <= due and (n == 0 or person.rows is not None), name


def test_a_persons_sum_has_no_order_and_no_rounding_that_depends_on_others(tmp_path):
    rng = np.random.default_rng(9)
    values = np.concatenate([rng.uniform(0, 10, 300), rng.choice(FAR, 100), -rng.uniform(0, 10, 300)])
    wide = Normal((-500.0, 500.0), column="days")
    tables = [pd.DataFrame({"id": 1, "days": rng.permutation(values)}) for _ in range(6)]
    found = {exact_sums(wide, dd.from_pandas(each, npartitions=1 + k) if k % 2 else each, grid_exponent=30,
                        person=Person("id", combine="sum")).integers for k, each in enumerate(tables)}
    assert len(found) == 1
    naive = lambda x: np.cumsum(x)[-1]  # floats have an order
    assert len({naive(each["days"][np.abs(each["days"]) < 100].to_numpy()) for each in tables}) > 1


def test_whole_numbers_are_added_exactly_and_limits_are_far():
    assert step_of(Column("x", low=0.0, high=30.0)) == (27, 2.0**13)
    table = pd.DataFrame({"id": [1] * 1000 + [2], "code": [7] * 1000 + [3]})
    found = exact_sums(Poisson((0, 10**6), "code"), table, person=Person("id", combine="sum"))
    assert (found.n, found.integers) == (2, (7003,))
    table = pd.DataFrame({"id": [1, 1, 2], "days": [1e300, -1e300, 1.0]})  # each row counts as 2¹³ at most
    assert exact_sums(Normal((-30.0, 30.0), column="days"), table, grid_exponent=10,
                      person=Person("id", combine="sum")).n == 2


def test_mutants_of_the_sum_are_seen():
    "A sum of floats depends on the order of other persons' rows: here by a step of the grid for hundreds of people."
    from dp_bayes_nb.data_holder import persons
    rng = np.random.default_rng(10)
    base = pd.DataFrame({"id": np.repeat(np.arange(300), 7), "days": rng.uniform(0, 4, 2100)})
    orders = [base.sample(frac=1, random_state=k) for k in range(3)]
    exact = lambda: len({exact_sums(DAYS, pl.from_pandas(each), grid_exponent=47,
                                    person=Person("id", combine="sum")).integers for each in orders})
    assert exact() == 1

    def floats(value, there, column):
        return value * 2.0 ** step_of(column)[0]

    keep = persons._person_number
    def number(name, column, rule):
        import narwhals as nw
        return nw.col(name) * 2.0 ** -step_of(column)[0] if rule == "sum" else keep(name, column, rule)
    with patch.object(persons, "_steps", floats), patch.object(persons, "_person_number", number):
        assert exact() > 1


# ---------------------------------------------------------------- refusals


def test_rows_of_nobody_are_refused_on_every_engine(tmp_path):
    table = pd.DataFrame({"id": ["ann", None, "ann", "Qzmarker"], "days": [1.0, 2.0, 3.0, 4.0], "ill": "no",
                          "ward": "north"})
    for name, data in engines(table, tmp_path).items():
        for person, empty in ((Person("id", combine="sum"), False), (Person("id", rows=1), True)):
            with pytest.raises(ValueError) as refused:
                exact_sums(DAYS, data, grid_exponent=4, person=person, empty=empty)
            said = str(refused.value)
            assert "got rows without a value" in said and "Qzmarker" not in said, name


@pytest.mark.parametrize("ids", [[1.0, 2.0], [True, False], [1.5, None]])
def test_a_column_that_names_no_person_is_refused(ids):
    for table in (pd.DataFrame({"id": ids, "days": [1.0, 2.0]}), pl.DataFrame({"id": ids, "days": [1.0, 2.0]})):
        with pytest.raises(ValueError, match="which says whose a row is, must be of texts or whole numbers"):
            exact_sums(DAYS, table, person=Person("id", combine="sum"))


def test_bad_rows_are_refused_as_bad_persons(tmp_path):
    table = pd.DataFrame({"id": [1, 1, 2, 3, 3], "days": [1.0, None, 2.0, math.inf, 4.0], "ill": "no",
                          "ward": ["north", "north", "west", "north", "north"]})
    for name, data in engines(table, tmp_path).items():
        if name.startswith("csv"):
            continue  # infinity is a text there
        with pytest.raises(ValueError, match=r"1 missing \(null or NaN\), 1 infinite of 3 persons"):
            exact_sums(DAYS, data, grid_exponent=4, person=Person("id", combine="sum"))
        with pytest.raises(ValueError, match="1 outside the declared support of 3 persons"):
            exact_sums(WARD, data, person=Person("id", combine="last"))
        with pytest.raises(ValueError, match="records that are missing"):
            exact_sums(DAYS, data, grid_exponent=4, person=Person("id", rows=1), empty=True)
    good = table[np.isfinite(table["days"]) | table["days"].isna()]
    assert exact_sums(DAYS, good, grid_exponent=0, missing="drop", person=Person("id", combine="sum")).integers == (7,)
    assert exact_sums(DAYS, good, grid_exponent=0, missing="drop", person=Person("id", rows=1), empty=True).n == 3


def test_more_rows_than_are_added_exactly_are_refused():
    table = pd.DataFrame({"id": [1] * 9 + [2], "days": 1.0})
    assert MOST_COMBINED == 2**22
    with patch.object(sums_module, "MOST_COMBINED", 8), pytest.raises(ValueError, match="8 rows .* got more of 1"):
        exact_sums(DAYS, table, person=Person("id", combine="sum"))


def test_what_cannot_have_persons_is_refused():
    cells = HiddenMarkov(("ward", WARDS), ("code", 3), {"ill": YES_NO}, states=2)
    table = neighbours(np.random.default_rng(0))[0]
    for model, options, why in (
            (cells, {"combine": "first"}, "numbers of records are public"),
            (Grouped(DAYS, "ward", WARDS, sizes="public"), {"rows": 2, "n_max": 99}, "declared with combine="),
            (DAYS, {"rows": 2}, "n_max must be the largest number of rows"),
            (DAYS, {"rows": 2, "n_max": 99, "neighbours": "change_value"}, "number is private"),
            (DAYS, {"combine": "sum", "n_max": 99}, "n_max must be left out"),
            (DAYS, {"combine": "sum", "rows": 1}, "got 'both'"), (DAYS, {}, "got 'neither'")):  # fmt: skip
        with pytest.raises(ValueError, match=why):
            release(model, table, epsilon=1.0, person="id", **options)
    with pytest.raises(ValueError, match="person must be the column"):
        release(DAYS, table, epsilon=1.0, combine="sum")


# ---------------------------------------------------------------- documents


@pytest.fixture(scope="module")
def visits():
    return pd.concat([rows_of(np.random.default_rng(11), who) for who in range(60)])


RELEASES = [(DAYS, dict(combine="sum")), (ILL, dict(combine="any", neighbours="add_remove", n_max=1000)),
            (DAYS, dict(rows=3, n_max=1000)), (DAYS, dict(rows=3, n_max=1000, neighbours="add_remove")),
            (Grouped(ILL, "ward", WARDS), dict(combine={"ill": "any", "ward": ["süd", "it's", "north"]})),
            (Grouped(ILL, "ward", WARDS), dict(rows=2, n_max=1000)), (WARD, dict(rows=1, n_max=1000)),
            (CASES["line"][0], dict(combine=CASES["line"][1])), (CASES["tables"][0], dict(rows=2, n_max=1000)),
            (CASES["logistic"][0], dict(rows=2, n_max=1000))]  # fmt: skip


@pytest.mark.parametrize("model, options", RELEASES)
@pytest.mark.parametrize("budget", [dict(epsilon=1.0), dict(rho=0.1)], ids=["laplace", "gaussian"])
def test_a_release_says_whose_records_it_counts(model, options, budget, visits, tmp_path):
    ledger = Ledger(tmp_path / "l.json", **({"epsilon": 1} if "epsilon" in budget else {"rho": 1}))
    made = release(model, visits, person="id", ledger=ledger, **options, **budget)
    again = Release.from_json(made.to_json())
    assert again == made and again.person == made.person and again.sensitivity == made.sensitivity
    assert "a person is not a row" in repr(made) and "neighbours are persons" in made.provenance
    assert (made.n is None) == ("rows" in options or made.neighbours == "add_remove" or model.private_sizes)
    assert "person: " in ledger.entries[0].release
    norm = "l1" if "epsilon" in budget else "l2"
    if made.n is None:
        due = promised(model, made.person, norm, made.neighbours, g=round(-math.log2(made.noise.grid[0])))
        assert made.sensitivity == pytest.approx(due * made.noise.grid[0], rel=1e-6 if norm == "l2" else 1e-12)
    assert made.n is None or made.n == 60


def forged(made, change):
    "The text of a release with something changed, sealed again."
    document = json.loads(made.to_json())
    document.pop("sha256")
    change(document)
    return seal(document)


def test_a_file_cannot_promise_more_persons_than_it_protects(visits):
    made = release(DAYS, visits, epsilon=1.0, person="id", rows=2, n_max=1000)
    for change, why in ((lambda d: d["person"].update(rows=3), "sensitivity must be"),
                        (lambda d: d.pop("person"), "neighbours must be|origin must be"),
                        (lambda d: d.update(person={"column": "id", "combine": "sum"}), "neighbours|origin must"),
                        (lambda d: d.update(person={"column": "id"}), "person must be an object"),
                        (lambda d: d.update(person=None), "person must be an object"),
                        (lambda d: d["person"].update(rows="2"), "rows must be"),
                        (lambda d: d["person"].update(column="days"), "another column")):
        with pytest.raises(ValueError, match=why):
            Release.from_json(forged(made, change))
    one = release(DAYS, visits, epsilon=1.0, person="id", combine="sum")
    for change, why in ((lambda d: d["person"].update(combine={"days": "guess"}), "combine must be"),
                        (lambda d: d["person"].update(combine={}), "combine must be"),
                        (lambda d: d["person"].update(combine=7), "combine must be"),
                        (lambda d: d.update(person={"column": "id", "rows": 1}), "neighbours must be")):
        with pytest.raises(ValueError, match=why):
            Release.from_json(forged(one, change))


def test_files_without_persons_are_what_they_were():
    plain = release(ILL, pd.DataFrame({"ill": YES_NO}), epsilon=1.0)
    assert plain.person is None and "person" not in json.loads(plain.to_json()) and "person" not in repr(plain)


def test_only_releases_of_the_same_persons_are_combined(visits):
    made = [release(DAYS, visits, epsilon=0.5, person="id", combine=rule) for rule in ("sum", "sum", "mean")]
    both = combine(*made[:2])
    assert both.person == made[0].person and Release.from_json(both.to_json()) == both
    with pytest.raises(ValueError, match="of the same records, person"):
        combine(made[0], made[2])
    groups = release(Grouped(ILL, "ward", WARDS), visits, epsilon=1.0, person="id", combine="first")
    assert groups.group("süd").person == Person("id", combine={"ill": "first"})


def test_a_posterior_says_that_rows_of_a_person_are_alike(visits):
    made = release(ILL, visits, epsilon=1.0, person="id", rows=2, n_max=1000)
    with pytest.warns(UserWarning, match="rows of one person may be alike"):
        result = fit(made, draws=50, chains=2, seed=0)
    assert "at most 2 rows of each 'id'" in result.posterior.attrs["provenance"]
    single = release(ILL, visits, epsilon=1.0, person="id", combine="any")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="rows of one person")
        result = fit(single, draws=50, chains=2, seed=0)
    assert "neighbours are persons" in result.posterior.attrs["provenance"]


def test_the_command_line_releases_persons(visits, tmp_path, capsys):
    visits.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "f.toml").write_text('family = "Exponential"\nbounds = [0, 30]\ncolumn = "days"\n')
    command = ["release", str(tmp_path / "visits.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1"]
    for k, options in enumerate((["--combine", "mean"], ["--rows", "2", "--n-max", "999"])):
        assert main([*command, "--person", "id", *options, "-o", str(tmp_path / f"{k}.json")]) == 0
        assert "a person is not a row" in capsys.readouterr().out
    assert [Release.load(tmp_path / f"{k}.json").person for k in range(2)] == [
        Person("id", combine={"days": "mean"}), Person("id", rows=2)]
    assert main([*command, "--person", "id", "-o", str(tmp_path / "2.json")]) == 2
    assert "--person must be declared with a rule" in capsys.readouterr().err


IDS = [2**53, 2**53 + 1, 2**53 + 2, -2**63, -2**63 + 1, 2**63 - 1, 2**63 - 2, 7]  # as floats, four numbers


def _id_frames(ids, x):
    "The same rows as frames of many kinds, by name."
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    for kind in ("int64", "Int64", "int64[pyarrow]", "object", "category"):
        yield kind, pd.DataFrame({"id": pd.Series(ids, dtype="int64").astype(kind), "x": x})
    yield "beside nullable values", pd.DataFrame({"id": pd.Series(ids, dtype="int64"), "x": pd.array(x, dtype="Int64")})
    yield "polars", pl.DataFrame({"id": ids, "x": x})
    yield "pyarrow", pa.table({"id": ids, "x": x})


def _records_of_ids(ids, x, **how):
    person = check_person(Bernoulli("x"), Person("id", **how))
    return {kind: exact_sums(Bernoulli("x"), frame, person=person) for kind, frame in _id_frames(ids, x)}


def test_ids_that_are_near_are_different_persons_on_every_kind_of_frame(tmp_path, monkeypatch):
    "Ids beyond 2⁵³ became floats in pandas' nullable kinds, and persons merged."
    ids, x = IDS * 2, [0, 1] * len(IDS)
    for kind, found in _records_of_ids(ids, x, combine="any").items():
        assert found.n == len(IDS), kind
    for start in range(2):  # all rows of one person gone: her rows only
        whole, less = (_records_of_ids(IDS[start:] * 3, [1] * 3 * len(IDS[start:]), rows=2),
                       _records_of_ids(IDS[start + 1:] * 3, [1] * 3 * len(IDS[start + 1:]), rows=2))
        for kind in whole:
            assert (whole[kind].n - less[kind].n, whole[kind].integers[0] - less[kind].integers[0]) == (2, 2), kind
    from dp_bayes_nb.data_holder import columns as room
    honest = room.plain_columns()

    def through_floats(native, wanted):
        columns, wrong = honest(native, wanted)
        return {**columns, "id": columns["id"].astype(float).astype("int64")}, wrong
    monkeypatch.setattr(room, "plain_columns", lambda: through_floats)  # the mutant
    assert _records_of_ids(ids, x, combine="any")["Int64"].n < len(IDS)


def test_unsigned_ids_are_whole_numbers_too():
    import pandas as pd
    frame = pd.DataFrame({"id": pd.array([2**64 - 1, 2**64 - 2] * 2, dtype="UInt64"), "x": [0, 1, 1, 0]})
    assert exact_sums(Bernoulli("x"), frame, person=check_person(Bernoulli("x"), Person("id", combine="any"))).n == 2


def test_bounds_that_were_bought_for_rows_are_said_to_be(tmp_path):
    "The epsilon of a private quantile protects one row, and its number is a quantile of rows."
    import pandas as pd
    frame = pd.DataFrame({"id": [1, 1, 2, 3] * 25, "x": np.linspace(0, 9, 100)})
    ledger = Ledger(tmp_path / "l.json", epsilon=9)
    private_quantile(frame, 0.9, column="x", epsilon=1.0, lower=0, upper=10, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(Exponential((0, 9), "x"), frame, epsilon=1.0, ledger=ledger, bounds_source=1)
    with pytest.warns(UserWarning, match="this private quantile counts rows, not persons"):
        release(Exponential((0, 9), "x"), frame, epsilon=1.0, person="id", combine="sum", ledger=ledger,
                bounds_source=1)


@pytest.mark.parametrize("combine", ["count", *(pytest.param(rule, marks=pytest.mark.slow)
                                                for rule in ("sum", "mean", "max", "min"))])
def test_a_private_quantile_of_persons_is_that_of_their_combined_rows(tmp_path, combine):
    "Changing all rows of one person moves every count by at most 1, and bounds bought so are bought for persons."
    from dp_bayes_nb.data_holder.quantiles import CountsUpTo
    import pandas as pd
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"id": rng.integers(0, 60, 400), "x": np.round(rng.exponential(3, 400), 2)})
    persons = getattr(frame.groupby("id")["x"], combine)()
    ledger = Ledger(tmp_path / "l.json", epsilon=10_000)
    found = private_quantile(frame, 0.8, column="x", epsilon=2000, lower=0, upper=60, candidates=601, ledger=ledger,
                             person="id", combine=combine)
    grid = np.linspace(0, 60, 601)
    below = (persons.to_numpy()[:, None] <= grid + 1e-9).sum(axis=0)
    assert abs(int(below[np.abs(grid - found).argmin()]) - np.ceil(0.8 * len(persons))) == np.abs(
        below - np.ceil(0.8 * len(persons))).min()
    assert "person: the rows of each 'id' are one record" in ledger.entries[0].release
    model = CountsUpTo(0.0, 60.0, 601, "x")
    owner = check_person(model, Person("id", combine=combine))
    other = frame.copy()
    other.loc[other["id"] == 7, "x"] = 1e6  # all rows of a person
    counts = [exact_sums(model, pl.from_pandas(each), person=owner).integers for each in (frame, other)]
    moved = np.subtract(*counts)
    assert np.abs(moved).max() <= 1 and (combine == "count" or np.abs(moved).max() == 1)
    rows = np.subtract(*(exact_sums(model, pl.from_pandas(each)).integers for each in (frame, other)))
    assert np.abs(rows).max() > 1  # the mutant: rows are counted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release(Exponential((0, 9), "x"), frame, epsilon=1.0, person="id", combine=combine, ledger=ledger,
                bounds_source=1)
    with pytest.warns(UserWarning, match="by another rule than this release; its epsilon protects a person"):
        release(Exponential((0, 9), "x"), frame, epsilon=1.0, person="id", combine="first", ledger=ledger,
                bounds_source=1)
    asked = {"epsilon": 1, "lower": 0, "upper": 60}
    for said, wrong in {"with combine=": {"person": Person("id", rows=2), "column": "x"},
                        "combine must be a rule": {"person": "id", "column": "x"},
                        "column must be given with person": {"person": "id", "combine": "sum"}}.items():
        with pytest.raises(ValueError, match=said):
            private_quantile(frame, 0.8, **asked, **wrong)
    frame.loc[0, "x"] = np.nan
    with pytest.raises(ValueError, match="1 missing"):
        private_quantile(frame, 0.8, **asked, column="x", person="id", combine="sum")
    private_quantile(frame, 0.8, **asked, column="x", person="id", combine="sum", missing_as=0, ledger=ledger,
                     name="visits")
    assert ledger.entries[-1].data == "visits"


@pytest.mark.parametrize("rule, said", [("sum", "mean of summed days per person"), ("max", "mean of largest days per "
                                        "person"), ("count", "mean of rows per person")])
def test_a_mean_of_combined_rows_is_named_as_what_it_is(rule, said):
    table = pd.DataFrame({"id": [1, 1, 2, 3], "days": [3.0, 4.0, 5.0, 1.0]})
    made = release(DAYS, table, epsilon=1.0, person="id", combine=rule)
    assert [each.name for each in readings(made)][0] == said and said in describe_release(made)
    assert readings(release(DAYS, table, epsilon=1.0))[0].name == "mean of days"
    assert list(table_draws(fit(made, Gamma(1, 1), draws=50, warmup=50, chains=1, progress=False), made)) == [
        each.name for each in readings(made)]


@pytest.mark.parametrize("engine", ["pandas", "polars", "arrow", "duckdb"])
def test_a_person_on_a_decimal_edge_is_in_the_bin_that_it_begins(engine):
    "0.3 is no multiple of a power of two: added up or averaged, it is on the edge 0.3 still."
    made = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas, "duckdb": duckdb.from_df}
    x = np.arange(101) / 100
    hundredths, thirds = Histogram([i / 100 for i in range(101)], "x", 0), Histogram([0, 1 / 3, 2 / 3, 1], "x", 0)
    one, two = pd.DataFrame({"id": range(101), "x": x}), pd.DataFrame({"id": [*range(101)] * 2, "x": [*x / 2] * 2})
    three = pd.DataFrame({"id": [1, 1, 1, 2, 2, 2], "x": [1.0, 0, 0, 1, 1, 0]})
    due = (1, 0, *[1] * 98, 1, 1)
    for model, rule, frame, expected in ((hundredths, "sum", one, due), (hundredths, "mean", one, due),
                                         (hundredths, "sum", two, due), (thirds, "mean", three, (0, 0, 1, 1, 0))):
        person = check_person(model, Person("id", combine=rule))
        assert tuple(exact_sums(model, made[engine](frame), person=person).integers) == expected
    above = Above(Poisson((0, 2), "x"), [1])
    sums = exact_sums(above, made[engine](pd.DataFrame({"id": [1, 1], "x": [0.3, 0.7]})),
                      person=check_person(above, Person("id", combine="sum")))
    assert tuple(sums.integers) == (1, 0)  # at the limit, not above it


def test_a_person_of_huge_or_tiny_values_is_rounded_as_before():
    for low, high, value in ((0.0, 1e12, 123456789012.0), (0.0, 1e-9, 3.3e-10), (-1e6, 1e6, -0.1)):
        model = Histogram([low, value, high], "x", 0)
        found = exact_sums(model, pd.DataFrame({"id": [1], "x": [value]}),
                           person=check_person(model, Person("id", combine="sum"))).integers
        assert sum(found) == 1 and (found[2] == 1 or value == 123456789012.0)


def warned_of_units(ledger, *steps):
    "For each of several releases into a ledger, whether a warning says that its entries protect different units."
    rows = pl.DataFrame({"id": [1, 1, 2, 3], "ill": [0, 1, 0, 1], "days": [1.0, 2.0, 3.0, 4.0]})
    doors = {"release": lambda **how: release(Bernoulli("ill"), rows, epsilon=0.1, ledger=ledger, **how),
             "quantile": lambda **how: private_quantile(rows, 0.5, epsilon=0.1, lower=0, upper=9, column="days",
                                                        ledger=ledger, **how)}
    found = []
    for door, of_person in steps:
        how = dict(person="id", combine="any" if door == "release" else "sum") if of_person else {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            doors[door](**how)
        said = [each for each in caught if "protect a person with all rows" in str(each.message)]
        assert all(each.filename == __file__ for each in said)  # at the caller's line
        found.append([str(each.message) for each in said])
    return found


@pytest.mark.parametrize("first, then", itertools.product(("release", "quantile"), repeat=2))
@pytest.mark.parametrize("persons_first", [True, False])
def test_a_release_into_an_account_of_another_unit_warns_as_the_report_does(first, then, persons_first, tmp_path):
    "By record after by person, and the other way round; never between releases of one unit."
    account = Ledger(tmp_path / "l.json", 1)
    alone, same, other = warned_of_units(account, (first, persons_first), (then, persons_first),
                                         (then, not persons_first))
    assert alone == same == [] and len(other) == 1
    what, means = mixed_units([entry.release for entry in account.entries])
    assert what in other[0] and means in other[0] and what in ledger_report(account)


def test_the_check_of_mixed_units_sees_a_release_that_says_nothing(tmp_path, monkeypatch):
    "The release of 0.6.0, which left it to the report."
    monkeypatch.setattr("dp_bayes_nb.data_holder.release.warn_of_unit", lambda ledger, said: None)
    assert warned_of_units(Ledger(tmp_path / "l.json", 1), ("release", True), ("release", False)) == [[], []]
