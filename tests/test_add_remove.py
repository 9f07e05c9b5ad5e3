"""A release that protects whether a record is there: rows, their sensitivity, the file, and the posterior."""

import gzip
import json
import math
import warnings
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import dp_bayes_nb as db
from dp_bayes_nb.cli import main
from dp_bayes_nb.data_holder.ledger import Ledger
from dp_bayes_nb.data_holder.release import release
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.noise.add_remove import size_design, size_noise
from dp_bayes_nb.noise.design import Design, designed
from dp_bayes_nb.posterior.fit import fit, posterior_draws
from dp_bayes_nb.releases.document import Release
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.releases.simulate import simulate_release

NUMBERS = st.one_of(st.floats(1.0, 60.0), st.sampled_from([1.0, 5.0, 20.0, 20.000000000000004, 60.0, 9.5, 1 / 3 + 5]))
WHOLE = st.integers(0, 40)
MODELS = {
    "share": (db.Bernoulli(), st.integers(0, 1)),
    "categories": (db.Categorical(4), st.integers(0, 3)),
    "waiting": (db.Exponential((5, 20)), NUMBERS),
    "redacted": (db.Exponential(db.Redact(5, 20)), NUMBERS),
    "counts": (db.Poisson((2, 30)), WHOLE),
    "geometric": (db.Geometric((0, 9)), WHOLE),
    "above": (db.Above(db.Exponential((5, 20)), [7, 12], 7), NUMBERS),
    "normal": (db.Normal((5, 20)), NUMBERS),
    "normal below 0": (db.Normal((-20, -5), variance=2.0), NUMBERS.map(lambda x: -x)),
    "normal redacted": (db.Normal(db.Redact(5, 20)), NUMBERS),
    "log-normal": (db.LogNormal((5, 20)), NUMBERS),
    "log-normal redacted": (db.LogNormal(db.Redact(1, 20)), NUMBERS),
    "gamma": (db.GammaData((1, 50)), NUMBERS),
    "gamma redacted": (db.GammaData(db.Redact(5, 20)), NUMBERS),
    "gamma of known shape": (db.GammaData((1, 50), shape=2.0), NUMBERS),
    "pareto": (db.Pareto((5, 20), lower=1.0), NUMBERS),
    "weibull": (db.Weibull((1, 20), shape=1.5), NUMBERS),
}
OPTIONS = {"laplace": dict(mechanism="laplace", delta=None), "gaussian": dict(mechanism="gaussian", delta=1e-6)}


def rows_of(family, table, rows, g):
    "The exact rows of a table, as `release` adds its noise to them."
    sums = exact_sums(family, table, grid_exponent=g, empty=True)
    return np.array(rows.of(sums.n, sums.integers), dtype=object)


def how_far(moved, kind):
    "L1, or the square of L2, exactly."
    return sum(abs(v) for v in moved) if kind == "laplace" else sum(v * v for v in moved)


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_no_neighbouring_table_moves_the_rows_further_than_claimed(name, kind):
    "Tables are tried by hypothesis, with a record added and with each record removed; a range a step short is found."
    family, records = MODELS[name]
    d, rows = size_design(family, 1.0, *OPTIONS[kind].values())
    limit = Fraction(rows.moved) ** (1 if kind == "laplace" else 2)
    most = 0

    @settings(max_examples=12, deadline=None, derandomize=True, database=None)
    @given(st.lists(records, max_size=3), records)
    def tried(table, more):
        nonlocal most
        frame = lambda rows: pl.DataFrame({"x": rows}, schema={"x": pl.Int64 if family.integer else pl.Float64})
        here = rows_of(family, frame(table), rows, d.grid_exponent)
        moved = how_far(rows_of(family, frame([*table, more]), rows, d.grid_exponent) - here, kind)
        assert moved <= limit
        most = max(most, moved)

    tried()
    if kind == "laplace":  # exact: each record moves a total of the whole claim, up to the rounding of two statistics
        assert most > float(limit) * (1 - 1e-4)
        assert rows.moved == most or len(family.names) == 2


def test_a_pair_costs_less_than_two_sums_and_a_number_of_records():
    "In units of one range: 1, where a noisy n beside a noisy sum has 2; of two statistics, sums have less noise."
    for family, most in ((db.Exponential((5, 20)), 15.0), (db.Bernoulli(), 1.0), (db.Categorical(5), 1.0)):
        assert size_noise(family, epsilon=1.0)[1] == pytest.approx(most, rel=1e-12)
    for family in (db.Normal((5, 20)), db.GammaData((5, 20))):
        noise, _, rows = size_noise(family, epsilon=1.0)
        inverse = np.linalg.inv(rows.matrix(noise.grid[0]))
        public = math.sqrt(2) * family.sensitivity()  # standard deviation of each sum where n is public
        spread = np.sqrt((inverse**2).sum(axis=1) * 2 * noise.scale[0] ** 2)
        assert np.all(spread[1:] < public), family


@pytest.mark.parametrize("model", [db.NaiveBayes(("y", 2), {"a": 3}),
                                   db.HiddenMarkov(("region", ["a", "b"]), ("month", 2), {"kind": 3}, states=2)],
                         ids=lambda m: type(m).__name__)
def test_a_model_that_cannot_do_it_says_so_before_anything_is_spent(model, tmp_path):
    ledger = Ledger(tmp_path / "ledger.json", epsilon=1)
    with pytest.raises(ValueError, match="neighbours must be") as caught:
        release(model, {"age": [1]}, epsilon=1.0, neighbours="add_remove", n_max=100, ledger=ledger)
    assert "public" in str(caught.value) and not ledger.entries


# ---------------------------------------------------------------- the file

WAITING = db.Exponential((0, 20), column="x")


def made(**options):
    return release(WAITING, pl.DataFrame({"x": np.arange(200) % 23 / 1.0}), epsilon=1.0, neighbours="add_remove",
                   n_max=5000, **options)


def forged(r, **changes):
    document = json.loads(r.to_json())
    del document["sha256"]
    return seal({**document, **changes})


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_read_back_as_it_was_written(name, kind, tmp_path):
    family, _ = MODELS[name]
    r = release(family, _table(family), epsilon=0.7, neighbours="add_remove", n_max=1000, **OPTIONS[kind])
    r.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again == r and again.to_json() == r.to_json()
    assert (r.n, r.n_range, r.origin, r.neighbours, r.schema) == (None, (0, 1000), "made here", "add_remove", 2)
    with pytest.raises(ValueError, match="noise.scale must be"):
        scale = json.loads(r.to_json())["noise"]["scale"]
        Release.from_json(forged(r, noise={**json.loads(r.to_json())["noise"], "scale": scale * 0.5}))


def _table(family):
    if family.integer:
        return pl.DataFrame({"x": [1, 0, 1, 1]})
    return pl.DataFrame({"x": [-6.0, -7.0] if family.bounds.upper < 0 else [6.0, 7.0, 19.0]})


FORGED = {
    "n": dict(n=200), "no range": dict(n_range=None), "a range from 5": dict(n_range=[5, 5000]),
    "a range too short": dict(n_range=[0, 1]),
    "another matrix": dict(matrix=[[0, 1], [10, -1]]), "no matrix": dict(matrix=None),
    "names": dict(names=["sum", "rest"]), "half the sensitivity": dict(sensitivity=10.0),
    "twice the budget": dict(budget={"epsilon": 2.0, "delta": None, "rho": None}),
    "a delta": dict(budget={"epsilon": 1.0, "delta": 1e-6, "rho": None}),
    "a rho": dict(budget={"epsilon": 1.0, "delta": None, "rho": 0.5}), "no budget": dict(budget=None),
    "change_one": dict(neighbours="change_one"), "change_value": dict(neighbours="change_value"),
    "no neighbours": dict(neighbours=None), "a source": dict(source="an office"), "declared": dict(origin="declared"),
    "off the grid": dict(values=[100.3000001, 3000.0]), "blank": dict(values=[None, 3000]),
    "rounded": dict(printed={"rounded": 5}), "parts": dict(parts=["0" * 16]), "schema 1": dict(schema=1),
    "another model": dict(model={"family": "Exponential", "bounds": {"clip": [0, 30]}, "column": "x"}),
    "a public model": dict(model={"family": "NaiveBayes", "label": ["y", [0, 1]], "features": [["a", [0, 1]]]}),
    "far out": dict(values=[1e6, 1e6]),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_files_are_refused(what):
    with pytest.raises(ValueError) as caught:
        Release.from_json(forged(made(), **FORGED[what]))
    assert str(caught.value).isprintable() and len(str(caught.value)) < 700


def test_a_file_with_a_public_n_cannot_claim_that_n_is_private():
    r = release(db.Bernoulli(), [1, 0, 1], epsilon=1.0)
    assert {"n_range", "source", "parts"} & set(json.loads(r.to_json())) == set()  # public files have the keys they had
    with pytest.raises(ValueError, match="where n is private"):
        Release.from_json(forged(r, neighbours="add_remove"))


# ---------------------------------------------------------------- what is said of n

def test_a_record_more_or_less_changes_nothing_that_is_not_noisy(tmp_path):
    "File, summary, ledger and warnings of two neighbouring tables, and of an empty one, differ in values and id only."
    def told(records):
        ledger = Ledger(tmp_path / f"ledger {len(records)}.json", epsilon=9, delta=0.5)
        seen = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for options in (dict(), dict(missing="drop"), dict(mechanism="gaussian", delta=0.002)):
                r = release(WAITING, pl.DataFrame({"x": records}, schema={"x": pl.Float64}), epsilon=1.0, n_max=1000,
                            neighbours="add_remove", ledger=ledger, name="survey", **options)
                document = json.loads(r.to_json())
                seen.append({key: value for key, value in document.items() if key not in ("values", "id", "sha256")})
                seen.append([line for line in repr(r).splitlines() if not line.startswith(("  sum:", "  20 n"))])
        entries = [(e.release, e.epsilon, e.delta) for e in ledger.entries]
        return seen, entries, [str(w.message) for w in caught]

    full, less, empty = told([3.0] * 700), told([3.0] * 699), told([])
    assert full == less == empty
    assert all("neighbours: add_remove" in entry[0] for entry in full[1])
    assert len(full[2]) == 1 and "1/n_max = 0.001" in full[2][0]  # of delta, by a public number; none of dropping


def test_dropping_records_is_removing_them(tmp_path):
    values = [1.0, None, 5.0, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r = release(WAITING, pl.DataFrame({"x": values}), epsilon=1.0, missing="drop", neighbours="add_remove",
                    n_max=100)
    assert (r.n, r.missing, r.neighbours) == (None, "drop", "add_remove") and "complete records only" in repr(r)
    assert Release.from_json(r.to_json()) == r
    d, rows = size_design(WAITING, 1.0, "laplace", None)
    kept, complete = (exact_sums(WAITING, pl.DataFrame({"x": x}), grid_exponent=d.grid_exponent, missing="drop")
                      for x in (values, [1.0, 5.0]))
    assert rows.of(kept.n, kept.integers) == rows.of(complete.n, complete.integers)


def test_what_is_wrong_with_n_max_is_said_without_n():
    table = pl.DataFrame({"x": [1.0] * 731})
    for n_max, why in ((None, "n_max must be"), (730, "this table has more"), (0, "n_max must be"), (2**53, "53 bits"),
                       (10.5, "n_max must be")):
        with pytest.raises(ValueError, match=why) as caught:
            release(WAITING, table, epsilon=1.0, neighbours="add_remove", n_max=n_max)
        assert "731" not in str(caught.value)
    with pytest.raises(ValueError, match="left out where the number of records is public"):
        release(WAITING, table, epsilon=1.0, n_max=1000)


def test_the_command_line_takes_both_arguments(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("x\n" + "1\n0\n" * 50)
    (tmp_path / "f.toml").write_text('family = "Bernoulli"\ncolumn = "x"\n')
    line = ["release", str(tmp_path / "t.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1", "--neighbours",
            "add_remove", "-o", str(tmp_path / "r.json")]
    assert main(line) == 2 and "--n-max must be" in capsys.readouterr().err
    assert main([*line, "--n-max", "5000"]) == 0
    r = Release.load(tmp_path / "r.json")
    assert (r.names, r.n, r.n_range) == (("successes", "failures"), None, (0, 5000))


# ---------------------------------------------------------------- designs and posteriors

def test_a_design_with_a_private_n_goes_to_the_simulation_only():
    design = Design(200, 1.0, neighbours="add_remove", n_max=1000)
    r = simulate_release(db.Bernoulli(), {"probability": 0.3}, design=design)
    assert (r.neighbours, r.n_range, r.origin) == ("add_remove", (0, 1000), "simulated")
    with pytest.raises(ValueError, match="design must be one with neighbours='change_one'"):
        designed(design, n=None, epsilon=None, mechanism="laplace", delta=None)
    for wrong in (dict(neighbours="add_remove"), dict(n_max=10)):
        with pytest.raises(ValueError, match="n_max must be given"):
            Design(200, 1.0, **wrong)


@pytest.mark.parametrize("family, truth, prior", [
    (db.Bernoulli(), {"probability": 0.3}, None),
    (db.Categorical(3), {"probabilities": [0.2, 0.5, 0.3]}, None)], ids=["share", "categories"])
def test_the_posterior_holds_the_truth(family, truth, prior):
    "Each interval misses by chance in 1 of 20,000: six posterior standard deviations or so of independent draws."
    r = simulate_release(family, truth, 400, 1.0, neighbours="add_remove", n_max=10**5, seed=11)
    idata = fit(r, prior, draws=500, progress=False)
    for name, value in truth.items():
        x = idata.posterior[name]
        assert np.all(np.abs(x.mean(("chain", "draw")).values - value) < 4.5 * x.std(("chain", "draw")).values)
    n = idata.confidential["n"]
    assert abs(float(n.mean()) - 400) < 5 * float(n.std()) and float(n.std()) < 10


@pytest.mark.slow
def test_coverage_of_a_clipped_mean_with_a_private_n():
    "n = 100, mean 10 clipped at 20, ε = 1; 300 tables: the share of hits has standard error .013 at .95."
    hits, widths, sizes = [], [], []
    for k in range(300):
        r = simulate_release(db.Exponential((0, 20)), {"rate": 0.1}, 100, 1.0, neighbours="add_remove",
                                n_max=10_000, seed=k)
        drawn = posterior_draws(r, db.Gamma(1, 10), draws=500, warmup=300, chains=2, progress=False, seed=k)
        low, high = np.quantile(1 / np.asarray(drawn.theta["rate"]), [0.025, 0.975])
        least, most = np.quantile(np.asarray(drawn.confidential["n"]), [0.025, 0.975])
        hits, widths, sizes = [*hits, low <= 10 <= high], [*widths, high - low], [*sizes, least <= 100 <= most]
    assert np.mean(hits) > 0.95 - 3 * 0.0126 and np.mean(sizes) > 0.95 - 3 * 0.0126
    assert np.mean(widths) < 4.8


# A refusal must not say how many records there are: each fault is planted in a table of 3 records, of which 1 is bad,
# and in one of 7, of which 2 are; then in tables of which all are.
RELATIONS = {"add_remove": dict(neighbours="add_remove", n_max=10**6),
             "rows": dict(person="id", rows=2, n_max=10**6),
             "combined": dict(neighbours="add_remove", n_max=10**6, person="id", combine="first")}
SIZES = ((3, 1), (7, 2), (3, 3), (7, 7))
SHARE, WAIT = db.Bernoulli("x"), db.Exponential((0, 20), "x")
DAY = db.DateHistogram("2024-01", "2024-03", column="x")
LEVELS, OPEN = db.Categorical(("a", "b"), "x"), db.Bernoulli("x", "yes")
TWO = db.NaiveBayes(("x", ["a", "b"]), {"y": ["u", "v"]})
FAULTS = {  # model, a good value of x, a bad one, options of the release
    "no number": (SHARE, 1, "none", {}), "no date": (DAY, "2024-01-01", "1/2/2024", {}),
    "missing": (SHARE, 1, None, {}), "a missing text": (LEVELS, "a", None, {}), "infinite": (WAIT, 1.0, np.inf, {}),
    "outside": (SHARE, 1, 5, {}), "an undeclared text": (LEVELS, "a", "c", {}), "no text": (LEVELS, "a", 3.5, {}),
    "outside of two columns": (TWO, "a", "c", {}), "missing in two": (TWO, "a", None, {}),
    "dropped": (SHARE, 1, None, dict(missing="drop")), "too many": (SHARE, 1, 1, dict(n_max=1)),
    "a large delta": (SHARE, 1, 1, dict(mechanism="gaussian", delta=0.01)),
}  # fmt: skip


def tables_of(good, bad, n, faults, folder):
    "The same table in memory and as files, under names that do not depend on it."
    x = [bad] * faults + [good] * (n - faults)
    frame = {"id": [f"p{i}" for i in range(n)], "x": x, "y": ["u"] * n}
    yield "list", [list(row) for row in zip(x, frame["y"])]
    yield "values", x
    yield "array", np.array(x, dtype=object)
    yield "pandas", pd.DataFrame(frame)
    polars = pl.DataFrame(frame, strict=False)
    yield "polars", polars
    polars.write_csv(folder / "t.csv")
    yield "csv", folder / "t.csv"
    polars.write_parquet(folder / "t.parquet")
    yield "parquet", folder / "t.parquet"
    yield "without a name", pd.Series(x, name="x")


def shapes(n, faults, folder):
    "Tables of a wrong form, whatever the model."
    rows = [f"p{i},1,u" for i in range(n)]
    for name, broken in {"short": ["p9"] * faults, "long": ["p9,1,u,v"] * faults, "blank": [""] * faults}.items():
        (folder / "t.csv").write_text("\n".join(["id,x,y", *rows, *broken]) + "\n")
        yield name, folder / "t.csv"
    yield "unowned", pd.DataFrame({"id": [None] * faults + ["p"] * (n - faults), "x": [1] * n, "y": ["u"] * n})
    (folder / "t.csv").write_text("\n".join(["id,x,y", *rows[faults:], *[",1,u"] * faults]) + "\n")
    yield "unowned in a file", folder / "t.csv"
    yield "crowded", pd.DataFrame({"id": ["p", "q"] * (2 * n), "x": [1] * 4 * n, "y": ["u"] * 4 * n})
    yield "columns", np.zeros((n, 3))
    yield "turned", np.zeros((3, n))
    yield "deep", np.zeros((n, 2, 2))
    yield "a ragged list", [[1] * (1 + i % 2) for i in range(n)]
    yield "the text of a file", "\n".join(["id,x,y", *rows])
    yield "a line of text", " ".join(rows)
    yield "a dict", {"x": [1] * n}


def what_is_said(model, data, options):
    "The refusal and the warnings of a release."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            db.release(model, data, epsilon=1.0, **options)
        except ValueError as error:
            return str(error)
    return " ".join(str(each.message) for each in caught)


def all_that_is_said(folder, relation, sizes, only=None):
    "By fault and kind of table, what is said of tables of several sizes."
    found = {}
    for n, faults in sizes:
        for fault, (model, good, bad, options) in FAULTS.items():
            for kind, data in tables_of(good, bad, n, faults, folder):
                if only in (None, kind):
                    said = what_is_said(model, data, RELATIONS[relation] | options)
                    found.setdefault((fault, kind), []).append(said)
        for fault, data in shapes(n, faults, folder):
            for model in (SHARE, TWO, db.Bernoulli()):
                found.setdefault((fault, model), []).append(what_is_said(model, data, RELATIONS[relation]))
    return found


@pytest.mark.parametrize("relation", [name if name == "combined" else pytest.param(name, marks=pytest.mark.slow)
                                      for name in RELATIONS])
def test_no_refusal_depends_on_how_many_records_there_are(relation, tmp_path, monkeypatch):
    "Every fault, kind of table and size; the messages of 0.6.0, which counted, are found."
    from dp_bayes_nb.data_holder import persons, sums

    for module in (persons, sums):
        monkeypatch.setattr(module, "MOST_COMBINED", 1)
    for sizes, only in ((SIZES[:2], None), (SIZES[2:], "csv")):
        found = all_that_is_said(tmp_path, relation, sizes, only)
        assert {at: said for at, said in found.items() if len(set(said)) > 1} == {}
        refused = {fault for (fault, _), said in found.items() if any(said)}
        assert set(FAULTS) - refused <= {"dropped"} and len(found) > (130 if only is None else 50)
    whole = sums.open_pieces
    monkeypatch.setattr(sums, "open_pieces", lambda *asked: whole(*asked[:5]))
    counted = all_that_is_said(tmp_path, relation, SIZES[:2], "csv")
    assert {at[0] for at, said in counted.items() if len(set(said)) > 1} >= {"no number", "no date", "short", "blank"}


def nothing(n, folder):
    "Tables of no record, or of records without any value, that say of no column what type it has."
    none = [None] * n
    yield "list", none
    yield "array", np.array(none, dtype=object)
    yield "NaN", [math.nan] * n
    yield "pandas", pd.DataFrame({"x": pd.Series(none, dtype=object)})
    yield "series", pd.Series(none, dtype=object)
    yield "polars", pl.DataFrame({"x": pl.Series(none, dtype=pl.Null)}).lazy()
    yield "pyarrow", pl.DataFrame({"x": pl.Series(none, dtype=pl.Null)}).to_arrow()
    yield "duckdb", duckdb.sql("select null as x" + " where false" * (n == 0))
    pl.DataFrame({"x": pl.Series(none, dtype=pl.Null)}).write_parquet(folder / "t.parquet")
    yield "parquet", folder / "t.parquet"
    for name, text in {"t.csv": "x\n" + "\n" * n, "more.csv": "x,y\r\n" + ",\r\n" * n, "open.csv": "x"}.items():
        (folder / f"{name}").write_text(text)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        yield from ((path, folder / path) for path in (name, f"{name}.gz"))


@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("models", [(SHARE, DAY, LEVELS), pytest.param((WAIT, OPEN, db.LogLinear(
    {"x": ["a", "b"]}, [("x",)])), marks=pytest.mark.slow)], ids=["three", "others"])
def test_a_table_without_a_value_is_fit_for_every_kind_of_column(models, n, tmp_path):
    "It has no type; where n is public it is refused in words, and where n is private released as any other."
    private = dict(epsilon=1.0, missing="drop", neighbours="add_remove", n_max=100)
    for model in models:
        for kind, data in nothing(n, tmp_path):
            data = [(None,)] * n if kind == "list" and model.by_name else data
            if model.by_name and kind in ("array", "NaN", "series"):
                continue
            sums = exact_sums(model, data, missing="drop", empty=True)
            assert (sums.n, set(sums.integers)) == (0, {0}), (model, kind)
            for options in (dict(missing="drop"), {}):
                with pytest.raises(ValueError, match="at least one complete record" if options or not n or
                                   kind == "open.csv" else "missing"):
                    exact_sums(model, data, **options)
        assert db.release(model, data, **private).n is None


def test_a_file_of_names_only_has_no_person(tmp_path):
    (tmp_path / "t.csv").write_text("id,x\n")
    frame = pd.DataFrame({"id": pd.Series([], dtype=object), "x": pd.Series([], dtype=object)})
    for data in (tmp_path / "t.csv", frame):
        for how in (dict(rows=2), dict(combine="first", neighbours="add_remove")):
            for model in (SHARE, DAY, LEVELS):
                made = db.release(model, data, epsilon=50.0, n_max=100, person="id", **how)
                assert made.n is None and np.all(np.abs(made.values) < 100)
        with pytest.raises(ValueError, match="at least one complete record"):
            db.release(SHARE, data, epsilon=1.0, person="id", combine="first")


def test_values_that_are_there_keep_their_type():
    "Numbers are still no texts, and a column that a frame types is what it says."
    for model, data in ((LEVELS, [1.0, None]), (SHARE, ["1", None]),
                        (DAY, [math.nan, 3.0]), (SHARE, pd.DataFrame({"x": pd.Series(["1", None], dtype=object)}))):
        with pytest.raises(ValueError, match="must be of"):
            exact_sums(model, data, missing="drop", empty=True)
