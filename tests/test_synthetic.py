"Synthetic tables: what they hold, who can make them, the rule that combines analyses, and the folder with its card."

import hashlib
import json
import os
import warnings
from functools import lru_cache
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as d
from dp_bayes_nb.tables import synthetic
from dp_bayes_nb.tables.answers import PoissonRegression
from dp_bayes_nb.tables.synthetic import combine_synthetic, read_synthetic, synthesize, write_synthetic

RESULTS = Path(__file__).parent.parent / "results" / "synthetic.json"
MODELS = {
    "share": (d.Bernoulli("ill", success="yes", failure="no"), {"probability": 0.3}, None),
    "share of anything": (d.Bernoulli("ill", success="yes"), {"probability": 0.3}, None),
    "zeros and ones": (d.Bernoulli(), {"probability": 0.3}, None),
    "categories": (d.Categorical(["a", "b", "c"], "kind"), {"probabilities": [0.5, 0.3, 0.2]}, None),
    "whole levels": (d.Categorical([10, 20], "age"), {"probabilities": [0.4, 0.6]}, None),
    "rates": (d.Poisson((0, 9), "visits"), {"rate": 2.0}, d.Gamma(2.0, 1.0)),
    "naive Bayes": (d.NaiveBayes(("party", ["l", "r"]), {"vote": ["no", "yes"], "age": [20, 40]}),
                    {"class_probabilities": [0.5, 0.5], "vote": [[0.4, 0.6], [0.8, 0.2]],
                     "age": [[0.5, 0.5], [0.2, 0.8]]}, None),
    "log-linear": (d.LogLinear({"ill": ["no", "yes"], "dose": [0, 1, 2]}, 2),
                   {"effects": np.array([0.2, 0.1, -0.3, 0.4, 0.0])}, None)}  # fmt: skip


@lru_cache
def made(name, n=300, seed=5):
    "A small posterior of one of the models."
    model, theta, prior = MODELS[name]
    release = d.simulate_release(model, theta, n, 1.0, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return d.fit(release, prior, draws=40, warmup=60, chains=2, progress=False)


OFTEN = ("share of anything", "whole levels", "log-linear")  # the others are of the same kinds


@pytest.mark.parametrize("name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow)
                                  for name in MODELS])
def test_any_model_that_simulates_records_fills_tables(name):
    "Columns by name, levels as they are declared, and means that are those of the posterior."
    idata, model = made(name), MODELS[name][0]
    tables = synthesize(idata, tables=20)
    assert len(tables) == 20 and all(len(table) == 300 for table in tables)
    assert list(tables[0].columns) == [column.name or "value" for column in model.columns]
    for column in model.columns:
        values = tables[0][column.name or "value"]
        if column.texts:
            assert set(values.cat.categories) >= set(column.levels)
            assert not values.isna().any()
        elif column.levels:
            assert set(values) <= set(column.levels)
    counts = np.array([np.asarray(model.simulate(jax.random.key(i), {
        key: value.values.reshape(-1, *value.shape[2:])[4 * i] for key, value in idata.posterior.items()}, 300))
        for i in range(20)])
    sums = np.array([_statistics(model, table) for table in tables])
    spread = np.sqrt((counts.var(0) + sums.var(0)) / 20)
    assert (np.abs(counts.mean(0) - sums.mean(0)) < 4.5 * spread + 1e-9).all()


def _statistics(model, table):
    "Sums of the statistic over a frame, by its own comparisons."
    record = {c.name or "value": table[c.name or "value"].to_numpy() for c in model.columns}
    found = model.statistic(record if model.by_name else next(iter(record.values())))
    return np.array([np.sum(np.asarray(t, dtype=float)) for t in found])


def test_the_same_call_repeats_and_no_other_shares_its_numbers():
    idata = made("share")
    first = synthesize(idata, tables=4)
    assert all(a.equals(b) for a, b in zip(first, synthesize(idata, tables=4)))
    other = made("share", seed=6)
    tables = [*first, *synthesize(idata, tables=4, seed=1), *synthesize(idata, tables=3),
              *synthesize(idata, 299, tables=4), *synthesize(other, tables=4)]
    codes = np.array([table["ill"].cat.codes.to_numpy()[:299] for table in tables])
    p = codes.mean(1)
    chance = np.outer(p, p) + np.outer(1 - p, 1 - p)
    z = (np.mean(codes[:, None] == codes, -1) - chance) * np.sqrt(299 / (chance * (1 - chance)))
    assert np.abs(z[np.triu_indices(len(codes), 1)]).max() < 4.5  # 171 pairs: by chance once in a thousand


def test_every_table_has_a_draw_of_its_own():
    "As many tables as draws: each draw makes one; half as many: one of each pair. All of one draw would be told."
    idata = made("share")
    drawn = np.sort(idata.posterior["probability"].values.ravel())
    shares = np.sort([np.mean(table["ill"] == "yes") for table in synthesize(idata, 10**5, tables=80)])
    assert np.abs(shares - drawn).max() < 5 * np.sqrt(0.25 / 10**5) < 0.5 * drawn.std()
    with pytest.raises(ValueError, match="at most the 80 draws of the posterior"):
        synthesize(idata, tables=81)


def test_a_private_number_of_records_is_drawn_too():
    model, theta, _ = MODELS["share"]
    release = d.simulate_release(model, theta, 500, 0.5, neighbours="add_remove", n_max=5000, seed=3)
    idata = d.fit(release, draws=100, progress=False)
    sizes = np.array([len(table) for table in synthesize(idata, tables=60)])
    drawn = idata.confidential["n"].values
    assert len(set(sizes)) > 3 and drawn.min() <= sizes.min() and sizes.max() <= drawn.max()
    assert abs(sizes.mean() - drawn.mean()) < 4.5 * drawn.std() / np.sqrt(60)


def test_what_has_no_records_of_its_own_is_refused_in_words():
    shares = d.Grouped(d.Bernoulli("ill"), "region", ["n", "s"])
    release = d.simulate_release(shares, {"probability": [0.2, 0.4]}, [100, 200], 1.0, seed=1)
    with pytest.raises(ValueError, match="synthesize does not apply to Grouped"):
        synthesize(d.fit(release, draws=20, progress=False))
    for value in (None, 3, "idata"):
        with pytest.raises(ValueError, match="idata must be the result of fit"):
            synthesize(value)


# ---------------------------------------------------------------- the rule


@pytest.mark.parametrize("D, m", [(20, 1.0), (100, 1.0), (20, 5.0)])
def test_the_rule_covers_where_everything_is_normal(D, m):
    """Coverage of 4,000 normal problems within .95 ± 4 standard errors where the rule is good (D = 100, or 5n), and not
    below it anywhere; an analysis of one table is far below.
    """
    rng, trials, sampling, noise = np.random.default_rng(D), 4000, 1.0, 1.0
    posterior = sampling + noise
    center = rng.normal(0, np.sqrt(posterior), (trials, 1))  # posterior means about the true value, 0
    q = center + rng.normal(0, np.sqrt(posterior), (trials, D)) + rng.normal(0, np.sqrt(sampling / m), (trials, D))
    u = sampling / m * rng.chisquare(200, (trials, D)) / 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = combine_synthetic(q.T, u.T, ratio=m).interval()
    covered = np.mean((low < 0) & (high > 0))
    error = np.sqrt(0.95 * 0.05 / trials)
    assert covered > 0.95 - 4 * error
    if D == 100 or m == 5:
        assert covered < 0.95 + 4 * error
    assert np.mean(np.abs(q[:, 0]) < 1.96 * np.sqrt(u[:, 0])) < 0.75
    if m > 1:
        return
    # the rule for imputed tables, with + in the place of −, is told apart where what it adds is large
    added = (1 + 1 / D) * q.var(1, ddof=1) + u.mean(1)
    assert np.mean(np.abs(q.mean(1)) < 1.96 * np.sqrt(added)) > 0.95 + 4 * error


def test_a_variance_that_is_not_positive_is_said():
    with pytest.warns(UserWarning, match="for 1 of 2 estimates \\(b\\).*which is a floor"):
        found = combine_synthetic([{"a": 0.0, "b": 1.0}, {"a": 2.0, "b": 1.0}], [{"a": 0.1, "b": 0.3}] * 2, ratio=5.0)
    assert found.floored.tolist() == [False, True]
    with pytest.warns(UserWarning, match="less than one degree of freedom"):
        combine_synthetic([0.0, 1.0], [0.7, 0.7])  # T = 0.75 − 0.7
    assert (found.sd[1] ** 2, found.df[1]) == (pytest.approx(1.5), 1.0)
    assert found.table().loc["b", "low"] < 1 < found.table().loc["b", "high"]


@pytest.mark.parametrize("estimates, variances, words", [
    ([1.0], [0.1], "two tables or more"), ([1.0, 2.0], [[0.1], [0.1]], "of the shape"),
    ([1.0, np.inf], [0.1, 0.1], "1 tables of 2"), ([1.0, 2.0], [0.1, np.nan], "1 tables of 2"),
    ([1.0, 2.0], [-0.1, 0.1], "not below 0"), (["1", "2"], [0.1, 0.1], "numbers"), (3.0, 0.1, "sequences"),
    ([{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}, {"b": 1.0}], "of the same names"),
    ([{"a": 1.0}, {"a": 1.0}], [{"b": 1.0}, {"b": 1.0}], "of the shape and names"), ([], [], "two tables or more"),
    ([True, False], [0.1, 0.1], "numbers")])
def test_wrong_estimates_are_refused(estimates, variances, words):
    with pytest.raises(ValueError, match=words):
        combine_synthetic(estimates, variances)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["../evil.csv", "/evil.csv", "*.csv", "a/b.csv", ".hidden.csv", ""])
def test_a_card_names_files_of_its_own_folder_only(tmp_path, name):
    "A card whose file lies elsewhere is refused, though the sum of a file of that name in the folder is right."
    place = write_synthetic(made("log-linear"), tmp_path / "out", 50, tables=2, seed=2, format="csv")
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    body = (place / card["files"][0]["name"]).read_bytes()
    (place / "evil.csv").write_bytes(body)
    (tmp_path / "evil.csv").write_bytes(b"ill,dose\nyes,2\n")
    card["files"][0] = {"name": name, "sha256": hashlib.sha256(body).hexdigest()}
    (place / "card.json").write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(ValueError, match="files of its own"):
        read_synthetic(place)


def test_the_limit_of_a_count_is_explained():
    said = synthetic._columns_said(PoissonRegression(("visits", (0, 3)), {"ill": ["no", "yes"]}))
    assert said["visits"] == {"low": 0.0, "high": 3.0, "meaning": "3 means 3 or more"} and "meaning" not in said["ill"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_holds_the_tables_of_synthesize_and_says_what_they_are(tmp_path, format):
    idata = made("log-linear")
    place = write_synthetic(idata, tmp_path / "out", 50, tables=4, seed=2, format=format)
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    about = (place / "README.md").read_text(encoding="utf-8")
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet}[format]
    for each, table in zip(card["files"], synthesize(idata, 50, tables=4, seed=2)):
        assert (read(place / each["name"]).astype(str) == table.astype(str)).all(axis=None)
    for each, table in zip(read_synthetic(place), synthesize(idata, 50, tables=4, seed=2), strict=True):
        pd.testing.assert_frame_equal(each, table, check_dtype=False, check_categorical=True)
        assert list(each["ill"].cat.categories) == ["no", "yes"]
    (place / card["files"][1]["name"]).write_bytes(b"ill,dose\n")
    with pytest.raises(ValueError, match="table_002.*which is not"):
        read_synthetic(place)
    assert card["model"] == MODELS["log-linear"][0].to_dict() and card["releases"][0]["budget"] == {"epsilon": 1.0}
    assert card["columns"] == {"ill": {"levels": ["no", "yes"]}, "dose": {"levels": [0, 1, 2]}}
    for words in ("They contain no record", "protects nobody", "T = (1 + 1/D) B", "ratio=0.166667", "Never analyse"):
        assert words in about
    again = write_synthetic(idata, tmp_path / "again", 50, tables=4, seed=2, format=format)
    assert (again / "card.json").read_text() == (place / "card.json").read_text()


def test_nothing_is_left_of_a_folder_that_could_not_be_written(tmp_path, monkeypatch):
    idata = made("share")
    def full(self, *args, **kwargs):
        raise OSError("no space left")
    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(OSError, match="no space left"):
        write_synthetic(idata, tmp_path / "out", tables=3, format="csv")
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- what was measured


def test_the_committed_coverage_holds():
    "Eight coverages share 1% by Holm; one table taken for real is below .75 everywhere."
    rows = json.loads(RESULTS.read_text())["combined"]["rows"]
    p = sorted(row["p"] for kind in ("100 tables of n records", "20 tables of 5n records")
               for row in rows[kind].values() if isinstance(row, dict))
    assert len(p) == 8 and all(each > 0.01 / (8 - k) for k, each in enumerate(p))
    for kind in ("one table taken for real", "100 tables stacked, taken for real"):
        assert all(row["coverage"] < 0.85 and row["p"] < 1e-9 for row in rows[kind].values() if isinstance(row, dict))


def test_names_that_come_twice_are_refused_in_the_first_table_too():
    twice = pd.Series([1.0, 2.0], index=["a", "a"])
    with pytest.raises(ValueError, match="others in table 0"):
        d.combine_synthetic([twice] * 5, [twice] * 5)
