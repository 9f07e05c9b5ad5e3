"Pooled rates and shares whose counts were rounded, hidden or known exactly, and totals that tie hidden counts."
import itertools

import numpy as np
import pytest
import scipy.stats as st

from dp_bayes_nb import (Bernoulli, CellKey, Counts, Exact, Gamma, Grouped, Poisson, Pooled, PrintedAbove,
                         RandomRounded, Release, SharedGamma, Suppressed, declare, explain, fit)
from dp_bayes_nb.posterior.fit import posterior_draws


def test_a_rate_with_exposure_is_conjugate():
    release = declare(Counts(["north", "south"], exposure=[8000, 61000.5]), [4, 31], printed=Exact(), source="made up")
    shared = posterior_draws(release, SharedGamma(shape=0.5, rate=1), draws=2000).theta["rate"]
    each = posterior_draws(release, Gamma(shape=0.5, rate=1), draws=2000).theta["rates"]
    for draws, shape, rate in ((shared, 35.5, 69001.5), (each[..., 0], 4.5, 8001), (each[..., 1], 31.5, 61001.5)):
        exact = st.gamma(shape, scale=1 / rate)
        assert abs(draws.mean() - exact.mean()) < 4 * exact.std() / 8000**0.5
    assert Release.from_json(release.to_json()) == release


class Older(Counts):
    "Counts as version 0.9 had them."

    def __init__(self, names):
        super().__init__(names)


def test_a_version_without_exposures_refuses_a_file_with_them(monkeypatch):
    "So the file may keep schema 2, of which every version refuses arguments of a model that it does not know."
    plain, exposed = (declare(Counts(["north"], exposure=given), [4], printed=Exact(), source="made up")
                      for given in (None, [8]))
    assert plain.schema == exposed.schema == 2
    texts = plain.to_json(), exposed.to_json()
    monkeypatch.setattr("dp_bayes_nb.models.whole_numbers.Counts", Older)
    assert Release.from_json(texts[0]).family.names == ("north",)
    with pytest.raises(ValueError, match="exposure"):
        Release.from_json(texts[1])


def test_a_hidden_count_has_its_negative_binomial_distribution():
    release = declare(Counts(["a"], exposure=[20]), [None], printed=Suppressed(5), source="made up")
    s = posterior_draws(release, Gamma(shape=2, rate=10), draws=2000).confidential["s"].ravel()
    p = st.nbinom.pmf(np.arange(5), 2, 10 / 30)
    assert np.abs(np.bincount(s.astype(int), minlength=5) / len(s) - p / p.sum()).max() < 4 * 0.5 / 8000**0.5


def three_groups(first, printed):
    "Means, and four standard errors, of the first share and its count; 9 of 60 and 14 of 80 are known exactly."
    release = declare(Grouped(Bernoulli("ill"), "region", ["north", "south", "west"]), [first, 9, 14], n=[40, 60, 80],
                      printed=[printed, Exact(), Exact()], source="made up")
    found = posterior_draws(release, Pooled("normal", slope=False), pool="partial", draws=1000)
    parts = found.theta["probability"][..., 0], found.confidential["s"][..., 0, 0]
    return np.array([part.mean() for part in parts]), 4 * np.array([part.std() for part in parts]) / 2000**0.5


def by_quadrature():
    "The same for a first count below 10: sums over the typical share, the spread, effects and counts."
    m, t = (each.ravel() for each in np.meshgrid(np.linspace(-6, 4, 81), np.linspace(-5, 1.2, 63), indexing="ij"))
    e = np.linspace(-8, 8, 321)
    p = 1 / (1 + np.exp(-(m[:, None] + np.exp(t)[:, None] * e)))
    w = st.norm.pdf(e) / st.norm.pdf(e).sum()
    first = [st.binom.pmf(k, 40, p) for k in range(10)]
    weight = st.logistic.pdf(m) * np.exp(t - 0.5 * np.exp(t) ** 2)
    weight *= (st.binom.pmf(9, 60, p) @ w) * (st.binom.pmf(14, 80, p) @ w)
    chance, share = sum(each @ w for each in first), sum((each * p) @ w for each in first)
    count = sum(k * (each @ w) for k, each in enumerate(first))
    return np.array([(weight * share).sum(), (weight * count).sum()]) / (weight * chance).sum()


def test_a_hidden_count_among_pooled_shares_agrees_with_quadrature_and_its_midpoint_does_not():
    right = by_quadrature()
    mean, room = three_groups(None, Suppressed(10))  # 4,000 draws, worth half as many or more
    assert np.all(np.abs(mean - right) < room)
    mean, _ = three_groups(4, Exact())
    assert not np.all(np.abs(mean - right) < room)


EXPOSURES, TOTAL = (10.0, 12.0, 8.0, 6.0), 17
PTABLE = [{0: 1}, {-1: 0.5, 1: 0.5}, {-1: 0.25, 0: 0.5, 1: 0.25}]
BEHIND = [dict(zip(range(4, 9), (1 / 3, 2 / 3, 1, 2 / 3, 1 / 3))),  # 6, rounded at random to base 3
          {4: 0.25, 5: 0.5, 6: 0.25},  # 5, by the table
          {0: 1, 1: 1, 2: 1, 3: 1, 4: 2 / 3, 5: 1 / 3},  # 0 or 3, then hidden
          dict.fromkeys(range(5), 1)]  # below 5


def four_cells(first):
    "Means of the counts and of the log rates of four cells with a printed total, and their standard deviations."
    rows = [first, CellKey(PTABLE), RandomRounded(3) & Suppressed(4), Suppressed(5), Exact()]
    release = declare(Counts(list("abcd"), exposure=EXPOSURES), [6, 5, None, None, TOTAL], printed=rows,
                      matrix=np.vstack([np.eye(4), np.ones(4)]), source="made up")
    found = fit(release, Pooled("normal", location=(0, 1), scale=0.5, slope=False), pool="partial", draws=1000, seed=1,
                progress=False).posterior
    draws = np.concatenate([found["counts"].values, np.log(found["rates"].values)], axis=-1)
    return draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))


def by_enumeration():
    "The same means: sums over location, spread, effects and all counts that have the total."
    m, t = (each.ravel() for each in np.meshgrid(np.linspace(-4, 4, 61), np.linspace(-6, 1, 57), indexing="ij"))
    e = np.linspace(-7, 7, 141)
    x, w = m[:, None] + np.exp(t)[:, None] * e, st.norm.pdf(e) / st.norm.pdf(e).sum()
    prior = np.exp(-0.5 * m**2 + t - 0.5 * (np.exp(t) / 0.5) ** 2)
    chance = [{y: p * st.poisson.pmf(y, E * np.exp(x)) for y, p in ways.items()} for ways, E in zip(BEHIND, EXPOSURES)]
    q = [{y: each @ w for y, each in cell.items()} for cell in chance]
    of_x = [{y: (each * x) @ w / q[i][y] for y, each in cell.items()} for i, cell in enumerate(chance)]
    total = 0.0
    for y in itertools.product(*BEHIND):
        if sum(y) == TOTAL:
            p = prior * np.prod([q[i][k] for i, k in enumerate(y)], axis=0)
            total += np.array([p.sum(), *(p.sum() * np.array(y)), *((p * of_x[i][k]).sum() for i, k in enumerate(y))])
    return total[1:] / total[0]


def test_counts_rounded_at_random_moved_by_a_key_and_hidden_are_pooled_with_their_total():
    right = by_enumeration()
    mean, sd = four_cells(RandomRounded(3))  # 4,000 draws, worth half as many or more
    assert np.all(np.abs(mean - right) < 4.5 * sd / 2000**0.5)
    mean, sd = four_cells(RandomRounded(3, [0.9, 0.9]))  # another rule of rounding
    assert np.any(np.abs(mean - right) > 9 * sd / 2000**0.5)


def counties(seed, G=30):
    "A table as it is printed, and what is behind it."
    rng = np.random.default_rng([4217, seed])
    population = np.round(np.exp(rng.normal(10.0, 0.9, G)))
    deaths = rng.poisson(population * 2e-4 * np.exp(0.2 * np.clip(rng.standard_t(3, G), -20, 20)))
    release = declare(Counts([f"county {i}" for i in range(G)], population),
                      [d if d >= 10 else None for d in deaths] + [int(deaths.sum())],
                      matrix=np.vstack([np.eye(G), np.ones(G)]), printed=Suppressed(10), source="simulated")
    return release, deaths


def test_hidden_counts_are_covered_and_add_up_to_the_total():
    covered, hidden, middle = 0, 0, 0
    for seed in range(3):
        release, deaths = counties(seed)
        found = posterior_draws(release, pool="partial", draws=100)
        s, at = found.confidential["s"].reshape(-1, len(deaths)), deaths < 10
        assert np.all(s.sum(axis=1) == deaths.sum()) and np.all(s[:, ~at] == deaths[~at])
        low, high = np.quantile(s[:, at], [0.025, 0.975], axis=0)
        covered, hidden = covered + ((low <= deaths[at]) & (deaths[at] <= high)).sum(), hidden + at.sum()
        middle += ((low <= deaths[at]) & (deaths[at] <= high) & (np.abs(deaths[at] - 4.5) < 1)).sum()
    assert st.binom.cdf(covered, hidden, 0.95) > 0.001
    assert st.binom.cdf(middle, hidden, 0.95) < 0.001  # a hidden count taken for 4 or 5


def test_what_is_refused_and_what_is_said():
    release, _ = counties(0)
    assert explain(release, Pooled(), pool="partial").way == "pooled counts"
    above = declare(Counts(["a", "b"], [10, 20]), [12, 30], printed=PrintedAbove(9), source="made up")
    with pytest.raises(ValueError, match="only because"):
        posterior_draws(above, pool="partial", draws=10)
    two = [declare(above.family, [k, 30], printed=Exact(), source=f"report {k}") for k in (12, 13)]
    with pytest.raises(ValueError, match="one release of Counts"):
        posterior_draws(two, pool="partial", draws=10)
    events = declare(Grouped(Poisson((0, 5), "deaths"), "region", ["a", "b"]), [13, None], n=[1000, 2000],
                     printed=Suppressed(10), source="made up")
    with pytest.raises(ValueError, match=r"Counts\(names, exposure"):
        posterior_draws(events, pool="partial", draws=10)
