"""A histogram and a sum, without an assumed distribution: the promises of the model, and coverage with mutants."""

import sys
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.stats as st

import dp_bayes_nb as db
from dp_bayes_nb.data_holder.sums import exact_sums

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from dp_bayes_nb.posterior.histograms import sample_histogram  # noqa: E402
import distribution_free as study  # noqa: E402

EDGES = (0.0, 1.0, 2.0, 4.0, 8.0)
THETA = {"probabilities": [0.1, 0.3, 0.3, 0.15, 0.1, 0.05], "position": 0.4}


def made(weight=2.0, n=600, **budget):
    return db.simulate_release(db.Histogram(EDGES, weight=weight), THETA, n, **(budget or {"epsilon": 1.0}), seed=3)


@pytest.mark.slow  # other months are in test_laws.py
def test_a_histogram_of_dates_keeps_its_promises():
    model = db.DateHistogram("2024-01", "2024-03", column="day")
    db.check_model(2, model, {"probabilities": [0.1, 0.3, 0.2, 0.3, 0.1], "position": 0.3}, n=400)


@pytest.mark.slow  # a weight of 2, and dates, are in test_laws.py
@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_the_model_keeps_its_promises(weight):
    db.check_model(2, db.Histogram(EDGES, weight=weight), THETA, n=400)


def test_sensitivity_with_rounding_is_attained_and_never_passed():
    rng = np.random.default_rng(0)
    for weight in (2.0, 0.7, 3.3):
        model = db.Histogram(EDGES, weight=weight)
        x = np.append(rng.uniform(-2, 10, 400), [0.0, 8.0, *EDGES])
        t = np.asarray(model.record_statistics(jax.numpy.asarray(x)))
        for g in (0, 3, 20):
            steps = np.floor(t * 2.0**g + 0.5)
            d = np.abs(steps[:, None] - steps[None])
            for norm, found in (("l1", d.sum(axis=2).max()), ("l2", np.sqrt((d**2).sum(axis=2)).max())):
                claimed = model.rounded_sensitivity(g, norm=norm)
                assert found <= claimed <= found * (1 + 1e-9)


def test_every_form_of_a_table_gives_the_same_sums(tmp_path):
    x = np.random.default_rng(1).uniform(-1, 9, 300).round(3)
    model, frame = db.Histogram(EDGES, "x"), pd.DataFrame({"x": x, "y": 1})
    frame.to_csv(tmp_path / "x.csv", index=False)
    tables = [frame, str(tmp_path / "x.csv")]
    polars = pytest.importorskip("polars")
    tables += [polars.from_pandas(frame)]
    found = [exact_sums(model, table, grid_exponent=20).integers for table in tables]
    assert all(tuple(each) == tuple(found[0]) for each in found)
    assert np.array(found[0])[:6] / 2**20 == pytest.approx(study.sums(db.Histogram(EDGES), x)[:6])


def test_answers_and_refusals():
    idata = db.fit(made(), draws=400, chains=2)
    assert idata.posterior.attrs["method"] == "exact"
    table = db.column_quantiles(idata, [0.25, 0.5])
    assert list(table.columns) == ["estimate", "low", "high"] and {*table.low, *table.high} <= {*EDGES}
    assert table.dtypes.tolist() == [np.dtype(float)] * 3, "so that round() works"
    even = db.column_quantiles(idata, 0.5, within="even").iloc[0]
    assert table.loc[0.5, "low"] <= even.low < even.high <= table.loc[0.5, "high"]
    share = db.column_above(idata, 2.0)
    assert np.array_equal(share.low, share.high) and abs(float(share.low.mean()) - 0.3) < 0.1
    between = db.column_above(idata, 3.0)
    assert np.all(between.low <= between.high) and float(db.column_mean(idata).std()) > 0
    for ask, words in ((lambda: db.column_quantiles(idata, 1.5), "q must"),
                       (lambda: db.column_above(idata, 9), "limit"),
                       (lambda: db.column_quantiles(idata, within="x"), "within"),
                       (lambda: db.column_mean(db.fit(db.simulate_release(db.Bernoulli(), {"probability": 0.2}, 50,
                                                                         1.0), draws=20)), "Histogram")):
        with pytest.raises(ValueError, match=words):
            ask()


def test_other_ways_to_release_it():
    assert db.fit(made(weight=0.0), draws=50).posterior.attrs["method"] == "exact"
    assert db.fit(made(epsilon=None, rho=0.5, mechanism="gaussian"), draws=50).posterior.attrs["method"] == "exact"
    assert db.fit(made(), db.Dirichlet(np.full(6, 0.5)), draws=50).posterior.attrs["method"] == "exact"
    with pytest.raises(ValueError, match="prior must be"):
        db.fit(made(), db.Beta(1.0, 1.0), draws=50)


@pytest.mark.slow
def test_histograms_of_groups():
    grouped = db.Grouped(db.Histogram(EDGES, "x"), "g", ["a", "b"])
    frame = pd.DataFrame({"x": np.linspace(0, 8, 400), "g": ["a", "b"] * 200})
    idata = db.fit(db.release(grouped, frame, epsilon=2.0), draws=50, chains=2)
    assert idata.posterior["probabilities"].shape == (2, 50, 2, 6)


def test_the_posterior_is_the_one_of_a_dirichlet_where_both_know_it():
    "A histogram without a sum under a Dirichlet prior is the categories of its bins."
    release = made(weight=0.0)
    prior = db.Dirichlet([0.5, 1.0, 2.0, 0.7, 0.4, 1.0])
    same = db.declare(db.Categorical(6), release.values, n=release.n, noise=db.Laplace(scale=2.0), source="these tests")
    one, two = db.fit(release, prior, draws=4000, seed=1), db.fit(same, prior, draws=4000, seed=2)
    a, b = (each.posterior["probabilities"].values.reshape(-1, 4) for each in (one, two))
    assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5 * b.std(axis=0) * np.sqrt(2 / len(b)))


def test_dates_are_the_same_days_on_every_engine(tmp_path):
    import duckdb
    polars = pytest.importorskip("polars")
    texts = ["2024-02-29", "2023-12-31", "1969-07-20"]
    frame = pd.DataFrame({"day": pd.to_datetime(texts)})
    frame.to_csv(tmp_path / "days.csv", index=False)
    columns = [frame.day, polars.from_pandas(frame)["day"], polars.Series(texts).str.to_date(),
               pd.read_csv(tmp_path / "days.csv").day,
               duckdb.sql("select cast(day as date) as day from frame").df().day]
    assert all(db.calendar_days(column).tolist() == [19782, 19722, -165] for column in columns)
    model = db.Histogram(db.calendar_edges("2023-12", "2024-03"), "day", weight=0)
    sums = exact_sums(model, pd.DataFrame({"day": db.calendar_days(frame.day)})).integers
    assert tuple(sums) == (1, 1, 0, 1, 0, 0)  # one is before the first month


def test_dates_whose_day_depends_on_a_time_zone_and_tables_are_refused():
    "Just after midnight in Tokyo it is the day before in UTC; the local date is taken once it is without zone."
    import datetime

    import duckdb
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    local = pd.Series(pd.to_datetime(["2024-03-01 00:30"] * 2))
    zoned = local.dt.tz_localize("Asia/Tokyo")
    of_python = [None, datetime.datetime(2024, 3, 1, tzinfo=datetime.timezone.utc)]
    in_polars = polars.Series([zoned[0].to_pydatetime()] * 2).dt.convert_time_zone("Asia/Tokyo")
    for column in (zoned, pd.DatetimeIndex(zoned), zoned.astype(object), in_polars, of_python,
                   arrow.array(zoned), arrow.chunked_array([arrow.array(zoned)]),
                   zoned.astype(pd.ArrowDtype(arrow.timestamp("us", "Asia/Tokyo"))), ["2024-03-01T00:30+09:00"]):
        with pytest.raises(ValueError, match="dates must be dates without time zone") as raised:
            db.calendar_days(column)
        assert "2024-03-01" not in str(raised.value), "no record is shown"
    for column in (zoned.dt.tz_localize(None), in_polars.dt.replace_time_zone(None), local):
        assert db.calendar_days(column).tolist() == [19783, 19783]
    for table in (duckdb.sql("select date '2024-03-01' as day"), pd.DataFrame({"day": local}), None):
        with pytest.raises(ValueError, match="dates must be a column of dates"):
            db.calendar_days(table)


def test_a_variance_of_a_column_that_is_clipped_at_both_ends_is_not_understated():
    "Half of the records at either end: within half a bin's square of what it is, and never below it."
    model, x = db.Histogram([0.0, 0.5, 1.0]), np.repeat([-1.0, 0.2, 0.8, 3.0], [40, 10, 10, 40])
    clipped = np.clip(x, 0, 1)
    p = study.sums(model, x)[:-1] / len(x)
    theta = {"probabilities": p, "position": (clipped.mean() - p @ model.limits[:-1]) / (p @ np.diff(model.limits))}
    variance = float(model.moments(theta)[1][-1, -1]) / model.weight**2
    assert clipped.var() <= variance <= clipped.var() + 0.25**2
    assert p.tolist() == [0.4, 0.1, 0.1, 0.4]


def test_an_end_of_the_range_is_known_without_the_width_of_a_bin():
    "Most records are zero: the median is zero, and the share above it is that of the others."
    model, x = db.Histogram([0, 5, 10], "x"), np.repeat([0.0, 3.0, 9.0], [3000, 700, 300])
    idata = db.fit(db.release(model, pd.DataFrame({"x": x}), epsilon=2.0), draws=400, chains=2)
    assert db.column_quantiles(idata, 0.5).iloc[0].tolist() == [0.0, 0.0, 0.0]
    above = db.column_above(idata, 0)
    assert np.array_equal(above.low, above.high) and abs(float(above.low.mean()) - 0.25) < 0.05
    assert float(db.column_above(idata, 10).high.max()) < 0.05


@pytest.mark.slow
def test_a_study_a_plan_and_offices_together():
    model = db.Histogram(EDGES)
    found = db.calibrate(model, n=60, epsilon=1.0, trials=40, draws=39, power=False, seed=3)
    assert min(float(np.min(p)) for p in found.p_values.values()) > 1e-4
    assert np.isfinite(db.plan(model, n=60, epsilon=1.0, trials=2, progress=False).table[0]["width_95"])
    one, two = made(), db.declare(model, made().values, n=600, noise=db.Laplace(scale=4.0), source="these tests")
    a, b = (db.column_mean(db.fit(each, draws=500, chains=2)).values for each in (one, two))
    assert abs(a.mean() - b.mean()) < 5 * a.std() * np.sqrt(2 / a.size)  # independent draws
    both = db.fit(db.combine(one, made(epsilon=2.0)), draws=50, warmup=50, chains=2, progress=False)
    assert both.posterior["probabilities"].shape == (2, 50, 6)


def test_priors_of_the_position():
    "Whole numbers on whole edges are seen to lie there; another prior is asked of another sampler, or refused."
    made = db.simulate_release(db.Histogram(EDGES), {**THETA, "position": 1e-6}, 1000, 2.0, seed=5)
    position = db.fit(made, draws=500).posterior["position"].values
    assert (position < 0.01).mean() > 0.6
    uniform = db.fit(made, {"position": db.Beta(1.0, 1.0)}, draws=500).posterior
    assert uniform.attrs["method"] == "exact" and (uniform["position"].values < 0.01).mean() < 0.5
    said = db.fit(made, {"position": db.AtEnds(0.999)}, draws=500).posterior["position"].values
    assert ((said < 0.02) | (said > 0.98)).mean() > 0.99
    alone = db.fit(db.simulate_release(db.Histogram(EDGES, weight=0), THETA, 300, 1.0, seed=1), draws=2000).posterior
    assert 0.25 < (alone["position"].values < 0.01).mean() < 0.42  # the prior: nothing is known of it
    for prior, words in ((db.AtEnds(1.0), "share must be"), (db.AtEnds(-0.1), "share must be"),
                         (db.Gamma(1.0, 1.0), "position.* must be")):
        with pytest.raises(ValueError, match=words):
            db.fit(made, {"position": prior}, draws=50)
    with pytest.raises(ValueError, match="AtEnds or Beta"):
        db.fit(made, {"position": db.Beta(2.0, 1.0)}, draws=50, method="exact")


@pytest.mark.slow
def test_rows_of_a_private_size():
    frame = pd.DataFrame({"x": np.linspace(0, 8, 400)})
    release = db.release(db.Histogram(EDGES, "x"), frame, epsilon=4.0, neighbours="add_remove", n_max=1000)
    idata = db.fit(release, draws=100, warmup=100, chains=2, progress=False)
    assert abs(float(db.column_mean(idata).mean()) - 4.0) < 1.0


def test_dates_from_a_csv_file_to_a_median_that_is_a_date(tmp_path, capsys):
    "Nothing but the shell: dates as texts, how many a month, when half had happened, and how many since July."
    from dp_bayes_nb.cli import main
    days = np.datetime64("2024-01-01") + np.random.default_rng(1).integers(0, 366, 3000)
    (tmp_path / "t.csv").write_text("admitted,ill\n" + "".join(f"{day} 08:30,1\n" for day in days))
    (tmp_path / "f.toml").write_text('family = "DateHistogram"\nfirst = "2024-01"\nlast = "2024-12"\n')
    at = lambda name: str(tmp_path / name)
    assert not main(["release", at("t.csv"), "--family", at("f.toml"), "--column", "admitted", "--epsilon", "2", "-o",
                     at("r.json")])
    release, edges = db.Release.load(at("r.json")), np.arange("2024-01", "2025-02", dtype="datetime64[M]")
    months = np.histogram(days.astype(float), edges.astype("datetime64[D]").astype(float))[0]
    assert release.family == db.DateHistogram("2024-01", "2024-12", column="admitted")
    assert np.all(np.abs(release.values[1:-1] - months) < 20) and np.all(np.abs(release.values[[0, -1]]) < 20)
    assert not main(["fit", at("r.json"), "-o", at("p.nc")])
    assert "0.25-quantile" in capsys.readouterr().out
    assert not main(["show", at("p.nc"), "--quantiles", "0.5", "--above", "2024-07-01"])
    shown = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    estimate, low, high = shown["median"][1:]
    assert low <= str(np.sort(days)[1500]) <= high and low.endswith("-01") and estimate[:4] == "2024"
    share = float(shown["share of 2024-07-01 or above"][5])
    assert abs(share - (days >= np.datetime64("2024-07-01")).mean()) < 0.02
    assert main(["show", at("r.json"), "--above", "2024-07-01"]) == 2
    assert main(["show", at("p.nc"), "--above", "9"]) == 2
    assert "--above must be a date in the range, 2024-01-01 to 2025-01-01" in capsys.readouterr().err


def test_one_record_of_a_list_does_not_decide_how_the_others_are_read():
    "NumPy reads a list of dates in the finest unit among them, in which far dates wrap around."
    import datetime
    model = db.DateHistogram("2024-01-01", "2024-01-05", "day")
    far, day = [np.datetime64("9999-12-31")] * 100, (0, 0, 0, 1, 0, 0, 100)
    for one in (np.datetime64("2024-01-03"), np.datetime64("2024-01-03T12:00:00.000000001"),
                datetime.date(2024, 1, 3), datetime.datetime(2024, 1, 3, 23, 59), pd.Timestamp("2024-01-03 08:00")):
        assert exact_sums(model, [*far, one]).integers == day, repr(one)
    assert exact_sums(model, np.array([298_000], "datetime64[Y]")).integers == (0,) * 6 + (1,)  # beyond a database
    aware = datetime.datetime(2024, 1, 3, tzinfo=datetime.timezone.utc)
    with pytest.raises(ValueError, match="data must be dates without time zone"):
        exact_sums(model, [*far, aware])


def test_a_missing_date_counts_as_a_date_that_is_declared():
    import datetime
    frame, model = pd.DataFrame({"day": pd.to_datetime(["2024-01-05", None])}), db.DateHistogram("2024", "2024")
    found = {exact_sums(db.DateHistogram("2024", "2024", column="day"), frame, missing_as=value).integers
             for value in ("2024-02-10", datetime.date(2024, 2, 10), np.datetime64("2024-02-10"))}
    assert found == {(0, 1, 1, *[0] * 11)} and model.labels[-1] == "2025-01-01 or later"
    for wrong in ("today", "2024-02-30", "2024-02-10T00:00+02:00"):
        with pytest.raises(ValueError, match="missing_as must be a date"):
            exact_sums(model, frame.day, missing_as=wrong)


@pytest.mark.parametrize("day", ["2023-06-01", "2024-01-01", "2024-01-03", "2024-01-05", "2024-06-01"])
def test_a_median_of_dates_is_the_day_that_all_records_share(day):
    model = db.DateHistogram("2024-01-01", "2024-01-05", "day")
    counts = np.array(exact_sums(model, np.full(500, day, "datetime64[D]")).integers)
    made = db.declare(model, counts, n=500, noise=db.Laplace(scale=0.4), source="these tests")
    row = db.column_quantiles(db.fit(made, draws=200, chains=2, progress=False), 0.5).iloc[0]
    wanted = {"2023-06-01": "2023-12-31", "2024-06-01": "2024-01-06"}.get(day, day)
    assert [str(value)[:10] for value in row] == [wanted] * 3


@pytest.mark.parametrize("model, theta, names", [
    (db.Histogram(EDGES), THETA, ("probabilities[1 to 2]", "position")),
    pytest.param(db.ZeroInflatedPoisson((0, 15)), {"rate": 5.0, "inflation": 0.3}, ("rate", "inflation"),
                 marks=pytest.mark.slow)], ids=["histogram", "zeros"])
def test_a_plan_is_of_the_parameter_that_it_names(model, theta, names):
    "JAX sorts the keys of a dictionary, and a plan once took inflation for rate, and position for probabilities."
    idata = db.fit(db.simulate_release(model, theta, 1000, 1.0, seed=1), draws=500, chains=2, progress=False)
    draws = {name: idata.posterior[name] for name in model.parameters}
    found = {name: float((draws[name.split("[")[0]][..., 2] if "[" in name else draws[name]).std()) for name in names}
    for name in names:
        told = db.plan(model, n=1000, epsilon=1.0, theta=theta, trials=8, parameter=name, progress=False)
        assert 0.6 < told.table[0]["posterior_sd"] / found[name] < 1.6, name


def test_the_rows_of_a_person_are_one_date():
    frame = pd.DataFrame({"id": [1, 1, 2, 2, 3], "day": pd.to_datetime(["2024-01-05", "2024-02-03", "2024-03-01",
                                                                       "2024-02-29", "2024-04-04"])})
    model = db.DateHistogram("2024-01", "2024-03", column="day")
    of = lambda **rule: exact_sums(model, frame, person=db.Person("id", **rule), empty=True).integers
    assert of(combine="first") == of(combine="min") == (0, 1, 1, 0, 1)
    assert of(combine="last") == of(combine="max") == (0, 0, 1, 1, 1)
    assert of(combine="mean") == of(rows=1) == (0, 1, 1, 0, 1)  # half a day is in the month of the day before
    for rule in ("sum", "count"):
        with pytest.raises(ValueError, match="for dates"):
            of(combine=rule)


def test_the_command_line(tmp_path, capsys):
    pd.DataFrame({"x": np.linspace(0, 8, 300)}).to_csv(tmp_path / "it.csv", index=False)
    from dp_bayes_nb.cli import main
    (tmp_path / "f.toml").write_text('family = "Histogram"\ncolumn = "x"\nedges = [0, 1, 2, 4, 8]\n')
    assert not main(["release", str(tmp_path / "it.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1", "-o",
                     str(tmp_path / "r.json")])
    release = db.Release.load(tmp_path / "r.json")
    assert release.family == db.Histogram(EDGES, "x") and len(release.values) == 7


RELEASES, HERE = 120, (0.0, *np.geomspace(0.1, 20, 13))
BAND = st.binom(RELEASES, 0.95).ppf([0.0005, 0.9995]) / RELEASES


def coverage(**broken):
    "Of 95% intervals for the mean and the median: log-normal records, 500, at epsilon 1/2."
    model, inside = db.Histogram(HERE), []
    mean, median = study.truth(study.COLUMNS["lognormal"][1], HERE[0], HERE[-1])
    for k in range(RELEASES):
        rng = np.random.default_rng([7, k])
        s = study.sums(model, study.COLUMNS["lognormal"][1](rng, 500))
        p, draws = study.draws(rng, model, s, 500, "laplace", 8.0, size=250, **broken)
        low, high = np.quantile(draws, [0.025, 0.975])
        _, a, b = study.quantile_interval(p, model.limits, 0.5, 0.95, "bin")
        inside.append([low <= mean <= high, a <= median <= b])
    return np.mean(inside, axis=0)


def test_coverage_and_a_posterior_that_is_told_half_of_the_noise():
    found = coverage()
    assert BAND[0] <= found[0] <= BAND[1] and found[1] >= BAND[0], found
    assert coverage(told=0.5)[0] < BAND[0]


def test_numbers_of_the_chapter():
    import json
    results = json.loads((Path(__file__).parents[1] / "results" / "distribution_free.json").read_text())
    for each in results["designs"]:
        assert each["releases"] >= 100


def test_counts_without_their_sum_are_as_quick_and_the_same_as_those_of_a_model_without_one():
    edges, values = range(0, 60, 5), [3, 12, 30, 44, 51, 60, 47, 33, 20, 9, 4, 1, 2]
    with_sum, alone = db.Histogram(edges, "x"), db.Histogram(edges, "x", weight=0)
    said = {"n": 320, "noise": db.Laplace(scale=2.0), "source": "s"}
    some = db.declare(with_sum, dict(zip(alone.names, values)), **said)
    every = db.declare(alone, values, **said)
    drawn = [sample_histogram(np.random.default_rng(3), each.family, each.released,
                              each.family.accept(None), (2000,)) for each in (some, every)]
    np.testing.assert_array_equal(drawn[0]["probabilities"], drawn[1]["probabilities"])
    assert drawn[0]["s"].shape == (2000, 14) and np.all(drawn[0]["s"][:, -1] <= 2 * 320)
    result = db.fit(some, draws=200, progress=False)
    assert result.attrs["method"] == "exact"
    e, s = with_sum.limits, drawn[0]["s"]
    place = (s[:, :13] @ e[:-1] + drawn[0]["position"] * (s[:, :13] @ np.diff(e))) / 55 * 2
    np.testing.assert_allclose(s[:, -1], place, rtol=1e-12)
    fewer = db.declare(with_sum, dict(zip(alone.names[:5], values)), **said)
    with pytest.raises(ValueError, match="all bins"):
        db.fit(fewer, method="exact", draws=100, progress=False)
