"""The page `dp_bayes.html`: what it reads, what it answers, and what it does not do.

Readers run in Node, against the package: the same seals, the same sizes of noise. The lines of Python that the page
prints are run. In Chromium, with the network shut off, each question is answered, by keyboard alone too, and hostile
texts and files are tried in every place that takes one.
"""

import json
import math
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "dp_bayes_nb" / "page" / "dp_bayes.html"
sys.path.insert(0, str(ROOT / "tools"))
from browse import FLAGS, chromium  # noqa: E402

CALLS = """
let text = "";
for await (const part of process.stdin) text += part;
const { root, calls } = JSON.parse(text), out = [];
for (const [file, name, ...given] of calls) {
  const module = await import(root + "/" + file);
  try {
    out.push({ value: await module[name](...given) ?? null });
  } catch (error) {
    out.push({ code: error.code ?? String(error) });
  }
}
console.log(JSON.stringify(out));
"""


def node(calls, root=ROOT / "page"):
    "What functions of the page's modules return, of (file, name, *given) each, by one process of Node; or a code."
    program = shutil.which("node") or shutil.which("nodejs")
    if program is None:
        pytest.skip("Node was not found, so the modules of the page were not run")
    done = subprocess.run(
        [program, "--input-type=module", "-e", CALLS],
        text=True,
        capture_output=True,
        input=json.dumps({"root": f"file://{root}", "calls": calls}),
    )
    assert done.returncode == 0, done.stderr
    return [each.get("value", each.get("code")) for each in json.loads(done.stdout)]


def read(*texts, root=ROOT / "page", **options):
    return node([("reader/index.js", "read", text, options) for text in texts], root)


# ---- texts and footnotes ----

LAPLACE2 = {"law": "laplace", "size": 2, "whole": False}
FOOTNOTES = {
    "Laplace, scale 10": ("laplace", 10, False, []),
    "Laplace(10)": ("laplace", 10, False, []),
    "ε = 0.5, sensitivity 1": ("laplace", 2, False, []),
    "Laplace noise (epsilon 0.5, L1 sensitivity 2)": ("laplace", 4, False, []),
    "ε = 0,5, sensitivity 1": ("laplace", 2, False, []),
    "Gaussian noise, ± 16 at 95%": ("gaussian", 16 / 1.9599639845400545, False, []),
    "Laplace noise, 95% within ± 16": ("laplace", 16 / math.log(20), False, []),
    "Gaussian noise, ±12 (90% confidence)": ("gaussian", 12 / 1.6448536269514722, False, []),
    "rounded to 5": ("none", 0, False, [{"how": "rounded", "step": 5}]),
    "rounded to the nearest ten": ("none", 0, False, [{"how": "rounded", "step": 10}]),
    "rounded to 3 at random": ("none", 0, False, [{"how": "random", "base": 3}]),
    "randomly rounded to base 3": ("none", 0, False, [{"how": "random", "base": 3}]),
    "Gaussian, sd 3": ("gaussian", 3, False, []),
    "Gaussian, variance 9": ("gaussian", 3, False, []),
    "N(0, 3²) noise": ("gaussian", 3, False, []),
    "ρ = 0.5, sensitivity 2": ("gaussian", 2, False, []),
    "discrete Laplace noise of scale 2": ("laplace", 2, True, []),
    "geometric noise, ε = 1, sensitivity 1": ("laplace", 1, True, []),
    "Laplace noise of scale 2 was added; negative counts were set to 0": (
        "laplace",
        2,
        False,
        [{"how": "cut", "low": 0, "high": None}],
    ),
    "counts below 10 are hidden": ("none", 0, False, [{"how": "hidden", "below": 10}]),
    "cells with fewer than 5 people are suppressed": ("none", 0, False, [{"how": "hidden", "below": 5}]),
    "cells of 4 or fewer are not shown": ("none", 0, False, [{"how": "hidden", "below": 5}]),
    "no noise": ("none", 0, False, []),
}


def test_footnotes_are_read():
    wrong = {}
    for (said, (law, size, whole, printed)), found in zip(
        FOOTNOTES.items(), read(*(f"312\n{said}" for said in FOOTNOTES))
    ):
        cell = found["asks"] and found["asks"]["cell"]
        fine = (
            cell
            and cell["value"] == 312
            and (cell["noise"]["law"], cell["noise"]["whole"]) == (law, whole)
            and math.isclose(cell["noise"]["size"], size, rel_tol=1e-12, abs_tol=1e-12)
            and cell["printed"] == printed
        )
        if not fine:
            wrong[said] = found["asks"], [note["code"] for note in found["notes"]]
    assert not wrong, wrong


SETTLED = {  # texts and what they ask, and what is said of them
    "312 people, Laplace noise, ε = 0.5, sensitivity 1": ("count", [312], []),
    "The published count is 312. Laplace, scale 2": ("count", [312], []),
    "312 of 1150 people\nLaplace, scale 2": ("share", [312, 1150], ["n_exact"]),
    "312 of 1,150 people\nLaplace, scale 2": ("share", [312, 1150], ["n_exact"]),  # n is whole, so these are thousands
    "118 of 290 complaints\nLaplace noise of scale 10 in both numbers": ("rate", [118, 290], []),
    "118 of 290 pupils, both counts noisy with Laplace noise, scale 10": ("rate", [118, 290], []),
    "upheld, 118\ntotal, 290\nLaplace, scale 10": ("rate", [118, 290], []),
    "North, 131\nSouth, 124\nLaplace, scale 2": ("compare", [131, 124], []),
    "131 vs 124; Laplace, scale 2": ("compare", [131, 124], []),
    "North 131, South 124, Laplace noise of scale 2": ("compare", [131, 124], []),
    "Elm, 45\nOak, 20\nAsh, *\nFir, 310\ntotal, 385\nbelow 10 hidden": (
        "table",
        [45, 20, None, 310, 385],
        ["no_noise", "total"],
    ),
    "area,count\nElm,45\nOak,20\nFir,310\nLaplace scale 2": ("table", [45, 20, 310], ["no_total"]),
    'area;count\n"Elm; west";45\nOak;20\nFir;310\nLaplace scale 2': ("table", [45, 20, 310], ["no_total"]),
    "<10\ngeometric noise of scale 2": ("hidden", [None], []),
    "5-9": ("hidden", [None], ["no_noise"]),
    "312\nε = 0.5, sensitivity 1": ("count", [312], ["law"]),
    "312\nGaussian noise of scale 3": ("count", [312], ["gaussian_scale"]),
    "45\nrounded to 5, then hidden below 10; no noise": ("hidden", [45], []),
    "312\nLaplace, scale 2\nSource: city office, table 3": ("count", [312], []),
    "312\nLaplace, scale 2\nThe mayor was pleased": ("count", [312], ["left"]),
}
ASKED = {  # texts that are not answered before something is settled, and what is asked
    "312": "no_footnote",
    "1,204\nLaplace, scale 2": "either",
    "1.204\nGaussian, sd 3": "either",
    "312\nLaplace noise of 10": "bare",
    "312\nN(0, 9) noise": "bare",
    "312\nLaplace noise": "no_size",
    "312\nGaussian noise, ε = 1, δ = 1e-6": "epsilon_gaussian",
    "312\nLaplace, scale 2, ε = 2, sensitivity 1": "disagree",
    "312\nLaplace or Gaussian noise of scale 2": "two_laws",
    "Ash, *\nLaplace, scale 2": "mark",
    "312\nuniform noise": "beyond_law",
    "27%\nLaplace, scale 2": "beyond_percent",
    "312\nrounded down to 5": "beyond_rounded_up",
    "312\nrounded, Laplace scale 2": "lacks_rounded",
    "hello": "no_number",
    "312 of 1150.5\nLaplace, scale 2": "n_whole",
    "312\n±16": "confidence",
    "312\n± 16 at 95%": "error_law",
    "312\nε = 0.5": "sensitivity",
    "312\nρ = 0.5": "sensitivity",
}


def numbers(asks):
    cells = [asks[key] for key in ("cell", "part", "whole", "a", "b") if key in asks] + asks.get("cells", [])
    values = [cell["value"] for cell in cells]
    values += [asks["n"]] if isinstance(asks.get("n"), int) else []
    return values + ([asks["total"]["value"]] if asks.get("total") else [])


def test_texts_are_read_and_what_was_taken_is_said():
    wrong = {}
    for (text, (question, values, said)), found in zip(SETTLED.items(), read(*SETTLED)):
        codes = sorted(note["code"] for note in found["notes"])
        if not found["asks"] or (found["question"], numbers(found["asks"]), codes) != (question, values, sorted(said)):
            wrong[text] = found["question"], found["asks"], codes
    for (text, code), found in zip(ASKED.items(), read(*ASKED)):
        asked = [note["code"] for note in found["notes"] if note["kind"] == "asked"]
        if code not in asked:
            wrong[text] = found["question"], found["asks"], asked
    assert not wrong, wrong


# Texts that could be misread: a list is what the engine is asked of, a code is what stands in the way of an answer.
LAP = "\nLaplace, scale 10"
COMMAS = {
    f"Population 4,525{LAP}": "either",
    f"Total population 4,525 people{LAP}": "either",
    f"Population 4,525\ndiscrete{LAP}": ["Population", 4525],
    f"Population 1,234,567{LAP}": ["Population", 1234567],
    f"1,250 of 45,000{LAP}": [None, 1250, 45000],
    f"1,312 of 11,150 people{LAP}": [None, 1312, 11150],
    f"deaths 1,250\npeople 45,000{LAP}": "either",
    f"A 1,250 of 9,000\nB 1,300 of 9,500{LAP}": ["A", 1250, "B", 1300, 9000, 9500],
    f"Elm 1,250\nOak 2,300\ntotal 3,550{LAP}": "either",
    f"Elm,4,525\nOak,2,310{LAP}": "torn",
    f"Region 1,50\nRegion 2,40{LAP}": "torn",
    f"Region 1 250\nRegion 2 340{LAP}": "torn",
    f"Population 4 525{LAP}": "torn",
    f"Population: 4 525{LAP}": "blank",
    f"Population: 4\u00a0525{LAP}": ["Population", 4525],
    f"2019,50\n2020,40{LAP}": "torn",
    f"0-14,50\n15-30,40{LAP}": "torn",
    f"Elm,45{LAP}": ["Elm", 45],
}


def taken(found):
    "Names and numbers of what is asked of the engine."
    values = []
    for row in [*found["rows"], found.get("total")]:
        if row:
            values += [row["name"], row["cell"]["value"] if row["cell"] else None]
    n = found["asks"].get("n")
    whole = found["asks"].get("whole")
    return (
        values + (n if isinstance(n, list) else [n] if isinstance(n, int) else []) + ([whole["value"]] if whole else [])
    )


def misread(texts, **options):
    "Texts that are not read as the table says, with what was read."
    return unlike(texts, read(*texts, **options))


def unlike(texts, readings):
    "Texts whose readings are not what the table says."
    wrong = {}
    for (text, wanted), found in zip(texts.items(), readings, strict=True):
        codes = [note["code"] for note in found["notes"] if note["kind"] in ("asked", "misfit")]
        answered = found["asks"] is not None and not codes
        if (taken(found) if answered else None) != wanted and not (not answered and wanted in codes):
            wrong[text] = wanted, codes, found["question"], [(row["name"], row["shown"]) for row in found["rows"]]
    return wrong


def test_a_comma_between_digits_parts_no_name_from_its_number():
    assert not (wrong := misread(COMMAS)), wrong


BELOW5 = "\nLaplace scale 2; values below 5 are hidden"
SIGNS = {
    f"total 94\na 50\nb 40\nc *{BELOW5}": ["a", 50, "b", 40, "c", None, "total", 94],
    f"total 94\na 50\nb 40\nc -{BELOW5}": ["a", 50, "b", 40, "c", None, "total", 94],
    f"total 94\na 50\nb 40\nRegion 3 ..{BELOW5}": "left_data",
    f"total 94\na 50\nb 40 *\nc 4{BELOW5}": "left_data",
    f"total 94\na 50\nb 40\nc x{BELOW5}": "left_data",
    f"total 94\na 50\nb 40\nc 4 4{BELOW5}": "left_data",
    f"total 94\na 50\nb 40\nc <5{BELOW5}": ["a", 50, "b", 40, "c", None, "total", 94],
    "Elm 45\nOak *\ntotal 52\nbelow 10 are hidden": ["Elm", 45, "Oak", None, "total", 52],
    f"total 94\na 50\nb 40\nc *{LAP}": "mark",
}


def test_a_sign_for_a_hidden_number_is_a_cell():
    assert not (wrong := misread(SIGNS)), wrong


def test_a_chosen_question_stays_or_a_line_says_what_was_taken_instead():
    start = {"question": "count", "pinned": False, "wanted": None, "text": "312", "chosen": {"law": "laplace"}}
    rate, clear, empty, other = node(
        [
            ("view/state.js", "chosenQuestion", "rate"),
            ("view/state.js", "cleared"),
            ("view/state.js", "typedText", start, "", False),
            ("view/state.js", "typedText", start, "41", True),
        ]
    )
    state = {**start, **rate, **clear}
    assert (state["question"], state["pinned"], state["text"], state["chosen"]) == ("rate", True, "", {})
    assert {**start, **rate, **empty}["pinned"] and not {**start, **rate, **other}["pinned"]
    reading = {"kind": "text", "question": "compare"}
    pasted = {**start, **rate, **other}
    said, chosen, same, nothing = node(
        [
            ("view/state.js", "instead", pasted, reading),
            ("view/state.js", "instead", state, reading),
            ("view/state.js", "instead", pasted, {"kind": "text", "question": "rate"}),
            ("view/state.js", "instead", start, reading),
        ]
    )
    assert said["facts"] == {"wanted": "rate", "taken": "compare"} and chosen is same is nothing is None


HEADERS = {
    f"year,n\n2019,50\n2020,40\n2021,45{LAP}": ["2019", 50, "2020", 40, "2021", 45],
    f"age,n\n0-14,50\n15-64,60\n65+,12{LAP}": ["0-14", 50, "15-64", 60, "65+", 12],
    f"year;deaths;n\n2019;5;50\n2020;4;40{LAP}": ["2019", 5, "2020", 4, 50, 40],
    f"size,n\n1,50\n2,40\n3,45{LAP}": "labels",
    f"Region,1,50\nRegion,2,40{LAP}": "headless",
    f"deaths,n\n12,50\n9,40{LAP}": [None, 12, None, 9, 50, 40],
    f"year\tcount\n2019\t50\n2020\t40\n2021\t45{LAP}": ["2019", 50, "2020", 40, "2021", 45],
}


def test_a_column_of_numbers_that_names_the_rows_is_no_data():
    assert not (wrong := misread(HEADERS)), wrong


UNREAD = {
    "23\nSmall counts perturbed by up to ±2 uniformly": "left_noise",
    "312\nLaplace noise; total privacy budget of 2, half of it for this table": "left_noise",
    "312, Laplace noise with a privacy budget of 2, half of it for this table": "left_noise",
    "5\nrounded to the nearest 5; numbers 1-7 shown as 5": "left_noise",
    "312 weighted people\nLaplace, scale 2": "left_noise",
    "312\nLaplace, scale 2\nSee table 3 of the report": "left_data",
    "312\nLaplace, scale 2, was added to protect privacy": [None, 312],
    "312\nLaplace noise of scale 2 or 3": "denied",
    "45, 20\nLaplace, scale 2": "found",
    "312\nNoise drawn from a Laplace distribution with scale 2 was added to the true count.": [None, 312],
    "312\nrounded to 5. Noise: none.": [None, 312],
    "noisy count: 312\nLaplace, scale 2": ["noisy count", 312],
}
YEARS = {
    "23\nCells have been randomly adjusted to avoid the release of confidential data. ABS Census 2021": "left_noise",
    "312\nLaplace, scale 2\nCensus 2021": "year",
    "Elm 1950\nOak 2010\nLaplace, scale 2": ["Elm", 1950, "Oak", 2010],
    "240 (95% CI 210-270)": "interval",
    "4525 ± 312 (90% confidence)\nLaplace; all at 95% confidence": "confidences",
    "312\nLaplace; 90% confidence, 2021": "year",
}
SURE = {  # of a ± at 90%
    "4525 ± 312\nmargins of error at the 90 percent confidence level, Gaussian noise": 312,
    "4525\nMargin of error (90% confidence) ±312, Gaussian noise": 312,
    "4525 ± 312 (90% MOE), Gaussian noise": 312,
    "4525 ± 312 bei 90 %, Gauß-Rauschen": 312,
}


def test_a_phrase_about_noise_that_was_not_understood_stops_the_answer():
    assert not (wrong := misread(UNREAD)), wrong
    (text, *_) = UNREAD
    (stopped,) = read(text)
    leave = next(note for note in stopped["notes"] if note["code"] == "left_noise")["choices"][0]
    (free,) = read(text, chosen={leave["key"]: leave["value"]})
    assert {note["code"] for note in free["notes"] if note["kind"] == "asked"} == {"confidence", "error_law"}
    (other,) = read(text + "; half of the budget", chosen={leave["key"]: leave["value"]})  # this was not left out
    assert "left_noise" in [note["code"] for note in other["notes"]]
    orders = ({}, {"order": "hidden"}, {"order": "rounded"})
    (asked,), *chosen = (read("<10\nrounded to 5", chosen=each) for each in orders)
    steps = [{"how": "hidden", "below": 10}, {"how": "rounded", "step": 5}]
    assert [found["asks"]["cell"]["printed"] for (found,) in chosen] == [steps, steps[::-1]]
    assert "which_order" in [note["code"] for note in asked["notes"]]
    assert {note["code"] for (found,) in chosen for note in found["notes"]} == {"no_noise", "order"}


def test_a_footnote_of_both_numbers_holds_for_what_a_share_is_of():
    both, one = "Laplace noise of scale 10 in both numbers", "Laplace noise of scale 10"
    (said,), (silent,) = (read(f"118 of 290 pupils\n{each}", question="share") for each in (both, one))
    assert said["asks"]["n"]["noise"]["size"] == 10 and silent["asks"]["n"] == 290
    assert "n_exact" not in [note["code"] for note in said["notes"]]
    (asked,) = read("is A (131) larger than B (124), Laplace, scale 2?", question="compare")
    assert [note["code"] for note in asked["notes"] if note["kind"] == "asked"] == ["found_several"]


def test_a_year_is_no_count_and_how_sure_an_error_is_is_read():
    assert not (wrong := misread(YEARS)), wrong
    for text, found in zip(SURE, read(*SURE)):
        assert taken(found) == [None, 4525], text
        assert math.isclose(found["noise"]["size"], SURE[text] / 1.6448536269514722), (text, found["noise"])


WRITTEN = {  # footnotes and numbers as offices write them
    "45\nCounts are rounded independently to the nearest 5. Counts under 5 suppressed.": [None, 45],
    "45\nCounts are randomly rounded either up or down to a multiple of 5 or 10.": "bases",
    "45\nCounts are randomly rounded up or down to a multiple of 5.": [None, 45],
    "312 people in 2021; noise Laplace, scale 2": "found",
    "2020 population 312, Laplace scale 2": "found",
    "312 patients (age 18-65), ε = 1": "found",
    "12 deaths per 4510, Laplace scale 2": "found",
    "312 [1]\n[1] Laplace noise, scale 2": [None, 312],
    "500 * Laplace mechanism b=10": [None, 500],
    "500*\n* Laplace mechanism b=10": [None, 500],
    "Elm 45\nOak *\n* = below 10": ["Elm", 45, "Oak", None],
    "Elm: 45\nOak: s\ns = below 5": ["Elm", 45, "Oak", None],
    "Elm: 45\nOak: -\n“-” means a count of 4 or fewer": ["Elm", 45, "Oak", None],
    f"Region 1 50\nRegion 2 40\ntotal 95{LAP}": "left_data",
    f"Q1 50\nQ2 60{LAP}": "left_data",
    "312, 210 to 270 (95%)": "interval",
    "area,count,moe\nElm,450,16\nOak,200,12\n90% confidence, Gaussian noise": ["Elm", 450, "Oak", 200],
}


SEVERAL = {  # more than one size
    "312\nLaplace noise with ε = 0.1 of a privacy budget of 1": "several",
    "312\nepsilon 0.1 (budget 1)": "several",
    "312\nepsilon = 0.1 for counts and epsilon = 1 for values": "several",
    "312\nepsilon 0.1, sensitivity 3 for tables and sensitivity 1 for counts": "several",
    "312\nρ = 0.5 for persons, ρ = 1 for households": "several",
    "312\nLaplace noise; ε = 0.5 (epsilon 0.5), sensitivity 1": [None, 312],
    "312\nLaplace noise with scale 10 or ε = 0.5": "denied",
    "area,n,sd\nElm,45,2\nOak,50,3\nε = 0.5": "column_noise",
    "area,n,sd,scale\nElm,45,2,3\nOak,50,3,4": "two_columns",
    "118 (Laplace, scale 10) of 290 (Laplace, scale 4)\nGaussian, sd 3": "two_footnotes",
    "312 ± 16 at 950%": "bad_confidence",
    "312\nNormal(0,10)": "bare",
    "312\nnoise: N(0, σ² = 25)": [None, 312],
}
DENIED = {  # what denies, restricts or changes what was read
    "312\nLaplace noise of scale 10 was not added to this table": "denied",
    "310\nNumbers are not rounded to 10. Laplace noise, scale 4": "denied",
    "310\nNo rounding to 10. Laplace noise, scale 4": "denied",
    "310\nLaplace noise of scale 4 without rounding to 10": "denied",
    "310\nnever rounded to 5; Laplace, scale 10": "denied",
    "312\nNo noise was added. Laplace noise of scale 10 is added in other tables": "none_too",
    "312 (not Laplace noise of scale 10)": "denied",
    "312 (Laplace noise, scale 10, was not added)": "denied",
    "310\nCounts below 10 are not suppressed. Rounded to 5.": "denied",
    "312\nLaplace noise (scale 10) will be added next year": "denied",
    "312\nLaplace noise of scale 10 was removed": "denied",
    "312\nMost cells have Laplace noise of scale 10": "denied",
    "312\nOnly cells below 50 have Laplace noise of scale 10": "denied",
    "312\nCounts under 10 are shown. Laplace scale 2": "left_data",
    "312\nSum of 4 cells with Laplace noise of scale 10 each": "denied",
    "312 people without insurance, Laplace, scale 10": [None, 312],
    "Not stated: 312\nLaplace, scale 10": ["Not stated", 312],
    "312\nLaplace noise of scale 10, so that counts may be negative. Figures may not add to totals.": [None, 312],
    "312\nFigures may not add up due to rounding.": "lacks_rounded",
    "310\nrounded to 10, then Laplace noise of scale 2 was added": "printed_first",
    "310\nLaplace noise of scale 2 was added after rounding to 10": "printed_first",
    "310\nBefore rounding to 10, Laplace noise of scale 2 was added": [None, 310],
    "310\nrounded to 10 after Laplace noise of scale 2 was added": [None, 310],
}
SHORTENED = {  # numbers of which a part was left
    "1.2 million\nLaplace, scale 10": "short",
    "312 thousand people\nLaplace, scale 10": "short",
    "312k\nLaplace, scale 10": "short",
    "3.5m people\nLaplace, scale 10": "short",
    "Population ('000): 312\nLaplace, scale 10": "beyond_units",
    "Rate per 1000: 31\nLaplace, scale 10": "no_count",
    "312\nLaplace, scale = 1/0.5": "cut",
    "312\nLaplace, scale = 2/ε": "cut",
    "312\nLaplace, scale 2√2": "cut",
    "312\nLaplace, scale 2·10^-1": "cut",
    "312\nρ = 1/8": "cut",
    "312\nLaplace, scale 10 thousand": "cut",
    "312\ntotal epsilon = 1 over 10 queries": "cut",
    "312\nGaussian, sd 3% of the count": "cut",
    "312\nrounded to 2 significant figures": "cut",
    "312\n2ε = 1, sensitivity 1": "cut",
    "312\nLaplace, scale 10-20": "cut",
    "312\nLaplace, scale 10.": [None, 312],
    "312\nLaplace noise, scale 10, rounded to the nearest whole number": [None, 312],
    "18-24 312\n25-34 200\nLaplace, scale 10": "torn",
    "under 5 312\nLaplace, scale 10": "torn",
    "Ward 12 - 45\nWard 14 - 50\nLaplace, scale 2": "torn",
    "12 and 14\nLaplace, scale 2": "found",
    "between 12 and 14\nLaplace, scale 2": [None, None],
    "312 (2021: 290), Laplace scale 10": "found",
    "A: 12 B: 14\nLaplace, scale 2": "found",
    "18-24: 312\n25-34: 200\nLaplace, scale 10": ["18-24", 312, "25-34", 200],
    "Elm: 45, 50\nLaplace, scale 2": "found",
    "Cases rose from 131 to 145. Laplace noise scale 2.": "found",
    "Net change -12, Gaussian noise sd 10": "no_count",
}
PARTS = {  # shares whose whole is noisy or rounded, and comparisons of them
    "310 of 1150\nrounded to 5": [None, 310],
    "312 of 1153\nrounded to 3": [None, 312, 1153],
    "310 of 1150\nLaplace, scale 2, rounded to 5": "n_rounded",
    "118 (Laplace, scale 10) of 290 (rounded to 5)": [None, 118, 290],
    "312 (Laplace, scale 10) of 1150": [None, 312, 1150],
    "3120 of 12000 ± 500 (95%)": "no_footnote",
    "3120 ± 20 of 12000 ± 500\n95% confidence, Gaussian noise": [None, 3120, 12000],
    "A 312 of 1150 (Laplace, scale 4)\nB 212 of 1150 (Laplace, scale 4)\nLaplace, scale 2": "sizes_noisy",
    "A 310 of 1150\nB 210 of 1150\nrounded to 5": "n_rounded",
    "A 310 of 1150\nB 210 of 1150\nLaplace scale 10 in both numbers": "sizes_noisy",
    "A 310 of 1150\nB 210 of 1150\nLaplace, scale 10; the totals are exact": ["A", 310, "B", 210, 1150, 1150],
    "A 310 of 1150\nB 210\nLaplace, scale 10": "one_of",
    "Elm 45 ± 3\nOak 20 ± 5\n90% confidence, Laplace noise": ["Elm", 45, "Oak", 20],
    "118 of 290 complaints (40.7%)\nLaplace, scale 2": [None, 118, 290],
    "118 of 290 complaints (45%)\nLaplace, scale 2": "beyond_percent",
    "Of 1150 patients, 312 had a complication. Laplace noise (scale 5).": [None, 312, 1150],
}
COLUMNS = {
    "area,count,lower,upper\nElm,45,40,50\nOak,20,15,25\nLaplace, scale 2": "columns_unread",
    "area,2019,2020\nElm,45,50\nOak,20,30\nLaplace, scale 2": "which_column",
    "area,male,female\nElm,45,50\nOak,20,30\nLaplace, scale 2": "which_column",
    "area,count,epsilon\nElm,45,0.5\nOak,20,1\nLaplace noise, sensitivity 1": ["Elm", 45, "Oak", 20],
    "Region;Fälle\nNord;131\nSüd;124\nWest;.\nSumme;310\nLaplace-Rauschen, Skala 2; Werte unter 5 geheim gehalten": [
        "Nord",
        131,
        "Süd",
        124,
        "West",
        None,
        "Summe",
        310,
    ],
    "| area | count |\n|------|------:|\n| Elm | 45 |\n| Oak | 20 |\nLaplace, scale 2": ["Elm", 45, "Oak", 20],
}
GERMAN = {  # with the comma of the reader's language
    "12.450 ± 16 at 95%, Gaussian noise": [None, 12450],
    "12.450 ± 16 bei 95 %, Gauß-Rauschen": [None, 12450],
    "12,450 ± 16 bei 95 %, Gauß-Rauschen": "either",
    "Einwohner: 12.450\nDie Zahl wurde mit Laplace-Rauschen (ε = 0,5, Sensitivität 1) verrauscht.": [
        "Einwohner",
        12450,
    ],
    "12.450 von 45.000 Einwohnern\nLaplace-Rauschen, Skala 10": [None, 12450, 45000],
    "1.205 Geburten, gerundet auf 5": [None, 1205],
    "1.204 Einwohner, Laplace-Rauschen, ε = 0.5, Sensitivität 1": "either",
    "1.204 Einwohner, Laplace-Rauschen, ε = 0,5, Sensitivität 1": [None, 1204],
}
TURNED = {  # words, signs and marks that make another number of it, or another statement
    f"Population in 000s: 312{LAP}": "beyond_units",
    f"12 deaths per thousand{LAP}": "beyond_units",
    f"no more than 5{LAP}": "found",
    f"Elm: minus 12{LAP}": "found",
    f"- 12{LAP}": "torn",
    f"Elm - 12{LAP}": "torn",
    f"Elm -12{LAP}": ["Elm", -12],
    f"Elm >=5\nOak <=4{LAP}": ["Elm", None, "Oak", None],
    f"maximum: 5{LAP}": "found",
    f"weniger als 5{LAP}": "found",
    f"Elm: unter 5{LAP}": "found",
    f"moins de 5{LAP}": "found",
    f"not 312{LAP}": "found",
    f"No: 312\nYes: 45{LAP}": ["No", 312, "Yes", 45],
    f"312 1/2{LAP}": "torn",
    f"2021/22 312{LAP}": "torn",
    f"2021/22: 312{LAP}": ["2021/22", 312],
    f"312 men, 290 women{LAP}": "torn",
    f"312 people, 45 of them women{LAP}": "torn",
    f"312\t290{LAP}": "found",
    f"12 fewer than last year{LAP}": "no_count",
    f"+12{LAP}": "no_count",
    f"death rate 12{LAP}": "no_count",
    f"share of women: 0.27{LAP}": "left_noise",
    f"Complication rate: 45 of 312{LAP}": ["Complication rate", 45, 312],
    f"Market share: 45 of 312{LAP}": ["Market share", 45, 312],
    f"3,12,000 people{LAP}": "unwritten",
    "312 ± 16 at α = 0.1": "left_noise",
    "312\none-sided 95% margin of error 16": "left_noise",
    "312\nLaplace, inverse scale 0.5": "left_noise",
    "312\n95% interval is 12 wide": "left_noise",
    "312\n2 standard deviations = 6, Gaussian": "cut",
    "312\ntotal of five cells with Laplace noise of scale 2": "denied",
    "312 +16/-10": "found",
}
SOME = {  # what holds for some of the numbers, and lines that are sums of others
    "Elm 45\nOak 30\nElm: Laplace scale 2": "denied",
    "Elm 45\nOak 30\nLaplace scale 2 (Elm)": "denied",
    "Elm 45 [1]\nOak 30\n[1] Laplace scale 2": "marks",
    "Elm 45 [1]\nOak 30 [1]\n[1] Laplace scale 2": ["Elm", 45, "Oak", 30],
    "500*\n300\n* Laplace scale 2": "marks",
    f"Elm 45 [1]\nOak 30\n[1] provisional{LAP}": ["Elm", 45, "Oak", 30],
    "name,count,pct\nElm,45,12\nOak,30,8\nLaplace, scale 2 on pct only": "denied",
    "name,count,cost\nElm,45,12\nOak,30,8\nLaplace, scale 2 on cost": "denied",
    f"area,rate\nElm,1.2\nOak,2.1{LAP}": "no_count",
    f"area,%\nElm,12\nOak,21{LAP}": "no_count",
    f"area,2021\nElm,45\nOak,50{LAP}": ["Elm", 45, "Oak", 50],
    f"area,count\nElm,45\nOak,30\nSubtotal,75\nAsh,5\nTotal,80{LAP}": "sums",
    f"Elm 45\nOak 30\nNorth total 75\nAsh 5{LAP}": "sums",
    f"All women 45\nAll men 30\nAsh 5{LAP}": "sums",
    f"Total 80\nof which women 45\nof which men 35{LAP}": ["of which women", 45, "of which men", 35, "Total", 80],
}
PASTED = {  # the source of a web page, and digits of other scripts
    f"&lt;10{LAP}": [None, None],
    f"1&nbsp;204{LAP}": [None, 1204],
    f"1&#44;204{LAP}": "either",
    "312 &plusmn; 16 at 95%, Laplace noise": [None, 312],
    f"AT&T: 312{LAP}": ["AT&T", 312],
    f"&#9999999;, 312{LAP}": "found",
    f"３１２{LAP}": [None, 312],
    f"٣١٢{LAP}": [None, 312],
    f"𝟑𝟏𝟐{LAP}": [None, 312],
    f"１,204{LAP}": "either",
    "312\nLaplace, scale １２": [None, 312],
}
OFFICES = {
    "Total population 4525; differential privacy noise with zCDP budget ρ = 0.5 and sensitivity 1 was applied.": [
        "Total population",
        4525,
    ],
    "Tract 9501: 1773.9\nGaussian noise, standard deviation 1.64, source: US Census Bureau 2020": [
        "Tract 9501",
        1773.9,
    ],
    "45 patients readmitted out of 312. To protect privacy, Laplace noise of scale 2 was added to both numbers.": [
        None,
        45,
        312,
    ],
    "1205 births (provisional). Noise: Laplace(20)": [None, 1205],
    "312; the standard deviation of the noise is 8": [None, 312],
    "312; two-sided geometric, ε = 0.125, Δ = 1": [None, 312],
    "312 (preliminary), Laplace scale 10": [None, 312],
    "count 312; mechanism: Laplace; epsilon: 0.1; sensitivity: 1": ["count", 312],
    "312\nLaplace noise of scale 10, post-processed to be non-negative and rounded to whole numbers": [None, 312],
    "Estimate 4525, MOE ±312": "error_law",
    "Readmissions 45 (rounded to nearest 5), discharges 310 (rounded to nearest 5)": [
        "Readmissions",
        45,
        "discharges",
        310,
    ],
}


@pytest.mark.parametrize("texts", [SEVERAL, DENIED, SHORTENED, PARTS, COLUMNS, TURNED, SOME, PASTED, OFFICES])
def test_what_may_mean_something_else_is_asked_and_the_rest_is_read(texts):
    assert not (wrong := misread(texts)), wrong


def test_a_total_that_is_exact_has_no_noise():
    text = "men: 131\nwomen: 124\ntotal: 255\nThe total is exact. The cells have Laplace noise of scale 2."
    (found,) = read(text)
    assert [cell["noise"]["size"] for cell in found["asks"]["cells"]] == [2, 2]
    assert found["asks"]["total"] == {"value": 255, "noise": {"law": "none", "size": 0, "whole": False}, "printed": []}


def test_a_sign_of_thousands_is_settled_by_the_readers_language():
    assert not (wrong := misread(GERMAN, home=",")), wrong
    assert misread({"12.450 ± 16 at 95%, Gaussian noise": [None, 12450]})  # without one it is asked


READERS = {  # what is right, what is wrong, and the texts that show it
    "numbers that go on": ("doubts.js", "if (!/\\d/u.test(all)) return null;", "return null;", SHORTENED),
    "denials": ("doubts.js", "text => DENIAL.test(text);", "() => false;", DENIED),
    "the order": ("doubts.js", "if (places.some(each => each.length === 0)) return", "return", DENIED),
    "brackets": ("lines.js", " && understood(facts, rest);", ";", DENIED),
    "words that turn": ("lines.js", "(name, shown) => TURNS.test(name)", "(name, shown) => false", TURNED),
    "marks of some": ("index.js", "marks.lines < table.length || marks.signs > 1", "false", SOME),
    "sums among cells": ("questions.js", "if (sums.length && ", "if (false && ", SOME),
    "signs of markup": ("numbers.js", "(SIGNS[name.toLowerCase()] ?? all)", "all", PASTED),
    "several values": ("noise.js", "used && all.length > 1 &&", "used && all.length > 9 &&", SEVERAL),
    "sizes of shares": ("questions.js", "  if (n) sizesExact(", "  if (false) sizesExact(", PARTS),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_that_overlooks_something_is_found_out(name, tmp_path):
    file, right, wrong, texts = READERS[name]
    shutil.copytree(ROOT / "page" / "reader", tmp_path / "reader")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    path = tmp_path / "reader" / file
    source = path.read_text(encoding="utf-8")
    assert source.count(right) == 1, f"{file} has no such line any more"
    path.write_text(source.replace(right, wrong), encoding="utf-8")
    assert misread(texts, root=tmp_path)


def test_footnotes_of_offices_are_read():
    assert not (wrong := misread(WRITTEN)), wrong
    found, column = read(list(WRITTEN)[3], [*WRITTEN][-1])
    assert [choice["value"] for choice in found["notes"][0]["choices"]] == ["312", "2021"]
    (picked,) = read(list(WRITTEN)[3], chosen={"pick": "312"})
    assert taken(picked) == [None, 312] and not [note for note in picked["notes"] if note["kind"] == "asked"]
    sizes = [cell["noise"]["size"] for cell in column["asks"]["cells"]]
    assert column["question"] == "table" and sizes == pytest.approx([16 / 1.6448536, 12 / 1.6448536])
    asked = next(note for note in read(list(WRITTEN)[1])[0]["notes"] if note["code"] == "bases")["choices"]
    (based,) = read(list(WRITTEN)[1], chosen={"printed": asked[1]["value"]})
    assert based["asks"]["cell"]["printed"] == [{"how": "random", "base": 10}]


def test_a_choice_settles_what_was_asked():
    cases = (
        ("1,204\nLaplace, scale 2", "decimal", ".", 2, 1204),
        ("1,204\nLaplace, scale 2", "decimal", ",", 2, 1.204),
        ("312\nLaplace noise of 10", "bare", "scale", 10, 312),
        ("312\nLaplace noise of 10", "bare", "sd", 10 / math.sqrt(2), 312),
        ("312\n± 16 at 95%", "law", "laplace", 16 / math.log(20), 312),
    )
    befores = read(*(text for text, *_ in cases))
    afters = node([("reader/index.js", "read", text, {"chosen": {key: value}}) for text, key, value, *_ in cases])
    for (text, key, value, size, printed), before, after in zip(cases, befores, afters):
        offered = [(choice["key"], choice["value"]) for note in before["notes"] for choice in note["choices"]]
        cell = after["asks"]["cell"]
        assert (key, value) in offered, (text, before["notes"])
        assert math.isclose(cell["noise"]["size"], size) and cell["value"] == printed, (text, after)


def test_each_number_may_have_a_footnote_of_its_own():
    both, table = read("118 (Laplace, scale 10) of 290 (Laplace, scale 4)", "name,count,scale\na,45,2\nb,20,3\nc,9,4")
    assert both["question"] == "rate"
    assert [both["asks"][key]["noise"]["size"] for key in ("part", "whole")] == [10, 4]
    assert [cell["noise"]["size"] for cell in table["asks"]["cells"]] == [2, 3, 4]
    (mixed,) = read("9 (randomly rounded to base 3)\ndiscrete Laplace noise of scale 2")  # its noise is that of all
    assert mixed["asks"]["cell"] == {
        "value": 9,
        "noise": {"law": "laplace", "size": 2, "whole": True},
        "printed": [{"how": "random", "base": 3}],
    }


SLOW = """
import { read } from "ROOT/reader/index.js";
export const slowest = parts => {
  let most = 0;
  for (const one of parts) for (const other of ["", ...parts]) {
    const start = performance.now();
    read((one + other).repeat(30000 / (one + other).length));
    most = Math.max(most, performance.now() - start);
  }
  for (const one of parts) {
    const start = performance.now();
    read("5" + one.repeat(49000 / one.length) + "x");
    most = Math.max(most, performance.now() - start);
  }
  return most;
};
"""


def test_no_text_takes_long_to_be_read(tmp_path):
    "Texts of 30,000 characters that repeat what rules look for, such as numbers without an end."
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "slow.js").write_text(SLOW.replace("ROOT", f"file://{ROOT}/page"))
    parts = ["1 ", "1,", "hidden ", "any all ", "of ", "rounded to the ", "± ", "(", "name, 1\n", "ε = ", "laplace "]
    parts += ["1 (a) ", " ", "\t"]
    (most,) = node([("slow.js", "slowest", parts)], tmp_path)
    assert most < 2000, most  # milliseconds


def test_sizes_of_noise_are_those_of_the_package():
    from dp_bayes_nb import Gaussian, Laplace

    calls, sizes = [], []
    for discrete in (False, True):
        for v in (0.4, 1.7, 12.5, 300.0):
            made = [
                ("laplace", {"by": "scale", "scale": v}, Laplace(scale=v, discrete=discrete).scale),
                ("laplace", {"by": "sd", "sd": v}, Laplace(sd=v, discrete=discrete).scale),
                ("laplace", {"by": "variance", "variance": v}, Laplace(variance=v, discrete=discrete).scale),
                (
                    "laplace",
                    {"by": "epsilon", "epsilon": v, "sensitivity": 2},
                    Laplace.from_epsilon(v, 2, discrete).scale,
                ),
                ("gaussian", {"by": "sd", "sd": v}, Gaussian(sd=v, discrete=discrete).sd),
                ("gaussian", {"by": "variance", "variance": v}, Gaussian(variance=v, discrete=discrete).sd),
                ("gaussian", {"by": "rho", "rho": v, "sensitivity": 3}, Gaussian.from_rho(v, 3, discrete).sd),
            ]
            for sure in (0.5, 0.9, 0.95, 0.999):
                error = {"by": "error", "error": v, "confidence": sure}
                made.append(("laplace", error, Laplace.from_error(v, sure, discrete).scale))
                if v >= 1 or not discrete:
                    made.append(("gaussian", error, Gaussian.from_error(v, sure, discrete).sd))
            calls += [
                ("reader/noise.js", "sized", {"law": law, "whole": discrete, "said": said}) for law, said, _ in made
            ]
            sizes += [size for *_, size in made]
    found = [each["size"] for each in node(calls)]
    wrong = [
        (call[2], size, wanted) for call, size, wanted in zip(calls, found, sizes) if not abs(size / wanted - 1) < 1e-9
    ]
    assert not wrong, wrong


# ---- release files ----


def random_json(rng, depth=0):
    "A value that JSON can hold, with numbers and texts that are written in several ways."
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind == 0:
        return rng.choice(
            [
                0.0,
                -0.0,
                1.0,
                100.0,
                1e15,
                1e16,
                1e22,
                123456789012345.6,
                1e-4,
                1e-5,
                1.5e-7,
                5e-324,
                1.7976931348623157e308,
            ]
        )
    if kind == 1:
        return rng.uniform(-1, 1) * 10.0 ** rng.randrange(-20, 25)
    if kind == 2:
        return rng.choice([0, 1, -7, 2**53 + 1, 10**30, rng.randrange(-(10**6), 10**6)])
    if kind in (3, 4):
        return "".join(
            rng.choice(["a", "é", '"', "\\", "\n", "\x7f", "\u2028", "𝒳", "/", "\x01", "日", "'"])
            for _ in range(rng.randrange(6))
        )
    if kind in (5, 6):
        return rng.choice([True, False, None])
    if kind == 7:
        return [random_json(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {random_json_key(rng): random_json(rng, depth + 1) for _ in range(rng.randrange(4))}


def random_json_key(rng):
    return "".join(rng.choice(["a", "b", "Z", "𝒳", "\uffee", "é", "_"]) for _ in range(rng.randrange(1, 4)))


SEALS = """
import { parse, canonical } from "ROOT/reader/json.js";
import { sha256 } from "ROOT/reader/sha256.js";
export const seals = texts => texts.map(text => sha256(canonical(parse(text))));
"""


def seals(folder, texts, change=("", "")):
    shutil.copytree(ROOT / "page" / "reader", folder / "reader")
    (folder / "package.json").write_text('{"type": "module"}')
    path = folder / "reader" / "json.js"
    source = path.read_text(encoding="utf-8")
    assert change[0] in source
    path.write_text(source.replace(*change, 1), encoding="utf-8")
    (folder / "seals.js").write_text(SEALS.replace("ROOT", f"file://{folder}"))
    return node([("seals.js", "seals", texts)], folder)[0]


def test_seals_are_those_of_the_package(tmp_path):
    from dp_bayes_nb.releases.files import _seal

    rng = random.Random(44)
    documents = [{random_json_key(rng): random_json(rng) for _ in range(5)} for _ in range(400)]
    texts = [json.dumps(each, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5) for each in documents]
    wanted = [_seal(json.loads(text)) for text in texts]
    assert seals(tmp_path / "right", texts) == wanted
    for name, change in {
        "floats": ('typeof value === "number") return float(value)', 'typeof value === "number") return String(value)'),
        "order": (".sort(byCharacters)", ".sort()"),
    }.items():
        assert seals(tmp_path / name, texts, change) != wanted, name  # a page that seals otherwise is found out


def test_release_files_are_opened_as_the_package_opens_them(tmp_path):
    from dp_bayes_nb import Bernoulli, Counts, Gaussian, Grouped, Laplace, Release, Rounded, Suppressed, declare

    good = {path.name: path.read_text() for path in sorted((ROOT / "nbs" / "releases").glob("*.json"))}
    good["share"] = declare(Bernoulli("ill"), 312, n=1150, noise=Laplace(scale=2), source="an office").to_json()
    good["table"] = declare(
        Counts(["Elm", "Oak", "Ash"]),
        {"Elm": 45, "Oak": 20, "Ash": None, "all": 75},
        noise=Laplace(scale=2, discrete=True),
        matrix=[[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]],
        printed=Suppressed(10) & Rounded(5),
        source="an office",
    ).to_json()
    two = Counts(["one race", "two or more races"])
    good["tract"] = declare(  # the example of the README
        two, {"total": 1773.90, "one race": 1652.04}, noise=[Gaussian(sd=1.64), Gaussian(sd=5.51)],
        matrix=[[1, 1], [1, 0]], source="US Census Bureau",
    ).to_json()
    good["laws"] = declare(
        two, [31, 5.5], noise=[Gaussian(sd=2, discrete=True), Laplace(scale=4)], source="an office"
    ).to_json()
    noisy = {"noise": Gaussian(sd=20), "n": 1150, "n_noise": Laplace(scale=40), "source": "an office"}
    good["noisy n"] = declare(Bernoulli("ill"), 310, **noisy).to_json()
    good["range"] = declare(Bernoulli("ill"), 310, n_range=(1100, 1200), **noisy).to_json()
    groups = Grouped(Bernoulli("ill"), "town", ["Elm", "Oak"], sizes="public")
    good["groups"] = declare(groups, [31, 42], n=[100, 120], noise=Laplace(scale=2), source="an office").to_json()
    good["sums"] = declare(
        Counts(["a", "b", "c"]), [31, 5, 40], noise=Laplace(scale=2), matrix=[[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        source="an office",
    ).to_json()
    text = good["health_limit.json"]
    bad = {
        "a digit": (text.replace("1215", "1216"), "broken_seal"),
        "a float": (text.replace("100.0", "100"), "broken_seal"),
        "the noise": (text.replace('"laplace"', '"gaussian"'), "broken_seal"),
        "a seal": (text.replace("43379b", "43379c"), "broken_seal"),
        "cut": (text[:300], "not_valid_json"),
        "twice": (text.replace('"n": 8802', '"n": 8802, "n": 8802'), "key_twice"),
        "not a number": (text.replace("8802", "NaN"), "not_valid_json"),
        "too large": (text.replace("8802", "1e999"), "not_valid_json"),
        "another key": (text.replace('"n": 8802', '"n": 8802, "x": 1'), "other_keys"),
        "schema": (text.replace('"schema": 1', '"schema": 9'), "another_schema"),
        "deep": ('{"a": ' + "[" * 60 + "]" * 60 + "}", "too_deep"),
        "other": ('{"a": 1}', "not_ours"),
        "ledger": ('{"entries": [], "epsilon": 1}', "a_ledger"),
        "a text of millions of characters": ('{"a": "' + "x" * 9_000_000 + '"}', "not_ours"),
    }
    opened = read(*good.values(), *(each for each, _ in bad.values()))
    for name, found in zip(good, opened):
        assert found["kind"] == "file" and any(note["code"] == "seal" for note in found["notes"]), (
            name,
            found["notes"],
        )
        Release.from_json(good[name])
    for (name, (changed, code)), found in zip(bad.items(), opened[len(good) :]):
        assert (found["kind"], found["asks"], [note["code"] for note in found["notes"]]) == ("refused", None, [code]), (
            name
        )
        with pytest.raises(ValueError):
            Release.from_json(changed)
    by = dict(zip(good, opened))
    assert by["health_limit.json"]["asks"] == {
        "kind": "share",
        "n": 8802,
        "cell": {"value": 1215, "noise": {"law": "laplace", "size": 100, "whole": True}, "printed": []},
    }
    assert by["share"]["asks"]["cell"]["noise"] == LAPLACE2
    assert by["education.json"]["asks"]["kind"] == "table" and numbers(by["education.json"]["asks"])[-1] == 8802
    assert numbers(by["table"]["asks"]) == [45, 20, None, 75]
    assert by["table"]["asks"]["total"]["printed"] == [{"how": "hidden", "below": 10}, {"how": "rounded", "step": 5}]
    assert [note["code"] for note in by["wages_1.json"]["notes"]] == ["seal", "cannot_model"]
    tract = by["tract"]["asks"]
    assert numbers(tract) == [1652.04, None, 1773.90] and tract["cells"][1]["printed"] == [
        {"how": "within", "low": 0, "high": None}
    ]
    assert [each["noise"]["size"] for each in (tract["cells"][0], tract["total"])] == [5.51, 1.64]
    laws = [(each["noise"]["law"], each["noise"]["whole"]) for each in by["laws"]["asks"]["cells"]]
    assert laws == [("gaussian", True), ("laplace", False)]
    assert by["noisy n"]["asks"]["n"]["noise"]["size"] == 40 and by["noisy n"]["asks"]["cell"]["value"] == 310
    assert by["groups"]["asks"]["kind"] == "compare" and by["groups"]["asks"]["n"] == [100, 120]
    refused = {name: by[name]["notes"][1]["code"] for name in ("range", "sums")}
    assert refused == {"range": "cannot_noisy_n", "sums": "cannot_matrix"}


# ---- one file ----


def test_the_page_is_what_its_sources_give():
    import page

    text = page.build()
    assert PAGE.read_text(encoding="utf-8") == text, "make page"
    assert len(text.encode()) <= 300_000
    asked = [
        link for link in re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`]*", text) if "www.w3.org/2000/svg" not in link
    ]
    assert not asked and not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|fetch\(|XMLHttpRequest|WebSocket|"
        r"sendBeacon|import\(",
        text,
    )
    assert (
        "default-src 'none'" in text
        and "unsafe" not in text
        and not re.search(r"\son\w+=\"", text.split("<script>")[0])
    )


def test_a_source_that_cannot_be_joined_is_refused(tmp_path, monkeypatch):
    import page

    monkeypatch.setattr(page, "SOURCES", tmp_path)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    (tmp_path / "b.js").write_text("export const x = 1;\n")
    (tmp_path / "a.js").write_text('import { x as y } from "./b.js";\nexport function z() { return y; }\n')
    assert "const { x: y } = $b;" in page.script(tmp_path / "a.js")
    for wrong in ('import x from "./b.js";', "export default 1;", 'import "./b.js";', "export let x = 1;"):
        (tmp_path / "a.js").write_text(wrong + "\n")
        with pytest.raises(ValueError, match="by name only"):
            page.script(tmp_path / "a.js")
    (tmp_path / "a.js").write_text('import { x } from "./b.js";\n')
    (tmp_path / "b.js").write_text('import { z } from "./a.js";\nexport const x = 1;\n')
    with pytest.raises(ValueError, match="import each other"):
        page.script(tmp_path / "a.js")


def test_an_installed_package_has_the_page():
    import tomllib
    from importlib.resources import files

    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    assert "page/*.html" in data["dp_bayes_nb"]
    assert (files("dp_bayes_nb") / "page" / "dp_bayes.html").is_file()


def test_every_code_has_words():
    "What readers note and what the engine refuses stands in strings.js, and nothing else does."
    strings = (ROOT / "page" / "strings.js").read_text(encoding="utf-8")
    said = {
        name: {*re.findall(r"^    (\w+): \(", strings.split(f"\n  {name}: {{")[1].split("\n  },")[0], re.M)}
        for name in ("notes", "refused")
    }
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "page" / "reader").glob("*.js")))
    codes = {
        *re.findall(r'(?:asked|assumed)\(\s*"(\w+)"', source),
        *re.findall(r'code: "(\w+)"', source),
        *re.findall(r'Damaged\("(\w+)"', source),
        *re.findall(r'misfit\(\s*"(\w+)"', source),
        *(f"cannot_{code}" for code in re.findall(r'cannot\("(\w+)"', source)),
        *re.findall(r'stopped\("refused", "(\w+)"', source),
        *(f"lacks_{code}" for code in re.findall(r'lacks\.push\("(\w+)"', source)),
        *(f"beyond_{code}" for code in re.findall(r'beyond\.push\("(\w+)"', source)),
    }
    codes |= {
        "bare",
        "lambda",
        "blank",
        "comma",
        "beyond_law",
        "beyond_percent",
        "beyond_random",
        "beyond_units",
        "two_numbers",
        "two_noisy_numbers",
        "unreadable",
        "categories",
        "instead",
    }
    assert codes == said["notes"], codes ^ said["notes"]
    engine = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "page" / "engine").glob("*.js")))
    refused = {*re.findall(r'refuse\("(\w+)"', engine)}
    assert refused <= said["refused"], refused - said["refused"]


# ---- the lines of Python ----

POSTERIORS = """
import { read } from "ROOT/page/reader/index.js";
import { answered } from "ROOT/page/view/answer.js";
import { python } from "ROOT/page/view/python.js";
import { S } from "ROOT/page/strings.js";
const cdfs = (posterior, at) => at.map(v => [posterior.cdf(v - (posterior.whole ? 1 : 0)), posterior.cdf(v)]);
export const examples = () => Object.entries(S.examples);
export const lines = text => {
  const reading = read(text);
  return { question: reading.question, code: python(reading) };
};
export const levels = (text, values) => {  // between which levels of the page's posteriors values lie
  const answer = answered(read(text).asks);
  const all = [...(answer.cells ?? []).map(cell => cell.posterior), answer.posterior];
  return { levels: all.map((posterior, k) => cdfs(posterior, values[k])), above: answer.above ?? null };
};
"""
LEVELS, DRAWS = (0.5, 0.025, 0.975), 4000


@pytest.fixture(scope="module")
def posteriors(tmp_path_factory):
    "Functions of the page around its answers, to call in Node."
    folder = tmp_path_factory.mktemp("page")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "calls.js").write_text(POSTERIORS.replace("ROOT", f"file://{ROOT}"))
    return lambda name, *given: node([("calls.js", name, *each) for each in given], folder)


def printed_by(code):
    "What the lines print, as objects: `print` is replaced."
    said = []
    exec(compile(code, "the page", "exec"), {"print": said.append, "__name__": "__page__"})
    return said


def columns(question, said):
    "The quantiles at LEVELS of each thing that is asked, from what the lines print."
    if question == "compare":
        row = said[0].iloc[0]
        return [[row["median"], row["low"], row["high"]]]
    if question == "table":
        return [*said[0].to_numpy().tolist(), said[1].tolist()]
    return [said[0].tolist()]


def agree(found):
    "Do levels of values lie where they should, within four standard errors of the draws?"
    return all(
        low - 4 * math.sqrt(p * (1 - p) / DRAWS) <= p <= high + 4 * math.sqrt(p * (1 - p) / DRAWS)
        for each in found
        for p, (low, high) in zip(LEVELS, each)
    )


SHARES = "A: 310 of 1150\nB: 210 of 1150\nLaplace, scale 10; the totals are exact"


@pytest.mark.parametrize(
    "question", ["count", "share", "rate", "compare", "table", "hidden", "rounded share", "shares"]
)
def test_the_lines_of_python_give_the_same(posteriors, question):
    more = {"rounded share": "310 of 1150\nrounded to 5", "shares": SHARES}
    text = {**dict(posteriors("examples", ())[0]), **more}[question]
    (made,) = posteriors("lines", (text,))
    question = {"rounded share": "share", "shares": "compare"}.get(question, question)
    assert made["question"] == question
    said = printed_by(made["code"])
    values = columns(question, said)
    unit = 1 if question in ("share", "rate") or text == SHARES else 20
    wrong = [[v + unit * 0.25 * (max(each) - min(each) or 1) for v in each] for each in values]
    right, moved = posteriors("levels", (text, values), (text, wrong))
    assert agree(right["levels"]), (values, right)
    assert not agree(moved["levels"]), "numbers a quarter of the width away are found out"
    if question == "compare":
        assert abs(right["above"] - said[0].iloc[0]["above"]) < 4 * math.sqrt(0.25 / DRAWS)


def test_the_lines_of_a_table_of_a_file_have_its_total(posteriors):
    "The records of a Categorical release are exact in number; rows with the same noise are written once."
    (made,) = posteriors("lines", ((ROOT / "nbs" / "releases" / "education.json").read_text(),))
    assert "8802]" in made["code"]
    assert "noise=[Laplace(scale=200, discrete=True)] * 7 + [Laplace(scale=0)]" in made["code"]
    published = {}
    exec(made["code"].split("counts = fit")[0], published)
    release = published["published"]
    assert release.noise.scale.tolist() == [200.0] * 7 + [0.0] and release.matrix[-1].tolist() == [1.0] * 7


# ---- in a browser ----

playwright = (
    None
    if chromium() is None
    else pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install -e '.[dev]'")
)
browser_only = pytest.mark.skipif(
    chromium() is None,
    reason="Chromium is not installed, so the page was not opened in a browser (Debian: apt-get install chromium)",
)
WATCH = """
addEventListener("securitypolicyviolation", event => { (window.refused ??= []).push(event.violatedDirective); });
new MutationObserver((_, self) => {
    const big = document.getElementById("big");
    if (big && big.textContent) { window.answeredAt = performance.now(); self.disconnect(); }
}).observe(document, { subtree: true, childList: true, characterData: true });
"""
QUESTIONS = ("count", "share", "rate", "compare", "table", "hidden")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def opened(browser):
    "Open the page, offline; at the end nothing was requested, refused by the policy, or wrong in a script."
    said, contexts = [], []

    def open_page(width=1280, height=900, path=PAGE, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, offline=True, locale=options.pop("locale", "en-GB"), **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.add_init_script(WATCH)
        page.on(
            "request",
            lambda r: said.append(f"request to {r.url}") if not r.url.startswith(("data:", path.as_uri())) else None,
        )
        page.on("pageerror", lambda e: said.append(f"script error: {e}"))
        page.on("console", lambda m: said.append(f"console: {m.text}"))
        page.on("dialog", lambda d: (said.append(f"dialog: {d.message}"), d.dismiss()))
        page.goto(path.as_uri())
        return page

    open_page.said = said
    yield open_page
    for context in contexts:
        context.close()
    assert not said, said


def typed(page, text):
    page.locator("#box").fill(text)
    page.locator("body:not(.stale)").wait_for()  # a slow answer waits for a pause
    return page.locator("#big").inner_text() if page.locator("#answer").is_visible() else None


def numbers_in(text):
    return [float(v.replace("−", "-").replace(",", "")) for v in re.findall(r"[-−]?\d[\d,]*(?:\.\d+)?", text)]


@browser_only
def test_the_first_answer_is_there_within_a_second(opened, record_property):
    "The fastest of three cold pages, because another process may hold the processor."
    times = []
    for _ in range(3):
        page = opened()
        page.locator("#big", has_text="312").wait_for()
        assert page.locator("#big").inner_text() == "312" and page.locator("#between").inner_text() == "306 to 318"
        times.append(page.evaluate("window.answeredAt"))
    record_property("milliseconds to the first answer", times)
    print("milliseconds to the first answer:", *(round(each) for each in times))
    assert min(times) < 1000
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


@browser_only
def test_the_policy_is_in_force(opened):
    "What a script that got in would try: each of them is refused, and nothing leaves."
    page, asked = opened(), []
    page.on("request", lambda request: asked.append(request))
    tried = page.evaluate("""async () => {
        const out = {};
        out.fetch = await fetch("https://example.com/x").then(() => "done", () => "refused");
        out.markup = "done";
        try { document.body.insertAdjacentHTML("beforeend", "<p>"); } catch { out.markup = "refused"; }
        const script = document.createElement("script");
        try { script.text = "window.ran = 1"; document.body.append(script); } catch { }
        out.script = window.ran ? "done" : "refused";
        const image = new Image(); image.src = "https://example.com/x.png";
        const style = document.createElement("style");
        style.textContent = "h1 { color: rgb(1, 2, 3) }";
        document.head.append(style);
        out.style = getComputedStyle(document.querySelector("h1")).color === "rgb(1, 2, 3)" ? "done" : "refused";
        const frame = document.createElement("iframe"); frame.src = "https://example.com/"; document.body.append(frame);
        await new Promise(done => setTimeout(done, 200));
        return out;
    }""")
    assert set(tried.values()) == {"refused"}, tried
    refused = set(page.evaluate("window.refused"))
    assert {"connect-src", "img-src", "frame-src"} <= refused and any(
        each.startswith("style-src") for each in refused
    ), refused
    assert all(request.failure == "csp" for request in asked), [request.failure for request in asked]
    assert not [line for line in opened.said if line.startswith(("dialog", "script"))]
    opened.said.clear()  # the console says each refusal


@browser_only
def test_every_question_is_answered(opened, posteriors):
    page, shown = opened(), {}
    for question in QUESTIONS:
        page.locator(f"label[for=q-{question}]").click()
        shown[question] = page.locator("#big").inner_text(), page.locator("#between").inner_text()
        for part in ("#naive", "#quote", "#understood"):
            assert page.locator(part).inner_text().strip(), (question, part)
        (made,) = posteriors("lines", (page.locator("#box").input_value(),))
        assert page.locator("#python").inner_text() == made["code"]
        assert page.locator("#notes .asked, #notes .refused, #notes .misfit").count() == 0
        if question != "table":
            assert page.locator("svg.picture .said.ours").text_content() == "accounts for the noise"
            assert page.locator("svg.picture").get_attribute("aria-label").count("95% interval") >= 1
    assert shown["count"] == ("312", "306 to 318")
    assert shown["rate"] == ("40.7%", "30.0% to 52.1%")  # recipe "A rate of two noisy counts"
    assert shown["compare"] == ("7", "−1 to 15")  # recipe "Is A larger than B?"
    assert page.locator("#naive").inner_text() == "There is nothing to go by: the number was not printed."
    page.locator("label[for=q-table]").click()
    rows = [row.inner_text().split("\t") for row in page.locator("#table tbody tr").all()]
    assert [row[0] for row in rows] == ["Elm", "Oak", "Ash", "Fir", "total"] and rows[2][1] == "hidden"


@browser_only
def test_typing_answers_at_once_and_says_what_was_read(opened):
    page = opened()
    assert typed(page, "") is None and page.locator("#read").is_hidden()
    page.locator("#box").press_sequentially("41 deaths, Laplace noise of scale 3")
    page.locator("body:not(.stale)").wait_for()
    assert page.locator("#big").inner_text() == "41"
    assert "Laplace noise of scale 3" in page.locator("#understood").inner_text()
    typed(page, "\n".join(f"cell {k}, {37 * k % 400 + 5}" for k in range(199)) + "\nLaplace, scale 10")
    assert page.locator("#table tbody tr").count() == 200
    typed(page, "41 deaths, Laplace noise of scale 3")  # after a slow answer this one may wait, and is marked so
    page.locator("body:not(.stale)").wait_for()
    assert page.locator("#big").inner_text() == "41"
    assert typed(page, "1.204\nLaplace, scale 2") is None
    page.get_by_role("button", name="1,204", exact=True).click()
    assert page.locator("#big").inner_text() == "1,204"
    assert typed(page, '{"a": "' + "x" * 1_000_000 + '"}') is None and page.locator("#big").is_hidden()
    assert typed(page, "312 people\nLaplace noise of scale 10 was not added to this table") is None
    assert page.locator("#python-part").is_hidden() and page.locator("#understood").inner_text() == "312 people"
    assert typed(page, "312") is None and "Nothing says which noise" in page.locator("#notes").inner_text()
    page.get_by_role("button", name="Choose it from fields").click()
    assert page.evaluate("document.activeElement.id") == "f-law"
    page.get_by_label("Noise", exact=True).select_option("gaussian")
    page.get_by_label("Size", exact=True).fill("3")
    assert page.locator("#between").inner_text() == "306 to 318"
    page.get_by_label("Size", exact=True).fill("three")
    assert page.get_by_label("Size", exact=True).get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="Back to the footnote").click()
    assert typed(page, "7 of 5\nno noise") is None and page.locator("#notes .refused").count() == 1
    assert typed(page, "-30\nLaplace, scale 1") is None and "too far below 0" in page.locator("#notes").inner_text()
    assert typed(page, "12\nrounded to 5; no noise") is None and "not a multiple" in page.locator("#notes").inner_text()


@browser_only
def test_files_are_opened_and_a_broken_seal_is_refused(opened, tmp_path):
    page = opened()
    share = ROOT / "nbs" / "releases" / "health_limit.json"
    page.locator("#file").set_input_files(share)
    page.locator("#notes").get_by_text("The seal is unbroken").wait_for()
    assert page.locator("#q-share").is_checked() and page.locator("#big").inner_text().startswith("13.8")
    assert 'Release.load("health_limit.json")' in page.locator("#python").inner_text()
    broken = tmp_path / "broken.json"
    broken.write_text(share.read_text().replace("1215", "1200"))
    page.locator("#file").set_input_files(broken)
    page.locator("#notes").get_by_text("its seal is broken").wait_for()
    assert page.locator("#answer").is_hidden() and page.locator("#python-part").is_hidden()
    page.locator("#file").set_input_files(ROOT / "nbs" / "releases" / "wages_1.json")
    page.locator("#notes").get_by_text("a release of LinearRegression with 9 numbers").wait_for()
    assert page.locator("#answer").is_hidden() and "Release.load" in page.locator("#python").inner_text()
    table = tmp_path / "cells.csv"
    table.write_text("area,count\nElm,45\nOak,20\nFir,310\ntotal,381\n")
    page.locator("#file").set_input_files(table)
    page.locator("#notes").get_by_text("Nothing says which noise").wait_for()
    page.get_by_role("button", name="Choose it from fields").click()
    page.get_by_label("Noise", exact=True).select_option("laplace")
    page.get_by_label("Size", exact=True).fill("2")
    assert page.locator("#table tbody tr").count() == 4
    picture = tmp_path / "picture.csv"
    picture.write_bytes(b"\x89PNG\xff\xfe\x00")
    page.locator("#file").set_input_files(picture)
    page.locator("#notes").get_by_text("could not be read as text").wait_for()


def files():
    "A table of counts with its total, a share, and a single count, as files."
    from dp_bayes_nb import Bernoulli, Counts, Laplace, declare

    noise = {"noise": Laplace(scale=2, discrete=True), "source": "an office"}
    table = declare(Counts(["Elm", "Oak", "Ash"]), [45, 20, 9], **noise)
    share = declare(Bernoulli("ill"), 312, n=1150, **noise)
    return table.to_json(), share.to_json(), declare(Counts(["all"]), [41], **noise).to_json()


@browser_only
def test_no_example_stands_in_the_place_of_a_file(opened, tmp_path):
    page = opened()
    for name, text in zip(("table", "share", "count"), files()):
        path = tmp_path / f"{name}.json"
        path.write_text(text)
        page.locator("#file").set_input_files(path)
        page.locator("#notes").get_by_text("The seal is unbroken").wait_for()
        for question in QUESTIONS:
            page.locator(f"label[for=q-{question}]").click()
            assert page.locator(f"#q-{question}").is_checked()
            assert f"{name}.json" in page.locator("#box").input_value(), (name, question)
            answered = page.locator("#answer").is_visible()
            assert answered != (page.locator("#notes .misfit").count() == 1), (name, question)
            said = page.locator("#understood").inner_text() + page.locator("#python").text_content()
            assert not [number for number in ("131", "118", "385") if number in said], (name, question, said)
        page.get_by_role("button", name="Clear").click()
    csv = tmp_path / "cells.csv"
    csv.write_text("area,count\nElm,45\nOak,20\nLaplace scale 2\n")
    page.locator("#file").set_input_files(csv)
    page.locator("#table tbody tr").first.wait_for()
    page.locator("label[for=q-compare]").click()
    assert page.locator("#big").inner_text() == "25" and "Elm" in page.locator("#box").input_value()


HOSTILE = (
    "<img src=x onerror=hit()>",
    '"><script>hit()</script>',
    "<svg/onload=hit()>",
    "javascript:hit()",
    "${hit()}",
    "{{hit()}}",
    "'-hit()-'",
    "</script><script>hit()</script>",
    "<iframe srcdoc='<script>parent.hit()</script>'>",
    "</textarea><img src=x onerror=hit()>",
    "&lt;img src=x onerror=hit()&gt;",
    "&#60;script&#62;hit()&#x3c;/script&#x3e;",
    "<a href=javascript:hit()>x</a>",
    "<style>*{background:url(https://example.com)}</style>",
    "__proto__",
    "constructor",
    "\u202egnp",
    'a\\"); hit(); ("',
)


def hostile_texts():
    for bad in HOSTILE:
        yield f"{bad}, 312\nLaplace, scale 2"
        yield f'"{bad}", 312\nLaplace, scale 2'
        yield f"312 {bad}\nLaplace, scale 2"
        yield f"312\nLaplace, scale 2\n{bad}"
        yield f"312\nLaplace, scale {bad}"
        yield f"Source: {bad}\n312\nLaplace, scale 2"
        yield f'{bad}: 131\n"{bad}": 124\nLaplace, scale 2'
        yield f"{bad}, 45\nb, {bad}\nc, 9\n{bad} total, 60\nLaplace, scale 2"
        yield f"name,{bad},count\na,{bad},3\nb,{bad},4\nc,{bad},5\nLaplace, scale 2"
        yield json.dumps({"schema": bad, "names": [bad], bad: bad})


@browser_only
def test_nothing_that_is_typed_or_dropped_runs(opened, tmp_path):
    from dp_bayes_nb import Counts, Laplace, declare

    page = opened()
    page.evaluate("() => { window.hits = 0; window.hit = () => { window.hits += 1; }; }")
    page.evaluate("hit()")
    assert page.evaluate("window.hits") == 1  # a hit is counted
    page.evaluate("() => { window.hits = 0; }")
    unwanted = "img, iframe, object, embed, a, base, form, script:not(:last-of-type), [onerror], [onload]"
    elements = f"() => document.querySelectorAll('{unwanted}').length"
    assert page.evaluate(elements) == 0
    page.evaluate(
        """texts => texts.forEach(text => {
            const box = document.getElementById('box');
            box.value = text;
            box.dispatchEvent(new Event('input'));
            for (const question of ['compare', 'table']) {
                const node = document.getElementById('q-' + question);
                node.checked = true;
                node.dispatchEvent(new Event('change'));
            }
        })""",
        [*hostile_texts()],
    )
    for bad in HOSTILE[::2]:
        page.get_by_role("button", name="Clear").click()
        page.locator("#box").fill("312")
        page.evaluate("document.getElementById('change').open = true")
        page.get_by_label("Noise", exact=True).select_option("laplace")
        page.get_by_label("Its size is given by", exact=True).select_option("epsilon")
        page.get_by_label("Printed", exact=True).select_option("rounded")
        for field in page.locator("#form input[type=text]").all():
            field.fill(bad)
        page.evaluate(
            """text => {
                const data = new DataTransfer();
                data.setData('text/plain', text);
                data.setData('text/html', text);
                document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
            }""",
            f"{bad}, 5\nLaplace, scale 1",
        )
        path = tmp_path / (re.sub(r"[/\0]", "_", bad) + ".json")
        names = [bad.replace("/", "_") + " ", "b"]
        path.write_text(
            declare(
                Counts([each.strip() for each in names]), [5, 7], noise=Laplace(scale=2), source=f"{bad} office"
            ).to_json()
        )
        page.locator("#file").set_input_files(path)
        page.locator("#notes").get_by_text("The seal is unbroken").wait_for()
        assert page.locator("#q-compare, #q-table").evaluate_all("nodes => nodes.some(node => node.checked)")
    assert page.evaluate("window.hits") == 0 and page.evaluate(elements) == 0
    assert page.evaluate("Object.keys(Object.prototype).length") == 0
    assert page.evaluate("window.refused ?? []") == []


@browser_only
def test_a_long_paste_is_answered_in_words_at_once(opened):
    page = opened()
    spent = page.evaluate("""text => {
        const start = performance.now(), data = new DataTransfer(), box = document.getElementById('box');
        data.setData('text/plain', text);
        box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
        box.getBoundingClientRect();
        return performance.now() - start;
    }""", "Elm: 45\n" * 125_000)
    assert "1,000,000 characters" in page.locator("#notes").inner_text() and page.locator("#answer").is_hidden()
    assert len(page.locator("#box").input_value()) < 500 and spent < 5000  # milliseconds
    page.get_by_role("button", name="Clear").click()
    assert typed(page, "312\nLaplace, scale 2") == "312"


@browser_only
def test_what_takes_too_long_is_refused_and_its_lines_of_python_stay(opened):
    page = opened()
    text = "A, 300000\nB, 300000\nGaussian noise of sd 2000 on whole numbers, then randomly rounded to base 100000"
    assert typed(page, text) is None
    assert "Try the Python package" in page.locator("#notes .refused").inner_text()
    assert "RandomRounded(100000)" in page.locator("#python").text_content()
    assert page.locator("#python-part").is_visible()
    assert typed(page, "7 of 5\nno noise") is None and page.locator("#python-part").is_hidden()
    assert typed(page, "312\nLaplace, scale 2") == "312"


@browser_only
def test_a_page_that_took_texts_for_markup_is_found_out(opened, tmp_path, monkeypatch):
    "The same hostile text in a page built wrongly: markup in place of texts, and no policy."
    import page as tool

    shutil.copytree(ROOT / "page", tmp_path / "page")
    dom = tmp_path / "page" / "view" / "dom.js"
    source = dom.read_text(encoding="utf-8")
    markup = "node.innerHTML = [...node.childNodes].map(c => c.outerHTML ?? c.data).join('');\n  return node;"
    assert source.count("return node;") == 1
    dom.write_text(source.replace("return node;", markup), encoding="utf-8")
    monkeypatch.setattr(tool, "SOURCES", tmp_path / "page")
    wrong = tmp_path / "wrong.html"
    wrong.write_text(re.sub(r"<meta http-equiv=[^>]*>", "", tool.build()), encoding="utf-8")
    page = opened(path=wrong)
    page.evaluate("() => { window.hits = 0; window.hit = () => { window.hits += 1; }; }")
    page.locator("#box").fill(f'"{HOSTILE[0]}", 312\nLaplace, scale 2')
    page.wait_for_function("window.hits > 0")
    opened.said.clear()  # the image that is not there


def test_names_cannot_leave_the_lines_of_python(posteriors):
    import ast

    texts = [f"{bad}: 131\nb: 124\nLaplace, scale 2" for bad in HOSTILE] + [
        "'''\\\"\"\"\u2028\x07: 131\nb: 124\nLaplace, scale 2"
    ]
    for made in posteriors("lines", *((text,) for text in texts)):
        if made["code"] is None:
            continue
        tree = ast.parse(made["code"])
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert calls <= {"Counts", "Laplace", "declare", "fit", "contrast", "print"}, made["code"]


@browser_only
def test_everything_goes_by_keyboard(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "q-count"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "q-share" and page.locator("#q-share").is_checked()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "box"
    page.keyboard.press("Control+a")
    page.keyboard.type("50 of 200, Laplace noise of scale 4")
    page.locator("#big", has_text="25.2%").wait_for(timeout=20_000)
    seen, unseen = [], []
    for _ in range(40):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => { const node = document.activeElement, style = getComputedStyle(node);
            const name = node === document.body ? 'BODY' : node.id || node.textContent.slice(0, 30) || node.tagName;
            return [name, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2]; }""")
        if found[0] == "BODY" or found[0] in [each for each in seen]:
            break
        seen.append(found[0])
        unseen += [] if found[1] else [found[0]]
        if found[0] == "Change what was read":
            page.keyboard.press("Enter")
    assert not unseen, f"no ring around {unseen}"
    assert {
        "open",
        "example",
        "clear",
        "Change what was read",
        "f-law",
        "f-by",
        "f-size",
        "f-whole",
        "f-printed",
        "copy-quote",
        "python",
        "copy-python",
    } <= {*seen}, seen
    page.locator("#copy-quote").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copied").wait_for()


@browser_only
def test_screen_readers_are_told(opened):
    page = opened()
    for question in QUESTIONS:
        page.locator(f"label[for=q-{question}]").click()
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        unnamed = page.evaluate("""() =>
            [...document.querySelectorAll('input, select, textarea, button, summary, svg[role=img], pre')]
            .filter(node => node.checkVisibility())
            .filter(node => !(node.labels?.length || node.getAttribute('aria-label')
                || node.getAttribute('aria-labelledby') || node.textContent.trim()))
            .map(node => node.outerHTML.slice(0, 80))""")
        assert unnamed == [], unnamed
        assert page.locator("#live").inner_text() == page.locator("#quote").inner_text()
    assert page.evaluate("document.documentElement.lang") == "en" and page.title()
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(node => Number(node.tagName[1]))")
    assert levels[0] == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:]))
    assert page.locator("fieldset legend").inner_text() and page.locator("main").count() == 1


CONTRAST = """() => {
    const parts = text => text.match(/[\\d.]+/g).map(Number);
    const linear = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
    const behind = node => {
        for (; node; node = node.parentElement) {
            const color = parts(getComputedStyle(node).backgroundColor);
            if (color.length < 4 || color[3] > 0) return color;
        }
        return [255, 255, 255];
    };
    const written = node => [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
    return [...document.querySelectorAll('body *')]
        .filter(node => node.checkVisibility() && !node.closest('.unseen, noscript, option') && written(node))
        .map(node => {
            const style = getComputedStyle(node), size = parseFloat(style.fontSize);
            const ink = parts(node.namespaceURI.includes('svg') ? style.fill : style.color);
            const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
            return [(a + .05) / (b + .05), size >= 24 ? 3 : 4.5, `${node.tagName} ${node.textContent.slice(0, 30)}`];
        })
        .filter(([ratio, least]) => ratio < least);
}"""


@browser_only
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width_and_scheme_can_be_read(opened, scheme):
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for width in (390, 320, 1280):
        page = opened(width=width, color_scheme=scheme)
        for question in QUESTIONS:
            page.locator(f"label[for=q-{question}]").click()
            page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
            assert page.evaluate(wide) <= 0, (question, width)
            poor = page.evaluate(CONTRAST)
            assert not poor, (question, scheme, poor)
        page.locator("#box").fill(
            "\n".join(f"{'a very long name ' * 5}{k}, {10**9 + k}" for k in range(9))
            + "\nLaplace, scale 2\n"
            + "x" * 300
        )
        assert page.evaluate(wide) <= 0, width
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", dark)[:3])) < 200) == (scheme == "dark")


@browser_only
def test_numbers_stand_in_the_readers_own_writing(opened):
    page = opened(locale="de-DE")
    typed(page, "12345 of 20000\nLaplace, scale 20")
    assert re.fullmatch(r"\d\d,\d+\s%", page.locator("#big").inner_text())
    typed(page, "12345\nLaplace, scale 20")
    assert page.locator("#big").inner_text() == "12.345"
    assert "12345" in page.locator("#python").inner_text()
    assert typed(page, "12.450 ± 16 at 95%") is None
    page.get_by_role("button", name="Gaussian noise", exact=True).click()
    assert page.locator("#big").inner_text() == "12.450"
    assert "12.450 was read as it is written in your language" in page.locator("#notes").inner_text()
    assert "12.434 and 12.466" in page.locator("#quote").inner_text()
    typed(page, "<1000 Menschen")
    assert "printed as <1.000" in page.locator("#quote").inner_text()


@browser_only
def test_the_file_of_the_readme_is_opened(opened, tmp_path):
    from dp_bayes_nb import Counts, Gaussian, declare

    path = tmp_path / "tract.json"
    path.write_text(
        declare(
            Counts(["one race", "two or more races"]), {"total": 1773.90, "one race": 1652.04},
            matrix=[[1, 1], [1, 0]], noise=[Gaussian(sd=1.64), Gaussian(sd=5.51)], source="US Census Bureau",
        ).to_json()
    )
    page = opened()
    page.locator("#file").set_input_files(path)
    page.locator("#notes").get_by_text("The seal is unbroken").wait_for()
    rows = [row.inner_text().split("\t")[:4] for row in page.locator("#table tbody tr").all()]
    assert rows == [
        ["one race", "1,652.04", "1,652", "1,641 to 1,663"],
        ["two or more races", "—", "122", "111 to 133"],
        ["total", "1,773.9", "1,774", "1,771 to 1,777"],
    ]
