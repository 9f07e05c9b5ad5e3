"""Counts that were rounded at random to a large base, with noise before that: closed forms, memory, and refusals."""

import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest

from dp_bayes_nb import (Bernoulli, Categorical, Counts, Exact, Gaussian, Laplace, Noise, RandomizedResponse,
                         RandomRounded, Suppressed, declare, fit)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.base.measurement import ValueTable
from dp_bayes_nb.counts import tree
from dp_bayes_nb.noise import printing

BASE, SD = 100_000, 2000.0
ROUND, LAPLACE = RandomRounded(BASE), Laplace(scale=SD / 2**0.5, discrete=True)
SPREAD = ((BASE**2 - 1) / 6 + SD**2) ** 0.5  # of a count near its rounded one, a flat prior


@pytest.mark.parametrize("noise", [LAPLACE, Gaussian(sd=SD, discrete=True)])
def test_two_counts_rounded_to_a_hundred_thousand(noise):
    "It ended in a MemoryError for 894 GiB. Draws against the closed form, four standard errors."
    made = declare(Counts(["A", "B"]), [300_000, 400_000], noise=noise, printed=ROUND, source="made up")
    drawn = fit(made, seed=1, progress=False).posterior["counts"].values.reshape(-1, 2)

    def close(spread):
        assert np.all(np.abs(drawn.mean(axis=0) - [300_000, 400_000]) < 4 * spread / len(drawn)**0.5)
        assert np.all(np.abs(drawn.std(axis=0) / spread - 1) < 4 * (0.35 / len(drawn))**0.5)
    close(SPREAD)
    must_fail(lambda: close(BASE / 12**0.5), "rounded to the nearest multiple")


def term_by_term(table, t, scale, grid, kind):
    "As it was: all numbers behind the printed one, for all counts at once."
    x = float(table.start) + np.arange(len(table.log_chance)) - t[..., None]
    with np.errstate(divide="ignore"):
        return np.log(np.exp(tree._log_between(x, x, scale, grid, kind) + table.log_chance).sum(axis=-1))


def test_memory_does_not_grow_with_numbers_behind_a_count():
    table, t = ValueTable(1, np.log(1 - np.abs(np.arange(-1499, 1500)) / 1500)), np.arange(0.0, 3000.0)

    def thrifty(log_table):
        tracemalloc.start()
        try:
            found = log_table(table, t, 40.0, 1.0, "laplace")
            assert tracemalloc.get_traced_memory()[1] < 2**25
        finally:
            tracemalloc.stop()
        return found
    bent = thrifty(tree._log_table)
    with patch.multiple(tree, _MOST_BENDS=0, _IN_MEMORY=2**17):
        in_blocks = thrifty(tree._log_table)
    np.testing.assert_allclose(bent, in_blocks, rtol=1e-9, atol=1e-9)
    must_fail(lambda: thrifty(term_by_term), "all terms at once")


def test_chances_that_bend_everywhere_are_refused_and_say_what_to_do():
    up = np.linspace(0, 1, BASE + 1)[1:-1] ** 2
    made = declare(Counts(["A"]), [300_000], noise=LAPLACE, printed=RandomRounded(BASE, up.tolist()), source="made up")
    with pytest.raises(ValueError, match="number printed at random of 200001 to 399999, with laplace.*common unit"):
        fit(made, progress=False)
    plain = declare(Counts(["A"]), [300_000], printed=RandomRounded(BASE, up.tolist()), source="made up")
    assert fit(plain, draws=50, progress=False).posterior["counts"].shape == (4, 50, 1)


SHARE = 300_000, 1_000_000


@pytest.mark.parametrize("model, values, more, spread", [
    (Bernoulli("ill"), SHARE[0], {"n": SHARE[1]}, SPREAD / SHARE[1]),
    (Counts(["A"], exposure=[1000.0]), [SHARE[0]], {}, SPREAD),
    (Counts(["A", "B"]), [300_000, 300_000, 600_000], {"matrix": [[1, 0], [0, 1], [1, 1]],
                                                       "printed": [ROUND, ROUND, Exact()]}, None),
    (Categorical(["a", "b", "c"], "x"), [300_000, 300_000, 400_000], {"n": SHARE[1]}, None),
    (RandomizedResponse(Bernoulli("ill"), keep=0.75), 500_000, {"n": SHARE[1]}, None)])
def test_sisters_are_answered_too(model, values, more, spread):
    made = declare(model, values, noise=LAPLACE, source="made up", **{"printed": ROUND, **more})
    drawn = next(iter(fit(made, draws=300, progress=False).posterior.data_vars.values()))
    assert np.all(np.isfinite(drawn))
    if spread is not None:
        assert abs(float(drawn.std()) / spread - 1) < 0.1
        assert abs(float(drawn.mean()) / (spread / SPREAD * SHARE[0]) - 1) < 4 * SPREAD / SHARE[0] / 1200**0.5


def test_blanks_behind_random_rounding():
    made = declare(Counts(["A", "B"]), {"A": None, "B": 300_000}, noise=LAPLACE,
                   printed=ROUND & Suppressed(below=200_000), source="made up")
    drawn = fit(made, draws=300, progress=False).posterior["counts"].values
    assert drawn[..., 0].max() < 200_000 + 40 * SD and drawn[..., 0].mean() < 150_000


def test_chances_in_pieces_are_the_same():
    y, moved = np.arange(900.0, 1100.0), Noise({k: 1 / 201 for k in range(-100, 101)})
    for statement in (moved, moved & RandomRounded(50), ROUND):
        whole = printing.chance_of(statement.steps, y, 1000.0)
        with patch.object(printing, "_IN_MEMORY", 300):
            np.testing.assert_array_equal(printing.chance_of(statement.steps, y, 1000.0), whole)
