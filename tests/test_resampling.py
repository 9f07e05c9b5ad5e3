"""Draws that weights chose: they say what they are worth, warn, and refuse what contradicts itself."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.stats as st

import dp_bayes_nb as db
from dp_bayes_nb.base.measurement import Noise, law_of
from dp_bayes_nb.models.histogram import PolyaTree, split_numbers
from dp_bayes_nb.fields import pooling
from dp_bayes_nb.posterior import histograms
from dp_bayes_nb.posterior.fit import posterior_draws

EDGES = (0.0, 1.0, 2.0, 4.0, 8.0)
THETA = {"probabilities": [0.1, 0.3, 0.3, 0.15, 0.1, 0.05], "position": 0.4}


def shifted(scales):
    "A release whose sum is so many scales of its noise too large."
    made = db.simulate_release(db.Histogram(EDGES), THETA, 600, 1.0, seed=3)
    values = np.array(made.values, float)
    values[-1] += scales * made.noise.scale[-1]
    return dataclasses.replace(made, values=values)


def copying(rng, halves, n, row, size, tilted=None):
    "The old fallback, and what it said of itself: nothing."
    counts = histograms.draw_histograms(rng, halves, n, len(row.limits) - 1, 2**14)
    near = row.near(rng, counts)
    ways = row.ways(counts, near[1])
    w = ways.sum(axis=0)
    chosen = rng.choice(len(w), size, p=w / w.sum())
    total = row.draw(rng, counts[chosen])
    return histograms.Sums(counts[chosen], total, histograms.draw_position(rng, counts[chosen], total, row.limits),
                           float(size))


def fitted(release, **options):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        idata = db.fit(release, progress=False, **options)
    return idata, " ".join(str(each.message) for each in said)


def test_a_tilt_finds_what_a_far_sum_says(monkeypatch):
    "Two bins and both ends, forty records at ends of their bins, all tables enumerated: the mean of every number."
    n, limits, s_sum, z = 40, np.array([0.0, 0.0, 1.0, 2.0, 2.0]), 1.5, np.array([15.0, 8.5, 2.0, 12.8])
    splits = split_numbers(PolyaTree(np.full(3, 0.5)), 4)
    tables = np.array([c for c in np.ndindex(*(n + 1,) * 4) if sum(c) == n])
    value, m = (-np.abs(z - tables) / 3.0).sum(axis=1), np.arange(n + 1)
    for one, two in ((tables[:, :2].sum(1), tables[:, 2:].sum(1)), tables.T[:2], tables.T[2:]):
        value += st.betabinom(one + two, 0.5, 0.5).logpmf(one)
    inside, least = tables[:, 1:3].sum(axis=1)[:, None], (tables @ limits[:-1])[:, None]
    halves = lambda tilt=None: histograms.tree_halves(z, np.full(4, 3.0), "laplace", n, splits, tilt)
    for z_sum in (75.0, 5.0):
        w = np.exp(value)[:, None] * np.exp(-np.abs(z_sum - least - m) / s_sum) * (m <= inside) / (inside + 1)
        exact = np.array([*(w.sum(axis=1) @ tables), (w * (least + m)).sum()]) / w.sum()
        row = histograms.SumRow(limits, z_sum, s_sum, "laplace")
        def error(tilted, row=row, exact=exact):
            drawn = histograms.draw_counts_and_sum(np.random.default_rng(1), halves(), n, row, 20_000, tilted)
            x = np.column_stack(drawn[:2])
            return np.abs(x.mean(axis=0) - exact).max() / (x.std(axis=0).max() / 20_000**0.5), drawn.effective
        far, worth = error(halves)
        assert far < 5 and worth == 20_000
        with monkeypatch.context() as patch:
            patch.setattr(type(law_of("laplace")), "slopes", (0.9,))
            patch.setattr(histograms, "RARE", 1.0)
            assert error(halves)[0] < 5
            patch.setattr(histograms, "_proposed", untilted(histograms._proposed))
            assert error(halves)[0] > 20, "weights that forget the tilt are found"


def untilted(proposed):
    return lambda rng, n, row, halves, tilt, many: proposed(rng, n, row, halves, None, many)


@pytest.mark.parametrize("scales", [60, -60])
def test_far_sums_are_drawn_well(scales, monkeypatch):
    "Seeds agree; the old fallback copied a few tables and differed from seed to seed."
    def means(seed):
        drawn = posterior_draws(shifted(scales), seed=seed, progress=False, draws=500)
        return drawn.theta["probabilities"].reshape(-1, 6).mean(axis=0), drawn.confidential["s"].reshape(-1, 7)[:, :6]
    def well():
        (one, tables), (two, _) = means(0), means(1)
        return np.abs(one - two).max() < 0.01 and len(np.unique(tables, axis=0)) > 1800
    assert well()
    monkeypatch.setattr(histograms, "draw_counts_and_sum", copying)
    assert not well()


def test_weighted_draws_say_what_they_are_worth(monkeypatch):
    "Without a tilt nothing is accepted: ArviZ's numbers, the warning and the problems are of the effective draws."
    monkeypatch.setattr(histograms, "_best_tilt", lambda rng, n, row, tilted, counts: histograms.partial(
        histograms._proposed, rng, n, row, tilted(None), None))
    monkeypatch.setattr(histograms, "ROUNDS", 4)
    idata, said = fitted(shifted(60), draws=500)
    worth = float(idata.sample_stats["effective"].min())
    assert worth < 500 and idata.posterior["position"].attrs["ess_bulk"] <= worth
    assert max(idata.posterior["probabilities"].attrs["ess_tail"]) <= worth
    assert f"2000 draws are worth {worth:.0f}" in said and "worth" in idata.posterior.attrs["problems"]
    frame = db.fit_many([shifted(60)] * 1, draws=3, progress=False)
    assert "worth" in frame["problem"][0] and np.isnan(frame.filter(like="mean").to_numpy(float)).all()
    monkeypatch.setattr(histograms, "draw_counts_and_sum", copying)
    idata, said = fitted(shifted(60), draws=500)
    assert "worth" not in said and idata.posterior["position"].attrs["ess_bulk"] > 1000, "what the old one said"


def test_groups_say_it_of_the_worst(monkeypatch):
    inner = db.Histogram((0.0, 1.0, 8.0), "x")
    model = db.Grouped(inner, "g", ["a", "b"], sizes="public")
    theta = {"probabilities": np.tile([0.1, 0.4, 0.4, 0.1], (2, 1)), "position": np.full(2, 0.4)}
    made = db.simulate_release(model, theta, [300, 300], 1.0, seed=1)
    assert "effective" not in db.fit(made, draws=100, progress=False).sample_stats
    monkeypatch.setattr(histograms, "_best_tilt", lambda rng, n, row, tilted, counts: histograms.partial(
        histograms._proposed, rng, n, row, tilted(None), None))
    monkeypatch.setattr(histograms, "ROUNDS", 2)
    values = np.array(made.values, float)
    values[-1] += 60 * made.noise.scale[-1]
    idata, said = fitted(dataclasses.replace(made, values=values), draws=100)
    assert 0 < float(idata.sample_stats["effective"].max()) < 200 and "worth" in said


def test_contradictions_are_refused_and_strange_numbers_are_said(monkeypatch):
    with pytest.raises(ValueError, match="release must be one whose counts and sum can be those of one table"):
        db.fit(shifted(150), draws=100, progress=False)
    said = fitted(shifted(80), draws=100)[1]
    assert "noise went further than it does" in said
    assert not fitted(shifted(0), draws=100)[1] and not fitted(shifted(10), draws=100)[1]
    monkeypatch.setattr(histograms, "noise_chance", lambda z, noise, s: 1.0)
    assert db.fit(shifted(150), draws=100, progress=False), "what nobody looked at"
    counts = db.simulate_release(db.Histogram(EDGES, weight=0), THETA, 600, 1.0, seed=3)
    monkeypatch.undo()
    values = np.array(counts.values, float)
    values[:2] += 55 * counts.noise.scale[:2]
    with pytest.raises(ValueError, match="release must be"):
        db.fit(dataclasses.replace(counts, values=values), draws=100, progress=False)


def test_the_chance_of_noise_is_that_of_its_law():
    rng, scale = np.random.default_rng(0), np.array([1.0, 2.0, 3.0])
    noise = {kind: Noise(kind, scale, np.zeros(3)) for kind in ("laplace", "gaussian")}
    for kind, draw in (("laplace", rng.laplace), ("gaussian", rng.normal)):
        found = [histograms.noise_chance(np.zeros(3), noise[kind], draw(0, scale, (1, 3))) for _ in range(4000)]
        assert st.kstest(found, "uniform").pvalue > 1e-3


def test_many_draws_of_a_cell_are_no_copies():
    "More draws than a fit makes were copies of its draws."
    frame = db.fit_many([shifted(0)], draws=4400, quantiles=0.5, progress=False)
    drawn = frame.filter(regex=r"^draw.*\[position\]$").to_numpy(float).ravel()
    assert len(drawn) == 4400 == len(np.unique(drawn))


def test_a_curvature_without_a_factor_is_no_infinite_density(monkeypatch):
    "Where likelihoods are next to nothing curvatures lose all digits; their determinant is not taken for a volume."
    rng = np.random.default_rng(0)
    center = rng.normal(size=8)
    law = lambda x: -0.5 * ((x - center[:, None]) / 0.4) ** 2
    curves = pooling.tabulate_curves(law, np.linspace(-8, 8, pooling.POINTS), 8)
    X = np.column_stack([np.ones(8), rng.normal(size=8)])
    hyper = pooling.Hyper("normal", X, np.zeros(2), np.ones(2), 1.0)
    plain = pooling.shape_of(curves, hyper)
    def lost(effects, curves, mu, tau, evidence=pooling.evidence):
        value, score, bend = evidence(effects, curves, mu, tau)
        return value, score, bend + 1e22 * ((tau < 0.05) | (tau > 2.5)) * (np.arange(8) == 3)
    monkeypatch.setattr(pooling, "evidence", lost)
    found = pooling.shape_of(curves, hyper)
    assert np.isfinite(found.log_density).all() and np.isfinite(found.root).all()
    inside = (found.t > np.log(0.1)) & (found.t < np.log(2.0))
    at = np.interp(found.t[inside], plain.t, plain.log_density)
    assert inside.sum() >= 4 and np.abs(found.log_density[inside] - at).max() < 0.2
