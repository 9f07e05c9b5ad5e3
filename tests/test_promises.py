"""What a release promises, and says that it promises: its relation, missing values, warnings; on several engines."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.models.bounds import Redact
from dp_bayes_nb.models.counts import Bernoulli, Categorical
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.releases.document import Release
from dp_bayes_nb.data_holder.release import release
from dp_bayes_nb.models.contract import Model
from dp_bayes_nb.data_holder.sums import exact_sums, run_query

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
dd = pytest.importorskip("dask.dataframe")
FIXTURES = Path(__file__).parent / "fixtures"
G = 20


@pytest.mark.parametrize("name, n", [("old_schema1_cells", 80), ("old_schema1_drop", 150)])
def test_old_files_that_claim_change_one_are_read_as_what_they_promise(name, n, tmp_path):
    path = FIXTURES / f"{name}.json"
    assert json.loads(path.read_text())["neighbours"] == "change_one"
    with pytest.warns(UserWarning, match="read as 'change_value'"):
        r = Release.load(path)
    assert (r.neighbours, r.n, r.schema) == ("change_value", n, 1) and "neighbours: change_value" in repr(r)
    r.save(tmp_path / "new.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Release.load(tmp_path / "new.json") == r


def test_every_committed_release_says_what_it_promises():
    for path in sorted((Path(__file__).parent.parent / "nbs" / "releases").glob("*.json")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            r = Release.load(path)
        assert r.neighbours == ("change_value" if isinstance(r.family, db.HiddenMarkov) else "change_one"), path.name


def test_a_file_cannot_state_more_than_is_kept_and_a_simulation_does_not():
    with pytest.warns(UserWarning):
        family = Release.load(FIXTURES / "old_schema1_cells.json").family
    theta = {
        "initial_probabilities": [0.5, 0.5],
        "transition_probabilities": [[0.9, 0.1], [0.1, 0.9]],
        "night": [[0.2, 0.8], [0.7, 0.3]],
    }
    simulated = db.simulate_release(family, theta, 80, 1.0)
    assert simulated.neighbours == json.loads(simulated.to_json())["neighbours"] == "change_value"
    with pytest.raises(ValueError, match="neighbours must be 'change_value'"):
        Release(
            family,
            simulated.names,
            simulated.values,
            80,
            simulated.noise,
            simulated.sensitivity,
            1.0,
            neighbours="change_one",
        )
    document = json.loads(simulated.to_json())
    del document["sha256"]
    with pytest.raises(ValueError, match="where n is private"):
        Release.from_json(seal({**document, "neighbours": "add_remove"}))


LEVELS = ["low", "high", "it's"]
NUMBERS = [0.7, 1.25, 1 / 3, 6.0, 9.5, 2.25, 0.5]
COUNTS = [1, 7, 0, 3, 5, 2, 4]
ONE = {  # a family of one column, its records, and what a missing one may count as
    "share": (Bernoulli("x", "yes", ["no", "unknown"]), ["yes", "no", "unknown"], ["unknown", "yes"]),
    "codes of a share": (Bernoulli("x"), [0, 1, 1], [0, True]),
    "levels": (Categorical(LEVELS, "x"), LEVELS, LEVELS[1:]),
    "codes": (Categorical(3, "x"), [0, 1, 2], [2]),
    "exponential": (db.Exponential((0.5, 6.0), "x"), NUMBERS, [0.5, 3.3, 6.0]),
    "exponential, redacted": (db.Exponential(Redact(0.5, 6.0), "x"), NUMBERS, [0.5, 2.0]),
    "normal": (db.Normal((0.5, 6.0), column="x"), NUMBERS, [6.0]),
    "log-normal, redacted": (db.LogNormal(Redact(0.5, 6.0), column="x"), NUMBERS, [1.5]),
    "gamma": (db.GammaData((0.5, 6.0), column="x"), NUMBERS, [1.5]),
    "pareto": (db.Pareto((0.5, 6.0), 0.25, "x"), NUMBERS, [0.5]),
    "weibull": (db.Weibull((0.5, 6.0), 1.7, "x"), NUMBERS, [6.0]),
    "poisson": (db.Poisson((1, 5), "x"), COUNTS, [1, 5]),
    "geometric": (db.Geometric((1, 5), "x"), COUNTS, [3]),
    "above": (db.Above(db.Poisson((1, 5), "x"), [1, 3], 2), COUNTS, [3]),
}


LOGARITHMS = ("log-normal, redacted", "gamma", "pareto", "weibull")


def tables(columns):
    "Columns by name as tables of several engines."
    arrow = pa.table({name: pa.array(values, from_pandas=False) for name, values in columns.items()})
    return {
        "pandas": arrow.to_pandas(),
        "polars": pl.from_arrow(arrow).lazy(),
        "pyarrow": arrow,
        "duckdb": duckdb.from_arrow(arrow),
        "dask": dd.from_pandas(arrow.to_pandas(), npartitions=2),
        "objects": pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}),
    }


def moved(family, first, second, g):
    "How far two integer vectors are apart, over what is declared."
    d = np.array(first.integers) - np.array(second.integers)
    return max(
        np.abs(d).sum() / family.rounded_sensitivity(g, norm="l1"),
        np.sqrt((d**2).sum()) / family.rounded_sensitivity(g, norm="l2"),
    )


@pytest.mark.parametrize("case", ONE)
def test_a_record_that_becomes_missing_moves_the_sums_by_the_sensitivity_at_most(case):
    family, records, values = ONE[case]
    g = 0 if family.integer else G
    whole, slip = (
        exact_sums(family, records, grid_exponent=g),
        8 if case in LOGARITHMS else 0,
    )  # engines may differ in the last step of a logarithm
    for k, value in [(0, value) for value in values] + [(k, values[0]) for k in range(1, len(records), 2)]:
        holes = [*records[:k], None, *records[k + 1 :]]
        expected = exact_sums(family, [*records[:k], value, *records[k + 1 :]], grid_exponent=g)
        for name, table in tables({"x": holes}).items() if (k, value) == (0, values[0]) else [("list", holes)]:
            found = exact_sums(family, table, grid_exponent=g, missing_as=value)
            assert found.n == whole.n == len(records) and moved(family, whole, found, g) <= 1, (name, k)
            assert np.abs(np.array(found.integers) - expected.integers).max() <= slip, (
                name
            )  # as if it were written down
    with pytest.raises(ValueError, match="1 missing"):
        exact_sums(family, pl.DataFrame({"x": [*records, None]}), grid_exponent=g)


def test_records_left_out_are_the_mutant():
    first, second = (exact_sums(Bernoulli(), t, missing="drop") for t in ([1, 0, 1], [1, 0, None]))
    assert (first.n, second.n) == (3, 2)


ENGINES = ("pandas", "polars", "pyarrow", "duckdb", "dask", "objects")
REGRESSION = db.LinearRegression({"age": (18, 90), "region": LEVELS}, {"wage": (0, 100)})
PLANE = db.LinearRegression({"age": (18, 90)}, {"wage": (0, 100)}, fourth_moments=True)
BAYES = db.NaiveBayes(("class", ["no", "yes"]), {"region": LEVELS, "code": 2})
CELLS = db.HiddenMarkov(("place", ["a", "b"]), ("month", 2), {"region": LEVELS, "code": 2}, 2)
MANY = {
    "regression": (REGRESSION, {"age": 40.5, "region": "it's", "wage": 0}),
    "fourth moments": (PLANE, {"age": 18, "wage": 100.0}),
    "naive Bayes": (BAYES, {"class": "no", "region": "high", "code": True}),
    "hidden Markov": (CELLS, {"region": "low", "code": 0}),
}
N = 40
RNG = np.random.default_rng(1)
COLUMNS = {
    "age": RNG.uniform(10, 100, N).tolist(),
    "wage": RNG.uniform(-5, 120, N).tolist(),
    "region": RNG.choice(LEVELS, N).tolist(),
    "code": RNG.integers(0, 2, N).tolist(),
    "class": RNG.choice(["no", "yes"], N).tolist(),
    "place": ["a", "b"] * (N // 2),
    "month": [0, 0, 1, 1] * (N // 4),
}


@pytest.mark.parametrize("case", MANY)
def test_missing_fields_of_several_columns_count_column_by_column(case):
    family, missing_as = MANY[case]
    g, columns = 0 if family.integer else G, {column.name: COLUMNS[column.name] for column in family.columns}
    family = family.counted(pl.DataFrame(columns)) if isinstance(family, db.HiddenMarkov) else family
    whole = exact_sums(family, pl.DataFrame(columns), grid_exponent=g)
    for gone in ([name] for name in missing_as):
        _check_hole(family, columns, missing_as, gone, whole, g, ["polars"])
    _check_hole(family, columns, missing_as, list(missing_as), whole, g, ENGINES)
    left_out = next(iter(missing_as))
    holes = {name: ([None, *values[1:]] if name == left_out else values) for name, values in columns.items()}
    with pytest.raises(ValueError, match="1 missing"):
        exact_sums(
            family,
            pl.DataFrame(holes),
            grid_exponent=g,
            missing_as={k: v for k, v in missing_as.items() if k != left_out},
        )


def _check_hole(family, columns, missing_as, gone, whole, g, engines):
    """The first record without the fields `gone`: the same n, a bounded move,
    and the sums of the table in which they are written down.
    """
    holes = {name: ([None, *values[1:]] if name in gone else values) for name, values in columns.items()}
    written = {name: ([missing_as[name], *values[1:]] if name in gone else values) for name, values in columns.items()}
    expected = exact_sums(family, pl.DataFrame(written, strict=False), grid_exponent=g)
    for name in engines:
        found = exact_sums(family, tables(holes)[name], grid_exponent=g, missing_as=missing_as)
        assert found == expected and found.n == whole.n, name
        assert moved(family, whole, found, g) <= 1, name


def test_nan_counts_as_missing_and_a_file_too(tmp_path):
    family, values = db.Normal((0.0, 2.0), column="x"), [0.5, None, 1.5]
    expected = exact_sums(family, [0.5, 0.75, 1.5], grid_exponent=G)
    pd.DataFrame({"x": values, "y": 1}).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"x": values}).to_parquet(tmp_path / "t.parquet")
    for table in (
        np.array([0.5, np.nan, 1.5]),
        values,
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        pl.DataFrame({"x": [0.5, np.nan, 1.5]}),
    ):
        assert exact_sums(family, table, grid_exponent=G, missing_as=0.75) == expected


def test_texts_are_filled_under_a_collation():
    connection = duckdb.connect()
    connection.execute("create table t (x varchar collate nocase)")
    connection.execute("insert into t values ('a'), ('A'), (null)")
    assert exact_sums(Categorical(("a", "A"), "x"), connection.table("t"), missing_as="A").integers == (1, 2)


def test_every_family_that_stages_gives_the_integers_of_its_statistic():
    "Full, quick, and computed in place, on each engine; with bad records the full query."
    for family in (REGRESSION, PLANE):
        assert type(family).staged is not Model.staged and not any(
            map(float, family.combined([0.0] * len(family.staged({c.name: np.ones(1) for c in family.columns}))))
        )
        in_place = _InPlace(family)
        columns = {column.name: COLUMNS[column.name] for column in family.columns}
        for name, table in [
            (name, table) for name, table in tables(columns).items() if family is PLANE or name in ("polars", "duckdb")
        ]:
            full, quick, plain = (
                run_query(family, table, G),
                run_query(family, table, G, quick=True),
                run_query(in_place, table, G),
            )
            assert full == plain and quick == {key: full[key] for key in quick}, name
        columns["wage"] = [None, float("inf"), float("nan"), *columns["wage"][3:]]
        for name in ("polars", "duckdb"):
            table = tables(columns)[name]
            assert run_query(family, table, G) == run_query(in_place, table, G), name


class _InPlace(Model):
    "The same model, its statistic written out in every sum."

    by_name = True
    columns = property(lambda self: self.family.columns)

    def __init__(self, family):
        self.__dict__.update(family=family, statistics=family.statistics, integer=family.integer,
                             beyond=family.beyond or family.clips)

    def statistic(self, x):
        return self.family.statistic(x)

    def valid(self, x):
        return self.family.valid(x)


def test_warnings_come_before_anything_is_spent(tmp_path):
    ledger = db.Ledger(tmp_path / "ledger.json", epsilon=100)
    for options, said in (
        (dict(epsilon=11), "epsilon should be at most 10"),
        (dict(epsilon=800), "epsilon should be at most 10"),
        (dict(epsilon=1, missing="drop"), "complete records"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match=said):
                release(Bernoulli(), [0, 1, 1], ledger=ledger, **options)
    assert not ledger.entries
    release(Bernoulli(), [0, 1, None], epsilon=1, missing="drop", neighbours="change_value", ledger=ledger)
    assert ledger.entries[0].release.endswith("neighbours: change_value")


TEXTS = ("str", "object", "string", "string[python]", "string[pyarrow]", "category")
NUMBERS = ("float", "Int64", "Float64", "boolean", "object", "int64[pyarrow]")


@pytest.mark.parametrize("number, text", [  # each kind once, every pair of them with `slow`
    pytest.param(number, text, marks=() if i == j else pytest.mark.slow)
    for i, number in enumerate(NUMBERS) for j, text in enumerate(TEXTS)])
def test_a_null_of_any_kind_of_pandas_is_a_missing_value(text, number):
    "Comparisons of pandas' kinds with its own null gave kinds that could not be combined."
    rows = {"t": ["u", "v", None, "u"], "m": [1, 0, None, 1]}
    pandas = pd.DataFrame({
        "t": pd.Series([pd.NA if v is None and text == "object" else v for v in rows["t"]], dtype=text),
        "m": pd.Series([pd.NA if v is None and number == "object" else v for v in rows["m"]], dtype=number),
        "w": [0.1, 0.2, 0.3, 0.4],
    })
    table = pl.DataFrame({**rows, "w": [0.1, 0.2, 0.3, 0.4]})
    for family in (db.NaiveBayes(("t", ["u", "v"]), {"m": [0, 1]}),
                   db.LinearRegression({"m": (0, 1), "t": ["u", "v"]}, response={"w": (0, 1)})):
        with pytest.raises(ValueError, match=r"1 missing \(null or NaN\) of 4 records "
                                             r"\(1 missing in '(m'; 1 missing in 't|t'; 1 missing in 'm)'\)"):
            exact_sums(family, pandas)
        for chosen in ({"missing": "drop"}, {"missing_as": {"t": "u", "m": 0}}):
            found = [exact_sums(family, each, grid_exponent=4, **chosen) for each in (pandas, table)]
            assert found[0] == found[1]


def test_missing_as_says_what_to_declare():
    with pytest.raises(ValueError, match="declare it too: failure='no'"):
        exact_sums(Bernoulli(success="yes"), ["yes", None], missing_as="no")
    assert exact_sums(Bernoulli(success="yes", failure="no"), ["yes", None], missing_as="no").n == 2


def test_a_misspelt_column_of_a_file_is_pointed_at_without_its_first_line(tmp_path):
    (tmp_path / "t.csv").write_text("wage,limits\n1,yes\n")
    with pytest.raises(ValueError, match="did you mean the name in place 2 of its first line") as said:
        exact_sums(Bernoulli("limit", success="yes"), tmp_path / "t.csv")
    assert "limits" not in str(said.value) and "none of its places" not in str(said.value)
