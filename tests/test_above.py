"""A count above public limits beside a model's sums: sensitivity, hostile limits, files, engines, the check."""

import json
import math
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import dp_bayes_nb as db
from dp_bayes_nb.cli import main
from dp_bayes_nb.command.declarations import read_family
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models import above
from dp_bayes_nb.noise.design import design

GAMMA = db.Gamma(2.0, 0.5)
NUMBERS = st.one_of(st.floats(1.0, 60.0), st.sampled_from([1.0, 5.0, 7.0, 20.0, math.nextafter(7.0, 8.0), 1 / 3 + 5]))
WHOLE = st.integers(0, 40)
MODELS = {  # model, records, are both norms of equation (2) attained?
    "counts": (db.Above(db.Poisson((2, 30)), [2, 9, 29], 7), WHOLE, True),
    "one count": (db.Above(db.Geometric((0, 9)), [0]), WHOLE, True),
    "waiting": (db.Above(db.Exponential((5, 20)), [7, 19], 0.3), NUMBERS, True),
    "pareto": (db.Above(db.Pareto((5, 20), lower=1.0), [7], 2), NUMBERS, True),
    "normal": (db.Above(db.Normal((5, 20)), [7, 12], 0.7), NUMBERS, False),
    "normal, known": (db.Above(db.Normal((5, 20), variance=2.0), [7, 12]), NUMBERS, True),
    "log-normal": (db.Above(db.LogNormal((5, 20)), [7.5]), NUMBERS, True),
    "gamma": (db.Above(db.GammaData((1, 50)), [7, 45], 0.5), NUMBERS, True),
    "weibull": (db.Above(db.Weibull((1, 20), shape=1.5), [7, 12], 11), NUMBERS, True),
}
CHECKED = {  # inner model and limits, parameters, prior
    "Poisson": (db.Above(db.Poisson((0, 12)), [0, 6], 4), {"rate": 4.0}, GAMMA),
    "Exponential": (db.Above(db.Exponential((0, 10)), [3], 5), {"rate": 0.5}, GAMMA),
    "Normal": (db.Above(db.Normal((40, 160)), [110], 0.5), {"mean": 100.0, "variance": 225.0},
               db.NormalInverseGamma(100.0, 0.5, 3.0, 400.0)),
    "LogNormal, known": (db.Above(db.LogNormal((1, 500), 0.8), [30, 90]), {"log_mean": 3.0}, db.NormalMean(3.0, 0.5)),
}


def steps(family, records, g):
    "The rounded statistic of records one by one, in grid steps, (rows, m)."
    kind = (pl.Int64, int) if family.integer else (pl.Float64, float)
    table = lambda x: pl.DataFrame({"x": [kind[1](x)]}, schema={"x": kind[0]})
    return np.array([exact_sums(family, table(x), grid_exponent=g).integers
                     for x in records], dtype=float)


@pytest.mark.parametrize("kind, norm, delta", [("laplace", "l1", None), ("gaussian", "l2", 1e-6)])
@pytest.mark.parametrize("name", MODELS)
def test_no_pair_of_records_moves_the_sums_further_than_claimed(name, kind, norm, delta):
    "Pairs are tried by hypothesis, and the ends of the bounds attain the claim: one limit less would be found."
    family, records, attained = MODELS[name]
    d = design(family, 1.0, kind, delta, "change_one")
    g = d.grid_exponent
    assert d.steps == family.rounded_sensitivity(g, norm=norm)

    def size(moved):
        return np.abs(moved).sum(-1) if norm == "l1" else np.sqrt((moved**2).sum(-1))

    @settings(max_examples=12, deadline=None, derandomize=True, database=None)
    @given(records, records)
    def tried(one, other):
        t = steps(family, [one, other], g)
        assert size(t[0] - t[1]) <= d.steps
        low, high = family.step_range(g)
        assert np.all((np.array(low) <= t) & (t <= np.array(high)))

    tried()
    low, high = family.model.bounds.lower, family.model.bounds.upper
    ends = size(np.subtract(*steps(family, [high, low], g)))
    assert ends <= d.steps
    if attained and not (name == "log-normal" and norm == "l1"):  # it turns between the ends
        assert ends > d.steps * (1 - 1e-4)


def test_the_sensitivity_is_that_of_all_pairs():
    "Brute force over every pair of counts, whole numbers exactly; without a limit the claim would be too small."
    for limits, weight in (([0], 1), ([4, 5], 3), ([0, 3, 8], 6)):
        family = db.Above(db.Poisson((0, 9)), limits, weight)
        T = np.asarray(family.record_statistics(np.arange(15)))
        d = np.abs(T[:, None] - T[None])
        assert d.sum(-1).max() == family.sensitivity() == 9 + len(limits) * weight
        exact = 81 + len(limits) * weight**2
        assert (d**2).sum(-1).max() == exact and exact <= family.sensitivity(norm="l2") ** 2 <= exact * (1 + 1e-15)
        assert above.passed(9, weight, len(limits) - 1, "l1") < d.sum(-1).max()


HOSTILE = ([math.nan], [math.inf], [20], [20.5], [-1], [25], [9, 9], [9, 3], [], "9", None, {9}, {"a": 9}, [[1, 2]],
           [9.5], [True], ["9"], range(17), [1e400], [10**400])


@pytest.mark.parametrize("limits", HOSTILE, ids=lambda limits: str(limits)[:20])
def test_hostile_limits_are_refused_in_words(limits):
    with pytest.raises(ValueError, match="limits must be"):
        db.Above(db.Poisson((0, 20)), limits)


def test_a_limit_at_a_bound_of_real_records_is_refused():
    for limit in (0.0, 10.0):
        with pytest.raises(ValueError, match="between 0 and 10, inside the bounds"):
            db.Above(db.Exponential((0, 10)), [limit])
    assert db.Above(db.Poisson((0, 20)), [0, 19]).limits == (0.0, 19.0)  # the share that is not 0 can be asked for
    assert db.Above(db.Exponential((0, 10)), np.array([2, 5])).limits == (2.0, 5.0)


def test_other_models_are_refused_in_words():
    for model, words in ((db.Poisson(db.Redact(0, 20)), "bounds clip"), (db.Bernoulli(), "one clipped column"),
                         ("Poisson", "one clipped column"), (db.Above(db.Poisson((0, 20)), [3]), "one clipped column")):
        with pytest.raises(ValueError, match=words):
            db.Above(model, [9])
    for weight in (0, -1, 0.5, math.nan, "1", True):
        with pytest.raises(ValueError, match="weight must be"):
            db.Above(db.Poisson((0, 20)), [9], weight)


def test_a_release_goes_from_a_table_to_a_posterior_and_no_message_holds_a_record(tmp_path):
    family, rng = db.Above(db.Poisson((0, 20), "visits"), [9], 10), np.random.default_rng(3)
    table = pl.DataFrame({"visits": rng.negative_binomial(4, 0.5, 1000)})
    made = db.release(family, table, epsilon=1.0)
    assert db.Release.from_json(made.to_json()) == made and made.names == ("sum", "10 x above 9")
    assert made.sensitivity == 30.0
    idata = db.fit(made, GAMMA, draws=250, warmup=250, progress=False)
    check = db.predictive_check(idata)
    assert float(check.p_value[1]) < 0.01 and float(check.p_joint) < 0.01
    with pytest.raises(ValueError) as caught:
        db.release(family, table.with_columns(pl.col("visits") - 77.25), epsilon=1.0)
    assert "77.25" not in str(caught.value) and "-7" not in str(caught.value)
    with pytest.raises(ValueError, match="not available here: it needs the family's conjugate prior"):
        db.fit(made, GAMMA, method="naive", progress=False)
    document = {**json.loads(made.to_json())}
    assert document["model"]["model"]["family"] == "Poisson" and document["schema"] == 2


def test_engines_give_equal_sums(tmp_path):
    values = {"whole": [0, 3, 9, 10, 11, 20, 25, 9], "real": [0.2, 3.0, math.nextafter(3, 4), 7.5, 9.0, 30.0]}
    for kind, family in (("whole", db.Above(db.Poisson((0, 20), "whole"), [0, 9], 10)),
                         ("real", db.Above(db.Normal((1, 9), column="real"), [3, 7.5], 0.3))):
        table = pl.DataFrame({kind: values[kind]})
        table.write_csv(tmp_path / "it.csv")
        g = 0 if family.integer else 30
        found = {str(exact_sums(family, each, grid_exponent=g).integers)
                 for each in (table, table.lazy(), table.to_pandas(), table.to_arrow(), str(tmp_path / "it.csv"))}
        x, w = np.array(values[kind]), family.weight
        counts = [int((x > c).sum() * math.floor(w * 2**g + 0.5)) for c in family.limits]
        assert len(found) == 1 and found.pop().endswith(", ".join(map(str, counts)) + ")")


@pytest.mark.slow
def test_declared_rows_have_their_own_scales():
    family = db.Above(db.Poisson((0, 20)), [9])
    made = db.declare(family, {"sum": 4059, "above 9": 47}, n=1000, noise=[db.Laplace(scale=20), db.Laplace(scale=1)],
                      source="made up for a test")
    idata = db.fit(made, GAMMA, draws=250, warmup=250, progress=False)
    assert float(db.predictive_check(idata).p_value[1]) < 0.01


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="above 9"):
        db.declare(db.Above(db.Poisson((0, 20)), [9]), {"sum": 4059, "above 9": 4700}, n=1000,
                   noise=db.Laplace(scale=1), source="made up")


def private():
    family = db.Above(db.Exponential((0, 10)), [3], 5)
    return db.simulate_release(family, {"rate": 0.5}, 400, 1.0, neighbours="add_remove", n_max=10_000, seed=1)


def test_add_remove_is_released():
    made = private()
    assert db.Release.from_json(made.to_json()) == made and made.n is None and len(made.names) == 3


@pytest.mark.slow
def test_add_remove_goes_through():
    made = private()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        idata = db.fit(made, GAMMA, draws=50, warmup=50, chains=2, progress=False)
    assert db.predictive_check(idata, draws=20).z_rep.shape == (2, 20, 3)


def test_a_second_release_is_checked_and_others_are_refused():
    theta, inner = {"rate": 4.0}, db.Poisson((0, 20))
    made = db.simulate_release(inner, theta, 500, 1.0, seed=1)
    second = db.simulate_release(db.Above(inner, [9], 10), theta, 700, 1.0, seed=2)
    idata = db.fit(made, GAMMA, draws=50, warmup=50, progress=False)
    check = db.predictive_check(idata, second)
    assert list(check.statistic.values) == list(second.names) and float(check.p_value.min()) > 0.01
    assert float(check.z_rep[..., 0].mean()) == pytest.approx(7 / 5 * float(made.values[0]), rel=0.05)
    assert check.equals(db.predictive_check(idata, second=second))
    for wrong in (3, "second", db.simulate_release(db.Bernoulli(), {"probability": 0.3}, 9, 1.0, seed=1)):
        with pytest.raises(ValueError, match="second must be"):
            db.predictive_check(idata, wrong)
    private = db.simulate_release(inner, theta, 400, 1.0, neighbours="add_remove", n_max=1000, seed=1)
    with pytest.raises(ValueError, match="says n"):
        db.predictive_check(idata, private)


def test_the_joint_p_value_is_of_the_rows_together():
    "Two rows whose sum is impossible, though neither is alone; without their covariance nothing would be seen."
    from dp_bayes_nb.posterior.results import _joint_p_value
    rng = np.random.default_rng(0)
    both = rng.multivariate_normal([0, 0], [[1, 0.99], [0.99, 1]], (4, 1000))
    seen = np.array([1.2, -1.2])
    assert _joint_p_value(both, seen, seen) < 0.001 < 0.2 < _joint_p_value(rng.normal(size=(4, 1000, 2)), seen, seen)
    ranks = [_joint_p_value(rng.normal(size=(2, 500, 3)), z, z) for z in rng.normal(size=(300, 3))]
    assert abs(np.mean(ranks) - 0.5) < 4 / np.sqrt(12 * 300)
    assert math.isnan(_joint_p_value(both, seen, seen + 1)) and math.isnan(_joint_p_value(both[:1, :10], seen, seen))


def test_the_command_line_reads_a_nested_model(tmp_path, capsys):
    (tmp_path / "f.toml").write_text('family = "Above"\nlimits = [9]\nweight = 10\n[model]\nfamily = "Poisson"\n'
                                     'bounds = [0, 20]\ncolumn = "visits"\n')
    family = db.Above(db.Poisson((0, 20), "visits"), [9], 10)
    assert read_family(tmp_path / "f.toml") == family
    assert read_family(tmp_path / "f.toml", "other").columns[0].name == "other"
    pl.DataFrame({"visits": [1, 2, 12] * 40}).write_csv(tmp_path / "it.csv")
    assert not main(["release", str(tmp_path / "it.csv"), "--family", str(tmp_path / "f.toml"), "--epsilon", "1", "-o",
                     str(tmp_path / "r.json")])
    assert db.Release.load(tmp_path / "r.json").family == family


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) for n in CHECKED])
def test_check_model_passes(name):
    model, theta, prior = CHECKED[name]
    db.check_model(1, model, theta, prior, n=400)


def test_check_model_refuses_a_wrong_joint_covariance(monkeypatch):
    "The mutant: the sum and the counts as if they were independent."
    right, (_, theta, prior) = above.joint_moments, CHECKED["Poisson"]

    def independent(family, theta):
        mean, covariance = right(family, theta)
        m = len(family.model.names)
        return mean, covariance.at[:m, m:].set(0.0).at[m:, :m].set(0.0)

    monkeypatch.setattr(above, "joint_moments", independent)
    other = db.Above(db.Poisson((0, 12)), [0, 6], 3)  # a model whose programs are not compiled yet
    with pytest.raises(AssertionError, match="moments: the covariance of sum and 3 x above"):
        db.check_model(1, other, theta, prior, n=400)
