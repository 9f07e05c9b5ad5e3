"""Every sampler of counts is even-handed: successes and failures change places, and their posterior does; categories
and bins in another order have the same posteriors in that order. Each case has a wrong version that fails.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st
from scipy.special import betainc

import dp_bayes_nb as db
from dp_bayes_nb.base.checks import release_of
from dp_bayes_nb.base.measurement import Measurement, Noise
from dp_bayes_nb.base.priors import LogDensity
from dp_bayes_nb.chains import measurements, rows
from dp_bayes_nb.counts import exact_categories, exact_counts, histogram, law, many_categories, many_shares, tree
from dp_bayes_nb.counts import levels as of_levels
from dp_bayes_nb.curves import grid
from dp_bayes_nb.fields import groups, pooled_groups, pooling
from dp_bayes_nb.models.histogram import split_numbers
from dp_bayes_nb.many import bulk, fit_many
from dp_bayes_nb.posterior import histograms
from dp_bayes_nb.ways import noisy_tables

CHANCE = 0.01  # of a false alarm, of all comparisons of draws in this file together
COMPARED = 200  # columns of draws that are compared, at most


class Case(NamedTuple):
    "What is compared: numbers, or draws (size, columns), in the terms of the original problem."
    run: Callable  # mirrored? -> an array
    wrong: Any  # (module, name, what makes the wrong one of the right one), or a wrong `run`
    within: float | None = None  # how far numbers may differ; None: they are draws


CASES: dict[str, Case] = {}


def case(name, wrong, within=None):
    return lambda run: CASES.setdefault(name, Case(run, wrong, within)).run


def even(run, within) -> bool:
    "Are both sides the same?"
    one, two = (np.asarray(run(mirrored), float) for mirrored in (False, True))
    if within is not None:
        return bool(np.all(np.abs(one - two) <= within))
    one, two = np.round(one, 12), np.round(two, 12)  # a share of 1 − 1e-20 is 1 to floats, one of 1e-20 is not 0
    p = [st.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(one.T, two.T)]
    return min(p) > CHANCE / COMPARED


def even_chains(run) -> bool:
    "The same of chains, (chains, draws, columns): means, in Monte Carlo errors."
    one, two = (np.asarray(run(mirrored), float) for mirrored in (False, True))
    error = lambda x: np.array([x[..., j].std() / float(az.ess(x[..., j])) ** 0.5 for j in range(x.shape[2])])
    far = np.abs(one.mean(axis=(0, 1)) - two.mean(axis=(0, 1))) / np.hypot(error(one), error(two))
    return bool(np.all(2 * st.norm.sf(far) > CHANCE / COMPARED))


# A share of a known number

DESIGNS = [(12, 3.0, 4.0, 0.3, 2.0, "laplace"), (200, 195.0, 3.0, 0.3, 0.3, "gaussian"),
           (10_000, 2000.0, 300.0, 0.01, 0.01, "laplace"), (10_000, -300.0, 90.0, 0.2, 5.0, "gaussian"),
           (50, 60.4, 2.0, 1.0, 1.0, "laplace"), (2 * 10**6, 3e5, 3e4, 1.0, 0.4, "gaussian"),
           (10**7, 0.0, 2e4, 0.1, 0.1, "laplace"), (10**9, 1e9, 1e6, 0.01, 0.01, "laplace"),
           (10**7, 9.99e6, 2e4, 3.0, 0.7, "laplace")]


def turned(design, mirrored):
    n, z, scale, alpha, beta, kind = design
    return (n, n - z, scale, beta, alpha, kind) if mirrored else design


def thinned(count_posterior):
    "The old windows: every h-th count from the first on stands for h of them."
    def old(n, z, scale, alpha, beta, kind="laplace", bounds=exact_counts.window):
        cells = exact_counts.Cells(*(np.atleast_1d(float(a)) for a in (n, z, scale, alpha, beta)), kind)
        low, high = bounds(cells)
        step = np.ceil((high - low + 1) / exact_counts.LONGEST)
        if step[0] == 1:
            return count_posterior(n, z, scale, alpha, beta, kind)
        s = (low + step * np.arange(int((high - low)[0] // step[0]) + 1))[None]
        alone = (s == 0) & (alpha < 1) | (s == n) & (beta < 1)
        value = exact_counts.log_weight(cells, s) + np.where(alone, 0.0, np.log(step))
        w = np.exp(value - value.max())
        return exact_counts.CountPosterior(cells.n, cells.alpha, cells.beta, s, w / w.sum(), step)
    return old


@case("share", (exact_counts, "count_posterior", thinned), within=1e-7)
def share(mirrored):
    out = []
    for design in DESIGNS:
        p = exact_counts.count_posterior(*turned(design, mirrored))
        (mean,), (sd,) = exact_counts.share_moments(p)
        below = [float(exact_counts.share_probability(p, np.array([t]))[0]) for t in (1e-7, 0.2, 0.8, 1 - 1e-7)]
        left, right = below[:2], [1 - below[3], 1 - below[2]]
        out += [1 - mean if mirrored else mean, sd, *(right + left if mirrored else left + right)]
    return out


@case("share, tabulated", (exact_counts, "count_posterior", thinned), within=2e-4)
def curve(mirrored):
    at, out = np.array([-20.0, -15.0, -4.0, -1.0, 0.0, 1.0, 4.0, 15.0, 20.0]), []
    for design in [*DESIGNS[:5], DESIGNS[7]]:  # those of 10⁷ take long
        x, _, cdf = (part[0] for part in exact_counts.tabulate(exact_counts.count_posterior(*turned(design, mirrored))))
        out.append(1 - np.interp(-at, x, cdf) if mirrored else np.interp(at, x, cdf))
    return np.concatenate(out)


def one_less(draw):
    "One count less than was drawn, where there is one."
    return lambda *args: np.maximum(draw(*args) - 1, 0)


@case("share, drawn", (exact_counts, "draw_index", one_less))
def share_draws(mirrored):
    out = []
    for j, design in enumerate((DESIGNS[0], DESIGNS[1], DESIGNS[6])):
        n, z, scale, alpha, beta, kind = turned(design, mirrored)
        drawn = exact_counts.sample_share(np.random.default_rng([1, j, mirrored]), db.Bernoulli(),
                                          release_of(z, scale, n, kind), db.Beta(alpha, beta), (2, 4000))
        s, p = drawn["s"].ravel(), drawn["probability"].ravel()
        out += [n - s, 1 - p] if mirrored else [s, p]
    return np.stack(out, axis=1)


@case("count given its share", (exact_counts, "counts_given", one_less))
def given(mirrored):
    out = []
    for j, (n, z, scale, kind, p) in enumerate(((40, 12.0, 0.9, "gaussian", 0.3), (30, 2.3, 4.0, "laplace", 0.97))):
        side = (1 - p, n - z) if mirrored else (p, z)
        s = exact_counts.counts_given(np.random.default_rng([2, j, mirrored]), np.full(8000, side[0]), n, side[1],
                                      scale, kind)
        out.append(n - s if mirrored else s)
    return np.stack(out, axis=1)


def summaries(found, mirrored):
    "Mean, sd, quantiles at levels that are a mirror image, and a probability at either end."
    q = found.quantiles[:, :, 0]
    mean = found.mean[:, 0]
    return np.column_stack([1 - mean, found.sd[:, 0], 1 - q[:, ::-1]] if mirrored else [mean, found.sd[:, 0], q])


def one_more_of(shift):
    "A noisy count that is one too large, in the first argument that `shift` takes."
    return lambda right: lambda *args, **named: right(*shift(*args), **named)


def more(cells, *rest):
    return cells._replace(z=cells.z + 1), *rest


@case("many shares", (many_shares, "home", lambda home: lambda cells: home(cells._replace(z=cells.z + 1))), within=1e-5)
def many(mirrored):
    out = []
    for kind in ("laplace", "gaussian"):
        some = [turned(design, mirrored)[:5] for design in DESIGNS if design[5] == kind]
        found = many_shares.many_shares(exact_counts.Cells(*map(np.array, zip(*some)), kind),
                                        probability=(0.9, 1.1) if mirrored else (-0.1, 0.1))
        assert set(found.problem) == {""}
        out += [summaries(found, mirrored), found.probability]
    return np.concatenate([np.ravel(each) for each in out])


@case("fit_many of shares", (fit_many, "many_shares", one_more_of(more)), within=1e-5)
def frame_of_shares(mirrored):
    z, n = np.array([0.0, 3.0, 17.0, 250.0, 0.5e7]), np.array([10, 10, 20, 300, 10**7])
    frame = db.fit_many({"value": n - z if mirrored else z, "n": n, "scale": np.array([2.0, 1.0, 4.0, 9.0, 3e4])},
                        db.Bernoulli(), db.Beta(2.0, 0.4) if mirrored else db.Beta(0.4, 2.0), progress=False)
    q = frame[["q0.025", "q0.5", "q0.975"]].to_numpy()
    return np.column_stack([1 - frame["mean"], 1 - q[:, ::-1]] if mirrored else [frame["mean"], q])


# Categories

TABLES = [(100, (40.0, 3.0, 57.0), 10.0, (0.05, 0.3, 2.0), "laplace"), (30, (-4.0, 9.0, 31.0), 3.0, (1.0, 1.0, 0.5),
          "gaussian"), (2000, (900.0, 5.0, 1003.0), 40.0, (0.1, 0.1, 0.1), "laplace")]
ORDER = np.array([2, 0, 1])
BACK = np.argsort(ORDER)


def ordered(table, mirrored):
    n, z, scale, alpha, kind = table
    at = ORDER if mirrored else slice(None)
    return n, np.array(z)[at], scale, np.array(alpha)[at], kind


def no_zero(windows):
    "The count 0 of the first category, or leaf, is left out."
    def without(*args):
        low, high = windows(*args)
        return np.append(np.maximum(low[0], 1.0), low[1:]), high
    return without


@case("categories", (tree, "node_windows", no_zero), within=1e-9)
def categories(mirrored):
    out = []
    for table in TABLES:
        found = exact_categories.table_counts(*ordered(table, mirrored))[0]
        p = exact_categories.share_mixtures(found)
        counts = [w @ (low + np.arange(len(w))) for low, w in exact_categories.count_marginals(found)]
        each = np.stack([*exact_counts.share_moments(p), counts / p.n])
        out.append(each[:, BACK] if mirrored else each)
    return np.concatenate(out)


@case("categories, drawn", (tree, "split", lambda right: lambda rng, f, g, rest: np.minimum(
    law.draw_index(rng, f, len(rest)), rest)))
def categories_drawn(mirrored):
    out = []
    for j, table in enumerate(TABLES):
        found = exact_categories.table_counts(*ordered(table, mirrored))[0]
        s = exact_categories.draw_tables(np.random.default_rng([3, j, mirrored]), found, 6000)
        out.append(s[:, BACK] if mirrored else s)
    return np.concatenate(out, axis=1)


@case("many categories", (many_categories, "untied", lambda right: lambda *args: np.concatenate(
    [np.roll((w := right(*args))[:, :1], 1, axis=2), w[:, 1:]], axis=1)), within=1e-5)
def categories_many(mirrored):
    out = []
    for n, z, scale, alpha, kind in (ordered(table, mirrored) for table in TABLES):
        found = many_categories.many_categories(np.array([n]), z[None], scale, alpha, kind)
        assert set(found.problem) == {""}
        each = np.concatenate([found.mean, found.sd, found.quantiles[0]])
        out.append(each[:, BACK] if mirrored else each)
    return np.concatenate(out)


@case("fit_many of categories", (fit_many, "many_categories", one_more_of(lambda n, z, *rest: (
    n, z + np.array([2.0, 0.0, 0.0]), *rest))), within=1e-5)
def frame_of_categories(mirrored):
    z, alpha = np.array([[40.0, 3.0, 57.0], [10.0, 0.0, 31.0]]), np.array([0.2, 0.5, 1.0])
    at = ORDER if mirrored else np.arange(3)
    cells = {f"z{i}": z[:, k] for i, k in enumerate(at)} | {"n": np.array([100, 40]), "scale": np.full(2, 5.0)}
    frame = db.fit_many(cells, db.Categorical(["a", "b", "c"]), db.Dirichlet(alpha[at]), value=("z0", "z1", "z2"),
                        progress=False)
    means = frame[[f"mean[{name}]" for name in "abc"]].to_numpy()
    return means[:, BACK] if mirrored else means


# Histograms

BINS = np.array([4.0, 31.0, 12.0, 0.5, 9.0]), np.array([0.3, 1.0, 0.5, 0.2, 2.0])


def bins_drawn(mirrored, sum_of=None):
    "Counts, and sum and position, of bins and of their mirror image, under a Dirichlet prior."
    z, alpha = (part[::-1] if mirrored else part for part in BINS)
    limits = np.array([0.0, 0.0, 1.0, 2.0, 4.0, 4.0])
    limits = -limits[::-1] if mirrored else limits
    n, splits = 60, split_numbers(db.Dirichlet(alpha), 5)
    halves = partial(histograms.tree_halves, z, np.full(5, 3.0), "laplace", n, splits)
    rng = np.random.default_rng([4, mirrored])
    if sum_of is None:
        counts, beside = histograms.draw_histograms(rng, halves(), n, 5, 8000), []
    else:
        row = histograms.SumRow(limits, -sum_of if mirrored else sum_of, 2.0, "laplace", 0.4)
        counts, total, position, worth = histograms.draw_counts_and_sum(rng, halves(), n, row, 8000, halves)
        assert worth == 8000
        beside = [-total, 1 - position] if mirrored else [total, position]
    return np.column_stack([counts[:, ::-1] if mirrored else counts, *beside])


case("bins", (histogram, "split", one_less))(bins_drawn)
case("bins and a sum", (histograms, "draw_position", lambda right: lambda *args: right(*args) ** 1.2))(
    partial(bins_drawn, sum_of=85.0))
case("bins and a sum far off", (histograms, "_spread", lambda right: lambda counts, limits: right(
    counts + np.eye(5)[1], limits)))(partial(bins_drawn, sum_of=165.0))


# Trees of whole counts, and sizes that are private

@case("leaves and totals", (tree, "node_windows", no_zero), within=1e-9)
def leaves(mirrored):
    "Cells 0, 1, 2, the total of 0 and 1, and all of them, n = 60 exactly."
    to = np.array([1, 0, 2]) if mirrored else np.arange(3)  # where each leaf went
    z, alpha = np.empty(3), np.empty(3)
    z[to], alpha[to] = [14.0, 9.0, 33.0], [0.05, 0.4, 1.0]
    sets = [np.array([0]), np.array([1]), np.array([2]), np.array([0, 1]), np.arange(3)]
    rows_ = np.array([*z, 20.0, 60.0])
    cells = tree.count_tree(sets, 3, rows_, rows_, np.array([5.0, 5, 5, 4, 0]), np.ones(5), "laplace")
    mean, sd, _ = tree.node_summary(tree.pass_up(cells, tree.Leaves(alpha))[0])
    return np.concatenate([mean[:3][to], sd[:3][to], mean[3:]])


@case("a long window of a count", (tree, "log_noise", lambda right: lambda r, *rest: right(r + 99.0, *rest)),
      within=2.0)
def long_count(mirrored):
    "Its posterior is a mirror image of itself: counts share weights, 90 at a time."
    z = np.array([1e8])
    cells = tree.count_tree([np.array([0])], 1, z, z, np.array([1e6]), np.ones(1), "laplace")
    mean, _, ends = tree.node_summary(tree.pass_up(cells, tree.Leaves(np.ones(1)))[0])
    return [1e8 - mean[0], (1e8 - ends[0, 1]) / 100] if mirrored else [mean[0] - 1e8, (ends[0, 0] - 1e8) / 100]


def first_more(prior_counts):
    "One success more in the prior."
    return lambda prior: prior_counts(prior) + np.eye(len(prior_counts(prior)))[0]


def levels(family, prior, z, H, n=None, n_range=None, scale=3.0, size=8000, rng=None):
    noise = Noise("laplace", np.full(len(z), scale), np.ones(len(z)))
    data = measurements.tables_of(family, [Measurement(np.array(z), noise, n, None if H is None else np.array(H))],
                                  prior, [n_range])
    return noisy_tables.sample_levels(rng, family, data, prior, (1, size))


@case("share of a private number", (noisy_tables, "prior_counts", first_more))
def private(mirrored):
    out = []
    for j, (a, b) in enumerate(((0.3, 0.9), (2.0, 3.0))):
        prior = db.Beta(b, a) if mirrored else db.Beta(a, b)
        drawn = levels(db.Bernoulli(), prior, [11.0, 37.0], [[1.0, -1], [0, 1]] if mirrored else [[0.0, 1], [1, -1]],
                       n_range=(1, 500), rng=np.random.default_rng([5, j, mirrored]))
        p, n, s = drawn["probability"].ravel(), drawn["n"].ravel(), drawn["s"].ravel()
        out += [1 - p, n, n - s] if mirrored else [p, n, s]
    return np.stack(out, axis=1)


@case("share of two rows", (noisy_tables, "prior_counts", first_more))
def two_rows(mirrored):
    prior = db.Beta(0.9, 0.3) if mirrored else db.Beta(0.3, 0.9)
    drawn = levels(db.Bernoulli(), prior, [27.0] if mirrored else [3.0], [[1.0]], n=30.0,
                   rng=np.random.default_rng([6, mirrored]))
    p, s = drawn["probability"].ravel(), drawn["s"].ravel()
    return np.stack([1 - p, 30 - s] if mirrored else [p, s], axis=1)


@case("categories of a private number", (noisy_tables, "prior_counts", first_more))
def private_categories(mirrored):
    at = ORDER if mirrored else np.arange(3)
    out = []
    for j, alpha in enumerate((np.array([0.2, 0.3, 0.4]), np.array([0.5, 1.0, 2.0]))):
        drawn = levels(db.Categorical(3), db.Dirichlet(alpha[at]), np.array([1.0, 14.0, 30.0])[at],
                       np.column_stack([np.zeros(3), np.eye(3)]), n_range=(1, 500),
                       rng=np.random.default_rng([7, j, mirrored]))
        p = drawn["probabilities"][0]
        out.append(np.column_stack([p[:, BACK] if mirrored else p, drawn["n"][0]]))
    return np.concatenate(out, axis=1)


def laws(mirrored):
    z, n = np.array([2.0, 33.0]), np.array([12.0, 40.0])
    z = n - z if mirrored else z
    return [Measurement(np.array([a]), Noise("laplace", np.array([3.0]), np.ones(1)), b) for a, b in zip(z, n)]


@case("law of a table", (noisy_tables, "_possible", lambda right: lambda *args: right(*args)[:-1]), within=1e-9)
def count_laws(mirrored):
    theta = np.array([0.01, 0.2, 0.5, 0.9, 0.99])
    return [float(noisy_tables.count_law(db.Bernoulli(), one).log_density(1 - t if mirrored else t))
            for one in laws(mirrored) for t in theta]


@case("several tables", (noisy_tables, "_draw_given", lambda right: lambda *args: np.maximum(right(*args) - 1, 0)))
def several(mirrored):
    "Printed in round numbers, so that no closed form is used."
    prior = db.Beta(0.9, 0.6) if mirrored else db.Beta(0.6, 0.9)
    wide = [Measurement(one.z, one.noise, one.n, None, one.z - 0.5, one.z + 0.5) for one in laws(mirrored)]
    data = measurements.tables_of(db.Bernoulli(), wide, prior, [None, None])
    drawn = noisy_tables.sample_several(np.random.default_rng([8, mirrored]), db.Bernoulli(), data, prior, (1, 8000))
    p, s = drawn["probability"][0], drawn["s"][0, :, :, 0]
    return np.column_stack([1 - p, np.array([12, 40]) - s] if mirrored else [p, s])


# Grids

def on_grid(mirrored, prior=None, exact=False, more=0.0):
    "Distribution functions at log odds, of a normal sum, or of the exact law under a density without a name."
    at, out = np.array([-5.0, -2.0, -1.0, 0.0, 1.0, 3.0]), []
    for n, z, scale in ((40, 3.0, 2.0), (300, 290.0, 15.0)):
        seen = release_of((n - z if mirrored else z) + more, scale, n)
        found = grid.grid_posterior(db.Bernoulli(), seen, prior(mirrored), exact)
        x, cdf = np.asarray(found.x), np.asarray(found.cdf)
        out.append(1 - np.interp(-at, x, cdf) if mirrored else np.interp(at, x, cdf))
    return np.concatenate(out)


def beta_prior(mirrored):
    return db.Beta(3.0, 1.2) if mirrored else db.Beta(1.2, 3.0)


def unnamed(mirrored):
    a, b = (3.0, 1.2) if mirrored else (1.2, 3.0)
    return LogDensity(lambda t: (a - 1) * jnp.log(t["probability"]) + (b - 1) * jnp.log1p(-t["probability"]))


case("grid of a normal sum", partial(on_grid, prior=beta_prior, more=1.0), 2e-4)(partial(on_grid, prior=beta_prior))
case("grid of the exact law", partial(on_grid, prior=unnamed, exact=True, more=1.0), 2e-4)(
    partial(on_grid, prior=unnamed, exact=True))


def many_at_once(mirrored, more=0.0):
    x, out = np.array([-6.0, -2.0, 0.0, 1.0, 5.0]), []
    for n, z, scale in ((20, 3.0, 2.0), (300, 290.0, 5.0)):
        seen = release_of((n - z if mirrored else z) + more, scale, n)
        law = bulk._count_log_likelihood(seen, bulk.count_terms(n, seen.noise))
        out.append(law(jnp.asarray(-x if mirrored else x)))
    return np.concatenate(out)


case("likelihoods for calibration", partial(many_at_once, more=1.0), 1e-9)(many_at_once)


# Groups

@case("groups of known size", (groups, "draw_true_counts", one_less))
def grouped_shares(mirrored):
    out = []
    for j, design in enumerate(DESIGNS[:2] + DESIGNS[6:7]):
        n, z, scale, alpha, beta, kind = turned(design, mirrored)
        s = groups._share_counts(np.random.default_rng([9, j, mirrored]), n, z, scale, (alpha, beta), kind, 8000)
        out.append(s[:, 1] if mirrored else s[:, 0])
    return np.stack(out, axis=1)


@case("groups of levels", (of_levels, "split", one_less))
def grouped_levels(mirrored):
    at, out = ORDER if mirrored else np.arange(3), []
    z, alpha = np.array([[4.0, 9.0, 30.0]])[:, at], np.array([[1.0, 2.0, 1.5]])[:, at]
    for j, ends in enumerate(((45.0, 45.0), (1.0, 400.0))):  # a known and a private size
        both = tuple(np.full((1, 1), end) for end in ends)
        found, tilt = of_levels.windows(z, np.full((1, 3), 3.0), "laplace", alpha, both)
        s = of_levels.draw_levels(np.random.default_rng([10, j, mirrored]), z[0], np.full(3, 3.0), "laplace", alpha[0],
                               ends, of_levels.Windows(*(part[0] for part in found)), float(tilt[0, 0]), 8000)
        out.append(s[:, BACK] if mirrored else s)
    return np.concatenate(out, axis=1)


def pooled_curves(mirrored, more=0.0):
    "Where the likelihoods of groups that are pooled lie: of known sizes, and of successes and failures."
    noise, two = Noise("laplace", np.full(1, 3.0), np.ones(1)), Noise("laplace", np.full(2, 3.0), np.ones(2))
    n, z = np.array([30.0, 200.0, 12.0]), np.array([4.0, 150.0, 11.0])
    known = [Measurement(np.array([(b - a if mirrored else a) + more]), noise, b) for a, b in zip(z, n)]
    private = [Measurement(np.array([b - a, a] if mirrored else [a, b - a]) + np.array([more, 0]), two, None,
                           np.array([[0.0, 1.0], [1.0, -1.0]])) for a, b in zip(z, n)]
    out = []
    for some, ranges in ((known, None), (private, [(1, 1000)] * 3)):
        center, spread = pooling.middle_of(pooled_groups.group_curves(db.Bernoulli(), some, ranges))
        out += [(-1.0 if mirrored else 1.0) * center, spread]
    return np.concatenate(out)


case("groups that are pooled", partial(pooled_curves, more=1.0), 0.01)(pooled_curves)


# Rows of large models

@case("rows of a table", (rows, "row_log_density", one_more_of(lambda n, p, z, v: (n, p, z.at[0].add(1.0), v))),
      within=1e-9)
def table_rows(mirrored):
    at = ORDER if mirrored else np.arange(3)
    p, z, v, alpha = (jnp.array(a)[at] for a in ([0.2, 0.5, 0.3], [4.0, 9.0, 30.0], [8.0, 8.0, 2.0], [0.4, 1.0, 2.0]))
    value = rows.row_log_posterior(40.0, z, v, alpha, jnp.ones(3, bool), jnp.log(p[1:] / p[0]))
    s = rows.row_draw(jax.random.normal(jax.random.key(0), (2, 3))[:, at], 40.0, p, z, v)
    return np.append(np.asarray(s)[BACK] if mirrored else np.asarray(s), float(value))


# Chains

def fitted(mirrored, method, more=0.0, **options):
    "A share by a method of `fit`, (chains, draws, 1)."
    n, z = 60, 9.0
    release = db.declare(db.Bernoulli(), [(n - z if mirrored else z) + more], n=n, noise=db.Laplace(scale=3.0),
                         source="these tests")
    found = db.fit(release, beta_prior(mirrored), method=method, draws=2000, seed=int(mirrored), progress=False,
                   **options).posterior["probability"].values
    return (1 - found if mirrored else found)[..., None]


def fitted_categories(mirrored, method, more=0.0):
    at = ORDER if mirrored else np.arange(3)
    z = np.array([9.0, 20.0, 31.0])[at] + more * np.array([1.0, 0.0, -1.0])  # in this order, whatever its names
    release = db.declare(db.Categorical(3), z, n=60, noise=db.Laplace(scale=3.0), source="these tests")
    found = db.fit(release, db.Dirichlet(np.array([1.0, 2.0, 1.5])[at]), method=method, draws=2000, seed=int(mirrored),
                   progress=False).posterior["probabilities"].values
    return found[..., BACK] if mirrored else found


def by_records(mirrored, more=0.0):
    "A column whose levels change places, one record at a time: the probability of each level."
    model = db.LogLinear({"a": 2, "b": 2}, [("a",), ("b",)])
    a, b = np.array([14.0, 27.0]), np.array([30.0, 9.0])
    z = np.concatenate([(a[::-1] if mirrored else a) + np.array([more, -more]), b])
    release = db.declare(model, z, n=40, noise=db.Laplace(scale=3.0), source="these tests")
    idata = db.fit(release, method="records", draws=1000, seed=int(mirrored), progress=False)
    p = db.table_probabilities(idata, ["a"]).values
    return p[..., ::-1] if mirrored else p


CHAINS = {"gibbs": partial(fitted, method="gibbs"), "naive": partial(fitted, method="naive"),
          "gibbs of categories": partial(fitted_categories, method="gibbs"),
          "chain of categories": partial(fitted_categories, method="collapsed"), "records": by_records}


# Others run the same code: fit_many of shares, bins with a sum that is nearer, shares of a private number, two rows.
REPEATED = ("many shares", "share, tabulated", "bins and a sum far off", "categories of a private number",
            "several tables")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in REPEATED else name
                                  for name in CASES])
def test_posteriors_are_even_handed(name, monkeypatch):
    one = CASES[name]
    assert even(one.run, one.within)
    if isinstance(one.wrong, tuple):
        module, attribute, make = one.wrong
        monkeypatch.setattr(module, attribute, make(getattr(module, attribute)))
        assert not even(one.run, one.within), "the wrong version was not found"
    else:
        assert not even(one.wrong, one.within), "the wrong version was not found"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", CHAINS)
def test_chains_are_even_handed(name):
    assert even_chains(CHAINS[name])
    assert not even_chains(partial(CHAINS[name], more=2.0)), "a count that is two too many"


def test_the_atoms_at_0_and_n_are_those_of_the_sum_over_all_counts():
    "Windows that are cut into blocks against all counts, one after another; and the two of the report."
    def weights(n, scale, alpha, beta, most):
        "Of the counts n − k, k = 0 … most, of a release of n: by running products, without gamma functions of n."
        k = np.arange(most)
        near = np.cumsum(np.log1p((beta - 1) / (k + 1.0)))  # log Γ(β + k) / k!, over that of k = 0
        far = np.cumsum(np.log1p((1 - alpha) / (n - k + alpha - 1)))
        return np.exp(np.append(0.0, near + far - (k + 1) / scale))
    for n, scale, alpha, beta in ((10**7, 2e4, 0.1, 0.1), (10**7, 3e4, 0.01, 2.0), (10**8, 1e5, 0.01, 0.01)):
        w = weights(n, scale, alpha, beta, int(min(n, 46 * scale)))
        k = np.arange(len(w))
        for t in (1e-7, 1e-6):
            few = k <= 200 + 20 * n * t
            exact = w[few] @ betainc(beta + k[few], alpha + n - k[few], t) / w.sum()
            p = exact_counts.count_posterior(n, n, scale, alpha, beta)
            q = exact_counts.count_posterior(n, 0, scale, beta, alpha)
            assert abs(1 - exact_counts.share_probability(p, 1 - t)[0] - exact) < 1e-7
            assert abs(exact_counts.share_probability(q, t)[0] - exact) < 1e-7
    found = exact_counts.share_probability(exact_counts.count_posterior(1e9, 0, 1e6, 0.01, 0.01), 1e-7)
    assert abs(found[0] - 0.917) < 1e-3
    old = thinned(exact_counts.count_posterior)(1e9, 1e9, 1e6, 0.01, 0.01)
    assert abs(1 - exact_counts.share_probability(old, 1 - 1e-7)[0] - 0.917) > 0.5, "the old windows"


def test_blocks_are_all_counts_once():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(10 ** rng.uniform(0, 7))
        low, high = np.sort(rng.integers(0, n + 1, 2))
        step = float(np.ceil((high - low + 1) / 2 ** rng.integers(0, 20)))
        middle, length = exact_counts.blocks(float(low), float(high), float(n), step)
        first, last = middle - (length - 1) / 2, middle + (length - 1) / 2
        assert first[0] == low and last[-1] == high and np.array_equal(first[1:], last[:-1] + 1)
        assert np.all(length[(first == 0) | (last == n)] == 1) and length.max() < 2 * max(step, 1)
        other = exact_counts.blocks(float(n - high), float(n - low), float(n), step)[1]
        assert n % 2 == 0 or np.array_equal(length, other[::-1])


def test_a_curve_of_blocks_has_no_teeth():
    "Beta distributions much narrower than the blocks that they stand for: quantiles do not depend on the size."
    u = np.array([0.025, 0.25, 0.5, 0.75, 0.975])
    found = [exact_counts.tabulate(exact_counts.count_posterior(n, n / 2, n / 10, 1.0, 1.0)).quantile(u)[0]
             for n in (1e9, 1e14)]
    assert np.abs(found[0] - found[1]).max() < 1e-4
