"""What is refused says what to do: a table of mistakes that read as advice to somebody who made them."""

import re

import numpy as np
import pytest

from dp_bayes_nb import (
    Above, Bernoulli, Categorical, Clip, Counts, Laplace, Poisson, SharedGamma, Suppressed, combine, declare, fit,
    predictive_check, release,
)

POISSON, ABOVE = Poisson(Clip(0, 20)), Above(Poisson(Clip(0, 20)), [9])
CELLS, TWO = Counts(["a", "b", "c", "d"]), Laplace(scale=2)
MARGINS = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]]
NUMBERS = [10, 12, 20, 5, 22, 31]


def said(model, values, source="s", **more):
    return declare(model, values, **{**dict(noise=TWO, source=source), **more})


def quick(release, *prior):
    return fit(release, *prior, draws=50, warmup=50, chains=1, progress=False)


MISTAKES = {
    "the same numbers of two areas": (lambda: quick([said(Bernoulli(), 12, n=80), said(Bernoulli(), 12, n=80)]),
                                      "different records that say the same need a source each"),
    "the same numbers, combined": (lambda: combine(said(Bernoulli(), 12, n=80), said(Bernoulli(), 12, n=80)),
                                   "give a source each to two that came out alike"),
    "a sum and a share above": (lambda: combine(said(POISSON, 300, n=80), said(ABOVE, {"above 9": 12}, n=80)),
                                "declare both with Above("),
    "the same, the other way": (lambda: combine(said(ABOVE, {"above 9": 12}, n=80), said(POISSON, 300, n=80)),
                                "whose sums are 'sum', 'above 9': by name"),
    "other models": (lambda: combine(said(POISSON, 300, n=80), said(Bernoulli(), 12, n=80)), "such as Above(model"),
    "cells and both margins": (lambda: quick(said(CELLS, NUMBERS, matrix=MARGINS)),
                               "got rows that overlap; Categorical([...]) of the same cells, with n or n_range, takes"),
    "a difference": (lambda: quick(said(Counts(["a", "b"]), [2, 10], matrix=[[1, -1], [1, 0]])),
                     "got a row that does not only add up cells; Categorical"),
    "a flat prior without an end": (lambda: quick(said(Counts(["a", "b"]), {"a": 10})),
                                    "prior must be SharedGamma(shape, rate) or Gamma(shape, rate), because nothing "
                                    "that was published limits 1 of the counts"),
    "a table of counts of records": (lambda: release(Counts(["a"]), {"a": [1, 2]}, epsilon=1),
                                     "use Categorical or Bernoulli for records"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_refusal_says_what_to_do(mistake):
    call, advice = MISTAKES[mistake]
    with pytest.raises(ValueError, match=re.escape(advice)) as error:
        call()
    assert str(error.value).isprintable() and "leave rows out" not in str(error.value)


@pytest.mark.slow
def test_the_advice_is_right():
    "What each refusal says to do is done, and works."
    apart = [said(Bernoulli(), 12, f"area {k}", n=80) for k in (1, 2)]
    assert quick(apart).confidential["s"].shape == (1, 50, 2, 1)
    assert len(combine(*apart).names) == 2
    both = combine(said(ABOVE, {"sum": 300}, "one", n=80), said(ABOVE, {"above 9": 12}, "two", n=80))
    assert both.values.tolist() == [300, 12]
    cells = said(Categorical(["a", "b", "c", "d"]), NUMBERS, matrix=MARGINS, n_range=(0, 500))
    assert abs(float(fit(cells, draws=200, chains=2, progress=False).confidential["n"].mean()) - 47) < 15
    low = said(Counts(["a", "b"]), {"a": 10})
    assert np.isfinite(quick(low, SharedGamma(1, 1)).posterior["counts"]).all()


def test_cells_without_margins_are_fitted_and_the_refusal_is_for_counts_only():
    assert quick(said(CELLS, NUMBERS[:5], matrix=MARGINS[:5])).posterior["counts"].shape == (1, 50, 4)
    assert quick(said(Categorical(3), [10, 12, 25], n=30, matrix=[[1, 0, 0], [1, 1, 0], [0, 1, 1]]))


def test_nested_sources_are_bracketed():
    one, two, three, four = (said(Bernoulli(), 12 + k, f"office {k}", n=80) for k in range(4))
    inner = combine(one, two)
    outer = combine(combine(inner, three), four)
    assert inner.source == "combined of (1) declared: office 0; (2) declared: office 1"
    assert outer.source == (f"combined of (1) [combined of (1) [{inner.source}]; (2) declared: office 2]; "
                            "(2) declared: office 3")
    depth, tops = 0, []
    for token in re.findall(r"\[|\]|\(\d\)", outer.source):
        depth += {"[": 1, "]": -1}.get(token, 0)
        tops += [token] if depth == 0 and token.startswith("(") else []
    assert depth == 0 and tops == ["(1)", "(2)"]


def test_a_check_of_what_was_left_out_is_what_its_help_says():
    fitted = fit(said(Bernoulli(), 12, n=80), draws=200, chains=2, progress=False)
    second = lambda below: said(Bernoulli(), None, "another", n=80, printed=Suppressed(below))
    usual, rare = (predictive_check(fitted, second(below)) for below in (40, 2))
    assert float(usual["p_value"][0]) == 1 and np.isnan(float(usual["p_joint"]))
    assert float(rare["p_value"][0]) < 0.2
    assert "1 where the model would leave it out in half" in " ".join(predictive_check.__doc__.split())


def test_the_model_of_counts_is_checked_by_its_noise():
    fitted = quick(said(Counts(["a", "b"]), [10, 31]))
    assert (predictive_check(fitted)["p_value"] > 0.1).all()
    assert float(predictive_check(fitted, said(Counts(["a", "b"]), [40, 31], "another"))["p_value"][0]) < 0.1
