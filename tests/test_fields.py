"Fits along time, on maps and around a regression, against dense algebra, grids and enumeration; and what is refused."
import datetime
import math
import warnings
from types import SimpleNamespace

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.stats as st
import xarray as xr
from scipy.linalg import null_space
from scipy.special import gammaln, logsumexp

import dp_bayes_nb as dp
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.fields import propagation, structured
from dp_bayes_nb.fields.bands import Band, Factor, intrinsic_variances
from dp_bayes_nb.fields.propagation import (Field, Setting, Sites, Table, log_normal_evidence, marginals, propagate)
from dp_bayes_nb.fields.structures import Part, edges_of, graph, positions_of, walk
from dp_bayes_nb.posterior.summary import _printed

# Linear algebra


def random_graph(rng, n, near, parts=2):
    "The Laplacian of a graph of some parts, whose nodes are in random order, and the part of each node."
    part = np.sort(rng.integers(0, parts, n))
    i = np.arange(n - 1)
    pairs = [(a, a + step) for step in (1, *rng.integers(2, near, 2)) for a in i if a + step < n]
    pairs = [(a, b) for a, b in pairs if part[a] == part[b] and (b == a + 1 or rng.random() < 0.6)]
    order = rng.permutation(n)
    D = np.zeros((len(pairs), n))
    for row, (a, b) in zip(D, pairs):
        row[order[a]], row[order[b]] = 1.0, -1.0
    where = np.empty(n, int)
    where[order] = part
    return D.T @ (rng.uniform(0.5, 2, len(pairs))[:, None] * D), where


@pytest.mark.parametrize("n, near, parts", [(1, 3, 1), (40, 8, 2), (300, 12, 3), (333, 90, 1)])
def test_a_band_is_its_dense_matrix(n, near, parts):
    rng = np.random.default_rng(n)
    Q, d = random_graph(rng, n, near, parts)[0] if n > 1 else np.zeros((1, 1)), rng.uniform(0.1, 2, n)
    band, dense = Band(sp.csr_matrix(Q)), Q + np.diag(d)
    assert (len(band.diagonal) > 1) == (n > 128)
    factor, inverse, b = band.factor(d), np.linalg.inv(dense), rng.standard_normal((n, 3))
    solved = factor.backward(factor.forward(b[band.order]))[band.place]
    assert np.allclose(solved, inverse @ b, atol=1e-9)
    assert np.isclose(factor.log_determinant(), np.linalg.slogdet(dense)[1], atol=1e-9)
    assert np.allclose(factor.inverse_band()[0][band.place], np.diag(inverse), atol=1e-9)
    assert band.factor(d - np.linalg.eigvalsh(dense)[0] - 0.1) is None
    if len(band.diagonal) > 1:  # without what lies beside the diagonal
        wrong = Factor(factor.roots, [0 * each for each in factor.below], factor.ends)
        assert not np.allclose(wrong.inverse_band()[0][band.place], np.diag(inverse), rtol=0.05)


@pytest.mark.parametrize("n, near, parts", [(60, 6, 3), (260, 9, 2)])
def test_variances_on_constraints_are_those_of_the_generalised_inverse(n, near, parts):
    Q, part = random_graph(np.random.default_rng(n), n, near, parts)
    _, part = np.unique(part, return_inverse=True)
    A = (part == np.arange(part.max() + 1)[:, None]).astype(float)
    found, right = intrinsic_variances(sp.csr_matrix(Q), A), np.diag(np.linalg.pinv(Q, rcond=1e-12, hermitian=True))
    assert np.allclose(found, right, rtol=1e-4)
    assert not np.allclose(intrinsic_variances(sp.csr_matrix(Q), np.ones((1, n))), right, rtol=0.05)


def on_constraints(part):
    "The dense covariance of a part."
    N = null_space(np.asarray(part.A, float))
    return N @ np.linalg.inv(N.T @ part.Q.toarray() @ N) @ N.T


@pytest.mark.parametrize("size, order", [(9, 1), (30, 2), (200, 1), (200, 2)])
def test_walks_are_of_unit_size_where_they_were_observed(size, order):
    Q, A = walk(size, order, 3)
    variance = np.diag(on_constraints(Part("", Q, A, None)))
    assert np.isclose(np.exp(np.mean(np.log(variance[:size]))), 1, rtol=1e-3)
    assert np.all(np.diff(variance[size - 1:]) > 0)  # what lies ahead is less and less sure
    alone = np.linalg.pinv(walk(size, order)[0].toarray(), rcond=1e-12, hermitian=True)
    assert np.allclose(np.diag(alone), variance[:size], rtol=1e-3)


def test_each_part_of_a_map_has_unit_size_and_an_island_has_no_node():
    edges = [(0, 1), (1, 2), (2, 0), (1, 0), (4, 5), (5, 6), (6, 7)]
    Q, A, node = graph(9, np.array(edges))
    assert [k for k in range(9) if node[k] < 0] == [3, 8] and len(A) == 2
    variance = np.diag(np.linalg.pinv(Q.toarray(), rcond=1e-12, hermitian=True))
    for own in ([0, 1, 2], [4, 5, 6, 7]):
        assert np.isclose(np.exp(np.mean(np.log(variance[node[own]]))), 1, rtol=1e-5)
        assert np.allclose(A[:, node[own]].sum(axis=0), 1)


# Expectation propagation, given sizes


def normal_tables(mean, sd):
    "Tables of normal likelihoods without constants."
    x = mean[:, None] + sd[:, None] * np.linspace(-12, 12, 241)
    return Table(x, -0.5 * ((x - mean[:, None]) / sd[:, None])**2, -(x - mean[:, None]) / sd[:, None]**2)


def two_parts(rng, areas=5, weeks=6, lost=4):
    "A field of areas and weeks with a covariate, some cells unseen and one area an island."
    Q, A, node = graph(areas, np.array([[0, 1], [1, 2], [2, 3], [0, 3]]))
    a, t = np.divmod(np.arange(areas * weeks), weeks)
    parts = [Part("area", Q, A, node[a]), Part("week", *walk(weeks, 1), t)]
    seen = np.sort(rng.permutation(len(a))[lost:])
    X = np.column_stack([np.ones(len(a)), rng.standard_normal(len(a))])
    field = Field(parts, X, [0.4, -0.2], [1.5, 0.7], seen)
    return field, Setting(np.array([0.8, 0.5]), np.where(node[a] < 0, 0.3 + 0.64, 0.3))


def dense(field, setting):
    "Mean and covariance of the cells."
    V = np.diag(setting.own) + (field.X / field.precision) @ field.X.T
    for part, size in zip(field.parts, setting.size):
        H = sp.csr_matrix((np.ones(np.sum(part.at >= 0)), (np.flatnonzero(part.at >= 0), part.at[part.at >= 0])),
                          (len(V), part.Q.shape[0]))
        V += size**2 * (H @ on_constraints(part) @ H.T)
    return field.X @ field.mean, V


def conditioned(field, setting, y, sd):
    "Means, variances and the log evidence of normal observations, dense."
    m, V = dense(field, setting)
    s = field.seen
    B, r = V[np.ix_(s, s)] + np.diag(sd**2), y - m[s]
    gain = V[:, s] @ np.linalg.inv(B)
    value = -0.5 * (np.linalg.slogdet(B)[1] + r @ np.linalg.solve(B, r)) + np.log(sd).sum()
    return m + gain @ r, np.diag(V - gain @ V[s]), value


def test_normal_likelihoods_are_exact_in_means_variances_and_evidence():
    rng = np.random.default_rng(0)
    field, setting = two_parts(rng)
    y, sd = rng.standard_normal(len(field.seen)), rng.uniform(0.3, 2, len(field.seen))
    found = propagate(field, normal_tables(y, sd), setting)
    mean, variance, value = conditioned(field, setting, y, sd)
    assert np.allclose(found.marginals.mean, mean, atol=1e-3)
    assert np.allclose(found.marginals.variance, variance, rtol=2e-3)
    assert abs(found.value - value) < 1e-3
    other = Setting(2 * setting.size, setting.own)
    differ = conditioned(field, other, y, sd)[2] - value
    again = propagate(field, normal_tables(y, sd), other)
    assert abs(again.value - found.value - differ) < 2e-3
    sites = Sites(1 / sd**2, y / sd**2)
    normal = log_normal_evidence(field, sites, setting) - 0.5 * np.sum(y**2 / sd**2)
    assert abs(normal - value) < 1e-6
    assert abs(normal - 0.5 * field.prior - value) > 1  # without the determinant of the prior
    here = marginals(field, sites, setting)
    assert np.allclose(here.mean, mean, atol=1e-5) and np.allclose(here.variance, variance, rtol=1e-4)


def test_steps_with_sites_are_those_of_a_dense_matrix():
    rng, n = np.random.default_rng(3), 150  # more than one block
    part = Part("week", *walk(n, 1, 4, free=True), np.arange(n + 4))
    field = Field([part], np.ones((n + 4, 1)), [0.3], [1.0], np.arange(n), n - 1)
    lam, h = rng.uniform(0.5, 2, 2 * n - 1), rng.standard_normal(2 * n - 1)
    setting = Setting(np.array([0.7]), np.full(n + 4, 0.2))
    here = marginals(field, Sites(lam, h), setting)
    D = np.diff(np.eye(n + 4), axis=0)[:n - 1]
    ahead = np.diff(np.eye(n + 4), axis=0)[n - 1:]
    Q = part.Q.toarray() + D.T @ (lam[n:, None] * D)
    assert np.allclose(part.Q.toarray(), part.Q[-1, -1] * ahead.T @ ahead)
    N = null_space(part.A)
    V = N @ np.linalg.inv(N.T @ Q @ N) @ N.T
    u = V @ D.T @ h[n:]
    prior = 0.49 * V + 0.2 * np.eye(n + 4) + 1.0
    m, s = 0.3 + 0.7 * u, np.arange(n)
    gain = prior[:, s] @ np.linalg.inv(prior[np.ix_(s, s)] + np.diag(1 / lam[:n]))
    assert np.allclose(here.mean, m + gain @ (h[:n] / lam[:n] - m[s]), atol=1e-4)
    assert np.allclose(here.variance, np.diag(prior - gain @ prior[s]), rtol=1e-4)
    cross = 0.7 * V[:, s]  # of u with the cells
    after = V - cross @ np.linalg.inv(prior[np.ix_(s, s)] + np.diag(1 / lam[:n])) @ cross.T
    assert np.allclose(here.jumps[1], np.diag(D @ after @ D.T), rtol=1e-4)


def three_cells():
    "A short walk whose cells have a count of 0, one below 4 that is hidden, and two modes."
    x = np.linspace(-9, 6, 1501) + np.zeros((3, 1))
    y = np.arange(4)[:, None, None]
    hidden = np.log(np.exp(y * x - np.log([[[1]], [[1]], [[2]], [[6]]])).sum(axis=0)) - np.exp(x)
    two = np.logaddexp(-0.5 * ((x - 0.2) / 0.25)**2, 0.4 - 0.5 * ((x - 1.5) / 0.25)**2)
    value = np.stack([-2 * np.exp(x[0]), hidden[1], two[2]])
    table = Table(x, value, np.gradient(value, x[0], axis=1))
    field = Field([Part("week", *walk(3, 1), np.arange(3))], np.ones((3, 1)), [0.5], [0.8], np.arange(3))
    return field, table, Setting(np.array([0.4]), np.full(3, 0.25))


def by_three_dimensions(field, table, setting):
    "A grid (M,), marginal masses (3, M) and the log evidence."
    m, V = dense(field, setting)
    grid = np.linspace(-4.5, 3.5, 161)
    away = np.stack([each.ravel() for each in np.meshgrid(*[grid] * 3, indexing="ij")]) - m[:, None]
    log = -0.5 * (away * np.linalg.solve(V, away)).sum(axis=0).reshape([161] * 3)
    value = table.at(grid + np.zeros((3, 1)))
    w = np.exp(log + value[0][:, None, None] + value[1][:, None] + value[2])
    step = grid[1] - grid[0]
    evidence = np.log(w.sum() * step**3) - 0.5 * np.linalg.slogdet(2 * np.pi * V)[1]
    return grid, np.stack([w.sum(axis=tuple({0, 1, 2} - {k})) for k in range(3)]) / w.sum(), evidence


def furthest(draws, grid, mass):
    "The largest distance of two cumulative distributions."
    ends = grid + 0.5 * (grid[1] - grid[0])
    return np.abs((draws[:, None] <= ends).mean(axis=0) - np.cumsum(mass)).max()


def test_three_cells_have_the_marginals_and_the_evidence_of_a_grid():
    field, table, setting = three_cells()
    grid, mass, evidence = by_three_dimensions(field, table, setting)
    found = propagate(field, table, setting)
    assert abs(found.value - evidence) < 0.03
    draws = structured.draw_at(np.random.default_rng(1), field, table, found, 40_000)[0]
    assert max(furthest(draws[k], grid, mass[k]) for k in range(3)) < 0.02
    mean, sd = mass @ grid, np.sqrt(mass @ grid**2 - (mass @ grid)**2)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 0.05 * sd) and np.all(np.abs(draws.std(axis=1) / sd - 1) < 0.03)
    _, level, _, plain = structured.draw_normal(np.random.default_rng(1), field, found, 40_000)  # without the tilt
    assert furthest(plain[2], grid, mass[2]) > 0.05
    start = np.concatenate([plain, level[-1:]])[:, :8000]
    after = structured.sliced(np.random.default_rng(2), field, table, found, start, 40)  # a chain mends it
    assert max(furthest(after[k], grid, mass[k]) for k in range(3)) < 0.025


def test_powers_of_the_steps_of_a_walk_change_nothing_where_they_are_normal(monkeypatch):
    rng, n = np.random.default_rng(8), 12
    part = Part("week", *walk(n, 1, 0, True), np.arange(n))
    field = Field([part], np.ones((n, 1)), [0.3], [1.0], np.arange(n), n - 1)
    y, sd = np.r_[rng.standard_normal(n), np.zeros(n - 1)], np.r_[np.full(n, 0.5), np.full(n - 1, 0.4)]
    table, setting = normal_tables(y, sd), Setting(np.array([0.7]), np.full(n, 0.1))
    table.value[n:] -= 0.3  # of which a step has half at a time
    found = {}
    for power in (1.0, 0.5):
        monkeypatch.setattr(propagation, "_POWER", power)
        found[power] = propagate(field, table, setting)
    assert abs(found[1.0].value - found[0.5].value) < 2e-3
    assert np.allclose(found[1.0].marginals.mean, found[0.5].marginals.mean, atol=2e-3)
    (m, v), (cm, cv), half = found[0.5].marginals.of_sites(field), found[0.5].cavity, found[0.5].tilted.log_mass
    term = (half - 0.5 * (m**2 / v + np.log(v) - cm**2 / cv - np.log(cv)))[n:].sum()
    assert np.isclose(term, -0.15 * (n - 1), atol=2e-3)  # so that it counts twice in the evidence


def test_level_shifts_settle_with_half_a_step_and_not_with_a_whole_one(monkeypatch):
    rng = np.random.default_rng(12)
    rates = 60 * np.exp(0.35 * (np.arange(104) >= 52))
    z = np.rint(rng.poisson(rates) + rng.laplace(0, 1, 104))
    release = dp.declare(dp.Counts([str(i) for i in range(104)]), z, noise=dp.Laplace(scale=1), source="made up")
    one = structured.ready([release], None, dp.Along("week", shifts=True))
    setting = structured.setting_at(one.field, np.array([-1.2, 0.3]), 1.0)
    found = propagate(one.field, one.table, setting)
    assert found.change < structured._SMOOTH and abs(abs(np.diff(found.marginals.structured)).argmax() - 51) <= 2
    monkeypatch.setattr(propagation, "_POWER", 1.0)
    assert propagate(one.field, one.table, setting).change > 0.05


def next_to_nothing():
    "Noisy counts near 0 leave open whether all rates are next to 0: three cells that nearly are their level."
    level, counts = np.linspace(-60, 6, 6601), np.arange(220.0)
    noise = -np.abs(np.array([9.0, 4, 2])[:, None] - counts) / 8
    law = logsumexp(noise[:, None] + counts * level[:, None] - np.exp(level)[:, None] - gammaln(counts + 1), axis=-1)
    table = Table(level + np.zeros((3, 1)), law, np.gradient(law, level, axis=1))
    field = Field([Part("week", *walk(3, 1), np.arange(3))], np.ones((3, 1)), [50.0], [10.0], np.arange(3))
    found = propagate(field, table, Setting(np.array([1e-3]), np.full(3, 1e-6)))
    log = law.sum(axis=0) - 0.5 * ((level - 50) / 10)**2
    return field, table, found, level, np.exp(log - log.max()) / np.exp(log - log.max()).sum()


def test_a_tail_of_the_common_level_is_noticed_and_reached(monkeypatch):
    field, table, found, level, mass = next_to_nothing()
    sd = np.sqrt(mass @ level**2 - (mass @ level)**2)

    def check():
        draws = structured.draw_at(np.random.default_rng(1), field, table, found, 4000, 30)[0][0]
        assert furthest(draws, level, mass) < 0.03 and abs(draws.std() / sd - 1) < 0.15
    check()
    doubt = structured.doubt_of(np.random.default_rng(2), field, table, found)
    assert doubt > 3 * structured.DOUBT
    monkeypatch.setattr(structured, "together", lambda rng, field, table, seen, level: 0 * level)
    must_fail(check, "ellipses alone")
    assert structured.doubt_of(np.random.default_rng(2), field, table, found) < 0.5 * doubt


def weighed(field, table, found, size, seed):
    "Weighed draws of cells, and the share that is effective."
    rng = np.random.default_rng(seed)
    cells, *_, log_weight = structured.weighed_at(rng, field, table, found, size)
    k, share, _ = propagation.resampled(rng, log_weight)
    return cells[:, k], share


def test_weights_reach_the_tail_of_the_common_level_and_mend_cells_that_are_not_normal():
    field, table, found, level, mass = next_to_nothing()
    after, share = weighed(field, table, found, 20_000, 1)
    assert share > 0.9 and furthest(after[0], level, mass) < 1.95 / (share * 20_000)**0.5
    normal = structured.draw_normal(np.random.default_rng(1), field, found, 20_000)[3]
    assert furthest(normal[0], level, mass) > 0.05
    field, table, setting = three_cells()
    grid, mass, evidence = by_three_dimensions(field, table, setting)
    found = propagate(field, table, setting)
    after, share = weighed(field, table, found, 40_000, 2)
    worst = lambda cells: max(furthest(cells[k], grid, mass[k]) for k in range(3))
    normal = structured.draw_normal(np.random.default_rng(1), field, found, 40_000)[3]
    assert worst(after) < 1.95 / (share * 40_000)**0.5 + 0.002 < 0.2 * worst(normal)  # and what the grid leaves out


def test_a_fit_takes_weights_where_the_first_look_doubts_and_a_chain_where_few_draws_have_any(monkeypatch):
    one = structured.ready([counts()], None, dp.Along("week"))
    usual, _, moves, share = structured._drawn(np.random.default_rng(1), one, 4000)
    assert moves == 0 and share == 1
    monkeypatch.setattr(structured, "looked", lambda *given: 0.3)
    drawn, doubt, moves, share = structured._drawn(np.random.default_rng(1), one, 4000)
    assert (doubt, moves) == (0.3, 0) and 0.5 < share < 1
    shift, ratio = apart(drawn.cells, usual.cells)
    assert 0 < shift < 0.1 and ratio < 0.1
    assert apart(drawn.z, usual.z)[0] < 0.1
    monkeypatch.setattr(structured, "LOST", -1.0)
    with pytest.warns(UserWarning, match="a chain of"):
        assert structured._drawn(np.random.default_rng(1), one, 200)[2:] == (structured._LONG, 1.0)


@pytest.mark.parametrize("more, noticed", [(0.0, True), (0.2, True), (4.0, False)])
def test_a_second_explanation_of_all_cells_is_noticed_by_its_evidence(monkeypatch, more, noticed):
    "Three cells that are all near −0.7 or all near 0.7, `more` on the log scale for each that is above."
    field, _, _ = three_cells()
    x = np.linspace(-2, 2, 401) + np.zeros((3, 1))
    value = np.logaddexp(-0.5 * ((x + 0.7) / 0.1)**2, more - 0.5 * ((x - 0.7) / 0.1)**2)
    table, setting = Table(x, value, np.gradient(value, x[0], axis=1)), Setting(np.array([0.05]), np.full(3, 0.01))
    grid, mass, _ = by_three_dimensions(field, table, setting)
    found = propagate(field, table, setting)
    wrong = np.abs(found.tilted.mean - mass @ grid).min() > 0.05  # of 0.1, and of 0.7 where both explanations stand
    doubt = structured.doubt_of(np.random.default_rng(0), field, table, found)
    assert wrong == noticed == (doubt > structured.DOUBT)
    if noticed:
        monkeypatch.setattr(structured, "other_starts", lambda table: [])  # a chain of ellipses stays where it begins
        monkeypatch.setattr(structured, "together", lambda rng, field, table, seen, level: 0 * level)
        assert structured.doubt_of(np.random.default_rng(0), field, table, found) < structured.DOUBT


def test_draws_have_the_covariance_of_the_field_and_satisfy_its_constraints():
    rng = np.random.default_rng(4)
    field, setting = two_parts(rng)
    y, sd = rng.standard_normal(len(field.seen)), rng.uniform(0.3, 2, len(field.seen))
    found = propagate(field, normal_tables(y, sd), setting)
    one, two, f, cells = structured.draw_normal(rng, field, found, 30_000)
    m, V = dense(field, setting)
    s = field.seen
    C = V - V[:, s] @ np.linalg.solve(V[np.ix_(s, s)] + np.diag(sd**2), V[s])
    unit = np.sqrt(np.diag(C))
    assert np.abs((np.cov(cells) - C) / np.outer(unit, unit)).max() < 5 / 30_000**0.5
    parts = structured.draw_at(rng, field, normal_tables(y, sd), found, 50)[2]
    for part, values in zip(field.parts, parts):
        assert np.abs(part.A @ values).max() < 1e-6


# Sizes


def test_sizes_have_their_priors():
    halfnormal, first, rest = st.halfnorm(scale=2.0), st.beta(0.25, 0.5), st.beta(0.25, 0.25)
    for z in ([0.3, -1.2], [-2.0, 0.7], [1.5, 2.0]):
        tau, shares = structured.sizes_at(np.array(z), 2.0)
        p = st.norm.cdf(z)
        assert np.isclose(tau, halfnormal.ppf(p[0])) and np.isclose(shares[0], rest.ppf(p[1]))
        assert np.isclose(sum(shares), 1)
    tau, shares = structured.sizes_at(np.array([0.0, 0.4, -0.8]), 1.0)
    a, b = first.ppf(st.norm.cdf(0.4)), rest.ppf(st.norm.cdf(-0.8))
    assert np.allclose(shares, [a, (1 - a) * b, (1 - a) * (1 - b)])


def walk_of(rng, n, sd):
    field = Field([Part("week", *walk(n, 1), np.arange(n))], np.ones((n, 1)), [0.0], [2.0], np.arange(n))
    y = np.cumsum(0.15 * rng.standard_normal(n)) + 0.1 * rng.standard_normal(n) + sd * rng.standard_normal(n)
    return field, y, np.full(n, sd)


def on_a_grid_of_sizes(field, y, sd, scale):
    "Coordinates (M, 2), weights with and without the prior, and the mixture's means and sds of cells."
    U = dense(field, Setting(np.array([1.0]), np.zeros(len(y))))[1] - 4.0
    half = np.linspace(-4.5, 4, 50)
    z = np.stack([each.ravel() for each in np.meshgrid(half, half, indexing="ij")], axis=1)
    value, mean, second = [], [], []
    for row in z:
        tau, shares = structured.sizes_at(row, scale)
        V = 4.0 + tau**2 * (shares[0] * U + shares[1] * np.eye(len(y)))
        B = V + np.diag(sd**2)
        gain = np.linalg.solve(B, V).T
        value.append(-0.5 * (np.linalg.slogdet(B)[1] + y @ np.linalg.solve(B, y)))
        mean.append(gain @ y)
        second.append(np.diag(V - gain @ V) + (gain @ y)**2)
    value = np.array(value)
    weights = [np.exp(each - each.max()) for each in (value - 0.5 * (z**2).sum(axis=1), value)]
    weights = [w / w.sum() for w in weights]
    m = weights[0] @ np.array(mean)
    return z, weights, m, np.sqrt(weights[0] @ np.array(second) - m**2)


@pytest.mark.parametrize("seed, n, sd", [(1, 25, 0.3), (2, 40, 0.1), (3, 12, 1.0)])
def test_a_few_points_carry_the_posterior_of_the_sizes(seed, n, sd):
    field, y, sd = walk_of(np.random.default_rng(seed), n, sd)
    z, weights, mean, spread = on_a_grid_of_sizes(field, y, sd, 1.0)
    table = normal_tables(y, sd)
    found = structured.explore(field, table, 1.0)
    of = lambda w, x: np.r_[w @ x, np.sqrt(w @ x**2 - (w @ x)**2)]
    right, wrong, mine = of(weights[0], z), of(weights[1], z), of(found.weight, found.candidates)
    room = np.r_[0.12 * right[2:], 0.12 * right[2:]]
    assert np.all(np.abs(mine - right) < room), (mine, right)
    assert not np.all(np.abs(wrong - right) < room)  # the prior of the sizes lost
    def apart(group, at):  # of the mixture's means and sds, root mean square
        w = np.bincount(group, found.weight, len(at))
        m, v = (w @ np.array([f(each.marginals) for each in at]) for f in (
            lambda each: each.mean, lambda each: each.variance + each.mean**2))
        return np.sqrt(np.mean(np.square([(m - mean) / spread, np.sqrt(v - m**2) / spread - 1]), axis=1))
    assert apart(found.group, found.found).max() < 0.006
    nearest = structured.blended(found.points, found.candidates)[1].argmin(axis=1)
    assert apart(nearest, [point.found for point in found.points]).max() > 0.009  # at the points of the search
    drawn = structured.draw_field(np.random.default_rng(seed), field, table, found, 20_000).cells
    assert np.sqrt(np.mean(((drawn.mean(axis=0) - mean) / spread)**2)) < 0.05
    assert np.sqrt(np.mean((drawn.std(axis=0) / spread - 1)**2)) < 0.03


# What is refused, in words

WEEKS, VALUES = [str(week) for week in range(1, 9)], [61, 70, 44, 58, 66, 52, 75, 60]
AREAS, EDGES = list("abcde"), [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
FRAME = pd.DataFrame({"x": np.arange(8.0), "one": 1.0, "text": list("aabbaabb"), "lost": [np.nan, *[1.0] * 7]}, WEEKS)


def counts(names=WEEKS, z=VALUES, scale=10, **more):
    return dp.declare(dp.Counts(names, **more), z[:len(names)], noise=dp.Laplace(scale=scale), source="made up")


def on_map(names=AREAS, edges=EDGES, **more):
    return counts(names), dp.OnMap("area", edges=edges, **more)


def along(names=WEEKS, **more):
    return counts(names), dp.Along("week", **more)


def around(formula="~ x", *others, data=FRAME, **more):
    return counts(), [dp.Regression(formula, data=data, **more), *others]


def matrix(value=1.0, at=((0, 1), (1, 0), (2, 3), (3, 2)), n=5):
    W = np.zeros((n, n))
    W[tuple(np.transpose(at))] = value
    return W


def hidden(values):
    return dp.declare(dp.Counts(WEEKS), values, printed=dp.Suppressed(10), source="made up")


REFUSED = {
    "an edge to no area": (lambda: on_map(edges=[("a", "b"), ("b", "zz")]), "between areas.*'zz'.*give areas"),
    "not symmetric, a dict": (lambda: on_map(edges={"a": ["b"], "b": []}), "symmetric.*'b'.*'a'"),
    "not symmetric, a matrix": (lambda: on_map(edges=matrix(at=[(0, 1)])), "symmetric"),
    "a small matrix": (lambda: on_map(edges=matrix(n=4)), r"5 areas.*\(4, 4\)"),
    "not finite": (lambda: on_map(edges=matrix(np.nan)), "matrix of 0 and 1"),
    "weights": (lambda: on_map(edges=matrix(0.5)), r"of 0 and 1.*W > 0"),
    "neighbours of themselves": (lambda: on_map(edges=matrix() + np.eye(5)), "0 on the diagonal"),
    "an area twice": (lambda: on_map(areas=[*AREAS, "a"]), "'a' twice"),
    "dates of another form": (lambda: (counts([f"0{week}/01/2024" for week in range(1, 9)]), dp.Along("week")),
                              "dates of one form.*01/01/2024"),
    "negative": (lambda: on_map(edges=sp.csr_matrix(matrix(-1.0))), "matrix of 0 and 1"),
    "another frame": (lambda: on_map(edges=pd.DataFrame(matrix())), "rows and columns are called as areas"),
    "texts as pairs": (lambda: on_map(edges=["ab", "bc"]), "pairs of neighbours"),
    "a text": (lambda: on_map(edges="ab"), "pairs of neighbours"),
    "a dict of texts": (lambda: on_map(edges={"a": "b", "b": "a"}), "list of neighbours"),
    "a dict of numbers": (lambda: on_map(edges={"a": 1, "b": 2}), "list of neighbours"),
    "triples": (lambda: on_map(edges=[("a", "b", 1)]), "pairs of neighbours"),
    "nothing as edges": (lambda: on_map(edges=None), "pairs of neighbours"),
    "no edges": (lambda: on_map(edges=[]), "at least one pair.*partial"),
    "a self-edge": (lambda: on_map(edges=[*EDGES, ("b", "b")]), "'b' to itself"),
    "fewer areas": (lambda: on_map(areas=AREAS[:4]), "all areas.*'e'"),
    "areas as a text": (lambda: on_map(areas="abcde"), "list of all areas"),
    "areas as a number": (lambda: on_map(areas=5), "list of all areas"),
    "two areas": (lambda: on_map(["a", "b"], [("a", "b")]), "3 different areas"),
    "two weeks": (lambda: along(WEEKS[:2]), "3 different positions.*one by one"),
    "a week twice": (lambda: along(at=[1, 2, 3, 3, 4, 5, 6, 7]), "two at 3.*combine"),
    "a week in two spellings": (lambda: along(["1", "01", *WEEKS[2:]]), "two at 1"),
    "too few positions": (lambda: along(at=[1, 2, 3]), "each of 8 groups.*3"),
    "a lost position": (lambda: along(at=[1, 2, np.nan, *range(4, 9)]), "missing"),
    "none": (lambda: along(at=[1, 2, None, *range(4, 9)]), "texts, whole numbers or dates"),
    "infinite": (lambda: along(at=[1, 2, np.inf, *range(4, 9)]), "not finite"),
    "a lost date": (lambda: along(at=pd.to_datetime(["2024-01-01", None, *[f"2024-01-0{d}" for d in range(3, 9)]])),
                    "missing|texts, whole"),
    "fractions": (lambda: along(at=[1, 2, 3, 3.5, 5, 6, 7, 8]), "whole numbers.*smallest step"),
    "truth values": (lambda: along(at=[True, False] * 4), "texts, whole numbers or dates"),
    "rows": (lambda: along(at=np.arange(8)[:, None]), "texts, whole numbers or dates"),
    "one position": (lambda: along(at=3), "each of 8 groups"),
    "positions as a text": (lambda: along(at="abcdefgh"), "each of 8 groups"),
    "a dict without one": (lambda: along(at=dict(zip(WEEKS[:7], range(8)))), "nothing for '8'"),
    "days that are none": (lambda: along([f"2024-02-{day}" for day in range(28, 36)]), "dates that exist"),
    "months that are none": (lambda: along([f"2024-{month:02}" for month in range(6, 14)]), "dates that exist"),
    "far away": (lambda: along([*WEEKS[:7], "100000"]), "at most 20 positions"),
    "far ahead": (lambda: along(ahead=10**6), "ahead must be at most"),
    "texts ahead": (lambda: along(list("abcdefgh"), ahead=2), "ahead must be 0.*dates"),
    "a long season": (lambda: along(season=5), "season must be at most 4"),
    "a season of one": (lambda: along(season=1), "whole number >= 2"),
    "before": (lambda: along(ahead=-1), "ahead must be"),
    "order 3": (lambda: along(order=3), "order must be one of 1, 2"),
    "a shift of a slope": (lambda: along(order=2, shifts=True), "shifts must be"),
    "no name": (lambda: (counts(), dp.Along("")), "such as 'week'"),
    "draws": (lambda: (counts(), dp.Along("draw")), "such as 'week'"),
    "a name of results": (lambda: (counts(), dp.Along("trend")), "another name"),
    "a name of the model": (lambda: (counts(), dp.Along("rates")), "another name"),
    "a word": (lambda: (counts(), "weekly"), "one of 'none', 'partial'"),
    "nothing": (lambda: (counts(), None), "Along"),
    "an empty list": (lambda: (counts(), []), "a list of structures"),
    "a list of words": (lambda: (counts(), ["partial"]), "Along"),
    "a class": (lambda: (counts(), dp.Along), "Along"),
    "one axis twice": (lambda: (counts(), [dp.Along("week"), dp.Along("week")]), "different axes"),
    "two axes of one": (lambda: (counts(), [dp.Along("week"), dp.Along("year")]), "an axis of the groups.*at="),
    "all hidden": (lambda: (hidden([None] * 8), dp.Along("week")), "every group is hidden"),
    "a constant": (lambda: around("~ one", dp.Along("week")), "not all the same"),
    "a covariate that is lost": (lambda: around("~ lost", dp.Along("week")), "finite numbers.*'lost'"),
    "log 0": (lambda: around("~ log(x)", dp.Along("week")), "finite numbers.*'x'"),
    "words": (lambda: around("~ text", dp.Along("week")), r"C\(text\)"),
    "no column": (lambda: around("~ zz", dp.Along("week")), "'zz'"),
    "none for what is ahead": (lambda: around("~ x", dp.Along("week", ahead=1)), "none for '9'.*predicted"),
    "no intercept": (lambda: around("~ x - 1"), "an intercept"),
    "a response": (lambda: around("y ~ x"), "without a response"),
    "two regressions": (lambda: around("~ x", dp.Regression("~ x", data=FRAME)), "one Regression"),
    "no frame": (lambda: around("~ x", data={"x": [1]}), "a data frame"),
    "a label twice": (lambda: around("~ x", data=pd.concat([FRAME, FRAME])), "a label twice")}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_fitted_is_refused_in_words(name):
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        release, pool = make()
        dp.fit(release, pool=pool, draws=50, progress=False)


@pytest.mark.parametrize("prior, words", [(dp.Gamma(shape=1, rate=1), "a Pooled"), (dp.Pooled(slope=True), "slope"),
                                          (dp.Pooled("t3"), "normal effects.*'t3'.*shifts"),
                                          (dp.Pooled("normal", covariates={"x": np.arange(8)}), "Regression")])
def test_priors_that_say_something_else_are_refused(prior, words):
    with pytest.raises(ValueError, match=words):
        dp.fit(counts(), prior, pool=dp.Along("week", ahead=1), draws=50, progress=False)


def few_visits(z):
    "Weekly counts under noise, as they are declared."
    return dp.declare(dp.Counts([str(i) for i in range(len(z))]), z, noise=dp.Laplace(scale=10), source="made up")


def test_noise_around_small_counts_does_not_make_them_0():
    """The rate is within one standard error of the mean of the numbers. A flat prior of its logarithm has most of its
    room where all rates are next to 0, and so had the posterior.
    """
    rng = np.random.default_rng(43)
    z = rng.poisson(2.7, 52) + np.rint(rng.laplace(0, 10, 52))
    def check(prior):
        found = dp.fit(few_visits(z), prior, pool=dp.Along("week"), draws=200, progress=False).posterior["rates"]
        low, middle, high = found.quantile([0.025, 0.5, 0.975], ["chain", "draw"]).mean("count").values
        assert low < 2.7 < high < 15 and 0.3 < middle < 8, (low, middle, high)
    check(None)
    must_fail(lambda: check(dp.Pooled("normal", location=(0, 10))), "a flat prior of the log rate")


def test_numbers_around_0_are_fitted_and_shares_without_information_are_not():
    nothing = np.rint(np.random.default_rng(43).laplace(0, 10, 104).clip(-20, 20))
    assert structured.ready([few_visits(nothing - np.rint(nothing.mean()))], None, dp.Along("week")).scale == 1
    shares = dp.declare(dp.Grouped(dp.Bernoulli("x"), "week", WEEKS, sizes="public"), [1] * 8, n=[4] * 8,
                        noise=dp.Laplace(scale=100), source="made up")
    with pytest.raises(ValueError, match="level of their groups"):
        structured.ready([shares], None, dp.Along("week"))
    structured.ready([shares], dp.Pooled("normal", location=(1.0, 0.5), slope=False), dp.Along("week"))


def test_a_precision_that_only_the_border_makes_indefinite_is_noticed():
    field, setting = walk_of(np.random.default_rng(0), 5, 0.3)[0], Setting(np.array([1e-5]), np.full(5, 0.1))
    for precision, fine in ((-0.04, True), (-0.1, False)):  # five times, against 1/4 of the level
        assert (marginals(field, Sites(np.full(5, precision), np.zeros(5)), setting) is not None) == fine


# What is fitted


def positions(release, pool, axis="week"):
    "First and last label of the trend, how many there are, and the posterior."
    found = dp.fit(release, pool=pool, draws=50, chains=2, progress=False).posterior
    at = found[axis].values
    first, last = (str(each)[:16] for each in at[[0, -1]])
    return first, last, len(at), found


@pytest.mark.parametrize("names, more, first, last, size", [
    (WEEKS, {"at": np.arange(8, dtype=np.int32)}, "0", "7", 8),
    (WEEKS, {"at": [1.0, 2, 3, 4, 5, 6, 7, 9]}, "1", "9", 9),
    (WEEKS, {"at": dict(zip(WEEKS[::-1], range(8)))}, "0", "7", 8),
    (WEEKS, {"at": pd.Series(range(8), WEEKS), "ahead": 1}, "0", "8", 9),
    (WEEKS, {"at": pd.date_range("2024-01-07", periods=8, freq="W"), "ahead": 2}, "2024-01-07T00:00",
     "2024-03-10T00:00", 10),
    (WEEKS, {"at": [datetime.date(2024, 1, 1 + 2 * i) for i in range(8)]}, "2024-01-01T00:00", "2024-01-15T00:00", 8),
    (WEEKS, {"at": [datetime.datetime(2024, 1, 1, i) for i in range(8)], "ahead": 1}, "2024-01-01T00:00",
     "2024-01-01T08:00", 9),
    ([f"2024-01-0{day}" for day in range(1, 9)], {"ahead": 2}, "2024-01-01T00:00", "2024-01-10T00:00", 10),
    ([f"2024-{month:02}" for month in range(5, 13)], {"ahead": 1}, "2024-05-01T00:00", "2025-01-01T00:00", 9),
    (WEEKS, {"at": [202409, 202410, 202411, 202412, 202501, 202502, 202503, 202505], "ahead": 1}, "2024-09-01T00:00",
     "2025-06-01T00:00", 10),
    ([f"202412{day}" for day in range(27, 32)] + [f"2025010{day}" for day in (1, 2, 4)], {}, "2024-12-27T00:00",
     "2025-01-04T00:00", 9),
    ([f"2024-{month:02}-15" for month in range(5, 13)], {"ahead": 1}, "2024-05-15T00:00", "2025-01-15T00:00", 9),
    (["1", "2", "3", "6", "7", "9", "10", "12"], {}, "1", "12", 12),
    (WEEKS[::-1], {"ahead": 1}, "1", "9", 9),
    (list("abcdefgh"), {"season": 4}, "a", "h", 8)])
def test_positions_are_numbers_dates_months_or_texts(names, more, first, last, size):
    one, two, found_size, found = positions(*along(names, **more))
    assert (one, two, found_size) == (first, last, size)
    assert found["predicted"].dims == found["trend"].dims and np.all(np.isfinite(found.trend))


@pytest.mark.parametrize("edges, areas", [
    (EDGES + [("b", "a")] + EDGES, None), ({"a": ["b"], "b": ["a", "c"], "c": ["b"]}, None), (matrix(), None),
    (sp.csr_matrix(matrix()), None), (matrix() > 0, None), (pd.DataFrame(EDGES), None), (iter(EDGES[:2]), AREAS),
    ([*EDGES, ("e", "f")], [*AREAS, "f"])])
def test_edges_are_pairs_dicts_or_matrices(edges, areas):
    found = dp.fit(*on_map(edges=edges, areas=areas)[:1], pool=on_map(edges=edges, areas=areas)[1], draws=50,
                   chains=2, progress=False).posterior
    assert found.sizes["area"] == len(areas or AREAS) == found["predicted"].shape[2]


def test_a_date_that_is_off_by_a_day_is_asked_about():
    weeks = np.datetime_as_string(np.datetime64("2024-01-01") + 7 * np.arange(9)).tolist()
    off = [*weeks[:4], "2024-01-30", *weeks[5:]]
    for names, doubtful in ((weeks, False), (off, True), ([1, 2, 4, 7, 9, 12, 13], False)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            positions_of("week", names, 0)
        assert any("mistyped" in str(each.message) for each in said) == doubtful


def test_shifts_are_of_the_walk_also_where_the_map_has_as_many_areas():
    "The same model in either order, or none: the steps of the map's areas, in the order of the list, mean nothing."
    on, along = dp.OnMap("area", edges=[("a", "b"), ("b", "c"), ("c", "d")]), dp.Along("week", shifts=True)
    levels = {"area": list("abcd"), "week": list("1234")}
    groups = dp.Grouped(dp.Bernoulli("x"), ("area", "week"), levels, sizes="public")
    release = dp.declare(groups, list(range(20, 36)), n=[100] * 16, noise=dp.Laplace(scale=2), source="made up")
    one = structured.ready([release], None, [along, on])
    assert one.layout.parts[one.field.big].name == "week" and one.field.jumps == 3
    with pytest.raises(ValueError, match="the first of the list"):
        structured.ready([release], None, [on, along])


def test_years_and_weeks_are_not_taken_for_whole_numbers_in_silence():
    for names, doubtful in (([*range(202347, 202353), 202401, 202402], True), (list(range(202440, 202448)), False)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            positions_of("week", names, 0)
        assert any("give at=" in str(each.message) for each in said) == doubtful


def test_a_matrix_with_labels_is_read_by_them():
    W, order = pd.DataFrame(matrix(at=[(0, 4), (4, 0)]), AREAS, AREAS), list("cabed")
    a, b = (edges_of(each, AREAS).tolist() for each in (W, W.loc[order, order]))
    assert a == b == [[0, 4]]
    assert edges_of({1: [2], 2: ["1"]}, ["1", 2, 3]).tolist() == [[0, 1]]


def test_groups_that_are_not_in_order_keep_their_labels():
    "An axis whose levels stand in another order than the positions is not the positions' axis."
    levels, z = ["3", "1", "4", "2"], [70, 10, 75, 12]
    model = dp.Grouped(dp.Bernoulli("ill"), "week", levels, sizes="public")
    release = dp.declare(model, z, n=[100] * 4, noise=dp.Laplace(scale=1), source="made up")
    found = dp.fit(release, pool=dp.Along("week"), draws=200, progress=False).posterior
    share = found.probability.mean(("chain", "draw")).squeeze()
    assert share.week.values.tolist() == levels and np.all(np.abs(share - np.array(z) / 100) < 0.05)
    trend = found.trend.mean(("chain", "draw")).squeeze()
    assert trend.all_week.values.tolist() == [1, 2, 3, 4] and trend.values[1] < 0.3 < trend.values[2]


# Invariances


def drawn(release, pool, draws=1500, **more):
    return dp.fit(release, pool=pool, draws=draws, progress=False, **more).posterior


def apart(a, b):
    "The largest distance of means, in standard deviations, and of standard deviations, as a ratio."
    a, b = (each.reshape(-1, each.shape[-1]) for each in (a, b))
    wide = b.std(axis=0)
    return np.abs((a.mean(axis=0) - b.mean(axis=0)) / wide).max(), np.abs(a.std(axis=0) / wide - 1).max()


def alike(a, b):
    "Within five Monte Carlo errors of 6,000 draws each, and what a change of the points of the sizes may do."
    shift, ratio = apart(a, b)
    return shift < 5 * (2 / 6000)**0.5 + 0.02 and ratio < 5 / 6000**0.5 + 0.02


def test_the_order_of_cells_and_the_direction_of_time_change_nothing():
    plain = np.log(drawn(*along())["rates"].values)
    order = [3, 0, 7, 1, 6, 2, 5, 4]
    mixed = dp.declare(dp.Counts([WEEKS[i] for i in order]), [VALUES[i] for i in order], noise=dp.Laplace(scale=10),
                       source="made up")
    found = np.log(drawn(mixed, dp.Along("week"))["rates"].values)
    assert alike(found[..., np.argsort(order)], plain) and not alike(found, plain)
    back = np.log(drawn(counts(), dp.Along("week", at=range(8, 0, -1)))["rates"].values)
    assert alike(back, plain)
    areas = np.log(drawn(*on_map())["rates"].values)
    row = dp.OnMap("area", edges=[(WEEKS[i], WEEKS[i + 1]) for i in range(7)])
    swapped = np.log(drawn(counts(), row)["rates"].values)
    assert alike(swapped, plain) and areas.shape[-1] == 5  # a walk is a map in a row


def test_forecasts_leave_what_was_released_and_exposures_shift_rates():
    plain = drawn(*along())
    ahead = drawn(*along(ahead=4))
    assert alike(np.log(ahead["rates"].values), np.log(plain["rates"].values))
    width = np.log(ahead["predicted"]).std(("chain", "draw")).values
    assert np.all(np.diff(width[7:]) > -0.02) and width[-1] > width[3]
    exposed = drawn(counts(exposure=[10] * 8), dp.Along("week"))
    assert alike(np.log(exposed["rates"].values) + np.log(10), np.log(plain["rates"].values))


def test_seeds_and_releases_make_the_random_numbers():
    a, b, c = (drawn(*along(), draws=50, seed=seed)["rates"].values for seed in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    other = drawn(counts(z=[*VALUES[:7], 61]), dp.Along("week"), draws=50, seed=1)["rates"].values
    u, v = (each[..., 0] / each[..., 0].mean() for each in (a, other))
    assert abs(np.corrcoef(u.ravel(), v.ravel())[0, 1]) < 0.35  # 200 draws


def test_what_is_asked_of_a_result(tmp_path):
    release, pool = along(ahead=2, season=2)
    idata = dp.fit(release, pool=pool, draws=200, progress=False)
    path = tmp_path / "kept.nc"
    dp.save(idata, path) if hasattr(dp, "save") else idata.to_netcdf(path)
    again = az.from_netcdf(path)
    assert np.array_equal(again.posterior["trend"], idata.posterior["trend"])
    assert again.posterior.attrs["structure_json"] == idata.posterior.attrs["structure_json"]
    assert "week" in str(dp.summary(idata)) + str(dp.summary(again))
    step = dp.contrast(idata, variable="trend", dim="week", against="previous")
    assert "2" in str(step)
    assert "trend" in idata.posterior and "season" in idata.posterior
    assert {"counts", "trend"} <= set(idata.posterior) and len(dp.ranks(idata)) > 0
    assert dp.predictive_check(idata) is not None
    assert dict(dp.extend(idata, draws=10)["posterior_predictive"].sizes) == {"chain": 4, "draw": 10, "statistic": 8}
    with pytest.raises(ValueError, match="variable"):
        dp.plot_map(idata, "surface")
    assert dp.plot_series(idata) is not None
    plt.close("all")


def test_several_releases_are_places_of_a_list():
    weeks = [dp.declare(dp.Bernoulli("ill"), z, n=100, noise=dp.Laplace(scale=3), source=f"week {k}")
             for k, z in enumerate((20, 24, 31, 29, 35))]
    found = drawn(weeks, dp.Along("week", at=range(5), ahead=1), draws=200)
    assert found["predicted"].sizes["week"] == 6 and found["probability"].shape[2] == 5
    with pytest.raises(ValueError, match="different positions|at="):
        dp.fit(weeks[:2], pool=dp.Along("week", at=range(2)), progress=False)


def test_two_axes_hidden_counts_and_sums_are_fitted():
    levels = {"area": list("abc"), "week": list("1234")}
    model = dp.Grouped(dp.Bernoulli("ill"), ("area", "week"), levels, sizes="public")
    release = dp.declare(model, [8, 9, 12, 11, 14, 13, 15, 19, 22, 21, 25, 28], n=[60] * 12, noise=dp.Laplace(scale=2),
                         source="made up")
    found = drawn(release, [dp.OnMap("area", edges=[("a", "b"), ("b", "c")]), dp.Along("week")], draws=100)
    assert found["predicted"].shape[2:] == (3, 4) and found["share"].sizes["part"] == 2
    kept = dp.fit(hidden([None, 12, 15, None, 14, 11, 10, None]), pool=dp.Along("week"), draws=100, progress=False)
    s = kept["confidential"]["s"].values
    assert np.all(s[..., [0, 3, 7]] < 10) and np.all(s[..., 1] == 12) and np.array_equal(s, np.rint(s))
    model = dp.Grouped(dp.Exponential((0, 20), "days"), "week", list("1234"), sizes="public")
    sums = dp.declare(model, [300.0, 280, 350, 330], n=[50] * 4, noise=dp.Laplace(scale=40), source="made up")
    name = list(model.parameters)[0]
    assert np.all(np.isfinite(drawn(sums, dp.Along("week", ahead=1), draws=100)[name]))


def test_an_island_keeps_the_whole_spread():
    release, pool = counts(list("abcd"), (61, 70, 44, 58)), dp.OnMap("area", edges=[("a", "b"), ("b", "c")])
    field = structured.ready([release], None, pool).field
    z = np.array([0.2, 0.5])
    tau, shares = structured.sizes_at(z, 1.0)
    own = structured.setting_at(field, z, 1.0).own
    assert np.allclose(own, tau**2 * np.array([shares[1], shares[1], shares[1], 1.0]))


def test_where_cells_have_no_part_of_their_own_the_structured_part_is_the_cell():
    one = structured.ready([along()[0]], None, dp.Along("week"))
    found = propagate(one.field, one.table, Setting(np.array([0.6]), np.zeros(len(WEEKS))))
    cells, f, *_ = structured.draw_at(np.random.default_rng(0), one.field, one.table, found, 50)
    assert np.allclose(cells, f, atol=1e-8)


def test_an_effect_is_in_the_units_of_its_covariate():
    found = []
    for unit in (1.0, 10.0):
        frame = pd.DataFrame({"x": unit * np.arange(8.0) ** 2}, index=WEEKS)
        pool = [dp.Regression("~ x", data=frame), dp.Along("week")]
        found.append(dp.fit(along()[0], pool=pool, draws=50, progress=False).posterior["effect"].values)
    assert np.allclose(found[0], 10 * found[1], rtol=1e-6) and np.abs(found[0]).max() > 0


def test_a_chain_takes_over_where_the_check_doubts(monkeypatch):
    release = along()[0]
    usual = drawn(release, dp.Along("week"))["rates"].values
    monkeypatch.setattr(structured, "DOUBT", -1.0)
    with pytest.warns(UserWarning, match="a chain of"):
        chain = dp.fit(release, pool=dp.Along("week"), draws=300, progress=False).posterior
    assert chain.attrs["moves"] > 0
    a, b = (np.log(each).reshape(-1, 8) for each in (chain["rates"].values, usual))
    assert np.abs((a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)).max() < 0.2


# What is asked of a result, whatever is missing

MONTHS = [f"2024-{month:02}" for month in range(3, 13)] + ["2025-01", "2025-02"]
HIGH = [60, 75, 90, 105, 90, 75, 62, 74, 91, 104, 92, 73]  # a season of six months
MIXED = [7, 0, 11, 3, 9, 2, 5, 1, 8, 6]  # of the twelve; months 4 and 10 were not released


def fitted(names, values, pool, scale=2):
    release = dp.declare(dp.Counts(names), values, noise=dp.Laplace(scale=scale), source="made up")
    return dp.fit(release, pool=pool, draws=60, chains=2, progress=False)


@pytest.fixture(scope="module")
def by_month():
    "Results of all months in order, and of ten in another order."
    return [fitted([MONTHS[k] for k in which], [HIGH[k] for k in which], dp.Along("month", season=6))
            for which in (range(12), MIXED)]


@pytest.fixture(scope="module")
def by_area():
    "Three areas of four, in four months, with names that are glued."
    cells = [(area, month) for month in MONTHS[:4] for area in "cab"]
    values = [20 * "abc".index(area) + 10 + MONTHS.index(month) for area, month in cells]
    area = dp.OnMap("area", edges=[("a", "b"), ("b", "c"), ("c", "d")], areas=list("abcd"), at=[a for a, _ in cells])
    pool = [area, dp.Along("month", at=[month for _, month in cells])]
    return fitted([", ".join(cell) for cell in cells], [*values[:-1], -4], pool), dict(zip(cells, values))


def medians(result, name="predicted"):
    return result.posterior[name].median(("chain", "draw")).values


def dots(ax):
    return next(line for line in ax.lines if line.get_marker() == "o").get_ydata()


def legend(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}


def test_months_are_compared_in_their_order_whatever_is_missing(by_month):
    for result in by_month:
        draws = result.posterior["predicted"].values
        for lag, against in ((1, "previous"), (6, 6)):
            table = dp.contrast(result, against=against)
            assert [str(each)[:7] for each in table["a"]] == MONTHS[lag:]
            assert [str(each)[:7] for each in table["b"]] == MONTHS[:-lag]
            assert np.allclose(table["mean"], (draws[..., lag:] - draws[..., :-lag]).mean((0, 1)))
    whole, part = by_month
    assert np.allclose(dp.contrast(whole, "rates", against=6)["mean"], dp.contrast(whole, against=6)["mean"])
    with pytest.raises(ValueError, match="variable must be 'predicted', which has all positions of month.*'rates'"):
        dp.contrast(part, "rates", against=6)
    assert len(dp.contrast(part, "rates", b="2024-03")) == 9  # by name there is no order to be wrong about


def test_one_with_a_structure_and_one_without_are_compared_by_the_groups(by_month):
    alone = fitted(MONTHS, [z + 1 for z in HIGH], "partial")
    assert list(dp.contrast(by_month[0], other=alone)["count"]) == MONTHS
    plt.close(dp.plot_groups(by_month[0], other=alone).figure)


def test_a_picture_shows_the_same_whatever_is_missing(by_month, by_area):
    for result in by_month:
        ax = dp.plot_series(result)
        drawn = [line.get_ydata() for line in ax.lines]
        assert any(np.array_equal(y, medians(result)) for y in drawn)
        assert not any(np.array_equal(y, medians(result, "trend")) for y in drawn)
        assert ax.get_ylabel() == "expected count"
        assert dp.plot_series(result, "season").get_ylabel() == "season (log scale)"
    pool = dp.OnMap("area", edges=EDGES)
    areas = fitted(AREAS, [31, 30, 44, 8, 52], pool)
    shown = dp.plot_map(areas, geometry=(1, 5)).collections[0].get_array()
    assert np.array_equal(shown, medians(areas)) and not np.array_equal(shown, medians(areas, "surface"))
    plt.close("all")


def test_dots_stand_at_the_places_of_their_groups(by_month, by_area):
    whole, part = (dots(dp.plot_series(result)) for result in by_month)
    assert np.array_equal(whole, HIGH)
    assert np.array_equal(np.isnan(part), [k not in MIXED for k in range(12)])
    assert np.array_equal(part[MIXED], np.array(HIGH, float)[MIXED])
    placed = fitted(list("abcdef"), HIGH[:6], dp.Along("week", at=[6, 5, 4, 3, 1, 0]))
    assert np.array_equal(dots(dp.plot_series(placed)), [75, 90, np.nan, 105, 90, 75, 60], equal_nan=True)
    found, values = by_area
    for area in "ab":
        right = [values[area, month] for month in MONTHS[:4]]
        right[-1] = -4 if area == "b" else right[-1]
        assert np.array_equal(dots(dp.plot_series(found, at={"area": area})), right)
    assert np.isnan(dots(dp.plot_series(found, at={"area": "d"}))).all()  # nothing was released there
    assert "no dots: several numbers a position" in legend(dp.plot_series(found, "trend"))
    weeks = [dp.declare(dp.Bernoulli("ill"), z, n=100, noise=dp.Laplace(scale=3), source=f"week {z}")
             for z in (20, 24, 31, 29)]
    listed = dp.fit(weeks, pool=dp.Along("week", at=[3, 2, 1, 5]), draws=60, chains=2, progress=False)
    assert np.array_equal(dots(dp.plot_series(listed)), [0.31, 0.24, 0.2, np.nan, 0.29], equal_nan=True)
    plt.close("all")


def test_a_number_below_0_does_not_stretch_the_axis(by_area):
    ax = dp.plot_series(by_area[0], at={"area": "b"})
    assert ax.get_ylim()[0] == 0 and "released, below 0" in legend(ax)
    ax = dp.plot_series(by_area[0], at={"area": "a"})
    assert ax.get_ylim()[0] >= 0 and "released, below 0" not in legend(ax)
    plt.close("all")


def test_two_axes_are_compared_along_time_and_drawn_at_a_level(by_area):
    found, _ = by_area
    assert found.posterior["predicted"].sizes["area"] == 4
    table = dp.contrast(found, against="previous")
    pairs = {(str(a)[:7], str(b)[:7]) for a, b in zip(table["a"], table["b"])}
    assert pairs == set(zip(MONTHS[1:4], MONTHS[:3])) and len(table) == 12 and set(table["area"]) == set("abcd")
    with pytest.raises(ValueError, match="hold some, such as at={'area': 'a'}"):
        dp.plot_series(found)
    with pytest.raises(ValueError, match="hold some, such as at={'month': '2024-03-01'}"):
        dp.plot_map(found, geometry=(1, 4))
    plt.close(dp.plot_map(found, geometry=(1, 4), at={"month": "2024-03-01"}).figure)


def test_an_axis_of_the_groups_that_is_called_as_the_structure_may_be_named_so():
    found = fitted(["1", "2", "4", "5"], [20, 22, 26, 28], dp.Along("count", ahead=1))
    assert found.posterior["predicted"].dims[2] == "all_count"
    for dim in ("count", "all_count"):
        assert dp.contrast(found, "predicted", dim, against=2)["a"].tolist() == [3, 4, 5, 6]
    ax = dp.plot_series(found)
    assert ax.get_xlabel() == "count" and np.array_equal(dots(ax)[[0, 1, 3, 4]], [20, 22, 26, 28])
    assert [text.get_text() for text in ax.texts] == ["not released", "ahead"]
    plt.close("all")


@pytest.mark.parametrize("first, step, period, labels", [
    ("2024-03", "M", 12, ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]),
    ("2024-01-03", "D", 7, ["Wed", "Thu", "Fri", "Sat", "Sun", "Mon", "Tue"]),
    ("2024-03", "M", 3, ["2024-03-01", "2024-04-01", "2024-05-01"])])
def test_places_of_a_season_have_names(first, step, period, labels):
    names = np.datetime64(first, step) + np.arange(2 * period + 1)
    layout = structured.ready([counts([str(each) for each in names], [50] * len(names))], None,
                              dp.Along("day", season=period)).layout
    assert layout.seasons == {"season_of_day": labels}


def test_a_long_series_is_summed_up_by_sizes_and_its_newest_positions():
    weeks = [f"{k}" for k in range(1, 26)]
    found = fitted(weeks, [50 + k % 3 for k in range(25)], dp.Along("week", ahead=3))
    table = dp.summary(found)
    text = str(table)
    rows = [line.split()[0] for line in text.splitlines() if "[" in line or line[:5] in ("locat", "sprea", "share")]
    assert rows == ["location", "spread", "share", *(f"predicted[{k}]" for k in range(18, 29))]
    assert "and 95 more rows" in text and "the newest positions" in text and len(table.frame) == 3 + 2 * 28 + 2 * 25
    assert set(table.frame["variable"]) == set(found.posterior.data_vars)


def test_many_areas_are_summed_up_by_the_highest_and_the_lowest():
    place = np.random.default_rng(0).permutation(60)
    draws = np.broadcast_to(place, (1, 2, 60))
    posterior = xr.Dataset({"rates": (("chain", "draw", "count"), draws),
                            "predicted": (("chain", "draw", "area"), draws),
                            "spread": (("chain", "draw"), np.ones((1, 2)))},
                           attrs={"structure_json": '[{"kind": "map", "by": "area"}]'})
    frame = pd.DataFrame({"variable": ["spread"] + ["predicted"] * 60 + ["rates"] * 60, "median": [1, *place, *place]})
    printed, notes = _printed(SimpleNamespace(posterior=posterior), frame)
    shown = frame.iloc[printed]
    assert shown["variable"].tolist() == ["spread"] + ["predicted"] * 20 and "10 highest and lowest" in notes[0]
    assert shown["median"].tolist()[1:] == [*range(59, 49, -1), *range(9, -1, -1)]


# ---------------------------------------------------------------- sizes that many cells know
def test_weight_where_nothing_is_sends_the_search_back(monkeypatch):
    "With 20,800 cells, parabolas of far points rose to the best value, and all weight lay 270 below it."
    def point(field, table, z, scale, near):
        return structured.Point(z, -100.0 * float(z @ z), -200.0 * z, -200.0 * np.eye(len(z)), None)

    def filled(field, table, scale, points, add):
        values = np.array([each.value for each in points])
        seen.append(values)
        far = values.min() < values.max() - 10  # as the parabolas of far points do
        return structured.Explored(points, None, None, None, [], values.max() - np.array([270.0 if far else 0.5]))
    seen = []
    monkeypatch.setattr(structured, "point_at", point)
    monkeypatch.setattr(structured, "filled", filled)
    field = SimpleNamespace(parts=[None, None])
    found = structured.explore(field, None, 1.0)
    assert len(seen) == 2 and np.ptp(seen[0]) > 10 > np.ptp(seen[1]) and found.value.max() > -3
    monkeypatch.setattr(structured, "_LOST", math.inf)  # as it was: taken as it came
    assert structured.explore(field, None, 1.0).value.max() < -200
