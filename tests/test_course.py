"""The form of a lesson: what it needs, how long it takes, an opening question, a figure, two exercises with hidden
answers, and the way to the next one. And how long the ways of the page `start` take.
"""

import ast
import builtins
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


NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
TIMED = re.compile(r"^\d\. (\w+) minutes[^:\n]*: \[[^]\n]*\]\(([\w/]+\.ipynb)(?:#([\w-]+))?\)", re.M)


def reading(cells, anchor=None):
    "Minutes for all that is shown of a page, or below one of its headings: its words, with code and what it prints."
    text, level, count = "", 0 if anchor else 1, 0
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for line in source.splitlines():
                if anchor and (head := re.match(r"(#+) (.+)", line)):
                    here = re.sub(r"[^\w -]", "", head[2].lower()).replace(" ", "-") == anchor
                    level = len(head[1]) if here else 0 if level >= len(head[1]) else level
                text += re.sub(r"\]\([^)]*\)", "]", line) + "\n" if level else ""
        elif level and not re.match(r"#\|\s*hide", source):
            lines = [line for line in source.splitlines() if not line.startswith("#|")]
            printed = "".join(line for out in cell["outputs"] for line in out.get("text", []))
            count += len(re.findall(r"[^\W\d]\w+", "\n".join(lines))) + len(re.findall(r"\w+", printed))
    assert text, f"no heading {anchor}"
    return (len(text.split()) + count) / WORDS


def mistimed(text, least=10, most=20):
    "Durations of a text, and their sums by heading, that differ from what they link to, or are out of proportion."
    wrong = []
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        said = [(NUMBERS.index(number.lower()), path, anchor) for number, path, anchor in TIMED.findall(part)]
        for stated, path, anchor in said:
            if (NBS / path).parent == LESSONS[0].parent:  # a lesson says its own, with its exercises
                took = int(re.search(r"Time\*\*: (\d+)", read(NBS / path)[1][1])[1])
            else:
                took = reading(json.loads((NBS / path).read_text("utf-8"))["cells"], anchor)
            wrong += [(path, anchor, stated, round(took, 1))] if not -1 < took - stated <= 0 else []
        if not said or not least <= sum(stated for stated, *_ in said) <= most:
            wrong.append((part.splitlines()[0], sum(stated for stated, *_ in said)))
    return wrong


def start():
    "The prose of the page."
    return "\n\n".join(text for kind, text in read(NBS / "start.ipynb") if kind == "markdown")


def test_the_ways_of_the_start_take_as_long_as_they_say():
    assert mistimed(start()) == []
    assert len(TIMED.findall(start())) == len(re.findall(r"^\d\. ", start(), re.M))


def test_a_wrong_duration_is_found():
    text, (number, path, _) = start(), TIMED.findall(start())[0]
    longer = text.replace(f"1. {number} minutes", "1. Nine minutes", 1)
    assert [each[0] for each in mistimed(longer)][0] == path
    assert mistimed(re.sub(TIMED, "", text, count=9))[0][1] == 0
    page = [{"cell_type": "markdown", "source": ["# A\n## B\n" + "w " * 218 + "\n## C\nw"]}]
    assert round(reading(page, "b"), 1) == 1


# ---------------------------------------------------------------- what is shown can be copied
def unbound(cells):
    "Names that the visible code of a page uses before visible code has bound them."
    known, found = {*dir(builtins), "display"}, []
    for kind, text in cells:
        if kind != "code" or re.search(r"^#\|\s*(hide$|eval: false)", text, re.M):
            continue
        nodes = list(ast.walk(ast.parse(re.sub(r"^\s*[%!].*", "", text, flags=re.M))))
        known |= {alias.asname or alias.name.split(".")[0] for node in nodes
                  if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
        known |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler))}
        known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        found += sorted({node.id for node in names} - known)
    return found


@pytest.mark.parametrize("folder", ["course", "recipes", "tutorials", "questions"])
def test_visible_code_can_be_copied(folder):
    pages = {path.name: unbound(read(path)) for path in sorted((NBS / folder).glob("*.ipynb"))}
    assert len(pages) > 4 and {name: names for name, names in pages.items() if names} == {}


def test_an_import_that_is_hidden_is_found():
    hidden, shown = ("code", "#| hide\nimport numpy as np"), ("code", "import numpy as np")
    used = ("code", "#| fig-cap: \"A\"\nx = [np.sin(i) for i in range(3)]\n%time x")
    assert unbound([hidden, used]) == ["np"] and unbound([shown, used]) == unbound([("markdown", "np")]) == []
