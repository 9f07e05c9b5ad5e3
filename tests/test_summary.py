"""The table of a result and its quantities: of every kind of result, by both generations of ArviZ, from files."""

import warnings

import numpy as np
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.base.checks import must_fail, release_of
from dp_bayes_nb.base.draws import read_netcdf
from dp_bayes_nb.posterior import summary as table
from dp_bayes_nb.posterior.summary import noise_shares
from dp_bayes_nb.regression.exact import pose, settle, table_sums

RUN = {"progress": False, "draws": 200, "warmup": 200}
SHARE = {"probability": 0.3}


def fitted(release, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        return db.fit(release, *args, **{**RUN, **options})


@pytest.fixture(scope="module")
def one():
    return fitted(db.simulate_release(db.Bernoulli(), SHARE, 300, epsilon=0.1, seed=1))


def test_a_file_gives_the_same_table_and_quantities(tmp_path):
    one = fitted(db.declare(db.Bernoulli(), 90, noise=db.Laplace(scale=10), n=300, source="an example"))
    one.to_netcdf(str(tmp_path / "one.nc"))
    back = read_netcdf(tmp_path / "one.nc")
    assert str(db.summary(back)) == str(db.summary(one))
    assert np.array_equal((db.quantity(back) - db.quantity(one)).draws, np.zeros(800))


def line(covariates, **options):
    return db.LinearRegression(covariates, {"wage": (0, 100)}, **options)


def test_the_sums_of_a_regression_are_kept_in_the_order_of_their_names():
    "The sampler has categories first: its table of the released sums, read in our order, is the release."
    model = line({"age": (20, 60), "region": ["n", "s", "w"], "size": (0, 1)})
    z = np.arange(1.0, 1 + len(model.names))
    problem, box = pose(model, release_of(z, 5.0, 500), model.accept(db.NormalInverseGamma(0.0, 1e-6, 2.0, 100.0)))
    here = settle(model, problem, box, None).place
    in_order = lambda here: np.testing.assert_allclose(table_sums(problem.blocks, problem.seen)[here], z)
    in_order(here)
    must_fail(lambda: in_order(np.argsort(here)), "the order the other way round")


def test_no_sums_are_kept_of_many_columns_and_of_fourth_moments():
    kept = lambda model: settle(model, None, None, None).place is not None
    assert kept(line({f"x{j}": (0, 1) for j in range(8)})) and not kept(line({f"x{j}": (0, 1) for j in range(10)}))
    assert not kept(line({"x": (0, 1)}, fourth_moments=True))


@pytest.mark.parametrize("model, theta, prior", [
    (db.Poisson((0, 30)), {"rate": 3.0}, db.Gamma(1.0, 0.2)),
    (db.Exponential((0, 30)), {"rate": 0.4}, db.Gamma(1.0, 1.0)),
    (db.Normal((0, 100)), {"mean": 40.0, "variance": 100.0}, db.NormalInverseGamma(0.0, 0.01, 2.0, 100.0)),
    (db.Categorical(["a", "b", "c"]), {"probabilities": [0.2, 0.5, 0.3]}, None),
], ids=lambda each: type(each).__name__)
def test_shares_are_what_a_fit_without_noise_leaves(model, theta, prior):
    "The definition, with a second fit: the variance given nearly exact sums, as a part of that given noisy ones."
    release = lambda epsilon: db.simulate_release(model, theta, 1000, epsilon=epsilon, seed=2)
    noisy, exact = (fitted(release(epsilon), prior, draws=1000) for epsilon in (0.1, 1e5))
    found, variances = noise_shares(noisy), [idata.posterior.var(("chain", "draw")) for idata in (noisy, exact)]
    assert found.keys() == set(model.parameters)
    for name, share in found.items():
        right = 1 - variances[1][name].values / variances[0][name].values
        assert np.all(np.abs(share - right) < 0.12), (name, share, right)
        must_fail(lambda share=share, right=right: np.testing.assert_allclose(share, 1 - np.sqrt(1 - right), atol=0.1),
                  "standard deviations")
        assert np.all(noise_shares(exact)[name] < 0.01)


def test_every_kind_of_result_has_a_table(one):
    groups = db.Grouped(db.Bernoulli("ill"), "district", ["n", "s"])
    private = db.simulate_release(groups, {"probability": [0.3, 0.4]}, [300, 400], epsilon=0.3, seed=1)
    pooled = fitted(private, pool="partial")
    several = fitted([db.simulate_release(db.Bernoulli(), SHARE, n, epsilon=0.1, seed=n) for n in (100, 200, 300, 400)])
    bins = db.declare(db.Histogram((0, 30, 60, 100)), [0, 100, 250, 150, 0, 500], n=500, noise=db.Laplace(scale=2),
                      source="an office")
    histogram = fitted(bins)
    tables = {"groups": fitted(private), "pooled": pooled, "several": several, "histogram": histogram, "one": one}
    text = {name: str(db.summary(idata)) for name, idata in tables.items()}
    assert "probability[n]" in text["groups"] and "Of the posterior" in text["groups"]
    assert "new_group" in text["pooled"] and "partially pooled" in text["pooled"]
    assert "Of the posterior" not in text["pooled"]
    assert "and 1 more releases" in text["several"] and "Of the posterior" in text["several"]
    assert "Of the column in the population: " in text["histogram"]
    assert all(len(line) <= 100 for each in text.values() for line in each.split("\n"))
    assert (db.quantity(pooled, "probability", district="n") < db.quantity(pooled, "probability", district="s")) > 0.5


def test_a_table_of_counts_has_a_table():
    made = db.declare(db.Counts(["a", "b"]), [10, 20], noise=db.Laplace(scale=2), source="an office")
    text = str(db.summary(fitted(made)))
    assert "an office" in text and "n = " not in text and "Of the posterior" not in text


@pytest.mark.parametrize("model, total, n", [(db.Exponential((0, 4)), 500, 200), (db.Exponential((0, 10)), 800, 200),
                                             (db.Poisson((0, 10)), 1400, 200), (db.Poisson((0, 2)), 250, 400)])
def test_no_share_is_told_where_clipping_matters(model, total, n, monkeypatch):
    "Its update is that of records that are not clipped: by a factor of two wrong for the first of them."
    published = db.declare(model, total, noise=db.Laplace(scale=15), n=n, source="an example")
    result = db.fit(published, db.Gamma(1.0, 1.0), seed=3, progress=False)
    assert np.isnan(noise_shares(result)["rate"])
    monkeypatch.setattr(table, "_NEAR", 1e9)
    monkeypatch.setattr(table, "_AGREE", 1e9)
    must_fail(lambda: np.testing.assert_(np.isnan(noise_shares(result)["rate"])), "without the guard")


def test_quantities_refuse_what_they_cannot_know():
    theta = {"probability": 0.3}
    made = [db.simulate_release(db.Bernoulli("ill"), theta, 3, epsilon=5.0, seed=seed) for seed in (0, 2)]
    assert made[0].values == made[1].values  # two simulated tables that look alike
    a, b = (db.quantity(db.fit(each, draws=500, seed=3, progress=False), "probability") for each in made)
    for attempt, said in ((lambda: a - b, "two results of one release"), (lambda: a < float("nan"), "finite"),
                          (lambda: bool(a), "compared with a number")):
        with pytest.raises(ValueError, match=said):
            attempt()
    with pytest.raises(ValueError, match="read-only"):
        a.draws[0] = 9.0
    moved = a
    moved += 1
    assert moved.median() == a.median() + 1
