"""The same table gives the same integers on every engine, in every order of rows; a large file costs no more memory."""

import datetime
import gc
import multiprocessing
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dp_bayes_nb as dpb
from dp_bayes_nb.data_holder import sums
from dp_bayes_nb.models.bounds import Clip, Redact
from dp_bayes_nb.models.contract import Model, family_class
from dp_bayes_nb.models.declarations import Column
from dp_bayes_nb.models.counts import Bernoulli, Categorical
from dp_bayes_nb.models.gamma import GammaData
from dp_bayes_nb.models.histogram import DateHistogram, Histogram
from dp_bayes_nb.models.normal import LogNormal, Normal
from dp_bayes_nb.models.above import Above
from dp_bayes_nb.models.rates import Exponential, Geometric, Pareto, Poisson, Weibull
from dp_bayes_nb.data_holder.sums import exact_sums, run_query

dd = pytest.importorskip("dask.dataframe")
ibis = pytest.importorskip("ibis")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")


@family_class
class TwoMoments(Model):
    "x in [0, 1]: two real statistics."

    column: str | None = None
    statistics, magnitude = ("x", "x²"), 1.0

    def statistic(self, x):
        return x, x * x / 3 + x - 0.25

    def valid(self, x):
        return (x >= 0) & (x <= 1)


def engines(values, kind, folder):
    "One column as every kind of table, among other columns."
    arrow = pa.table({"other": list(range(len(values))), "x": pa.array(values, type=kind, from_pandas=False)})
    frame = arrow.to_pandas()
    arrow_file, csv = folder / "table.parquet", folder / "table.csv"
    pd.DataFrame(frame).to_csv(csv, index=False)
    import pyarrow.parquet as parquet

    parquet.write_table(arrow, arrow_file, row_group_size=max(1, len(values) // 3))
    return {
        "pandas": frame,
        "pandas object": pd.DataFrame({"other": 0, "x": pd.Series(values, dtype=object)}),
        "pandas nullable": frame.convert_dtypes(),
        "pandas arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas series": frame["x"],
        "polars": pl.from_arrow(arrow),
        "polars lazy": pl.from_arrow(arrow).lazy(),
        "polars scan": pl.scan_parquet(arrow_file),
        "polars series": pl.from_arrow(arrow)["x"],
        "pyarrow": arrow,
        "pyarrow chunked": arrow["x"],
        "duckdb": duckdb.from_arrow(arrow),
        "dask": dd.from_pandas(frame, npartitions=3),
        "ibis": ibis.memtable(arrow),
        "list": list(values),
        "csv": csv,
        "parquet": arrow_file,
        "parquet text path": str(arrow_file),
    }


COLUMNS = {
    "reals": ([0.1, 1.0, 0.0, 0.5, 1 / 3, 0.7, 1e-300] * 30, pa.float64(), TwoMoments("x")),
    "single precision": ([0.125, 0.75, 0.3, 0.1] * 30, pa.float32(), TwoMoments("x")),
    "codes": ([2, 0, 1, 1] * 30, pa.int8(), Categorical(3, "x")),
    "large codes": ([2, 0, 1, 1] * 30, pa.uint64(), Categorical(3, "x")),
    "booleans": ([True, False, False] * 30, pa.bool_(), Bernoulli("x")),
    "failures": ([True, False, False] * 30, pa.bool_(), Bernoulli("x", success=0)),
    "texts": (["low", "high", "it's", "low"] * 30, pa.string(), Categorical(("low", "high", "it's"), "x")),
    "one text": (["yes", "no", "no"] * 30, pa.string(), Bernoulli("x", success="yes")),
    "two texts": (["yes", "no", "it's"] * 30, pa.string(), Bernoulli("x", success="yes", failure=["no", "it's"])),
    "dates": ([datetime.date(2024, 2, 29), datetime.date(1969, 7, 20), datetime.date(2024, 1, 1),
               datetime.date(2024, 3, 31)] * 30, pa.date32(), DateHistogram("2024-01", "2024-03", column="x")),
    "times": ([datetime.datetime(2024, 2, 29, 23, 59, 59), datetime.datetime(2023, 12, 31, 23, 59),
               datetime.datetime(2024, 4, 1)] * 30, pa.timestamp("us"),
              DateHistogram("2024-01", "2024-03", column="x")),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_sums_are_the_same_on_every_engine_and_in_any_order(column, tmp_path):
    values, kind, family = COLUMNS[column]
    rng, found = np.random.default_rng(0), {}
    for turn in range(2):
        shuffled = [values[i] for i in (rng.permutation(len(values)) if turn else range(len(values)))]
        for name, table in engines(shuffled, kind, tmp_path).items():
            if column == "single precision" and name in ("csv", "list", "pandas object"):
                continue  # as decimals the same numbers are others
            if (column, name) == ("dates", "dask"):
                continue  # Dask makes texts of Python's dates before they get here, and texts are refused
            found[turn, name] = exact_sums(family, table, grid_exponent=0 if family.integer else 37)
    first = next(iter(found.values()))
    assert first.n == len(values)
    assert {key: sums for key, sums in found.items() if sums != first} == {}


def test_dates_are_the_right_days_on_every_engine(tmp_path):
    "Not only the same everywhere: February's last day, the last second of a year, and a day before 1970."
    values, kind, family = COLUMNS["dates"]
    for name, table in engines(values[:4], kind, tmp_path).items():
        assert name == "dask" or exact_sums(family, table).integers == (1, 1, 1, 1, 0), name
    values, kind, family = COLUMNS["times"]
    for name, table in engines(values[:3], kind, tmp_path).items():
        assert exact_sums(family, table).integers == (1, 0, 1, 0, 1), name


def test_a_column_that_holds_no_dates_is_refused_on_every_engine(tmp_path):
    "Numbers such as 20240331, texts, and times whose day depends on a time zone; and dates where numbers are declared."
    family, zone = DateHistogram("2024-01", "2024-03", column="x"), datetime.timezone.utc
    for values, kind in (([20240331] * 4, pa.int64()), (["31.03.2024"] * 4, pa.string()),
                         ([datetime.datetime(2024, 3, 31, tzinfo=zone)] * 4, pa.timestamp("us", "UTC"))):
        for name, table in engines(values, kind, tmp_path).items():
            with pytest.raises(ValueError, match="dates|could not be|must be numbers") as raised:
                exact_sums(family, table)
            assert "2024" not in str(raised.value).replace("first='2024-01', last='2024-03'", "").replace(
                "2024-03-31 08:30:00", "").replace("such as 2024-03-31", ""), (name, "no record is shown")
    for table in engines(*COLUMNS["dates"][:2], tmp_path).values():
        with pytest.raises(ValueError, match="numbers or booleans, got .*(Date|date|texts)|must be of numbers"):
            exact_sums(Histogram([0, 1, 2], "x"), table)


@pytest.mark.parametrize("values, others", [(["yes", "no", "NA"] * 30, 2), (["no", "yes", "no ", None, "Yes"] * 30, 3),
                                            (["no", None] * 30, 1), (["yes", None], 0)])
def test_a_third_text_is_refused_on_every_engine(values, others, tmp_path):
    family = Bernoulli("x", success="yes")
    for name, table in engines(values, pa.string(), tmp_path).items():
        if others > 1:
            with pytest.raises(ValueError, match=f"one value besides success='yes', got {others} others"):
                exact_sums(family, table, missing="drop")
        else:
            assert exact_sums(family, table, missing="drop").integers == (values.count("yes"),), name


BOUNDED = [Exponential(Redact(0.5, 6.0), "x"), Normal((0.5, 6.0), column="x"), Poisson((1, 5), "x"),
           Geometric(Redact(1, 5), "x"), Above(Poisson((1, 5), "x"), [1, 3], 2),
           Above(Exponential((0.5, 6), "x"), [2.25])]
ROUNDED = [Pareto((0.5, 6.0), 0.25, "x"), Weibull(Redact(0.5, 6.0), 1.7, "x"), LogNormal((0.5, 6.0), column="x"),
           GammaData(Clip(0.5, 6.0), column="x")]  # a logarithm or a power: one step a record  # fmt: skip


@pytest.mark.parametrize("family", BOUNDED + ROUNDED, ids=lambda family: type(family).__name__)
def test_clipped_and_redacted_sums_agree_on_every_engine(family, tmp_path):
    values = [1, 7, 0, 3, 5, 2, 4] * 40 if family.integer else [0.7, 0.3, 1 / 3, 6.0, 9.5, 2.25, 0.5, np.pi] * 40
    tables = engines(values, pa.int64() if family.integer else pa.float64(), tmp_path)
    found = {name: exact_sums(family, table, grid_exponent=0 if family.integer else 30)
             for name, table in tables.items()}
    first = next(iter(found.values()))
    apart = len(values) if family in ROUNDED else 0  # steps of the grid
    for each in found.values():
        assert each.n == first.n == len(values)
        assert max(abs(a - b) for a, b in zip(each.integers, first.integers)) <= apart


@family_class
class Spending(Model):
    "Several columns: texts, codes and numbers; counts, a two-way table, and a product of clipped numbers."

    columns = (Column("region", ("north", "it's")), Column("spent"), Column("code", (0, 1)), Column("age", low=0.0))
    statistics, by_name, magnitude = ("north", "it's", "north and 1", "product"), True, 1.0

    def statistic(self, x):
        age, spent = ((x["age"] - 50) / 50).clip(-1, 1), (x["spent"] / 8).clip(0, 1)
        return x["region"] == "north", x["region"] == "it's", (x["region"] == "north") & (x["code"] == 1), age * spent

    def valid(self, x):
        known = (x["region"] == "north") | (x["region"] == "it's")
        return known & ((x["code"] == 0) | (x["code"] == 1)) & (x["age"] >= 0)


RECORDS = [("north", 4.25, 1, 30.5), ("it's", 5.5, 0, 120.0), ("north", 1 / 3, 0, 71.1), ("it's", 1e300, 1, 0.0),
           (None, 1.0, 1, 30.0),
           ("north", None, None, 30.0), ("north", 1.0, 1, float("nan")), ("north", float("inf"), 0, 1.0),
           ("west", 2.0, 0, 1.0),
           ("north", 2.0, 2, 1.0), ("it's", 2.0, 1, -1.0)] * 9  # fmt: skip


def frames(records, folder):
    "Records of several columns as every kind of table, among other columns and in another order."
    import pyarrow.parquet as parquet

    columns = {name: pa.array([r[j] for r in records], from_pandas=False)
               for j, (name, *_) in enumerate(Spending.columns)}
    arrow = pa.table({"other": list(range(len(records))),
                      **{name: columns[name] for name in ("age", "region", "code", "spent")}})
    frame = pd.DataFrame({name: arrow[name].to_pandas() for name in arrow.column_names})
    arrow_file, csv = folder / "table.parquet", folder / "table.csv"
    frame.to_csv(csv, index=False)
    parquet.write_table(arrow, arrow_file, row_group_size=max(1, len(records) // 3))
    return {
        "pandas": frame,
        "pandas arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.from_arrow(arrow),
        "polars lazy": pl.from_arrow(arrow).lazy(),
        "polars scan": pl.scan_parquet(arrow_file),
        "pyarrow": arrow,
        "duckdb": duckdb.from_arrow(arrow),
        "dask": dd.from_pandas(frame, npartitions=3),
        "ibis": ibis.memtable(arrow),
        "list": records,
        "array": np.array(records, dtype=object),
        "csv": csv,
        "parquet": arrow_file,
    }


def test_several_columns_are_summed_alike_on_every_engine_and_in_any_order(tmp_path):
    rng, found = np.random.default_rng(0), {}
    for turn in range(2):
        shuffled = [RECORDS[i] for i in (rng.permutation(len(RECORDS)) if turn else range(len(RECORDS)))]
        for name, table in frames(shuffled, tmp_path).items():
            if name == "csv":  # infinity is a text there
                continue
            found[turn, name] = run_query(Spending(), table, 37)
    first = found[0, "pyarrow"]
    assert [first[kind] for kind in ("rows", "missing", "infinite", "good")] == [99, 27, 9, 36]
    assert {key: row for key, row in found.items() if row != first} == {}


def test_several_columns_of_a_file_and_of_a_frame_agree(tmp_path):
    tables = frames([r for r in RECORDS if float("inf") not in r], tmp_path)
    assert run_query(Spending(), tables["csv"], 37) == run_query(Spending(), tables["polars"], 37)


def test_a_sum_of_floats_would_differ():
    rng = np.random.default_rng(0)
    assert len({np.cumsum(rng.permutation(COLUMNS["reals"][0]))[-1] for _ in range(50)}) > 1


BAD = {
    "reals": ([0.5, None, float("nan"), float("inf"), -float("inf"), 1.5, -0.5, 0.25], pa.float64(), TwoMoments("x"),
              (8, 2, 2, 2)),
    "codes": ([0, 1, None, 7, -1], pa.int32(), Categorical(3, "x"), (5, 1, 0, 2)),
    "booleans": ([True, None, False], pa.bool_(), Bernoulli("x"), (3, 1, 0, 2)),
    "texts": (["a", None, "z", "b"], pa.string(), Categorical(("a", "b"), "x"), (4, 1, 0, 2)),
}


@pytest.mark.parametrize("column", BAD)
def test_bad_records_are_counted_alike_on_every_engine(column, tmp_path):
    values, kind, family, (rows, missing, infinite, good) = BAD[column]
    for name, table in engines(values, kind, tmp_path).items():
        if (column, name) == ("booleans", "dask"):
            continue  # Dask turns a pandas column of True, None and False into texts
        if (column, name) == ("reals", "csv"):
            # inf is a text there
            with pytest.raises(ValueError, match="column 'x' must be of numbers, got 2 of 6 fields"):
                run_query(family, table, 10)
            continue
        row = run_query(family, table, 10)
        counts = row["rows"], row["missing"], row["infinite"], row["good"]
        assert counts == (rows, missing, infinite, good), name
        with pytest.raises(ValueError, match="got") as refused:
            exact_sums(family, table)
        assert "1.5" not in str(refused.value) and "z" not in str(refused.value).replace("Categorical",
                                                                                         "").split("got")[1]


@pytest.mark.parametrize("values", [[], [None, None]])
def test_nothing_to_sum_is_refused_on_every_engine(values, tmp_path):
    for table in engines(values, pa.float64(), tmp_path).values():
        for missing in ("error", "drop"):
            # some engines lose the type
            with pytest.raises(ValueError, match="data must|column 'x' must be of numbers"):
                exact_sums(TwoMoments("x"), table, missing=missing)


def test_an_engine_does_not_quote_the_data(tmp_path):
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 30_000 + "Mrs Smith\n")
    object_column = pd.DataFrame({"x": pd.Series([1.0, "Mrs Smith"], dtype=object)})
    dask_column = dd.from_pandas(pd.DataFrame({"x": pd.Series([True, "Mrs Smith"], dtype=object)}), npartitions=1)
    for table in (tmp_path / "t.csv", object_column, dask_column, [0.5, "Mrs Smith"], ["Mrs Smith"]):
        with pytest.raises(ValueError) as refused:
            exact_sums(Bernoulli(), table)
        error = refused.value
        while error is not None:
            assert "Smith" not in str(error)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("how", ["column", "connection"])
@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_a_collation_does_not_make_levels_overlap(engine, how):
    "One record in two levels would break the declared sensitivity."
    connection = ibis.duckdb.connect() if engine == "ibis" else duckdb.connect()
    run = (lambda sql: connection.raw_sql(sql).fetchall()) if engine == "ibis" else (
        lambda sql: connection.execute(sql).fetchall())
    values = ["a", "A", "ä", "Ä", "A", None]
    if how == "connection":
        run("pragma default_collation = nocase")
    run("create table t (other int, x varchar" + (" collate nocase)" if how == "column" else ")"))
    run("insert into t values " + ", ".join(f"(1, '{v}')" if v else "(1, null)" for v in values))
    assert run("select sum((x = 'a')::int) from t")[0][0] == 3  # the collation is at work
    families = [Categorical(("a", "A", "ä", "Ä"), "x"), Bernoulli("x", success="A", failure=["a", "ä", "Ä"])]
    for family in families:
        expected = exact_sums(family, pl.DataFrame({"x": values}), missing="drop")
        assert exact_sums(family, connection.table("t"), missing="drop") == expected
    with pytest.raises(ValueError, match="2 outside"):
        exact_sums(Categorical(("a", "ä", "Ä"), "x"), connection.table("t"), missing="drop")


@pytest.mark.parametrize("levels", [pytest.param(400, marks=pytest.mark.slow), [f"level {i}" for i in range(400)]],
                         ids=["codes", "texts"])
def test_four_hundred_levels_are_counted(levels, tmp_path):
    family = Categorical(levels, "x")
    codes = np.random.default_rng(0).integers(0, 400, 2000)
    arrow = pa.table({"x": [family.levels[i] for i in codes]})
    expected = tuple(np.bincount(codes, minlength=400).tolist())
    for table in (arrow.to_pandas(), pl.from_arrow(arrow).lazy(), arrow, duckdb.from_arrow(arrow), ibis.memtable(arrow),
                  dd.from_pandas(arrow.to_pandas(), npartitions=1)):
        assert exact_sums(family, table).integers == expected


def test_more_levels_than_a_query_can_hold_are_refused_at_once():
    for k in (10**12, 2001, [f"level {i}" for i in range(2001)]):
        with pytest.raises(ValueError, match="k must be at most 2000 levels"):
            Categorical(k)


@pytest.mark.parametrize("values, family", [([1, "1", True, None], Categorical(("1", "2"), "x")),
                                            ([1, "1"], Bernoulli("x")), ([1, True], Bernoulli("x")),
                                            ([1, 2], Categorical(("1", "2"), "x")),
                                            ([True, "yes"], Bernoulli("x", success="yes"))])
def test_mixed_objects_are_refused(values, family):
    with pytest.raises(ValueError, match="column 'x' must be of"):
        exact_sums(family, pd.DataFrame({"other": 0, "x": pd.Series(values, dtype=object)}), missing="drop")


def test_yes_and_no_are_texts_in_a_file_as_in_a_frame(tmp_path):
    for yes, no in (("yes", "no"), ("y", "n"), ("t", "f")):
        frame = pd.DataFrame({"limit": [yes, no, yes]})
        frame.to_csv(tmp_path / "t.csv", index=False)
        for table in (frame, tmp_path / "t.csv"):
            with pytest.raises(ValueError,
                               match='column \'limit\' must be of numbers or booleans, got .*success="yes"'):
                exact_sums(Bernoulli("limit"), table)
            assert exact_sums(Bernoulli("limit", yes), table).integers == (2,)
    (tmp_path / "t.csv").write_text("limit\ntrue\nFalse\n")
    assert exact_sums(Bernoulli("limit"), tmp_path / "t.csv").integers == (1,)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_an_empty_file_is_refused_in_words(name, tmp_path):
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match="data must be a file with .* empty"):
        exact_sums(Bernoulli(), tmp_path / name)


PEAK = """
import re, sys
from pathlib import Path
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.data_holder.release import release

def memory(which):
    return int(re.search(which + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 1024

def data(path):
    if sys.argv[3] == "stream": return path
    import duckdb
    return duckdb.read_parquet(path).select("x").fetchnumpy()["x"]          # the mutant: loads the column

release(Bernoulli("x"), data(sys.argv[1]), epsilon=1.0)                     # imports, and DuckDB's own buffers
Path("/proc/self/clear_refs").write_text("5")                               # forget the peak so far
before = memory("VmRSS")
print(release(Bernoulli("x"), data(sys.argv[2]), epsilon=1.0).n, memory("VmHWM") - before)
"""


def peak_growth(small, path, kind="stream"):
    "Records of a file, and MiB by which its release raises the peak of memory."
    done = subprocess.run([sys.executable, "-c", PEAK, small, path, kind], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    n, growth = done.stdout.split()
    return int(n), float(growth)


def write_parquet(path, rows):
    "A Parquet file of random 0 and 1, beside a column of random reals, in groups of 131,072 rows, made by DuckDB."
    duckdb.sql(
        f"copy (select (random() < 0.3)::int as x, random() as y from range({rows})) to '{path}' (format parquet, "
        f"row_group_size 131072)")
    return path


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peak memory is read from Linux's /proc")
def test_memory_does_not_grow_with_the_rows_of_a_file(tmp_path):
    files = {rows: write_parquet(tmp_path / f"{rows}.parquet", rows) for rows in (10_000, 1_000_000, 10_000_000)}
    found = {}
    for rows in (1_000_000, 10_000_000):
        for kind in ("stream", "load"):
            n, found[kind, rows] = peak_growth(files[10_000], files[rows], kind)
            assert n == rows
    print("\npeak memory, MiB: " + ", ".join(f"{kind} {rows:,} rows + {growth:.0f}"
                                             for (kind, rows), growth in found.items()))
    assert found["stream", 10_000_000] < found["stream", 1_000_000] + 20
    assert found["load", 10_000_000] > found["load",
                                             1_000_000] + 20, "the measurement does not see a column that is loaded"


def test_an_engine_that_nobody_tested_is_refused():
    "On SQLite with `collate nocase` one record counts in two levels."
    from dp_bayes_nb import NaiveBayes

    connection = ibis.sqlite.connect()
    connection.raw_sql("create table t (x text collate nocase, y text collate nocase)")
    connection.raw_sql("insert into t values ('a', 'u'), ('A', 'U')")
    tables = [connection.table("t"), ibis.polars.connect({"t": pl.DataFrame({"x": ["a"], "y": ["u"]})}).table("t")]
    for table, name in zip(tables, ("sqlite", "polars")):
        with pytest.raises(ValueError,
                           match=f"data must be a table of an engine that is tested .*got 'one of ibis on {name}'"):
            exact_sums(NaiveBayes(("x", ["a", "A"]), {"y": ["u", "U"]}), table)


@pytest.mark.parametrize("model", ["naive Bayes", "regression"])
def test_overlapping_levels_of_several_columns_are_noticed(model, monkeypatch):
    "With the encoding switched off, as the mutant, the query itself sees that records count twice."
    from dp_bayes_nb.data_holder import columns
    from dp_bayes_nb import LinearRegression, NaiveBayes

    family = NaiveBayes(("x", ["a", "A"]), {"y": ["u", "v"]}) if model == "naive Bayes" else LinearRegression(
        covariates={"x": ["a", "A"]}, response={"z": (0, 1)})
    connection = duckdb.connect()
    connection.execute("create table t (x varchar collate nocase, y varchar, z double)")
    connection.execute("insert into t values ('a', 'u', .5), ('A', 'v', .25)")
    exact_sums(family, connection.table("t"), grid_exponent=0 if family.integer else 10)
    monkeypatch.setattr(columns, "encoded", lambda frame, columns: None)
    with pytest.raises(ValueError, match="a record that is two of them"):
        exact_sums(family, connection.table("t"), grid_exponent=0 if family.integer else 10)


def test_names_that_differ_in_capitals_only_are_refused_where_the_engine_confuses_them():
    frame = pl.DataFrame({"X": [1, 1], "x": [0, 0]})
    assert exact_sums(Bernoulli("x"), frame).integers == exact_sums(Bernoulli("x"), frame.to_pandas()).integers == (0,)
    with pytest.raises(ValueError, match="different names"):
        exact_sums(Bernoulli("x"), ibis.memtable(frame.to_arrow()))


def asked(query):
    "What a connection of the next query sees."
    with sums._cursor() as connection:
        return connection.execute(query).fetchall()


def test_the_database_is_kept_and_nothing_of_a_query_is(tmp_path):
    frame = pd.DataFrame({"x": ["1", "0", "1"] * 20, "id": [*range(60)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.astype({"x": float}).to_parquet(tmp_path / "t.parquet")
    numbers = np.ones(50)
    gone, model = weakref.ref(numbers), Bernoulli("x")
    exact_sums(Bernoulli(), numbers)
    kept = sums._database[""]
    exact_sums(model, tmp_path / "t.csv", person=dpb.Person("id", combine="any"))
    exact_sums(model, tmp_path / "t.parquet")
    del numbers
    gc.collect()
    assert sums._database[""] is kept and gone() is None
    assert asked("select table_name from duckdb_tables()") == []
    assert asked("select view_name from duckdb_views() where not internal") == []
    assert asked("select * from duckdb_external_file_cache()") == []


def test_what_a_query_leaves_is_noticed():
    "The mutant: a query that registers and makes its tables in the database itself."
    kept = sums._database.setdefault("", duckdb.connect())
    kept.execute("create table held (x double)")
    assert asked("select table_name from duckdb_tables()") == [("held",)]
    sums._database.clear()


def test_threads_and_forks_ask_side_by_side():
    exact_sums(Bernoulli(), [1, 0, 1])
    with ThreadPoolExecutor(4) as pool:
        many = pool.map(lambda n: exact_sums(Bernoulli(), np.ones(n)).integers, range(1, 60))
        assert [*many] == [(n,) for n in range(1, 60)]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_of_two) == (2,)
    code = """if True:
        import os, sys
        import dp_bayes_nb as dpb
        from dp_bayes_nb.data_holder.sums import exact_sums
        exact_sums(dpb.Bernoulli(), [1, 0, 1])
        child = os.fork()
        os.write(1, f"{exact_sums(dpb.Bernoulli(), [1, 1, 1]).integers}\\n".encode())   # one write: two processes
        if child:
            assert os.waitpid(child, 0)[1] == 0"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr, done.returncode) == ("(3,)\n(3,)\n", "", 0)


def _of_two():
    return exact_sums(Bernoulli(), [1, 1]).integers


@family_class
class Sevenths(Model):
    "Somebody's own statistic, divided by a number."

    column: str | None = None
    statistics, magnitude = ("x / 98",), 1.0

    def statistic(self, x):
        return (x / 98,)


def test_numbers_on_half_a_step_are_rounded_alike():
    "Polars divides by a number as if multiplying by its reciprocal; so all engines must, where a statistic divides."
    k = np.arange(-4096, 4096)
    frame = pd.DataFrame({"x": 49 + 49 * (2 * k + 1) / 2.0**19, "y": 0.25})
    models = [dpb.LinearRegression({"x": (0, 98)}, {"y": (0, 1)}), dpb.MultivariateNormal({"x": (0, 98), "y": (0, 1)}),
              Normal((0, 98), column="x"), Histogram([0, 98, 99], "x"), Sevenths("x")]
    for model in models:
        found = {type(table).__module__: exact_sums(model, table, grid_exponent=18)
                 for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame))}
        assert len(found) == 3 and len({each.integers for each in found.values()}) == 1, (model, found)
