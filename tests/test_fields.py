"Fits along time, on maps and around a regression, against dense algebra, grids and enumeration; and what is refused."
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import null_space

import dp_bayes_nb as dp
from dp_bayes_nb.fields import structured
from dp_bayes_nb.fields.bands import Band, Factor, intrinsic_variances
from dp_bayes_nb.fields.propagation import (Field, Setting, Sites, Table, log_normal_evidence, marginals, propagate)
from dp_bayes_nb.fields.structures import Part, graph, walk

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
    found, right = intrinsic_variances(sp.csr_matrix(Q), A), np.diag(np.linalg.pinv(Q))
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
    assert np.allclose(np.diag(np.linalg.pinv(walk(size, order)[0].toarray())), variance[:size], rtol=1e-3)


def test_each_part_of_a_map_has_unit_size_and_an_island_has_no_node():
    edges = [(0, 1), (1, 2), (2, 0), (1, 0), (4, 5), (5, 6), (6, 7)]
    Q, A, node = graph(9, np.array(edges))
    assert [k for k in range(9) if node[k] < 0] == [3, 8] and len(A) == 2
    variance = np.diag(np.linalg.pinv(Q.toarray()))
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
    assert np.allclose(found.marginals.mean, mean, atol=1e-3) and np.allclose(found.marginals.variance, variance, rtol=2e-3)
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
