"""Budgets that compose: what a history of releases costs, in rho and in (epsilon, delta), against exact oracles.

Prices are never below what the noise costs, sums are exact, and an account of one kind is never taken for the other.
"""

import itertools
import json
import math
import random
import re
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import dp_bayes_nb as db
from dp_bayes_nb.data_holder import ledger as room
from dp_bayes_nb.data_holder.ledger import Entry, Ledger, State, affordable, read_state, write_state
from dp_bayes_nb.data_holder.report import ledger_report, registry_entry
from dp_bayes_nb.data_holder.sums import exact_sums
from dp_bayes_nb.noise.add_remove import size_design
from dp_bayes_nb.noise.design import design, epsilon_of_rho, gaussian_multiplier, gaussian_rho, laplace_scale
from dp_bayes_nb.releases.files import seal

FIXTURE = Path(__file__).parent / "fixtures" / "ledger_schema_1.json"
AT = Context(prec=50)


def twenty_digits(value: Fraction) -> Fraction:
    "The smallest number of 20 decimal digits that is not below a positive fraction, by whole numbers alone."
    power = 0
    while value * 10**power < 10**19:
        power += 1
    while value * Fraction(10) ** power >= 10**20:
        power -= 1
    scaled = value * Fraction(10) ** power
    return Fraction(-(-scaled.numerator // scaled.denominator)) / Fraction(10) ** power


def slow_epsilon(rho: str, delta: str) -> Decimal:
    "The epsilon of rho-zCDP at delta: the minimum over a by golden section, in 50 digits; no derivative is used."
    r, c = Decimal(rho), AT
    log_delta = c.ln(Decimal(delta))

    def value(t):
        a = c.exp(t)
        log_ratio = c.ln(c.divide(a, c.add(a, 1)))
        bracket = c.subtract(c.add(c.multiply(a, log_ratio), -log_delta), c.ln(c.add(a, 1)))
        return c.add(c.multiply(c.add(a, 1), r), c.divide(bracket, a))

    low, high, golden = Decimal(-20), Decimal(40), (AT.sqrt(Decimal(5)) - 1) / 2
    for _ in range(130):
        one, two = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, two) if value(one) < value(two) else (one, high)
    return value((low + high) / 2)


POOL = [("0.1", "1e-6"), ("0.001", "1e-7"), ("0.05", "1e-5"), ("0.25", "1e-9"), ("0.0003", "1e-6"), ("1.5", "1e-8")]


def random_history(rng):
    "A unit, its totals, and what is wished for: price as written, and what the mechanism really costs in each unit."
    unit = rng.choice(("epsilon", "rho"))
    total = Decimal(rng.randint(1, 40)) / Decimal(rng.choice((8, 10, 16)))
    wishes = []
    for _ in range(rng.randint(1, 15)):
        kind = rng.choice(("laplace", "gaussian", "rho"))
        if kind == "laplace":
            epsilon = Decimal(repr(round(rng.uniform(0.001, 1.2), rng.randint(2, 17))))
            wishes.append((dict(epsilon=epsilon), {"epsilon": (Fraction(epsilon), 0), "rho": Fraction(epsilon)**2 / 2}))
        elif kind == "gaussian":
            epsilon, delta = Decimal(rng.randint(1, 90)) / 100, Decimal(rng.randint(1, 99)).scaleb(-8)
            steps, scale = math.sqrt(rng.randint(1, 50)), rng.uniform(1, 60)
            cost = twenty_digits(Fraction(steps)**2 / (2 * Fraction(scale)**2))
            wishes.append((dict(epsilon=epsilon, delta=delta, rho=gaussian_rho(steps, scale)),
                           {"epsilon": (Fraction(epsilon), Fraction(delta)), "rho": cost}))
        else:
            rho, delta = rng.choice(POOL)
            at = {"delta": Decimal(delta)} if unit == "epsilon" else {}
            wishes.append((dict(rho=Decimal(rho), **at), {"epsilon": (rho, delta), "rho": Fraction(rho)}))
    return unit, total, wishes


def check_histories(number, seed):
    "Every history is granted, refused and added up as the oracle says, to the last digit."
    rng, oracle = random.Random(seed), {pair: slow_epsilon(*pair) for pair in POOL}
    granted = refused = 0
    for _ in range(number):
        unit, total, wishes = random_history(rng)
        room_for = (Fraction(total), Fraction(1, 10**5)) if unit == "epsilon" else (Fraction(total),)
        state = State(total, Decimal("1e-5"), ()) if unit == "epsilon" else State(None, None, (), total)
        spent = [Fraction(0)] * len(room_for)
        for price, true in wishes:
            cost = true[unit] if unit == "epsilon" else (true["rho"],)
            if unit == "epsilon" and cost in POOL:  # a rho in a ledger in epsilon: the price is checked, then believed
                charged = epsilon_of_rho(*cost)
                assert 0 <= charged - oracle[cost] <= charged * Decimal("1e-14"), cost
                cost = (Fraction(charged), Fraction(cost[1]))
            entry = Entry("", "data", "release", "m", price.get("epsilon"), price.get("delta", Decimal(0)),
                          price.get("rho"))
            after = [a + b for a, b in zip(spent, cost)]
            try:
                entry = affordable(entry, state)
            except ValueError as error:
                assert "nothing was spent" in str(error) and any(a > t for a, t in zip(after, room_for)), error
                refused += 1
                continue
            assert all(a <= t for a, t in zip(after, room_for)), "granted more than there was"
            state, spent, granted = state._replace(entries=(*state.entries, entry)), after, granted + 1
            assert [Fraction(s) for s in state.spent] == spent, "the sum is not exact"
        assert [Fraction(v) for v in state.left] == [t - s for t, s in zip(room_for, spent)]
    assert granted > 2 * number and refused > number / 2


@pytest.mark.parametrize("number", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_histories_cost_what_an_exact_oracle_says(number):
    check_histories(number, 22)


@pytest.mark.parametrize("mutant", ["half", "nearest", "floats", "free", "conversion"])
def test_the_histories_notice_an_account_that_is_wrong(monkeypatch, mutant):
    real = room.rho_of_epsilon
    if mutant == "half":
        monkeypatch.setattr(room, "rho_of_epsilon", lambda e: real(e) / 2)
    elif mutant == "nearest":
        monkeypatch.setitem(globals(), "gaussian_rho", lambda d, s: Context(prec=20).plus(Decimal(d**2 / (2 * s**2))))
    elif mutant == "floats":
        monkeypatch.setattr(room, "add", lambda amounts: Decimal(repr(sum(map(float, amounts)))))
    elif mutant == "free":
        monkeypatch.setattr(room, "priced", lambda e, s: e if s.rho is None else e._replace(rho=e.rho or Decimal(0)))
    else:
        monkeypatch.setattr(room, "epsilon_of_rho", lambda r, d: epsilon_of_rho(r, d) * Decimal("0.9999"))
    with pytest.raises((AssertionError, TypeError)):
        check_histories(300, 22)


def test_the_conversion_of_another_accountant():
    "Rényi orders on a grid can only be looser, and where the grid is fine they are hardly so."
    rdp = pytest.importorskip("dp_accounting.rdp")
    from dp_accounting import GaussianDpEvent

    orders = (1 + np.geomspace(1e-3, 1e5, 4000)).tolist()
    for rho, delta in POOL:
        accountant = rdp.RdpAccountant(orders)
        accountant.compose(GaussianDpEvent(1 / math.sqrt(2 * float(rho))))
        theirs, ours = accountant.get_epsilon(float(delta)), float(epsilon_of_rho(rho, delta))
        assert ours <= theirs * (1 + 1e-9) and ours >= theirs * (1 - 1e-4), (rho, delta, ours, theirs)


def test_thousands_of_releases_cost_what_they_should(tmp_path):
    "2000 Gaussian releases: the square root law of composition, and the file after each of a few of them."
    price = gaussian_rho(1.0, gaussian_multiplier(0.05, 1e-9))
    entry = Entry("2026-01-01T00:00:00+00:00", "survey", "cell", "gaussian", Decimal("0.05"), Decimal("1e-9"), price)
    path = tmp_path / "many.json"
    write_state(path, State(None, None, (entry,) * 2000, Decimal("0.1")))
    many = Ledger(path)
    for _ in range(3):
        many.spend(epsilon=0.05, delta=1e-9, rho=price, data="survey", release="cell", mechanism="gaussian")
    assert Fraction(many.spent[0]) == 2003 * Fraction(price)
    spent, total = many.as_epsilon(1e-6)
    assert 1.9 < spent < total < 2.2  # basic composition says 2003 * 0.05, above 100


# Releases of every relation: what is charged is what neighbouring tables can differ by, and no less.

def groups(sizes):
    return db.Grouped(db.Bernoulli("ill"), by="region", levels=["north", "south"], sizes=sizes)


def tables(families):
    "All tables of up to 3 records with 2 regions and 2 values, as rows."
    cells = list(itertools.product(("north", "south"), (0, 1)))
    return [rows for n in range(1, 4) for rows in itertools.product(cells, repeat=n)]


def frame(rows):
    "By an engine that sums in a fifth of pandas' time; that all engines say the same is seen in test_engines.py."
    import polars as pl
    return pl.DataFrame({"region": [r for r, _ in rows], "ill": [v for _, v in rows]})


@pytest.mark.parametrize("sizes, neighbours", [("private", "change_one"), ("public", "change_value"),
                                               ("private", "add_remove")])
def test_groups_are_charged_for_what_neighbouring_tables_differ_by(tmp_path, sizes, neighbours):
    model, options = groups(sizes), {} if neighbours != "add_remove" else {"neighbours": neighbours, "n_max": 100}
    ledger = Ledger(tmp_path / "l.json", rho=1)
    made = db.release(model, frame([("north", 1), ("south", 0)]), rho=0.25, ledger=ledger, **options)
    assert (made.neighbours, made.rho, [e.rho for e in ledger.entries]) == (neighbours, 0.25, [Decimal("0.25")])
    assert db.Release.from_json(made.to_json()) == made

    def released(rows):
        "What the noise is added to, in units of the statistic, (p,)."
        sums = exact_sums(model, frame(rows), grid_exponent=0)
        if sizes == "public":
            return np.array(sums.integers, float)
        own = size_design(model, None, "gaussian", None, neighbours, 0.25)[1]
        m = len(model.names) // 2
        parts = (own.of(n, sums.integers[g * m:(g + 1) * m]) for g, n in enumerate(sums.sizes))
        return np.array([value for part in parts for value in part], float)

    found = {rows: released(rows) for rows in tables(model)}
    far = 0.0
    for rows, z in found.items():
        for k in range(len(rows)):
            if neighbours == "add_remove":
                near = [rows[:k] + rows[k + 1:]]
            else:
                near = [(*rows[:k], (region, v), *rows[k + 1:]) for region in ("north", "south") for v in (0, 1)
                        if sizes == "private" or region == rows[k][0]]
            far = max(far, *(float(np.linalg.norm(z - found[other])) for other in near if other in found), 0.0)
    assert far == pytest.approx(made.sensitivity, rel=1e-12)  # attained, and never exceeded
    assert Fraction(far)**2 / (2 * Fraction(made.noise.scale[0])**2) <= Fraction(1, 4) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("model, data", [(db.Bernoulli(), [0, 1, 1] * 20), (db.Categorical(3), [0, 1, 2] * 20),
                                         (db.Exponential((0, 20)), [1.5, 3.0, 19.0] * 20),
                                         (db.Normal((0, 10)), [1.5, 3.0, 9.0] * 20)],
                         ids=["Bernoulli", "Categorical", "Exponential", "Normal"])
def test_every_way_to_state_a_budget_is_paid_in_rho(tmp_path, model, data):
    "Laplace, Gaussian by (epsilon, delta), Gaussian by rho; n public and private; through the file and back."
    ledger = Ledger(tmp_path / "l.json", rho=3)
    for options in ({}, {"neighbours": "add_remove", "n_max": 1000}):
        if options and type(model).__name__ == "Normal":
            continue
        for budget in (dict(epsilon=0.5), dict(epsilon=0.5, mechanism="gaussian", delta=1e-6), dict(rho=0.1),
                       dict(rho=0.1, mechanism="gaussian")):
            made = db.release(model, data, **budget, **options, ledger=ledger)
            price = ledger.entries[-1].rho
            assert db.Release.from_json(made.to_json()) == made
            if made.noise.kind == "laplace":
                assert price == Decimal("0.125")
                continue
            exact = Fraction(made.sensitivity)**2 / (2 * Fraction(made.noise.scale[0])**2)
            assert exact <= Fraction(price) <= exact * (1 + Fraction(1, 10**14)), budget
            assert "rho" in repr(made) if "rho" in budget else made.rho is None
    assert "rho = 0.1" in made.provenance


def test_a_release_in_rho_is_simulated_with_the_same_noise():
    for options in ({}, {"neighbours": "add_remove", "n_max": 1000}):
        made = db.simulate_release(db.Exponential((0, 20)), {"rate": 0.2}, 200, rho=0.1, **options, seed=3)
        real = db.release(db.Exponential((0, 20)), [1.0] * 200, rho=0.1, **options)
        np.testing.assert_array_equal(made.noise.scale, real.noise.scale)
        assert (made.rho, made.epsilon, made.origin) == (0.1, None, "simulated")
        assert db.Release.from_json(made.to_json()) == made
    group = db.simulate_release(groups("private"), {"probability": [0.2, 0.5]}, [50, 60], rho=0.1, seed=3)
    assert db.Release.from_json(group.to_json()) == group and group.group("north").rho == 0.1
    for wrong in (dict(epsilon=1.0, rho=0.1), dict(rho=0.1, delta=1e-6), dict(rho=0.1, mechanism="laplace"),
                  dict(rho=0.0), dict(rho=0.1, design=db.Design(200, 0.5))):
        with pytest.raises(ValueError):
            db.simulate_release(db.Exponential((0, 20)), {"rate": 0.2}, 200, **wrong, seed=3)


def test_nothing_is_charged_for_what_is_refused(tmp_path):
    "Every refusal of a release comes before its entry, whatever the unit and the budget."
    for unit, budget in itertools.product(("epsilon", "rho"), (dict(rho=0.1), dict(epsilon=0.5))):
        ledger = Ledger(tmp_path / f"{unit}{len(budget)}{'rho' in budget}.json", **{unit: 3},
                        **({"delta": 1e-5} if unit == "epsilon" else {}))
        at = {"delta": 1e-6} if (unit, "rho" in budget) == ("epsilon", True) else {}
        ledger_of = dict(ledger=ledger, **budget, **at)
        for wrong in (dict(data=[]), dict(data=[0, 1, None]), dict(data=[5]), dict(neighbours="other"),
                      dict(missing="x"), dict(name=""), dict(bounds_source="guess"), dict(bounds_source=1),
                      dict(neighbours="add_remove")):
            with pytest.raises(ValueError):
                db.release(db.Bernoulli(), **{"data": [0, 1], **ledger_of, **wrong})
        assert ledger.entries == ()
        db.release(db.Bernoulli(), [0, 1], **ledger_of)
        assert len(ledger.entries) == 1


@pytest.mark.filterwarnings("ignore:epsilon should be at most")
def test_a_fault_after_spending_leaves_the_budget_spent(tmp_path, monkeypatch):
    import sys
    ledger = Ledger(tmp_path / "l.json", rho=1)
    monkeypatch.setattr(sys.modules["dp_bayes_nb.data_holder.release"], "measurement",
                        lambda d, m, epsilon, delta, rho: ((lambda integers: 1 / 0), d.scale))
    with pytest.raises(RuntimeError, match="ZeroDivisionError.*counts as spent"):
        db.release(db.Bernoulli(), [0, 1], rho=0.5, ledger=ledger)
    assert ledger.spent == (Decimal("0.5"),)


@pytest.mark.parametrize("options", [{}, {"neighbours": "add_remove", "n_max": 100}], ids=["n public", "n private"])
def test_a_release_file_cannot_claim_less_than_its_noise_costs(options):
    "The scale one float down, a smaller rho, a smaller sensitivity."
    made = db.release(db.Exponential((0, 20)), [1.5, 3.0], rho=0.3, **options)
    scale, sensitivity = float(made.noise.scale[0]), made.sensitivity

    def forged(budget=(), noise=(), **changes):
        document = json.loads(made.to_json())
        document.pop("sha256")
        document["budget"].update(budget)
        document["noise"].update(noise)
        return seal({**document, **changes})

    assert db.Release.from_json(forged()) == made
    below = math.nextafter(scale, 0)
    breaks = [dict(noise={"scale": below}), dict(noise={"scale": scale * (1 - 1e-9)}), dict(noise={"kind": "laplace"}),
              dict(sensitivity=sensitivity / 2), dict(budget={"epsilon": 1.0}), dict(budget={"delta": 1e-6}),
              dict(budget={"rho": 0.3 * (1 - 2e-10)}, noise={"scale": below}, sensitivity=sensitivity * (1 - 1e-10))]
    breaks += [dict(budget={"rho": rho}) for rho in (0.2999999999, 0.1, 0, -0.3, True, "0.3", 1e308, 5e-324, None)]
    for change in breaks:
        with pytest.raises(ValueError):
            db.Release.from_json(forged(**change))


# Files

def test_an_old_ledger_is_read_and_written_as_it_was(tmp_path):
    "Written by version 0.5.0: opened, spent from, and still of schema 1, byte for byte but for the new entry."
    path = tmp_path / "old.json"
    path.write_text(FIXTURE.read_text())
    ledger = Ledger(path, epsilon="1.50", delta="1e-5")
    assert (ledger.unit, [str(v) for v in ledger.spent]) == ("epsilon", ["0.75", "0.000001"])
    assert [(e.mechanism, e.rho, e.bounds) for e in ledger.entries] == [("laplace", None, ()), ("gaussian", None, ())]
    write_state(tmp_path / "again.json", read_state(path))
    assert (tmp_path / "again.json").read_bytes() == FIXTURE.read_bytes()
    ledger.spend(rho=0.001, delta=1e-6, data="survey.csv", release="x", mechanism="gaussian")
    assert json.loads(path.read_text())["schema"] == 1 and ledger.entries[2].epsilon == epsilon_of_rho("0.001", "1e-6")
    with pytest.raises(ValueError, match="rho must be left out, because the ledger"):
        Ledger(path, rho=1)


@pytest.mark.parametrize("total", ["0.3", "1e-300", "1e300", 5e-324, 0.1, "123456789.123456789"])
def test_totals_and_prices_of_any_size_are_kept_exactly(tmp_path, total):
    ledger = Ledger(tmp_path / "l.json", rho=total)
    for _ in range(2):
        ledger.spend(rho=half(total), data="a", release="b")
    assert [Fraction(v) for v in ledger.left] == [0] and Fraction(ledger.total[0]) == Fraction(str(total))
    with pytest.raises(ValueError, match="has left"):
        ledger.spend(rho="1e-320", data="a", release="b")
    with pytest.raises(ValueError, match="has left"):
        ledger.spend(epsilon="1e-200", data="a", release="b")


def half(total):
    "Half of a decimal, as a decimal."
    return Context(prec=400, Emin=-10**6, Emax=10**6).divide(Decimal(str(total)), Decimal(2))


def test_a_page_and_an_entry_of_the_registry_say_no_less_than_was_spent(tmp_path):
    "In both units, over random prices: what is shown as spent is not below, what is left not above."
    yaml, rng = pytest.importorskip("yaml"), random.Random(5)
    about = {"name": "A", "data_curators": ["B"], "description": "C", "intended_use": "D", "data_product_region": "E",
             "registry_authors": ["F"]}
    for unit in ("epsilon", "rho"):
        ledger = Ledger(tmp_path / f"{unit}.json", **{unit: 1})
        for _ in range(12):
            ledger.spend(**{unit: repr(rng.uniform(1e-9, 0.08))}, data=rng.choice("ab"), release="x")
        page = ledger_report(ledger)
        shown = {name: Decimal(re.search(rf"\| {name} \| ([^|]+) \|", page)[1]) for name in ("spent", "left")}
        assert shown["spent"] >= ledger.spent[0] and shown["left"] <= ledger.left[0]
        parameters = yaml.safe_load(registry_entry(ledger, about))["deployment"]["privacy_loss"]["privacy_parameters"]
        assert Decimal(repr(parameters[unit])) == shown["spent"] and set(parameters) == {unit}


def test_an_entry_of_the_registry_warns_as_the_page_does(tmp_path):
    "Different units, relations and completeness: in the entry too, after whatever the holder has written."
    yaml = pytest.importorskip("yaml")
    about = {"name": "A", "data_curators": ["B"], "description": "C", "intended_use": "D", "data_product_region": "E",
             "registry_authors": ["F"]}
    whose = "; person: the rows of each 'id' are one record"
    accounts = {"one": ["", ""], "persons": [whose] * 2, "units": [whose, ""],
                "relations": ["", "; neighbours: add_remove"], "values": ["; neighbours: change_value"] * 2}
    said = {}
    for name, entries in accounts.items():
        ledger = Ledger(tmp_path / f"{name}.json", epsilon=1)
        for words in entries:
            ledger.spend(epsilon="0.1", data="a", release=f"Bernoulli('x'){words}")
        bold = [line.replace("**", "").replace("&#95;", "_") for line in ledger_report(ledger).splitlines()
                if line.startswith("**")]
        for own in ({}, {"privacy_unit_details": "One a household.", "unprotected_quantities": "The year."}):
            found = yaml.safe_load(registry_entry(ledger, {**about, **own}))["deployment"]
            loss, exact = found["privacy_loss"], found["dp_variant"].get("unprotected_quantities", "")
            assert all(line in loss.get("privacy_unit_details", "") for line in bold)
            assert loss.get("privacy_unit_details", "").startswith(own.get("privacy_unit_details", ""))
            assert exact.startswith(own.get("unprotected_quantities", ""))
            assert ("whether it is complete" in exact) == (name == "values")
        said[name] = len(bold), loss["privacy_unit"]
    assert said == {"one": (0, "Record"), "persons": (0, "Person"), "units": (1, "Record"),
                    "relations": (1, "Record"), "values": (1, "Record")}


def test_the_scale_of_laplace_noise_is_paid_for_by_the_decimal_that_a_ledger_charges():
    rng = random.Random(6)
    for _ in range(2000):
        steps, epsilon = float(rng.randrange(1, 10**6)), 10 ** rng.uniform(-6, 3)
        scale = Fraction(laplace_scale(steps, epsilon))
        assert all(scale * written >= Fraction(steps) for written in (Fraction(epsilon), Fraction(repr(epsilon))))


def test_a_study_and_a_release_agree_on_every_scale():
    "The design of a file, of a simulation and of OpenDP's mechanism: one number."
    for model in (db.Bernoulli(), db.Categorical(7), db.Exponential((0, 20))):
        for rho in (1e-6, 0.1, 3.0):
            due = design(model, None, "gaussian", None, "change_one", rho)
            assert Fraction(due.steps)**2 <= 2 * Fraction(repr(rho)) * Fraction(due.scale)**2
            below = Fraction(math.nextafter(due.scale, 0))
            assert Fraction(due.steps)**2 > 2 * Fraction(repr(rho)) * below**2


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_a_rho_that_contradicts_a_pure_epsilon_is_not_charged(tmp_path, unit):
    "Neither one that is too small, which would be cheap, nor one that is too large; nothing is spent then."
    total = {"epsilon": 10, "delta": 1e-5} if unit == "epsilon" else {"rho": 10}
    ledger, words = Ledger(tmp_path / "l.json", **total), dict(data="survey", release="x")
    for wrong in ("0.0001", "0.4999", "0.5001", "8"):
        with pytest.raises(ValueError, match="rho must be epsilon.*0.5 follows from epsilon = 1"):
            ledger.spend(epsilon=1, rho=wrong, **words)
    assert ledger.entries == () and ledger.spent[0] == 0
    ledger.spend(epsilon=1, rho=0.5, **words)
    ledger.spend(epsilon="0.1", rho=0.1**2 / 2, **words)  # 0.005000000000000001 in floats: the exact one is charged
    ledger.spend(epsilon=1, delta="1e-6", rho="0.02", mechanism="gaussian", **words)  # Gaussian noise has its own
    assert ledger.spent[0] == (Decimal("2.1") if unit == "epsilon" else Decimal("0.525"))


NOWHERE = "data must be an existing file"  # where a budget is no reason to refuse, the file is looked for
FAR = (5e-324, 1e-300, 1e-100, 1e-12, 1e-9, 1.0, 1e5, 1e12, 1e15, 1e18, 1e100, 1e300)


def refusals_of_far_budgets(far):
    "What `release`, `private_quantile` and `audit` say of these budgets."
    from dp_bayes_nb.research.audit import audit

    models = (db.Bernoulli("x"), db.Exponential((0, 20), "x"), db.Exponential((0, 1e-10), "x"))
    budgets = [{name: value} for name in ("epsilon", "rho") for value in far]
    private = dict(neighbours="add_remove", n_max=10)
    gaussian = [dict(epsilon=e, mechanism="gaussian", delta=d) for e in far for d in (1e-300, 1e-6, 1 - 1e-16)]
    for model, budget, more in [*itertools.product(models, budgets, ({}, private)),
                                *itertools.product(models[:1], gaussian, ({},)),
                                *itertools.product(models[1:2], gaussian, (private,))]:
        yield "release", budget, partial(db.release, model, "nowhere.csv", **budget, **more)
    for value in far:
        yield "quantile", dict(epsilon=value), partial(db.private_quantile, "nowhere.csv", 0.5, epsilon=value, lower=0,
                                                       upper=1)
    for budget in (dict(epsilon=1e5, mechanism="gaussian", delta=1e-6), dict(epsilon=1e-300), dict(rho=1e300),
                   dict(epsilon=1e15), dict(epsilon=1e-10)):
        yield "audit", budget, partial(audit, models[1], trials=200, releases=1, **budget)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("far, named_ones", [(FAR[::4], 30), pytest.param(FAR, 100, marks=pytest.mark.slow)],
                         ids=["few", "all"])
def test_a_budget_that_cannot_be_is_refused_by_name_before_data_are_read(far, named_ones):
    "Whatever the mechanism: a ValueError that names the budget, or no refusal at all until the file is looked for."
    seen = dict.fromkeys(("release", "quantile", "audit"), 0)
    for door, budget, call in refusals_of_far_budgets(far):
        with pytest.raises(ValueError) as refused:  # an error of OpenDP is none
            call()
        said = str(refused.value)
        named = said.startswith(("epsilon must be", "epsilon and delta must be")) if "epsilon" in budget \
            else said.startswith("rho must be")
        of_n = said.startswith("n_max must be below") and "another budget" in said
        assert named or of_n or said.startswith(NOWHERE), (door, budget, said)
        assert repr(next(iter(budget.values()))) in said or not named, said
        seen[door] += named
    assert seen["release"] > named_ones and seen["audit"] == 5 and seen["quantile"] == 1


def test_opendp_has_the_last_word_before_data_are_read(monkeypatch):
    "Its own exception, no confirmation, and a scale unlike ours: each is a refusal of the budget."
    from dp_bayes_nb.data_holder import release as module

    def broken(*args):
        raise OverflowError("inner words")

    for wrong, why in ((broken, "OverflowError"), (lambda d, *rest: (None, 2 * d.scale), "in place of"),
                       (lambda d, *rest: (None, d.scale), NOWHERE)):
        monkeypatch.setattr(module, "_confirmed", wrong)
        with pytest.raises(ValueError, match=why) as refused:
            db.release(db.Bernoulli("x"), "nowhere.csv", epsilon=1.0, mechanism="gaussian", delta=1e-6)
        assert "inner words" not in str(refused.value)


def test_a_scale_that_was_kept_is_confirmed_again(monkeypatch):
    "OpenDP says of each release whether the scale is enough, wherever it comes from; a little too small is not."
    from dp_bayes_nb.data_holder import release as module

    ask = lambda: db.release(db.Bernoulli("x"), "nowhere.csv", epsilon=1.0, mechanism="gaussian", delta=1e-6)
    with pytest.raises(ValueError, match=NOWHERE):
        ask()
    found = module._gaussian_scale
    assert found.cache_info().currsize > 0
    monkeypatch.setattr(module, "_gaussian_scale", lambda *design: found(*design) * (1 - 1e-9))
    with pytest.raises(ValueError, match="such that OpenDP confirms the noise"):
        ask()
