"""Every model of the package keeps its promises (`check_model`), and one that breaks a promise is told which."""

import dataclasses
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as dpb
from dp_bayes_nb.models.contract import Model, family_class
from dp_bayes_nb.models.declarations import Column
from dp_bayes_nb.models.registry import MODELS, register
from dp_bayes_nb.base.supports import Parameter

HERE = Path(__file__).parent
ROWS = [[0.7, 0.3], [0.2, 0.8]]
SIZES = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
GAMMA, NORMAL = dpb.Gamma(2.0, 0.5), dpb.NormalInverseGamma(100.0, 0.1, 2.0, 200.0)
SPREAD = {"mean": dpb.Gamma(4.0, 1.0), "size": dpb.Overdispersion(0.7)}


def shape_density(theta):
    return jnp.log(theta["shape"]) - theta["shape"] + jnp.log(theta["rate"]) - 4 * theta["rate"]


def shape_draw(key):
    a, b = jax.random.gamma(key, 2.0, (2,))
    return {"shape": a, "rate": b / 4}


SHAPE = dpb.LogDensity(shape_density, shape_draw)
BAYES = dpb.NaiveBayes(("class", ["no", "yes"]), {"word": 2, "size": ["s", "m", "l"]})
HIDDEN = dpb.HiddenMarkov(
    ("region", ["a", "b"]),
    ("month", [1, 2, 3, 4]),
    {"word": 2, "size": 3},
    states=2,
    records=((60, 70, 50, 80), (90, 40, 60, 70)),
)
AGES = {"age": (18, 90), "region": ["north", "south", "west"]}
DECLARED = {  # model, parameters, prior, records
    "Bernoulli": (dpb.Bernoulli(), {"probability": 0.3}, None, 400),
    "Bernoulli, texts": (dpb.Bernoulli("ill", "yes", ["no", "unknown"]), {"probability": 0.6}, dpb.Beta(2.0, 3.0), 400),
    "Bernoulli, open": (dpb.Bernoulli("ill", "yes"), {"probability": 0.6}, None, 400),
    "Categorical": (dpb.Categorical(3), {"probabilities": [0.5, 0.3, 0.2]}, None, 400),
    "Categorical, texts": (
        dpb.Categorical(["low", "high"], "income"),
        {"probabilities": [0.3, 0.7]},
        dpb.Dirichlet([1.0, 2.0]),
        400,
    ),
    "Poisson": (dpb.Poisson((0, 12)), {"rate": 4.0}, GAMMA, 400),
    "Poisson, redacted": (dpb.Poisson(dpb.Redact(2, 6)), {"rate": 4.0}, GAMMA, 400),
    "Above": (dpb.Above(dpb.Poisson((0, 12)), [6], 6), {"rate": 4.0}, GAMMA, 400),
    "NegativeBinomial": (dpb.NegativeBinomial((0, 12), above=[6]), {"mean": 4.0, "size": 2.0}, SPREAD, 400),
    "ZeroInflatedPoisson": (dpb.ZeroInflatedPoisson((0, 9)), {"rate": 4.0, "inflation": 0.3}, {"rate": GAMMA}, 400),
    "ZeroInflatedNegativeBinomial": (
        dpb.ZeroInflatedNegativeBinomial((0, 9)),
        {"mean": 4.0, "size": 3.0, "inflation": 0.2},
        SPREAD,
        400,
    ),
    "TruncatedPoisson": (dpb.TruncatedPoisson((1, 9), above=[3]), {"rate": 2.0}, {"rate": GAMMA}, 400),
    "NormalMixture": (
        dpb.NormalMixture(range(40, 90, 8)),
        {"low_mean": 55.0, "gap": 20.0, "low_sd": 6.0, "high_sd": 8.0, "high_share": 0.4},
        None,
        400,
    ),
    "Histogram": (
        dpb.Histogram([0, 1, 2, 5, 10]),
        {"probabilities": [0.2, 0.3, 0.2, 0.1, 0.1, 0.1], "position": 0.3},
        None,
        400,
    ),
    "DateHistogram": (
        dpb.DateHistogram("2024-01", "2024-03", column="day"),
        {"probabilities": [0.1, 0.3, 0.2, 0.3, 0.1], "position": 0.3},
        None,
        400,
    ),
    "MultivariateNormal": (
        dpb.MultivariateNormal({"height": (160, 190), "weight": (50, 110)}),
        {"mean": [172.0, 75.0], "covariance": [[100.0, 80.0], [80.0, 200.0]]},
        None,
        400,
    ),
    "TobitRegression": (
        dpb.TobitRegression({"age": (18, 90)}, {"wage": (0, 60)}),
        {"coefficients": [0.8, 5.0], "noise_variance": 150.0, "mean": [-0.3], "covariance": [[2.0]]},
        dpb.NormalInverseGamma(0.0, 0.01, 3.0, 300.0),
        400,
    ),
    "Geometric": (dpb.Geometric((0, 15)), {"probability": 0.3}, dpb.Beta(2.0, 3.0), 400),
    "Exponential": (dpb.Exponential((0, 10)), {"rate": 0.5}, GAMMA, 400),
    "Exponential, redacted": (dpb.Exponential(dpb.Redact(0.5, 6)), {"rate": 0.5}, GAMMA, 400),
    "Pareto": (dpb.Pareto((1, 50), 1), {"shape": 2.0}, GAMMA, 400),
    "Weibull": (dpb.Weibull((0, 10), 1.5), {"scale": 3.0}, GAMMA, 400),
    "Normal, known": (dpb.Normal((40, 160), 225.0), {"mean": 100.0}, dpb.NormalMean(100.0, 0.01), 400),
    "Normal": (dpb.Normal((40, 160)), {"mean": 100.0, "variance": 225.0}, NORMAL, 400),
    "Normal, redacted": (dpb.Normal(dpb.Redact(80, 130)), {"mean": 100.0, "variance": 225.0}, NORMAL, 400),
    "LogNormal": (
        dpb.LogNormal((1, 500)),
        {"log_mean": 3.0, "log_variance": 0.8},
        dpb.NormalInverseGamma(3.0, 0.5, 2.0, 1.0),
        400,
    ),
    "GammaData, known": (dpb.GammaData((0, 30), 2.0), {"rate": 0.4}, GAMMA, 400),
    "GammaData": (dpb.GammaData((0.1, 30)), {"shape": 2.0, "rate": 0.4}, SHAPE, 400),
    "LogisticRegression": (
        dpb.LogisticRegression(("ill", ["no", "yes"]), {"age": (18, 90)}, knots=3, points=1),
        {"coefficients": [0.03, -1.5], "shape of age": [0.2, -0.3]},
        dpb.NormalCoefficients(1.0),
        600,
    ),
    "OrderedLogistic": (
        dpb.OrderedLogistic(("health", ["poor", "fair", "good"]), {"age": (18, 90)}, knots=3, points=1),
        {"coefficients": [0.03], "thresholds": [0.5, 2.5], "shape of age": [0.2, -0.3]},
        dpb.NormalCoefficients(1.0),
        600,
    ),
    "MultinomialLogistic": (
        dpb.MultinomialLogistic(("route", ["car", "bus", "train"]), {"age": (18, 90)}, knots=3, points=1),
        {"coefficients": [[0.03, -1.5], [-0.02, 0.5]], "shape of age": [0.2, -0.3]},
        dpb.NormalCoefficients(1.0),
        600,
    ),
    "PoissonRegression": (
        dpb.PoissonRegression(("visits", (0, 3)), {"age": (18, 90)}, knots=3, points=1),
        {"coefficients": [0.02, -0.8], "shape of age": [0.2, -0.3]},
        dpb.NormalCoefficients(1.0),
        600,
    ),
    "NegativeBinomialRegression": (
        dpb.NegativeBinomialRegression(("visits", (0, 3)), {"age": (18, 90)}, knots=3, points=1),
        {"coefficients": [0.02, -0.8], "size": 2.0, "shape of age": [0.2, -0.3]},
        dpb.NormalCoefficients(1.0),
        600,
    ),
    "LinearRegression": (
        dpb.LinearRegression(AGES, {"wage": (0, 800)}),
        {"coefficients": [2.0, 50.0, -40.0, 300.0], "noise_variance": 2500.0},
        dpb.NormalInverseGamma(0.0, 0.001, 2.0, 400.0),
        400,
    ),
    "LinearRegression, fourth moments": (
        dpb.LinearRegression({"age": (18, 90)}, {"wage": (0, 800)}, fourth_moments=True),
        {"coefficients": [2.0, 300.0], "noise_variance": 2500.0},
        dpb.NormalInverseGamma(0.0, 0.001, 2.0, 400.0),
        400,
    ),
    "NaiveBayes": (BAYES, {"class_probabilities": [0.4, 0.6], "word": ROWS, "size": SIZES}, None, 400),
    "HiddenMarkov": (
        HIDDEN,
        {"initial_probabilities": [0.5, 0.5], "transition_probabilities": ROWS, "word": ROWS[::-1], "size": SIZES},
        None,
        520,
    ),
    "LogLinear": (
        dpb.LogLinear({"sex": ["f", "m"], "age": 3, "ill": 2}, [("age", "sex"), ("ill", "age")],
                      [{"sex": "m", "ill": 1, "age": 0}]),
        {"effects": [0.1, -0.2, 0.3, 0.1, 0.2, -0.2, 0.1, 0.3]},
        None,
        400,
    ),
}
HERE_CHECKED = ("Bernoulli", "Categorical", "Poisson", "LinearRegression", "NaiveBayes")
# Of the others one of each class, in test_contract_models.py, and so in another process; further forms wait for `slow`.
LAWS_CHECKED = ("NegativeBinomial", "ZeroInflatedPoisson", "TruncatedPoisson", "NormalMixture",
                "MultivariateNormal", "TobitRegression",  # in test_laws.py, and in test_histogram.py
                "Histogram", "DateHistogram")
THERE_CHECKED = ("Above", "Geometric", "Exponential", "Pareto", "Weibull", "Normal", "LogNormal", "GammaData",
                 "HiddenMarkov", "LogLinear", "LogisticRegression", "NegativeBinomialRegression")
LATER_CHECKED = ("OrderedLogistic", "MultinomialLogistic", "PoissonRegression",  # of one base: one of them is enough
                 "ZeroInflatedNegativeBinomial")

SIMULATED, FITTED = ("check_moments", "check_sizes", "check_moments_elsewhere"), ("check_run",)
DERIVED = ("check_support", "check_error", "check_latent", "check_prior_of", "check_prior_law", "check_update",
           "check_law")
# Parts of the check that wait for `slow`: fits, which chapters and other tests make too, except of one model of a kind;
# and, where another model stands for the kind, all that compiles programs. Records, sensitivity and file are looked at.
WHOLE = ("Bernoulli", "Exponential")
UNFITTED = ("Categorical", "Normal", "NegativeBinomial", "Histogram", "LogLinear", "LogisticRegression")
LATER = {name: SIMULATED + DERIVED + FITTED for name in DECLARED if name not in WHOLE + UNFITTED
         } | dict.fromkeys(UNFITTED, FITTED)


def cases(names):
    "Names of models, each with the parts of its check that are left out; whole checks of `LATER` wait for `slow`."
    whole = [pytest.param(name, (), id=f"{name}, whole", marks=pytest.mark.slow) for name in names if name in LATER]
    return [pytest.param(name, LATER.get(name, ()), id=name) for name in names] + whole


def check(monkeypatch, name, later):
    "`check_model` of a declared model, without some of its parts."
    for part in later:
        monkeypatch.setitem(dpb.check_model.__globals__, part, lambda *given: None)
    model, theta, prior, n = DECLARED[name]
    dpb.check_model(1, model, theta, prior, n=n)


def test_every_model_is_declared_here():
    """All but Counts, which has no population: nothing to simulate, no record, no sensitivity; Grouped, whose groups
    have the models here, and whose own promises stand in test_grouped; RandomizedResponse, whose stand in
    test_reports; and Ratio, whose figures are no sums of records (test_ratios).
    """
    elsewhere = {"Counts", "Grouped", "RandomizedResponse", "Ratio"}
    assert {type(model).__name__ for model, *_ in DECLARED.values()} | elsewhere == set(MODELS)
    assert {*HERE_CHECKED, *THERE_CHECKED, *LAWS_CHECKED, *LATER_CHECKED} | elsewhere == set(MODELS)


@pytest.mark.parametrize("name, later", cases(HERE_CHECKED) + [
    pytest.param(name, (), id=name, marks=pytest.mark.slow) for name in DECLARED
    if name not in HERE_CHECKED + THERE_CHECKED + LAWS_CHECKED])
def test_every_model_keeps_its_promises(name, later, monkeypatch):
    check(monkeypatch, name, later)


def test_a_check_without_some_parts_holds_the_others(monkeypatch):
    "The rest still refuses; what is left out would have refused a wrong simulation (`CAUGHT`)."
    assert {part for parts in LATER.values() for part in parts} < set(dpb.check_model.__globals__)
    monkeypatch.setitem(DECLARED, "wrong", (Prior(), {"probability": 0.4}, None, 400))
    with pytest.raises(AssertionError, match="prior: accept"):
        check(monkeypatch, "wrong", SIMULATED + FITTED)
    monkeypatch.setitem(DECLARED, "wrong", (Sums(), {"probability": 0.4}, None, 400))
    check(monkeypatch, "wrong", SIMULATED + FITTED)


@family_class
class Days(Model):
    "On how many of seven days, each with the same probability: with a conjugate prior."

    statistics, columns, integer = ("days",), (Column(None, tuple(range(8))),), True
    parameters, prior_type, default_prior = {"probability": Parameter("unit")}, dpb.Beta, dpb.Beta(1.0, 1.0)

    def statistic(self, x):
        return (x,)

    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 7.0

    def moments(self, theta):
        p = theta["probability"]
        return 7 * p[None], (7 * p * (1 - p))[None, None]

    def simulate_records(self, key, theta, n):
        return jax.random.bernoulli(key, theta["probability"], (n, 7)).sum(axis=1)

    def update(self, prior, s, n):
        return dpb.Beta(prior.alpha + s[0], prior.beta + 7 * n - s[0])

    def project(self, z, n):
        return jnp.clip(z, 0.0, 7 * n)

    def feasible(self, s, n):
        return (s[0] >= 0) & (s[0] <= 7 * n)


@family_class
class Smokers(Model):
    "Two columns, and a product with a condition."

    by_name, integer, statistics = True, True, ("smokers", "visits")
    columns = (Column("smokes", ("yes", "no")), Column("visits", (0, 1, 2)))
    parameters, prior_type, default_prior = {"share": Parameter("unit")}, dpb.Beta, dpb.Beta(1.0, 1.0)

    def statistic(self, r):
        return r["smokes"] == "yes", (r["smokes"] == "yes") * r["visits"]

    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 3.0 if norm == "l1" else 5**0.5

    def moments(self, theta):
        p = theta["share"]
        return p * jnp.ones(2), p * jnp.array([[1, 1], [1, 5 / 3]]) - p**2

    def simulate_records(self, key, theta, n):
        a, b = jax.random.split(key)
        smokes = jax.random.bernoulli(a, theta["share"], (n,))
        return {"smokes": jnp.where(smokes, 0, 1), "visits": jax.random.randint(b, (n,), 0, 3)}


class Engine(Smokers):
    "What no data frame knows."

    def statistic(self, r):
        visits = r["visits"]
        return r["smokes"] == "yes", visits if isinstance(visits, (np.ndarray, jax.Array)) else visits.tan()


class Mean(Days):
    def moments(self, theta):
        mean, covariance = super().moments(theta)
        return 1.1 * mean, covariance


class Covariance(Days):
    def moments(self, theta):
        mean, covariance = super().moments(theta)
        return mean, 1.3 * covariance


class Elsewhere(Days):
    "Right at the parameter that is tried, and a tenth too low below it."

    def moments(self, theta):
        mean, covariance = super().moments(theta)
        return jnp.where(theta["probability"] < 0.3, 0.9, 1.0) * mean, covariance


class OneRecord(Days):
    def simulate_records(self, key, theta, n):
        return super().simulate_records(key, theta, 1)[0]


class Sensitivity(Days):
    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 6.0


class Rounded(Days):
    integer = False

    def rounded_sensitivity(self, grid_exponent=0, neighbours="change_one", norm="l1"):
        return 6.0 * 2**grid_exponent


class Magnitude(Days):
    magnitude = 6.0


class Sums(Days):
    def simulate(self, key, theta, n):
        return super().simulate(key, theta, jnp.floor(0.9 * n))


class Records(Days):
    def simulate_records(self, key, theta, n):
        return 1 + super().simulate_records(key, theta, n)


class Update(Days):
    def update(self, prior, s, n):
        return dpb.Beta(prior.alpha + s[0], prior.beta + n - s[0] / 7)


class Forgets(Days):
    def update(self, prior, s, n):
        return dpb.Beta(1 + s[0], 1 + 7 * n - s[0])


class Projection(Days):
    def project(self, z, n):
        return jnp.clip(z, 0.0, n)


class Feasible(Days):
    def feasible(self, s, n):
        return (s[0] >= 0) & (s[0] <= n)


class Engines(Days):
    def statistic(self, x):
        return (x if isinstance(x, (np.ndarray, jax.Array)) else x + 1,)


class Numbers(Days):
    def statistic(self, x):
        return (x, x)


class NumPy(Days):
    def statistic(self, x):
        return (np.asarray(x, dtype=float),)


class Branches(Days):
    def statistic(self, x):
        return (x if x < 7 else 7,)


class File(Days):
    def to_dict(self):
        return {"family": "Days"}


class Prior(Days):
    def accept(self, prior):
        return dpb.Beta(np.asarray(1.0 + (2.0 if prior is None else prior.alpha)), np.asarray(1.0))


class Support(Days):
    prior_type, default_prior = (
        None,
        dpb.LogDensity(lambda t: -(t["probability"] ** 2), lambda key: {"probability": 3 + jax.random.uniform(key)}),
    )

    def accept(self, prior):
        return self.default_prior


class Predictions(Days):
    def predictor(self, new_data):
        raise ValueError("no predictions today")


class Loose(Days):
    "Levels are declared, and any number from 0 on is valid."

    def valid(self, x):
        return x >= 0


class Whole(Days):
    "A statistic that looks at the whole table."

    columns, integer = (Column(None, (), 0.0, 7.0),), False

    def statistic(self, x):
        return (7 * x / (1 + x.max()),)


class InTables(Days):
    "The same, where only a release would see it."

    def statistic(self, x):
        return (x if isinstance(x, (np.ndarray, jax.Array)) else x - x.shift(1),)


class Capped(Days):
    "A simulation that stops at a thousand records."

    def simulate(self, key, theta, n):
        return super().simulate(key, theta, jnp.minimum(n, 1000.0))


class Observed(Days):
    observe = np.array([[0.5]])


@dataclasses.dataclass(frozen=True)
class Uniform:
    "Draws of a uniform law, with the density of another."

    power: float

    def log_density(self, theta):
        return self.power * jnp.log(theta["probability"])

    def sample(self, key):
        return {"probability": jax.random.uniform(key)}


jax.tree_util.register_dataclass(Uniform, ["power"], [])


class Draws(Days):
    update = Model.update

    def accept(self, prior):
        return Uniform(1.0)


class Agrees(Draws):
    "The same, and the density is that of the draws."

    def accept(self, prior):
        return Uniform(0.0)


class Unbounded(Days):
    "A probability that may be anything above zero."

    parameters = {"probability": Parameter("positive")}


class Exact(Days):
    "A law that does not add up at another scale of the noise than 1.5."

    exact_noise = ("laplace",)

    def log_marginal(self, z, theta, n, noise):
        p, k = theta["probability"], jnp.arange(301.0)
        counts = jax.scipy.stats.binom.logpmf(k, 7 * n, p)
        return jax.scipy.special.logsumexp(
            counts - jnp.abs(z[0] - k) / 1.5 + jnp.log(jnp.tanh(0.5 / 1.5)), where=k <= 7 * n
        )


class Unread(Days):
    by_name, columns = True, (Column("days", tuple(range(8))),)

    def statistic(self, r):
        return (r["days"] + r["bonus"],)


class Together(Days):
    "Two statistics that come together, and are declared to exclude one another."

    statistics, exclusive = ("days", "free days"), ((0, 1),)

    def statistic(self, x):
        return (x, 7 - x)


class Swapped(Days):
    "Its statistic counts the one answer, and its simulation the other."

    columns, statistics = (Column(None, ("no", "yes")),), ("yes",)
    update = Model.update

    def statistic(self, x):
        return (x == "no",)

    def sensitivity(self, neighbours="change_one", norm="l1", grid_exponent=None):
        return 1.0

    def record_statistics(self, records, released=True):
        return jnp.asarray(records, float)[:, None]

    def simulate_records(self, key, theta, n):
        return jax.random.bernoulli(key, theta["probability"], (n,)).astype(int)


class Perhaps(Swapped):
    "It counts an answer that is not declared a hundred times."

    columns, record_statistics = (Column(None, ("yes",), open=True),), Model.record_statistics

    def statistic(self, x):
        return ((x == "yes") + 100 * (x == "perhaps"),)


CAUGHT = {
    Mean: "moments: the mean of days is claimed to be",
    Covariance: "moments: the covariance of days is claimed to be",
    Elsewhere: "moments: the mean of days is claimed to be",
    OneRecord: "simulate_records: asked for n = 2000 records, it gives arrays of shape ()",
    Sensitivity: "sensitivity: the model claims 6.0 (l1), but the records",
    Rounded: "rounded_sensitivity: the model claims 6.0 steps",
    Magnitude: "magnitude: the model claims that no statistic is beyond 6.0",
    Sums: "simulate: the mean of days is",
    Records: "simulate_records: the record 8",
    Update: "update: after 1e+08 records",
    Forgets: "update: two tables one after the other",
    Projection: "project: the sums of 50 simulated records",
    Feasible: "feasible: the sums",
    Engines: "statistic: days of the record",
    Numbers: "statistic: statistics has 1 names, but statistic(record) gives 2 numbers",
    NumPy: "statistic: it must be written with",
    Branches: "statistic: it must be written with",
    File: "file: ",
    Prior: "prior: accept(prior) gives",
    Support: "prior: a draw of the prior",
    Predictions: "predict: ValueError: no predictions today",
    Loose: "valid: the record ",
    Whole: "statistic: days of the record",
    InTables: "statistic: it must be written with + − × ÷ and comparisons, for arrays and narwhals expressions alike; "
    "got OfOneRecord: statistic and valid must look at one record at a time, got shift()",
    Capped: "simulate: the mean of days a record is ",
    Observed: "observe: times the mean",
    Draws: "prior: its draws are not of its log density",
    Unbounded: "moments: the covariance is not symmetric and positive semidefinite",
    Exact: "log_marginal: with laplace noise of scale 4.0",
    Unread: "statistic: it must read declared columns only ('days'); got 'bonus'",
    Together: "exclusive: the record ",
    Swapped: "simulate_records: yes of the record 'yes' is 0.0 by statistic and 1.0 by record_statistics",
    Perhaps: "sensitivity: the model claims 1.0 (l1), but the records ('perhaps')",
}


@pytest.fixture(scope="module", autouse=True)
def _registered():
    for wrong in (Days, Smokers, Engine, Agrees, *CAUGHT):
        register(wrong)


def test_what_moves_the_sums_further_than_one_record_may_is_not_released():
    "A number beside the levels, whatever `valid` says; and a statistic of the whole table, before it is read."
    with pytest.raises(ValueError, match="1 outside the declared support of 101 records"):
        dpb.release(Loose(), [1.0] * 100 + [1e6], epsilon=1.0)
    assert len(dpb.release(Loose(), [1.0] * 100 + [7.0], epsilon=1.0).values) == 1
    for wrong, name in ((Whole, "max"), (InTables, "shift")):
        for table in ([1.0] * 100, pd.DataFrame({"x": [1.0] * 100})):
            with pytest.raises(ValueError, match=f"at one record at a time, got {name}"):
                dpb.release(wrong(), table, epsilon=1.0)


def own_expressions():
    "Statistics, and parts of one, that build expressions of narwhals over the table they are asked in."
    import narwhals as nw

    x = nw.col("x_0")
    wrong = {"max": x.max() + 0 * x, "mean": x - x.mean(), "len": x / nw.len(), "shift": x.shift(1), "rank": x.rank(),
             "cumulative": x.cum_sum(), "over": x.max().over("x_0") * nw.len(), "below": nw.min_horizontal(x, x.mean()),
             # what a few made-up records would not show
             "far": nw.when(x.max() > 9.5).then(nw.lit(1.0)).otherwise(nw.lit(0.0)), "many": x * (nw.len() > 7),
             "twice": nw.when(x.is_duplicated()).then(nw.lit(1.0)).otherwise(nw.lit(0.0)), "gaps": x + x.null_count(),
             "filled": x.fill_null(x.mean()), "forward": x.fill_null(strategy="forward"), "all": nw.all(),
             "batches": x.map_batches(lambda s: s - s.mean(), nw.Float64), "in a list": x.is_in([1.0]) * x.sum(),
             "compared": nw.when(x > x.mean()).then(nw.lit(1.0)).otherwise(nw.lit(0.0)), "only max": x.max()}
    for name, found in wrong.items():
        yield f"statistic {name}", {"statistic": lambda self, x, found=found: (found,)}
    yield "valid", {"valid": lambda self, x: x <= nw.col("x_0").min()}
    yield "staged", {"staged": lambda self, x: [x, nw.col("x_0").max()], "combined": lambda self, v: (v[0] * v[1],)}


@pytest.mark.parametrize("name, parts", list(own_expressions()))
def test_an_expression_over_the_whole_table_is_refused_before_data_are_read(name, parts, monkeypatch):
    "Whatever it is built of; without the check, data are read."
    from dp_bayes_nb.data_holder import sums
    from dp_bayes_nb.data_holder.columns import OfOneRecord

    def read(*args):
        raise AssertionError("data were read")

    def summed(parts):
        own = type("Own", (Days,), {"columns": (Column(None, (), 0.0, 7.0),), "integer": False, "magnitude": 7.0,
                                     **parts})
        return sums.exact_sums(own(), [1.0, 2.0, 7.0])

    monkeypatch.setattr(sums, "open_pieces", read)
    with pytest.raises(OfOneRecord, match="at one record at a time"):
        summed(parts)
    with pytest.raises(AssertionError, match="data were read"):
        summed({})
    monkeypatch.setattr(sums, "_check_of_one", lambda family: None)
    with pytest.raises(AssertionError, match="data were read"):
        summed(parts)


def test_a_model_of_ones_own_within_groups_is_looked_at_too():
    import narwhals as nw

    from dp_bayes_nb.data_holder.sums import exact_sums

    own = type("Own", (dpb.Bernoulli,), {"statistic": lambda self, x: (nw.col("x_0").max(),)})
    table = pd.DataFrame({"ill": [0, 1], "ward": ["a", "b"]})
    with pytest.raises(ValueError, match="at one record at a time"):
        exact_sums(dpb.Grouped(own("ill"), by="ward", levels={"ward": ["a", "b"]}), table)


@pytest.mark.parametrize("name", DECLARED)
def test_no_model_of_the_package_is_taken_for_one_that_looks_at_other_records(name):
    from dp_bayes_nb.data_holder import sums
    from dp_bayes_nb.models.contract import as_model

    model = as_model(DECLARED[name][0])
    if not model.lacks("statistic"):
        sums._check_of_one(model)


def test_a_model_of_ones_own_may_have_any_limits():
    from dp_bayes_nb.data_holder.sums import exact_sums

    wide = type("Own", (Days,), {"columns": (Column(None, (), -1e308, 1e308),), "magnitude": 1.0,
                                 "valid": lambda self, x: x == x})
    assert exact_sums(wide(), [1.0, 2.0]).n == 2


def test_a_model_of_ones_own_is_accepted():
    dpb.check_model(jax.random.key(2), Days(), {"probability": 0.4}, dpb.Beta(2.0, 2.0))


@pytest.mark.slow  # in the quick set: models of one's own of one column, and the package's own of two
def test_a_model_of_two_columns_is_accepted(monkeypatch):
    monkeypatch.setitem(dpb.check_model.__globals__, "check_run", lambda *given: None)  # it is fitted below
    dpb.check_model(3, Smokers(), {"share": 0.4})


def test_a_model_of_two_columns_is_released_and_predicts(tmp_path):
    table = pd.DataFrame({"smokes": ["yes", "no", "yes"] * 50, "visits": [2, 1, 0] * 50})
    table.to_csv(tmp_path / "a.csv", index=False)
    made = dpb.release(Smokers(), tmp_path / "a.csv", epsilon=50.0)
    assert np.all(np.abs(made.values - 100) < 20)
    drawn = dpb.predict(dpb.fit(made, chains=2, draws=20, progress=False), 5)
    assert set(drawn) == {"smokes", "visits"} and set(np.unique(drawn.smokes)) <= {"yes", "no"}


def test_a_statistic_that_an_engine_refuses_is_named():
    with pytest.raises(AssertionError, match="statistic: it must be written with"):
        dpb.check_model(0, Engine(), {"share": 0.4})
    with pytest.raises(ValueError, match="statistic must be written with"):
        dpb.release(Engine(), pd.DataFrame({"smokes": ["yes"], "visits": [1]}), epsilon=1.0)


AT = {  # the part that refuses, where it is one that compiles programs
    **dict.fromkeys((Mean, Covariance, Sums), ["check_moments"]), Capped: ["check_sizes"],
    Elsewhere: ["check_moments", "check_moments_elsewhere"], Unbounded: ["check_support"], Observed: ["check_latent"],
    Draws: ["check_prior_law"], **dict.fromkeys((Prior, Support), ["check_prior_of"]), Exact: ["check_law"],
    Predictions: ["check_run"], **dict.fromkeys((Update, Forgets, Projection, Feasible), ["check_update"])}


@pytest.mark.parametrize("wrong, whole", [pytest.param(wrong, whole, marks=pytest.mark.slow if whole else (),
                                                       id=wrong.__name__ + ", whole" * whole)
                                          for whole in (False, True) for wrong in CAUGHT])
def test_what_is_wrong_is_caught_by_its_own_message(wrong, whole, monkeypatch):
    "Of the parts that compile programs only by the one at fault: `Days` passes the others."
    for part in () if whole else {*SIMULATED, *DERIVED, *FITTED}.difference(AT.get(wrong, ())):
        monkeypatch.setitem(dpb.check_model.__globals__, part, lambda *given: None)
    with pytest.raises(AssertionError) as caught:
        dpb.check_model(2, wrong(), {"probability": 0.4}, dpb.Beta(2.0, 2.0))
    assert str(caught.value).startswith(CAUGHT[wrong]), str(caught.value)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((Days, {"probability": 0.4}), "write the brackets"),
        ((3, {"probability": 0.4}), "a model of your own derives from Model"),
        ((Days(), {"p": 0.4}), "theta must be a dict with the keys"),
        ((Days(), {"probability": 1.4}), "between 0 and 1"),
        ((Days(), {"probability": [0.4]}), "of shape ()"),
        ((Days(), {"probability": 0.4}, dpb.Gamma(1.0, 1.0)), "prior must be Beta(...)"),
    ],
)
def test_what_is_no_model_or_no_parameter_is_refused(arguments, words):
    with pytest.raises(ValueError) as refused:
        dpb.check_model(0, *arguments)
    assert words in str(refused.value)


def test_models_of_the_chapter_are_short():
    "A model of one's own in ten lines, and one with a law of its own in under forty."
    path = next((HERE.parent / "nbs").rglob("*_own_model.ipynb"))
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
    lines = {
        name: len(next(cell for cell in cells if f"class {name}(Model)" in cell).splitlines())
        for name in ("Days", "Visits")
    }
    assert lines["Days"] <= 10 and lines["Visits"] < 40, lines
