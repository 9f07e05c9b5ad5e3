"""`examine` against the enumeration of every table that could have been printed; what it refuses, and keeps quiet."""

import itertools
import json
import logging
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dp_bayes_nb import (Bernoulli, Categorical, CellKey, Clamped, Counts, Exact, Grouped, Laplace, Noise, Normal,
                         Poisson, Release, Rounded, Suppressed, combine, declare, examine)
from dp_bayes_nb.base.checks import must_fail
from dp_bayes_nb.cli import main
from dp_bayes_nb.releases import examine as chapter

MOST = 9  # the largest total of a random table
QUICK, MANY = 150, 10_000
SURE = Laplace(scale=0)


class Holed(Release):
    "A release one row of which has a table of possible values, as a cell key has."

    unprinted = property(lambda self: vars(self)["_unprinted"])


def with_table(release, i, values):
    "The release with a row whose value is one of some, with holes in between."
    found = release.unprinted
    low, high = ((release.values, release.values) if found is None else (found.low, found.high))
    low, high, start = low.copy(), high.copy(), min(values)
    low[i], high[i] = min(values), max(values)
    chance = np.where(np.isin(np.arange(start, max(values) + 1), list(values)), -1.0, -np.inf)
    tables = [None] * len(low)
    tables[i] = SimpleNamespace(start=start, log_chance=chance)
    object.__setattr__(release, "_unprinted", SimpleNamespace(low=low, high=high, tables=tuple(tables)))
    object.__setattr__(release, "__class__", Holed)
    return release


def printing(rng, y):
    "A way to print a row: the statement, what is printed of y, and which true values would be printed alike."
    step, limit = int(rng.integers(2, 5)), int(rng.integers(0, 6))
    return [(Exact(), y, lambda t: t == y),
            (Rounded(step), np.rint(y / step) * step, lambda t: np.rint(t / step) == np.rint(y / step)),
            (Suppressed(limit), None if y < limit else y, lambda t: (t < limit) if y < limit else (t == y)),
            (Clamped(high=limit), min(y, limit), lambda t: np.minimum(t, limit) == min(y, limit))]


def random_table(rng):
    """A release of a few counts, in unions, differences and doubles that are printed in different ways; its matrix,
    and of each row which true values are possible. Half of the tables have a row with holes.
    """
    K = int(rng.integers(2, 5))
    x = rng.multinomial(int(rng.integers(0, MOST + 1)), rng.dirichlet(np.ones(K)))
    H = rng.choice([0, 1, 2, -1], p=[0.34, 0.44, 0.11, 0.11], size=(int(rng.integers(1, 5)), K))
    H = np.vstack([np.ones(K, int), H[np.any(H != 0, axis=1)]])
    units = np.gcd.reduce(H, axis=1)  # a row of even numbers only is printed exactly: rounding it is another step
    kinds = [0 if unit > 1 else rng.integers(2) if i == 0 else rng.choice(4, p=[0.25, 0.35, 0.2, 0.2])
             for i, unit in enumerate(units)]
    rows = [printing(rng, int(y))[kind] for y, kind in zip(H @ x, kinds)]
    release = declare(Counts([f"c{k}" for k in range(K)]), [value for _, value, _ in rows], matrix=H,
                      noise=SURE, printed=[statement for statement, _, _ in rows], source="a random table")
    possible, i = [alike for _, _, alike in rows], int(rng.integers(len(rows)))
    if rng.random() < 0.5 and units[i] == 1:
        values = (H @ x)[i] + rng.choice([-3, -1, 0, 2, 4], 3, replace=False) * rng.integers(0, 2, 3)
        release, possible[i] = with_table(release, i, set(values) | {(H @ x)[i]}), \
            lambda t, some=(*values, (H @ x)[i]): np.isin(t, some)
    return release, H, possible


def enumerated(H, possible):
    "Every table that could have been printed so, (tables, K)."
    grid = np.indices((MOST + 6,) * H.shape[1]).reshape(H.shape[1], -1).T
    for row, alike in zip(H, possible):
        grid = grid[alike(grid @ row)]
    return grid


def wrong(release, tables, **options):
    "Names whose ends are not those of all tables, and what is said of them; a frame has each cell, sum and difference."
    K = tables.shape[1]
    pairs = list(itertools.combinations([f"c{k}" for k in range(K)], 2))
    found = examine(release, sums={"first two": ["c0", "c1"]}, differences=pairs, **options).frame
    vectors = {f"c{k}": np.eye(K)[k] for k in range(K)} | {"first two": np.eye(K)[0] + np.eye(K)[1]}
    vectors |= {f"{a} - {b}": vectors[a] - vectors[b] for a, b in pairs}
    vectors |= dict(zip(release.names, release.matrix))
    out = []
    for name, low, high, what in zip(found["name"], found["low"], found["high"], found["what"]):
        seen = tables @ vectors[name]
        due = "pinned" if np.ptp(seen) == 0 else "within 1" if np.ptp(seen) <= 2 else "open"
        if (low, high) != (seen.min(), seen.max()) or what not in (due, *["printed"] * (due == "pinned")):
            out.append((name, low, high, what, due, seen.min(), seen.max()))
    return out


def check(first, count):
    "`count` random tables, by numbers from `first` on: examine says what the enumeration says."
    for number in range(first, first + count):
        release, H, possible = random_table(np.random.default_rng(number))
        tables = enumerated(H, possible)
        assert not (found := wrong(release, tables)), (number, found)


def test_every_end_is_that_of_all_tables():
    check(0, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, 1000))
def test_every_end_is_that_of_all_tables_of_ten_thousand(first):
    check(first, 1000)


def linear(self, c):
    "A wrong version: the linear program, rounded inwards."
    return self.relaxed(c)[0], True


def bounds_only(self, c):
    "A wrong version: the bounds before any program."
    return float(np.where(c > 0, c * self.least, np.where(c < 0, c * self.most, 0.0)).sum()), True


@pytest.mark.parametrize("least_of", [linear, bounds_only])
def test_bounds_and_linear_programs_are_not_enough(monkeypatch, least_of):
    monkeypatch.setattr(chapter.Block, "least_of", least_of)
    must_fail(lambda: check(0, QUICK), "no whole numbers")


def test_holes_are_looked_at(monkeypatch):
    monkeypatch.setattr(chapter, "_values", lambda table, unit: None)
    must_fail(lambda: check(0, QUICK), "the interval without its holes")


PTABLE = [{0: 1.0}, {-1: 0.5, 2: 0.5}, {-2: 0.4, 0: 0.2, 2: 0.4}, {-3: 0.5, 1: 0.5}]  # the last of all counts from 3 on
PERTURBED = Noise({-2: 0.5, 1: 0.25, 3: 0.25})


def perturbed_table(rng):
    "Three counts with their total, of which the sums are printed by a cell key or with noise that skips values."
    x = rng.multinomial(int(rng.integers(3, MOST + 1)), rng.dirichlet(np.ones(3)))
    H = np.vstack([np.ones(3, int), np.eye(3, dtype=int)[rng.permutation(3)[:2]], rng.permutation([0, 1, 1])])
    values, noise, printed, possible = [], [], [], []
    for y in H @ x:
        kind = rng.integers(3)
        chances = [{0: 1.0}, PTABLE[min(y, 3)], dict(PERTURBED.chances)][kind]
        z = y + rng.choice([*chances], p=[*chances.values()])
        values.append(z)
        noise.append(PERTURBED if kind == 2 else SURE)
        printed.append(CellKey(PTABLE) if kind == 1 else Exact())
        possible.append([lambda t, z=z: t == z,
                         lambda t, z=z: np.array([z - each in PTABLE[min(each, 3)] for each in t], bool),
                         lambda t, z=z: np.isin(z - t, [-2, 1, 3])][kind])
    names = ["c0", "c1", "c2"]
    return declare(Counts(names), values, matrix=H, noise=noise, printed=printed, source="x"), enumerated(H, possible)


def check_perturbed(count=30):
    "`examine` says of cell keys and of noise by its probabilities what the enumeration says."
    for number in range(count):
        release, tables = perturbed_table(np.random.default_rng(number))
        assert not (found := wrong(release, tables)), (number, found)


@pytest.mark.filterwarnings("ignore:.*may be of the same records")
def test_cell_keys_and_noise_by_its_probabilities_leave_holes(monkeypatch):
    check_perturbed()
    monkeypatch.setattr(chapter, "_values", lambda table, unit: None)
    must_fail(check_perturbed, "the interval without its holes")


# ---------------------------------------------------------------- published examples

TRUTH = np.array([15, 1, 3, 1, 20, 10, 10, 15, 3, 10, 10, 2, 12, 14, 7, 2])  # of the chapter
CELLS = [f"{county}, {level}" for county in ("Alpha", "Beta", "Gamma", "Delta")
         for level in ("low", "medium", "high", "very high")]


def suppressed(blank, unit=1):
    "The table of the chapter with its totals, without some of its cells; counts in thousands, say, by `unit`."
    H = np.vstack([np.eye(16), np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4)), np.ones(16)])
    shown = [i for i in range(len(H)) if i not in blank]
    return declare(Counts(CELLS), (H @ TRUTH * unit)[shown], matrix=H[shown], noise=SURE, source="an example")


FAILING, HOLDING = (1, 2, 3, 5, 6, 8, 11, 12, 15), (1, 2, 3, 8, 9, 11, 12, 14, 15)


def test_the_cell_of_the_working_paper_is_found():
    frame = examine(suppressed(FAILING), differences=False).frame
    assert frame["name"][frame["what"] == "pinned"].tolist() == ["Alpha, very high"]
    assert frame["low"][3] == frame["high"][3] == 1 and set(frame["what"]) == {"printed", "pinned", "open"}
    assert examine(suppressed(HOLDING)).pinned == ()


def test_large_counts_are_no_harder():
    frame = examine(suppressed(FAILING, 1_000_000), differences=False).frame
    assert frame["name"][frame["what"] == "pinned"].tolist() == ["Alpha, very high"]
    beyond = examine(suppressed(FAILING, 10**9), differences=False).frame
    assert set(beyond["what"]) == {"printed", "undecided"} and np.all(beyond["low"] <= 1e9 * TRUTH)


def test_five_equations_with_four_unknowns_are_solved_in_a_second():
    lines = {"row 1": [1, 1, 0, 0], "row 2": [0, 0, 1, 1], "column 1": [1, 0, 1, 0], "column 2": [0, 1, 0, 1],
             "another table": [1, 0, 0, 1]}
    table = declare(Counts("abcd"[i] for i in range(4)), {k: np.dot(v, [2, 5, 7, 1]) for k, v in lines.items()},
                    matrix=[*lines.values()], noise=SURE, source="an example")
    start = time.process_time()
    frame = examine(table).frame
    assert time.process_time() - start < 1
    assert (frame["low"].tolist(), frame["high"].tolist()) == ([2, 5, 7, 1], [2, 5, 7, 1])


def test_at_most_two_integer_programs_for_each_number(monkeypatch):
    solved, asked = [], []
    solve, ends = chapter.Block.solve, chapter.Block.ends
    monkeypatch.setattr(chapter.Block, "solve", lambda self, c: solved.append(1) or solve(self, c))
    monkeypatch.setattr(chapter.Block, "ends", lambda self, c: asked.append(1) or ends(self, c))
    examine(suppressed(HOLDING), differences=list(itertools.combinations(CELLS[:4], 2)))
    assert 0 < len(solved) <= 2 * len(asked) and len(asked) > 9


# ---------------------------------------------------------------- models and rows


def ends_of(release, **options):
    found = examine(release, **options).frame
    return {name: (low, high, what) for name, low, high, what in zip(found["name"], found["low"], found["high"],
                                                                     found["what"])}


def test_public_and_rounded_numbers_of_records_are_rows():
    table = declare(Categorical(["a", "b", "c"]), [10, None, None], noise=SURE, printed=Suppressed(6), n=20, source="x")
    assert ends_of(table) == {"count[a]": (10, 10, "printed"), "count[b]": (5, 5, "pinned"),
                              "count[c]": (5, 5, "pinned")}
    share = declare(Bernoulli(), 310, noise=SURE, printed=Rounded(10), n=1000, source="x")
    assert ends_of(share) == {"successes": (306, 314, "open"), "failures": (686, 694, "open")}
    rounded = declare(Bernoulli(), {"successes": 4}, noise=SURE, n=10, printed={"n": Rounded(5)}, source="x")
    assert ends_of(rounded) == {"successes": (4, 4, "printed"), "failures": (4, 8, "open"), "n": (8, 12, "open")}


def test_groups_are_examined_each_by_itself():
    model = Grouped(Categorical(["a", "b"], "ill"), "region", ["n", "s"], sizes="private")
    table = declare(model, [[3, None], [None, 4]], n=None, n_range=(0, 4), noise=SURE, printed=[Suppressed(3)] * 4,
                    source="x")
    assert ends_of(table) == {"n: count[a]": (3, 3, "printed"), "n: count[b]": (0, 1, "within 1"),
                              "s: count[a]": (0, 0, "pinned"), "s: count[b]": (4, 4, "printed")}


def test_rows_with_noise_exclude_nothing_and_are_listed():
    both = declare(Counts(["a", "b"]), [4, 9.3], matrix=[[1, 0], [1, 1]], source="x",
                   noise=[SURE, Laplace(scale=2)], printed=[Exact(), Rounded(0.1)])
    found = examine(both)
    assert found.left_out == ("a + b",)
    assert ends_of(both) == {"a": (4, 4, "printed"), "b": (0, np.inf, "open"), "a + b": (4, np.inf, "open")}
    assert "Left out, because their noise has no end: 'a + b'." in repr(found)


def test_other_tables_of_the_same_records_are_combined():
    lines = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    four = declare(Counts(list("abcd")), [7, 8, 9, 6], matrix=lines, noise=SURE, source="x")
    fifth = declare(Counts(list("abcd")), [3], matrix=[[1, 0, 0, 1]], noise=SURE, source="y")
    assert {what for _, _, what in ends_of(four, differences=False).values()} == {"open"}
    assert examine(combine(four, fifth)).pinned == ("a", "b", "c", "d")


def test_a_difference_can_be_pinned_though_no_cell_is():
    table = declare(Counts(list("abcd")), [7, 4, 3], matrix=[[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]], noise=SURE,
                    source="x")
    assert examine(table).pinned == ("a - b",)
    assert "a - b" not in ends_of(table, differences=False)
    assert ends_of(table, differences=[("c", "d")])["c - d"] == (-3, 1, "open")


# ---------------------------------------------------------------- refusals, time, secrecy


@pytest.mark.parametrize("model", [Poisson((0, 9)), Normal((0, 9)), Grouped(Poisson((0, 9), "visits"), "region", 2)])
def test_models_without_cells_are_refused(model):
    private = {"n": None, "n_range": (0, 99), "matrix": np.eye(1, 2, 1)} if model.inner is not None else {"n": 20}
    release = declare(model, np.full(2 if model.inner or len(model.names) > 1 else 1, 31.0), noise=Laplace(scale=1),
                      source="x", **private)
    with pytest.raises(ValueError, match="of a model that counts records in cells, got"):
        examine(release)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "5", None])
def test_a_time_limit_is_above_zero(limit):
    with pytest.raises(ValueError, match="time_limit must be a finite number > 0"):
        examine(suppressed(HOLDING), time_limit=limit)


def test_what_time_does_not_decide_is_undecided_and_its_ends_are_outer():
    late, full = ends_of(suppressed(HOLDING), time_limit=1e-9), ends_of(suppressed(HOLDING))
    assert {what for _, _, what in late.values()} == {"printed", "undecided"}
    for name, (low, high, _) in full.items():
        assert late[name][0] <= low <= high <= late[name][1]


MARK = 98765


def contradicting():
    "Three sums of which each is one, as a file may have them, and a hidden value that no error may show."
    possible = declare(Counts(list("abcd")), [2, 1, 1, MARK, 98_800], source="x", noise=SURE,
                       matrix=[[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]],
                       printed=[Exact()] * 4 + [Rounded(100)])
    return replace(possible, values=np.array([1.0, 1.0, 1.0, MARK, 98_800.0]))  # `declare` refuses them


def test_contradicting_rows_are_named_and_no_others():
    with pytest.raises(ValueError, match="rows that contradict one another: 'a \\+ b', 'a \\+ c' and 'b \\+ c'; check"):
        examine(contradicting())


def local_values(error):
    "Everything in the frames of an error and of what it was raised from."
    seen = []
    while error is not None:
        frame = error.__traceback__
        while frame is not None:
            if "dp_bayes_nb" in frame.tb_frame.f_code.co_filename:
                seen += frame.tb_frame.f_locals.values()
            frame = frame.tb_next
        error = error.__cause__ or error.__context__
    return seen


def test_nothing_is_logged_or_kept(caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG)
    before = {name for name in vars(chapter)}
    examine(suppressed(FAILING))
    def fails(self, c):
        raise MemoryError

    for release, kind in ((contradicting(), ValueError), (suppressed(FAILING), MemoryError)):
        if kind is MemoryError:  # whatever goes wrong deep inside
            monkeypatch.setattr(chapter.Block, "ends", fails)
        with pytest.raises(kind) as caught:
            examine(release)
        assert str(MARK) not in str(caught.value)
        held = local_values(caught.value)
        assert not any(isinstance(value, (chapter.System, chapter.Block, chapter.Solved, list)) for value in held)
    assert not caplog.records and capfd.readouterr() == ("", "") and {name for name in vars(chapter)} == before
    with pytest.raises(MemoryError) as caught:  # without `discreet` they would be seen
        chapter._examine(suppressed(FAILING), None, None, 60)
    assert any(isinstance(value, chapter.System) for value in local_values(caught.value))


def test_the_first_line_counts_what_it_lists():
    head = repr(examine(suppressed(HOLDING), differences=[(CELLS[1], CELLS[2])])).splitlines()[0]
    assert head == "16 cells, 1 difference: 10 open, 7 printed exactly"
    total = declare(Counts(["a", "b"]), [3, 4, 6], matrix=[[1, 0], [0, 1], [1, 1]], noise=SURE, source="x",
                    printed=[Exact(), Exact(), Rounded(3)])
    assert repr(examine(total)).startswith("2 cells, 1 sum: 1 pinned, 2 printed exactly\n")


def test_every_output_says_that_not_pinned_is_not_safe(tmp_path, capsys):
    found = examine(suppressed(HOLDING))
    suppressed(HOLDING).save(tmp_path / "table.json")
    assert main(["examine", str(tmp_path / "table.json")]) == 0
    table = capsys.readouterr().out
    assert main(["examine", str(tmp_path / "table.json"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    for text in (repr(found), found.frame.attrs["note"], table, answer["note"]):
        assert "does not mean safe" in text
    assert len(answer["rows"]) == len(found.frame) == 16 and answer["rows"][1]["what"] == "open"
    assert main(["examine", str(tmp_path / "table.json"), "--time-limit", "0"]) == 2
    assert "--time-limit must be a finite number > 0" in capsys.readouterr().err
