"""Logistic regression from noisy tables: an exact promise, files, the prior of a design, and ranks that are uniform."""

import dataclasses
import itertools
import json
import math
import contextlib
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as dpb
from dp_bayes_nb.base.checks import ks_p_value
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.models.contract import family_class
from dp_bayes_nb.models.registry import family_from_dict
from dp_bayes_nb.noise.add_remove import size_noise
from dp_bayes_nb.noise.design import noise_design
from dp_bayes_nb.ways.methods import methods_of
from dp_bayes_nb.research.trials import method_draws
from dp_bayes_nb.tables.effects import DesignedPrior, coefficient_information
from dp_bayes_nb.tables.soft_tables import Hats

ILL = ("ill", ["no", "yes"])
MODELS = {
    "one": dpb.LogisticRegression(ILL, {"age": (18, 90)}, knots=4),
    "two": dpb.LogisticRegression(ILL, {"age": (18, 90), "region": ["north", "south"]}, knots=3),
    "numbers": dpb.LogisticRegression(ILL, {"age": (18, 90), "bmi": (15, 40), "pay": (0, 900)}, knots=3, points=1),
    "crossed": dpb.LogisticRegression(
        ILL, {"age": (18, 90), "region": ["north", "south"]}, knots=3, interactions=[("age", "region")]
    ),
}


def table(model, rng, n):
    "A random table with values beyond the limits."
    return pd.DataFrame(
        {
            c.name: rng.choice(np.array(c.levels, dtype=object), n)
            if c.levels
            else rng.uniform(c.low - 9, c.high + 9, n)
            for c in model.columns
        }
    )


def exact_rows(model, g):
    "Exact sums, in steps of the grid, of single records: all at the ends of limits, and some inside or beyond them."
    corners = pd.DataFrame(itertools.product(*[c.levels or (c.low, c.high) for c in model.columns]),
                           columns=[c.name for c in model.columns])
    records = pd.concat([corners, table(model, np.random.default_rng(0), 40)], ignore_index=True)
    columns = {name: records[name].to_numpy() for name in records}
    t = np.stack([np.broadcast_to(np.asarray(v, float), len(records)) for v in model.statistic(columns)], axis=1)
    rounded = np.floor(t * 2.0**g + 0.5)
    np.testing.assert_array_equal(rounded.sum(axis=0), exact_sums(model, records, grid_exponent=g).integers)
    return rounded


def farthest(rows):
    "The most that one record of those moves the sums if it comes or goes, and if it is changed: L1, L2."
    moved = {"add_remove": rows, "change_one": (rows[:, None] - rows[None]).reshape(-1, rows.shape[1])}
    return {relation: {"l1": np.abs(d).sum(axis=1).max(), "l2": np.sqrt((d**2).sum(axis=1)).max()}
            for relation, d in moved.items()}


@pytest.mark.parametrize("name", MODELS)
def test_neighbours_move_the_exact_sums_by_no_more_than_the_sensitivity_and_some_by_as_much(name):
    model = MODELS[name]
    for g in (3, 20):  # also a grid that is coarser than the hats
        found = farthest(exact_rows(model, g))
        for norm in ("l1", "l2"):
            rows = model.size_rows(g, norm)
            bounds = {"add_remove": rows.moved, "change_one": model.rounded_sensitivity(g, norm=norm)}
            for relation, bound in bounds.items():
                assert found[relation][norm] <= bound * (1 + 1e-15), (g, norm, relation)
                assert g == 3 or found[relation][norm] > 0.9 * bound, (g, norm, relation)
        assert found["change_one"]["l2"] <= rows.within * (1 + 1e-15)


@pytest.mark.parametrize("name", MODELS)
def test_a_private_number_of_records_costs_no_more_noise_than_a_public_one(name):
    model = MODELS[name]
    noise, _, rows = size_noise(model, epsilon=1.0)
    assert rows.names == model.names and np.all(noise.scale <= 0.6 * noise_design(model, epsilon=1.0)[0].scale)
    first = model.cells.margins[0]
    width = math.prod(axis.features[kind].shape[1] for axis in model.cells.axes for name, kind in first
                      if axis.name == name)
    assert np.all(exact_rows(model, 20)[:, :width].sum(axis=1) == 2.0**20)  # the first table adds up to n


def test_a_table_is_a_partition_of_its_records():
    model = MODELS["one"]
    frame = table(model, np.random.default_rng(1), 200)
    sums = exact_sums(model, frame, grid_exponent=20).integers
    assert sum(sums) == 200 * 2**20  # exactly: hats add up to 1
    inside = frame.age.clip(18, 90)
    hats = Hats(18.0, 90.0, 4)
    weighted = np.reshape(sums, (4, 2)).sum(axis=1) / 2**20 @ hats.points
    assert abs(weighted - inside.sum()) < 200 * 24 / 128


@pytest.mark.parametrize("name", MODELS)
def test_a_declaration_survives_its_file(name):
    model = MODELS[name]
    assert family_from_dict(json.loads(json.dumps(model.to_dict()))) == model


def test_the_prior_of_a_release_is_asked_for_with_its_design():
    model = MODELS["one"]
    noise, prior = noise_design(model, epsilon=1.0)[0], model.accept(None)
    designed = model.designed_prior(prior, 800, noise)
    assert isinstance(designed, DesignedPrior) and float(designed.n) == 800
    assert model.designed_prior(designed, 900, noise).n == 900  # designed anew, not twice
    general = model.designed_prior(prior, None, noise)
    assert type(general) is dpb.NormalCoefficients and float(general.sd) == float(prior.sd) / 2
    normal = model.accept(dpb.NormalCoefficients(2.0))
    assert model.designed_prior(normal, 800, noise) is normal
    theta = normal.sample(jax.random.key(0))
    of = jax.jit(lambda n: coefficient_information(model, theta, n, jnp.asarray(noise.variance)))
    information, more = np.asarray(of(800.0)), np.asarray(of(8000.0))
    assert np.all(np.linalg.eigvalsh(information) > 0)
    assert np.all(np.linalg.eigvalsh(more - information) > 0)  # more records say more
    for other in (dpb.Bernoulli(), MODELS["two"]):
        own = other.accept(None)
        assert other.designed_prior(own, 800, noise) is own


def test_what_is_refused():
    two = {"age": (18, 90), "region": ["north", "south"]}
    cases = [
        (lambda: dpb.LogisticRegression(("ill", ["yes"]), two), "levels"),
        (lambda: dpb.LogisticRegression(ILL, two, knots=1), "knots"),
        (lambda: dpb.LogisticRegression(ILL, two, interactions=[("age", "age")]), "interactions"),
        (lambda: dpb.LogisticRegression(ILL, two, margins=[("age", "region")]), "margins"),
        (lambda: dpb.LogisticRegression(ILL, {f"x{j}": (0, 1) for j in range(9)}), "cells"),
        (lambda: MODELS["one"].accept(dpb.NormalCoefficients(-1.0)), "prior.sd"),
        (lambda: MODELS["one"].accept(dpb.Beta(1.0, 1.0)), "prior"),
    ]
    for call, word in cases:
        with pytest.raises(ValueError, match=word):
            call()


def simulated_intervals(model, prior, seed, releases, n, noise, told=1.0):
    "Ranks of true slopes among draws, for parameters from the prior; `told`: the share of the noise that is told."
    prior = model.accept(prior)
    chosen = methods_of(model)["collapsed"]

    def one(key):
        key_theta, key_s, key_e, key_fit = jax.random.split(key, 4)
        theta = prior.sample(key_theta)
        s = model.simulate(key_s, theta, float(n))
        z = s + noise.scale * jax.random.laplace(key_e, s.shape)
        seen = Measurement(z, Noise("laplace", told * noise.scale, noise.grid), float(n))
        draws, _ = method_draws(key_fit, model, prior, chosen, seen, draws=150, warmup=100)
        return jnp.mean(draws["coefficients"][:, 0] < theta["coefficients"][0])

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), releases)))


@pytest.mark.slow
def test_ranks_of_the_slope_are_uniform_and_a_smaller_noise_is_noticed():
    model = dpb.LogisticRegression(ILL, {"age": (18, 90)}, knots=4, points=2)
    m = len(model.names)
    noise = Noise("laplace", jnp.full(m, 12.0), jnp.zeros(m))
    ranks = simulated_intervals(model, dpb.NormalCoefficients(2.0), 5, 400, 1000, noise)
    assert ks_p_value(dpb.ks_uniform(ranks), len(ranks)) > 0.01
    inside = np.mean((ranks > 0.05) & (ranks < 0.95))
    assert abs(inside - 0.9) < 4 * np.sqrt(0.09 / 400)
    wrong = simulated_intervals(model, dpb.NormalCoefficients(2.0), 5, 400, 1000, noise, told=0.2)
    assert np.mean((wrong > 0.05) & (wrong < 0.95)) < 0.9 - 4 * np.sqrt(0.09 / 400)


class Sampled(Exception):
    "Everything before the first draw has been said."


def test_where_there_is_not_one_table_the_default_prior_says_so(monkeypatch):
    "Several tables, and groups: the prior cannot know one size and one noise, and what takes its place is named."
    model = dpb.LogisticRegression(("y", [0, 1]), {"c": ["a", "b"]})
    theta = {k: np.asarray(v) for k, v in model.accept(dpb.NormalCoefficients(1.0)).sample(jax.random.key(2)).items()}
    tables = [dpb.simulate_release(model, theta, n=600, epsilon=1.0, seed=key) for key in (3, 4)]
    used = []

    def sampled(route, words, **options):
        used.append(type(route.case.used).__name__)
        raise Sampled

    monkeypatch.setattr(dpb.Route, "run", sampled)
    for call, said in ((dpb.fit, pytest.raises(Sampled)), (dpb.explain, contextlib.nullcontext())):
        with pytest.warns(UserWarning, match="InformationPrior depends on.*NormalCoefficients") as caught, said:
            call(tables, progress=False)
        assert caught[0].filename == __file__  # where it was asked for, not a line of the package
    with warnings.catch_warnings(), pytest.raises(Sampled):
        warnings.simplefilter("error")
        dpb.fit(tables[0], progress=False)
    assert used == ["NormalCoefficients", "DesignedPrior"]
    grouped = dpb.Grouped(model, by="g", levels=["u", "v"], sizes="public")
    assert type(grouped.designed_prior(grouped.accept(None), 600, None)) is dpb.NormalCoefficients


@pytest.mark.slow
def test_where_there_is_not_one_table_the_result_names_the_prior_that_was_used():
    model = dpb.LogisticRegression(("y", [0, 1]), {"c": ["a", "b"]})
    theta = {k: np.asarray(v) for k, v in model.accept(dpb.NormalCoefficients(1.0)).sample(jax.random.key(2)).items()}
    tables = [dpb.simulate_release(model, theta, n=600, epsilon=1.0, seed=key) for key in (3, 4)]
    with pytest.warns(UserWarning, match="InformationPrior"):
        both = dpb.fit(tables, draws=100, warmup=100, chains=2, progress=False)
    assert "InformationPrior" not in both.posterior.attrs["prior_json"]


@pytest.mark.slow
def test_a_private_number_of_records_hardly_widens_a_posterior():
    "The same numbers with n known and unknown: means within .15 sd (Monte Carlo error .06), spread within a tenth."
    model = dpb.LogisticRegression(ILL, {"age": (18, 90)}, knots=3, points=1)
    theta = {"coefficients": np.array([0.05, -2.5]), "shape of age": np.array([0.3, -0.4])}
    private = dpb.simulate_release(model, theta, 5000, 1.0, neighbours="add_remove", n_max=100_000, seed=3)
    public = dpb.declare(model, dict(zip(model.names, private.values)), n=5000, source="the same",
                         noise=dpb.Laplace(scale=1.0))
    fits = [dpb.fit(r, dpb.NormalCoefficients(5.0), draws=300, warmup=200, progress=False) for r in (public, private)]
    known, unknown = (np.reshape(f.posterior["coefficients"].values, (-1, 2)) for f in fits)
    table = dpb.summary(fits[0]).frame  # of the coefficients alone; without a conjugate prior no share is told
    assert table["name"].tolist() == ["age", "intercept"] and table["noise_share"].isna().all()
    assert np.all(np.abs(known.mean(axis=0) - unknown.mean(axis=0)) < 0.15 * known.std(axis=0))
    assert np.all(np.abs(np.log(unknown.std(axis=0) / known.std(axis=0))) < 0.1)
    n = fits[1].confidential["n"].values
    assert abs(n.mean() - 5000) < 4 * n.std() and n.std() < 6  # six rows of noise of sd √2: 3.5


def test_plan_tells_what_a_model_recommends_of_public_numbers():
    @family_class
    class Told(dpb.Bernoulli):
        def recommended(self, n, noise):
            return {"knots": 3 if noise.scale[0] > 0.5 else 5} if n > 100 else {}

    told = dpb.plan(Told(), n=[100, 1000, 2000], epsilon=[1.0, 4.0], trials=2, progress=False)
    wanted = [{"n": n, "epsilon": e, "knots": k} for n in (1000, 2000) for e, k in ((1.0, 3), (4.0, 5))]
    assert told.recommended == wanted
    assert "recommended: knots=3 for n = 1000 and epsilon 1; n = 2000 and epsilon 1" in repr(told)
    assert dpb.Bernoulli().recommended(1000, None) == {}
    assert "recommended" not in repr(dataclasses.replace(told, recommended=[]))


def test_knots_are_recommended_as_far_as_cells_can_be_held():
    noise = lambda model: noise_design(model, epsilon=1.0)[0]
    few, many = MODELS["two"], dpb.LogisticRegression(ILL, {f"x{j}": (0, 1) for j in range(4)}, knots=3)
    assert few.recommended(10**6, noise(few))["knots"] == dpb.recommend_knots(10**6, 1.0, covariates=2) >= 12
    most = many.recommended(10**6, noise(many))["knots"]
    dpb.LogisticRegression(ILL, {f"x{j}": (0, 1) for j in range(4)}, knots=most)
    assert most == 12 < dpb.recommend_knots(10**6, 1.0, covariates=4)
    assert dpb.recommend_knots(10_000, rho=0.1, covariates=6) > dpb.recommend_knots(10_000, rho=0.001, covariates=6)
    for wrong, word in ((dict(epsilon=1.0, rho=1.0), "epsilon"), (dict(), "epsilon"),
                        (dict(rho=1.0, delta=0.1), "delta"), (dict(epsilon=1.0, covariates=0), "covariates"),
                        (dict(epsilon=1.0, shape="bell"), "shape")):
        with pytest.raises(ValueError, match=word):
            dpb.recommend_knots(1000, **wrong)


@pytest.mark.parametrize("model", [
    *MODELS.values(), dpb.LogisticRegression(("y", [0, 1]), {"a": (18.5, 90), "g": {"levels": [0, 1]}, "h": [1, 2, 3],
                                                             "k": ["a", "b"]}, margins=[("g", "h", "k")], points=2)])
def test_a_declaration_is_shown_as_it_is_typed(model):
    assert eval(repr(model), {"LogisticRegression": dpb.LogisticRegression}) == model


def test_messages_say_what_to_type():
    two = {"age": (18, 90), "region": ["north", "south"]}
    for given, words in ((dict(covariates={"age": (90, 18)}), r"covariates\['age'\] must be a range"),
                         (dict(interactions="age:region"), r"like \[\('age', 'region'\)\], got 'age:region'"),
                         (dict(interactions=("age", "region")), "names stand in tuples, in a list"),
                         (dict(interactions=[("age", "town")]), "covariates are"),
                         (dict(margins=2), "fewer than 3 covariates.*of all pairs of covariates, are released")):
        with pytest.raises(ValueError, match=words):
            dpb.LogisticRegression(ILL, **{"covariates": two, **given})


def test_rows_at_knots_are_said_to_be_weights():
    theta = {"coefficients": np.array([0.05, -2.5]), "shape of age": np.zeros(12)}
    assert MODELS["one"].nuisance == ("shape of age",) == dpb.Grouped(MODELS["one"], by="g", levels=["u", "v"]).nuisance
    for options in ({}, {"neighbours": "add_remove", "n_max": 1000}):
        shown = repr(dpb.simulate_release(MODELS["one"], theta, 100, 1.0, **options))
        assert 'a row "at" a value is a sum of weights, not a count' in shown and "ill=no, age at 18" in shown
    categories = dpb.LogisticRegression(ILL, {"region": ["north", "south"]})
    assert categories.row_words == dpb.Bernoulli().row_words == ""
