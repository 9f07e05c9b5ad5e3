"Very many cells: fit_many, its parts on disk, its command, and partitions of Dask and Spark."

import json
import os
import shutil
import subprocess
import sys
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dp_bayes_nb as dpb
from dp_bayes_nb.cli import main
from dp_bayes_nb.many import fit_many as room
from dp_bayes_nb.counts.exact_counts import share_posterior, share_probability
from dp_bayes_nb.releases.document import measured

CLIPPED = [(dpb.Exponential((0, 5)), dpb.Gamma(2.0, 1.0), "rate"), (dpb.Poisson((0, 9)), dpb.Gamma(2.0, 1.0), "rate"),
           (dpb.Geometric((0, 9)), dpb.Beta(1.0, 2.0), "probability"),
           (dpb.Pareto((1, 9), 1), dpb.Gamma(2.0, 1.0), "shape"),
           (dpb.Weibull((0, 9), 1.5), dpb.Gamma(2.0, 1.0), "rate")]  # fmt: skip


def shares(rows=40, seed=0):
    "A table of noisy counts."
    rng = np.random.default_rng(seed)
    n = np.rint(10 ** rng.uniform(1, 4, rows))
    return {"value": np.rint(n * rng.uniform(0, 1, rows) + rng.laplace(size=rows)), "n": n, "scale": np.full(rows, 2.0)}


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_fit_and_fit_many_agree_on_a_share(mechanism):
    more = {"mechanism": mechanism, "delta": 1e-6} if mechanism == "gaussian" else {}
    made = [dpb.simulate_release(dpb.Bernoulli(), {"probability": 0.2 * i + 0.1}, 300, 0.5, **more, seed=i)
            for i in range(4)]
    prior = dpb.Beta(2.0, 3.0)
    found = dpb.fit_many(made, prior=prior)
    for release, q in zip(made, found["q0.975"]):
        below = share_probability(share_posterior(measured(release), prior), np.array([q]))[0]
        assert abs(below - 0.975) < 1e-6
        draws = dpb.fit(release, prior, progress=False).posterior["probability"].values
        assert abs(np.quantile(draws, 0.975) - q) < 0.15 * draws.std()


@pytest.mark.parametrize("model, prior, name", [
    pytest.param(*each, id=type(each[0]).__name__, marks=() if k in (1, 2) else pytest.mark.slow)
    for k, each in enumerate(CLIPPED)])  # two supports; the chapter does the exponential
def test_fit_and_fit_many_agree_on_a_clipped_sum(model, prior, name):
    "On the same grid of `fit`, to its quadrature error; a posterior of half the noise is told apart."
    (name,) = model.parameters
    made = [dpb.simulate_release(model, {name: 0.5 if name == "probability" else 1.5}, n, 0.3, seed=i)
            for i, n in enumerate((30, 400, 5000))]
    found = dpb.fit_many(made, prior=prior)
    assert list(found["problem"]) == ["", "", ""]
    for release, mean, sd, q in zip(made, found["mean"], found["sd"], found["q0.5"]):
        single = dpb.fit(release, prior, progress=False)
        curve = single.tabulated
        at = np.interp(0.5, curve["cdf"], curve["point"])
        assert abs(at - q) < 2e-3 * sd
        draws = single.posterior[name].values.ravel()
        assert abs(draws.mean() - mean) < 4.5 * sd / draws.size**0.5 and abs(draws.std() / sd - 1) < 0.06


def test_fit_and_fit_many_agree_on_categories():
    model = dpb.Categorical(["a", "b", "c"])
    made = [dpb.simulate_release(model, {"probabilities": [0.5, 0.3, 0.2]}, n, 0.4, seed=i)
            for i, n in enumerate((20, 900))]
    found = dpb.fit_many(made, draws=2)
    for i, release in enumerate(made):
        draws = dpb.fit(release, progress=False).posterior["probabilities"].values.reshape(-1, 3)
        for j, level in enumerate("abc"):
            sd = found[f"sd[{level}]"][i]
            assert abs(draws[:, j].mean() - found[f"mean[{level}]"][i]) < 4.5 * sd / len(draws) ** 0.5
            assert abs(np.quantile(draws[:, j], 0.025) - found[f"q0.025[{level}]"][i]) < 0.15 * sd
        assert abs(sum(found[f"draw1[{level}]"][i] for level in "abc") - 1) < 1e-12


def test_what_has_no_quick_way_is_fitted_cell_by_cell():
    made = [dpb.simulate_release(dpb.Normal((0, 10)), {"mean": 4.0, "variance": 2.0}, 200, 2.0,
                                 seed=i) for i in range(2)]
    prior = dpb.NormalInverseGamma(4.0, 0.1, 2.0, 2.0)
    found = dpb.fit_many(made, prior=prior, draws=1, probability=(3, 5))
    assert list(found.columns)[:2] == ["mean[mean]", "mean[variance]"] and (found["problem"] == "").all()
    assert np.all(np.abs(found["mean[mean]"] - 4) < 1) and np.all(found["probability[mean]"] > 0.9)


def test_what_came_in_goes_out():
    cells = shares(6)
    frames = [pd.DataFrame(cells, index=list("abcdef")), pl.DataFrame(cells), pa.table(cells)]
    expected = dpb.fit_many(cells, dpb.Bernoulli())
    for frame in frames:
        found = dpb.fit_many(frame, dpb.Bernoulli())
        assert type(found) is type(frame)
        np.testing.assert_array_equal(np.asarray(found["q0.5"]), expected["q0.5"])
        np.testing.assert_array_equal(np.asarray(found["value"]), cells["value"])
    assert list(dpb.fit_many(frames[0], dpb.Bernoulli()).index) == list("abcdef")
    gaussian = {"value": cells["value"], "n": cells["n"], "sd": cells["scale"]}
    assert not np.allclose(dpb.fit_many(gaussian, dpb.Bernoulli())["sd"], expected["sd"], rtol=1e-3)


def test_a_bad_cell_says_so_and_the_others_are_done():
    cells = shares(9)
    expected = dpb.fit_many(cells, dpb.Bernoulli())
    cells["value"][0], cells["n"][1], cells["n"][2], cells["scale"][3] = np.nan, -1, 10.5, 0
    cells["scale"][4], cells["value"][5], cells["n"][6] = np.nan, np.inf, np.nan
    cells["value"][7] = 1e300  # strange, and possible
    found = dpb.fit_many(cells, dpb.Bernoulli())
    assert all(found["problem"][:7]) and not any(found["problem"][7:])
    assert found.iloc[:7][["mean", "sd", "q0.5"]].isna().all(axis=None)
    np.testing.assert_array_equal(found["mean"][8:], expected["mean"][8:])
    assert 0.9 < found["mean"][7] < 1


RATE = dpb.Exponential((0, 20)), dpb.Gamma(1.0, 1.0)


@pytest.mark.parametrize("a", [1.0, 0.5, 0.3, 0.1])
def test_a_cell_without_records_has_the_moments_of_its_prior(a):
    found = dpb.fit_many({"value": [0.0], "n": [0], "scale": [10.0]}, RATE[0], dpb.Gamma(a, a))
    np.testing.assert_allclose([found["mean"][0], found["sd"][0]], [1, a**-0.5], rtol=1e-3)


def test_a_sparse_prior_and_data_against_quadrature():
    cells = {"value": [25.0, 400.0, 3.0], "n": [3, 100, 1], "scale": [100.0, 400.0, 200.0]}
    found = dpb.fit_many(cells, RATE[0], dpb.Gamma(0.3, 0.3))  # two million equal steps of the log
    np.testing.assert_allclose(found["mean"][[0, 2]], [0.9835, 1.022], rtol=1e-3)
    np.testing.assert_allclose(found["sd"], [1.801, 1.823, 1.839], rtol=1e-3)


def test_tables_without_a_good_row():
    cells = pd.DataFrame({"value": [np.nan, 2.0], "n": [3.0, np.inf], "scale": 1.0})
    assert list(dpb.fit_many(cells, *RATE)["problem"]) == ["the value is missing", "n must be a whole number >= 0"]
    assert dpb.fit_many(cells.head(0), *RATE).shape == (0, 9)
    cells = pd.DataFrame({"value": pd.Series([3, pd.NA], dtype=object), "n": [10.0, 3.0], "scale": 1.0})
    assert list(dpb.fit_many(cells, *RATE)["problem"]) == ["", "the value is missing"]


CLIPPED_CELLS = pd.DataFrame({"value": [3.0, 40.0, np.nan, 60.0], "n": [1.0, 10.0, 5.0, 20.0], "scale": 2.0})


def same_as_in_memory(found):
    expected = dpb.fit_many(CLIPPED_CELLS, *RATE)
    found = found.sort_values("n").set_index(expected.sort_values("n").index).sort_index()
    assert list(found.columns) == list(expected.columns) and list(found["problem"]) == list(expected["problem"])
    for name in ("mean", "sd", "q0.025", "q0.975"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)


def test_a_clipped_model_on_dask():
    dd = pytest.importorskip("dask.dataframe")
    same_as_in_memory(dpb.fit_partitions(dd.from_pandas(CLIPPED_CELLS, npartitions=2), *RATE)
                      .compute(scheduler="threads"))


def test_the_noise_keeps_its_column():
    cells = pd.DataFrame({"value": [3.0, 40.0], "n": [10, 100], "sd": [2.0, 3.0]})
    found = dpb.fit_many(cells, dpb.Bernoulli())
    assert list(found["noise_sd"]) == [2.0, 3.0] and (found["sd"] < 1).all()
    with pytest.raises(ValueError, match="noise_sd"):
        dpb.fit_many(cells.assign(noise_sd=1.0), dpb.Bernoulli())
    with pytest.raises(ValueError, match="sd must be a column"):
        dpb.fit_many(cells, dpb.Bernoulli(), sd=True)


def test_other_columns_are_part_of_the_question(tmp_path):
    cells = pd.DataFrame(shares(3))
    dpb.fit_many(cells.assign(place=list("abc")), dpb.Bernoulli(), path=tmp_path / "out")
    with pytest.raises(ValueError, match="path must be new"):
        dpb.fit_many(cells.assign(place=list("XYZ")), dpb.Bernoulli(), path=tmp_path / "out")


def warnings_of(cells, model, **more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = dpb.fit_many(cells, model, **more)
    return found, [str(each.message) for each in caught]


def test_what_declare_refuses_is_warned_of_once_and_computed():
    "As in `declare`; the mutant asks whether values lie in [0, n] at all."
    strange = {"value": [61.0, 3.0, -40.0], "n": [10, 10, 10], "sd": [2.0, 2.0, 2.0]}
    found, said = warnings_of(strange, dpb.Bernoulli())
    assert len(said) == 1 and "the values of 2 of 3 cells are further outside [0, n] than their noise" in said[0]
    assert not any(found["problem"]) and found["mean"][0] > 0.9
    with pytest.raises(ValueError):
        dpb.declare(dpb.Bernoulli(), 61, n=10, noise=dpb.Gaussian(sd=2.0), source="us")
    swapped = {"value": [1000.0, 500.0], "n": [300, 200], "scale": 2.0 * np.ones(2)}
    assert len(warnings_of(swapped, dpb.Bernoulli())[1]) == 1
    _, said = warnings_of({"value": [0.3, 0.41], "n": [100, 50], "scale": [2.0, 2.0]}, dpb.Bernoulli())
    assert len(said) == 1 and "all values lie in [0, 1]" in said[0]
    noisy = shares(2000)
    beyond = (noisy["value"] < 0) | (noisy["value"] > noisy["n"])
    assert warnings_of(noisy, dpb.Bernoulli())[1] == [] and beyond.sum() > 10
    cells = {"a": [3.0, 40.0], "b": [8.0, 9.0], "n": [10, 10], "scale": [1.0, 1.0]}
    assert len(warnings_of(cells, dpb.Categorical(["a", "b"]), value=("a", "b"))[1]) == 1
    assert len(warnings_of({"value": [95.0], "n": [10], "sd": [2.0]}, *RATE[:1], prior=RATE[1])[1]) == 0  # up to 200
    assert len(warnings_of({"value": [295.0], "n": [10], "sd": [2.0]}, *RATE[:1], prior=RATE[1])[1]) == 1


def test_one_number_for_all_cells():
    cells = pd.DataFrame(shares(4))
    expected = dpb.fit_many(cells.assign(n=20_000, scale=3.0), dpb.Bernoulli())
    for n in (20_000, 2e4, np.int64(20_000)):
        found = dpb.fit_many(cells.drop(columns=["n", "scale"]), dpb.Bernoulli(), n=n, scale=3)
        np.testing.assert_array_equal(found["q0.5"], expected["q0.5"])
    for wrong in (dict(n=True), dict(n=10.5), dict(n=-1), dict(n=np.nan), dict(n=None), dict(scale=-1.0), dict(value=0),
                  dict(scale=np.True_), dict(scale=True), dict(sd=np.inf), dict(scale={"scale"}), dict(cells="c.csv")):
        with pytest.raises(ValueError, match=f"{[*wrong][0]} must be"):
            dpb.fit_many(**{"cells": cells, "model": dpb.Bernoulli(), **wrong})


def test_levels_close_to_one_and_to_each_other_have_names_of_their_own():
    levels = (0.9999991, 0.9999992, 1 - 1e-10)
    found = dpb.fit_many(shares(3), dpb.Bernoulli(), quantiles=levels)
    names = ["q0.9999991", "q0.9999992", "q0.9999999999"]
    assert [name for name in found.columns if name.startswith("q")] == names
    assert (np.diff(found[names], axis=1) > 0).all()
    with pytest.raises(ValueError, match="quantiles must be different"):
        dpb.fit_many(shares(3), dpb.Bernoulli(), quantiles=(0.5, np.float64(0.5)))


def test_a_prior_too_sparse_for_floats_says_so():
    cells = {"value": [1.2], "n": [6], "scale": [4.75]}
    assert dpb.fit_many(cells, dpb.Bernoulli(), dpb.Beta(1e-8, 1e-8))["problem"][0] == ""
    lost = dpb.fit_many(cells, dpb.Bernoulli(), dpb.Beta(1e-300, 1e-300))["problem"][0]
    assert "too sparse" in lost and "mass" not in lost


@pytest.mark.parametrize("wrong, words", [
    (dict(value="v"), "value must be the name of a column"), (dict(n="m"), "n must be the name of a column"),
    (dict(scale="b"), "scale must be the name"), (dict(scale="scale", sd="scale"), "sd must be left out"),
    (dict(quantiles=(0.5, 0.5)), "quantiles must be different"), (dict(quantiles=(1.5,)), "quantiles must be"),
    (dict(probability=(0.5,)), "probability must be two numbers"), (dict(draws=-1), "draws must be"),
    (dict(value=("value", "n")), "value must be 1 columns"), (dict(path="none/x.parquet"), "path must be"),
    (dict(path="o.csv"), "path must be a file that ends in .parquet"), (dict(path="o.json"), "for a CSV file"),
    (dict(prior=dpb.Gamma(1.0, 1.0)), "prior must be"), (dict(model=None), "model must be"),
])  # fmt: skip
def test_wrong_arguments_are_refused_before_any_work(wrong, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(room, "compute", lambda *_: pytest.fail("work was done"))
    with pytest.raises(ValueError, match=words):
        dpb.fit_many(**{"cells": shares(3), "model": dpb.Bernoulli(), **wrong})
    assert os.listdir(tmp_path) == []


def test_texts_are_no_numbers_and_are_not_quoted():
    with pytest.raises(ValueError, match="numbers") as refused:
        dpb.fit_many({**shares(3), "value": np.array(["Qz", "1", "2"])}, dpb.Bernoulli())
    assert "Qz" not in str(refused.value)


def test_the_answer_does_not_depend_on_blocks_threads_or_order(monkeypatch):
    cells = shares(50)
    found = dpb.fit_many(cells, dpb.Bernoulli(), draws=2)
    monkeypatch.setattr(room, "_workers", lambda: 1)
    pd.testing.assert_frame_equal(found, dpb.fit_many(cells, dpb.Bernoulli(), draws=2))
    assert len(set(found["draw0"])) == 50  # no shared random numbers
    back = dpb.fit_many({name: column[::-1] for name, column in cells.items()}, dpb.Bernoulli())
    np.testing.assert_allclose(back["q0.025"][::-1], found["q0.025"], rtol=1e-9)
    twice = {name: np.append(column, column) for name, column in cells.items()}
    again = dpb.fit_many(twice, dpb.Bernoulli(), draws=1)
    assert not np.any(again["draw0"][:50].to_numpy() == again["draw0"][50:].to_numpy())


def test_few_cells_are_several_blocks_as_many_on_any_machine(monkeypatch):
    "Otherwise two cores have the work of one; the mutant has one block."
    def blocks(workers):
        sizes = []
        def call(rows):
            sizes.append(len(rows))
            return np.zeros((len(rows), 1)), np.full(len(rows), "")
        monkeypatch.setattr(room, "_workers", lambda: workers)
        room.compute(call, np.arange(2000), type("Bar", (), {"update": lambda self, k: None})())
        return sorted(sizes)
    assert blocks(1) == blocks(4) and len(blocks(2)) == 8
    monkeypatch.setattr(room, "LEAST", 2000)
    assert len(blocks(2)) == 1


# ---------------------------------------------------------------- parts on disk


def stop_after(monkeypatch, blocks):
    "An interrupt in the midst of a run."
    left, real = [blocks], room._block
    def block(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(*arguments)
    monkeypatch.setattr(room, "_block", block)
    return left


@pytest.mark.parametrize("name", ["out", "out.parquet"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_killed_run_goes_on(name, frame, monkeypatch, tmp_path):
    monkeypatch.setattr(room, "BLOCK", 10)
    monkeypatch.setattr(room, "PART", 20)
    cells = frame(shares(50))
    expected = dpb.fit_many(cells, dpb.Bernoulli(), draws=1)
    left = stop_after(monkeypatch, 2)
    monkeypatch.setattr(room, "_workers", lambda: 1)
    with pytest.raises(KeyboardInterrupt):
        dpb.fit_many(cells, dpb.Bernoulli(), draws=1, path=tmp_path / name)
    left[0] = 3  # what is left: two blocks of part 2, one of part 3
    found = dpb.fit_many(cells, dpb.Bernoulli(), draws=1, path=tmp_path / name)
    np.testing.assert_array_equal(np.asarray(found["draw0"]), np.asarray(expected["draw0"]))
    written = pq.read_table(tmp_path / name).to_pandas()
    np.testing.assert_array_equal(written["q0.5"], np.asarray(expected["q0.5"]))
    np.testing.assert_array_equal(written["value"], np.asarray(cells["value"]))
    assert os.listdir(tmp_path) == [name]


def test_another_question_is_refused(tmp_path):
    cells = shares(5)
    dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "out")
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    other = {**cells, "value": cells["value"] + 1}
    for more in (dict(cells=other), dict(quantiles=(0.5,)), dict(prior=dpb.Beta(2.0, 1.0)), dict(seed=1)):
        with pytest.raises(ValueError, match="path must be new"):
            dpb.fit_many(**{"cells": cells, "model": dpb.Bernoulli(), "path": tmp_path / "out", **more})
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="path must be an empty folder"):
        dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "mine")
    (tmp_path / "there.parquet").write_text("mine")
    with pytest.raises(ValueError, match="path must be a new file"):
        dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "there.parquet")


def killed(cells, path, monkeypatch, **more):
    "What a run that is interrupted after its first part leaves."
    monkeypatch.setattr(room, "BLOCK", 10)
    monkeypatch.setattr(room, "PART", 20)
    with monkeypatch.context() as only:
        stop_after(only, 2)
        only.setattr(room, "_workers", lambda: 1)
        with pytest.raises(KeyboardInterrupt):
            dpb.fit_many(cells, dpb.Bernoulli(), path=path, **more)


def test_parts_of_another_question_are_named_and_replaced(monkeypatch, tmp_path):
    cells, path = pd.DataFrame(shares(50)), tmp_path / "k.parquet"
    killed(cells, path, monkeypatch)
    assert os.listdir(tmp_path) == ["k.parquet.parts"]
    with pytest.raises(ValueError, match="the folder k.parquet.parts beside it .* replace=True"):
        dpb.fit_many(cells, dpb.Bernoulli(), path=path, seed=1)
    found = dpb.fit_many(cells, dpb.Bernoulli(), dpb.Beta(2.0, 3.0), path=path, replace=True)
    assert os.listdir(tmp_path) == ["k.parquet"]
    np.testing.assert_array_equal(pq.read_table(path).to_pandas()["q0.5"], found["q0.5"])
    with pytest.raises(ValueError, match="path must be a new file .* replace=True"):
        dpb.fit_many(cells, dpb.Bernoulli(), path=path)
    before = path.read_bytes()
    killed(cells, path, monkeypatch, replace=True)
    assert path.read_bytes() == before  # until the new one is complete
    left = stop_after(monkeypatch, 3)
    dpb.fit_many(cells, dpb.Bernoulli(), path=path, replace=True)  # goes on
    assert left[0] == 0 and path.read_bytes() != before and os.listdir(tmp_path) == ["k.parquet"]


def test_replacing_removes_nothing_but_parts(tmp_path):
    cells = shares(3)
    dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "out")
    dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "out", seed=1, replace=True)
    (tmp_path / "out" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="nothing but parts"):
        dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "out", replace=True)
    assert sorted(os.listdir(tmp_path / "out")) == ["_manifest.json", "letter.txt", "part-00000.parquet"]
    (tmp_path / "link.parquet").symlink_to(tmp_path / "out" / "letter.txt")
    with pytest.raises(ValueError, match="path must be a new file"):
        dpb.fit_many(cells, dpb.Bernoulli(), path=tmp_path / "link.parquet", replace=True)
    assert (tmp_path / "out" / "letter.txt").read_text() == "dear"


def test_memory_does_not_grow_with_the_cells(tmp_path):
    "A hundred thousand cells in a process of its own, above what its imports take."
    code = ("import resource, numpy as np, dp_bayes_nb as d\n"
            "d.fit_many({'value': np.ones(10), 'n': np.full(10, 20), 'scale': np.ones(10)}, d.Bernoulli())\n"
            "top = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
            "before = top(); n = 10 ** np.random.default_rng(0).uniform(1, 4, 100_000) // 1\n"
            "d.fit_many({'value': n // 3, 'n': n, 'scale': np.ones(100_000)}, d.Bernoulli())\n"
            "print(top() - before)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert float(done.stdout) < 300, done.stdout


# ---------------------------------------------------------------- the command


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"place": list("abc"), "value": [3, None, 40], "n": [10, 20, 100], "b": 2.0}).to_csv("cells.csv",
                                                                                                index=False)
    (tmp_path / "model.toml").write_text('family = "Bernoulli"\n')
    arguments = ["fit-many", "cells.csv", "--model", "model.toml", "--scale", "b", "--probability", "0.2", "0.5"]
    assert main([*arguments, "-o", "out.parquet"]) == 0
    said = capsys.readouterr().out
    assert "3 cells" in said and "1 with a problem" in said
    found = pq.read_table("out.parquet").to_pandas()
    assert list(found["place"]) == list("abc") and list(found["problem"]) == ["", "the value is missing", ""]
    assert main([*arguments, "-o", "out.parquet"]) == 2
    assert main([*arguments, "-o", "out.csv"]) == 0
    np.testing.assert_allclose(pd.read_csv("out.csv")["q0.5"], found["q0.5"])
    assert main(["fit-many", "none.csv", "--model", "model.toml", "-o", "x.parquet"]) == 2
    assert main(["fit-many", "cells.csv", "--model", "model.toml", "-o", "x.parquet"]) == 2  # which noise?
    assert not os.path.exists("x.parquet")


def test_the_command_takes_what_the_function_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = pd.DataFrame({"value": [3, 40], "2": [1.0, 5.0], "a": [3.0, 4.0], "b": [6.0, 60.0], "n": [10, 100]})
    cells.to_csv("cells.csv", index=False)
    (tmp_path / "share.toml").write_text('family = "Bernoulli"\n')
    (tmp_path / "levels.toml").write_text('family = "Categorical"\nk = ["x", "y"]\n')
    def both(family, model, options, **more):
        assert main(["fit-many", "cells.csv", "--family", family, *options, "-o", "out.csv", "--force"]) == 0
        found = dpb.fit_many(cells, model, **more)
        read = pd.read_csv("out.csv", keep_default_na=False)
        assert list(read.columns) == list(found.columns)
        np.testing.assert_allclose(read.drop(columns="problem"), found.drop(columns="problem"))
    share, levels = dpb.Bernoulli(), dpb.Categorical(["x", "y"])
    both("share.toml", share, ["--scale", "2.5"], scale=2.5)
    both("share.toml", share, ["--scale", "2"], scale="2")  # a column of this name
    both("share.toml", share, ["--sd", "3", "--n", "100"], sd=3, n=100)
    both("share.toml", share, ["--sd", "3", "--n", "1e2", "--draws", "1"], sd=3, n=100, draws=1)
    both("levels.toml", levels, ["--value", "a", "b", "--scale", "2", "a"], value=("a", "b"), scale=("2", "a"))
    capsys.readouterr()
    for options in (["--scale", "c"], ["--scale", "0"], ["--scale", "2", "--n", "10.5"], ["--sd", "nan"]):
        assert main(["fit-many", "cells.csv", "--family", "share.toml", *options, "-o", "x.csv"]) == 2
    said = capsys.readouterr().err
    assert "--scale must be the name of a column" in said and "--n must be a whole number" in said
    assert not os.path.exists("x.csv")


def test_the_command_names_the_parts_that_are_left_and_forces_them_away(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = pd.DataFrame(shares(50))
    cells.to_csv("cells.csv", index=False)
    (tmp_path / "share.toml").write_text('family = "Bernoulli"\n')
    arguments = ["fit-many", "cells.csv", "--family", "share.toml", "-o", "k.parquet"]
    monkeypatch.setattr(room, "BLOCK", 10)
    monkeypatch.setattr(room, "PART", 20)
    with monkeypatch.context() as only:
        stop_after(only, 2)
        only.setattr(room, "_workers", lambda: 1)
        assert main(arguments) == 1
    assert "k.parquet.parts" in os.listdir()
    capsys.readouterr()
    other = [*arguments, "--prior", "Beta(2, 3)"]
    assert main(other) == 2
    said = capsys.readouterr().err
    assert said.startswith("dp-bayes: -o must be new") and "k.parquet.parts" in said and "add --force" in said
    assert "path" not in said and "replace" not in said
    assert main([*other, "--force"]) == 0
    assert sorted(os.listdir()) == ["cells.csv", "k.parquet", "share.toml"]


# ---------------------------------------------------------------- clusters


def draws_of_their_own(frame, rows):
    "Whether all draws differ, in a table that repeats so many rows."
    assert len(frame) > rows and len(set(frame["q0.5"])) <= rows
    return len(set(frame["draw0"])) == len(frame)


def test_partitions_of_dask():
    dd = pytest.importorskip("dask.dataframe")
    cells = pd.DataFrame(shares(30))
    expected = dpb.fit_many(cells, dpb.Bernoulli())
    lazy = dpb.fit_partitions(dd.from_pandas(cells, npartitions=3), dpb.Bernoulli())
    assert list(lazy.columns) == list(expected.columns)
    found = lazy.compute(scheduler="threads")
    np.testing.assert_allclose(found["q0.025"], expected["q0.025"], rtol=1e-9)
    same = dd.from_pandas(pd.concat([cells, cells, cells], ignore_index=True), npartitions=3)
    assert [len(piece) for piece in same.partitions] == [30] * 3
    assert draws_of_their_own(dpb.fit_partitions(same, dpb.Bernoulli(), draws=1).compute(scheduler="threads"), 30)
    bare = same.map_partitions(dpb.fit_many, dpb.Bernoulli(), draws=1, progress=False,
                               meta=dpb.fit_many(cells[:0], dpb.Bernoulli(), draws=1))
    assert not draws_of_their_own(bare.compute(scheduler="threads"), 30), "the mutant that forgets the partition"
    with pytest.raises(ValueError, match="value must be"):
        dpb.fit_partitions(dd.from_pandas(cells, npartitions=3), dpb.Bernoulli(), value="v")
    with pytest.raises(ValueError, match="path must be left out"):
        dpb.fit_partitions(dd.from_pandas(cells, npartitions=3), dpb.Bernoulli(), path="x")


@pytest.fixture(scope="module")
def spark():
    "Spark on two cores of this machine, bound to it alone."
    pyspark = pytest.importorskip("pyspark.sql", reason="Spark: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: install a JRE of version 17 or newer")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false"}
    session = pyspark.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()


def test_partitions_of_spark(spark):
    cells = pd.DataFrame(shares(30))
    expected = dpb.fit_many(cells, dpb.Bernoulli())
    lazy = dpb.fit_partitions(spark.createDataFrame(cells).repartition(2), dpb.Bernoulli())
    found = lazy.toPandas().sort_values(["n", "value"])
    np.testing.assert_allclose(found["q0.025"], expected.sort_values(["n", "value"])["q0.025"], rtol=1e-9)
    same = spark.createDataFrame(pd.concat([cells] * 4, ignore_index=True))  # two partitions, two pieces each
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "30")
    drawn = dpb.fit_partitions(same, dpb.Bernoulli(), draws=1)
    assert drawn.rdd.getNumPartitions() == 2
    assert draws_of_their_own(drawn.toPandas(), 30) and drawn.toPandas().equals(drawn.toPandas())
    with pytest.raises(ValueError, match="value must be"):
        dpb.fit_partitions(spark.createDataFrame(cells), dpb.Bernoulli(), value="v")


def test_a_clipped_model_on_spark(spark):
    "Its arguments are checked on an empty piece, which has no largest n."
    same_as_in_memory(dpb.fit_partitions(spark.createDataFrame(CLIPPED_CELLS).repartition(2), *RATE).toPandas())
    gaussian = spark.createDataFrame(CLIPPED_CELLS.rename(columns={"scale": "sd"}))
    found = dpb.fit_partitions(gaussian, *RATE, n=20, sd=2.0).toPandas()
    assert list(found["noise_sd"]) == [2.0] * 4 and found["sd"].notna().sum() == 3


def test_the_manifest_is_plain(tmp_path):
    dpb.fit_many(shares(3), dpb.Bernoulli(), path=tmp_path / "out")
    assert set(json.loads((tmp_path / "out" / "_manifest.json").read_text())) == {"digest", "rows", "part"}


def test_a_folder_is_not_continued_by_a_function_that_cannot_be_told_apart(tmp_path):
    "Two lambdas of one line have one text, and an object is its attributes."
    cells = {"value": [12.0, 25.0], "n": [40, 50], "scale": [20.0, 20.0]}
    one, nine = (lambda theta: jnp.log(theta["probability"])), (lambda theta: 9 * jnp.log(theta["probability"]))

    class Power:
        def __init__(self, power):
            self.power = power

        def __call__(self, theta):
            return self.power * jnp.log(theta["probability"])

    run = lambda prior, name: dpb.fit_many(cells, dpb.Bernoulli("ill"), prior, path=tmp_path / name, progress=False)
    for fn in (one, nine):
        with pytest.raises(ValueError, match="path must be used with functions whose text"):
            run(dpb.LogDensity(fn), "lambdas")
    run(dpb.LogDensity(one, version=1), "versions"), run(dpb.LogDensity(Power(1.0)), "objects")
    for prior, name in ((dpb.LogDensity(nine, version=9), "versions"), (dpb.LogDensity(Power(9.0)), "objects")):
        with pytest.raises(ValueError, match="replace=True"):
            run(prior, name)
