"""Contrasts and ranks: how often their intervals contain the truth, and what is refused.

`test_grouped.py::test_a_release_of_each_subset_breaks_the_promise_and_a_grouped_one_keeps_it` has the other half of
comparing groups: why they are released together.
"""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binomtest

import dp_bayes_nb as db
from dp_bayes_nb.base.checks import must_fail

SHARES, WAYS = (0.5, 0.95), ("difference", "ratio", "odds_ratio")
FALSE_ALARM = 0.01  # of all checks of coverage of one run together
CHECKS = 2 * len(WAYS) + 2 + 2  # groups, two releases, pooled groups: each at two levels
# pairs of groups; pooled releases: draws from one shared stream are seen in few; many see coverage that is 3 points off
SIZE = {"few": (300, 24), "many": (1000, 80)}


def right(a, b):
    "The true contrasts."
    return {"difference": a - b, "ratio": a / b, "odds_ratio": a * (1 - b) / (b * (1 - a))}


def p_values(compare, truth):
    "Of the numbers of true values inside the intervals of `compare(level)`, a frame, at both levels."
    out = []
    for level in SHARES:
        frame = compare(level)
        inside = (frame["low"].to_numpy() < truth) & (truth < frame["high"].to_numpy())
        out.append(binomtest(int(inside.sum()), len(truth), level).pvalue)
    return np.array(out)


def covers(compare, truth):
    assert p_values(compare, truth).min() > FALSE_ALARM / CHECKS


def apart(draws):
    "The mutant: draws of each group in an order of their own, here the same one: that of a shared stream of numbers."
    return draws.copy(data=np.sort(draws.values.reshape(-1, *draws.shape[2:]), axis=0).reshape(draws.shape))


def cohort(seed, groups):
    "Shares from the prior, sizes that are private, a release of all, its posterior."
    rng = np.random.default_rng(seed)
    truth, sizes = rng.uniform(size=groups), rng.integers(20, 2000, groups)
    model = db.Grouped(db.Bernoulli("ill"), "district", groups)
    r = db.simulate_release(model, {"probability": truth}, sizes, 1.0, seed=seed)
    return truth, db.fit(r, draws=250, progress=False)


def in_pairs(draws):
    "Groups two by two: (chain, draw, pair, side)."
    values = draws.values.reshape(*draws.shape[:2], -1, 2)
    return xr.DataArray(values, dims=("chain", "draw", "pair", "side"), name="probability")


@pytest.mark.parametrize("size", ["few", pytest.param("many", marks=pytest.mark.slow)])
def test_intervals_of_groups_of_one_release_contain_the_truth(size):
    truth, idata = cohort(101, 2 * SIZE[size][0])
    draws, (a, b) = in_pairs(idata.posterior["probability"]), truth.reshape(-1, 2).T
    for how in WAYS:
        of = lambda draws, how=how: lambda level: db.contrast(draws, dim="side", how=how, level=level)
        covers(of(draws), right(a, b)[how])
        must_fail(lambda of=of, how=how: covers(of(apart(draws)), right(a, b)[how]), "draws from one shared stream")


@pytest.mark.parametrize("size", ["few", pytest.param("many", marks=pytest.mark.slow)])
def test_intervals_of_two_releases_contain_the_truth(size):
    (a, one), (b, two) = (cohort(seed, SIZE[size][0]) for seed in (102, 103))
    covers(lambda level: db.contrast(one, other=two, level=level), a - b)
    draws = apart(one.posterior["probability"]) - apart(two.posterior["probability"]).values
    both = xr.concat([draws, 0 * draws], "side").transpose("chain", "draw", "district", "side")
    must_fail(lambda: covers(lambda level: db.contrast(both, dim="side", level=level), a - b), "one shared stream")


def pooled(seed, sizes):
    "Groups from the prior of `Pooled`, and their pooled posterior."
    rng = np.random.default_rng(seed)
    x = rng.logistic() + abs(rng.standard_normal()) * rng.standard_t(3, len(sizes))
    truth = np.clip(1 / (1 + np.exp(-x)), 1e-9, 1 - 1e-9)
    model = db.Grouped(db.Bernoulli("ill"), "district", len(sizes), sizes="public")
    r = db.simulate_release(model, {"probability": truth}, sizes, 0.5, seed=seed)
    idata = db.fit(r, db.Pooled(slope=False), pool="partial", draws=250, progress=False)
    return truth, idata.posterior["probability"]


@pytest.mark.parametrize("size", ["few", pytest.param("many", marks=pytest.mark.slow)])
def test_intervals_of_pooled_groups_contain_the_truth(size):
    "One pair a release, so that replicates are independent; which pair does not depend on the numbers."
    made = [pooled(1000 + k, [5, 12, 40, 100, 300, 1500]) for k in range(SIZE[size][1])]
    places = [(k % 6, (k + 1 + k // 6 % 5) % 6) for k in range(len(made))]
    a, b = np.array([truth[[i, j]] for (truth, _), (i, j) in zip(made, places)]).T
    values = np.stack([draws.values[..., [i, j]] for (_, draws), (i, j) in zip(made, places)], axis=2)
    draws = xr.DataArray(values, dims=("chain", "draw", "pair", "side"))
    of = lambda draws: lambda level: db.contrast(draws, dim="side", level=level)
    covers(of(draws), a - b)
    must_fail(lambda: covers(of(apart(draws)), a - b), "draws from one shared stream")


def test_pooled_groups_are_compared_within_a_draw():
    "Groups that say nothing are alike: their difference is far narrower than that of draws out of order."
    truth, draws = pooled(1, [400, 400, 2, 2, 400, 400])
    joint = db.contrast(draws, a=2, b=3, draws=True).values
    a, b = draws.values[..., 2].ravel(), draws.values[..., 3].ravel()
    assert np.array_equal(joint.ravel(), a - b)
    mixed = a - np.random.default_rng(0).permutation(b)
    assert joint.std() < 0.95 * mixed.std()


# ---------------------------------------------------------------- two results


def share(seed, n=400, **more):
    return db.simulate_release(db.Bernoulli("ill"), {"probability": 0.3}, n, 1.0, **more, seed=seed)


def test_results_that_share_a_release_are_refused_wherever_it_is():
    one, two, three = (db.declare(db.Bernoulli("ill"), [z], n=100, noise=db.Laplace(scale=2.0), source=f"office {z}")
                       for z in (20, 30, 40))
    fits = {"one": db.fit(one, progress=False), "naive": db.fit(one, method="naive", progress=False),
            "two": db.fit(two, progress=False), "one, two": db.fit([one, two], progress=False),
            "pooled": db.fit([one, three], pool="partial", draws=200), "three": db.fit(three, progress=False),
            "combined": db.fit(db.combine(two, three), progress=False)}
    for a, b in (("one", "naive"), ("one", "one, two"), ("two", "one, two"), ("combined", "two")):
        for x, y in ((a, b), (b, a)):
            for independent in (False, True):  # nobody's word helps: both have the id of one release
                with pytest.raises(ValueError, match="share the data"):
                    db.contrast(fits[x], other=fits[y], independent=independent)
    for a, b in (("one", "two"), ("three", "one, two"), ("combined", "one")):
        assert db.contrast(fits[a], other=fits[b]).shape == (1, 7)
    again = db.fit([one, two], pool="partial", draws=200)
    with pytest.raises(ValueError, match="share the data"):
        db.contrast(fits["pooled"], other=again)


def test_a_result_that_was_saved_is_the_same_result(tmp_path):
    import arviz as az
    idata = db.fit(share(1), progress=False)
    idata.to_netcdf(tmp_path / "r.nc")
    with pytest.raises(ValueError, match="share the data"):
        db.contrast(az.from_netcdf(tmp_path / "r.nc"), other=idata)


def test_a_contrast_is_the_same_each_time_and_does_not_touch_its_results():
    one, two = (db.fit(share(seed), progress=False) for seed in (1, 2))
    before = one.posterior["probability"].values.copy()
    first, second = (db.contrast(one, other=two, draws=True).values for _ in range(2))
    assert np.array_equal(first, second) and np.array_equal(one.posterior["probability"].values, before)
    assert np.isclose(first.mean(), before.mean() - two.posterior["probability"].values.mean())
    turned = db.contrast(two, other=one)
    assert np.isclose(turned["mean"][0], -first.mean())
    assert np.isclose(turned["above"][0], (first < 0).mean(), atol=0.03)


def test_draws_of_unequal_number_are_used_equally_often():
    few, many = (db.fit(share(seed), draws=draws, progress=False) for seed, draws in ((1, 30), (2, 75)))
    drawn = db.contrast(few, other=many, how=lambda a, b: a, draws=True).values.ravel()
    counts = np.unique(drawn, return_counts=True)[1]
    assert drawn.size == 300 and set(counts) <= {2, 3} and len(counts) == 120


# ---------------------------------------------------------------- what comes in


def table(values):
    return xr.DataArray(values, dims=("chain", "draw", "g"), coords={"g": list("abc")}, name="x")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_draws_that_are_not_finite_are_refused_everywhere(bad):
    values = np.random.default_rng(0).uniform(size=(2, 50, 3))
    values[1, 3, 2] = bad
    for call in (db.contrast, db.ranks, db.plot_groups):
        with pytest.raises(ValueError, match="data must be finite draws"):
            call(table(values))
    assert len(db.contrast(table(values).sel(g=["a", "b"]))) == 1


def test_a_group_that_never_moves_and_ties():
    values = np.zeros((2, 50, 3))
    frame = db.contrast(table(values))
    assert (frame[["mean", "sd", "above", "direction"]].to_numpy() == 0).all()
    places = db.ranks(table(values))
    assert np.allclose(places[["mean", "best", "worst"]], [2, 1 / 3, 1 / 3])


def test_very_many_pairs_are_refused_and_a_reference_is_not():
    values = xr.DataArray(np.random.default_rng(0).uniform(size=(1, 40, 2000)), dims=("chain", "draw", "g"))
    with pytest.raises(ValueError, match="1999000 lines"):
        db.contrast(values)
    assert db.contrast(values, b=7).shape == (1999, 9)


def test_a_second_dimension_that_is_called_like_a_column_is_refused():
    values = xr.DataArray(np.random.default_rng(0).uniform(size=(1, 40, 3, 2)), dims=("chain", "draw", "g", "b"))
    for call in (db.contrast, db.ranks):
        with pytest.raises(ValueError, match="without a dimension 'b'"):
            call(values, dim="g")
    assert list(db.contrast(values, dim="b")["g"]) == [0, 1, 2]  # as labels of the groups it is welcome


def test_levels_that_are_numbers_and_long_lists():
    values = np.random.default_rng(0).uniform(size=(1, 40, 30))
    draws = xr.DataArray(values, dims=("chain", "draw", "year"), coords={"year": np.arange(1990, 2020)})
    assert db.contrast(draws, a=np.int64(2001), b=[1990, 2001, 1999])["b"].tolist() == [1990, 1999]
    with pytest.raises(ValueError, match="a level of year, such as 1990, got '2001'"):
        db.contrast(draws, a="2001")


@pytest.mark.parametrize("groups", [2, 20, 60])
def test_a_picture_has_a_row_for_each_group_and_names_that_fit(groups):
    import matplotlib.pyplot as plt
    values = np.random.default_rng(0).normal(np.linspace(0, 3, groups), 1.0, (2, 100, groups))
    names = [f"a municipality with a long official name, {k}" for k in range(groups)]
    draws = xr.DataArray(values, dims=("chain", "draw", "g"), coords={"g": names}, name="log_mean")
    ax = db.plot_groups(draws, other=draws[..., ::-1], names=["one", "the same, turned"], sizes=range(groups))
    ax.figure.canvas.draw()
    labels = [label for label in ax.get_yticklabels() if label.get_text()]
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    assert len(labels) == len({label.get_text() for label in labels}) == groups
    assert all(low.y1 <= high.y0 + 1 for low, high in zip(boxes, boxes[1:]))  # no label lies on another
    assert min(box.x0 for box in boxes) >= 0
    one, two = (line for line in ax.lines if len(line.get_xdata()) == groups)
    assert np.array_equal(one.get_xdata(), two.get_xdata())  # beside each other by their names
    plt.close(ax.figure)


# ---------------------------------------------------------------- names, several dimensions, sizes


CELLS = {"region": ["west", "east", "north"], "sex": ["f", "m"]}


def by_two():
    "Groups of two columns, with public sizes."
    model = db.Grouped(db.Bernoulli("ill"), ("region", "sex"), CELLS, sizes="public")
    r = db.declare(model, [10, 20, 30, 40, 50, 60], n=[100, 200, 1300, 400, 500, 600], source="made up",
                   noise=db.Laplace(scale=2.0, discrete=True))
    return db.fit(r, draws=200, progress=False)


def rows_of(ax):
    "Height of each name of a picture, and the words on the right."
    right = [each for each in ax.child_axes if each.get_yticks().size]
    said = {} if not right else dict(zip(right[0].get_yticks(), (t.get_text() for t in right[0].get_yticklabels())))
    at = dict(zip((t.get_text() for t in ax.get_yticklabels()), ax.get_yticks()))
    return at, {name: said.get(y) for name, y in at.items()}


def test_true_values_and_sizes_go_to_their_groups_by_name():
    import matplotlib.pyplot as plt
    import pandas as pd
    draws = table(np.random.default_rng(0).normal([0.0, 1.0, 2.0], 0.1, (2, 50, 3)))
    truth = pd.Series({"a": 0.0, "b": 1.0, "c": 2.0})
    for given in (truth, truth[::-1], truth[::-1].to_dict(), xr.DataArray(truth[::-1].rename_axis("g")), [0, 1, 2]):
        ax = db.plot_groups(draws, truth=given, sizes=given)
        at, said = rows_of(ax)
        true = next(line for line in ax.lines if line.get_label() == "truth")
        assert dict(zip(true.get_ydata(), true.get_xdata())) == {at["a"]: 0.0, at["b"]: 1.0, at["c"]: 2.0}
        assert said == {"a": "0", "b": "1", "c": "2"}
        plt.close(ax.figure)
    for wrong in (truth.rename({"a": "z"}), truth[:2], truth.set_axis([2, 1, 0])):
        for name in ("truth", "sizes"):
            with pytest.raises(ValueError, match=f"{name} must be a value for each of 3 groups"):
                db.plot_groups(draws, **{name: wrong})
    share = db.fit(db.declare(db.Categorical(list("abc")), [5, 20, 75], n=100, noise=db.Laplace(scale=1.0), source="s"),
                   progress=False)
    for given in (pd.Series({"c": 0.75, "a": 0.05, "b": 0.2}), {"c": 0.75, "b": 0.2, "a": 0.05}):
        ax = db.plot_posterior(share, truth=given)
        true = next(line for line in ax.lines if line.get_label() == "truth")
        assert list(true.get_xdata()) == [0.05, 0.2, 0.75]
        plt.close(ax.figure)


def test_groups_of_two_columns_are_one_by_default():
    import matplotlib.pyplot as plt
    idata = by_two()
    draws = idata.posterior["probability"]
    frame = db.contrast(idata, a="west, f", b=("east", "m"))
    assert frame[["a", "b"]].to_numpy().tolist() == [["west, f", "east, m"]]
    assert np.isclose(frame["mean"][0], float((draws[..., 0, 0] - draws[..., 1, 1]).mean()))
    assert len(db.contrast(idata)) == 15 and len(db.contrast(idata, dim="sex")) == 3
    places = db.ranks(idata)
    assert places["region, sex"].tolist()[:3] == ["west, f", "west, m", "east, f"]
    ax = db.plot_groups(idata, truth=xr.DataArray(np.arange(6.0).reshape(2, 3) / 9, dims=("sex", "region"),
                                                  coords={"region": CELLS["region"], "sex": CELLS["sex"]}))
    at, said = rows_of(ax)
    assert said == {"west, f": "100", "west, m": "200", "east, f": "1,300", "east, m": "400", "north, f": "500",
                    "north, m": "600"}
    true = next(line for line in ax.lines if line.get_label() == "truth")
    assert np.isclose(dict(zip(true.get_ydata(), true.get_xdata()))[at["east, m"]], 4 / 9)
    plt.close(ax.figure)
    ax = db.plot_groups(draws.stack(cell=("region", "sex")))
    assert set(rows_of(ax)[0]) == set(at)  # no tuples
    plt.close(ax.figure)


def test_sizes_of_a_release_are_shown_without_being_asked_for():
    import matplotlib.pyplot as plt
    private = db.Grouped(db.Categorical(["left", "right"], "vote"), "g", ["a", "b"])
    r = db.simulate_release(private, {"probabilities": [[0.2, 0.8], [0.5, 0.5]]}, [40, 900], 1.0, seed=1)
    said = rows_of(ax := db.plot_groups(db.fit(r, progress=False)))[1]
    assert set(said) == {"a, left", "a, right", "b, left", "b, right"} and said["b, left"] == said["b, right"]
    assert " ± " in said["a, left"]
    plt.close(ax.figure)
    public = db.Grouped(db.Bernoulli("x"), "g", ["a", "b"], sizes="public")
    r = db.simulate_release(public, {"probability": [0.2, 0.8]}, [40, 900], 1.0, seed=1)
    one, two = db.fit(r, progress=False), db.fit(r, pool="partial", draws=100)
    for each in (one, two, one.posterior):
        assert rows_of(ax := db.plot_groups(each))[1] == {"a": "40", "b": "900"}
        plt.close(ax.figure)
    assert set(rows_of(ax := db.plot_groups(one, sizes=False))[1].values()) == {None}
    plt.close(ax.figure)


def test_pictures_side_by_side_do_not_lie_on_one_another():
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(1, 2, figsize=(9, 3))
    for ax in axes:
        db.plot_groups(by_two(), ax=ax)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    left, right = (ax.get_tightbbox(renderer) for ax in axes)
    assert left.x1 <= right.x0 + 1 and left.x0 >= 0 and right.x1 <= figure.bbox.x1 + 1
    plt.close(figure)


def no_success(seed):
    "A share of a noisy table with hardly a success, and one with many, under a prior that has an end at 0."
    tables = [db.declare(db.Bernoulli(), [z], n=300, noise=db.Laplace(scale=1.0), source=f"table {z}") for z in (60, 1)]
    return [db.fit(table, db.Beta(0.02, 1.0), seed=seed, progress=False) for table in tables]


def moments_that_repeat(frames):
    "Is every mean that is shown the same within a factor of 2, whatever the seed?"
    mean = np.array([frame["mean"][0] for frame in frames])
    return bool(np.isnan(mean).all() or mean.max() < 2 * mean.min())


@pytest.mark.parametrize("how", ["ratio", "odds_ratio", lambda a, b: a / b])
def test_a_ratio_without_a_mean_shows_its_median_only(how, monkeypatch):
    results = [no_success(seed) for seed in range(3)]
    with pytest.warns(UserWarning, match=r"1 of 1 lines: mean and sd are left out \(NaN\)"):
        frames = [db.contrast(a, other=b, how=how) for a, b in results]
    for frame in frames:
        assert list(frame.columns) == ["mean", "sd", "low", "median", "high", "above", "direction"]
        assert frame[["mean", "sd"]].isna().all(axis=None) and frame["median"][0] > 3
        assert frame["low"][0] < frame["median"][0] < frame["high"][0]
    assert moments_that_repeat(frames)
    from dp_bayes_nb.posterior import contrasts
    monkeypatch.setattr(contrasts, "heavy_tailed", lambda values: np.zeros(values.shape[1], bool))  # as it was
    assert not moments_that_repeat([db.contrast(a, other=b, how=how) for a, b in results])


def test_ratios_that_have_a_mean_keep_it(recwarn):
    rng = np.random.default_rng(3)
    for successes in (8, 40, 150):
        x = rng.beta([40.0, 1.0 + successes], [261.0, 301.0 - successes], (4, 1000, 2))
        draws = xr.DataArray(x, dims=("chain", "draw", "group"), coords={"group": ["a", "b"]}, name="share")
        for how in WAYS:
            assert np.isfinite(db.contrast(draws, how=how)[["mean", "sd"]].to_numpy()).all(), (successes, how)
    assert not recwarn.list


def test_levels_before_others_need_a_dimension_with_an_order():
    "Of areas by weeks 'b, 1' does not come after 'a, 3'."
    draws = xr.DataArray(np.arange(12.0).reshape(1, 2, 2, 3), dims=("chain", "draw", "area", "week"),
                         coords={"area": ["a", "b"], "week": [1, 2, 3]})
    for against in ("previous", 2):
        with pytest.raises(ValueError, match="dim must be that of area, week along which levels come"):
            db.contrast(draws, against=against)
        table = db.contrast(draws, dim="week", against=against)
        assert set(table["mean"]) == {1.0 if against == "previous" else 2.0}
    assert len(db.contrast(draws, against="rest")) == 6


def test_a_ratio_is_refused_for_the_cells_that_may_be_0_only():
    "A count of another cell that was 0 once does not take the ratio of two others away."
    rng = np.random.default_rng(5)
    draws = np.stack([rng.integers(20, 40, (2, 300)), rng.integers(5, 10, (2, 300)), rng.integers(0, 3, (2, 300))], -1)
    array = xr.DataArray(draws.astype(float), dims=("chain", "draw", "cell"), coords={"cell": ["a", "b", "none"]})
    found = db.contrast(array, a="a", b="b", how="ratio")
    assert found["median"][0] == np.median(draws[..., 0] / draws[..., 1])
    for a, b in (("a", "none"), ("none", "a"), (None, None)):
        with pytest.raises(ValueError, match="'difference' where a draw is 0 or negative"):
            db.contrast(array, a=a, b=b, how="ratio")
