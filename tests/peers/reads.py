"""What other tools wrote, as this package reads it: noise, bounds and posteriors are those of the tool.

`make peers` runs this in a folder with the files that makes_*.py wrote there, each with the tool itself. A table has
400 noisy numbers whose exact value is known, so that the noise that was added can be compared with what was read.
"""

import csv
import json
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dp_bayes_nb import (
    Bernoulli, Beta, Clamped, Clip, Counts, Exponential, Laplace, declare, fit, from_tumult, read_table,
)

SOURCE = "made-up people"
TUMULT = json.loads(Path("tumult.json").read_text()) if Path("tumult.json").is_file() else {}
Mechanism = Enum("Mechanism", ["LAPLACE", "GEOMETRIC", "DISCRETE_GAUSSIAN", "EXPONENTIAL", "GAUSSIAN"])


def size(noise):
    "The mean size of the noise that was read."
    scale, whole = float(noise.scale[0]), float(noise.grid[0])
    if noise.kind == "gaussian":
        return scale * np.sqrt(2 / np.pi)
    return 1 / np.sinh(1 / scale) if whole else scale


def spread(release, truth):
    "The mean size of the noise that is there, relative to the noise that was read; its sd is at most 1/400^½ = 0.05."
    assert len(release.values) == 400
    return float(np.mean(np.abs(np.asarray(release.values) - truth)) / size(release.noise))


def check_spread(release, truth):
    "3.6 and 4 standard deviations: a scale that is taken for a standard deviation gives 0.71 or 1.41."
    assert 0.82 < spread(release, truth) < 1.2


def share_of(table, **noise):
    "The posterior of the share of smokers of one group."
    released = read_table(table, model=Bernoulli("smokes"), n=20, source=SOURCE, **noise)
    return fit(released, Beta(1, 1), progress=False).posterior["probability"].values.ravel()


# ------------------------------------------------------------------ Tumult Analytics


def tumult(name):
    "A query's entry, with the mechanisms as members of an enumeration, as the session hands them out."
    made = TUMULT[name]
    info = [{**each, "noise_mechanism": Mechanism[each["noise_mechanism"]]} for each in made["info"]]
    return made, info


@pytest.mark.parametrize("name", ["counts, pure", "counts, zCDP", "whole sums, pure", "sums of fractions, pure",
                                  "sums of fractions, zCDP"])
def test_tumult_adds_the_noise_that_is_read(name):
    made, info = tumult(name)
    read = from_tumult(made["table"], info, model=Counts, value=made["column"], name="region", source=SOURCE)
    check_spread(read, made["truth"])
    kind, scale, whole = read.noise.kind, float(read.noise.scale[0]), float(read.noise.grid[0])
    law = {("laplace", 0): stats.laplace(scale=scale), ("laplace", 1): stats.dlaplace(1 / scale),
           ("gaussian", 0): stats.norm(scale=scale), ("gaussian", 1): stats.norm(scale=scale)}[kind, whole]
    if made["upper"] is not None:
        assert abs(law.ppf(0.975) - made["upper"]) < (1.01 if whole else 1e-9), "Tumult's own quantile of its noise"


def test_a_posterior_of_tumults_sums():
    made, info = tumult("whole sums, pure")
    row = {"smokers": made["table"]["smokers"][:1]}
    read = from_tumult(row, info, model=Bernoulli("smokes"), value="smokers", n=20, source=SOURCE)
    draws = fit(read, Beta(1, 1), progress=False).posterior["probability"].values.ravel()
    other = share_of(row, value="smokers", scale=info[0]["noise_parameter"], discrete=True)
    assert abs(draws.mean() - other.mean()) < 5 * draws.std() * (2 / draws.size) ** 0.5


@pytest.mark.parametrize("name", ["a mean", "a quantile"])
def test_tumults_means_and_quantiles_are_refused(name):
    made, info = tumult(name)
    with pytest.raises(ValueError, match="the noise"):
        from_tumult({made["column"]: [3.0]}, info, model=Exponential(Clip(0, 8)), value=made["column"], source=SOURCE)


# ------------------------------------------------------------------ DP Wizard


def dp_wizard(path, column):
    "A histogram of DP Wizard's report, which has no header: a line is `column: histogram: bin` and a count."
    with open(path, newline="", encoding="utf-8") as file:
        report = dict(csv.reader(file))
    start = f"{column}: histogram: "
    counts = {key.removeprefix(start): int(count) for key, count in report.items() if key.startswith(start)}
    noise = Laplace.from_error(float(report[f"{column}: accuracy"]), float(report[f"{column}: confidence"]),
                               discrete=True)
    return declare(Counts([*counts]), [*counts.values()], noise=noise, printed=Clamped(low=0), source=SOURCE)


@pytest.mark.parametrize("name, rows", [("dp_wizard_grouped", 400), ("dp_wizard", 4)])
def test_dp_wizard_adds_the_noise_that_its_report_says(name, rows):
    read = dp_wizard(f"{name}.csv", "hours")
    (told,) = json.loads(Path("dp_wizard.json").read_text())[name]
    assert told["distribution"] == "Integer Laplace" and len(read.values) == rows
    np.testing.assert_allclose(read.noise.scale, told["scale"], rtol=1e-9)
    if rows == 400:
        check_spread(read, 20)
    else:
        counts = fit(read, progress=False).posterior["counts"].mean(("chain", "draw")).values
        assert np.all(np.abs(counts - 2000) < 60), "20 scales"


def test_dp_wizards_report_is_no_table_with_a_header():
    with pytest.raises(ValueError, match="a column of the table"):
        read_table("dp_wizard.csv", model=Counts, name="bin", value="count", scale=3, source=SOURCE)


# ------------------------------------------------------------------ PipelineDP


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("value, truth", [("count", 20), ("sum", 6)])
def test_pipeline_dp_adds_the_noise_that_is_read(noise, value, truth):
    read = read_table(f"pipeline_dp_{noise}.csv", model=Counts, name="region", value=value,
                      sd=f"{value}_noise_stddev", noise=noise, source=SOURCE)
    assert read.noise.kind == noise
    check_spread(read, truth)


def test_pipeline_dps_standard_deviation_that_is_taken_for_a_scale_is_found():
    read = read_table("pipeline_dp_laplace.csv", model=Counts, name="region", value="sum", scale="sum_noise_stddev",
                      source=SOURCE)
    with pytest.raises(AssertionError):
        check_spread(read, 6)
    assert spread(read, 6) < 0.82


def test_pipeline_dps_laplace_scale_and_a_posterior():
    "Half of ε = 2/3 went to the sum, whose sensitivity is 1: the scale is 3."
    with open("pipeline_dp_laplace.csv", newline="", encoding="utf-8") as file:
        row = {name: [float(value)] for name, value in next(csv.DictReader(file)).items() if name != "region"}
    read = read_table(row, model=Bernoulli("smokes"), value="sum", sd="sum_noise_stddev", noise="laplace", n=20,
                      source=SOURCE)
    np.testing.assert_allclose(read.noise.scale, 3, rtol=1e-9)
    draws = fit(read, Beta(1, 1), progress=False).posterior["probability"].values.ravel()
    other = share_of(row, value="sum", scale=3)
    assert abs(draws.mean() - other.mean()) < 5 * draws.std() * (2 / draws.size) ** 0.5
