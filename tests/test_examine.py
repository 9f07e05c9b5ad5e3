"""`examine` against the enumeration of every table that could have been printed, and what it refuses and keeps quiet."""

import itertools
import json
import logging
import math
import time
import traceback
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize

from dp_bayes_nb import (Bernoulli, Categorical, Clamped, Counts, Exact, Gaussian, Grouped, Laplace, LogLinear, Normal,
                         Poisson, Release, Rounded, Suppressed, declare, examine)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.cli import main
from dp_bayes_nb.releases import examine as chapter

MOST = 9  # the largest total of a random table
QUICK, MANY = 150, 10_000


class Holed(Release):
    "A release one row of which has a table of possible values, as a cell key has."

    unprinted = property(lambda self: vars(self)["_unprinted"])


def with_table(release, i, values):
    "The release with a row whose value is one of some, with holes in between."
    found = release.unprinted
    low, high = ((release.values, release.values) if found is None else (found.low, found.high))
    low, high, start = low.copy(), high.copy(), min(values)
    low[i], high[i] = min(values), max(values)
    chance = np.where(np.isin(np.arange(start, max(values) + 1), list(values)), -1.0, -np.inf)
    tables = [None] * len(low)
    tables[i] = SimpleNamespace(start=start, log_chance=chance)
    object.__setattr__(release, "_unprinted", SimpleNamespace(low=low, high=high, tables=tuple(tables)))
    object.__setattr__(release, "__class__", Holed)
    return release


def printing(rng, y):
    "A way to print a row: the statement, what is printed of y, and which true values would be printed alike."
    step, limit = int(rng.integers(2, 5)), int(rng.integers(0, 6))
    return [(Exact(), y, lambda t: t == y),
            (Rounded(step), np.rint(y / step) * step, lambda t: np.rint(t / step) == np.rint(y / step)),
            (Suppressed(limit), None if y < limit else y, lambda t: (t < limit) if y < limit else (t == y)),
            (Clamped(high=limit), min(y, limit), lambda t: np.minimum(t, limit) == min(y, limit))]


def random_table(rng):
    """A release of a few counts, in unions, differences and doubles that are printed in different ways; its matrix,
    and of each row which true values are possible. Half of the tables have a row with holes.
    """
    K = int(rng.integers(2, 5))
    x = rng.multinomial(int(rng.integers(0, MOST + 1)), rng.dirichlet(np.ones(K)))
    H = rng.choice([0, 1, 2, -1], p=[0.34, 0.44, 0.11, 0.11], size=(int(rng.integers(1, 5)), K))
    H = np.vstack([np.ones(K, int), H[np.any(H != 0, axis=1)]])
    units = np.gcd.reduce(H, axis=1)  # a row of even numbers only is printed exactly: rounding it is another step
    kinds = [0 if unit > 1 else rng.integers(2) if i == 0 else rng.choice(4, p=[0.25, 0.35, 0.2, 0.2])
             for i, unit in enumerate(units)]
    rows = [printing(rng, int(y))[kind] for y, kind in zip(H @ x, kinds)]
    release = declare(Counts([f"c{k}" for k in range(K)]), [value for _, value, _ in rows], matrix=H,
                      noise=Laplace(scale=0), printed=[statement for statement, _, _ in rows], source="a random table")
    possible, i = [alike for _, _, alike in rows], int(rng.integers(len(rows)))
    if rng.random() < 0.5 and units[i] == 1:
        values = (H @ x)[i] + rng.choice([-3, -1, 0, 2, 4], 3, replace=False) * rng.integers(0, 2, 3)
        release, possible[i] = with_table(release, i, set(values) | {(H @ x)[i]}), \
            lambda t, some=(*values, (H @ x)[i]): np.isin(t, some)
    return release, H, possible


def enumerated(H, possible):
    "Every table that could have been printed so, (tables, K)."
    grid = np.indices((MOST + 6,) * H.shape[1]).reshape(H.shape[1], -1).T
    for row, alike in zip(H, possible):
        grid = grid[alike(grid @ row)]
    return grid


def wrong(release, tables, **options):
    "Names whose ends are not those of all tables, and what is said of them; a frame has each cell, sum and difference."
    K = tables.shape[1]
    pairs = list(itertools.combinations([f"c{k}" for k in range(K)], 2))
    found = examine(release, sums={"first two": ["c0", "c1"]}, differences=pairs, **options).frame
    vectors = {f"c{k}": np.eye(K)[k] for k in range(K)} | {"first two": np.eye(K)[0] + np.eye(K)[1]}
    vectors |= {f"{a} - {b}": vectors[a] - vectors[b] for a, b in pairs}
    vectors |= dict(zip(release.names, release.matrix))
    out = []
    for name, low, high, what in zip(found["name"], found["low"], found["high"], found["what"]):
        seen = tables @ vectors[name]
        due = "pinned" if np.ptp(seen) == 0 else "within 1" if np.ptp(seen) <= 2 else "open"
        if (low, high) != (seen.min(), seen.max()) or what not in (due, *["printed"] * (due == "pinned")):
            out.append((name, low, high, what, due, seen.min(), seen.max()))
    return out


def check(first, count):
    "`count` random tables, by numbers from `first` on: examine says what the enumeration says."
    for number in range(first, first + count):
        release, H, possible = random_table(np.random.default_rng(number))
        tables = enumerated(H, possible)
        assert not (found := wrong(release, tables)), (number, found)


def test_every_end_is_that_of_all_tables():
    check(0, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, 1000))
def test_every_end_is_that_of_all_tables_of_ten_thousand(first):
    check(first, 1000)


def linear(self, c):
    "A wrong version: the linear program, rounded inwards."
    return self.relaxed(c)[0], True


def bounds_only(self, c):
    "A wrong version: the bounds before any program."
    return float(np.where(c > 0, c * self.least, np.where(c < 0, c * self.most, 0.0)).sum()), True


@pytest.mark.parametrize("least_of", [linear, bounds_only])
def test_bounds_and_linear_programs_are_not_enough(monkeypatch, least_of):
    monkeypatch.setattr(chapter.Block, "least_of", least_of)
    must_fail(lambda: check(0, QUICK), "no whole numbers")


def test_holes_are_looked_at(monkeypatch):
    monkeypatch.setattr(chapter, "_values", lambda table, unit: None)
    must_fail(lambda: check(0, QUICK), "the interval without its holes")
