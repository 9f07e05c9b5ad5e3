"""Regression on the whole road: a real table, a file, a posterior, predictions; and every refusal before anything is spent."""

import numpy as np
import pandas as pd
import pytest

from dp_bayes_nb import Ledger, LinearRegression, NormalInverseGamma, NormalInverseWishart, Release, fit, predict, release
from dp_bayes_nb.families import check_prior
from dp_bayes_nb.fit import choose_method

COVARIATES, RESPONSE = {"education": (0, 18), "experience": (-4, 63)}, {"log_wage": (2.0, 11.0)}
FAMILY = LinearRegression(COVARIATES, RESPONSE)
LINE = LinearRegression({"education": (0, 18)}, RESPONSE)  # one covariate: its programs are compiled in a fraction of the time
PRIOR = NormalInverseGamma(0.0, 0.01, 2.0, 0.5)


def wages(n=4000):
    "A table with the shape of AER's CPS1988: heavy tails, whole numbers, values beyond the ranges."
    rng = np.random.default_rng(0)
    education, experience = rng.integers(0, 21, n), np.clip(rng.gamma(2.0, 9.0, n), 0, 70).round()
    log_wage = 4.5 + 0.1 * np.minimum(education, 18) + 0.02 * np.minimum(experience, 63) + 0.6 * rng.normal(size=n)
    return pd.DataFrame({"id": range(n), "log_wage": log_wage, "education": education, "experience": experience})


def without_privacy(table, family):
    "The conjugate posterior mean and standard deviation of the clipped records."
    x = np.column_stack([*(table[name].clip(*COVARIATES[name]) for name in family.columns[:-1]), np.ones(len(table))])
    y = table.log_wage.clip(2, 11)
    precision = 0.01 * np.eye(x.shape[1]) + x.T @ x
    mean = np.linalg.solve(precision, x.T @ y)
    scale = 0.5 + 0.5 * (y @ y - mean @ precision @ mean)
    return mean, np.sqrt(scale / (1 + 0.5 * len(x)) * np.diag(np.linalg.inv(precision)))


def coefficients(idata):
    draws = idata.posterior["coefficients"].values.reshape(-1, idata.posterior.sizes["coefficient"])
    return draws.mean(axis=0), draws.std(axis=0)


@pytest.fixture(scope="module")
def made():
    "A release with next to no noise."
    return release(FAMILY, wages(), epsilon=1e4)


def whole_road(family, path, methods):
    "Release, file, posterior and predictions: next to no noise gives the posterior without privacy; noise widens the exact one, not the naive one."
    table = wages()
    mean, sd = without_privacy(table, family)
    release(family, table, epsilon=1e4).save(path / "wages.json")
    received = Release.load(path / "wages.json")
    for method in methods:
        idata = fit(received, PRIOR, method=method, draws=300, warmup=300, progress=False)
        assert idata.attrs["method"] == {"auto": "exact"}.get(method, method)
        found, spread = coefficients(idata)
        assert np.all(np.abs(found - mean) < 0.35 * sd), (found - mean) / sd
        assert np.all(np.abs(spread / sd - 1) < 0.25)
    rows = pd.DataFrame({"education": [12, 18], "experience": [10, 30]})[list(family.columns[:-1])]
    new = predict(idata, rows)
    assert new.dims == ("chain", "draw", "row") and new.shape == (4, 300, 2)
    assert np.all(np.abs(new.mean(("chain", "draw")).values - np.column_stack([rows, [1, 1]]) @ mean) < 0.1)
    noisy = release(family, table, epsilon=0.3)
    for method in methods:
        _, spread = coefficients(fit(noisy, PRIOR, method=method, draws=300, warmup=300, progress=False))
        assert np.all(spread < 1.5 * sd) if method == "naive" else np.all(spread > 2 * sd)


def test_the_exact_posterior_is_that_without_privacy_where_noise_is_small_and_wider_where_it_is_not(tmp_path):
    whole_road(LINE, tmp_path, ["auto"])


@pytest.mark.slow
@pytest.mark.parametrize("family", [LINE, FAMILY])
def test_the_same_with_naive_beside_it_and_two_covariates(tmp_path, family):
    whole_road(family, tmp_path, ["auto", "naive"])


def through_a_file(path):
    "A release with fourth moments and Gaussian noise, as received."
    family = LinearRegression(COVARIATES, RESPONSE, fourth_moments=True)
    made = release(family, wages(), epsilon=1e4, mechanism="gaussian", delta=1e-6)
    made.save(path / "a.json")
    received = Release.load(path / "a.json")
    assert received == made and received.family == family and len(received.values) == 18
    return received


def test_gaussian_noise_and_fourth_moments_through_a_file(tmp_path):
    received = through_a_file(tmp_path)
    table, n = wages(), 4000
    x = table.education.clip(0, 18) / 9 - 1
    assert received.noise.kind == "gaussian" and np.isclose(received.values[0], x.sum(), atol=8 * received.noise.scale[0])
    assert np.isclose(received.values[3], (x**2).sum(), atol=8 * received.noise.scale[3]) and received.n == n


@pytest.mark.slow
def test_methods_for_fourth_moments_and_gaussian_noise(tmp_path):
    received = through_a_file(tmp_path)
    mean, sd = without_privacy(wages(), FAMILY)
    for method in ("gibbs_noisy", "naive", "exact"):
        found, _ = coefficients(fit(received, PRIOR, method=method, draws=500, warmup=100, chains=2, progress=False))
        assert np.all(np.abs(found - mean) < 0.35 * sd), method


def test_fourth_moments_are_released_with_noise_and_cost_half_of_the_budget():
    family, table = LinearRegression(COVARIATES, RESPONSE, fourth_moments=True), wages(200)
    a, b = release(family, table, epsilon=1.0), release(family, table, epsilon=1.0)
    assert np.all(a.values[9:] != b.values[9:])
    plain = release(FAMILY, table, epsilon=0.5)
    assert a.noise.scale[0] == pytest.approx(plain.noise.scale[0], rel=1e-3)


@pytest.mark.parametrize("covariates, response, said", [
    ({"x": (2, 1)}, {"y": (0, 1)}, "low < high"), ({"x": (1, 1)}, {"y": (0, 1)}, "low < high"), ({"x": (0, 1)}, {"y": (3, 3)}, "low < high"),
    ({"x": ["only"]}, {"y": (0, 1)}, "two or more different levels"), ({"y": (0, 1)}, {"y": (0, 1)}, "not among the covariates"),
    ({"x": (0, float("nan"))}, {"y": (0, 1)}, "finite"), ({}, {"y": (0, 1)}, "covariates must be a dict")])
def test_bad_declarations_are_refused_without_data(covariates, response, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        LinearRegression(covariates, response)


@pytest.mark.parametrize("prior, said", [
    (NormalInverseGamma(np.zeros(2), 1.0, 1.0, 1.0), "education, experience, intercept"), (NormalInverseGamma(0.0, np.eye(2), 1.0, 1.0), "3 numbers"),
    (NormalInverseGamma(0.0, np.diag([1.0, 1.0, -1.0]), 1.0, 1.0), "positive definite"), (NormalInverseGamma(0.0, 1.0, 1.0, 0.0), "prior.scale"), (None, "prior must be")])
def test_bad_priors_are_refused_by_name(made, prior, said):
    with pytest.raises(ValueError, match=said):
        fit(made, prior, progress=False)


def test_few_records_go_to_the_individual_sampler():
    prior = check_prior(FAMILY, PRIOR)
    assert choose_method(FAMILY, prior, "laplace", 3, "auto")[0] == "individual"
    assert choose_method(FAMILY, prior, "laplace", 4, "auto")[0] == "exact"
    with pytest.raises(ValueError, match="'individual'"):
        choose_method(FAMILY, prior, "laplace", 3, "exact")


@pytest.mark.parametrize("options, said", [({"covariate_model": "skewed"}, "covariate_model must be one of"), ({"bounds": 1}, "options must be those that method"),
                                           ({"covariate_prior": NormalInverseWishart(0.0, 1.0, 1.0, 9.0)}, "left out with covariate_model='free'"),
                                           ({"covariate_model": "normal", "covariate_prior": NormalInverseWishart(0.0, 1.0, 1.0, 0.5)}, "covariate_prior.df"),
                                           ({"method": "gibbs_noisy"}, "fourth_moments=True"), ({"method": "individual"}, "too many for one chain")])
def test_bad_options_say_what_to_do(made, options, said):
    with pytest.raises(ValueError, match=said):
        fit(made, PRIOR, progress=False, **options)


def test_nothing_is_spent_on_a_table_that_is_refused_and_no_level_is_shown(tmp_path):
    ledger = Ledger(tmp_path / "ledger.json", epsilon=1)
    family = LinearRegression({"education": (0, 18), "region": ["north", "south"]}, RESPONSE)
    table = wages(50).assign(region="north")
    table.loc[:1, "region"] = "atlantis"
    for data, said in ((table, "got 2 outside the declared support of 50 records"), (table.drop(columns="region"), "region"),
                       (table.assign(education=np.nan), "missing"), (table.assign(education="many"), "education")):
        with pytest.raises(ValueError, match=said) as error:
            release(family, data, epsilon=1.0, ledger=ledger)
        assert "atlantis" not in str(error.value)
    assert str(ledger.spent[0]) == "0"
