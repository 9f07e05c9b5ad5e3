"""The models of all papers' experiments, traced and not run: what only the slow cells of their chapters would meet."""

import importlib

import jax
import numpy as np
import pytest

from dp_bayes_nb.base.measurement import Noise
from dp_bayes_nb.models.contract import check_prior
from dp_bayes_nb.research.trials import simulate_study


@pytest.fixture(scope="module")
def models():
    "Those of experiments, with the ones that further chapters add when they are imported."
    found = importlib.import_module("dp_bayes_nb.papers.experiments").MODELS
    for chapter in ("regression", "naive_bayes", "hmm"):
        importlib.import_module(f"dp_bayes_nb.papers.{chapter}_experiments")
    return found


def study(family, prior):
    "What a simulated study of a model under its prior is, without computing it."
    m = len(family.names)
    prior, noise = check_prior(family, prior), Noise("laplace", np.ones(m), np.ones(m))
    return jax.eval_shape(lambda key: simulate_study(key, family, prior, noise, 100.0), jax.random.key(0))


def test_every_model_simulates_under_its_prior(models):
    "A prior that lost the law of its covariates stopped all experiments of regressions."
    assert len(models) > 25
    for name, (family, prior, _) in models.items():
        assert study(family, prior).s.shape == (len(family.names),), name


def test_a_prior_without_its_law_is_seen(models, monkeypatch):
    family, prior, _ = models["line, free"]
    monkeypatch.setattr(type(family), "accept", type(family).__mro__[1].accept)
    with pytest.raises(KeyError, match="law"):
        study(family, prior)
