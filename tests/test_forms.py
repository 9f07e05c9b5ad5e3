"""A table's physical type never decides more than its values: in every form that is accepted the sums are those of the
plain list of its values, and one value that is changed at the source, before any program has chosen a type, moves them
by the sensitivity at most.
"""

import datetime
import decimal
import itertools
import sys
import tempfile
import uuid
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from dp_bayes_nb import Bernoulli, Categorical, DateHistogram, Exponential, Grouped, Person, private_quantile
from dp_bayes_nb.data_holder import sums
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models.promises import check_person
from dp_bayes_nb.research.table_forms import GUESSED, table_forms

dd = pytest.importorskip("dask.dataframe")
ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.filterwarnings("ignore:Dask support is moving:FutureWarning")

DAY = datetime.date
TEXTS = ["no", "1", "1", "0", "1.0", "true", "01", None, "1", "no"]
NUMBERS = [1, 0, 2, None, 1, 2, 0, 0, 1, 1]
REALS = [0.5, 3, None, 12.25, 0, 1.5, 7, 10, 2.5, 1]
DATES = [DAY(2024, 1, 3), DAY(2024, 2, 29), None, DAY(2023, 12, 31), DAY(2024, 4, 1), *[DAY(2024, 3, 1)] * 5]
NAMES, CODES = ["ann", "1", "bob", "1", "2", "ann", "01", "bob", "2", "1"], [3, 1, 2, 1, 2, 3, 1, 2, 3, 2**60 + 1]
LEVELS = ("no", "1", "0", "1.0", "true", "01")
SPENT = Exponential((0, 10), "spent")
BY_CODE = Grouped(Exponential((0, 10), "spent"), "place", list(LEVELS))


def clipped(values, fill=0.0):
    "What a person or a record adds to a sum, in units of 2⁻⁸."
    return round(2**8 * min(max(sum(fill if value is None else value for value in values), 0), 10))


def by_person(rows, value, owner="id"):
    "The values of each person, by a dict of Python."
    found = {}
    for row in rows:
        found.setdefault(row[owner], []).append(row[value])
    return found


# what is released of which columns, and an oracle of a few lines: (n, sums) of a list of records
CASES = {
    "texts": (Categorical(LEVELS, "x"), {"x": TEXTS}, dict(missing_as="no"), lambda rows: (len(rows), tuple(
        sum(("no" if row["x"] is None else row["x"]) == level for row in rows) for level in LEVELS))),
    "one text": (Bernoulli("x", success="1", failure=[each for each in LEVELS if each != "1"]), {"x": TEXTS},
                 dict(missing_as="1"), lambda rows: (len(rows), (sum(row["x"] in ("1", None) for row in rows),))),
    "numbers": (Categorical(3, "x"), {"x": NUMBERS}, dict(missing_as=2), lambda rows: (len(rows), tuple(
        sum((2 if row["x"] is None else row["x"]) == level for row in rows) for level in range(3)))),
    "reals": (SPENT, {"spent": REALS}, dict(missing_as=4), lambda rows: (len(rows), (
        sum(clipped([row["spent"]], 4) for row in rows),))),
    "days": (DateHistogram("2024-01", "2024-03", column="x"), {"x": DATES}, dict(missing_as="2024-01-01"),
             lambda rows: (len(rows), tuple(sum(bin_of(row["x"]) == k for row in rows) for k in range(5)))),
    "groups": (BY_CODE, {"spent": REALS, "place": TEXTS}, dict(missing_as={"spent": 4, "place": "no"}),
               lambda rows: (len(rows), tuple(sum(clipped([row["spent"]], 4) for row in rows if (
                   "no" if row["place"] is None else row["place"]) == level) for level in LEVELS))),
    **{f"persons called {what}": (SPENT, {"spent": REALS, "id": ids}, dict(missing_as=4, person=Person(
        "id", combine="sum")), lambda rows: (len(by_person(rows, "spent")), (
            sum(clipped(values, 4) for values in by_person(rows, "spent").values()),)))
       for what, ids in (("by texts", NAMES), ("by numbers", CODES))},
    "two rows of persons": (Categorical(3, "x"), {"x": NUMBERS, "id": NAMES}, dict(
        missing_as=2, person=Person("id", rows=2), empty=True), lambda rows: kept(rows, 2)),
}


def bin_of(day):
    "Before, January, February, March, or after."
    day = DAY(2024, 1, 1) if day is None else day
    return (1 if day.month == 1 else 2 if day.month == 2 else 3 if day.month == 3 else 4) if day.year == 2024 else 0


def kept(rows, most):
    "Of each person the smallest values, counted by level."
    found = by_person([{**row, "x": 2 if row["x"] is None else row["x"]} for row in rows], "x")
    chosen = [value for values in found.values() for value in sorted(values)[:most]]
    return len(chosen), tuple(chosen.count(level) for level in range(3))


def summed(case, table):
    "(n, sums) of a table; None where it is refused."
    model, _, how, _ = CASES[case]
    how = how | {"person": check_person(model, how["person"])} if "person" in how else how
    try:
        found = exact_sums(model, table, grid_exponent=0 if model.integer else 8, **how)
    except ValueError:
        return None
    return found.n, found.integers


def made(make):
    "A table, or None where the engine has no such table."
    try:
        return make()
    except Exception:  # noqa: BLE001  (every engine has exceptions of its own)
        return None


def values_of(table):
    "What a table holds, as lists of Python by column: each engine's own words for it."
    if isinstance(table, Path):
        return None  # a file has no values but by a reader
    if hasattr(table, "npartitions"):
        parts = [values_of(part.compute()) for part in table.partitions]
        return {name: sum([part[name] for part in parts], []) for name in parts[0]}
    if isinstance(table, pd.DataFrame):
        return {name: [None if pd.isna(v) else v for v in table[name].astype(object)] for name in table}
    if isinstance(table, (pl.DataFrame, pl.LazyFrame)):
        return table.lazy().collect().to_dict(as_series=False)
    arrow = table if isinstance(table, pa.Table) else table.to_arrow_table() if isinstance(
        table, duckdb.DuckDBPyRelation) else table.to_pyarrow()
    return {name: arrow[name].to_pylist() for name in arrow.column_names}


def plain(value):
    "A value of Python in place of NumPy's or pandas'."
    value = value.item() if isinstance(value, np.generic) else value
    return value.date() if isinstance(value, datetime.datetime) else value


def records(columns):
    return [dict(zip(columns, map(plain, row))) for row in zip(*columns.values())]


ALIKE = ("one text", "persons called by numbers")  # their columns are those of other cases


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.slow) if case in ALIKE else case
                                  for case in CASES])
def test_the_sums_of_a_table_are_those_of_the_list_of_its_values(case, tmp_path):
    _, columns, _, oracle = CASES[case]
    accepted = []
    for name, make in table_forms(columns, tmp_path).items():
        table = made(make)
        found = None if table is None else summed(case, table)
        if found is not None:
            values = columns if isinstance(table, Path) else values_of(table)
            assert found == oracle(records(values)), name
            accepted.append(name)
            if name not in GUESSED:
                assert found == oracle(records(columns)), f"{name}: not the values that it was made of"
    assert {"pandas objects", "arrow", "arrow dictionary of rows", "polars", "duckdb of arrow", "ibis of arrow",
            "parquet", "dask of parts"} <= {*accepted, *(["dask of parts"] if case == "days" else [])}
    assert {"csv", "csv.gz"} <= set(accepted)


POOLS = {"x": [None, "1", "no", "true"], "place": [None, "1", "no"], "spent": [None, 10, 0.5], "id": [None, "1", "cy"]}
POOLS_OF = {"numbers": {"x": [None, 0, 2]}, "days": {"x": [None, DAY(2024, 1, 3), DAY(1969, 7, 20)]},
            "reals": {"spent": [None, 0, 10, 0.25]}, "persons called by numbers": {"id": [None, 1, 2**63]},
            "two rows of persons": {"x": [None, 0, 2]}}
# one value many times, and then the record that changes; files of which one has a text that is no number
TABLES = {
    "texts": [["no"] + ["1"] * 8, [1] * 6, ["01"] * 6, ["no"] + ["01"] * 5, ["true"] * 6, ["no"] + ["true"] * 5],
    "one text": [["1"] * 6, ["no"] + ["1"] * 5, [1] * 6], "numbers": [[1] * 6], "reals": [[1] * 6, [0.1] * 6],
    "days": [[DAY(2024, 2, 29)] * 6],
    "groups": [["no"] + ["1"] * 8, ["1"] * 6, ["no"] + ["true"] * 5, ["true"] * 6],
    "persons called by texts": [["ann", *"123456" * 2], ["1"] * 6, ["ann", "1", "2", "1", "2", "2"]],
    "persons called by numbers": [[1, 2, 2**60, 2**60 + 1, 2**60, 1], [1] * 6],
    "two rows of persons": [["ann", "1", "2", "1", "2", "2"], ["1"] * 6],
}


def neighbouring(case, full):
    "Tables that differ in one value of the last record; of the first of `TABLES` only, unless all are wanted."
    _, columns, _, _ = CASES[case]
    main = next(name for name in ("id", "place", "x", "spent") if name in columns)
    pool = {name: POOLS_OF.get(case, {}).get(name, POOLS[name]) for name in columns}
    for values in TABLES[case] if full else TABLES[case][:1]:
        size = len(values) + 1
        rest = {name: [10 if name == "spent" else 1] * size for name in columns if name != main}
        lasts = pool[main] if isinstance(values[0], type(pool[main][1])) else [None, values[0], *pool[main][1:]]
        many = 5 if full and values is TABLES[case][0] else 3
        tables = [{**rest, main: [*values, last]} for last in lasts[:many]]
        tables += [{**table, name: [*table[name][:-1], value]} for table in tables[:2 if full else 0] for name in rest
                   for value in pool[name]]
        yield [{name: table[name] for name in columns} for table in tables]


def furthest(case, folder, full=False, forms=None):
    "By form: how many pairs were accepted, and how far apart their sums are at most."
    found = {}
    for tables in neighbouring(case, full):
        seen = {}
        for columns in tables:
            for name, make in table_forms(columns, folder).items():
                if forms is None or name in forms:
                    table = made(make)
                    seen.setdefault(name, []).append(None if table is None else summed(case, table))
        for name, each in seen.items():
            there = [sums for sums in each if sums is not None]
            for (n, one), (m, other) in itertools.combinations(there, 2):
                moved = np.abs(np.subtract(one, other)).sum() + (0 if "two rows" in case else 2**20 * abs(n - m) * (
                    "persons" not in case))
                pairs, most = found.get(name, (0, 0))
                found[name] = pairs + 1, max(most, moved)
    return found


def due(case):
    "How far one record, or one value of a person's row, may move the sums."
    model, _, how, _ = CASES[case]
    unit = 1 if model.integer else 2**8
    most = {"texts": 2, "one text": 1, "numbers": 2, "days": 2, "reals": 10, "groups": 20}.get(case)
    # a row that changes hands is two persons' row: both may move
    return unit * most if most else 2 * 10 * unit if "called" in case else 4


SELDOM = ("groups", "reals", *ALIKE)  # their types are those of others


@pytest.mark.parametrize("case, full", [  # some of the pairs; or all, and the some among them
    *(pytest.param(case, False, id=f"{case}-some") for case in CASES if case not in SELDOM),
    *(pytest.param(case, True, marks=pytest.mark.slow, id=f"{case}-all") for case in CASES)])
def test_one_value_changed_at_the_source_moves_the_sums_by_the_sensitivity_at_most(case, full, tmp_path):
    found = furthest(case, tmp_path, full)
    assert {name: most for name, (_, most) in found.items() if most > due(case)} == {}
    assert sum(pairs for pairs, _ in found.values()) > 20 and max(most for _, most in found.values()) >= due(case) / 4


def as_before(frame, wanted):
    "As it was: types are looked at where a table begins, and values are taken as they are held."
    return frame, {}


WRONG = {"texts": ("pandas categories", "pandas sparse", "dask of csv files"), "groups": ("dask of csv files",),
         "persons called by texts": ("dask of csv files",)}


@pytest.mark.parametrize("case", WRONG)
def test_values_taken_as_they_are_held_are_found_out(case, tmp_path):
    with patch.object(sums, "spelled_out", as_before):
        found = furthest(case, tmp_path, full=case == "texts", forms=WRONG[case])
    assert all(found[name][1] > due(case) for name in WRONG[case]), found


# ---------------------------------------------------------------- each fault by itself

ONE = pa.DictionaryArray.from_arrays(pa.array(range(40)), pa.array(["p"] * 40))  # one person, forty slots
SPENDING = {"spent": pa.array([10.0] * 40), "id": ONE}
NESTED = {**SPENDING, "id": pa.DictionaryArray.from_arrays(pa.array(range(40)), ONE)}
OWNERS = {"arrow": lambda: pa.table(SPENDING), "duckdb": lambda: duckdb.from_arrow(pa.table(SPENDING)),
          "ibis": lambda: ibis.memtable(pa.table(SPENDING)), "polars": lambda: pl.from_arrow(pa.table(SPENDING)),
          "pandas": lambda: pa.table(SPENDING).to_pandas(types_mapper=pd.ArrowDtype),
          "nested": lambda: pa.table(NESTED),
          "chunks": lambda: pa.concat_tables([pa.table(SPENDING).slice(k, 1) for k in range(40)])}


@pytest.mark.parametrize("form", OWNERS)
def test_a_person_in_many_slots_of_a_dictionary_is_one(form):
    "Her sum is clipped once; so are a group's, a count's, and a quantile's."
    table, person = OWNERS[form](), Person("id", combine="sum")
    assert exact_sums(SPENT, table, person=person) == sums.ExactSums(1, 0, (10,))
    if form != "nested":  # rows are kept by DuckDB, which has no such dictionaries
        assert exact_sums(SPENT, table, person=Person("id", rows=2), empty=True).n == 2
    places = pa.table({**(NESTED if form == "nested" else SPENDING), "place": ["1"] * 40})
    model = Grouped(SPENT, "place", ["1", "2"])
    grouped = check_person(model, Person("id", combine={"spent": "sum", "place": "last"}))
    found = exact_sums(model, places, person=grouped)
    assert (found.sizes, found.integers) == ((1, 0), (10, 0))
    with pytest.warns(UserWarning, match="among 1|of 1 persons"):
        private_quantile(table, 0.5, epsilon=1.0, lower=0, upper=10, column="spent", person="id", combine="sum")


def test_the_mutant_counts_slots():
    with patch.object(sums, "spelled_out", as_before):
        assert exact_sums(SPENT, OWNERS["arrow"](), person=Person("id", combine="sum")).integers == (400,)


@pytest.mark.parametrize("table", [
    pa.table({"spent": [1.0, 2.0], "id": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([1.0, None]))}),
    pa.table({"spent": [1.0, 2.0], "id": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([1.5, 2.5]))}),
    pa.table({"spent": [1.0, 2.0], "id": pa.array([[1], [2]])}),
    pd.DataFrame({"spent": [1.0, 2.0, 3.0], "id": pd.Categorical([1, "1", 1.0])}),
    pd.DataFrame({"spent": [1.0, 2.0], "id": pd.Categorical([1.0, 2.0])}),
    pd.DataFrame({"spent": [1.0, 2.0], "id": pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"]))}),
    pd.DataFrame({"spent": [1.0, 2.0], "id": pd.arrays.SparseArray([1.0, 2.0])}),
    pl.DataFrame({"spent": [1.0, 2.0], "id": pl.Series([1, "1"], dtype=pl.Object)}),
    duckdb.sql("select * from (values (1.0, union_value(k := 1)), (2.0, union_value(k := 1))) as t(spent, id)"),
], ids=range(9))
def test_a_dictionary_or_category_of_what_names_nobody_is_refused(table):
    "As the same values are as objects."
    for person, empty in ((Person("id", combine="sum"), False), (Person("id", rows=1), True)):
        with pytest.raises(ValueError, match="must be of texts or whole numbers|could not be read|must say in column"):
            exact_sums(SPENT, table, person=person, empty=empty)


def test_a_slot_that_is_null_is_nobody():
    nobody = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["ann", None]))
    for table in (pa.table({"spent": [1.0] * 3, "id": nobody}), pa.table({"spent": [1.0] * 3, "id": nobody}).to_pandas(
            types_mapper=pd.ArrowDtype)):
        with pytest.raises(ValueError, match="got rows without a value there"):
            exact_sums(SPENT, table, person=Person("id", combine="sum"))
    slots = pa.table({"x": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["1", None]))})
    assert exact_sums(Bernoulli("x", "1", failure="no"), slots, missing_as="no").integers == (2,)


@pytest.mark.parametrize("values", [pd.Categorical(pd.to_datetime(["2024-01-01"] * 3)), pd.Categorical([1.5] * 3),
                                    pd.Categorical([True] * 3), pd.arrays.SparseArray([1, 1, 1])], ids=range(4))
def test_texts_are_not_read_from_categories_of_anything_else(values):
    frame = pd.DataFrame({"x": values})
    for table in (frame, dd.from_pandas(frame, npartitions=1)):
        with pytest.raises(ValueError, match="column 'x' must be of texts|OtherTypes|could not be"):
            exact_sums(Bernoulli("x", "1"), table)


def files_of_two(folder, first, second, **how):
    paths, folder = [], Path(tempfile.mkdtemp(dir=folder))  # Dask remembers the types of a path
    for k, rows in enumerate((first, second)):
        paths.append(folder / f"{k}.csv")
        paths[-1].write_text("x,id\n" + "\n".join(rows) + "\n")
    return dd.from_map(partial(pd.read_csv, **how), paths)


def test_files_of_dask_that_are_typed_apart_are_refused_in_words(tmp_path):
    for second in (["1,1"] * 3, ["01,1"] * 3, ["true,1"] * 3, ["1.5,1"] * 3):
        with pytest.raises(ValueError, match="partition of Dask has columns of other types .* dtype="):
            exact_sums(Categorical(LEVELS, "x"), files_of_two(tmp_path, ["no,1"], second))
    for first, second in ((["1,ann"], ["1,1"]), (["1,1"], ["1,ann"]), (["1,2"], ["1,"]), (["1,1"], ["1,2.5", "1,1"])):
        for person, empty in ((Person("id", combine="last"), False), (Person("id", rows=1), True)):
            with pytest.raises(ValueError, match="partition of Dask has columns of other types .* dtype="):
                exact_sums(Categorical(3, "x"), files_of_two(tmp_path, first, second),
                           person=check_person(Categorical(3, "x"), person), empty=empty)
    # one type, whatever the files hold: an empty one, one without a value, numbers with and without a missing one
    typed = files_of_two(tmp_path, ["01,1", ",2"], ["1,1"], dtype=str)
    assert exact_sums(Categorical(LEVELS, "x"), typed, missing_as="no").integers == (1, 1, 0, 0, 0, 1)
    assert exact_sums(Categorical(3, "x"), files_of_two(tmp_path, ["0,1", ",1"], ["1,1"]), missing_as=2).n == 3
    assert exact_sums(Categorical(LEVELS, "x"), files_of_two(tmp_path, ["no,1"], [",1", ",1"]), missing_as="no").n == 3


def test_the_reader_of_dask_is_given_its_types(tmp_path):
    "It casts each block to the type of the first one: fifty records are `1` or `1.0` by what the last one is."
    for k, rows in enumerate((["no,ann,1"] * 3, [*["1,1,1"] * 50, ",1,1"])):
        (tmp_path / f"{k}.csv").write_text("x,id,spent\n" + "\n".join(rows) + "\n")
    read = partial(dd.read_csv, [tmp_path / "0.csv", tmp_path / "1.csv"])
    model, person = Categorical(LEVELS, "x"), Person("id", combine="sum")
    for table in (read(), read(dtype={"id": str}), read().rename(columns={"id": "whose"}), read()[["x"]]):
        with pytest.raises(ValueError, match="column 'x' must be of a type that is given.*with dtype={'x': str}"):
            exact_sums(model, table, missing_as="no")
    for table in (read(), read(dtype={"x": str})):
        with pytest.raises(ValueError, match="column 'id' must be of a type that is given"):
            exact_sums(SPENT, table, person=person)
    assert exact_sums(model, read(dtype={"x": str}), missing_as="no").integers == (4, 50, 0, 0, 0, 0)
    assert exact_sums(model, read(dtype=str)[["x"]], missing_as="no").integers == (4, 50, 0, 0, 0, 0)
    assert exact_sums(SPENT, read(dtype={"id": str}), person=person).integers == (13,)
    assert exact_sums(Exponential((0, 10), "spent"), read()).integers == (54,)  # numbers are numbers
    with patch.object(sys.modules["dp_bayes_nb.data_holder.columns"], "_check_guessed", lambda native, wanted: None):
        assert exact_sums(model, read(), missing_as="no").integers == (4, 0, 0, 50, 0, 0)  # the mutant: all were 1


def test_other_types_of_which_each_value_has_one_text_or_number(tmp_path):
    one, two = uuid.UUID(int=1), uuid.UUID(int=2)
    values = ", ".join(f"({spent}, uuid '{each}')" for spent, each in ((6.0, one), (6.0, one), (1.0, two)))
    rows = duckdb.sql(f"select * from (values {values}) t(spent, id)")
    rows.write_parquet(str(tmp_path / "t.parquet"))
    for table in (rows, tmp_path / "t.parquet", ibis.memtable(rows.to_arrow_table())):
        assert exact_sums(SPENT, table, person=Person("id", combine="sum")) == sums.ExactSums(2, 0, (11,))
    for kind in (pa.decimal256(5, 2), pa.decimal128(5, 2), pa.decimal64(5, 2)):
        decimals = pa.table({"spent": pa.array([decimal.Decimal("2.5"), decimal.Decimal("0.5"), None], kind)})
        assert exact_sums(SPENT, decimals, missing_as=4, grid_exponent=1).integers == (14,)
    narrow = dd.from_map(lambda kind: pd.DataFrame({"spent": [1.0, 2.0], "id": np.array([1, 2], kind)}),
                         ["int64", "int32"], meta=pd.DataFrame({"spent": [1.0], "id": [1]}))
    assert exact_sums(SPENT, narrow, person=Person("id", combine="sum")).integers == (6,)


def test_a_column_without_a_value_fits_whatever_is_declared():
    for frame in (pd.DataFrame({"x": [np.nan, np.nan]}), pd.DataFrame({"x": [None, None]}),
                  pa.table({"x": pa.nulls(2)}), pl.DataFrame({"x": [None, None]}),
                  duckdb.sql("select null as x from range(2)")):
        assert exact_sums(Bernoulli("x", "yes", failure="no"), frame, missing_as="yes").integers == (2,)
    for frame in (pd.DataFrame({"x": [np.nan] * 2}), pd.DataFrame({"x": pd.Series([None] * 2, dtype="str")})):
        days = DateHistogram("2024-01", "2024-03", column="x")
        assert exact_sums(days, frame, missing_as="2024-01-01").integers == (0, 2, 0, 0, 0)
        assert exact_sums(Categorical(3, "x"), frame, missing_as=2).integers == (0, 0, 2)
