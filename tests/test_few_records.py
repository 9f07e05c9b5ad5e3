"""Sums of a few records are no normal numbers: `fit` says how far it is off, and is silent where it is not"""

import warnings

import numpy as np
import pytest
from scipy.stats import poisson

from dp_bayes_nb import Clip, Gamma, Grouped, Laplace, Normal, Poisson, declare, fit
from dp_bayes_nb.models import one_variable

PRIOR = Gamma(1.0, 0.1)


def told(release, prior=PRIOR):
    "What `fit` warns of, and the result."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draws = fit(release, prior, progress=False)
    return [str(each.message) for each in caught if "not normal" in str(each.message)], draws


def counted(n, z):
    return declare(Poisson(Clip(0, 10)), [z], n=n, noise=Laplace(scale=0.2), source="s")


def exact_sd(n, z, top=10):
    "The standard deviation of the rate, from all sums of n clipped counts."
    rate = np.linspace(1e-3, 60, 20_001)[:, None]
    one = poisson.pmf(np.arange(top + 1), rate)
    one[:, -1] = poisson.sf(top - 1, rate[:, 0])
    law = one
    for _ in range(n - 1):
        law = np.stack([np.convolve(a, b) for a, b in zip(law, one)])
    w = (law @ np.exp(-np.abs(z - np.arange(law.shape[1])) / 0.2)) * np.exp(-0.1 * rate[:, 0])
    mean = (w * rate[:, 0]).sum() / w.sum()
    return np.sqrt((w * (rate[:, 0] - mean) ** 2).sum() / w.sum())


@pytest.mark.parametrize("n, z, sd", [(1, 0, 0.915), (2, 1, 0.68)])
def test_a_sum_of_one_or_two_records_is_doubted(n, z, sd):
    "Item 15: the spread is really off, and the warning says so."
    said, draws = told(counted(n, z))
    assert abs(exact_sd(n, z) - sd) < 0.01
    assert abs(float(draws.posterior["rate"].std()) / sd - 1) > 0.1  # the reason for the warning
    assert len(said) == 1 and f"with {n} record" in said[0] and "off by up to 0.0" in said[0]


def test_enough_records_are_not_doubted():
    "Sixty counts are as good as normal, and say nothing."
    assert told(counted(60, 150))[0] == []


def test_the_smallest_group_is_doubted_and_named():
    "Groups of which one is small."
    model = Grouped(Poisson(Clip(0, 10), "visits"), "region", ["x", "y"])
    one = lambda sizes, sums: declare(model, sums, n=sizes, noise=Laplace(scale=0.2), source="s")
    (said,), _ = told(one([60, 2], [150, 1]))
    assert "with 2 records" in said and "(group y)" in said
    assert told(one([60, 50], [150, 100]))[0] == []


def test_two_sums_are_doubted_each_by_itself():
    "The squares of one normal record are far from normal."
    model, theta = Normal(Clip(-3, 3)), {"mean": 0.0, "variance": 1.0}
    at = lambda n: model.doubts(theta, declare(model, [0.1, 0.3], n=n, noise=Laplace(scale=0.05), source="s").released)
    (said,) = at(1)
    assert "with 1 record the sum" in said and model.names[1] in said
    assert at(60) == []


def test_the_check_fails_without_the_measurement(monkeypatch):
    "The mutant: nothing is measured, as in 0.6.0."
    monkeypatch.setattr(one_variable, "may_be_off", lambda *_: False)
    with pytest.raises(AssertionError):
        test_a_sum_of_one_or_two_records_is_doubted(1, 0, 0.915)


@pytest.mark.parametrize("n, z", [(61, 0), (200, 1), (1000, 0)])
def test_rare_events_are_doubted_however_many_records_there_are(n, z):
    "Hardly any count is above 0: the sum stands at its end, and is no normal number."
    said, _ = told(counted(n, z))
    assert len(said) == 1 and f"with {n} records" in said[0]


def test_pooled_tables_are_doubted_each_at_its_own_rate():
    "Two tables with rates of their own: the small one is doubted."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit([counted(100, 400), counted(2, 1)], pool="partial", draws=200, progress=False)
    (said,) = [str(each.message) for each in caught if "not normal" in str(each.message)]
    assert "with 2 records" in said
