"""Log-linear models through the public names: releases of every kind, files, agreement with naive Bayes, tables."""

import itertools
import json
import warnings
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as dpb
from dp_bayes_nb.command.declarations import parse_prior
from dp_bayes_nb.models.registry import family_from_dict
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.tables import margins

TWO = dpb.LogLinear({"ill": ["no", "yes"], "region": 3}, [("ill", "region"), ("ill",)])
EFFECTS = {"effects": np.array([0.4, 0.3, -0.3, 0.2, 0.1])}
QUICK = dict(draws=150, warmup=150, chains=2, progress=False)


def made_table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 3, n)
    ill = np.where(rng.random(n) < np.array([0.2, 0.4, 0.6])[region], "yes", "no")
    return pd.DataFrame({"ill": ill, "region": region, "half": rng.choice(["a", "b"], n)})


def quiet_fit(release, prior=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few draws
        return dpb.fit(release, prior, **{**QUICK, **options})


def ill_by_region(idata):
    return dpb.table_probabilities(idata, "ill", given="region").sel(ill="yes").mean(("chain", "draw")).values


# ---------------------------------------------------------------- sensitivity


@pytest.mark.parametrize("margins", [[("a", "b"), ("b", "c")], [("a", "b", "c")], [("a",), ("b",), ("c",), ("a", "c")]])
def test_the_sensitivity_is_attained_and_not_exceeded_by_any_two_tables_that_differ_in_a_record(margins):
    model = dpb.LogLinear({"a": 2, "b": 3, "c": 2}, margins)
    cells = np.array(list(itertools.product(range(2), range(3), range(2)))).T
    t = np.stack(model.statistic(dict(zip("abc", cells))), axis=1).astype(float)
    moved = t[:, None] - t
    assert np.abs(moved).sum(-1).max() == model.sensitivity() == 2 * len(margins)
    np.testing.assert_allclose(np.sqrt((moved**2).sum(-1)).max(), model.sensitivity(norm="l2"), rtol=1e-15)
    for norm, power in (("l1", 1), ("l2", 2)):
        largest = np.max((np.abs(t) ** power).sum(-1))
        assert largest == len(margins)
        assert model.size_rows(0, norm).moved ** power >= largest > (0.99 * model.size_rows(0, norm).moved) ** power


# ---------------------------------------------------------------- releases


@pytest.mark.parametrize("made", [
    pytest.param(lambda t: dpb.release(TWO, t, epsilon=2.0), marks=pytest.mark.slow),  # the program of what is declared
    lambda t: dpb.release(TWO, t, epsilon=2.0, mechanism="gaussian", delta=1e-6),
    pytest.param(lambda t: dpb.release(TWO, t, epsilon=2.0, neighbours="add_remove", n_max=10_000),
                 marks=pytest.mark.slow),
    pytest.param(lambda t: dpb.combine(dpb.release(TWO, t, epsilon=1.0), dpb.release(TWO, t, epsilon=1.0)),
                 marks=pytest.mark.slow),
    lambda t: dpb.declare(TWO, {f"ill={i}, region={j}": 1.0 * ((t["ill"] == i) & (t["region"] == j)).sum()
                                for i in ("no", "yes") for j in range(3)}, n=len(t), noise=dpb.Laplace(scale=2.0),
                          source="a table"),
], ids=["laplace", "gaussian", "add_remove", "combined", "declared"])
def test_every_kind_of_release_gives_the_shares_of_the_table(made):
    table = made_table(6000)
    idata = quiet_fit(made(table))
    shares = (table["ill"] == "yes").groupby(table["region"]).mean().values
    np.testing.assert_allclose(ill_by_region(idata), shares, atol=0.03)


@pytest.mark.slow
def test_groups_have_a_posterior_each():
    table = made_table(6000)
    release = dpb.release(dpb.Grouped(TWO, by="half", levels=["a", "b"]), table, epsilon=2.0)
    assert dpb.Release.from_json(release.to_json()) == release
    idata = quiet_fit(release)
    assert idata.posterior["effects"].dims == ("chain", "draw", "half", "effect")


def test_a_record_in_a_cell_that_cannot_be_is_refused():
    model = dpb.LogLinear({"ill": ["no", "yes"], "region": 3}, 2, [{"ill": "yes", "region": 2}])
    table = made_table()
    count = ((table["region"] == 2) & (table["ill"] == "yes")).sum()
    with pytest.raises(ValueError, match=f"{count} outside the declared support of 600 records"):
        dpb.release(model, table, epsilon=1.0)
    fine = made_table().query("region < 2 or ill == 'no'")
    release = dpb.release(model, fine, epsilon=2.0)
    p = model.probabilities({"effects": model.start(measured(release))}, ("region", "ill"))
    assert p[2, 1] == 0.0 and abs(p.sum() - 1) < 1e-12


def test_new_records_have_the_levels_of_the_columns():
    idata = quiet_fit(dpb.simulate_release(TWO, EFFECTS, 500, 1.0))
    new = dpb.predict(idata, 200, draws=2)
    assert {*np.unique(new["ill"])} == {"no", "yes"} and {*np.unique(new["region"])} == {0, 1, 2}


def test_few_records_are_warned_of():
    release = dpb.simulate_release(TWO, EFFECTS, 50, 1.0)
    with pytest.warns(UserWarning, match="50 records are few"):
        idata = dpb.fit(release, method="collapsed", **QUICK)
    assert "50 records are few" in idata.posterior.attrs["problems"]
    private = dpb.simulate_release(TWO, EFFECTS, 50, 1.0, neighbours="add_remove", n_max=1000)
    with pytest.warns(UserWarning, match="records are few"):
        dpb.fit(private, **QUICK)
    release = dpb.simulate_release(TWO, EFFECTS, 500, 1.0)
    assert "records" not in quiet_fit(release).posterior.attrs["problems"]


# ---------------------------------------------------------------- mbi


def test_measurements_of_mbi_are_margins_of_a_log_linear_model():
    table = made_table(3000)
    one = lambda values, clique, sd: SimpleNamespace(noisy_measurement=np.asarray(values, float), clique=clique,
                                                     stddev=sd, query=None)
    pairs = pd.crosstab(table["region"], table["ill"]).values  # the other way round than the model's margin
    seen = [one(pairs.ravel(), ("region", "ill"), 5.0), one(pairs.sum(0), ("ill",), 2.0), one([3000], (), 1.0)]
    model = dpb.LogLinear({"ill": ["no", "yes"], "region": 3}, 2)
    domain = {"ill": 2, "region": 3, "unseen": 10**6}
    made = dpb.from_mbi(seen, domain, noise="gaussian", model=model, source="made here", n=3000)
    s = np.array([[((table["ill"] == i) & (table["region"] == j)).sum() for j in range(3)] for i in ("no", "yes")])
    np.testing.assert_array_equal(measured(made).observed(s.ravel().astype(float)), made.values)
    shares = (table["ill"] == "yes").groupby(table["region"]).mean().values
    np.testing.assert_allclose(ill_by_region(quiet_fit(made)), shares, atol=0.03)
    with pytest.raises(ValueError, match="one of them holds the measured columns"):
        dpb.from_mbi(seen, domain, noise="gaussian", source="made here",
                     model=dpb.LogLinear({"ill": 2, "region": 3}, 1))


# ---------------------------------------------------------------- naive Bayes


def test_margins_of_a_class_and_its_features_are_naive_bayes():
    """The same release: twelve counts of 20,000 records at ε = 1, where both priors weigh little. Posterior means of
    all probabilities within 0.2 posterior sd of each other, and sds within 15%: of 400 or more effective draws,
    a mean has an error of 0.05 sd or less, and an sd of 4%; the priors weigh about one record in a hundred of a cell.
    """
    bayes = dpb.NaiveBayes(("y", ["no", "yes"]), {"a": 3, "b": 3})
    table = dpb.LogLinear({"y": ["no", "yes"], "a": 3, "b": 3}, [("y", "a"), ("y", "b")])
    theta = {"class_probabilities": [0.4, 0.6], "a": [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]],
             "b": [[0.3, 0.3, 0.4], [0.2, 0.5, 0.3]]}
    release = dpb.simulate_release(bayes, theta, 20_000, 1.0, seed=3)
    other = dpb.declare(table, dict(zip(table.names, release.values)), n=20_000, source="the same",
                        noise=dpb.Laplace(scale=float(release.noise.scale[0]), discrete=True))
    one = quiet_fit(release, draws=1000, warmup=300, chains=2)
    two = quiet_fit(other, draws=1000, warmup=300, chains=2)
    for name in ("a", "b"):
        first, second = one.posterior[name].values, dpb.table_probabilities(two, name, given="y").values
        sd = first.std((0, 1))
        assert np.abs((first.mean((0, 1)) - second.mean((0, 1))) / sd).max() < 0.2
        assert np.abs(second.std((0, 1)) / sd - 1).max() < 0.15
        assert np.abs((first.mean((0, 1)) - second.mean((0, 1))[:, ::-1]) / sd).max() > 5  # another order of levels


# ---------------------------------------------------------------- elimination


def test_a_model_that_is_too_large_to_list_is_fitted_all_the_same():
    "Ten columns in a ring, by elimination and by the list of 1,024 cells: the same kernel values, start and draws."
    columns = {f"c{k}": 2 for k in range(10)}
    margins = [(f"c{k}", f"c{(k + 1) % 10}") for k in range(10)]
    model = dpb.LogLinear(columns, margins)
    long = Eliminated(columns, margins)
    theta = {"effects": jnp.asarray(np.random.default_rng(0).normal(size=20) / 2)}
    for a, b in zip(model.moments(theta), long.moments(theta)):
        np.testing.assert_allclose(a, b, atol=1e-12)
    np.testing.assert_allclose(model.probabilities(theta, ("c7", "c2")), long.probabilities(theta, ("c7", "c2")),
                               atol=1e-12)
    n, keys = 500.0, jax.random.split(jax.random.key(0), 2000)
    mean, covariance = model.moments(theta)
    s = np.asarray(jax.jit(jax.vmap(lambda key: long.simulate(key, theta, n)))(keys))
    error = np.sqrt(np.diagonal(covariance) * n / 2000)
    assert (np.abs(s.mean(0) - n * mean) < 5 * error).all()
    assert not (np.abs(s.mean(0) - n * np.roll(mean, 1)) < 5 * error).all()


@dpb.family_class
class Eliminated(dpb.LogLinear):
    "The same model where a list of cells is thought too long."
    enumerated = False


@pytest.mark.slow
def test_a_grid_of_twenty_columns():
    "4 × 5 columns, 31 margins: two million cells as far as a list would go; half of the intervals hold the truth."
    columns = {f"c{i}{j}": 2 for i in range(4) for j in range(5)} | {"more": 2}
    margins = [(f"c{i}{j}", f"c{i}{j + 1}") for i in range(4) for j in range(4)]
    margins += [(f"c{i}{j}", f"c{i + 1}{j}") for i in range(3) for j in range(5)] + [("c00", "more")]
    model = dpb.LogLinear(columns, margins)
    assert not model.enumerated
    theta = {"effects": np.random.default_rng(1).normal(size=model.design.shape[1]) * 0.5}
    release = dpb.simulate_release(model, theta, 10_000, 1.0)
    idata = quiet_fit(release, draws=250, warmup=250)
    x = idata.posterior["effects"].values.reshape(500, -1)
    z = (x.mean(0) - theta["effects"]) / x.std(0)
    assert 0.6 < np.sqrt((z**2).mean()) < 1.5
    assert min(idata.posterior["effects"].attrs["ess_bulk"]) > 50
    assert dpb.table_probabilities(idata, ("c00", "c34")).shape == (2, 250, 2, 2)


# ---------------------------------------------------------------- calibration


@pytest.mark.slow
def test_the_posterior_is_calibrated():
    "60 simulated releases of three columns: no rank of an effect is far from uniform; without the noise it would be."
    model = dpb.LogLinear({"a": 2, "b": 3, "c": 2}, 2)
    found = dpb.calibrate(model, n=300, epsilon=0.5, trials=60, draws=100, warmup=150, seed=1)
    assert min(found.p_values.values()) > 0.01 / len(found.p_values)


def test_files_name_the_model():
    model = dpb.LogLinear({"a": ["x", "y"], "b": 2, "c": 2}, [("b", "a"), ("c",)], [{"a": "x", "b": 1}])
    assert family_from_dict(json.loads(json.dumps(model.to_dict()))) == model
    assert model != dpb.LogLinear({"a": ["x", "y"], "b": 2, "c": 2}, [("b", "a"), ("c",)])


def test_a_list_of_names_is_not_taken_for_a_margin_or_for_margins():
    with pytest.raises(ValueError, match="margins must be a list of margins"):
        dpb.LogLinear({"a": 2, "b": 2}, ["a", "b"])
    assert dpb.LogLinear({"a": 2, "b": 2}, [("a",), ("b",)]).margins == (("a",), ("b",))


def test_records_in_impossible_combinations_are_refused_by_that_name():
    model = dpb.LogLinear({"age": ["child", "adult"], "work": ["no", "yes"]}, 2, [{"age": "child", "work": "yes"}])
    table = {"age": ["child"] * 30 + ["adult"] * 70, "work": ["yes"] * 7 + ["no"] * 93}
    with pytest.raises(ValueError, match="7 outside in combinations of columns.*declares these combinations"):
        dpb.release(model, pd.DataFrame(table), epsilon=1.0)


def test_priors_of_tables_are_written_in_the_command():
    assert float(parse_prior("Shrinkage(2, 0.5)").scale) == 2 and float(parse_prior("NormalEffects(1)").decay) == 0.5
    assert float(parse_prior("NormalCoefficients(3)").sd) == 3 and parse_prior("InformationPrior()").sd == 10
    with pytest.raises(ValueError, match="Shrinkage"):
        parse_prior("Shrinkage(2, sizes=3)")


def test_probabilities_given_a_level_that_cannot_be_are_nan(monkeypatch):
    "Nobody has the level, so nothing is known of them; the other levels are as they were, and nothing warns."
    model = dpb.LogLinear({"ill": ["no", "yes"], "region": 3}, 2, zeros=[{"region": 2}])
    theta = {"effects": jnp.asarray(np.random.default_rng(0).normal(size=(4, *model.parameters["effects"].shape)))}
    monkeypatch.setattr(margins, "_of_cells", lambda idata: (model, theta, (2, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpb.table_probabilities(None, "ill", given="region")
    assert np.isnan(found.sel(region=2)).all()
    np.testing.assert_allclose(found.sel(region=[0, 1]).sum("ill"), 1.0, rtol=1e-12)
    assert np.all(dpb.table_probabilities(None, "region").sel(region=2) == 0)


def test_a_cross_table_is_declared_as_it_is():
    "Of two columns in any order, with its names; one of other columns or levels is refused by the name of a cell."
    table = made_table(400)
    said = dict(n=400, noise=dpb.Laplace(scale=1.0), source="a table")
    model = dpb.LogLinear({"ill": ["no", "yes"], "region": 3}, [("ill", "region")])
    counts = [((table["ill"] == i) & (table["region"] == j)).sum() for i in ("no", "yes") for j in range(3)]
    for given in (pd.crosstab(table["ill"], table["region"]), pd.crosstab(table["region"], table["ill"]),
                  table[["region", "ill"]].value_counts()):
        np.testing.assert_array_equal(dpb.declare(model, given, **said).values, counts)
    two = dpb.LogLinear({"ill": ["no", "yes"], "region": 3, "half": ["a", "b"]}, [("ill", "region"), ("ill", "half")])
    crossed = [pd.crosstab(table["ill"], table[name]) for name in ("half", "region")]
    np.testing.assert_array_equal(dpb.declare(two, crossed, **said).values[:6], counts)
    with pytest.raises(ValueError, match="cross tables of different columns"):
        dpb.declare(two, [*crossed, crossed[0]], **said)
    with pytest.raises(ValueError, match="ill=All, region=0|ill=no, region=All"):
        dpb.declare(model, pd.crosstab(table["ill"], table["region"], margins=True), **said)
    with pytest.raises(ValueError, match="half=a"):
        dpb.declare(model, pd.crosstab(table["ill"], table["half"]), **said)


def test_diagnostics_of_a_nuisance_come_last_and_only_where_chains_plainly_disagree():
    from dp_bayes_nb.base.draws import inference_data
    from dp_bayes_nb.posterior.diagnose import _attach, _mixing_problems
    rng = np.random.default_rng(0)
    def problems(shift):
        draws = {"nuisance": rng.normal(size=(4, 500)) + shift * np.arange(4)[:, None],
                 "main": np.repeat(rng.normal(size=(4, 20)), 25, axis=1)}  # too few effective draws
        idata = inference_data({"posterior": draws})
        for variable in dict(idata.posterior.data_vars).values():
            _attach(variable)
        return _mixing_problems(idata, ("nuisance",)), _mixing_problems(idata)
    fine, _ = problems(0.0)
    assert fine and not any("nuisance" in each for each in fine)
    found, plain = problems(1.0)
    assert [("nuisance" in each) for each in found if "rhat" in each][-1] and any("nuisance" in each for each in plain)
