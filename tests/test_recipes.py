"""Recipes are short: code at once, an answer, "If" lines, links. A page that is longer, or lacks one, is found.

That their answers are right is asserted in their hidden cells, which `tools/execute.py --check` runs.
"""

import ast
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "nbs" / "recipes"
RECIPES = sorted(path for path in FOLDER.glob("*.ipynb") if path.name != "00_index.ipynb")
LINES, LEAST, MOST, VARIATIONS = 12, 200, 450, range(2, 8)
ALLOWED = {"dp_bayes_nb", "numpy", "pandas"}


def source(cell):
    return "".join(cell["source"])


def prose(cells):
    "The words of a page: Markdown, the targets of links left out."
    return re.sub(r"\]\([^)]*\)", "]", "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown"))


def first_cells(cells):
    "Visible code up to the first output, the cell that shows it included."
    found = []
    for cell in cells:
        if cell["cell_type"] == "code" and not source(cell).startswith("#| hide"):
            found.append(source(cell))
            if cell["outputs"]:
                return found
    return []


def calls(text, name):
    "Whether a cell of code really calls a function."
    return any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
               for node in ast.walk(ast.parse(text)))


def faults(cells):
    "What is wrong with a recipe, a word for each."
    found, first, text = [], first_cells(cells), prose(cells)
    code = [line for cell in first for line in cell.splitlines() if line.strip() and not line.startswith("#|")]
    if not first:
        found.append("output")
    if len(code) > LINES:
        found.append("lines")
    imported = {(node.module if isinstance(node, ast.ImportFrom) else each.name).split(".")[0]
                for node in ast.walk(ast.parse("\n".join(code))) if isinstance(node, (ast.Import, ast.ImportFrom))
                for each in node.names}
    inner = re.search(r"^\s*(?:from|import) dp_bayes_nb\.", "\n".join(code), re.M)
    if not imported <= ALLOWED or "dp_bayes_nb" not in imported or inner:
        found.append("imports")
    kinds = [cell["cell_type"] for cell in cells if not source(cell).startswith("#| hide")]
    if kinds[:2] != ["markdown", "code"]:
        found.append("late")
    if not re.match(r"# [^\n]+\n\n> [^\n]+$", source(cells[0])):
        found.append("title")
    if not LEAST <= len(text.split()) <= MOST:
        found.append("words")
    if len(re.findall(r"^- If .+$", text, re.M)) not in VARIATIONS:
        found.append("variations")
    if not re.search(r"^More: \[", text, re.M):
        found.append("more")
    if len(re.findall(r"^> ", text, re.M)) < 2:
        found.append("sentence")
    if not any(calls(source(cell), "must_fail") for cell in cells if source(cell).startswith("#| hide")):
        found.append("unfailing")
    return found


def page(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_is_short_and_complete(path):
    assert faults(page(path)) == []


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_exports_nothing(path):
    text = path.read_text(encoding="utf-8")
    assert "default_exp" not in text and "#| export" not in text


def test_there_are_fifteen_recipes():
    assert len(RECIPES) == 15


def markdown(text):
    return {"cell_type": "markdown", "source": [text]}


def code(text, *outputs):
    return {"cell_type": "code", "source": [text], "outputs": list(outputs)}


def made_up(**changed):
    "A recipe without faults, or with the parts that are changed."
    parts = {"title": "# A question\n\n> A line", "imports": "from dp_bayes_nb import fit", "code": "fit(1)",
             "outputs": ["1"], "quoted": "> A sentence for a report.", "words": "word " * 210,
             "variations": "- If n is unknown: n=None.\n- If it is rounded: printed=Rounded(5).",
             "more": "More: [a chapter](../posterior/04_fit.ipynb)", "checks": "#| hide\nmust_fail(check, 'wrong')",
             } | changed
    said = [markdown(parts[name]) for name in ("quoted", "words", "variations", "more")]
    return [markdown(parts["title"]), code(parts["imports"]), code(parts["code"], *parts["outputs"]),
            code(parts["checks"]), *said]


@pytest.mark.parametrize("changed, wanted", [
    ({}, ""),
    ({"code": "x = 1\n" * 11}, ""),
    ({"code": "x = 1\n" * 12}, "lines"),
    ({"outputs": []}, "output imports"),
    ({"imports": "import scipy\nfrom dp_bayes_nb import fit"}, "imports"),
    ({"imports": "from dp_bayes_nb.posterior.fit import fit"}, "imports"),
    ({"imports": "import numpy as np"}, "imports"),
    ({"imports": "import numpy as np\nfrom dp_bayes_nb import fit"}, ""),
    ({"title": "# A question\n\nA line"}, "title sentence"),
    ({"words": "word " * 100}, "words"),
    ({"words": "word " * 450}, "words"),
    ({"words": "[word](" + "long/" * 400 + ") " + "word " * 210}, ""),
    ({"variations": "- If n is unknown: n=None."}, "variations"),
    ({"variations": "- When n is unknown: n=None.\n- When rounded: Rounded(5)."}, "variations"),
    ({"more": "See also a chapter."}, "more"),
    ({"quoted": "A sentence."}, "sentence"),
    ({"checks": "#| hide\ncheck()"}, "unfailing"),
    ({"checks": "#| hide\n# must_fail(check, 'a comment')\ntext = 'must_fail(check)'"}, "unfailing"),
    ({"checks": "must_fail(check, 'in sight')"}, "unfailing")])
def test_faults_of_recipes_are_really_looked_for(changed, wanted):
    assert faults(made_up(**changed)) == wanted.split()


def test_prose_before_the_code_is_found():
    cells = made_up()
    assert faults([cells[0], markdown("A derivation first."), *cells[1:]]) == ["late"]
