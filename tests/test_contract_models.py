"""Models that keep their promises (`check_model`), besides those of test_contract.py."""

import pytest
from test_contract import DECLARED, THERE_CHECKED

import dp_bayes_nb as dpb


@pytest.mark.parametrize("name", THERE_CHECKED)
def test_every_model_keeps_its_promises(name):
    model, theta, prior, n = DECLARED[name]
    dpb.check_model(1, model, theta, prior, n=n)
