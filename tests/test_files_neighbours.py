"""Neighbouring files: one field of one record changes, and the sums move by the declared sensitivity at most."""

import csv
import gzip
import io
from unittest.mock import patch

import numpy as np
import pytest

from dp_bayes_nb import LinearRegression, NaiveBayes
from dp_bayes_nb.data_holder import sums
from dp_bayes_nb.models.bounds import Clip
from dp_bayes_nb.models.counts import Bernoulli, Categorical
from dp_bayes_nb.models.rates import Exponential
from dp_bayes_nb.data_holder.sums import exact_sums

hypothesis = pytest.importorskip("hypothesis")
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
st = hypothesis.strategies

NAMES = ("path", "sex", "day", "code", "income", "age", "note")
DAYS, HOURS = ("2024-01-01", "2024-01-02", "08:00"), ("low", "high")
FAMILIES = [
    Bernoulli("path", "C:\\a"),
    Bernoulli("sex", "f"),
    Bernoulli("sex", "f", ["m", "true"]),
    Bernoulli("code"),
    Categorical(DAYS, "day"),
    Categorical(3, "code"),
    Exponential(Clip(0.5, 100.0), "income"),
    NaiveBayes(("sex", ["f", "m"]), {"day": list(DAYS), "code": 3}),
    LinearRegression(covariates={"age": (18, 90), "day": list(DAYS)}, response={"income": (0, 100)}),
]
VALUES = {
    "path": ["C:\\a", "C:\\b", "C:\\"],
    "sex": ["f", "m", "f", "m", "true", "no", "F", ""],
    "day": [*DAYS, *DAYS, "2024-01-1", "01/02/2024", ""],
    "code": ["0", "1", "0", "1", "2", "true", "False", "01", "1.0", "x", "NA", ""],
    "income": ["1", "2.5", "40", "1e2", "0.1", "+7", "1,5", "inf", "nan", "1_0", "0x10", " 1", ""],
    "age": ["30", "55", "18", "90", "true", "40.5", "-"],
    "note": ["", "ok", 'a "q"', "C:\\a", "C:\\", "\\", '"', "a,b", "two\nlines", "two\r\nlines", "#", "NULL", "yes",
             "1", "2024-01-01", "'", ";", "\t", "é", '""', '",",', "a\n1,2",
             "two\n0,2024-01-01,1,2.5,30,ok", '\\"', "x" * 400],  # fmt: skip
}
PLAIN = {"path": ["C:\\a"], "sex": ["f", "m"], "day": list(DAYS), "code": ["0", "1"], "income": ["1", "2.5", "40"],
         "age": ["30", "55"], "note": ["ok", "", "C:\\a", 'a "q"', "a,b", "two\nlines"]}


def python_csv(**options):
    "A writer of the standard library."

    def write(rows, path):
        out = io.StringIO()
        csv.writer(out, **{"lineterminator": "\n", **options}).writerows([NAMES, *rows])
        path.write_bytes(out.getvalue().encode())

    return write


def typed_frame(rows):
    "Columns with the types that a program would give them."
    columns = dict(zip(NAMES, zip(*rows)))
    return pl.DataFrame({name: pl.Series([v or None for v in values], dtype=pl.String)
                         for name, values in columns.items()}).with_columns(
        pl.col("code", "age").cast(pl.Int64), pl.col("income").cast(pl.Float64))  # fmt: skip


def by_duckdb(rows, path):
    "DuckDB's own writer."
    frame = pd.DataFrame(rows, columns=NAMES)  # noqa: F841  (DuckDB finds it by its name)
    duckdb.sql(f"copy frame to '{path}' (format csv, header)")


def as_gzip(rows, path):
    "Compressed."
    out = io.StringIO()
    csv.writer(out).writerows([NAMES, *rows])
    path.write_bytes(gzip.compress(out.getvalue().encode()))


ESCAPED = {"escapechar": "\\", "doublequote": False}
WRITERS = {
    "minimal": python_csv(),
    "crlf": python_csv(lineterminator="\r\n"),
    "all": python_csv(quoting=csv.QUOTE_ALL),
    "nonnumeric": python_csv(quoting=csv.QUOTE_NONNUMERIC),
    "minimal, escaped": python_csv(**ESCAPED),
    "all, escaped": python_csv(quoting=csv.QUOTE_ALL, **ESCAPED),
    "none, escaped": python_csv(quoting=csv.QUOTE_NONE, **ESCAPED),
    "semicolons": python_csv(delimiter=";"),
    "single quotes": python_csv(quotechar="'"),
    "pandas": lambda rows, path: pd.DataFrame(rows, columns=NAMES).to_csv(path, index=False),
    "pandas, typed": lambda rows, path: typed_frame(rows).to_pandas().to_csv(path, index=False),
    "pandas, escaped": lambda rows, path: pd.DataFrame(rows, columns=NAMES).to_csv(path, index=False,
                                                                                   quoting=csv.QUOTE_ALL, **ESCAPED),
    "polars": lambda rows, path: typed_frame(rows).write_csv(path),
    "polars, all": lambda rows, path: typed_frame(rows).write_csv(path, quote_style="always", include_bom=True),
    "duckdb": by_duckdb,
    "gzip": as_gzip,
    "parquet": lambda rows, path: typed_frame(rows).write_parquet(path),
    "parquet, texts": lambda rows, path: pd.DataFrame(rows, columns=NAMES).to_parquet(path),
}
ENDS = {"gzip": ".csv.gz", "parquet": ".parquet", "parquet, texts": ".parquet"}


@st.composite
def neighbours(draw, families, writers):
    "A family, a writer, rows, and the same rows with some fields of one record changed."
    family, name = draw(st.sampled_from(families)), draw(st.sampled_from(writers))
    values = {column: PLAIN[column] if draw(st.booleans()) else VALUES[column] for column in NAMES}
    rows = draw(st.lists(st.tuples(*[st.sampled_from(PLAIN[column]) for column in NAMES]), min_size=1, max_size=12))
    last = draw(st.tuples(*[st.sampled_from(values[column]) for column in NAMES]))
    place = draw(st.integers(0, len(rows)))
    changed = list(last)
    for column in draw(st.sets(st.sampled_from(range(len(NAMES))), min_size=1, max_size=2)):
        changed[column] = draw(st.sampled_from(VALUES[NAMES[column]]))
    return family, name, [*rows[:place], last, *rows[place:]], [*rows[:place], tuple(changed), *rows[place:]]


def read(family, name, rows, folder):
    "The sums of rows that were written to a file, or None: refused, or never written."
    path = folder / f"t{ENDS.get(name, '.csv')}"
    try:
        WRITERS[name](rows, path)
    except Exception:  # a writer that cannot write this
        return None
    try:
        return exact_sums(family, path, grid_exponent=0 if family.integer else 8)
    except ValueError:
        return None


def check(family, name, one, other, folder):
    "The promise for two neighbouring files."
    a, b = read(family, name, one, folder), read(family, name, other, folder)
    if a is None or b is None:
        return False
    assert a.n == b.n, (name, a.n, b.n)
    moved = np.abs(np.subtract(a.integers, b.integers)).sum()
    assert moved <= family.rounded_sensitivity(0 if family.integer else 8), (name, family, moved)
    return True


def everywhere(folder, examples, families=tuple(FAMILIES), writers=tuple(sorted(WRITERS))):
    "The check over random pairs: how many were read, of how many."
    compared = []

    @hypothesis.settings(max_examples=examples, deadline=None, derandomize=True, database=None,
                         report_multiple_bugs=False,
                         # fmt: skip
                         phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(neighbours(families, writers))
    def run(case):
        compared.append(check(*case, folder))

    run()
    return sum(compared), len(compared)


@pytest.mark.parametrize("examples", [150, pytest.param(3000, marks=pytest.mark.slow)])
def test_one_record_of_a_file_moves_the_sums_by_the_sensitivity(examples, tmp_path):
    read_twice, pairs = everywhere(tmp_path, examples)
    print(f"\n{read_twice} of {pairs} pairs were read twice")
    assert read_twice > pairs / 10


def guessing(family, data, connection, others, owner=None, empty=False):
    "The mutant: DuckDB reads the file, with header, separator and quote fixed, and guesses the rest from the records."
    import narwhals as nw

    form = {"sample_size": -1, "header": True, "sep": ",", "quotechar": '"', "comment": "", "skiprows": 0}
    levels = [column.name for column in family.columns if column.texts]
    yield nw.from_native(connection.read_csv(str(data), dtype=dict.fromkeys(levels, "VARCHAR"), **form)).lazy(), False


def moved_by_one_note(folder):
    "The sums of 501 rows as Python's csv module writes them with a sign of escape, for two notes of the last one."
    found = []
    for note in ("ok", 'a "q"'):
        rows = [("C:\\a", *(PLAIN[name][0] for name in NAMES[1:]))] * 500
        WRITERS["all, escaped"]([*rows, (*rows[0][:-1], note)], folder / "t.csv")
        try:
            found.append(exact_sums(FAMILIES[0], folder / "t.csv").integers)
        except ValueError:
            found.append(None)
    return found


def test_one_note_does_not_decide_how_all_rows_are_read(tmp_path):
    assert moved_by_one_note(tmp_path) == [(0,), None]  # the second file is refused
    with patch.object(sums, "open_pieces", guessing):
        assert moved_by_one_note(tmp_path) == [(0,), (501,)]  # the mutant


def every_note(folder):
    "The check over all notes of the last of 501 rows that are alike, against the first note."
    rows = [("C:\\a", *(PLAIN[name][0] for name in NAMES[1:]))] * 501
    for note in VALUES["note"][1:]:
        check(FAMILIES[0], "all, escaped", rows, [*rows[:-1], (*rows[0][:-1], note)], folder)


def test_the_check_finds_a_reader_that_guesses(tmp_path):
    "With a reader that guesses, some note moves the sums by more; with ours none does."
    every_note(tmp_path)
    with patch.object(sums, "open_pieces", guessing), pytest.raises(AssertionError):
        every_note(tmp_path)


def test_a_level_may_look_like_a_date_a_time_or_a_number(tmp_path):
    levels = ("2024-01-01", "08:00", "1", "01", "true", "NULL", "C:\\a", "1e5")
    for level in levels:
        (tmp_path / "t.csv").write_text(f"id,x\n1,{level}\n2,{level}\n")
        assert exact_sums(Categorical(levels, "x"), tmp_path / "t.csv").integers == tuple(2 * (other == level)
                                                                                          for other in levels)


@pytest.mark.parametrize("header", ["x,x,x_1", "X,x", "x,X", "x,y,Y", "x,x_1,X_1"])
def test_names_that_come_again_are_refused(header, tmp_path):
    (tmp_path / "t.csv").write_text(header + "\n" + ",".join("100"[: header.count(",") + 1]) + "\n")
    with pytest.raises(ValueError, match="different names"):
        exact_sums(Bernoulli("x"), tmp_path / "t.csv")
