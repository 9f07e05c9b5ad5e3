"""Regressions whose number of records is private: how far a record moves the rows, the file, and the result."""

import itertools
import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from test_add_remove import how_far

import dp_bayes_nb as db
from dp_bayes_nb import Grouped
from dp_bayes_nb.cli import main
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models.registry import MODELS, family_from_dict
from dp_bayes_nb.noise.add_remove import size_design
from dp_bayes_nb.noise.design import design
from dp_bayes_nb.releases.document import Release
from dp_bayes_nb.releases.files import seal

Y = {"y": (-1, 3)}
NUMBERS = [-9.0, -1.0, -0.3, 1.0, 1 / 3 + 1, 2.7, 3.0]  # clipped, ends, inside, the middle
LEVELS = ["a", "b", "c"]
PLANES = {
    "one number": db.LinearRegression({"x": (-1, 3)}, Y),
    "two numbers": db.LinearRegression({"x": (-1, 3), "z": (-1, 3)}, Y),
    "two levels": db.LinearRegression({"k": ["a", "b"]}, Y),
    "three levels": db.LinearRegression({"k": LEVELS, "x": (-1, 3)}, Y),
    "three levels and two": db.LinearRegression({"k": LEVELS, "h": ["a", "b"]}, Y, intercept=False),
    "as in 0.1.0": db.LinearRegression({"k": LEVELS}, Y, coding="box"),
}
OPTIONS = {"laplace": ("laplace", None), "gaussian": ("gaussian", 1e-6)}


def records(inner):
    "All records of a small grid."
    values = [NUMBERS if not c.levels else list(c.levels) for c in inner.columns]
    rows = list(itertools.product(*values))
    return {c.name: [row[j] for row in rows] for j, c in enumerate(inner.columns)}, len(rows)


def rows_of_records(inner, d, rows):
    "What each record of the grid brings to its group, exactly, as `release` computes it: each in a group of its own."
    columns, count = records(inner)
    each = Grouped(inner, "g", count)
    sums = exact_sums(each, pl.DataFrame({**columns, "g": range(count)}), grid_exponent=d.grid_exponent)
    m = len(inner.names)
    return [np.array(rows.of(1, sums.integers[k * m:(k + 1) * m]), dtype=object) for k in range(count)]


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("name", PLANES)
def test_no_record_moves_the_rows_further_than_claimed(name, kind):
    "Coming or going, changing within a group, and leaving one group for another; all pairs of records of a grid."
    inner, power = PLANES[name], 1 if kind == "laplace" else 2
    model = Grouped(inner, "g", 3)
    d, rows = size_design(model, 1.0, *OPTIONS[kind], "change_one")
    alone, same = size_design(inner, 1.0, *OPTIONS[kind], "add_remove")
    assert rows.steps == same.steps
    brought = rows_of_records(inner, d, rows)
    come = max(how_far(row, kind) for row in brought)
    within = max(how_far(a - b, kind) for a, b in itertools.combinations(brought, 2))
    leave = 2 * come  # nothing is moved twice: L1 adds, and so do squares
    assert come <= Fraction(alone.steps) ** power and max(within, leave) <= Fraction(d.steps) ** power
    assert come > Fraction(alone.steps) ** power * Fraction(9999, 10000), "more is paid than a record can move"
    assert leave > Fraction(alone.steps) ** power, "the claim of a record that stays would pass"
    public = design(inner, 1.0, *OPTIONS[kind], "change_one").steps
    if kind == "laplace":
        assert leave > public, "the claim of public sizes would pass"


def test_rows_centred_at_the_middle_of_squares_would_cost_more():
    "Why squares are released as what they lack of n: one number and a response cost 4, and not 5."
    inner = PLANES["one number"]
    d, rows = size_design(inner, 1.0, "laplace", None, "add_remove")
    K = 2**d.grid_exponent
    squares = [j for j, step in enumerate(rows.steps) if step[0] and any(step[1:])]
    assert squares == [3, 5] and d.steps == 4 * K + 2  # 2.5 rounded numbers: half a step each
    middle = rows._replace(steps=tuple((K // 2, *step[1:]) if j in squares else step
                                       for j, step in enumerate(rows.steps)))
    assert max(how_far(row, "laplace") for row in rows_of_records(inner, d, middle)) == 5 * K > d.steps


def test_the_rows_of_a_table_are_what_they_say():
    "H (n, s) is n, the sums, and what squares lack of n; of an empty group 0."
    inner = PLANES["three levels"]
    d, rows = size_design(inner, 1.0, "laplace", None, "add_remove")
    v = np.array([[1, 0, 0.5, -0.5], [0, 0, -1, 1.0]])  # columns b, c; x and y in the box
    table = pl.DataFrame({"k": ["b", "a"], "x": [2.0, -1.0], "y": [0.0, 3.0]})
    found = dict(zip(rows.names, np.array(rows.of(2, exact_sums(inner, table, grid_exponent=d.grid_exponent).integers),
                                          dtype=float) / 2**d.grid_exponent))
    expected = {"n": 2.0, "k[b]": 1.0, "k[c]": 0.0, "x": -0.5, "y": 0.5, "k[b] * x": 0.5, "k[b] * y": -0.5,
                "k[c] * x": 0.0, "k[c] * y": 0.0, "n - x * x": 2 - (v[:, 2] ** 2).sum(),
                "x * y": float(v[:, 2] @ v[:, 3]), "n - y * y": 2 - (v[:, 3] ** 2).sum()}
    assert found == expected
    assert set(rows.of(0, (0,) * len(inner.names))) == {0}


def frame(rows=400):
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 3, rows)
    return pl.DataFrame({"x": x, "y": 0.5 * x + rng.normal(0, 0.3, rows), "g": rng.integers(0, 2, rows)})


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("promise", ["change_one", "add_remove", "one table"])
def test_a_file_is_read_back_as_it_was_written(promise, kind, tmp_path):
    inner = PLANES["one number"]
    model = inner if promise == "one table" else Grouped(inner, "g", 3)
    more = {} if promise == "change_one" else dict(neighbours="add_remove", n_max=1000)
    mechanism, delta = OPTIONS[kind]
    r = db.release(model, frame(), epsilon=0.7, mechanism=mechanism, delta=delta, **more)
    r.save(tmp_path / "r.json")
    again = Release.load(tmp_path / "r.json")
    assert again == r and again.model == model and r.n is None
    assert r.n_range == (0, 1000 if more else 400) and len(r.values) == (6 if promise == "one table" else 18)
    document = json.loads(r.to_json())
    del document["sha256"]
    document["noise"]["scale"] = (np.array(document["noise"]["scale"]) * 0.5).tolist()
    with pytest.raises(ValueError, match="noise.scale must be"):
        Release.from_json(seal(document))
    assert "Grouped" in MODELS and family_from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_few_records_and_fourth_moments():
    "No number of records is refused where it is private: the refusal would tell it. Fourth moments are."
    inner = PLANES["three levels"]
    empty = pl.DataFrame({"k": [], "x": [], "y": []}, schema={"k": pl.String, "x": pl.Float64, "y": pl.Float64})
    one = pl.DataFrame({"k": ["a"], "x": [0.0], "y": [1.0]})
    for table in (empty, one):
        r = db.release(inner, table, epsilon=1.0, neighbours="add_remove", n_max=10)
        assert r.n is None and r.n_range == (0, 10)
    with pytest.raises(ValueError, match="fourth_moments must be False"):
        Grouped(db.LinearRegression({"x": (-1, 3)}, Y, fourth_moments=True), "g", 2)


# ---------------------------------------------------------------- the result

PRIOR = db.NormalInverseGamma(0.0, 0.1, 3.0, 0.2)


@pytest.fixture(scope="module")
def fitted():
    model = Grouped(PLANES["one number"], "g", ["here", "there", "nowhere"])
    truth = {"coefficients": [[0.5, 0.0], [0.1, 1.0], [0.0, 0.0]], "noise_variance": [0.1, 0.1, 0.1]}
    r = db.simulate_release(model, truth, [2000, 200, 0], 2.0, seed=3)
    return r, db.fit(r, PRIOR, draws=400, warmup=200, progress=False)


def test_a_result_has_sizes_shares_and_sums(fitted):
    r, idata = fitted
    hidden = idata.confidential
    assert hidden["n"].dims == ("chain", "draw", "g") and hidden["s"].dims == ("chain", "draw", "g", "statistic")
    assert np.all(hidden["n"] % 1 == 0) and np.allclose(hidden["share"].sum("g"), 1)
    assert np.all(np.abs(hidden["n"].mean(("chain", "draw")) - [2000, 200, 0]) < 20)
    assert float(hidden["n"].sel(g="nowhere").std()) > 0.5  # not the noisy size as if it were exact
    slope = idata.posterior["coefficients"].sel(coefficient="x")
    assert abs(float(slope.sel(g="here").mean()) - 0.5) < 0.1
    prior_sd = np.sqrt(0.1 / 0.1)  # of nowhere: the mean of the variance over the precision
    assert 0.5 * prior_sd < float(slope.sel(g="nowhere").std()) < 1.5 * prior_sd


def test_comparisons_pictures_and_refusals(fitted):
    r, idata = fitted
    found = db.contrast(idata, "coefficients", a="here, x", b="there, x")
    assert abs(float(found["mean"].iloc[0]) - 0.4) < 0.2
    assert db.contrast(idata, "n", a="here", b="there")["above"].iloc[0] == 1.0
    slope = idata.posterior["coefficients"].sel(coefficient="x")
    assert len(db.plot_groups(slope, sizes=False).get_yticklabels()) == 3
    one = db.fit(r.group("here"), PRIOR, draws=400, warmup=200, progress=False)
    assert abs(float(db.predict(one, new_data={"x": [2.0]}).mean()) - 1.0) < 0.3
    with pytest.raises(ValueError, match="fits any such sums exactly"):
        db.predictive_check(idata)


def test_the_command_line_fits_it(fitted, tmp_path, capsys):
    r, _ = fitted
    r.save(tmp_path / "r.json")
    line = ["fit", str(tmp_path / "r.json"), "--prior", "NormalInverseGamma(0, 0.1, 3, 0.2)", "--draws", "50",
            "--warmup", "100", "-o", str(tmp_path / "f.nc")]
    assert main(line) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    assert "n[here]" in out and "coefficients[here, x]" in out
