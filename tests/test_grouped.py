"""Releases of groups: how far a record moves them, their file, their sums, and the posterior of each group."""

import json
import warnings
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st
from scipy import special, stats

import dp_bayes_nb as db
from dp_bayes_nb import Grouped
from dp_bayes_nb.cli import main
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models.registry import MODELS, family_from_dict
from dp_bayes_nb.noise.add_remove import size_design
from dp_bayes_nb.noise.design import design
from dp_bayes_nb.posterior.diagnose import _cautions
from dp_bayes_nb.posterior.fit import fit, posterior_draws
from dp_bayes_nb.releases.document import Release
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.releases.simulate import simulate_release

NUMBERS = st.one_of(st.floats(1.0, 60.0), st.sampled_from([1.0, 5.0, 20.0, 20.000000000000004, 60.0, 9.5, 1 / 3 + 5]))
WHOLE = st.integers(0, 40)
INNER = {
    "share": (db.Bernoulli("x"), st.integers(0, 1)),
    "categories": (db.Categorical(4, "x"), st.integers(0, 3)),
    "waiting": (db.Exponential((5, 20), "x"), NUMBERS),
    "redacted": (db.Exponential(db.Redact(5, 20), "x"), NUMBERS),
    "counts": (db.Poisson((2, 30), "x"), WHOLE),
    "geometric": (db.Geometric((0, 9), "x"), WHOLE),
    "normal": (db.Normal((5, 20), column="x"), NUMBERS),
    "normal of known variance": (db.Normal((-20, -5), variance=2.0, column="x"), NUMBERS.map(lambda x: -x)),
    "log-normal": (db.LogNormal((5, 20), column="x"), NUMBERS),
    "gamma": (db.GammaData((1, 50), column="x"), NUMBERS),
    "gamma redacted": (db.GammaData(db.Redact(5, 20), column="x"), NUMBERS),
    "gamma of known shape": (db.GammaData((1, 50), shape=2.0, column="x"), NUMBERS),
    "pareto": (db.Pareto((5, 20), lower=1.0, column="x"), NUMBERS),
    "weibull": (db.Weibull((1, 20), shape=1.5, column="x"), NUMBERS),
}
OFTEN = ("share", "redacted", "normal")  # of each kind one; the others wait for `slow` where the path is the same
OPTIONS = {"laplace": ("laplace", None), "gaussian": ("gaussian", 1e-6)}


def frame(model, records):
    whole = model.inner.integer
    return pl.DataFrame({"x": [x for x, _ in records], "g": [g for _, g in records]},
                        schema={"x": pl.Int64 if whole else pl.Float64, "g": pl.Int64})


def what_is_noised(model, records, g, rows):
    "The exact numbers that `release` adds its noise to, as whole steps."
    sums = exact_sums(model, frame(model, records), grid_exponent=g, empty=True)
    if rows is None:
        return np.array(sums.integers, dtype=object)
    m = len(model.inner.names)
    parts = [rows.of(n, sums.integers[k * m:(k + 1) * m]) for k, n in enumerate(sums.sizes)]
    return np.array([v for part in parts for v in part], dtype=object)


def how_far(moved, kind):
    "L1, or the square of L2, exactly."
    return sum(abs(v) for v in moved) if kind == "laplace" else sum(v * v for v in moved)


SAMPLES = {name: [0, 1, 7, 12, 30, 40] if values is WHOLE else [1.0, 5.0, 9.5, 20.000000000000004, 1 / 3 + 5, 60.0]
           for name, (_, values) in INNER.items()} | {
    "share": [0, 1], "categories": [0, 1, 2, 3], "normal of known variance": [-1.0, -5.0, -9.5, -20.0, -1 / 3 - 5]}


def claimed(inner, G, kind, promise):
    "The design of a release of groups, its rows, and what the same record would move that never changes its group."
    model = Grouped(inner, "g", G, sizes="public" if promise == "change_value" else "private")
    if promise == "change_value":
        return model, design(model, 1.0, *OPTIONS[kind], "change_one"), None, None
    d, rows = size_design(model, 1.0, *OPTIONS[kind], promise)
    return model, d, rows, size_design(model, 1.0, *OPTIONS[kind], "add_remove")[1].moved


@pytest.mark.parametrize("promise", ["change_one", "add_remove", "change_value"])
@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("name", INNER)
def test_no_record_moves_three_groups_further_than_claimed(name, kind, promise):
    """Every value in place of every other, in its group or in another. One query has the rounded statistic of each
    value, in a group of its own; sums of those are the sums of a table.
    """
    inner, values = INNER[name][0], SAMPLES[name]
    model, d, rows, less = claimed(inner, 3, kind, promise)
    m, each = len(inner.names), Grouped(inner, "g", len(values))
    sums = exact_sums(each, frame(each, [(x, g) for g, x in enumerate(values)]), grid_exponent=d.grid_exponent)
    assert sums.sizes == (1,) * len(values)

    def moved(changes):
        "How far records (k, group, sign) move what is noised: rows are linear, or the integers themselves."
        parts = [[0] * (1 + m) for _ in range(3)]
        for k, g, sign in changes:
            for j, v in enumerate((sums.sizes[k], *sums.integers[k * m:(k + 1) * m])):
                parts[g][j] += sign * v
        return how_far([v for n, *t in parts for v in (t if rows is None else rows.of(n, tuple(t)))], kind)

    there = [(k, other, h) for k in range(len(values)) for other in range(len(values)) for h in (0, 2)]
    far = [moved([(k, 0, 1)] if promise == "add_remove" else
                 [(k, 0, 1), (other, 0 if promise == "change_value" else h, -1)]) for k, other, h in there]
    power = 1 if kind == "laplace" else 2
    assert 0 < max(far) <= Fraction(d.steps) ** power
    if promise == "change_one":
        assert max(far) > Fraction(less) ** power, "a claim of one group alone passes"


@pytest.mark.parametrize("promise", ["change_one", *(pytest.param(p, marks=pytest.mark.slow)
                                                    for p in ("add_remove", "change_value"))])
@pytest.mark.parametrize("kind", ["laplace", pytest.param("gaussian", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow)
                                  for name in INNER])
def test_no_neighbouring_table_moves_a_release_of_groups_further_than_claimed(name, kind, promise):
    "Groups 1 to 4. The mutant that takes a record for one that never changes its group is found."
    inner, values = INNER[name]
    most, mutants = 0, 0

    @settings(max_examples=8, deadline=None, derandomize=True, database=None)
    @given(st.integers(1, 4), st.lists(st.tuples(values, st.integers(0, 3)), max_size=2), values, values,
           st.integers(0, 3), st.integers(0, 3))
    def tried(G, others, x, other, g, h):
        nonlocal most, mutants
        model, d, rows, less = claimed(inner, G, kind, promise)
        rest = [(v, k % G) for v, k in others]
        here = what_is_noised(model, [*rest, (x, g % G)], d.grid_exponent, rows)
        there = {"add_remove": rest, "change_value": [*rest, (other, g % G)], "change_one": [*rest, (other, h % G)]}
        moved = how_far(what_is_noised(model, there[promise], d.grid_exponent, rows) - here, kind)
        power = 1 if kind == "laplace" else 2
        assert moved <= Fraction(d.steps) ** power
        most = max(most, float(moved) / d.steps**power)
        mutants += promise == "change_one" and moved > Fraction(less) ** power

    tried()
    if promise == "change_one":
        assert mutants, "a claim of one group alone passes"
    if kind == "laplace" and promise == "add_remove":
        assert most > 1 - 1e-4


def test_a_release_of_each_subset_breaks_the_promise_and_a_grouped_one_keeps_it():
    "Neighbouring tables: a record moves from one region to the other. Its number of records is exact in a subset."
    table = pl.DataFrame({"ill": [1, 0, 1, 0], "region": ["north", "north", "south", "south"]})
    other = pl.DataFrame({"ill": [1, 0, 1, 0], "region": ["north", "south", "south", "south"]})
    subset = [db.release(db.Bernoulli("ill"), each.filter(pl.col("region") == "north"), epsilon=0.1).n
              for each in (table, other)]
    assert subset == [2, 1]  # told apart for sure, whatever epsilon is
    model = Grouped(db.Bernoulli("ill"), "region", ["north", "south"])
    said = []
    for each in (table, other):
        document = json.loads(db.release(model, each, epsilon=0.1).to_json())
        said.append({key: value for key, value in document.items() if key not in ("values", "id", "sha256")})
    assert said[0] == said[1] and said[0]["n"] is None and said[0]["n_range"] == [0, 4]


# ---------------------------------------------------------------- the table

WAITS = Grouped(db.Exponential((0, 20), "days"), ("region", "sex"), {"region": ["a", "b", "c"], "sex": [0, 1]})


def waits(rows=500):
    rng = np.random.default_rng(3)
    return pl.DataFrame({"days": rng.exponential(8, rows), "region": np.array(["a", "c"])[rng.integers(0, 2, rows)],
                         "sex": rng.integers(0, 2, rows)})


def test_every_engine_gives_the_same_sums(tmp_path):
    table = waits()
    table.write_csv(tmp_path / "t.csv")
    table.write_parquet(tmp_path / "t.parquet")
    kinds = [table, table.lazy(), table.to_pandas(), table.to_arrow(), duckdb.from_arrow(table.to_arrow()),
             tmp_path / "t.csv", tmp_path / "t.parquet", table.with_columns(pl.col("region").cast(pl.Categorical))]
    found = {(each.n, each.sizes, each.integers) for each in (exact_sums(WAITS, kind, grid_exponent=20)
                                                              for kind in kinds)}
    assert len(found) == 1
    ((n, sizes, _),) = found
    assert n == sum(sizes) == 500 and sizes[2:4] == (0, 0)  # region b is empty, and is released like any other
    made = db.release(WAITS, table, epsilon=1.0)
    assert len(made.values) == 12 and made.names[4].startswith("b, 0: ")


def test_the_grouped_query_is_the_sum_of_indicators():
    "The statistic of the contract, group times t, summed by the query of every other model."
    table = waits(200)
    steps = exact_sums(WAITS, table, grid_exponent=20)
    record = {name: table[name].to_numpy() for name in table.columns}
    each = [np.floor(np.broadcast_to(t, 200) * 2.0**20 + 0.5).sum() for t in WAITS.statistic(record)]
    assert steps.integers == tuple(map(int, each))


def test_an_undeclared_level_is_refused_and_not_named(tmp_path):
    table = waits().with_columns(region=pl.lit("Mrs Smith"))
    ledger = db.Ledger(tmp_path / "l.json", epsilon=1)
    for data in (table, table.to_pandas(), duckdb.from_arrow(table.to_arrow())):
        with pytest.raises(ValueError, match="500 outside the declared support") as caught:
            db.release(WAITS, data, epsilon=1.0, ledger=ledger)
        assert "Smith" not in str(caught.value)
    assert not ledger.entries


def test_one_file_and_one_entry_in_the_ledger(tmp_path):
    ledger = db.Ledger(tmp_path / "l.json", epsilon=1)
    db.release(WAITS, waits(), epsilon=0.5, ledger=ledger, name="waits")
    assert [(str(e.epsilon), e.data) for e in ledger.entries] == [("0.5", "waits")]
    assert "Grouped(Exponential" in ledger.entries[0].release and "sizes private" in ledger.entries[0].release


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("sizes", ["private", "public", "add_remove"])
@pytest.mark.parametrize("name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow)
                                  for name in INNER])
def test_a_file_is_read_back_as_it_was_written(name, sizes, kind, tmp_path):
    inner, _ = INNER[name]
    model = Grouped(inner, "g", 3, sizes="public" if sizes == "public" else "private")
    x = -6.0 if "known variance" in name else 6.0
    table = frame(model, [((1 if "share" in name or "cat" in name else 6) if inner.integer else x, g)
                          for g in (0, 0, 2)])
    more = dict(neighbours="add_remove", n_max=100) if sizes == "add_remove" else {}
    mechanism, delta = OPTIONS[kind]
    r = db.release(model, table, epsilon=0.7, mechanism=mechanism, delta=delta, **more)
    r.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again == r and again.model == model and again.origin == "made here" and repr(again) == repr(r)
    if sizes == "public":
        assert (r.n.tolist(), r.neighbours) == ([2, 0, 1], "change_value")
    else:
        assert (r.n, r.n_range) == (None, (0, 100 if more else 3))
    with pytest.raises(ValueError, match="noise.scale must be"):
        noise = json.loads(r.to_json())["noise"]
        Release.from_json(forged(r, noise={**noise, "scale": noise["scale"] * 0.5}))


def forged(r, **changes):
    document = json.loads(r.to_json())
    del document["sha256"]
    return seal({**document, **changes})


ILL = Grouped(db.Bernoulli("ill"), "region", ["north", "south"])
TABLE = pl.DataFrame({"ill": [1, 0, 1, 0], "region": ["north", "north", "south", "south"]})
FORGED = {
    "public sizes": dict(n=[2, 2]), "a number": dict(n=4), "no range": dict(n_range=None),
    "another matrix": dict(matrix=[[0, 1], [2, -1]]), "the matrix of all": dict(matrix=np.eye(4, 6).tolist()),
    "no matrix": dict(matrix=None), "names": dict(names=["a", "b", "c", "d"]),
    "one group": dict(model=db.Bernoulli("ill").to_dict()), "three names": dict(names=["a", "b", "c"]),
    "half the sensitivity": dict(sensitivity=1.0), "add_remove": dict(neighbours="add_remove"),
    "public": dict(model={**ILL.to_dict(), "sizes": "public"}), "levels": dict(model={**ILL.to_dict(), "levels": [[]]}),
    "one column too many": dict(model={**ILL.to_dict(), "by": ["region", "sex"]}),
    "in itself": dict(model={**ILL.to_dict(), "model": ILL.to_dict()}),
    "no model": dict(model={**ILL.to_dict(), "model": 3}), "a source": dict(source="an office"),
    "blank": dict(values=[None, 1, 1, 1]), "off the grid": dict(values=[0.5, 1, 1, 1]), "schema 1": dict(schema=1),
    "far out": dict(values=[1e6, 1, 1, 1]),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_files_are_refused(what):
    with pytest.raises(ValueError) as caught:
        Release.from_json(forged(db.release(ILL, TABLE, epsilon=1.0), **FORGED[what]))
    assert str(caught.value).isprintable() and len(str(caught.value)) < 900


def test_public_sizes_in_a_file_are_one_for_each_group():
    r = db.release(Grouped(db.Bernoulli("ill"), "region", ["north", "south"], sizes="public"), TABLE, epsilon=1.0)
    for n in ([4], [2, -2], [2, 2.0], 4, None, [2, 2, 0]):
        with pytest.raises(ValueError):
            Release.from_json(forged(r, n=n))


def test_every_inner_model_survives_its_declaration():
    assert "Grouped" in MODELS
    for inner, _ in INNER.values():
        model = Grouped(inner, ("g", "h"), {"g": 2, "h": ["a", "b"]})
        assert family_from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_what_cannot_be_declared():
    for wrong, words in ((dict(levels=[]), "one or more"), (dict(levels=["a", "a"]), "twice"),
                         (dict(levels=["a", 1]), "all texts or all whole"), (dict(by="ill"), "other columns"),
                         (dict(sizes="hidden"), "sizes must be"), (dict(levels=TABLE["region"]), "write the levels"),
                         (dict(by=("region", "region"), levels={"region": ["a"]}), "different names")):
        with pytest.raises(ValueError, match=words):
            Grouped(**{**dict(model=db.Bernoulli("ill"), by="region", levels=["a", "b"]), **wrong})


def test_the_command_line_takes_groups(tmp_path, capsys):
    TABLE.write_csv(tmp_path / "t.csv")
    (tmp_path / "f.toml").write_text('family = "Grouped"\nby = "region"\nlevels = ["north", "south"]\n'
                                     '[model]\nfamily = "Bernoulli"\ncolumn = "ill"\n')
    line = ["release", str(tmp_path / "t.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1", "-o",
            str(tmp_path / "r.json")]
    assert main(line) == 0, capsys.readouterr().err
    assert Release.load(tmp_path / "r.json").model == ILL
    assert main([*line, "--column", "x", "--force"]) == 2 and "--column" in capsys.readouterr().err


# ---------------------------------------------------------------- posteriors

SIZES = [5, 20, 100, 700, 5000]


def covered(model, truth, prior, name, n, careless=False, **options):
    "Of each group, is the truth inside its 95% interval? (G,); careless: noisy sizes are taken for exact ones."
    r = simulate_release(model, {name: truth}, n, 1.0, seed=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if careless:
            cells = np.linalg.solve(np.hstack([r.matrix]), r.values.reshape(len(truth), -1).T).T
            exact = Grouped(model.model, model.by, {b: list(v) for b, v in zip(model.by, model.levels)}, "public")
            size = np.maximum(np.rint(cells[:, 0]), 1).astype(int)
            count = np.clip(cells[:, 1], 0, size * float(model.model.magnitude))
            r = db.declare(exact, count, n=size, noise=db.Laplace(scale=1e-3), source="as if it were exact")
        drawn = posterior_draws(r, prior, seed=1, **options).theta[name]
    low, high = np.quantile(np.asarray(drawn), [0.025, 0.975], axis=(0, 1))
    return (low <= truth) & (truth <= high)


def shares(sizes, rng, repeats):
    return Grouped(db.Bernoulli("x"), "g", len(SIZES) * repeats, sizes=sizes), rng.uniform(size=len(SIZES) * repeats)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["private", "public"])
def test_coverage_of_shares_by_size(sizes):
    """Each group of 1,500 is a replicate of its own; 300 of each size: standard error .0126 at .95, and four of them
    below, for ten checks of chance 3e-5 each.
    """
    model, truth = shares(sizes, np.random.default_rng(1), 300)
    hits = covered(model, truth, None, "probability", np.tile(SIZES, 300)).reshape(300, 5).mean(axis=0)
    assert np.all(np.abs(hits - 0.95) < 4 * 0.0126), hits
    if sizes == "private":
        naive = covered(model, truth, None, "probability", np.tile(SIZES, 300), careless=True).reshape(300, 5)
        assert not np.all(np.abs(naive.mean(axis=0) - 0.95) < 4 * 0.0126), naive.mean(axis=0)  # the same check


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["private", "public"])
def test_coverage_of_waiting_times_by_size(sizes):
    "Rates from a Gamma prior; clipped at 20; 60 (private) or 300 (public) replicates of each size."
    repeats = 60 if sizes == "private" else 300
    rng = np.random.default_rng(2)
    truth = rng.gamma(4.0, 1 / 20.0, size=5 * repeats)
    model = Grouped(db.Exponential((0, 20), "x"), "g", 5 * repeats, sizes=sizes)
    options = dict(draws=400, warmup=300, chains=2)
    hits = covered(model, truth, db.Gamma(4.0, 20.0), "rate", np.tile(SIZES, repeats), **options)
    by_size = hits.reshape(repeats, 5).mean(axis=0)
    assert np.all(np.abs(by_size - 0.95) < 4 * np.sqrt(0.95 * 0.05 / repeats) + 0.01), by_size


def test_the_posterior_of_groups_has_named_axes():
    r = simulate_release(ILL, {"probability": [0.1, 0.8]}, [400, 60], 1.0, seed=1)
    idata = fit(r, draws=300, progress=False)
    assert idata.posterior["probability"].dims == ("chain", "draw", "region")
    assert idata.confidential["n"].dims == ("chain", "draw", "region")
    difference = idata.posterior["probability"].sel(region="south") - idata.posterior["probability"].sel(region="north")
    assert 0.5 < float(difference.mean()) < 0.85
    assert idata.posterior.attrs["method"] == "groups"


def test_groups_do_not_share_random_numbers():
    "Two groups with the same numbers: draws that are not correlated, standard error .016."
    r = db.declare(Grouped(db.Bernoulli("ill"), "region", 2, sizes="public"), [30, 30], n=[100, 100],
                   noise=db.Laplace(scale=2.0, discrete=True), source="made up")
    draws = np.asarray(posterior_draws(r).theta["probability"]).reshape(-1, 2)
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.08


def mean_and_sd_of_a_rate(z, scale, largest_n):
    "By quadrature: Gamma(2, 1) prior, Poisson clipped at 10, a normal sum inside its ends, n from 0 to its maximum."
    rate, k, x = np.geomspace(1e-3, 40, 300), np.minimum(np.arange(200), 10), np.linspace(z - 60, z + 60, 241)
    pmf = stats.poisson.pmf(np.arange(200), rate[:, None])
    mean, sd = pmf @ k, np.sqrt(pmf @ k**2 - (pmf @ k) ** 2)
    seen = sum((stats.norm.pdf(x, n * mean[:, None], np.sqrt(n) * sd[:, None]) * ((x >= 0) & (x <= 10 * n)))
               @ np.exp(-np.abs(x - z) / scale) for n in range(1, largest_n + 1))
    w = seen * stats.gamma.pdf(rate, 2) * rate
    center = w @ rate / w.sum()
    return center, np.sqrt(w @ (rate - center) ** 2 / w.sum())


@pytest.mark.slow  # the number alone, without groups, is in test_add_remove.py
def test_one_sum_of_groups_of_unknown_size():
    "One row a group and no n: the posterior of each group is that of its number alone, not that of the other."
    r = db.declare(Grouped(db.Poisson((0, 10), "x"), "g", 2), [30, 90], noise=db.Laplace(scale=2.0, discrete=True),
                   n_range=(0, 100), source="made up")
    drawn = posterior_draws(r, db.Gamma(2.0, 1.0), progress=False).theta["rate"]
    wanted = [mean_and_sd_of_a_rate(z, 2.0, 100) for z in (30, 90)]
    gaps = np.array([[abs(np.mean(drawn[..., g]) - mean) / sd for mean, sd in wanted] for g in (0, 1)])
    assert np.all(np.diag(gaps) < 0.1) and np.all(np.diag(gaps[::-1]) > 0.4), gaps


def test_a_model_says_which_records_of_its_groups_are_summed():
    class Careless(db.Bernoulli):
        def valid(self, x): return x == x

    model = object.__new__(Grouped)
    inner = Careless("x")
    for name, value in {"model": inner, "by": ("g",), "levels": ((0, 1),), "sizes": "private"}.items():
        object.__setattr__(model, name, value)
    records = {"x": np.array([0, 1, 2]), "g": np.array([0, 2, 1])}
    assert model.admitted(records).tolist() == [True, False, False]
    assert Grouped(db.Exponential((5, 20), "x"), "g", 2).admitted({"x": np.array([60.0]), "g": np.array([1])}).all()


def test_releases_of_groups_are_not_stacked():
    made = [db.declare(Grouped(db.Bernoulli("x"), "g", 2, sizes="public"), [3, k], n=[9, 9],
                       noise=db.Laplace(scale=2.0), source="made up") for k in (4, 5)]
    with pytest.raises(ValueError, match="one table"):
        db.combine(*made)


def test_what_is_declared_of_many_groups_has_its_own_id():
    "Sizes that differ in the middle of a long array."
    sizes = [100] * 1100
    of = lambda n: db.declare(Grouped(db.Bernoulli("x"), "g", 1100, sizes="public"), [30] * 1100, n=n,
                              noise=db.Laplace(scale=2.0, discrete=True), source="made up").id
    assert of(sizes) != of(sizes[:550] + [101] + sizes[551:])


# ---------------------------------------------------------------- numbers by the names of groups

AREAS = Grouped(db.Bernoulli("x"), "area", ["a", "b", "c"], sizes="public")
PARTIES = Grouped(db.Categorical(["left", "right"], "vote"), "area", ["a", "b", "c"], sizes="public")
CELLS = Grouped(db.Bernoulli("x"), ("region", "sex"), {"region": ["west", "east"], "sex": ["f", "m"]}, sizes="public")
SAID = dict(noise=db.Laplace(scale=1.0, discrete=True), source="made up")


def by_names(values, axis="area", labels="abc"):
    "The same numbers in orders of their own, each with its names."
    series = pd.Series(list(values), index=pd.Index(list(labels), name=axis))
    frame = series.rename("value").reset_index()
    return {"series": series[::-1], "dict": dict(reversed(series.to_dict().items())), "frame": frame[::-1],
            "polars": pl.DataFrame(frame[::-1]), "index": series.to_frame("value")[::-1],
            "array": xr.DataArray(series[::-1]), "list": list(values), "numpy": np.asarray(values)}


@pytest.mark.parametrize("kind", by_names([1, 2, 3]))
def test_numbers_with_names_go_to_their_groups(kind):
    "By position, the values of a and c would change places."
    values, n, theta = (by_names(v)[kind] for v in ([10, 20, 30], [50, 60, 900], [0.1, 0.2, 0.9]))
    if kind in ("index", "frame", "polars"):  # a value of a row is called by its row
        values, n = by_names([10, 20, 30])["series"], by_names([50, 60, 900])["series"]
    made = db.declare(AREAS, values, n=n, **SAID)
    assert (made.values.tolist(), made.n.tolist()) == ([10, 20, 30], [50, 60, 900])
    right, found = (simulate_release(AREAS, {"probability": t}, m, 1.0, seed=1)
                    for t, m in (([0.1, 0.2, 0.9], [50, 60, 900]), (theta, n)))
    assert found == right
    prior = AREAS.accept(db.Beta(by_names([1.0, 2.0, 3.0])[kind], 1.0))
    assert np.asarray(prior.alpha).tolist() == [1, 2, 3]


def test_a_frame_of_rows_by_group_is_read_by_both_names():
    frame = pd.DataFrame({"right": [9, 8, 7], "left": [1, 2, 3], "area": list("abc")})
    for told in (frame[::-1], frame.set_index("area")[::-1], pl.DataFrame(frame[::-1]),
                  xr.DataArray(frame.set_index("area"), dims=("area", "vote"))[::-1]):
        made = db.declare(PARTIES, told, n=[10, 10, 10], **SAID)
        assert made.values.tolist() == [1, 9, 2, 8, 3, 7]
    alpha = frame.set_index("area")[::-1]
    assert PARTIES.accept(db.Dirichlet(alpha)).alpha.tolist() == [[1, 9], [2, 8], [3, 7]]
    assert PARTIES.model.accept(db.Dirichlet(pd.Series({"right": 3.0, "left": 1.0}))).alpha.tolist() == [1, 3]
    crossed = pd.DataFrame([[4, 3], [2, 1]], index=["east", "west"], columns=["m", "f"])
    assert db.declare(CELLS, crossed, n=9 * crossed, **SAID).n.tolist() == [9, 18, 27, 36]


def test_names_that_are_none_are_refused():
    series = pd.Series([10, 20, 30], index=list("abc"))
    for wrong in (series.rename({"c": "d"}), series[:2], series.set_axis([2, 1, 0]), series.set_axis(list("aab")),
                  xr.DataArray([10, 20, 30], dims="place"), pd.DataFrame({"value": series})[["value", "value"]][:1]):
        for call in (lambda w=wrong: db.declare(AREAS, w, n=[50, 60, 900], **SAID),
                     lambda w=wrong: db.declare(AREAS, [10, 20, 30], n=w, **SAID),
                     lambda w=wrong: simulate_release(AREAS, {"probability": w}, [9, 9, 9], 1.0, seed=1),
                     lambda w=wrong: simulate_release(AREAS, {"probability": [0.1] * 3}, w, 1.0, seed=1),
                     lambda w=wrong: AREAS.accept(db.Beta(w, 1.0))):
            with pytest.raises(ValueError):
                call()
    with pytest.raises(ValueError, match="leaves the names out"):
        db.declare(PARTIES, [[1, 9], [2, 8], [3, 7]], n=[10] * 3, **SAID,
                   matrix=pd.DataFrame(np.eye(2), columns=["right", "left"]))


def test_a_release_is_declared_again_by_the_names_it_prints():
    private = Grouped(db.Bernoulli("x"), "g", ["a0", "a1"])
    r = simulate_release(private, {"probability": [0.2, 0.7]}, [40, 90], 1.0, seed=3)
    named = dict(reversed(list(zip(r.names, r.values.tolist()))))
    more = dict(noise=db.Laplace(scale=2.0, discrete=True), matrix=r.matrix, n_range=(0, 130), source="made up")
    for told in (named, pd.Series(named)):
        assert db.declare(private, told, **more).values.tolist() == r.values.tolist()
    with pytest.raises(ValueError, match="must be a number, got None"):
        db.declare(private, dict(list(named.items())[:3]), **more)


# ---------------------------------------------------------------- sparse priors


def test_sparse_priors_of_private_groups_are_summed_exactly():
    "Against the sum over all pairs of counts: Beta(.3, .3), scale 4/3, 25 records at most; whole numbers, no chain."
    b, alpha, most = 4 / 3, 0.3, 25
    z = np.array([[-1, 0], [1, 1], [3, 8]])
    model = Grouped(db.Bernoulli("x"), "g", 3)
    r = db.declare(model, z, matrix=[[0, 1], [1, -1]], n_range=(0, most), noise=db.Laplace(scale=b, discrete=True),
                   source="made up")
    drawn = posterior_draws(r, db.Beta(alpha, alpha), draws=2500)
    s, f = np.meshgrid(np.arange(most + 1.0), np.arange(most + 1.0), indexing="ij")
    ways = special.gammaln(s + f + 1) - special.gammaln(s + 1) - special.gammaln(f + 1) + special.betaln(
        alpha + s, alpha + f)
    for g, (x, y) in enumerate(z):
        w = np.where(s + f <= most, np.exp(ways - (abs(x - s) + abs(y - f)) / b), 0)
        w /= w.sum()
        for found, right in ((drawn.confidential["n"][..., g], (w * (s + f)).sum()),
                             (drawn.theta["probability"][..., g], (w * (alpha + s) / (2 * alpha + s + f)).sum())):
            assert abs(found.mean() - right) < 4.5 * found.std() / 100, (g, found.mean(), right)
        assert np.all(drawn.confidential["n"] % 1 == 0)


# ---------------------------------------------------------------- one group, shares, checks, words


def of_groups(model, theta, n, **more):
    r = simulate_release(model, theta, n, 1.0, **more, seed=5)
    return r


@pytest.mark.parametrize("sizes", [pytest.param("private", marks=pytest.mark.slow), "public"])
def test_one_group_is_taken_out_of_a_release(sizes, tmp_path):
    model = Grouped(db.Bernoulli("ill"), ("region", "sex"), {"region": ["w", "e"], "sex": ["f", "m"]}, sizes=sizes)
    r = of_groups(model, {"probability": [[0.1, 0.3], [0.5, 0.9]]}, [[90, 80], [70, 300]])
    q = len(r.names) // 4
    one = r.group(("e", "m"))
    assert one == r.group("e, m") == Release.from_json(one.to_json()) and one.model == model.model
    assert one.values.tolist() == r.values[-q:].tolist() and one.n == (None if sizes == "private" else 300)
    assert "group 'e, m' of release" in one.source and one.names[0] == "successes"
    alone, whole = (posterior_draws(each, draws=2000).theta["probability"] for each in (one, r))
    z = (alone.mean() - whole[..., 1, 1].mean()) / np.hypot(alone.std(), whole[..., 1, 1].std()) * 8000**0.5
    assert abs(z) < 4.5
    with pytest.raises(ValueError, match="a group of this release, got 'n'; groups are called 'w, f', 'w, m'"):
        r.group("n")
    with pytest.raises(ValueError, match="release must be one of groups"):
        one.group("w, f")
    with pytest.raises(ValueError, match="share the data"):
        db.contrast(fit(r, draws=50, progress=False).posterior["probability"].sel(region="e", sex="m", drop=True)
                    .to_dataset().assign_attrs(fit(r, draws=50, progress=False).posterior.attrs),
                    other=fit(one, draws=50, progress=False))
    assert len(db.contrast(fit(one, progress=False), other=fit(r.group("w, f"), progress=False))) == 1


def test_a_group_of_no_records_is_not_taken_out():
    r = of_groups(Grouped(db.Bernoulli("x"), "g", 2, sizes="public"), {"probability": [0.2, 0.4]}, [0, 9])
    with pytest.raises(ValueError, match="a group with records"):
        r.group(0)
    assert r.group(1).n == 9


def test_shares_of_groups_are_in_the_result():
    model = Grouped(db.Bernoulli("x"), ("g", "h"), {"g": 2, "h": 2})
    idata = fit(of_groups(model, {"probability": np.full((2, 2), 0.3)}, [[50, 150], [300, 500]]), progress=False)
    share, n = idata.confidential["share"], idata.confidential["n"]
    assert share.dims == n.dims == ("chain", "draw", "g", "h")
    assert np.allclose(share.sum(("g", "h")), 1) and np.allclose(share, n / n.sum(("g", "h")))
    assert np.all(np.abs(share.mean(("chain", "draw")).values - [[0.05, 0.15], [0.3, 0.5]]) < 0.03)
    assert len(db.contrast(idata, "share", a="1, 1")) == 3
    public = fit(of_groups(Grouped(db.Bernoulli("x"), "g", 2, "public"), {"probability": [0.1, 0.2]}, [50, 60]))
    assert "share" not in public.confidential


OFTEN_CHECKED = [("share", "private"), ("share", "public"), ("waiting", "public")]


@pytest.mark.parametrize("name, sizes", [pytest.param(
    name, sizes, marks=() if (name, sizes) in OFTEN_CHECKED else pytest.mark.slow)
    for name in ("share", "categories", "waiting") for sizes in ("private", "public")])
def test_predictive_checks_of_groups(name, sizes):
    "Right models give ordinary p-values; the group whose number contradicts its prior, and no other, a small one."
    inner = {"share": db.Bernoulli("x"), "categories": db.Categorical(2, "x"), "waiting": db.Exponential((0, 20), "x")}
    truth = {"share": {"probability": [0.2, 0.5, 0.6]}, "waiting": {"rate": [0.1, 0.2, 0.3]},
             "categories": {"probabilities": [[0.2, 0.8], [0.5, 0.5], [0.6, 0.4]]}}[name]
    prior = db.Gamma(1.0, 5.0) if name == "waiting" else None
    r = of_groups(Grouped(inner[name], "g", ["a", "b", "c"], sizes=sizes), truth, [90, 300, 40])
    idata = fit(r, prior, draws=100, progress=False)
    found = db.predictive_check(idata)
    assert found["z_rep"].shape == (4, 100, len(r.names)) and found["statistic"].values.tolist() == list(r.names)
    assert float(found["p_value"].min()) > 1e-3
    means = found["z_rep"].mean(("chain", "draw")).values
    assert np.all(np.abs(means - r.values) < 0.25 * np.abs(r.values) + 10 * r.noise.scale), (means, r.values)
    if name == "share" and sizes == "public":
        wrong = fit(r, db.Beta(np.array([1.0, 9000.0, 1.0]), np.array([1.0, 90.0, 1.0])), draws=300, progress=False)
        p = db.predictive_check(wrong)["p_value"].values
        assert p[1] < 0.01 < min(p[0], p[2])
        pooled = fit(r, pool="partial", draws=300, progress=False)
        assert db.predictive_check(pooled)["p_value"].min() > 1e-3


def test_the_words_of_a_promise_are_those_of_groups():
    table = TABLE.with_columns(ill=pl.Series([1, None, 1, 0]))
    public = Grouped(db.Bernoulli("ill"), "region", ["north", "south"], sizes="public")
    assert "never the group)" in repr(db.release(public, TABLE, epsilon=1.0))
    dropped = repr(db.release(public, table, epsilon=1.0, missing="drop"))
    assert "never the group or completeness)" in dropped and "cell" not in dropped
    dropped = repr(db.release(ILL, table, epsilon=1.0, missing="drop"))
    assert "values and groups may change, never completeness" in dropped and "; 3 in all" in dropped
    with pytest.raises(ValueError, match="never the group.*records of each group"):
        db.release(public, TABLE, epsilon=1.0, neighbours="change_one")
    stated = repr(db.release(ILL, TABLE, epsilon=1.0, neighbours="change_value"))
    assert "; 4 in all" in stated


def test_an_undeclared_level_is_refused_with_its_column():
    table = TABLE.with_columns(region=pl.Series(["north", "Mrs Smith", "south", "south"]))
    with pytest.raises(ValueError, match=r"column 'region'.*declare.*'other'") as caught:
        db.release(ILL, table, epsilon=1.0)
    assert "Smith" not in str(caught.value)
    with pytest.raises(ValueError) as caught:  # a value, not a level
        db.release(ILL, TABLE.with_columns(ill=pl.Series([1, 0, 7, 0])), epsilon=1.0)
    assert "recode" not in str(caught.value)


def test_groups_without_levels_are_refused_in_words():
    with pytest.raises(ValueError, match="levels of .region. must be.*write the levels down"):
        Grouped(db.Bernoulli("ill"), "region")


def rate_of_rows(z, b, most):
    "Means of the rate and of n by sums over whole n: two rows of a clipped sum (limit 20), Gamma(2, 10), normal sums."
    rate = np.geomspace(0.01, 2, 160)
    w, means = np.zeros((len(rate), most + 1)), np.arange(most + 1.0)
    mean = (1 - np.exp(-20 * rate)) / rate
    var = 2 * (1 - (1 + 20 * rate) * np.exp(-20 * rate)) / rate**2 - mean**2
    for n in range(most + 1):
        u = np.linspace(-8, 8, 801) if n else np.zeros(1)
        s = n * mean[:, None] + np.sqrt(n * var)[:, None] * u
        noise = np.exp(-(np.abs(z[0] - s) + np.abs(z[1] - 20 * n + s)) / b)
        w[:, n] = (noise * stats.norm.pdf(u)).sum(axis=1) / stats.norm.pdf(u).sum()
    w *= (stats.gamma.pdf(rate, 2, scale=0.1) * rate)[:, None]
    w /= w.sum()
    return (w.sum(axis=1) @ rate, w.sum(axis=0) @ means)


@pytest.mark.slow
def test_private_sizes_of_sums_are_whole_numbers():
    "Groups of no or few records, where a continuum of sizes is furthest from whole ones."
    b, most, z = 12.0, 40, [[3.0, -6.0], [14.0, 30.0], [60.0, 190.0]]
    r = db.declare(Grouped(db.Exponential((0, 20), "x"), "g", 3), z, matrix=[[0, 1], [20, -1]], n_range=(0, most),
                   noise=db.Laplace(scale=b), source="made up")
    drawn = posterior_draws(r, db.Gamma(2.0, 10.0), draws=4000, progress=False)
    n, rate = drawn.confidential["n"], drawn.theta["rate"]
    assert np.all(n % 1 == 0) and np.all(np.abs(drawn.confidential["s"][..., 0][n == 0]) < 1e-6)
    import arviz as az
    for g in range(3):
        right = rate_of_rows(z[g], b, most)
        for x, wanted in zip((rate[..., g], n[..., g]), right):
            error = x.std() / float(az.ess(x)) ** 0.5
            assert abs(x.mean() - wanted) < 4.5 * error + 0.004 * wanted, (g, x.mean(), wanted, error)


def test_declared_sizes_are_published():
    "Sizes that were printed are public, whatever the model's default says; so the page of the release says so."
    model, noise = Grouped(db.Bernoulli("ill"), "region", ["a", "b"]), db.Laplace(scale=2)
    stated = db.declare(model, [12, 3], n=[100, 20], noise=noise, source="s")
    assert "sizes public" in str(stated) and "sizes private" not in str(stated)
    assert Release.from_json(stated.to_json()) == stated
    assert "sizes private" in str(db.declare(model, [12, 3], noise=noise, source="s", n_range=(0, 200)))


def test_fit_passes_on_what_the_model_of_a_group_warns_of():
    tobit = db.TobitRegression({"x": (-1, 1)}, {"y": (-1, 1)})
    model = Grouped(tobit, by="g", levels=["north", "south"], sizes="public")
    theta = {"mean": np.zeros((2, 1)), "covariance": np.full((2, 1, 1), 0.2),
             "coefficients": np.array([[0.3, 0.0]] * 2), "noise_variance": np.full(2, 0.1)}
    def cautions(n):
        return _cautions(simulate_release(model, theta, n, 2.0))

    said = cautions([100, 9000])
    assert len(said) == 1 and "(groups: south)" in said[0]
    assert ["(groups: all)" in each for each in cautions([9000, 9000])] == [True]
    assert cautions([100, 100]) == []
