"""The paper: of the length that its journal asks, every citation with an entry, every number from `results/`."""

import re
import sys
from pathlib import Path

import pytest

from dp_bayes_nb.base.checks import must_fail

PAPER = Path(__file__).resolve().parent.parent / "paper"
TEXT, ENTRIES = (PAPER / "paper.md").read_text(encoding="utf-8"), (PAPER / "paper.bib").read_text(encoding="utf-8")


@pytest.fixture
def figure(monkeypatch):
    monkeypatch.syspath_prepend(PAPER)
    yield __import__("figure")
    sys.modules.pop("figure")


def test_length():
    "A summary, a statement of need and the rest, in 250 to 1,750 words."
    said = TEXT.split("---")[2]
    assert 250 < len(said.split()) < 1750
    assert {"# Summary", "# Statement of need", "# References"} <= {*said.splitlines()}


def uncited(text, entries):
    "Citations without an entry, and entries that nobody cites."
    return {*re.findall(r"@([a-z]+\d*)\b", text)} ^ {*re.findall(r"(?m)^@\w+\{(\w+),", entries)}


def test_citations():
    assert uncited(TEXT.split("---")[2], ENTRIES) == set()
    assert uncited("[@dwork2006; @nobody2001]", ENTRIES) >= {"nobody2001", "minka2001"} - {"dwork2006"}


def test_numbers_are_those_of_the_results(figure):
    naive, ours = (figure.found("coverage", method, "exponential, clipped") for method in ("naive", "ours"))
    def check(naive):
        assert f"contains the truth in {naive[2]:.0%} of tables" in TEXT and f"it is {naive[-1]:.0%}, because" in TEXT
    check(naive)
    must_fail(lambda: check(ours), "the coverage of another method")
    assert {f"{each:.0%}" for each in ours} <= {"94%", "95%", "96%"} and "contain it in 95%" in TEXT


def test_the_figure_has_both_panels(figure):
    left, right = figure.draw().axes
    assert [len(left.lines), len(right.lines)] == [9, 4]
    assert all(0.9 < y < 1 for y in left.lines[0].get_ydata()) and min(left.lines[5].get_ydata()) < 0.2
