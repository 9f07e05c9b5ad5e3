"""Log-linear models of truths answered at random: quadrature, the posterior by categories, and what must fail."""

from unittest.mock import patch

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import dp_bayes_nb as dpb
from dp_bayes_nb import (Categorical, Dirichlet, Exact, Grouped, Laplace, LogDensity, LogLinear, NormalEffects,
                         RandomizedResponse, Rounded, Shrinkage, declare, fit, table_effects, table_probabilities)
from dp_bayes_nb.base.chains import run_chain
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.models.reports import CellsLaw, ReportsLaw
from dp_bayes_nb.releases.document import Release
from dp_bayes_nb.tables import reports
from dp_bayes_nb.tables.reports import kernel

PAIR = LogLinear({"cheated": ["no", "yes"], "lied": ["no", "yes"]}, margins=2)
CERTAIN, NOISY = [[0.9, 0.0], [0.1, 1.0]], [[0.53, 0.47], [0.47, 0.53]]
SKEW, FORCED = [[0.9, 0.3], [0.1, 0.7]], [[0.75, 0.1], [0.25, 0.9]]
COUNTS, PRIOR = np.array([210, 130, 90, 120]), NormalEffects(scale=1.0, decay=0.7)


def declared(model=PAIR, counts=COUNTS, **design):
    design = design or {"matrix": [SKEW, FORCED]}
    return declare(RandomizedResponse(model, **design), counts, printed=Exact(), source="made up")


def by_quadrature(Q, prior=PRIOR, counts=COUNTS, model=PAIR):
    "Mean and covariance of the effects and the mean of the cells, on a grid of three effects."
    line = np.linspace(-3, 3, 61)
    x = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    p = np.asarray(jax.jit(jax.vmap(lambda x: model.cell_probabilities({"effects": x})))(x))
    value = np.asarray(jax.vmap(lambda x: model.accept(prior).log_density({"effects": x}))(x))
    value = value + np.log(p @ np.asarray(Q).T) @ counts
    w = np.exp(value - value.max())
    w /= w.sum()
    mean = w @ x
    return mean, (x - mean).T @ ((x - mean) * w[:, None]), w @ p


@pytest.fixture(scope="module")
def found():
    return fit(declared(), PRIOR, draws=1500, warmup=300, seed=1, progress=False)


def test_effects_cells_and_truths_against_quadrature(found):
    "Means within four standard errors; variances and covariances within a tenth."
    x = found.posterior["effects"].values
    mean, covariance, p = by_quadrature(np.kron(SKEW, FORCED))
    sd, worth = np.sqrt(np.diag(covariance)), az.ess(found.posterior)["effects"].values
    assert worth.min() > 1500
    C = np.cov(x.reshape(-1, 3).T)
    cells, s = table_probabilities(found, ["cheated", "lied"]).values, found.confidential["s"].values

    def close(mean, covariance, p):
        assert np.all(np.abs(x.mean(axis=(0, 1)) - mean) < 4 * sd / worth**0.5)
        assert np.all(np.abs(C - covariance) < 0.1 * np.outer(sd, sd))
        assert np.all(np.abs(cells.mean(axis=(0, 1)).ravel() - p) < 4 * cells.std(axis=(0, 1)).ravel() / 1500**0.5)

    close(mean, covariance, p)
    for why, wrong in (("Q transposed", [np.transpose(SKEW) / np.sum(SKEW, axis=1), FORCED]),
                       ("Q ignored", [np.eye(2)] * 2), ("columns exchanged", [FORCED, SKEW])):
        must_fail(lambda wrong=wrong: close(*by_quadrature(np.kron(*wrong))), why)
    assert np.all(s.sum(axis=-1) == COUNTS.sum())

    def true_counts(Q):
        assert np.all(np.abs(s.mean(axis=(0, 1)) - by_truths(Q, x.reshape(-1, 3))) < 5 * s.std(axis=(0, 1)) / 6000**0.5)
    true_counts(np.kron(SKEW, FORCED))
    must_fail(lambda: true_counts(np.kron(FORCED, SKEW)), "columns exchanged")


def by_truths(Q, effects):
    "E[truths | reports] by Bayes' rule of each report, the mean over draws of the effects."
    p = np.asarray(jax.vmap(lambda x: PAIR.cell_probabilities({"effects": x}))(effects))
    joint = Q[None] * p[:, None]
    return (COUNTS[:, None] * joint / joint.sum(axis=2, keepdims=True)).sum(axis=1).mean(axis=0)


@pytest.mark.slow
def test_the_saturated_model_is_that_of_categories():
    "A flat Dirichlet is the density of θ₁θ₂θ₃θ₄ in the effects of a saturated model: the same posterior of the cells."
    flat = LogDensity(lambda theta: jnp.sum(PAIR.log_cells(theta)))
    ours = fit(declared(), flat, draws=1500, warmup=300, seed=2, progress=False)
    cells = table_probabilities(ours, ["cheated", "lied"]).values.reshape(-1, 4)
    names = ("no, no", "no, yes", "yes, no", "yes, yes")
    made = lambda Q: declare(RandomizedResponse(Categorical(names, "both"), matrix=Q), COUNTS, printed=Exact(),
                             source="made up")

    def same(Q):
        other = fit(made(Q), Dirichlet(np.ones(4)), draws=1500, warmup=200, seed=3, progress=False)
        theirs = other.posterior["probabilities"]
        error = theirs.std(["chain", "draw"]).values * (1 / 1500 + 1 / min(theirs.attrs["ess_bulk"]))**0.5
        theirs = theirs.values.reshape(-1, 4)
        assert np.all(np.abs(cells.mean(axis=0) - theirs.mean(axis=0)) < 4 * error)
        assert np.all(np.abs(cells.std(axis=0) / theirs.std(axis=0) - 1) < 0.1)
    same(np.kron(SKEW, FORCED))
    must_fail(lambda: same(np.kron(FORCED, SKEW)), "columns exchanged")


def test_three_questions_main_effects():
    "Independent questions are three surveys of one question each: the products of their posteriors."
    three = LogLinear({name: ["no", "yes"] for name in "abc"}, margins=1)
    Q = [SKEW, FORCED, [[0.8, 0.2], [0.2, 0.8]]]
    counts = np.array([60, 41, 35, 30, 24, 33, 29, 48])
    idata = fit(declared(three, counts, matrix=Q), NormalEffects(1.5), draws=1500, warmup=300, seed=4, progress=False)
    line, x = np.linspace(-6, 6, 4001), idata.posterior["effects"].values.reshape(-1, 3)

    def close(each):
        for j, design in enumerate(each):
            yes = 1 / (1 + np.exp(-np.sqrt(2) * line))
            table = counts.reshape(2, 2, 2).sum(axis=tuple({0, 1, 2} - {j}))
            value = np.log(np.array(design) @ np.stack([1 - yes, yes])).T @ table - line**2 / 2 / 1.5**2
            w = np.exp(value - value.max())
            mean = w @ line / w.sum()
            assert abs(x[:, j].mean() - mean) < 4 * x[:, j].std() / 1500**0.5, j
    close(Q)
    must_fail(lambda: close([np.transpose(each) / np.sum(each, axis=1) for each in Q]), "Q transposed")


def test_the_association_of_reports_is_biased_to_one_and_the_posterior_is_not():
    odds = lambda t: np.log(t[..., 0, 0] * t[..., 1, 1] / (t[..., 0, 1] * t[..., 1, 0]))
    p = np.array([0.55, 0.1, 0.1, 0.25])
    model = RandomizedResponse(PAIR, keep=0.8)
    counts = np.rint(20_000 * model.Q @ p)
    log_odds = odds(table_probabilities(fit(declared(counts=counts, keep=0.8), seed=5, progress=False),
                                        ["cheated", "lied"]).values)
    truth, naive = odds(p.reshape(2, 2)), odds(counts.reshape(2, 2))
    assert abs(log_odds.mean() - truth) < 2 * log_odds.std() < 0.5
    assert 0 < naive < 0.5 * truth and abs(naive - truth) > 6 * log_odds.std()


def test_the_declaration_is_kept():
    four = [[0.4, 0.1], [0.3, 0.2], [0.2, 0.3], [0.1, 0.4]]  # reports of two truths
    for design in ({"keep": 0.8}, {"keep": (0.8, 0.7)}, {"epsilon": [1.0, 2]}, {"matrix": [SKEW, FORCED]},
                   {"matrix": np.kron(SKEW, FORCED)}, {"matrix": [SKEW, np.eye(2)]}, {"matrix": [SKEW, four]}):
        model = RandomizedResponse(PAIR, **design)
        made = declared(counts=np.arange(len(model.Q)) + 1, **design)
        assert Release.from_json(made.to_json()) == made and np.allclose(made.model.Q, model.Q, rtol=1e-12)
        assert len(set(made.names)) == len(model.Q) and made.model.truths[1] == "cheated=no, lied=yes"
        assert "local ε" in repr(made) and dpb.explain(made).method == "log_linear"
    assert made.model.names[0] == "report[cheated=no, lied=0]"


def test_local_epsilon_adds_over_columns():
    assert np.isclose(RandomizedResponse(PAIR, epsilon=[1.0, 2.0]).local_epsilon, 3.0)
    assert np.isclose(RandomizedResponse(PAIR, keep=0.75, reports_per_person=2).local_epsilon, 4 * np.log(3))
    assert RandomizedResponse(PAIR, matrix=[SKEW, np.eye(2)]).local_epsilon == np.inf
    must_fail(lambda: np.testing.assert_allclose(RandomizedResponse(PAIR, epsilon=[1.0, 2.0]).local_epsilon, 2.0),
              "the larger of two")


def test_the_likelihood_is_exact_and_differentiable():
    log_density, effects = dpb.log_likelihood(declared()), jnp.array([0.1, -0.7, 0.4])
    value, slope = jax.value_and_grad(lambda x: log_density({"effects": x}))(effects)
    p = np.asarray(PAIR.cell_probabilities({"effects": effects}))
    by_hand = lambda Q: gammaln(COUNTS.sum() + 1) - gammaln(COUNTS + 1).sum() + COUNTS @ np.log(Q @ p)
    assert np.isclose(float(value), by_hand(np.kron(SKEW, FORCED)), rtol=1e-12) and np.all(np.isfinite(slope))
    must_fail(lambda: np.testing.assert_allclose(float(value), by_hand(np.kron(FORCED, SKEW))), "columns exchanged")


def test_impossible_cells_stay_empty():
    zeros = LogLinear({"young": ["no", "yes"], "cheated": ["no", "yes"]}, 2, [{"young": "yes", "cheated": "yes"}])
    model = RandomizedResponse(zeros, matrix=[np.eye(2), SKEW])
    made = declare(model, [90, 40, 70, 12], printed=Exact(), source="made up")
    idata = fit(made, draws=200, warmup=100, progress=False)
    assert np.all(idata.confidential["s"].values[..., 3] == 0)
    assert np.all(np.isfinite(idata.posterior["effects"].values))
    mean, _ = map(np.asarray, model.middle_moments())
    assert np.allclose(mean, np.asarray(model.moments({"effects": jnp.zeros(3)})[0]))


def test_reports_of_impossible_truths_are_refused():
    "An answer that is told openly shows at once that a cell cannot be; a randomised one does not."
    zeros = LogLinear({"young": ["no", "yes"], "cheated": ["no", "yes"]}, 2, [{"young": "yes"}])
    made = lambda counts, Q=np.eye(2): declared(zeros, counts, matrix=[Q, SKEW])
    with pytest.raises(ValueError, match=r"report\[young=yes, cheated=yes\].*must be 0, because.*impossible"):
        made([90, 40, 0, 12])
    assert made([90, 40, 0, 0]).n == 130 and made([90, 40, 70, 12], FORCED).n == 212


def test_what_a_result_gives(found):
    assert table_effects(found, ["cheated", "lied"]).shape == (4, 1500, 2, 2)
    given = table_probabilities(found, "lied", given="cheated").mean(["chain", "draw"]).values
    assert np.allclose(given.sum(axis=1), 1)
    assert "effects" in str(dpb.summary(found)) and "local ε" in str(dpb.summary(found))
    assert found.posterior.attrs["method"] == "log_linear" and "lp" in found.sample_stats


def test_surveys_of_one_population_are_one_survey_and_groups_are_alone():
    parts = [declared(counts=COUNTS // 3), declared(counts=COUNTS - COUNTS // 3)]
    both = fit(parts, PRIOR, draws=400, warmup=200, seed=6, progress=False)
    assert both.confidential["s"].shape == (4, 400, 2, 4)
    mean, covariance, _ = by_quadrature(np.kron(SKEW, FORCED))
    assert np.all(np.abs(both.posterior["effects"].mean(["chain", "draw"]) - mean) < 0.25 * np.diag(covariance)**0.5)
    model = Grouped(RandomizedResponse(PAIR, matrix=[SKEW, FORCED]), "region", ["north", "south"], sizes="public")
    made = declare(model, [COUNTS, COUNTS[::-1]], n=[550, 550], printed=Exact(), source="made up")
    north = fit(made, PRIOR, draws=400, seed=7, progress=False).posterior["effects"].sel(region="north")
    assert np.all(np.abs(north.mean(["chain", "draw"]) - mean) < 0.25 * np.diag(covariance)**0.5)
    with pytest.raises(ValueError, match="partial pooling"):
        fit(made, pool="partial", progress=False)


SAYS_NOTHING = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("design, said", [
    ({"keep": [0.7, 0.8, 0.9]}, "one for each of the 2 columns"), ({"keep": 0.5}, "say nothing of the truth"),
    ({"keep": [0.7, 0.5]}, "keep of 'lied' must be other than 1/2"),
    ({"keep": [0.7, 1.2]}, "keep of 'lied'"), ({"keep": [0.7, None]}, "keep of 'lied'"),
    ({"epsilon": [1.0, None]}, "epsilon of 'lied'"),
    ({"epsilon": [1, -2]}, "epsilon of 'lied'"), ({"matrix": SKEW}, "rows of 4 probabilities"),
    ({"matrix": [SKEW]}, "one for each of the 2 columns"), ({"matrix": [SKEW, np.eye(3)]}, "matrix of 'lied'"),
    ({"matrix": [SKEW, [[0.9, 0.1], [0.3, 0.7]]]}, "matrix of 'lied' .*transposed"),
    ({"matrix": [SAYS_NOTHING, SKEW]}, "matrix of 'cheated' .*not all the same"),
    ({"matrix": np.full((4, 4), 0.25)}, "not all the same"), ({"epsilon": 1.0, "bits": True}, "LogLinear"),
    ({"keep": 0.8, "epsilon": 1.0}, "only one of"), ({"matrix": [SKEW, FORCED], "sizes": [(2, 5)]}, "sizes must")])
def test_designs_that_are_refused(design, said):
    with pytest.raises(ValueError, match=said):
        RandomizedResponse(PAIR, **design)


def test_what_cannot_be_fitted_is_refused_in_words():
    model = RandomizedResponse(PAIR, keep=0.8)
    for more in ({"noise": Laplace(scale=2), "n": 550}, {"printed": Rounded(10), "n": 550},
                 {"printed": Rounded(10), "n_range": (400, 700)}):
        with pytest.raises(ValueError, match="without noise, printed exactly"):
            fit(declare(model, [210, 130, 90, 120], source="made up", **more), progress=False)
    with pytest.raises(ValueError, match="Shrinkage"):
        fit(declared(), Dirichlet(np.ones(4)), progress=False)
    with pytest.raises(ValueError, match="respondents randomise"):
        dpb.release(model, {"cheated": ["yes", "no"], "lied": ["no", "no"]}, epsilon=1.0)
    with pytest.raises(ValueError, match="method 'exact' is not available"):
        fit(declared(), method="exact", progress=False)
    with pytest.raises(ValueError, match="model must be Bernoulli"):
        RandomizedResponse(dpb.LogisticRegression(("ill", ["no", "yes"]), {"smokes": ["no", "yes"]}), keep=0.8)
    with pytest.raises(ValueError, match="reports times cells"):
        RandomizedResponse(LogLinear({name: 10 for name in "abcd"}, margins=1), keep=0.8)


@pytest.mark.slow
def test_a_curved_posterior_is_reached():
    "A certain report beside a noisy one. With the wide proposals alone chains stay where they are for long."
    def counts(n):
        return np.rint(n * np.kron(CERTAIN, NOISY) @ [0.55, 0.03, 0.07, 0.35]).astype(int)

    def effects(n, prior):
        made = declared(counts=counts(n), matrix=[CERTAIN, NOISY])
        return fit(made, prior, seed=9, progress=False).posterior["effects"]
    mean, covariance, _ = by_quadrature(np.kron(CERTAIN, NOISY), PRIOR, counts(2000))
    x, sd = effects(2000, PRIOR), np.diag(covariance)**0.5
    assert np.all(np.abs(x.mean(["chain", "draw"]) - mean) < 0.1 * sd)
    assert np.all(np.abs(x.std(["chain", "draw"]) / sd - 1) < 0.1)

    def reached():
        jax.clear_caches()
        assert min(effects(10_000, NormalEffects(2.0, 1.0)).attrs["ess_bulk"]) > 150
    reached()
    with patch.object(reports, "_FEW", 0):
        must_fail(reached, "no steps of the width of the place")
    jax.clear_caches()


@pytest.mark.slow
def test_designs_keep_the_contract():
    theta = {"effects": np.array([0.3, -0.2, 0.4])}
    dpb.check_model(jax.random.key(1), RandomizedResponse(PAIR, keep=0.8), theta)
    dpb.check_model(jax.random.key(2), RandomizedResponse(PAIR, matrix=[SKEW, FORCED]), theta, PRIOR)


@pytest.mark.slow
def test_coverage_of_the_association_over_simulated_surveys():
    "400 surveys with effects from the prior: ranks of the interaction are uniform; with Q ignored they are not."
    surveys, n, prior = 400, 600, PAIR.accept(Shrinkage(1.0, 0.7))
    model, keys = RandomizedResponse(PAIR, keep=0.8), jax.random.split(jax.random.key(8), 3)
    truth = prior.sample(keys[0], (surveys,))
    draw = jax.vmap(lambda key, theta: model.simulate(key, theta, float(n)))
    counts = draw(jax.random.split(keys[1], surveys), truth)

    @jax.jit
    def intervals(Q):
        def one(key, c):
            made = kernel(CellsLaw(ReportsLaw(jnp.asarray(float(n)), c, Q), PAIR), prior)
            return run_chain(key, made, draws=300, warmup=50)[0].theta["effects"][:, 2]
        return jax.vmap(one)(jax.random.split(keys[2], surveys), counts)

    def covers(Q):
        "Coverage of 50%, 80% and 95% intervals, each within four standard errors."
        x, true = np.asarray(intervals(jnp.asarray(Q))), np.asarray(truth["effects"])[:, 2]
        for level in (0.5, 0.8, 0.95):
            low, high = np.quantile(x, [(1 - level) / 2, (1 + level) / 2], axis=1)
            share = np.mean((low <= true) & (true <= high))
            assert abs(share - level) < 4 * (level * (1 - level) / surveys)**0.5 + 0.01, (level, share)
    covers(model.Q)
    must_fail(lambda: covers(np.eye(4)), "Q ignored")
    must_fail(lambda: covers(np.kron(SKEW, FORCED)), "another design")


def test_another_design_and_other_counts_compile_nothing():
    "A program knows shapes alone: other names, matrices and counts are data. More cells are another program."
    compiled: list = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration, **_: compiled.append(event) if "backend_compile" in event else None)

    def programs(counts, **design):
        columns = design.pop("columns", {"a": ["x", "y"], "b": [0, 1]})
        before = len(compiled)
        fit(declared(LogLinear(columns, margins=2), counts, **design), PRIOR, draws=50, warmup=50, progress=False)
        return len(compiled) - before
    programs(COUNTS, keep=0.8)
    assert programs(COUNTS[::-1], matrix=[FORCED, SKEW], columns={"p": ["no", "yes"], "q": [0, 1]}) == 0
    assert programs(np.arange(6) + 20, keep=0.7, columns={"p": 2, "q": 3}) > 0
