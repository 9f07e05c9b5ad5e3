"""Tables of other tools as releases: what is read is what was written there, and what nobody knows is refused.

A query of OpenDP in Polars runs here where polars is the version that OpenDP was built for, and measurements of mbi
where mbi is installed; otherwise those tests are skipped, and the same results are read from tables typed in.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dp_bayes_nb import (
    Bernoulli, Beta, Categorical, Clamped, Clip, Counts, Exponential, Gamma, Gaussian, Laplace, PrintedAbove, Release,
    Suppressed, declare, fit, from_census, from_mbi, from_opendp, from_tumult, read_table, simulate_release,
)

SOURCE = "a made-up table"
SUMMARY = dict(column=["smokes"], aggregate=["Sum"], distribution=["Integer Laplace"], scale=[2.0], accuracy=[6.2])


def own(n=1000):
    "A release of this package, of a share with Laplace noise of scale 2 on whole numbers."
    made = simulate_release(Bernoulli("smokes"), {"probability": 0.3}, n, 0.5, seed=3)
    assert made.noise.scale[0] == 2 and made.noise.grid[0] == 1
    return made


def same(one, other, name="probability"):
    "Means and standard deviations of 4,000 draws each: five standard errors of their difference."
    a, b = (idata.posterior[name].values.ravel() for idata in (one, other))
    near = abs(a.mean() - b.mean()) < 5 * a.std() * (2 / a.size) ** 0.5
    return near and abs(a.std() / b.std() - 1) < 5 / a.size**0.5


def readers():
    "The number of one's own release, as each reader finds it."
    z = float(own().values[0])
    model, noise = Bernoulli("smokes"), [{"noise_mechanism": "GEOMETRIC", "noise_parameter": 2}]
    marginal = SimpleNamespace(noisy_measurement=np.array([z, 1000 - z]), clique=("smokes",), stddev=1.0)
    return {
        "read_table": lambda: read_table({"x": [z], "b": [2.0]}, model=model, value="x", scale="b", discrete=True,
                                         n=1000, source=SOURCE),
        "from_opendp": lambda: from_opendp(SUMMARY, {"smokes": [z]}, model=model, n=1000, source=SOURCE),
        "from_tumult": lambda: from_tumult({"x": [z]}, noise, model=model, value="x", n=1000, source=SOURCE),
        "from_mbi": lambda: from_mbi([marginal], {"smokes": ["yes", "no"]}, noise="gaussian", source=SOURCE),
        "from_census": lambda: from_census({"value": [z], "variance": [9.0]}, model=model, n=1000, source=SOURCE)}


@pytest.mark.parametrize("name", ["read_table", "from_opendp", "from_tumult"])
def test_the_posterior_is_that_of_ones_own_release_with_the_same_noise(name):
    made = readers()[name]()
    assert made.source.startswith(SOURCE) and made.origin == "declared"
    mine = fit(own(), Beta(1, 1), progress=False)
    assert same(fit(made, Beta(1, 1), progress=False), mine)
    wider = replace(made, noise=Laplace(scale=40, discrete=True).law(1))
    assert not same(fit(wider, Beta(1, 1), progress=False), mine), "the comparison sees no noise"


@pytest.mark.parametrize("name", list(readers()))
def test_what_is_read_survives_a_file(name, tmp_path):
    made = readers()[name]()
    made.save(tmp_path / "it.json")
    assert Release.load(tmp_path / "it.json") == made


@pytest.mark.parametrize("name, kind, scale, grid", [
    ("from_mbi", "gaussian", 1.0, 0.0), ("from_census", "gaussian", 3.0, 1.0), ("from_tumult", "laplace", 2.0, 1.0)])
def test_the_noise_is_what_was_stated(name, kind, scale, grid):
    noise = readers()[name]().noise
    assert (noise.kind, noise.scale[0], noise.grid[0]) == (kind, scale, grid)


def test_frames_of_each_engine_and_a_file_are_read_alike(tmp_path):
    columns = {"area": ["a", "b"], "people": [12, 31], "sd": [2.0, 3.0]}
    (tmp_path / "it.csv").write_text("area,people,sd\r\na,12,2.0\r\nb,31,3.0\r\n")
    tables = [columns, tmp_path / "it.csv", str(tmp_path / "it.csv"),
              pytest.importorskip("pandas").DataFrame(columns), pytest.importorskip("polars").DataFrame(columns),
              pytest.importorskip("pyarrow").table(columns)]
    found = [read_table(table, model=Counts, name="area", value="people", sd="sd", source=SOURCE) for table in tables]
    assert found == [declare(Counts(["a", "b"]), [12, 31], noise=Gaussian(sd=[2, 3]), source=SOURCE)] * len(tables)


def test_a_blank_in_a_frame_is_a_number_that_was_not_printed():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"area": ["a", "b"], "people": [12.0, np.nan]})
    ask = lambda **more: read_table(frame, model=Counts, name="area", value="people", scale=2, source=SOURCE, **more)
    assert np.isnan(ask(printed=Suppressed(10)).values[1])
    with pytest.raises(ValueError, match="Suppressed"):
        ask()


def test_a_list_of_releases_is_fitted_together():
    table = {"site": ["a", "b"], "x": [120.0, 340.0], "people": [401, 1200]}
    sites = read_table(table, model=Bernoulli(), value="x", scale=3, n="people", by="site", source=SOURCE)
    assert [r.source for r in sites] == [f"{SOURCE}; site = a", f"{SOURCE}; site = b"]
    share = fit(sites, Beta(1, 1), progress=False).posterior["probability"]
    assert abs(float(share.mean()) - 460 / 1601) < 0.01


def test_a_bom_and_quoted_commas_are_read(tmp_path):
    (tmp_path / "it.csv").write_bytes('\ufeffarea,x\n"north, upper",7\n'.encode())
    made = read_table(tmp_path / "it.csv", model=Counts, name="area", value="x", scale=1, source=SOURCE)
    assert made.names == ("north, upper",)


@pytest.mark.parametrize("text", ["area,x\na,1,2\n", "area;x\na;1\n", "x,x\n1,2\n", "area,x\n", "",
                                  "area,x\na,1.000,5\n",
                                  "area,x\na,12%\n", "area,x\na,nan\n", "area,x\na,1_0\n", "area,\na,1\n"])
def test_a_file_that_is_no_plain_table_is_refused(text, tmp_path):
    (tmp_path / "it.csv").write_text(text)
    with pytest.raises(ValueError):
        read_table(tmp_path / "it.csv", model=Counts, name="area", value="x", scale=1, source=SOURCE)


@pytest.mark.parametrize("summary", [
    {**SUMMARY, "distribution": ["Index Gumbel"]}, {**SUMMARY, "distribution": [None]}, {**SUMMARY, "scale": [None]},
    {key: column * 2 for key, column in SUMMARY.items()}, {"column": ["smokes"]}, {**SUMMARY, "column": ["drinks"]}])
def test_an_opendp_column_without_stated_noise_is_refused(summary):
    with pytest.raises(ValueError):
        from_opendp(summary, {"smokes": [300]}, model=Bernoulli(), n=1000, source=SOURCE)


def test_private_keys_say_what_is_known_of_rows_that_are_there_and_of_rows_that_are_not():
    keys = dict(column=["len"], distribution=["Integer Laplace"], scale=[10.0], threshold=[63])
    seen = {"region": ["a", "b"], "len": [490, 64]}
    found = from_opendp(keys, seen, model=Counts, name="region", source=SOURCE)
    assert found.printed == (PrintedAbove(63),) * 2
    fixed = from_opendp(keys, seen, model=Counts(["a", "b", "c"]), name="region", source=SOURCE)
    assert fixed.printed[2] == Suppressed(64)
    means = [fit(r, progress=False).posterior["counts"].mean(("chain", "draw")).values for r in (found, fixed)]
    assert np.all(np.abs(means[0] - means[1][:2]) < 1.5), "a prior that is meant for every cell needs no correction"
    assert means[1][2] < 64


# ------------------------------------------------------------------ the libraries themselves


@pytest.fixture(scope="module")
def opendp():
    "OpenDP, where it runs queries of the polars that is installed."
    dp, pl = pytest.importorskip("opendp.prelude"), pytest.importorskip("polars")
    dp.enable_features("contrib")
    rng = np.random.default_rng(0)
    smokes = (rng.random(1000) < 0.3).astype("int32")
    data = pl.LazyFrame({"region": rng.choice(["a", "b", "c"], 1000), "smokes": smokes,
                         "hours": rng.exponential(3, 1000)})
    margins = [dp.polars.Margin(max_length=10000), dp.polars.Margin(by=["region"], invariant="keys", max_length=10000)]
    def context(**loss):
        return dp.Context.compositor(data=data, privacy_unit=dp.unit_of(contributions=1), split_evenly_over=1,
                                     privacy_loss=dp.loss_of(**loss), margins=margins)
    try:
        context(epsilon=1.0)
    except dp.OpenDPException as error:
        pytest.skip(str(error).strip().split(".")[0][:100])
    return SimpleNamespace(context=context, len=dp.len, col=pl.col)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_query_of_opendp_is_a_posterior_in_five_lines(opendp):
    query = opendp.context(epsilon=1.0).query().select(opendp.len(), opendp.col.smokes.fill_null(0).dp.sum((0, 1)))
    summary, table = query.summarize(), query.release().collect()
    released = from_opendp(summary, table, model=Bernoulli("smokes"), n="len", source="a query of this test")
    share = fit(released, Beta(1, 1), progress=False).posterior["probability"]
    assert abs(float(share.mean()) - 0.3) < 0.06 and released.noise.kind == "laplace"
    assert released.printed[0] == Clamped(low=0), "counts of OpenDP are cut off at zero"
    z = float(table["smokes"][0])
    mine = replace(own(), values=np.array([z]))
    known = from_opendp(summary, table, model=Bernoulli("smokes"), value="smokes", n=1000, source="a query of a test")
    assert known.noise.scale[0] == mine.noise.scale[0] == 2
    assert same(fit(known, Beta(1, 1), progress=False), fit(mine, Beta(1, 1), progress=False))


def test_gaussian_queries_by_group_and_sums_of_fractions(opendp):
    query = opendp.context(rho=0.1).query().group_by("region").agg(opendp.len(signed=True))
    tables = query.summarize(), query.release().collect()
    made = from_opendp(*tables, model=Categorical(("a", "b", "c")), name="region", source="a query")
    assert (made.noise.kind, made.n) == ("gaussian", None)
    found = fit(made, progress=False).posterior["probabilities"].mean(("chain", "draw")).values
    assert np.all(np.abs(found - 1 / 3) < 0.1)
    clipped = opendp.col.hours.fill_nan(0.0).fill_null(0.0).clip(0, 8).dp.sum((0, 8))
    query = opendp.context(epsilon=1.0).query().select(opendp.len(signed=True), clipped)
    made = from_opendp(query.summarize(), query.release().collect(), model=Exponential(Clip(0.0, 8.0)), n="len",
                       source="a query")
    rate = fit(made, Gamma(1.0, 1.0), progress=False).posterior["rate"]
    assert abs(float(rate.mean()) - 1 / 3) < 0.05 and list(made.noise.grid) == [1, 0]


def test_measurements_of_mbi():
    mbi = pytest.importorskip("mbi")
    measured = [mbi.LinearMeasurement(np.array([61.0, 39.0, 44.0, 58.0]), ("sex", "smokes"), 3.0),
                mbi.LinearMeasurement(np.array([205.0]), (), 2.0)]
    domain = mbi.Domain(("age", "sex", "smokes"), (9, 2, 2))
    made = from_mbi(measured, domain, noise="gaussian", source="made here")
    assert made.matrix.tolist() == [*np.eye(4).tolist(), [1, 1, 1, 1]] and made.noise.scale.tolist() == [3, 3, 3, 3, 2]
    assert abs(float(fit(made, progress=False).posterior["counts"].sum("count").mean()) - 204.7) < 1.5


def test_a_contingency_table_of_opendp(opendp):
    pytest.importorskip("mbi")
    from opendp.extras import mbi
    context = opendp.context(rho=0.5)
    algorithm = mbi.Fixed(queries=[mbi.Count(("region",))])
    try:
        table = context.query().select("region").contingency_table(keys={"region": ["a", "b", "c"]},
                                                                   algorithm=algorithm).release()
    except Exception as error:
        pytest.skip(f"OpenDP does not run on this mbi: {type(error).__name__}")
    made = from_mbi(table.marginals.flatten(), table.keys, noise="gaussian", discrete=True, source="a query")
    assert made.model.names[:3] == ("a", "b", "c") and made.noise.kind == "gaussian"
    assert np.all(np.abs(fit(made, progress=False).posterior["counts"].mean(("chain", "draw")).values[:3] - 333) < 80)
