"""Exact posteriors of printed numbers by listing every possible number: slow, and independent of the page's engine.

A row is (kind, scale, discrete, steps, value): the noise, what was done before printing, and what was printed (NaN:
nothing). Its likelihood P(printed | true number k) is a sum over all noisy whole numbers y of P(y | k) P(printed | y),
or for noise on the line the probability of an interval. Every step is carried out forwards, on lists; nothing is
fitted, thinned or transformed. NumPy and SciPy only.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaln, gammaln, log_ndtr
from scipy.stats import beta as beta_law

FAR = 45.0  # nats beyond which a number is left out
MOST = 2e7  # numbers that are listed at once
CHUNK = 2_000_000  # numbers of a longer list, part by part


class Row(NamedTuple):
    "One printed number."
    kind: str = "none"  # "laplace", "gaussian" or "none"
    scale: float = 0.0
    discrete: bool = False
    steps: tuple = ()  # ("rounded", step), ("random", base), ("hidden", below), ("cut" or "within", low, high)
    value: float = math.nan
    far: float = FAR  # nats

    @property
    def reach(self):
        "How far noise goes."
        nats = {"none": 0.0, "laplace": self.far, "gaussian": math.sqrt(2 * self.far)}
        return nats[self.kind] * self.scale


class Counted(NamedTuple):
    "Weights of first, first + 1, …"
    first: int
    weights: np.ndarray

    @property
    def k(self): return self.first + np.arange(len(self.weights))


def row_of(cell):
    "A cell of the page as a row."
    given = {"rounded": ("step",), "random": ("base",), "hidden": ("below",), "cut": ("low", "high"),
             "within": ("low", "high")}
    endless = {"low": -math.inf, "high": math.inf}
    steps = tuple((step["how"], *(endless[end] if step[end] is None else step[end] for end in given[step["how"]]))
                  for step in cell["printed"])
    noise = cell["noise"]
    return Row(noise["law"], noise.get("size", 0.0), noise.get("whole", False), steps,
               math.nan if cell["value"] is None else cell["value"])


# § What was printed
def chances(y, steps, value):
    "P(value is printed | y), carried out forwards."
    if not steps:
        return np.where(np.isnan(y), math.isnan(value), np.isclose(y, value, rtol=1e-9, atol=1e-9)) * 1.0
    (how, *how_much), rest = steps[0], steps[1:]
    blank = np.isnan(y)
    if how == "rounded":
        return chances(np.rint(y / how_much[0]) * how_much[0], rest, value)  # halves to the even multiple
    if how == "hidden":
        return chances(np.where(y < how_much[0], np.nan, y), rest, value)
    if how == "cut":
        return chances(np.clip(y, *how_much), rest, value)
    if how == "within":
        return ((y >= how_much[0]) & (y <= how_much[1])) * 1.0
    base = how_much[0]
    near = np.sign(y) * np.floor(np.abs(y) / base) * base
    away, p = near + np.where(y < 0, -base, base), np.mod(np.abs(y), base) / base
    out = (1 - p) * chances(near, rest, value) + p * chances(away, rest, value)
    return np.where(blank, float(math.isnan(value)), out)


def interval(row):
    "The ends of a number on the line from those of what was printed; only for steps without chance."
    low, high = (row.value, row.value)
    for how, *how_much in reversed(row.steps):
        if how == "rounded":
            low, high = low - how_much[0] / 2, high + how_much[0] / 2
        elif how == "hidden":
            low, high = (-math.inf, how_much[0]) if math.isnan(low) else (max(low, how_much[0]), high)
        elif how == "cut":
            low, high = -math.inf if low <= how_much[0] else low, math.inf if high >= how_much[1] else high
        else:
            low, high = how_much
    return low, high


def possible(row):
    "The first and the last noisy whole number that may be behind a print; infinite where there is none."
    marks = [mark for _, *given in row.steps for mark in given if math.isfinite(mark)]
    marks += [] if math.isnan(row.value) else [row.value]
    slack = 3 * sum(abs(given[0]) for how, *given in row.steps if how in ("rounded", "random")) + 3
    y = np.arange(math.floor(min(marks) - slack), math.ceil(max(marks) + slack) + 1.0)
    p = chances(y, row.steps, row.value)
    return y, p


# § The likelihood
def log_tail(row, x):
    "log P(noise >= x), of whole x for noise on whole numbers."
    if row.kind == "gaussian" and not row.discrete:
        return log_ndtr(-x / row.scale)
    if row.kind == "gaussian":
        p = np.exp(-0.5 * (np.arange(math.ceil(30 * row.scale) + 2.0) / row.scale) ** 2)
        table = np.cumsum(p[::-1])[::-1] / (2 * p.sum() - 1)
        at = lambda j: table[np.minimum(j, len(table) - 1).astype(int)]
        with np.errstate(divide="ignore"):
            return np.where(x > 0, np.log(at(np.maximum(x, 1))), np.log1p(-at(np.maximum(1 - x, 1))))
    b = row.scale
    if row.discrete:
        r = math.exp(-1 / b)
        return np.where(x > 0, -x / b - math.log1p(r), np.log1p(-np.exp(np.minimum((x - 1) / b, 0)) / (1 + r)))
    return np.where(x > 0, -np.abs(x) / b - math.log(2), np.log1p(-0.5 * np.exp(-np.abs(x) / b)))


def between(row, low, high):
    "P(low <= noise <= high): the difference of the smaller tails."
    step = 1.0 if row.discrete else 0.0
    flip = low + high < 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, end = log_tail(row, low), np.isinf(high)
        b = np.where(end, -np.inf, log_tail(row, np.where(end, 0, high) + step))
        return np.where(a == -np.inf, 0.0, np.exp(a) * -np.expm1(np.minimum(b - a, 0.0)))


def likelihood(row, k):
    "P(printed | true number k), up to a constant."
    k = np.asarray(k, float)
    if row.kind == "none":
        return chances(k, row.steps, row.value)
    if not row.discrete:
        low, high = interval(row)
        if low == high:
            u = (row.value - k) / row.scale
            return np.exp(-np.abs(u) if row.kind == "laplace" else -0.5 * u**2)
        return between(row, low - k, high - k)
    y, p = possible(row)
    u = lambda e: np.exp(-np.abs(e) / row.scale if row.kind == "laplace" else -0.5 * (e / row.scale) ** 2)
    if np.all((p == 0) | (p == 1)) and np.sum(p) > 40:
        at = np.flatnonzero(p)
        low, high = -math.inf if p[0] else y[at[0]], math.inf if p[-1] else y[at[-1]]
        return between(row, low - k, high - k)
    e = np.arange(math.ceil(30 * row.scale) + 2.0)
    norm = u(0.0) * (2 * u(e).sum() - 1)
    out = sum((chance * u(each - k) for each, chance in zip(y[p > 0], p[p > 0])), np.zeros(len(k))) / norm
    if p[0]:  # what goes on below and above
        out += p[0] * between(row, np.full(len(k), -math.inf), y[0] - 1 - k)
    if p[-1]:
        out += p[-1] * between(row, y[-1] + 1 - k, np.full(len(k), math.inf))
    return out


def ends(row, most=math.inf):
    "The first and the last true number that matter."
    if row.kind != "none" and not row.discrete:
        low, high = interval(row)
    else:
        y, p = possible(row)
        at = np.flatnonzero(p)
        low, high = -math.inf if p[0] else y[at[0]], math.inf if p[-1] else y[at[-1]]
    first = int(max(0, math.floor(low - row.reach) if math.isfinite(low) else 0))
    last = int(min(most, math.ceil(max(high, 0) + row.reach) if math.isfinite(high) else most))
    return min(first, last), last


def counted(row, most=math.inf):
    "Weights of the true numbers from 0 on, each as likely beforehand."
    first, last = ends(row, most)
    assert last - first < MOST, (row, first, last)
    return Counted(first, likelihood(row, np.arange(first, last + 1.0)))


# § Answers
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)


def of_whole(found: Counted, levels=LEVELS):
    "Mean, sd and quantiles of a whole number, and how near the distribution function comes to a level."
    w = found.weights / found.weights.sum()
    mean = found.first + float(w @ np.arange(len(w)))
    sd = math.sqrt(float(w @ (found.k - mean) ** 2))
    cdf = np.cumsum(w)
    at = [min(int(np.searchsorted(cdf, p - 1e-13)), len(w) - 1) for p in levels]
    gap = [float(min(abs(cdf[i] - p), abs(cdf[i - 1] - p) if i else 1.0)) for i, p in zip(at, levels)]
    return {"mean": mean, "sd": sd, "q": [found.first + i for i in at], "sure": [g > 1e-9 for g in gap]}


def of_one(row, levels=LEVELS):
    "The answer for one row; a long list is gone through part by part."
    first, last = ends(row)
    if last - first < MOST:
        return of_whole(counted(row), levels)
    starts, center = np.arange(first, last + 1, CHUNK), (first + last) / 2
    part = lambda a: likelihood(row, np.arange(a, min(a + CHUNK, last + 1.0)))
    rows = []
    for a in starts.tolist():
        w, d = part(a), a + np.arange(min(CHUNK, last + 1 - a)) - center
        rows.append([w.sum(), w @ d, w @ d**2])
    sums = np.array(rows)
    total, one, two = sums.sum(axis=0)
    before = np.r_[0.0, np.cumsum(sums[:, 0])] / total
    q, sure = [], []
    for p in levels:
        i = int(np.searchsorted(before, p)) - 1
        cdf = before[i] + np.cumsum(part(starts[i])) / total
        at = int(np.searchsorted(cdf, p - 1e-13))
        q.append(int(starts[i]) + at)
        sure.append(bool(min(abs(cdf[at] - p), abs(cdf[at - 1] - p)) > 1e-9))
    return {"mean": center + one / total, "sd": math.sqrt(two / total - (one / total) ** 2), "q": q, "sure": sure}


def of_atoms(value, weight, levels=LEVELS):
    "The same of any numbers with weights."
    order = np.argsort(value, kind="stable")
    value, w = value[order], weight[order] / weight.sum()
    mean = float(w @ value)
    cdf = np.cumsum(w)
    at = np.minimum(np.searchsorted(cdf, np.array(levels) - 1e-13), len(w) - 1)
    sure = []
    for i, p in zip(at, levels):  # a step that ends within 1e-9 of the level leaves its quantile open
        last = np.searchsorted(value, value[i] * (1 + 1e-12), side="right") - 1
        first = np.searchsorted(value, value[i] * (1 - 1e-12), side="left")
        sure.append(bool(cdf[last] - p > 1e-9 and (first == 0 or p - cdf[first - 1] > 1e-9)))
    return {"mean": mean, "sd": math.sqrt(float(w @ (value - mean) ** 2)), "q": value[at].tolist(), "sure": sure}


def binomial_ways(s, n, alpha, beta):
    "P(s of n) under a Beta prior of the share, up to a constant of neither."
    return np.exp(betaln(alpha + s, beta + n - s) + gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1))


def of_mixture(a, b, w, levels=LEVELS):
    "The same of a mixture of Beta(a, b)."
    keep = w > 0
    a, b, w = a[keep], b[keep], w[keep] / w.sum()
    m = a / (a + b)
    mean = float(w @ m)
    sd = math.sqrt(float(w @ ((m - mean) ** 2 + m * (1 - m) / (a + b + 1))))
    return {"mean": mean, "sd": sd, "q": [mixture_quantile(a, b, w, p, mean, sd) for p in levels]}


def mixture_cdf(a, b, w, t):
    "P(share <= t): terms that are certainly 0 or 1 are not computed."
    m = a / (a + b)
    far = (m - t) / np.sqrt(np.maximum(t * (1 - t), m * (1 - m)) / (a + b + 1))
    near = np.abs(far) < 14
    return float(w[far <= -14].sum() + w[near] @ betainc(a[near], b[near], t))


def mixture_quantile(a, b, w, p, mean, sd):
    "Its inverse."
    f = lambda x: mixture_cdf(a, b, w, x) - p
    low, high = max(mean - sd, 1e-300), min(mean + sd, 1 - 1e-16)
    while f(low) > 0:
        low = low / 2 if low < sd else low - sd
    while f(high) < 0:
        high = 1 - (1 - high) / 2 if 1 - high < sd else high + sd
    return brentq(f, low, high, xtol=1e-300, rtol=1e-12)


def share(row, n, alpha, beta):
    "A share with n known."
    s = counted(row, n)
    return of_mixture(alpha + s.k, beta + n - s.k, s.weights * binomial_ways(s.k, n, alpha, beta))


def pairs(row: Row, size: Row, part: bool):
    "All pairs of numbers and their weights; `part`: the first is at most the second."
    if part and row.value > size.value:  # they contradict one another: noise leads far
        row, size = row._replace(far=2 * FAR), size._replace(far=2 * FAR)
    u, n = counted(row), counted(size)
    a, b = np.meshgrid(u.k, n.k, indexing="ij")
    w = u.weights[:, None] * n.weights
    w = np.where((a <= b) | (not part), w, 0.0)
    keep = w > w.max() * 1e-22
    w = w[keep]
    return a[keep].astype(float), b[keep].astype(float), w / w.max()


def share_of_noisy(row, size, alpha, beta):
    "A share whose n is printed with noise, each n as likely beforehand."
    s, n, w = pairs(row, size, True)
    return of_mixture(alpha + s, beta + n - s, w * binomial_ways(s, n, alpha, beta))


def quotient(row, size, part):
    "A number over another, where that is not 0."
    u, n, w = pairs(row, size, part)
    keep = n > 0
    if not keep.any():
        return None
    return of_atoms(u[keep] / n[keep], w[keep]) | {"none": float(w[~keep].sum() / w.sum())}


def compare(a, b):
    "The difference of two numbers by their convolution, probabilities, and their ratio."
    A, B = counted(a), counted(b)
    d = Counted(A.first - int(B.k[-1]), np.convolve(A.weights / A.weights.sum(), B.weights[::-1] / B.weights.sum()))
    w = d.weights / d.weights.sum()
    return {"difference": of_whole(d), "above": float(w[d.k > 0].sum()), "equal": float(w[d.k == 0].sum()),
            "ratio": quotient(a, b, False) if len(A.k) * len(B.k) < 4e6 else None}


def compare_shares(a, b, n):
    "The difference of two shares: P(A <= B + d) an integral over B by Gauss's rule on many pieces."
    parts = [counted(row, m) for row, m in zip((a, b), n)]
    (a1, b1, w1), (a2, b2, w2) = ((1.0 + s.k, 1.0 + m - s.k, s.weights / s.weights.sum()) for s, m in zip(parts, n))
    def cdf(a, b, w):
        return lambda t: w @ betainc(a[:, None], b[:, None], t) if np.ndim(t) else mixture_cdf(a, b, w, t)
    x, h = np.polynomial.legendre.leggauss(40)
    sides = [of_mixture(*side) for side in ((a1, b1, w1), (a2, b2, w2))]
    mean, sd = sides[1]["mean"], sides[1]["sd"]
    F = cdf(a1, b1, w1)
    def below(d):
        edges = np.r_[mean + sd * np.r_[-60, -30, np.linspace(-15, 15, 61), 30, 60], -d, 1 - d, 0, 1]
        edges = np.unique(np.clip(edges, 0, 1))  # F has corners where t + d is 0 or 1
        t = np.concatenate([(lo + hi) / 2 + (hi - lo) / 2 * x for lo, hi in zip(edges, edges[1:])])
        weight = np.concatenate([(hi - lo) / 2 * h for lo, hi in zip(edges, edges[1:])])
        keep = w2 > 1e-18
        density = (w2[keep, None] * beta_law.pdf(t, a2[keep, None], b2[keep, None])).sum(axis=0) * weight
        return float(density @ F(np.clip(t + d, 0, 1)))
    center, spread = sides[0]["mean"] - mean, math.hypot(sides[0]["sd"], sd)
    q = [brentq(lambda d, p=p: below(d) - p, center - 12 * spread, center + 12 * spread, rtol=1e-11) for p in LEVELS]
    return {"difference": {"mean": center, "sd": spread, "q": q}, "above": 1 - below(0.0)}


def table(rows, total):
    "Cells and their total: each against the convolution of all others, as sums of positive terms."
    cells = [counted(row, math.inf if total is None else counted(total).k[-1]) for row in rows]
    one = Counted(0, np.ones(1))
    add = lambda a, b: Counted(a.first + b.first, np.convolve(a.weights / a.weights.max(), b.weights / b.weights.max()))
    before, after = [one], [one]
    for cell in cells:
        before.append(add(before[-1], cell))
    for cell in cells[::-1]:
        after.append(add(after[-1], cell))
    everything = before[-1]
    if total is None:
        return {"cells": [of_whole(cell) for cell in cells], "total": of_whole(everything)}
    T = likelihood(total, everything.k)
    out = []
    for i, cell in enumerate(cells):
        others = add(before[i], after[len(cells) - 1 - i])
        like = likelihood(total, np.arange(cell.first + others.first, cell.k[-1] + others.k[-1] + 1.0))
        says = np.array([others.weights @ like[j:j + len(others.weights)] for j in range(len(cell.weights))])
        out.append(of_whole(Counted(cell.first, cell.weights * says)))
    return {"cells": out, "total": of_whole(Counted(everything.first, everything.weights * T))}
