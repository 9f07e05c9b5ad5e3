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
    "The exported modules in the order of their notebooks: name, notebook, syntax tree."
    found = []
    for path in (ROOT / "dp_bayes_nb").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        notebook = re.search(r"File to edit: \.\./nbs/(\S+)\.ipynb", text)
        if notebook:
            found.append((notebook[1], path.stem, ast.parse(text)))
    return [(name, notebook, tree) for notebook, name, tree in sorted(found, key=lambda row: row[0])]


def imported(tree):
    "Every module name imported anywhere in a tree; relative imports as `.name`."
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield "." * node.level + node.module
            else:
                yield from ("." * node.level + alias.name for alias in node.names)


def ours(name):
    "The module of this package that an import means, or None."
    found = re.match(r"(?:\.|dp_bayes_nb\.)(\w+)$", name)
    return found[1] if found else None


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, dp_bayes_nb; dir(dp_bayes_nb); print([m for m in {HEAVY + TOOLS!r} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in dp_bayes_nb.__all__:
        assert getattr(dp_bayes_nb, name).__name__ == name
        assert name in dir(dp_bayes_nb)


@pytest.mark.parametrize("order", ["from dp_bayes_nb import fit, release", "import dp_bayes_nb.fit, dp_bayes_nb.release"])
def test_a_function_is_not_shadowed_by_its_module(order):
    code = f"{order}\nfrom dp_bayes_nb import fit, release\nfrom dp_bayes_nb.fit import fit as f\nassert callable(fit) and callable(release) and f is fit"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_an_unknown_name_is_an_attribute_error_that_lists_the_names():
    with pytest.raises(AttributeError, match="no attribute 'relase'; its public names are .*release"):
        dp_bayes_nb.relase  # noqa: B018


def test_modules_import_only_from_lower_notebooks():
    rows = modules()
    assert len(rows) >= 5
    height = {name: notebook for name, notebook, _ in rows}
    for name, notebook, tree in rows:
        for other in filter(None, map(ours, imported(tree))):
            assert height[other] < notebook, f"{name} ({notebook}) imports {other} ({height[other]})"


def test_opendp_is_imported_only_where_noise_is_drawn():
    users = {notebook[:3] for _, notebook, tree in modules() for name in imported(tree) if name.split(".")[0] == "opendp"}
    assert users and users <= {"04b", "04c"}


def test_modules_import_without_the_notebook_tools():
    for name, _, tree in modules():
        assert not {found.split(".")[0] for found in imported(tree)} & set(TOOLS), name
    names = [f"dp_bayes_nb.{name}" for name, _, _ in modules()]
    code = f"import sys\nfor tool in {TOOLS!r}: sys.modules[tool] = None\nimport importlib\nfor name in {names!r}: importlib.import_module(name)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_version_and_command_are_those_of_settings():
    settings = (ROOT / "settings.ini").read_text(encoding="utf-8")
    assert dp_bayes_nb.__version__ == re.search(r"^version = (\S+)$", settings, re.M)[1] == version("dp_bayes_nb")
    command = next(iter(entry_points(group="console_scripts", name="dp-bayes")))
    module, function = command.value.split(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize("path", sorted(ROOT.glob("nbs/[34][0-9]_*.ipynb")), ids=lambda path: path.stem)
def test_a_tutorial_runs_as_it_is_shown(path):
    "What visible cells call is imported where a reader of the page sees it."
    shown, hidden, used = set(), set(), set()
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            hide, tree = source.startswith("#| hide"), ast.parse(source)
            imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
            (hidden if hide else shown).update((name.asname or name.name).split(".")[0] for node in imports for name in node.names)
            used |= set() if hide else {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert used & (hidden - shown) == set()
