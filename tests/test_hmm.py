"""Hidden Markov models through the public names: declarations, files, numbering of states,
every method on a small release.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.cli import main
from dp_bayes_nb.releases.files import seal
from dp_bayes_nb.research.hmm_routes import published_cost, published_states, published_temperature

MONTHS = ["2020-01", "2020-02", "2020-03", "2020-04"]
PLAIN = db.HiddenMarkov(("region", ["north", "south"]), ("month", MONTHS),
                        {"kind": ["theft", "fire", "other"], "night": 2}, states=2)
EVENTS = pd.DataFrame([{"region": region, "month": month, "kind": kind, "night": night} for region in ("north", "south")
                       for month in MONTHS
                       for kind in ("theft", "theft", "fire", "other") for night in (0, 1, 1)] * 4)


@pytest.mark.parametrize("change, said", [
    ({"states": 5}, "at most the 4 steps"), ({"states": 1.5}, "a whole number"), ({"chain": "region"}, "a pair"),
    ({"step": ("month", ["a", "a"])}, "different levels"),
    ({"features": {"month": 2}}, "none of them the chain or the step"),
    ({"features": {"draw": 2}}, "other names than the results use"),
    ({"records": [[1, 2, 3]]}, "shape"), ({"records": [[1.5] * 4] * 2}, "whole numbers"),
    ({"records": [[0] * 4, [1] * 4]}, "every region has a record")])
def test_wrong_declarations_are_refused(change, said):
    arguments = {"chain": PLAIN.chain, "step": PLAIN.step, "features": {"kind": 3}, "states": 2} | change
    with pytest.raises(ValueError, match=said):
        db.HiddenMarkov(**arguments)


@pytest.mark.parametrize("change, said", [({"kind": "flood"}, "outside the declared support"),
                                          ({"month": "2021-01"}, "outside the declared support"),
                                          ({"kind": None}, "missing"), ({"night": np.nan}, "missing"),
                                          ({"region": "south"}, r"every region has a record, got \['north'\]")])
def test_a_table_that_breaks_the_declaration_is_not_counted(change, said):
    with pytest.raises(ValueError, match=said):
        PLAIN.counted(EVENTS.assign(**change))


def test_nothing_is_spent_for_a_family_that_was_not_counted(tmp_path):
    ledger = db.Ledger(tmp_path / "budget.json", epsilon="1")
    with pytest.raises(ValueError, match="counted before it is used"):
        db.release(PLAIN, EVENTS, epsilon=1.0, ledger=ledger)
    with pytest.raises(ValueError, match="outside the declared support"):
        db.release(PLAIN.counted(EVENTS), EVENTS.assign(kind="flood"), epsilon=1.0, ledger=ledger)
    moved = EVENTS.assign(month=EVENTS["month"].where(EVENTS.index > 0, "2020-02"))
    for other, cells in ((moved, 2), (EVENTS.iloc[1:], 1)):
        with pytest.raises(ValueError,
                           match=f"the family was counted on, got other numbers of records in {cells} of 8 cells"):
            db.release(PLAIN.counted(EVENTS), other, epsilon=1.0, ledger=ledger)
    assert float(ledger.spent[0]) == 0


def test_a_release_survives_a_file_and_one_region_is_enough(tmp_path):
    family = db.HiddenMarkov(("region", ["north"]), PLAIN.step, {"night": 2},
                             3).counted(EVENTS[EVENTS["region"] == "north"])
    made = db.release(family, EVENTS[EVENTS["region"] == "north"], epsilon=1.0)
    made.save(tmp_path / "release.json")
    again = db.Release.load(tmp_path / "release.json")
    assert again == made and again.family == family and again.family.records == ((48,) * 4,) and len(again.names) == 8


@pytest.mark.parametrize("part, value", [("records", [[1, 2], [3, 4]]), ("states", 9), ("features", [])])
def test_damaged_declarations_in_files_are_refused(part, value):
    import json
    family = PLAIN.counted(EVENTS)
    document = json.loads(db.release(family, EVENTS, epsilon=1.0).to_json())
    document["model"][part] = value
    document.pop("checksum", None)
    with pytest.raises(ValueError):
        db.Release.from_json(seal({key: value for key, value in document.items() if key != "sha256"}))


def test_the_price_of_a_published_chain_is_what_its_temperature_buys():
    two = PLAIN.counted(EVENTS)
    for family, draws in ((two, 2), (replace(two, states=1), 1)):  # one state: no path is drawn
        for iterations in (1, 7):
            temperature = published_temperature(family, 0.05, 0.5, iterations)
            assert temperature == pytest.approx(iterations * draws * published_temperature(family, 0.05, 0.5, None),
                                                rel=1e-9)
            assert published_cost(family, 0.05, temperature, iterations) == pytest.approx(0.5, rel=1e-9)
        assert published_temperature(family, 0.05, 1e9, 1) == 1.0


@pytest.mark.parametrize("call, said", [
    (lambda family: published_cost(family, 0.05, 0.5, 10), "temperature must be at least 1"),
    (lambda family: published_cost(family, 0.05, float("nan"), 10), "temperature must be a finite"),
    (lambda family: published_temperature(family, 0.0, 1.0, 10), "least must be a number strictly between 0 and 1"),
    (lambda family: published_temperature(family, 0.4, 1.0, 10), "below 1/3"),
    (lambda family: published_temperature(family, 0.05, 1.0, 0), "iterations must be a whole number >= 1"),
    (lambda family: published_states(0, family, None, np.zeros((2, 2, 4, 3)), epsilon=1.0, least=1.0),
     "least must be")])
def test_temperatures_and_least_probabilities_out_of_range_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call(PLAIN.counted(EVENTS))


@pytest.mark.slow
@pytest.mark.parametrize("method, options", [("auto", {}), ("naive", {}), ("naive", {"projection": "total"})])
def test_every_method_gives_ordered_states_and_probabilities(method, options):
    made = db.release(PLAIN.counted(EVENTS), EVENTS, epsilon=2.0)
    draws = db.fit(made, method=method, draws=200, warmup=100, chains=2, progress=False, **options)
    assert not bool(draws.sample_stats["nonfinite"].any())
    assert np.all(np.diff(draws.posterior["kind"].values[..., 0], axis=-1) >= 0)
    np.testing.assert_allclose(draws.posterior["kind"].sum("kind_level"), 1.0)
    p = db.state_probabilities(draws)
    assert p.dims == ("region", "month", "state") and p.shape == (2, 4, 2)
    np.testing.assert_allclose(p.sum("state"), 1.0)
    again = db.relabel(draws, "night", 1)
    assert np.all(np.diff(again.posterior["night"].values[..., 1], axis=-1) >= 0)
    back = db.relabel(again, "kind", "theft")
    for name in draws.posterior:
        np.testing.assert_array_equal(back.posterior[name], draws.posterior[name])
    np.testing.assert_array_equal(back.sample_stats["path"], draws.sample_stats["path"])
    with pytest.raises(ValueError, match="a level of one of 'kind', 'night'"):
        db.relabel(draws, "kind", "flood")


def test_the_command_counts_the_cells_and_releases(tmp_path):
    EVENTS.to_csv(tmp_path / "events.csv", index=False)
    (tmp_path
     / "family.toml").write_text(
         'family = "HiddenMarkov"\nchain = ["region", ["north", "south"]]\nstep = ["month", ["2020-01", "2020-02", '
         '"2020-03", "2020-04"]]\n'
                                          'states = 2\n[features]\nkind = ["theft", "fire", "other"]\nnight = 2\n')
    said = main(["release", str(tmp_path / "events.csv"), "--family", str(tmp_path / "family.toml"), "--epsilon", "1",
                 "-o", str(tmp_path / "release.json")])
    assert said == 0
    assert db.Release.load(tmp_path / "release.json").family == PLAIN.counted(EVENTS)


def test_missing_records_can_be_dropped_and_a_plan_wants_counts():
    hole = EVENTS.astype(object)
    hole.loc[hole.index[0], "kind"] = None
    with pytest.raises(ValueError, match="1 missing"):
        PLAIN.counted(hole)
    assert np.sum(PLAIN.counted(hole, missing="drop").records) == len(EVENTS) - 1
    with pytest.raises(ValueError, match="public number of records of each cell"):
        db.plan(PLAIN, None, n=100, target=0.1)
