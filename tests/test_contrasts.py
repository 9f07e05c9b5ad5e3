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
SIZE = {"few": (300, 24), "many": (3000, 250)}  # pairs of groups; pooled releases


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
    _, r = db.simulate_release(seed, model, {"probability": truth}, sizes, 1.0)
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
    _, r = db.simulate_release(seed, model, {"probability": truth}, sizes, 0.5)
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
    return db.simulate_release(seed, db.Bernoulli("ill"), {"probability": 0.3}, n, 1.0, **more)[1]


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
