"""Regression on the whole road: a real table, a file, a posterior, predictions;
and every refusal before anything is spent.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dp_bayes_nb import (Ledger, LinearRegression, NormalInverseGamma, NormalInverseWishart, Release, fit, predict,
                         release)
from dp_bayes_nb.command.declarations import read_family
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.ways.methods import choose_method

COVARIATES, RESPONSE = {"education": (0, 18), "experience": (-4, 63)}, {"log_wage": (2.0, 11.0)}
FAMILY = LinearRegression(COVARIATES, RESPONSE)
# one covariate: its programs are compiled in a fraction of the time
LINE = LinearRegression({"education": (0, 18)}, RESPONSE)
PRIOR = NormalInverseGamma(0.0, 0.01, 2.0, 0.5)


def wages(n=4000):
    "A table with the shape of AER's CPS1988: heavy tails, whole numbers, values beyond the ranges."
    rng = np.random.default_rng(0)
    education, experience = rng.integers(0, 21, n), np.clip(rng.gamma(2.0, 9.0, n), 0, 70).round()
    log_wage = 4.5 + 0.1 * np.minimum(education, 18) + 0.02 * np.minimum(experience, 63) + 0.6 * rng.normal(size=n)
    return pd.DataFrame({"id": range(n), "log_wage": log_wage, "education": education, "experience": experience})


def without_privacy(table, family):
    "The conjugate posterior mean and standard deviation of the clipped records."
    x = np.column_stack([*(table[c.name].clip(*COVARIATES[c.name]) for c in family.columns[:-1]), np.ones(len(table))])
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
    """Release, file, posterior and predictions: next to no noise gives the posterior without privacy;
    noise widens the exact one, not the naive one.
    """
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
    rows = pd.DataFrame({"education": [12, 18], "experience": [10, 30]})[[c.name for c in family.columns[:-1]]]
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
    assert received.noise.kind == "gaussian" and np.isclose(received.values[0], x.sum(),
                                                            atol=8 * received.noise.scale[0])
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
    ({"x": (2, 1)}, {"y": (0, 1)}, "low < high"), ({"x": (1, 1)}, {"y": (0, 1)}, "low < high"),
    ({"x": (0, 1)}, {"y": (3, 3)}, "low < high"),
    ({"x": ["only"]}, {"y": (0, 1)}, "two or more different levels"),
    ({"y": (0, 1)}, {"y": (0, 1)}, "not among the covariates"),
    ({"x": (0, float("nan"))}, {"y": (0, 1)}, "finite"), ({}, {"y": (0, 1)}, "covariates must be a dict")])
def test_bad_declarations_are_refused_without_data(covariates, response, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        LinearRegression(covariates, response)


@pytest.mark.parametrize("prior, said", [
    (NormalInverseGamma(np.zeros(2), 1.0, 1.0, 1.0), "education, experience, intercept"),
    (NormalInverseGamma(0.0, np.eye(2), 1.0, 1.0), "3 numbers"),
    (NormalInverseGamma(0.0, np.diag([1.0, 1.0, -1.0]), 1.0, 1.0), "positive definite"),
    (NormalInverseGamma(0.0, 1.0, 1.0, 0.0), "prior.scale"), (None, "prior must be")])
def test_bad_priors_are_refused_by_name(made, prior, said):
    with pytest.raises(ValueError, match=said):
        fit(made, prior, progress=False)


def test_few_records_go_to_the_individual_sampler():
    prior = check_prior(FAMILY, PRIOR)
    assert choose_method(FAMILY, prior, "laplace", 3, "auto")[0] == "individual"
    assert choose_method(FAMILY, prior, "laplace", 4, "auto")[0] == "exact"
    with pytest.raises(ValueError, match="'individual'"):
        choose_method(FAMILY, prior, "laplace", 3, "exact")


@pytest.mark.parametrize("options, said", [({"covariate_model": "skewed"}, "covariate_model must be one of"),
                                           ({"bounds": 1}, "options must be those that method"),
                                           ({"covariate_prior": NormalInverseWishart(0.0, 1.0, 1.0, 9.0)},
                                            "left out with covariate_model='free'"),
                                           ({"covariate_model": "normal", "covariate_prior": NormalInverseWishart(0.0,
    1.0, 1.0, 0.5)}, "covariate_prior.df"),
                                           ({"method": "gibbs_noisy"}, "fourth_moments=True"),
                                           ({"method": "individual"}, "too many for one chain")])
def test_bad_options_say_what_to_do(made, options, said):
    with pytest.raises(ValueError, match=said):
        fit(made, PRIOR, progress=False, **options)


def test_nothing_is_spent_on_a_table_that_is_refused_and_no_level_is_shown(tmp_path):
    ledger = Ledger(tmp_path / "ledger.json", epsilon=1)
    family = LinearRegression({"education": (0, 18), "region": ["north", "south"]}, RESPONSE)
    table = wages(50).assign(region="north")
    table.loc[:1, "region"] = "atlantis"
    for data, said in ((table, "got 2 outside the declared support of 50 records"),
                       (table.drop(columns="region"), "region"),
                       (table.assign(education=np.nan), "missing"), (table.assign(education="many"), "education")):
        with pytest.raises(ValueError, match=said) as error:
            release(family, data, epsilon=1.0, ledger=ledger)
        assert "atlantis" not in str(error.value)
    assert str(ledger.spent[0]) == "0"


# Categories: what they cost

UNIT = {"y": (-1, 1)}
THREE, FOUR, FLAG = ["a", "b", "c"], ["p", "q", "r", "s"], {"levels": [0, 1]}
DECLARED = [{"g": THREE}, {"g": FOUR, "f": FLAG}, {"x": (-1, 1), "g": THREE}, {"x": (-1, 1), "g": THREE, "h": FOUR},
            {"x": (-1, 1), "f": FLAG, "e": FLAG, "g": THREE}, {"x": (-1, 1), "z": (-1, 1), "w": (-1, 1), "g": FOUR},
            {"x": (-1, 1), "f": FLAG, "g": THREE, "h": THREE, "i": FOUR}]


def choices(family):
    "Levels of each column; for numbers in [-1, 1] multiples of 1/60, which hold every best pair of up to five numbers."
    return {c.name: np.array(c.levels or np.arange(-60, 61) / 60) for c in family.columns}


def sums_of(family, records, kept):
    return np.stack(family.statistic(records))[kept]


def moved(family, pair, norm, kept):
    "Distance of the sums of two arrays of records."
    gap = sums_of(family, pair[0], kept) - sums_of(family, pair[1], kept)
    return np.abs(gap).sum(axis=0) if norm == "l1" else np.sqrt((gap**2).sum(axis=0))


def farthest(family, norm, rng, kept=slice(None), starts=40, sweeps=4):
    "Largest move found from random pairs of records: one column of one record after the other takes its best value."
    allowed = choices(family)
    pair = [{name: rng.choice(values, starts) for name, values in allowed.items()} for _ in range(2)]
    for _ in range(sweeps):
        for record in pair:
            for name, values in allowed.items():
                tried = [{n: np.repeat(column, len(values)) for n, column in r.items()} for r in pair]
                tried[0 if record is pair[0] else 1][name] = np.tile(values, starts)
                record[name] = values[moved(family, tried, norm, kept).reshape(starts, -1).argmax(axis=1)]
    return moved(family, pair, norm, kept).max()


def check_sensitivity(family, norm, claimed, kept=slice(None), seed=0):
    "What one record can move is what is claimed, to the last digits; and random pairs never exceed it."
    rng = np.random.default_rng(seed)
    def anyone(levels):
        return rng.choice(np.array(levels), 20_000) if levels else rng.uniform(-1, 1, 20_000)
    pairs = [{c.name: anyone(c.levels) for c in family.columns} for _ in range(2)]
    assert moved(family, pairs, norm, kept).max() <= claimed
    assert farthest(family, norm, rng, kept) == pytest.approx(claimed, rel=1e-12)


@pytest.mark.parametrize("covariates", DECLARED)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_one_record_moves_the_sums_by_the_sensitivity_and_no_further(covariates, norm):
    family = LinearRegression(covariates, UNIT)
    check_sensitivity(family, norm, family.sensitivity(norm=norm))


def test_a_wrong_sensitivity_with_categories_is_noticed():
    family = LinearRegression(DECLARED[2], UNIT)
    # equation (7) of ‘Moments and sensitivity of regression’ with b = 0
    without_shared_levels = max(2 + 4 + 4 * k + 4 * k * (2 - k) for k in range(3)) ** 0.5
    columns = [i for i, name in enumerate(family.names) if name not in ("g[b]", "g[c]")]
    old = LinearRegression(DECLARED[2], UNIT, coding="box").sensitivity()
    for norm, claimed, kept in (("l1", old, slice(None)), ("l2", without_shared_levels, slice(None)),
                                ("l1", family.sensitivity(), columns)):
        with pytest.raises(AssertionError):
            check_sensitivity(family, norm, claimed, kept)


def test_age_sex_and_twenty_regions_cost_16_and_not_120():
    covariates = {"age": (18, 90), "sex": ["f", "m"], "region": list(range(20))}
    family, old = (LinearRegression(covariates, {"income": (0, 100_000)}, coding=coding)
                   for coding in ("reference", "box"))
    assert (family.sensitivity(), old.sensitivity(), len(family.names)) == (16.0, 120.0, 84)
    table = pd.DataFrame({"age": range(30, 60), "sex": "f", "region": 3, "income": 50_000})
    assert release(family, table, epsilon=1.0).noise.scale[0] == pytest.approx(16, rel=1e-4)
    many = LinearRegression({**covariates, "region": list(range(2000))}, {"income": (0, 100_000)})
    assert (many.sensitivity(), many.rounded_sensitivity(20)) == (family.sensitivity(), family.rounded_sensitivity(20))


def towns(n=3000):
    "A table with a number and a category of three levels."
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.uniform(20, 80, n), "region": rng.choice(THREE, n, p=[0.5, 0.3, 0.2]),
                          "sex": rng.choice(["f", "m"], n), "job": rng.choice(FOUR, n)})
    mean = 500 + 10 * table.age + 200 * (table.region == "b") - 100 * (table.sex == "m") + 50 * (table.job == "s")
    return table.assign(wage=mean + 100 * rng.normal(size=n))


REGION = {"region": THREE}  # alone, its programs are compiled in a fraction of the time
TOWNS = {"age": (18, 90), "region": THREE, "sex": ["f", "m"], "job": FOUR}
TOWN_PRIOR = NormalInverseGamma(0.0, 1e-3, 2.0, 1e4)


def design_of(table, covariates, intercept):
    "Columns of the coefficients, in the order of their names."
    columns = [table[name] == level for name in covariates if name != "age" for level in covariates[name][1:]]
    first, last = [table.age] if "age" in covariates else [], [np.ones(len(table))] if intercept else []
    return np.column_stack([*first, *columns, *last]).astype(float)


def town_posterior(table, covariates, intercept):
    "Conjugate posterior mean and standard deviation from the records, in dollars."
    X = design_of(table, covariates, intercept)
    P = 1e-3 * np.eye(X.shape[1]) + X.T @ X
    mean = np.linalg.solve(P, X.T @ table.wage)
    b = 1e4 + 0.5 * (table.wage @ table.wage - mean @ P @ mean)
    return mean, np.sqrt(b / (2 + len(X) / 2) * np.diag(np.linalg.inv(P)))


@pytest.mark.parametrize("covariates, intercept, mechanism", [
    (REGION, True, "laplace"), pytest.param(TOWNS, True, "laplace", marks=pytest.mark.slow),
    pytest.param(TOWNS, False, "gaussian", marks=pytest.mark.slow)])
def test_with_hardly_any_noise_a_table_with_categories_gives_its_own_regression(tmp_path, covariates, intercept,
                                                                                mechanism):
    table, family = towns(), LinearRegression(covariates, {"wage": (0, 3000)}, intercept)
    options = dict(epsilon=1e5) if mechanism == "laplace" else dict(rho=1e5)  # no ε is converted
    release(family, table, mechanism=mechanism, **options).save(tmp_path / "towns.json")
    received = Release.load(tmp_path / "towns.json")
    assert received.family == family and '"coding": "reference"' in (tmp_path / "towns.json").read_text()
    mean, sd = town_posterior(table, covariates, intercept)
    idata = fit(received, TOWN_PRIOR, draws=300, warmup=300, progress=False)
    assert idata.attrs["method"] == "exact" and {"region[b]", "region[c]"} < set(idata.posterior.coefficient.values)
    found, spread = coefficients(idata)
    assert np.all(np.abs(found - mean) < 0.35 * sd), (found - mean) / sd
    assert np.all(np.abs(spread / sd - 1) < 0.25), spread / sd
    rows = pd.DataFrame({"age": [30.0, 70.0], "region": ["a", "c"], "sex": ["m", "f"], "job": ["p", "s"]})
    expected = design_of(rows, covariates, intercept) @ mean
    assert np.all(np.abs(predict(idata, rows).mean(("chain", "draw")).values - expected)
                  < 8 * np.sqrt(table.wage.var() / 1200))


def test_a_release_of_version_0_1_0_with_categories_is_read_in_its_own_coding():
    "Simulated by 0.1.0, where `fit` gave these means and standard deviations (true: 10, 200, -100, 300)."
    path = Path(__file__).parent / "fixtures" / "release_schema1_regression.json"
    old = Release.load(path)
    assert old.family.coding == "box" and old.to_json() == path.read_text()
    assert old.sensitivity == pytest.approx(old.family.sensitivity(), rel=1e-4)
    assert old.family != LinearRegression({"age": (18, 90), "region": ["north", "south", "west"]}, {"wage": (0, 2000)})
    prior = NormalInverseGamma([0.0, 0.0, 0.0, 500.0], [1.0, 0.01, 0.01, 0.001], 2.0, 2e4)
    found, spread = coefficients(fit(old, prior, draws=1000, warmup=400, progress=False))
    mean, sd = np.array([9.914, 230.84, -68.09, 274.08]), np.array([0.273, 33.25, 36.85, 39.47])
    assert np.all(np.abs(found - mean) < 0.15 * sd) and np.all(np.abs(spread / sd - 1) < 0.15), (found, spread)


def test_a_file_cannot_claim_another_coding():
    "The sensitivity in the file belongs to the coding; a file that drops or adds it contradicts itself, sealed or not."
    path = Path(__file__).parent / "fixtures" / "release_schema1_regression.json"
    new = release(LinearRegression(TOWNS, {"wage": (0, 3000)}), towns(100), epsilon=1.0).to_json()
    for text, change in ((path.read_text(), lambda family: {**family, "coding": "reference"}),
                         (new, lambda family: {k: v for k, v in family.items() if k != "coding"})):
        d = json.loads(text)
        name = "family" if "family" in d else "model"  # of schema 1 and 2
        with pytest.raises(ValueError, match="must be"):
            Release.from_json(seal({**{k: v for k, v in d.items() if k != "sha256"}, name: change(d[name])}))


def test_a_declaration_in_a_toml_file_is_of_today(tmp_path):
    path = tmp_path / "family.toml"
    path.write_text(
        'family = "LinearRegression"\n[covariates]\nage = [18, 90]\nregion = ["a", "b", "c"]\n[response]\nwage = [0, '
        '2000]\n')
    assert read_family(path) == LinearRegression({"age": (18, 90), "region": THREE}, {"wage": (0, 2000)})
