"""Models that keep their promises (`check_model`), besides those of test_contract.py."""

import jax
import pytest
from test_contract import DECLARED, THERE_CHECKED, cases, check


@pytest.mark.parametrize("name, later", cases(THERE_CHECKED))
def test_every_model_keeps_its_promises(name, later, monkeypatch):
    check(monkeypatch, name, later)


NO_SIZE = {"DateHistogram", "Histogram"}  # their tree gets one from the model


@pytest.mark.parametrize("name", [name for name, (model, *_) in DECLARED.items()
                                  if name not in NO_SIZE and getattr(model.default_prior, "priors", None)])
def test_a_prior_by_parameter_draws_those_parameters_before_it_is_asked_of_a_model(name):
    "Each part knows its name: no draw of a mean is called a rate."
    model = DECLARED[name][0]
    drawn = model.default_prior.sample(jax.random.key(0), (3,))
    assert set(drawn) == set(model.parameters)
