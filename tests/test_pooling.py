"""Partial pooling from outside: few groups, odd groups, many groups, and what is refused."""

import numpy as np
import pytest

import dp_bayes_nb as dp
from dp_bayes_nb.posterior.fit import posterior_draws
from dp_bayes_nb.fields.pooled_groups import pooled_draws
from dp_bayes_nb.base.measurement import Measurement, Noise


def counts(z, n, scale=2.0):
    "Measurements of counts with Laplace noise."
    return [Measurement(np.array([float(a)]), Noise("laplace", np.array([scale]), np.ones(1)), float(b))
            for a, b in zip(z, n)]


def draw(z, n, prior=None, shape=(1, 400), scale=2.0, words=(1, 2, 3, 4), sizes=True):
    return pooled_draws(words, dp.Bernoulli(), counts(z, n, scale), n if sizes else None, prior, shape)


def declared(z, n, source):
    return dp.declare(dp.Bernoulli(), [z], noise=dp.Laplace(scale=2.0, discrete=True), n=n, source=source)


@pytest.mark.parametrize("z, n", [([1], [1]), ([-9], [20]), ([4], [10]), ([3, 40], [10, 50]),
                                  ([30] * 10, [100] * 10), ([-3, 50, 900, 1, 0, 7], [4, 100, 1000, 1, 1, 9])],
                         ids=["one record", "empty", "one group", "two groups", "identical", "mixed"])
def test_small_and_odd_groups(z, n):
    out = draw(z, n)
    assert out["probability"].shape == (1, 400, len(z))
    assert np.all((out["probability"] >= 0) & (out["probability"] <= 1)) and np.all(out["spread"] > 0)
    assert np.all(np.isfinite(out["location"])) and out["efficiency"] > 0.1


def test_an_empty_group_that_says_little_is_pulled_to_the_others():
    prior = dp.Pooled(slope=False)
    alone = draw([-9], [20], prior, scale=20.0)["probability"]
    among = draw([-9, *[500] * 9], [20, *[1000] * 9], prior, scale=20.0)["probability"][..., 0]
    assert 0.3 < among.mean() < 0.6 and among.std() < 0.6 * alone.std()


def test_identical_groups_have_no_spread_and_groups_that_differ_have_one():
    same = draw([500] * 10, [1000] * 10)["spread"]
    apart = draw(np.linspace(50, 950, 10), [1000] * 10)["spread"]
    assert np.median(same) < 0.1 < 0.8 < np.median(apart)


def test_two_groups_far_apart_keep_their_shares():
    out = draw([20, 970], [1000, 1000])["probability"][0].mean(0)
    assert abs(out[0] - 0.02) < 0.01 and abs(out[1] - 0.97) < 0.01


def test_one_unlike_group_spreads_normal_effects_but_not_t3():
    z, n = [*np.tile([290, 310], 10), 970], [1000] * 21
    t3, normal = (draw(z, n, dp.Pooled(effects, slope=False))["spread"] for effects in ("t3", "normal"))
    assert 2.5 * np.median(t3) < np.median(normal)


def test_large_groups_have_grids_of_their_own():
    n = np.array([50_000, 10**6, 3 * 10**7])
    out = draw(0.3 * n, n, dp.Pooled(slope=False))["probability"][0]
    wanted = np.sqrt(0.21 / n + 8 / n**2)
    assert np.all(np.abs(out.mean(0) - 0.3) < 6 * wanted / 20)
    assert np.all(out.std(0) < 1.2 * wanted) and out.std(0)[0] > 0.6 * wanted[0] / np.sqrt(3)


def test_the_slope_is_there_where_sizes_differ():
    n = np.round(np.geomspace(10, 3000, 20))
    share = 1 / (1 + np.exp(-(-1 + 0.4 * (np.log(n) - np.log(n).mean()))))
    out = draw(np.round(share * n), n)
    assert abs(out["slope"].mean() - 0.4) < 0.15
    assert "slope" not in draw([30] * 10, [100] * 10)


def test_covariates():
    rain = np.arange(12.0)
    z = 1000 / (1 + np.exp(-(-2 + 0.2 * rain)))
    out = draw(z, [1000] * 12, dp.Pooled(covariates={"rain": rain}))
    assert out["effect"].shape == (1, 400, 1) and abs(out["effect"].mean() - 0.2) < 0.05
    for bad in (rain[:5], np.r_[rain[:-1], np.nan], np.ones(12), list("abcdefghijkl")):
        with pytest.raises(ValueError, match="covariates"):
            draw(z, [1000] * 12, dp.Pooled(covariates={"rain": bad}))


@pytest.mark.parametrize("wrong", [{"effects": "cauchy"}, {"scale": 0}, {"scale": "wide"}, {"slope": 2},
                                   {"location": 3}, {"location": (0, -1)}, {"location": (np.nan, 1)},
                                   {"covariates": [1, 2]}])
def test_priors_that_are_refused(wrong):
    with pytest.raises(ValueError):
        dp.Pooled(**wrong)


def test_what_is_refused():
    with pytest.raises(ValueError, match="slope"):
        draw([3, 4], [10, 20], dp.Pooled(slope=True), sizes=False)
    with pytest.raises(ValueError, match="prior must be a Pooled"):
        draw([3, 4], [10, 20], dp.Beta(1.0, 1.0))
    releases = [declared(3, 10, "a"), declared(5, 20, "b")]
    with pytest.raises(ValueError, match="pool must be"):
        dp.fit(releases, pool="complete")
    with pytest.raises(ValueError, match="method must be 'auto'"):
        dp.fit(releases, pool="partial", method="gibbs")


def test_a_result_has_names_and_can_be_saved_loaded_checked_and_drawn(tmp_path):
    import arviz as az
    releases = [declared(z, n, f"Office {k}") for k, (z, n) in enumerate([(3, 10), (50, 200), (300, 900)])]
    idata = dp.fit(releases, pool="partial", draws=200, chains=2)
    assert list(idata.posterior["probability"]["table"].values) == ["Office 0", "Office 1", "Office 2"]
    assert {"location", "spread", "new_group"} < set(idata.posterior.data_vars)
    assert "Office 1" in idata.attrs["provenance"] and idata.attrs["pool"] == "partial"
    idata.to_netcdf(tmp_path / "fit.nc")
    again = az.from_netcdf(tmp_path / "fit.nc")
    assert again.posterior["probability"].equals(idata.posterior["probability"])
    assert dp.predictive_check(again, draws=50)["p_value"].shape == (3,)
    with pytest.raises(ValueError, match="predict does not apply to pooled tables"):
        dp.predict(idata)
    dp.plot_posterior(idata)


def test_private_sizes_are_pooled_and_a_correlation_is_said():
    n = np.round(np.geomspace(20, 4000, 24)).astype(int)
    share = 1 / (1 + np.exp(-(-1 + 0.5 * (np.log(n) - np.log(n).mean()))))
    releases = [dp.simulate_release(dp.Bernoulli(), {"probability": p}, int(k), 2.0, neighbours="add_remove",
                                    n_max=10_000, seed=j) for j, (p, k) in enumerate(zip(share, n))]
    drawn = posterior_draws(releases, pool="partial", draws=300, chains=1)
    big = drawn.theta["probability"][0].mean(0)[-5:]
    assert np.all(np.abs(big - share[-5:]) < 0.05) and "slope" not in drawn.theta
    with pytest.warns(UserWarning, match="small tables differ from large ones"):
        dp.fit(releases, pool="partial", draws=300, chains=1)


@pytest.mark.parametrize("G", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_many_groups(G):
    rng = np.random.default_rng(0)
    n = np.round(np.exp(rng.uniform(np.log(5), np.log(5000), G)))
    share = 1 / (1 + np.exp(-(-0.5 + 0.4 * rng.standard_normal(G))))
    z = rng.binomial(n.astype(int), share) + np.round(rng.laplace(0, 2, G))
    out = draw(z, n, shape=(1, 60))["probability"][0]
    alone = np.clip(z / n, 0, 1)
    assert np.sqrt(np.mean((out.mean(0) - share) ** 2)) < 0.6 * np.sqrt(np.mean((alone - share) ** 2))


GROUPS = dict(by="region", levels=["a", "b", "c", "d"])


def test_groups_of_one_release_are_what_separate_releases_are():
    from dp_bayes_nb.fields.pooled_groups import what_is_pooled
    z, n = [3, 50, 300, 2], [10, 200, 900, 0]
    ill = dp.Grouped(dp.Bernoulli("x"), **GROUPS, sizes="public")
    one = what_is_pooled([dp.declare(ill, z, noise=dp.Laplace(scale=2.0, discrete=True), n=n, source="us")])
    assert [(float(m.z[0]), float(m.n)) for m in one.seen] == list(zip(z, n)) and one.axes == {"region": tuple("abcd")}
    out = pooled_draws((1, 2, 3, 4), one.family, one.seen, one.sizes, None, (1, 400))["probability"]
    assert np.array_equal(out, draw(z, n)["probability"])


def test_pooled_groups_of_private_sizes_have_their_axis():
    ill = dp.Grouped(dp.Bernoulli("x"), **GROUPS)
    release = dp.simulate_release(ill, {"probability": [0.1, 0.12, 0.15, 0.5]}, [400, 6, 1000, 2000], 1.0, seed=1)
    posterior = dp.fit(release, pool="partial", draws=200, chains=2).posterior
    assert posterior["probability"].dims == ("chain", "draw", "region") and posterior.attrs["pool"] == "partial"
    alone = dp.fit(release, draws=200, chains=2).posterior["probability"]
    assert posterior["probability"].sel(region="b").std() < alone.sel(region="b").std()
    assert abs(float(posterior["probability"].sel(region="d").mean()) - 0.5) < 0.05


def test_covariates_have_the_axes_of_the_groups():
    ill = dp.Grouped(dp.Bernoulli("x"), ("region", "sex"), {"region": 3, "sex": ["f", "m"]}, sizes="public")
    release = dp.simulate_release(ill, {"probability": 0.1 * np.arange(1, 7).reshape(3, 2)},
                                     [[900, 800], [700, 900], [600, 500]], 2.0, seed=1)
    rain = np.arange(6.0).reshape(3, 2)
    posterior = dp.fit(release, dp.Pooled(covariates={"rain": rain}), pool="partial", draws=200, chains=1).posterior
    assert posterior["probability"].dims[2:] == ("region", "sex") and float(posterior["effect"].mean()) > 0.2
    with pytest.raises(ValueError, match="covariates"):
        dp.fit(release, dp.Pooled(covariates={"rain": rain.T}), pool="partial")
    with pytest.raises(ValueError, match="one release of groups"):
        other = dp.simulate_release(ill, {"probability": np.full((3, 2), 0.2)}, [[90, 80]] * 3, 2.0, seed=2)
        dp.fit([release, other], pool="partial")
    with pytest.raises(ValueError, match="prior must be a Pooled"):
        dp.fit(release, dp.Beta(1.0, 1.0), pool="partial")
    with pytest.raises(ValueError, match="fit.release. has all groups"):
        dp.fit_many([release])


def worse(monkeypatch, shift):
    "Proposals whose location is `shift` standard deviations off."
    from dp_bayes_nb.fields import pooling
    right = pooling.shape_of

    def wrong(curves, hyper):
        shape = right(curves, hyper)
        return shape._replace(mode=shape.mode + shift * shape.root[:, :, 0])
    monkeypatch.setattr(pooling, "shape_of", wrong)


def test_draws_are_worth_what_their_weights_say(monkeypatch):
    worse(monkeypatch, 12.0)
    releases = [declared(z, 1000, f"Office {k}") for k, z in enumerate([290, 310, 300, 350, 270, 330, 280, 300])]
    with pytest.warns(UserWarning, match="the 400 draws are worth [0-9]+ independent ones"):
        idata = dp.fit(releases, dp.Pooled("normal"), pool="partial", draws=200, chains=2)
    worth = float(idata.sample_stats["effective"][0, 0])
    assert worth < 200
    for variable in idata.posterior.data_vars.values():
        assert np.max(variable.attrs["ess_bulk"]) <= worth and np.max(variable.attrs["ess_tail"]) <= worth


@pytest.mark.slow
def test_more_proposals_are_made_where_they_are_worth_little(monkeypatch):
    rng = np.random.default_rng(1)
    n, z = [10_000] * 300, rng.binomial(10_000, 1 / (1 + np.exp(-0.4 * rng.standard_normal(300))))
    for shift in (0.0, 1.5):
        with monkeypatch.context() as patch:
            worse(patch, shift)
            out = draw(z, n, dp.Pooled("normal", slope=False), shape=(1, 2000))
        assert out["efficiency"] > 0.7 if shift == 0 else out["efficiency"] < 0.6
        assert out["effective"] == 2000 or shift and out["effective"] > 1800
        assert len(np.unique(out["location"])) > 1500


class TestNames:
    "Covariates of the groups a, b, c, …, whose shares rise with the rain."
    rain = np.arange(8.0)
    levels = list("abcdefgh")

    def effect(self, covariates, sign=1.0):
        ill = dp.Grouped(dp.Bernoulli("x"), "region", self.levels, sizes="public")
        z = np.round(1000 / (1 + np.exp(-sign * (-1 + 0.3 * self.rain))))
        release = dp.declare(ill, z, noise=dp.Laplace(scale=2.0, discrete=True), n=[1000] * 8, source="us")
        return dp.fit(release, dp.Pooled(covariates=covariates), pool="partial", draws=200, chains=1)

    def test_covariates_are_read_by_the_names_of_groups(self):
        import pandas as pd
        import xarray as xr
        rain = pd.Series(self.rain, self.levels)
        array = xr.DataArray(self.rain[::-1], dims="region", coords={"region": self.levels[::-1]})
        wanted = self.effect({"rain": self.rain}).posterior["effect"]
        assert abs(float(wanted.mean()) - 0.3) < 0.05
        for given in (rain[::-1], array, dict(rain[::-1]), rain[::-1].to_frame("rain")):
            assert self.effect({"rain": given}).posterior["effect"].equals(wanted)
        for bad in (rain.rename({"a": "z"}), rain[1:], pd.concat([rain, rain[:1]]), array.rename(region="place")):
            with pytest.raises(ValueError, match="rain"):
                self.effect({"rain": bad})

    def test_covariates_of_tables_are_read_by_their_sources(self):
        import pandas as pd
        releases = [declared(np.round(1000 / (1 + np.exp(1 - 0.3 * r))), 1000, name)
                    for r, name in zip(self.rain, self.levels)]
        rain = pd.Series(self.rain, self.levels)[::-1]
        found = dp.fit(releases, dp.Pooled(covariates={"rain": rain}), pool="partial", draws=200, chains=1)
        assert abs(float(found.posterior["effect"].mean()) - 0.3) < 0.05

    @pytest.mark.parametrize("name", ["slope", "location", "spread", "probability"])
    def test_a_covariate_may_have_any_name(self, name):
        posterior = self.effect({name: self.rain}).posterior
        assert list(posterior["covariate"].values) == [name] and abs(float(posterior["effect"].mean()) - 0.3) < 0.05

    def test_a_new_group_with_covariates(self):
        idata = self.effect({"rain": self.rain})
        logit = lambda share: np.log(share / (1 - share))
        at = dp.predict(idata, {"rain": [3.5, 13.5]})
        assert at.dims == ("chain", "draw", "row") and at.shape == (1, 200, 2) and at.name == "probability"
        assert dp.predict(idata, new_data={"rain": 1}, draws=20).shape == (1, 20, 1)
        middle, far = logit(at).median(("chain", "draw")).values
        assert abs(middle - float(logit(idata.posterior["new_group"]).median())) < 0.1
        assert abs(far - middle - 10 * float(idata.posterior["effect"].median())) < 0.2
        for bad in ({}, {"sun": 1}, {"rain": 1, "n": 3}, {"rain": [1, np.nan]}, {"rain": [[1, 2]]}):
            with pytest.raises(ValueError, match="new_data"):
                dp.predict(idata, bad)
        del idata.posterior.attrs["centers"]  # a result of a version before 0.5.0
        for given in ({"rain": 1}, None):
            with pytest.raises(ValueError, match="versions before 0.5.0, .* fit them again"):
                dp.predict(idata, given)


def test_a_new_group_has_a_size_where_there_is_a_slope():
    n = np.round(np.geomspace(10, 3000, 20))
    share = 1 / (1 + np.exp(-(-1 + 0.4 * (np.log(n) - np.log(n).mean()))))
    releases = [declared(round(p * k), int(k), f"Office {k}") for p, k in zip(share, n)]
    idata = dp.fit(releases, dp.Pooled("normal"), pool="partial", draws=300, chains=1)
    small, large = dp.predict(idata, {"n": [10, 3000]}).median(("chain", "draw")).values
    assert abs(small - share[0]) < 0.1 and abs(large - share[-1]) < 0.1


def test_the_help_of_a_prior_names_each_argument():
    import dataclasses
    assert all(f"`{field.name}`" in dp.Pooled.__doc__ for field in dataclasses.fields(dp.Pooled))


def test_a_third_look_finds_a_spread_that_many_groups_make_narrow(monkeypatch):
    from dp_bayes_nb.fields import pooling
    G = 1000
    centers = np.random.default_rng(1).standard_normal((G, 1)) * 0.4
    curves = pooling.tabulate_curves(lambda x: -0.5 * ((x - centers) / 0.01) ** 2,
                                     np.linspace(-3, 3, pooling.POINTS), G)
    hyper = pooling.Hyper("normal", np.ones((G, 1)), np.zeros(1), np.ones(1), 1.0)

    def efficiency():
        shape = pooling.shape_of(curves, hyper)
        proposed = pooling.propose(np.random.default_rng(2), shape, 640)
        return pooling._efficiency(pooling._weighed(curves, hyper, None, *proposed)[-1])
    assert efficiency() > 0.75
    monkeypatch.setattr(pooling, "_SEEN", 0)  # the mutant: two looks
    assert efficiency() < 0.7
