"""The form of a lesson: what it needs, how long it takes, an opening question, a figure, two exercises with hidden
answers, and the way to the next one.
"""

import copy
import json
import re
from pathlib import Path

import pytest

NBS = Path(__file__).resolve().parent.parent / "nbs"
WORDS, MOST, SLACK = 220, 20, 3  # words a minute; minutes of a lesson; of the stated time from the computed one
ANSWER = re.compile(r"<details><summary>Answer</summary>\n\n.+?\n\n</details>", re.S)
LESSONS = [path for path in sorted((NBS / "course").glob("[0-9]*.ipynb"))
           if path.stem != "00_index" and not path.stem.endswith("_equations")]  # a list of formulas is no lesson


def read(path):
    "The cells of a notebook, each as its kind and its text."
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text("utf-8"))["cells"]]


def title(path):
    return read(path)[0][1].splitlines()[0].removeprefix("# ")


def minutes(cells):
    "What a lesson takes: its words at reading speed, and a minute for each cell of code that is shown."
    words = sum(len(text.split()) for kind, text in cells if kind == "markdown")
    shown = sum(kind == "code" and not re.match(r"#\|\s*hide", text) for kind, text in cells)
    return words / WORDS + shown


def faults(cells, before=None, after=None):
    "What is wrong with a lesson between two others, each given as title and file name, or None."
    said, prose = [], [text for kind, text in cells if kind == "markdown"]
    if not re.fullmatch(r"# [^\n]+\n\n> [^\n]+", cells[0][1]):
        said.append("title")
    opening = cells[1][1]
    head = re.match(r"\*\*Needs\*\*: (?P<needs>.+?) · \*\*Time\*\*: (?P<time>\d+) minutes · "
                    r"\*\*In the package\*\*: \[(?P<title>.+?)\]\(\.\./(?P<path>[\w/]+\.ipynb)\)\n\n", opening)
    if head is None:
        return [*said, "head"]
    if before and f"[{before[0]}]({before[1]})" not in head["needs"]:
        said.append("needs")
    if not (NBS / head["path"]).is_file() or title(NBS / head["path"]) != head["title"]:
        said.append("package")
    if abs(int(head["time"]) - minutes(cells)) > SLACK or int(head["time"]) > MOST:
        said.append("time")
    if not re.search(r"\w\?(\s|$)", opening[head.end():]) or not re.search(r"\d", opening[head.end():]):
        said.append("question")
    if not any(kind == "code" and re.search(r"^#\| fig-cap: .+$", text, re.M)
               and re.search(r"^#\| fig-alt: .+$", text, re.M) for kind, text in cells):
        said.append("figure")
    tasks = "\n\n".join(prose).partition("\n## Exercises\n")[2]
    found = re.split(r"^\*\*\d\.\*\* ", tasks, flags=re.M)[1:]
    if len(found) != 2 or not all(len(ANSWER.findall(task)) == 1 for task in found):
        said.append("exercises")
    end = re.fullmatch(r"\*\*Next\*\*: \[(.+?)\]\((.+?)\)\.? [^\n]+", cells[-1][1])
    if after and (end is None or (end[1], end[2]) != after):
        said.append("next")
    return said


def between(path):
    "The lessons before and after one, each as title and file name."
    at = LESSONS.index(path)
    ends = [LESSONS[k] if 0 <= k < len(LESSONS) else None for k in (at - 1, at + 1)]
    return [end and (title(end), end.name) for end in ends]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lessons_have_one_form(path):
    assert faults(read(path), *between(path)) == []


BROKEN = {
    "title": lambda cells: change(cells, 0, r"\n> .*", ""),
    "head": lambda cells: change(cells, 1, r"\*\*Time\*\*: \d+ minutes", "**Time**: some minutes"),
    "needs": lambda cells: change(cells, 1, r"\]\(\d\d_\w+\.ipynb\) · ", "](99_other.ipynb) · "),
    "package": lambda cells: change(cells, 1, r"\]\(\.\./(\w+)/\d\d_", r"](../\1/99_"),
    "time": lambda cells: change(cells, 1, r"(?<=Time\*\*: )\d+", "21"),
    "question": lambda cells: change(cells, 1, r"\?", "."),
    "figure": lambda cells: [(kind, text.replace("#| fig-alt", "#| fig-other")) for kind, text in cells],
    "exercises": lambda cells: [(kind, text.replace("<details>", "<details open>", 1)) for kind, text in cells],
    "next": lambda cells: change(cells, -1, r"\]\(\d\d_", "](99_"),
}


def change(cells, at, pattern, new):
    "A copy with one cell changed."
    made = copy.deepcopy(cells)
    made[at] = made[at][0], re.sub(pattern, new, made[at][1])
    return made


@pytest.mark.parametrize("fault", BROKEN)
def test_a_lesson_of_another_form_is_found_out(fault):
    path = LESSONS[1]
    assert faults(BROKEN[fault](read(path)), *between(path)) == [fault]


def test_time_is_counted():
    cells = read(LESSONS[1])
    longer = [*cells[:-1], ("markdown", "word " * 4 * WORDS), cells[-1]]
    assert faults(longer, *between(LESSONS[1])) == ["time"]
    assert minutes([("markdown", "word " * WORDS), ("code", "#| hide\n1"), ("code", "1")]) == 2
