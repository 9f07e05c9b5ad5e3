"""Partial pooling of groups with several coordinates: names and shapes, private sizes, new groups, what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import dp_bayes_nb as dp
from dp_bayes_nb.posterior.fit import posterior_draws
from dp_bayes_nb.fields.pooled_chains import centred, chains_unavailable, draw_effects, parts_of, values_at

LEVELS = ["a", "b", "c"]
RUN = dict(pool="partial", draws=40, warmup=60, chains=2, progress=False)
RESULT = Path(__file__).resolve().parent.parent / "results" / "pooled_chains.json"


def declared(z, source, family=None, scale=2.0, n=None):
    family = family or dp.Categorical(LEVELS)
    return dp.declare(family, z, noise=dp.Laplace(scale=scale, discrete=family.integer), n=n or int(sum(z)),
                      source=source)


@pytest.fixture(scope="module")
def offices():
    "Four offices with a covariate, pooled."
    rain, counts = np.arange(4.0), [[50, 30, 20], [500, 200, 300], [6, 3, 1], [90, 10, 0]]
    releases = [declared(z, f"office {k}") for k, z in enumerate(counts)]
    with pytest.warns(UserWarning):  # forty draws are few
        return dp.fit(releases, dp.Pooled(covariates={"rain": rain}, slope=False), **RUN)


def test_names_and_axes_of_categories(offices):
    posterior = offices.posterior
    assert posterior["probabilities"].dims == ("chain", "draw", "table", "category")
    assert posterior["probabilities"]["table"].values.tolist() == [f"office {k}" for k in range(4)]
    assert posterior["location"].dims[2:] == ("coordinate",) and posterior["spread"].dims == ("chain", "draw")
    assert posterior["location"]["coordinate"].values.tolist() == LEVELS
    assert posterior["effect"].dims[2:] == ("covariate", "coordinate") and posterior["new_group"].dims[2:] == (
        "category",)
    assert np.allclose(posterior["probabilities"].sum("category"), 1)
    assert np.all(np.abs(posterior["probabilities"].mean(("chain", "draw"))[1] - [0.5, 0.2, 0.3]) < 0.05)
    assert offices.confidential["s"].dims == ("chain", "draw", "table", "statistic")


def test_a_pooled_result_is_used_as_any_other(offices, tmp_path):
    import arviz as az
    offices.to_netcdf(tmp_path / "fit.nc")
    again = az.from_netcdf(tmp_path / "fit.nc")
    assert again.posterior["probabilities"].equals(offices.posterior["probabilities"])
    assert dp.predictive_check(again, draws=20)["p_value"].shape == (12,)
    assert len(dp.contrast(again, a="office 0", b="office 1", dim="table")) == 3
    assert len(dp.ranks(again, dim="table")) == 12
    dp.plot_groups(again)
    new = dp.predict(again, {"rain": [0.0, 3.0, 9.0]})
    assert new.dims == ("chain", "draw", "row", "category") and new.shape == (2, 40, 3, 3)
    assert np.allclose(new.sum("category"), 1)
    with pytest.raises(ValueError, match="predict does not apply to pooled tables"):
        dp.predict(offices.copy(), None)
    with pytest.raises(ValueError, match="new_data"):
        dp.predict(again, {"sun": 1})


@pytest.mark.slow
def test_two_parameters_and_private_sizes():
    heights = dp.Grouped(dp.Normal((100, 220), column="cm"), "place", ["x", "y", "z"])
    truth = {"mean": [170.0, 165.0, 175.0], "variance": [90.0, 60.0, 70.0]}
    release = dp.simulate_release(heights, truth, [900, 80, 2000], 2.0, seed=1)
    prior = dp.Pooled(location={"mean": (168, 20)}, scale={"mean": 10})
    with pytest.warns(UserWarning):
        idata = dp.fit(release, prior, **RUN)
    posterior = idata.posterior
    assert posterior["mean"].dims == ("chain", "draw", "place") == posterior["variance"].dims
    assert posterior["spread"].dims[2:] == posterior["location"].dims[2:] == ("coordinate",)
    assert posterior["location"]["coordinate"].values.tolist() == ["mean", "log variance"]
    assert np.all(np.abs(posterior["mean"].mean(("chain", "draw"))[[0, 2]] - [170, 175]) < 3)
    n = idata.confidential["n"]
    assert n.dims[2:] == ("place",) and abs(float(n.mean(("chain", "draw"))[2]) - 2000) < 100
    assert {"new_group_mean", "new_group_variance"} < set(posterior.data_vars)
    assert dp.predictive_check(idata, draws=20)["p_value"].shape == (len(release.values),)


def test_what_is_refused():
    prior = dp.Pooled()
    pays = dp.Grouped(dp.LinearRegression({"age": (18, 90)}, {"wage": (0, 100)}), "place", ["x", "y"], sizes="public")
    release = dp.simulate_release(pays, {"coefficients": [[1.0, 10.0], [0.2, 40.0]],
                                               "noise_variance": [60.0, 60.0]}, [200, 80], 5.0, seed=1)
    with pytest.raises(ValueError, match="LinearRegression has a sampler of its own"):
        dp.fit(release, prior, pool="partial")
    tables = [declared([9, 20, 4], "a"), declared([1, 2, 3], "b")]
    for wrong, words in ((dp.Beta(1.0, 1.0), "prior must be a Pooled"), (dp.Pooled(location=(0, 1)), "left out for"),
                         (dp.Pooled(scale={"rate": 1.0}), "rate"), (dp.Pooled(slope=True, covariates={"x": [1, 1]}),
                                                                    "covariates")):
        with pytest.raises(ValueError, match=words):
            dp.fit(tables, wrong, pool="partial")
    exact = dp.declare(dp.Categorical(LEVELS), [3, 4, 5], n=12, noise=dp.Laplace(scale=0.0), source="exact")
    with pytest.raises(ValueError, match="numbers with noise"):
        dp.fit([exact], pool="partial")
    with pytest.raises(ValueError, match="method must be 'auto'"):
        dp.fit(tables, pool="partial", method="chain")


def test_own_samplers_are_said():
    assert "sampler of its own" in chains_unavailable(dp.Counts(("a", "b")), [])


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0]])
def test_no_category_is_special(order):
    "The effects of new groups have the same distribution whatever the order of the categories."
    parts = parts_of(dp.Categorical(3))
    e = draw_effects(np.random.default_rng(1), parts, "t3", (40_000,)) @ centred(3).T
    assert np.allclose(np.quantile(e[:, order], [0.1, 0.5, 0.9], axis=0), np.quantile(e, [0.1, 0.5, 0.9], axis=0),
                       atol=0.03)
    ratio = e[:, 0] - e[:, 2]  # of any two: t3 with scale 1
    assert np.allclose(np.quantile(ratio, [0.1, 0.9]), [-1.638, 1.638], atol=0.06)
    assert np.abs(ratio).max() <= 20
    theta = values_at(dp.Categorical(3), parts, np.zeros((2, 2)))["probabilities"]
    assert np.allclose(theta, 1 / 3)


def test_the_measured_results_are_as_the_chapter_says():
    found = json.loads(RESULT.read_text())
    assert found["holm"] > 0.01 and found["mutant"]["all"]["coverage"] < 0.8
    assert all(row["to_separate"] < 1 for row in found["conditions"])
    times = {row["groups"]: row["ms_per_step"] for row in found.get("time", [])}
    assert not times or times[2000] < 20 * times[200]  # linear, with room for what a busy machine does


@pytest.mark.slow
def test_groups_that_are_alike_have_no_spread_and_groups_that_differ_have_one():
    same = [declared([500, 300, 200], f"{k}") for k in range(8)]
    apart = [declared(z, f"{k}") for k, z in enumerate(np.random.default_rng(1).multinomial(1000, [[p, 0.9 - p, 0.1]
                                                       for p in np.linspace(0.05, 0.85, 8)]).tolist())]
    run = dict(pool="partial", draws=1000, warmup=500, chains=4, progress=False)
    small, large = (np.median(posterior_draws(each, **run).theta["spread"]) for each in (same, apart))
    assert small < 0.1 < 0.5 < large
