"""Releases period after period: whose rows count, what the ledger is told, and what a plan of a year promises.

The rows that count are compared with loops over people on every engine, prices with all that a person can have lost.
"""

import enum
import json
import threading
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from dp_bayes_nb import (
    Bernoulli, Categorical, Ledger, ReleaseSeries, ledger_report, plan_series, registry_entry, release,
)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.data_holder.ledger import State
from dp_bayes_nb.data_holder.series import charged_in, kept_rows

FIXTURE = Path(__file__).parent / "fixtures" / "ledger_schema_1.json"
WEEKS = [f"2026-W{week:02d}" for week in range(9, 13)]


def visits(seed=0, rows=300, people=60, weeks=tuple(WEEKS)):
    "Made-up visits, of some people several in a week."
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"id": [f"p{i}" for i in rng.integers(0, people, rows)], "week": rng.choice(weeks, rows),
                         "ill": rng.integers(0, 2, rows)})


def by_loops(table, at, most):
    "The rows of a period that count, person by person: (id, ill), sorted."
    own = defaultdict(set)
    for row in table.itertuples():
        own[row.id].add(row.week)
    return sorted((row.id, row.ill) for row in table.itertuples()
                  if row.week == at and at in sorted(own[row.id])[:most])


def kept_by(frame, at, most):
    "What `kept_rows` keeps, in the same form, from any engine."
    found = nw.to_native(kept_rows(nw.from_native(frame), "id", "week", at, most))
    found = found.df() if isinstance(found, duckdb.DuckDBPyRelation) else found
    found = found.collect() if isinstance(found, pl.LazyFrame) else found
    return sorted(zip(found["id"].to_list() if isinstance(found, pl.DataFrame) else found["id"].tolist(),
                      found["ill"].to_list() if isinstance(found, pl.DataFrame) else found["ill"].tolist()))


ENGINES = {"pandas": lambda t: t, "polars": pl.from_pandas, "polars, lazy": lambda t: pl.from_pandas(t).lazy(),
           "duckdb": lambda t: duckdb.connect().from_df(t), "categories": lambda t: t.astype({"week": "category"})}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_periods_of_each_person_count(engine):
    table = visits()
    frame = ENGINES[engine](table)
    for at in WEEKS:
        for most in (1, 2, 3):
            assert kept_by(frame, at, most) == by_loops(table, at, most)


def test_rows_that_count_stay_when_periods_are_added():
    table = visits(1)
    for at in WEEKS:
        assert kept_by(table[table["week"] <= at], at, 2) == kept_by(table, at, 2)
    turned = lambda week: 99 - int(week[-2:])
    last = lambda t, at, most: by_loops(t.assign(week=t["week"].map(turned)), turned(at), most)

    def check(kept):
        assert all(kept(table[table["week"] <= at], at, 2) == kept(table, at, 2) for at in WEEKS)
    must_fail(lambda: check(last), "the last periods of a person")


@pytest.mark.parametrize("engine", ["pandas", "polars, lazy", "duckdb"])
def test_a_series_releases_what_counts_and_pays_for_few(engine, tmp_path):
    table = visits(2, rows=4000, people=900)
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=10), "visits", "id", "week", 2, epsilon=5)
    for at in WEEKS:
        made = series.release(Bernoulli("ill"), ENGINES[engine](table), at, combine="any", n_max=5000)
        ill = defaultdict(int)
        for person, value in by_loops(table, at, 2):
            ill[person] = max(ill[person], value)
        exact = [sum(ill.values()), len(ill) - sum(ill.values())]
        assert np.abs(made.values - exact).max() < 12  # of noise of scale 0.2
    assert [str(e.epsilon) for e in series.ledger.entries] == ["5.0", "5.0", "0", "0"]
    assert series.ledger.left[0] == 0 and {e.data for e in series.ledger.entries} == {"visits"}


def test_periods_may_be_whole_numbers_and_another_model(tmp_path):
    table = visits(3).assign(week=lambda t: t["week"].str[-2:].astype(int))
    series = ReleaseSeries(Ledger(tmp_path / "b.json", rho=1), "visits", "id", "week", 1, rho=0.5)
    for at in (9, np.int64(10), 11):
        made = series.release(Categorical([0, 1], "ill"), table, at, rows=2, n_max=1000)
        assert made.rho == 0.5 and made.n is None
    assert [str(e.rho) for e in series.ledger.entries] == ["0.5", "0", "0"]


def test_periods_are_released_in_the_order_of_time(tmp_path):
    "Released backwards, a table that only grows counted a person of each week in all of them."
    def of(folder):
        return ReleaseSeries(Ledger(folder, epsilon=9), "visits", "id", "week", 1, epsilon=0.5)
    table = pd.DataFrame({"id": ["a", "b"] * 3, "week": [2, 2, 1, 1, 0, 0], "ill": [1, 0] * 3})
    counted = lambda order: sum(len(kept_by(table[:2 * (i + 1)], at, 1)) for i, at in enumerate(order))
    assert counted([2, 1, 0]) == 6  # of two people who may count once: what is refused below
    series = of(tmp_path / "b.json")
    series.release(Bernoulli("ill"), table[:2], 2, combine="any", n_max=9)
    for early in (1, 0, "1"):
        with pytest.raises(ValueError, match="at must be (after the periods that were released|of the type)"):
            series.release(Bernoulli("ill"), table, early, combine="any", n_max=9)
    assert len(series.ledger.entries) == 1
    second = of(tmp_path / "c.json")  # the order is checked under the ledger's lock too, after another one's release
    entry = series.ledger.entries[0]
    for at, made, words in ((1, [], "after the periods"), (3, [], "release of period 2 meanwhile")):
        with pytest.raises(ValueError, match=words):
            charged_in("visits", second.said, at, 1, made)(entry, State(Decimal(9), Decimal(0), (entry,)))
    assert charged_in("visits", second.said, 3, 1, [2])(entry, State(Decimal(9), Decimal(0), (entry,))).epsilon == 0


def test_a_period_that_is_released_meanwhile_stops_a_release(tmp_path, monkeypatch):
    "Week 3, cut from a table without week 2, while week 2 is released: people would be in three weeks for two."
    table = pd.DataFrame({"id": ["a", "b"] * 3, "week": [1, 1, 2, 2, 3, 3], "ill": [1, 0] * 3})
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=9), "visits", "id", "week", 2, epsilon=0.5)
    wish = lambda at, data=table: series.release(Bernoulli("ill"), data, at, combine="any", n_max=9)
    wish(1)
    cut = kept_rows

    def slowly(frame, *given):
        monkeypatch.setattr("dp_bayes_nb.data_holder.series.kept_rows", cut)
        wish(2)
        return cut(frame, *given)
    monkeypatch.setattr("dp_bayes_nb.data_holder.series.kept_rows", slowly)
    with pytest.raises(ValueError, match="a release of period 2 meanwhile"):
        wish(3, table[table["week"] != 2])
    assert len(series.ledger.entries) == 2 and series.ledger.spent[0] == 1


@pytest.mark.parametrize("engine", ["pandas", "polars"])
def test_days_of_a_time_zone_are_refused(engine, tmp_path):
    times = pd.to_datetime(["2026-01-01 23:30", "2026-01-02 12:00"]).tz_localize("America/New_York")
    table = pd.DataFrame({"id": ["a", "a"], "week": times, "ill": [1, 0]})
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=9), "visits", "id", "week", 1, epsilon=0.5)
    with pytest.raises(ValueError, match="dates without a time zone"):
        series.release(Bernoulli("ill"), ENGINES[engine](table), "2026-01-01", combine="any", n_max=9)


def test_members_of_an_enum_are_recorded_as_what_they_stand_for(tmp_path):
    class Week(enum.IntEnum):
        one, two = 1, 2
    table = pd.DataFrame({"id": ["a", "b"], "week": [1, 2], "ill": [1, 0]})
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=9), "visits", "id", "week", 1, epsilon=0.5)
    for at in Week:
        series.release(Bernoulli("ill"), table, at, combine="any", n_max=9)
    assert [entry.release.split("; ")[1] for entry in series.ledger.entries] == ["period 1", "period 2"]


def test_a_period_without_rows_and_a_period_mistyped(tmp_path):
    table = visits(8).assign(week=lambda t: t["week"].str[-2:].astype(int))
    table = table[table["week"] != 11]
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=9), "visits", "id", "week", 1, epsilon=0.5)
    wish = lambda at, **more: series.release(Bernoulli("ill"), table, at, combine="any", n_max=500, **more)
    wish(9), wish(10)
    for wrong in (99, 11):
        with pytest.raises(ValueError, match=rf"at must be a period of the data, got {wrong}; .* without=\[{wrong}\]"):
            wish(wrong)
    with pytest.raises(ValueError, match="without must be a list of periods"):
        wish(11, without="11")
    made = wish(11, without=[11])
    assert np.abs(made.values).max() < 60 and len(series.ledger.entries) == 3
    with pytest.raises(ValueError, match=r"a table without period 11; .* because nobody came: without=\[11\]"):
        wish(12)
    wish(12, without=[11])
    assert [entry.release.split("; ")[1] for entry in series.ledger.entries] == [f"period {k}" for k in (9, 10, 11, 12)]


@pytest.mark.parametrize("engine", ["pandas", "polars, lazy", "duckdb"])
def test_periods_may_be_dates(engine, tmp_path):
    days = {week: pd.Timestamp("2026-02-23") + pd.Timedelta(weeks=k) for k, week in enumerate(WEEKS)}
    table = visits(2, rows=4000, people=900)
    dated = table.assign(week=table["week"].map(days))
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=10), "visits", "id", "week", 2, epsilon=5)
    named = (days[WEEKS[0]], days[WEEKS[1]].date(), days[WEEKS[2]].to_datetime64(), "2026-03-16")
    for at, week in zip(named, WEEKS):
        made = series.release(Bernoulli("ill"), ENGINES[engine](dated), at, combine="any", n_max=5000)
        assert np.abs(made.values.sum() - len({row for row, _ in by_loops(table, week, 2)})) < 12
    assert "period '2026-03-16'; " in series.ledger.entries[-1].release
    with pytest.raises(ValueError, match="at must be a short text, a whole number or a date"):
        series.release(Bernoulli("ill"), dated, pd.NaT, combine="any", n_max=5000)


def test_accounts_with_free_entries_are_read_reported_and_closed(tmp_path):
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=1), "visits", "id", "week", 1, epsilon=1)
    for at in WEEKS:
        series.release(Bernoulli("ill"), visits(4), at, combine="any", n_max=1000)
    again = Ledger(tmp_path / "b.json")
    assert (len(again.entries), again.left[0]) == (4, 0)
    assert json.loads((tmp_path / "b.json").read_text())["schema"] == 1  # as before
    assert "series" in ledger_report(again) and "| left | 0 | 0 |" in ledger_report(again)
    about = {"name": "V", "data_curators": ["A"], "description": "D", "intended_use": "U", "data_product_region": "E",
             "registry_authors": ["A"]}
    assert "epsilon: 1" in registry_entry(again, about)
    with pytest.raises(ValueError, match="has left, 0"):
        release(Bernoulli("ill"), visits(4), epsilon=0.1, ledger=again)
    second = ReleaseSeries(again, "visits 2", "id", "week", 1, epsilon=1)
    with pytest.raises(ValueError, match="has left, 0"):
        second.release(Bernoulli("ill"), visits(4), WEEKS[0], combine="any", n_max=1000)


def test_one_of_many_that_release_the_same_period_gets_it(tmp_path):
    table, made, refused = visits(5), [], []
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=3), "visits", "id", "week", 3, epsilon=1)
    series.release(Bernoulli("ill"), table, WEEKS[0], combine="any", n_max=1000)

    def wish():
        try:
            made.append(series.release(Bernoulli("ill"), table, WEEKS[1], combine="any", n_max=1000))
        except ValueError as error:
            refused.append(str(error))
    crowd = [threading.Thread(target=wish) for _ in range(4)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert len(made) == 1 and len(refused) == 3 and all("has not released" in text for text in refused)
    assert series.ledger.spent[0] == 2


def test_a_long_declaration_keeps_whose_rows_it_is_of(tmp_path):
    series = ReleaseSeries(Ledger(tmp_path / "b.json", epsilon=1), "v" * 100, "id", "week", 1, epsilon=1)
    levels = [f"level {'x' * 30} {k}" for k in range(100)]
    table = visits(6).assign(ill=levels[3])
    series.release(Categorical(levels, "ill"), table, WEEKS[0], combine="first", n_max=1000)
    (entry,) = series.ledger.entries
    assert len(entry.release) <= 1000 and "; person: the rows of each 'id'" in entry.release
    assert entry.release.endswith("; neighbours: add_remove")


def test_old_ledgers_have_an_account_by_period():
    old = Ledger(FIXTURE)
    for by in ("week", "month", "quarter", "year"):
        rows = old.by_period(by)
        assert sum(row.entries for row in rows) == len(old.entries)
        assert sum(row.spent[0] for row in rows) == old.spent[0] and rows[-1].left == old.left[0]
    with pytest.raises(ValueError, match="by must be one of"):
        old.by_period("decade")


def test_the_prices_of_a_plan_never_exceed_its_budget():
    "As decimals that a ledger adds up: not by the last digit of a float."
    budgets = [{"epsilon": each} for each in (1, 0.9, 0.7, 0.3)] + [{"rho": 0.02}, {"rho": 0.013}]
    whole = lambda row, unit: Decimal(repr(row[unit])) * row["held"]
    for budget in budgets:
        (unit, total), = budget.items()
        for weeks in (None, 3, 11, 26):
            for row in plan_series(100, **budget, weeks_per_person=weeks, every=[1, 2]).table:
                assert Decimal(repr(total)) * Decimal("0.99999") < whole(row, unit) <= Decimal(repr(total))
    (row,) = plan_series(60, epsilon=0.9, weeks_per_person=26, every=2).table
    must_fail(lambda: _below(26 * Decimal(repr(0.9 / 26)), Decimal("0.9")), "the budget over the releases")
    _below(whole(row, "epsilon"), Decimal("0.9"))


def _below(spent, total):
    assert spent <= total


def test_a_year_that_is_planned_can_be_released(tmp_path):
    "The noise of the release at the planned price is the planned one, with people in every week and in two."
    for weeks, scale in ((None, 52.0), (2, 2.0)):
        (row,) = plan_series(100, epsilon=1, every=1, weeks_per_person=weeks).table
        assert row["scale"] == pytest.approx(scale)
        made = release(Bernoulli("ill"), visits(7), epsilon=row["epsilon"], neighbours="add_remove", n_max=1000,
                       person="id", combine="any")
        assert made.noise.scale == pytest.approx([scale] * 2, rel=1e-9)
