"""What is refused says what to do: a table of mistakes that read as advice to somebody who made them."""

import inspect
import os
import re
import subprocess
import sys

import duckdb
import jax
import numpy as np
import pandas as pd
import pytest
from test_contract import DECLARED

import dp_bayes_nb
from dp_bayes_nb import (
    Above, Bernoulli, Categorical, Clip, Counts, Gaussian, Laplace, Poisson, SharedGamma, Suppressed, combine, declare,
    fit, fit_many, predictive_check, read_table, release,
)
from dp_bayes_nb.base.meant import SAID, meant
from dp_bayes_nb.ways.methods import RUN

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
    "cells and both margins, exactly": (lambda: fit(said(CELLS, NUMBERS, matrix=MARGINS), method="exact"),
                                        "its rows must add up cells, and be nested or apart; available: 'lattice'"),
    "a fraction of a count": (lambda: quick(said(Counts(["a", "b"]), [2, 10], matrix=[[1, 0.3], [1, 0]])),
                              "matrix must be of rows of whole numbers, or of multiples of these, got [1.0, 0.3]"),
    "totals that contradict each other": (lambda: said(Counts(["a", "b"]), [9, 5, 3], noise=Laplace(scale=0),
                                                       matrix=[[1, 1], [1, 0], [0, 1]]),
                                          "any fewer of them can: 'a + b', 'a', 'b'; state the noise"),
    "a flat prior without an end": (lambda: quick(said(Counts(["a", "b"]), {"a": 10})),
                                    "prior must be SharedGamma(shape, rate) or Gamma(shape, rate), because nothing "
                                    "that was published limits 1 of the counts"),
    "a frame in place of numbers": (lambda: said(Counts(["a", "b"]), pd.DataFrame({"count": [3, 4]})),
                                    'such as frame["count"]'),
    "a column with labels of its own": (lambda: said(Counts(["a", "b"]), pd.Series([3, 4], index=["a", "south"])),
                                        "its index is read as names; numbers in order are a list, .tolist()"),
    "rows of a frame that were chosen": (lambda: said(Counts(["a", "b"]), pd.Series([3, 4], index=[7, 9])),
                                         "its index is read as names"),
    "an option of PyMC": (lambda: fit(said(Bernoulli(), 12, n=80), tune=500), "got 'tune'; did you mean warmup?"),
    "an option of Stan": (lambda: fit(said(Bernoulli(), 12, n=80), num_samples=500), "did you mean draws?"),
    "a seed": (lambda: fit(said(Bernoulli(), 12, n=80), random_seed=1), "did you mean seed?"),
    "a typing error": (lambda: fit(said(Bernoulli(), 12, n=80), drws=9), "did you mean draws?"),
    "an option where tables are pooled": (lambda: fit([said(POISSON, 30 + k, f"{k}", n=80) for k in range(3)],
                                                      pool="partial", tune=9), "did you mean warmup?"),
    "a table of counts of records": (lambda: release(Counts(["a"]), {"a": [1, 2]}, epsilon=1),
                                     "use Categorical or Bernoulli for records"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_refusal_says_what_to_do(mistake):
    call, advice = MISTAKES[mistake]
    with pytest.raises(ValueError, match=re.escape(advice)) as error:
        call()
    assert str(error.value).isprintable() and "leave rows out" not in str(error.value)


CALLS = {
    "a budget declared": (lambda: declare(Bernoulli(), 12, n=80, epsilon=0.5, source="s"),
                          "unexpected keyword argument 'epsilon'; did you mean noise=Laplace.from_epsilon(epsilon, "),
    "a typing error": (lambda: declare(Bernoulli(), 12, n=80, nois=TWO, source="s"), "did you mean noise?"),
    "no sensitivity": (lambda: Laplace.from_epsilon(0.5), "did you mean Laplace.from_epsilon(epsilon, sensitivity)?"),
    "no sensitivity, rho": (lambda: Gaussian.from_rho(0.5), "did you mean Gaussian.from_rho(rho, sensitivity)?"),
    "a seed of many": (lambda: fit_many([], random_seed=1), "did you mean seed?"),
    "scipy's Beta": (lambda: dp_bayes_nb.Beta(a=1, b=1),
                     "got an unexpected keyword argument 'a'; did you mean alpha?"),
    "a scale for a rate": (lambda: dp_bayes_nb.Gamma(2.0, scale=3.0), "did you mean rate=1/scale?"),
    "a model's column": (lambda: Bernoulli(col="ill"), "did you mean column?"),
    "a seed of a plan": (lambda: dp_bayes_nb.plan(Bernoulli(), random_seed=1), "did you mean seed?"),
}


@pytest.mark.parametrize("mistake", CALLS)
def test_a_type_error_says_what_was_meant(mistake):
    "Of the type and in the words of Python, and with a hint."
    call, advice = CALLS[mistake]
    with pytest.raises(TypeError, match=re.escape(advice)):
        call()


def test_a_name_of_another_package_is_answered_with_ours():
    for word, ours in {"Binomial": "Bernoulli", "Multinomial": "Categorical", "HMM": "HiddenMarkov",
                       "laplace": "Laplace", "from_cencus": "from_census"}.items():
        with pytest.raises(AttributeError, match=rf"no attribute '{word}'; did you mean {ours}\? Its public names are"):
            getattr(dp_bayes_nb, word)
    with pytest.raises(AttributeError, match="no attribute 'zzzzzz'; its public names are"):
        dp_bayes_nb.zzzzzz  # noqa: B018
    assert not hasattr(dp_bayes_nb, "Binomial")


def test_what_is_proposed_exists():
    "Each word of the table is an argument of a public function, or a public name."
    known = {name for each in (getattr(dp_bayes_nb, public) for public in dp_bayes_nb.__all__) if callable(each)
             for name in inspect.signature(each).parameters} | {*dp_bayes_nb.__all__, *RUN, "key", "noise", "epsilon"}
    assert {re.split(r"\W", written)[0] for written in SAID} <= known
    assert set(RUN) <= set(inspect.signature(fit).parameters) and meant("tune", ["draws"]) == ""


def test_a_database_is_told_to_pass_one_of_its_tables(tmp_path):
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("create table orders as select range % 2 as x from range(40)")
        for call in (lambda data: release(Bernoulli("x"), data, epsilon=1), lambda data: fit_many(data, Bernoulli()),
                     lambda data: read_table(data, model=Bernoulli(), value="x", scale=1, n=9, source="s")):
            for data in (path, str(path), connection):
                with pytest.raises(ValueError, match=re.escape('con.table("orders")')):
                    call(data)
        assert release(Bernoulli("x"), connection.table("orders"), epsilon=1).n == 40


def needs_a_prior():
    "The families that refuse a fit without a prior, asked one by one; those that stand for another are left out."
    from dp_bayes_nb.models.registry import MODELS
    needing = set()
    for model, *_ in DECLARED.values():
        try:
            model.accept(None)
        except ValueError:
            needing.add(type(model).__name__)
    elsewhere = {"Counts", "Grouped", "RandomizedResponse", "Ratio"}
    assert {type(model).__name__ for model, *_ in DECLARED.values()} >= set(MODELS) - elsewhere
    return needing - {"Above", "Grouped"}


def families_and_parameters(words):
    "What a help says of who needs a prior, and the parameters that it names."
    words = " ".join(words.split())
    said = re.search(r"([^.]*) need one \(and Above and Grouped of them\)", words)
    return set(re.findall(r"[A-Z]\w+", said[1])) if said else set(), set(re.findall(r"`(\w+)(?:=[^`]*)?`", words))


def test_the_help_of_fit_names_its_parameters_and_who_needs_a_prior():
    families, parameters = families_and_parameters(fit.__doc__)
    assert families == needs_a_prior()
    assert set(inspect.signature(fit).parameters) <= parameters
    old = "A prior is needed for every family but Bernoulli and Categorical. `method`: see the table."
    assert families_and_parameters(old) == (set(), {"method"})


@pytest.mark.slow
def test_xla_does_not_ask_users_to_file_a_bug():
    "The log is silent from the import on, unless its level was chosen."
    code = "import dp_bayes_nb.base.arguments, jax, numpy as np; c = np.ones((300, 250)); jax.jit(lambda x: x + " \
           "jax.lax.reduce_window(c, 0.0, jax.lax.add, (8, 8), (1, 1), 'SAME').sum())(1.0)"
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "TF_CPP", "XLA_"))}
    clean |= {"JAX_PLATFORMS": "cpu", "DP_BAYES_NB_CACHE": "off"}
    said = lambda before, **more: subprocess.run([sys.executable, "-c", before + code], env=clean | more, check=True,
                                                 capture_output=True, text=True).stderr
    assert "file a bug" not in said("import jax; jax.numpy.ones(3); ")  # whoever imports JAX first
    log = said("", TF_CPP_MIN_LOG_LEVEL="0")  # as XLA speaks to who asks for its log
    assert "file a bug" in log or log and jax.__version_info__ >= (0, 12)  # it asks no longer


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
