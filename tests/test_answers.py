"""Regressions of ordered, unordered and counted answers: an exact promise, files, an oracle on the records, ranks."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.optimize
import scipy.stats as st

import dp_bayes_nb as dpb
from dp_bayes_nb.base.checks import FalseAlarms
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models.contract import family_class
from dp_bayes_nb.models.registry import family_from_dict
from dp_bayes_nb.noise.design import design
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.research.trials import method_draws

ONE = {"x": (0, 8)}
TWO = {"x": (0, 8), "region": ["north", "south"]}
LAWS = {
    "ordered": (dpb.OrderedLogistic, ("y", ["poor", "fair", "good"])),
    "unordered": (dpb.MultinomialLogistic, ("y", ["car", "bus", "train"])),
    "poisson": (dpb.PoissonRegression, ("y", (0, 5))),
    "negative binomial": (dpb.NegativeBinomialRegression, ("y", (0, 5))),
}


def model_of(law, covariates=ONE, **options):
    cls, response = LAWS[law]
    return cls(response, covariates, **{"knots": 3} | options)


def table(model, rng, n):
    "A random table with numbers and counts beyond the limits."
    def column(c):
        if c.levels:
            return rng.choice(np.array(c.levels, dtype=object), n)
        return rng.poisson(4.0, n).astype(float) if c.name == "y" else rng.uniform(c.low - 2, c.high + 2, n)
    return pd.DataFrame({c.name: column(c) for c in model.columns})


@pytest.mark.parametrize("law, covariates", [*((law, TWO) for law in LAWS), *(
    pytest.param(law, ONE, marks=pytest.mark.slow) for law in LAWS)])
def test_neighbours_move_the_exact_sums_by_no_more_than_the_sensitivity(law, covariates):
    model, rng = model_of(law, covariates), np.random.default_rng(0)
    g = design(model, 1.0, "laplace", None, "change_one").grid_exponent
    base, most = table(model, rng, 30), 0.0
    sums = lambda frame: np.array(exact_sums(model, frame, grid_exponent=g).integers, dtype=float)
    first = sums(base)
    for record in itertools.product(*[c.levels or (c.low, c.high) for c in model.columns]):
        other = base.copy()
        other.iloc[0] = list(record)
        after = sums(other)
        moved = np.abs(after - first).sum()
        assert moved <= model.rounded_sensitivity(g), record
        most, first, base = max(most, moved), after, other
    assert most > 0.6 * model.rounded_sensitivity(g)


@pytest.mark.parametrize("law", LAWS)
def test_a_table_is_a_partition_of_its_records_on_every_engine(law):
    model = model_of(law)
    frame = table(model, np.random.default_rng(1), 100)
    found = exact_sums(model, frame, grid_exponent=20).integers
    assert sum(found) == 100 * 2**20  # exactly: hats add up to 1, and so do answers
    assert exact_sums(model, pl.DataFrame(frame.to_dict("list")), grid_exponent=20).integers == found
    again = family_from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model and again.to_dict()["family"] == type(model).__name__


def test_counts_beyond_the_limit_are_the_limit_and_others_are_refused():
    model = model_of("poisson")
    sums = lambda *y: np.array(exact_sums(model, pd.DataFrame({"x": [0.0] * len(y), "y": y}), grid_exponent=6).integers)
    assert np.array_equal(sums(3.0, 5.0), sums(3.0, 900.0))
    for wrong in (-1.0, 2.5):
        with pytest.raises(ValueError, match="outside the declared support"):
            sums(3.0, wrong)


def test_what_is_refused():
    cases = [
        (lambda: dpb.OrderedLogistic(("y", ["one"]), ONE), "levels"),
        (lambda: dpb.PoissonRegression(("y", ["a", "b"]), ONE), "response"),
        (lambda: dpb.PoissonRegression(("y", (1, 9)), ONE), "response"),
        (lambda: dpb.PoissonRegression(("y", (0, 2.5)), ONE), "response"),
        (lambda: dpb.PoissonRegression("y", ONE), "response"),
        (lambda: dpb.NegativeBinomialRegression(("x", (0, 5)), ONE), "response"),
        (lambda: dpb.LogisticRegression(("y", ["a", "b", "c"]), ONE), "OrderedLogistic"),
        (lambda: model_of("ordered").accept(dpb.InformationPrior(3.0)), "NormalCoefficients"),
        (lambda: model_of("poisson").accept(dpb.NormalCoefficients(0.0)), "prior.sd"),
    ]
    for call, word in cases:
        with pytest.raises(ValueError, match=word):
            call()


# ---------------------------------------------------------------- an oracle: maximum likelihood on the records

X = np.array([0.0, 4.0, 8.0])  # records at the knots, where the table says all that the records say
SHARES = np.array([0.35, 0.4, 0.25])


def record_law(law, v, x):
    "Probabilities of the answers of records at x, by SciPy; v: all parameters, unconstrained."
    if law == "ordered":
        below = st.logistic.cdf(np.array([v[1], v[1] + np.exp(v[2])]) - v[0] * x[:, None])
        return np.diff(np.hstack([np.zeros((len(x), 1)), below, np.ones((len(x), 1))]), axis=1)
    if law == "unordered":
        odds = np.exp(np.stack([0 * x, v[0] * x + v[1], v[2] * x + v[3]], axis=1))
        return odds / odds.sum(axis=1, keepdims=True)
    mean = np.exp(v[0] * x + v[1])[:, None]
    known = st.poisson(mean) if law == "poisson" else st.nbinom(np.exp(v[2]), 1 / (1 + mean / np.exp(v[2])))
    return np.hstack([known.pmf(np.arange(5)), known.sf(4)])


TRUTH = {"ordered": [0.25, -0.4, 0.3], "unordered": [0.2, -0.5, -0.15, 0.4], "poisson": [0.15, 0.1],
         "negative binomial": [0.15, 0.1, 0.4]}


def maximum_likelihood(law, counts):
    "Estimates and standard errors from the records, by a general optimiser and second differences."
    loss = lambda v: -np.sum(counts * np.log(record_law(law, v, X)))
    best = scipy.optimize.minimize(loss, TRUTH[law], method="Nelder-Mead",
                                   options={"xatol": 1e-9, "fatol": 1e-9, "maxiter": 20_000, "maxfev": 20_000}).x
    h, unit = 1e-3, np.eye(len(best))
    hessian = np.array([[loss(best + h * (a + b)) - loss(best + h * (a - b)) - loss(best + h * (b - a))
                         + loss(best - h * (a + b)) for a in unit] for b in unit]) / (4 * h * h)
    return best, np.sqrt(np.diag(np.linalg.inv(hessian)))


def flat(law, theta):
    "Draws of the parameters as `record_law` has them, (draws, d)."
    c = np.asarray(theta["coefficients"])
    c = c.reshape(len(c), -1)
    if law == "ordered":
        t = np.asarray(theta["thresholds"])
        return np.column_stack([c, t[:, 0], np.log(np.diff(t[:, :2])[:, 0])])
    return c if law != "negative binomial" else np.column_stack([c, np.log(theta["size"])])


def compared(law, told=None, n=40_000, draws=1000):
    "Means less estimates in standard errors, and ratios of sd, of a release with hardly any noise."
    rng = np.random.default_rng(7)
    counts = rng.multinomial(n, (SHARES[:, None] * record_law(law, np.array(TRUTH[law]), X)).ravel()).reshape(3, -1)
    model = told or model_of(law, points=1)
    scale = model.sensitivity() / 1e4
    z = counts.ravel() + rng.laplace(0.0, scale, counts.size)
    seen = Measurement(jnp.asarray(z), Noise("laplace", jnp.full(z.size, scale), jnp.zeros(z.size)), float(n))
    prior = model.accept(None)
    run = lambda key: method_draws(key, model, prior, methods_of(model)["collapsed"], seen, draws=draws, warmup=200)[0]
    theta = jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(8), 2))
    theta = {name: np.asarray(value).reshape(-1, *value.shape[2:]) for name, value in theta.items()}
    best, error = maximum_likelihood(law, counts)
    found = flat(law, theta)
    return (found.mean(axis=0) - best) / error, found.std(axis=0) / error


@family_class
class Exactly(dpb.PoissonRegression):
    "A mutant: the upper limit is taken for exactly so many, and what is beyond it for impossible."

    def log_answers(self, theta, predictors):
        return jax.nn.log_softmax(self.log_counts(theta, predictors)[..., :self.limit + 1], axis=-1)


def agrees(law, **options):
    away, spread = compared(law, **options)
    assert np.all(np.abs(away) < 0.2), away
    assert np.all(np.abs(spread - 1) < 0.15), spread


@pytest.mark.parametrize("law", [pytest.param(law, marks=() if law == "ordered" else pytest.mark.slow) for law in LAWS])
def test_without_noise_the_posterior_is_that_of_the_records(law):
    agrees(law)


@pytest.mark.slow
def test_a_limit_taken_for_exactly_so_many_is_noticed():
    with pytest.raises(AssertionError):
        agrees("poisson", told=Exactly(*LAWS["poisson"][1:], ONE, knots=3, points=1))


# ---------------------------------------------------------------- ranks

KEPT, EVERY, BINS = 19, 20, 10  # draws of a release, one of so many; and bins of the ranks 0, …, 19


def ranks_of(model, fitted=None, n=1000, scale=10.0, together=50):
    """Ranks of true slopes among draws, for parameters from the prior, as a function of a seed, a number of releases
    and `told`: the share of the noise that is told. It compiles one program, which takes some releases together.
    """
    prior, names = model.accept(dpb.NormalCoefficients(1.0)), model.names
    fitted = model if fitted is None else fitted
    chosen, own = methods_of(fitted)["collapsed"], fitted.accept(dpb.NormalCoefficients(1.0))

    def one(key, told):
        key_theta, key_s, key_e, key_fit = jax.random.split(key, 4)
        theta = prior.sample(key_theta)
        z = model.simulate(key_s, theta, float(n)) + scale * jax.random.laplace(key_e, (len(names),))
        noise = Noise("laplace", jnp.full(len(names), told * scale), jnp.zeros(len(names)))
        draws, _ = method_draws(key_fit, fitted, own, chosen, Measurement(z, noise, float(n)), draws=KEPT * EVERY,
                                warmup=150)
        kept = draws["coefficients"].reshape(KEPT, EVERY, -1)[:, -1]
        return (kept < theta["coefficients"].reshape(-1)).sum(axis=0)

    some = jax.jit(jax.vmap(one, in_axes=(0, None)))
    keys_of = lambda seed, releases: jax.random.split(jax.random.key(seed), (releases // together, together))
    return lambda seed, releases, told=1.0: np.concatenate([some(keys, told) for keys in keys_of(seed, releases)])


def binned_p_value(found):
    "Of ranks in equal bins: the chance of so large a chi-square, by 100,000 tables of uniform ranks."
    counts = np.bincount(found * BINS // (KEPT + 1), minlength=BINS)
    tables = np.random.default_rng(0).multinomial(len(found), np.full(BINS, 1 / BINS), 100_000)
    distance = lambda table: ((table - len(found) / BINS) ** 2).sum(axis=-1)
    return (1 + (distance(tables) >= distance(counts)).sum()) / 100_001


RANKED = {law: model_of(law, knots=4, points=2) for law in LAWS}


@pytest.mark.slow
def test_ranks_of_slopes_are_uniform_and_wrong_models_are_noticed():
    alarms, wrong = FalseAlarms(), FalseAlarms()
    for seed, (law, model) in enumerate(RANKED.items()):
        ranks = ranks_of(model)
        alarms.add(law, binned_p_value(ranks(seed, 100)[:, 0]))
        wrong.add(f"{law}, noise taken for a tenth", binned_p_value(ranks(seed, 50, told=0.1)[:, 0]))
    exactly = Exactly(*LAWS["poisson"][1:], ONE, knots=4, points=2)
    wrong.add("poisson, the limit exactly", binned_p_value(ranks_of(RANKED["poisson"], exactly)(2, 150)[:, 0]))
    alarms.check()
    assert set(wrong.rejected()) == set(wrong.p_values), wrong.p_values
