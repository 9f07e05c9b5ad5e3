"""What somebody declares is looked at as a whole: totals that are known, whole numbers, shares and percents in the
place of counts, rows that overlap. Right numbers are refused with the chance that is stated, and no more.
"""

import time
import warnings

import numpy as np
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.base.measurement import Noise
from dp_bayes_nb.noise import contradictions
from dp_bayes_nb.noise.contradictions import Sums, check_known, check_whole
from dp_bayes_nb.noise.printing import Unprinted
from dp_bayes_nb.releases import checks

TWO, HALF = db.Laplace(scale=2), db.Laplace(scale=0.5)
LEVELS = ["a", "b", "c"]
OFF = {  # declared numbers that are far off together, and not one by one
    "levels": (db.Categorical(LEVELS), [50, 40, 130], {"n": 100}),
    "bins": (db.Histogram([0, 1, 2], weight=0), [50, 40, 130, 3], {"n": 100}),
    "bins and a sum": (db.Histogram([0, 1, 2]), [50, 40, 130, 3, 100], {"n": 100}),
    "unlabelled": (db.NormalMixture(range(5)), [50, 40, 130, 3, 0, 0], {"n": 100}),
    "margins": (db.LogLinear({"x": ["u", "v"], "y": LEVELS}, 1), [55, 45, 50, 40, 130], {"n": 100}),
    "tables": (db.NaiveBayes(("y", ["u", "v"]), {"x": ["p", "q"], "z": ["p", "q"]}), [50, 50, 50, 60, 25, 25, 25, 25],
               {"n": 100}),
    "success and failure": (db.Bernoulli(), [50, 110], {"n": 100, "matrix": [[0, 1], [1, -1]]}),
    "a noisy n": (db.Categorical(LEVELS), [50, 40, 130], {"n": 100, "n_noise": TWO}),
    "groups": (db.Grouped(db.Categorical(LEVELS, "x"), "g", ["u", "v"]), [50, 40, 10, 50, 40, 130], {"n": [100, 100]}),
    "a total": (db.Counts(LEVELS), [50, 40, 30, 185], {"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]}),
}


def declared(model, values, noise=TWO, **options):
    return db.declare(model, values, noise=noise, source="a made-up table", **options)


@pytest.mark.parametrize("name", OFF)
def test_a_total_that_is_far_off_is_refused_and_row_by_row_it_passes(name, monkeypatch):
    model, values, options = OFF[name]
    with pytest.raises(ValueError, match="values must be possible together: .* which is how far their noise goes"):
        declared(model, values, **options)
    monkeypatch.setattr(contradictions, "check_known", lambda *arguments: None)  # as it was
    monkeypatch.setattr(checks, "check_known", lambda *arguments: None)
    declared(model, values, **options)


def test_a_file_from_before_is_read_as_it_is(monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(contradictions, "check_known", lambda *arguments: None)
        text = declared(db.Categorical(LEVELS), [50, 40, 130], n=100).to_json()
    assert db.Release.from_json(text).values.tolist() == [50, 40, 130]


def test_percents_and_shares_of_levels_are_named():
    for values, what in (([8.2, 31.5, 60.2], "percents are multiplied by n / 100"),
                         ([0.082, 0.315, 0.602], "shares are multiplied by n,")):
        with pytest.raises(ValueError, match=what):
            declared(db.Categorical(LEVELS), values, n=1000)


CHANCE = 0.05
TABLES = {  # H (n, s), what is known of the sums of a record
    "levels": (None, Sums((100.0, 100.0), np.zeros(4), np.ones(4), True, True)),
    "rows that repeat": (np.array([[0.0, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0],
                                   [0, 0, 0, 1, 1]]),
                         Sums((0.0, 1000.0), np.zeros(4), np.ones(4), True, True)),
    "a table": (np.array([[0.0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 0]]),
                Sums((1.0, 1.0), np.zeros(4), np.full(4, np.inf), True)),
}


def refused(H, sums, chance, seed, tables):
    "Which part of right tables is refused, of noise of both kinds and three scales, some of them clamped at 0."
    rng, p, out = np.random.default_rng(seed), 4 if H is None else len(H), 0
    for _ in range(tables):
        s = rng.multinomial(100, rng.dirichlet(np.ones(4)))
        laplace, scale = rng.random(p) < 0.5, rng.choice([0.0, 0.5, 2.0, 9.0], p)
        if not scale.any():
            continue
        e = scale * np.where(laplace, rng.laplace(size=p), rng.normal(size=p))
        y = (s if H is None else H @ np.r_[100, s]) + e
        low = np.where(y < 0, -np.inf, y) if rng.random() < 0.5 else y
        found = Unprinted(y, low, y, np.full(p, -np.inf))
        noise = Noise(tuple(np.where(laplace, "laplace", "gaussian")), scale, np.zeros(p))
        names = tuple(f"row {i}" for i in range(p))
        try:
            check_known(names, found, noise, H, sums, chance)
        except ValueError:
            out += 1
    return out / tables


@pytest.mark.parametrize("name", ["levels", pytest.param("rows that repeat", marks=pytest.mark.slow), "a table"])
def test_right_tables_are_refused_as_rarely_as_is_said(name, monkeypatch):
    H, sums = TABLES[name]
    check_part(refused(H, sums, CHANCE, 1, 500))
    assert refused(H, sums, 1e-9, 2, 300) == 0  # on both sides
    reach = contradictions.sum_reach
    monkeypatch.setattr(contradictions, "sum_reach", lambda *arguments: 0.4 * reach(*arguments))  # too eager
    must_fail(lambda: check_part(refused(H, sums, CHANCE, 1, 300)), "too often")


def check_part(part):
    assert part < 2 * CHANCE, "right tables are refused too often"


def test_whole_numbers_with_small_noise_are_never_refused_as_shares():
    rng, table = np.random.default_rng(5), Sums((1.0, 1.0), np.zeros(3), np.full(3, np.inf), True)
    for scale in (0.01, 0.0287, 0.1, 0.5, 3.0):
        for _ in range(400):
            y = rng.integers(0, 2, 3) + scale * rng.laplace(size=3)
            check_whole(Unprinted(y, y, y, np.full(3, -np.inf)), Noise("laplace", np.full(3, scale), np.zeros(3)), None,
                        table, 1e-9)


# ---------------------------------------------------------------- shares and percents


def said(model, values, scale, **options):
    "The warnings of a declaration."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        declared(model, values, db.Laplace(scale=scale), **options)
    assert all(each.filename == __file__ for each in caught)
    return " ".join(str(each.message) for each in caught)


def test_shares_in_the_place_of_counts_are_refused_or_said():
    for values in ([0.082, 0.43, 0.488], [0.4, 0.6, 0.5]):
        with pytest.raises(ValueError, match="in reach of whole numbers, all together.*a share is multiplied by n"):
            declared(db.Counts(LEVELS), values, db.Laplace(scale=0.0287))
    assert "a share is multiplied by the number of records" in said(db.Counts(["a"]), [0.082], 0.0287)
    districts = db.Grouped(db.Bernoulli("ill"), "district", LEVELS)
    assert "over 40 records" in said(districts, [0.08, 0.05, 0.03], 0.03, n=[40, 50, 60])
    with pytest.raises(ValueError, match="all together"):
        declared(districts, [0.3, 0.4, 0.3], db.Laplace(scale=0.02), n=[40, 50, 60])


def test_small_counts_with_small_noise_seldom_draw_a_warning():
    rng = np.random.default_rng(7)
    for scale in (0.0287, 0.3):
        z = np.abs(scale * rng.laplace(size=300))
        assert np.mean([bool(said(db.Counts(["a"]), [each], scale)) for each in z]) < 0.15
    assert not said(db.Counts(["a", "b"]), [0.02, 0.97], 0.02)


def test_percents_in_the_place_of_counts_are_said():
    assert "a percent is multiplied by n / 100" in said(db.Bernoulli(), [8.2], 0.3, n=1000)
    assert "printed=Rounded(0.01)" in said(db.Counts(LEVELS), [8.25, 31.5, 60.25], 0.5)
    quiet = [(8.2, 0.3, {"n": 1000, "printed": db.Rounded(0.1)}), (8.0, 0.3, {"n": 1000}),
             (8.234567890123, 0.3, {"n": 1000}), (8.2, 0.3, {"n": 90}), (8.2, 2.0, {"n": 1000}),
             (108.2, 0.3, {"n": 1000})]
    for value, scale, options in quiet:
        assert not said(db.Bernoulli(), [value], scale, **options), (value, scale, options)


# ---------------------------------------------------------------- rows that overlap

REACH = {"tv": 5200, "web": 3100, "either": 7400}


def test_rows_that_overlap_lead_to_an_answer_at_once():
    cells = db.Counts(["tv only", "web only", "both"])
    noise = db.Laplace(scale=20)
    overlapping = declared(cells, REACH, noise, matrix=[[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    inside = db.fit(overlapping, draws=500, progress=False)
    assert inside.attrs["method"] == "lattice"
    shared = inside.posterior["counts"].values[..., 2]
    assert abs(shared.mean() - 900) < 6 * 20 * 6**0.5 / 600**0.5
    with pytest.raises(ValueError, match=r"do not add up: leave the matrix out, and name each of them in Counts"):
        declared(db.Counts(["tv", "web"]), REACH, noise, matrix=[[1, 0], [0, 1], [1, 1]])
    start = time.perf_counter()
    found = db.fit(declared(db.Counts(list(REACH)), list(REACH.values()), noise), progress=False)
    assert time.perf_counter() - start < 30
    tv, web, either = np.moveaxis(found.posterior["counts"].values.reshape(-1, 3), 1, 0)
    both = tv + web - either
    sd = 20 * 6**0.5
    assert abs(both.mean() - 900) < 4 * sd / 4000**0.5 and abs(both.std() / sd - 1) < 0.06


def test_honest_sums_of_a_regression_with_three_levels_are_in_reach():
    "A product of a number and a level may be -1 or 1 a record, whatever the nearest sums of one record are."
    model = db.LinearRegression({"x": (0, 10), "g": ["a", "b", "c"]}, {"y": (-10, 30)})
    rng = np.random.default_rng(5)
    record = {"x": np.full(200, 10.0), "g": np.full(200, "b"), "y": rng.choice([-10.0, 30.0], 200)}
    sums = [float(np.sum(np.broadcast_to(np.asarray(t, float), 200))) for t in model.statistic(record)]
    db.declare(model, sums, noise=db.Laplace(scale=0.01), n=200, source="made up")
    far = [*sums[:-1], 2.0 * sums[-1] + 50]
    with pytest.raises(ValueError, match="reach"):
        db.declare(model, far, noise=db.Laplace(scale=0.01), n=200, source="made up")
