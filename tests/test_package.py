"""What an installed package promises: fast import, public names, and rooms that stand on one another."""

import ast
import importlib
import json
import re
import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import dp_bayes_nb

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("jax", "numpy", "arviz", "duckdb", "opendp", "narwhals", "matplotlib", "pandas", "scipy")
TOOLS = ("nbdev", "fastcore", "IPython", "execnb", "pytest")


def modules():
    "The exported modules: name and syntax tree."
    found = {}
    for path in sorted((ROOT / "dp_bayes_nb").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(r"File to edit: (?:\.\./)+nbs/\S+\.ipynb", text):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts)] = ast.parse(text)
    return found


def imported(tree):
    "Every package imported anywhere in a tree, but this one."
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, dp_bayes_nb; dir(dp_bayes_nb); print([m for m in {HEAVY + TOOLS!r} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in dp_bayes_nb.__all__:
        assert getattr(dp_bayes_nb, name).__name__ == name
        assert name in dir(dp_bayes_nb)


def test_importing_rooms_leaves_the_public_names_alone():
    "No import of a room, in any order, puts a module in the place of a function."
    rooms = sorted({dp_bayes_nb._public[name] for name in ("fit", "release", "calibrate")})
    code = "".join(f"import dp_bayes_nb.{room}\n" for room in rooms) + (
        "import dp_bayes_nb\nfrom dp_bayes_nb import fit, release\n"
        "assert all(callable(getattr(dp_bayes_nb, name)) for name in dp_bayes_nb.__all__)\n"
        "assert fit.__module__.startswith('dp_bayes_nb.') and type(dp_bayes_nb).__name__ == 'module'")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_an_unknown_name_is_an_attribute_error_that_lists_the_names():
    with pytest.raises(AttributeError, match="no attribute 'relase'; its public names are .*release"):
        dp_bayes_nb.relase  # noqa: B018


def test_modules_import_without_the_notebook_tools():
    rows = modules()
    assert len(rows) >= 50
    for name, tree in rows.items():
        assert not set(imported(tree)) & set(TOOLS), name
    code = (f"import sys\nfor tool in {TOOLS!r}: sys.modules[tool] = None\nimport importlib\n"
            f"for name in {list(rows)!r}: importlib.import_module(name)")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_version_and_command_are_those_of_settings():
    settings = (ROOT / "settings.ini").read_text(encoding="utf-8")
    assert dp_bayes_nb.__version__ == re.search(r"^version = (\S+)$", settings, re.M)[1] == version("dp_bayes_nb")
    command = next(iter(entry_points(group="console_scripts", name="dp-bayes")))
    module, function = command.value.split(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize("path", sorted([*ROOT.glob("nbs/tutorials/*.ipynb"), *ROOT.glob("nbs/questions/*.ipynb")]),
                         ids=lambda path: path.stem)
def test_a_tutorial_runs_as_it_is_shown(path):
    "What visible cells call is imported where a reader of the page sees it."
    shown, hidden, used = set(), set(), set()
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            hide, tree = source.startswith("#| hide"), ast.parse(source)
            imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
            (hidden if hide else shown).update((name.asname or name.name).split(".")[0] for node in imports
                                               for name in node.names)
            used |= set() if hide else {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used & (hidden - shown) == set()
