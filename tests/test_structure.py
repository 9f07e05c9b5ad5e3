"""The house as DESIGN and CONTRIBUTING describe it: folders, arrows, towers of classes, sizes.

The arrows bind exported cells, not tests. `python tools/structure.py` prints the same figures.
"""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dp_bayes_nb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import structure  # noqa: E402

LIB = "dp_bayes_nb"
HOUSE = structure.House(ROOT)
RIGHT = ("base", "noise", "models", "releases", "posterior", "regression", "naive_bayes", "hidden_markov", "tables")
ENGINES = ("duckdb", "narwhals", "opendp", "pandas", "polars", "pyarrow")
LONG_CELLS = 96  # exported cells over 40 lines, at most; lower it when it falls
NOTEBOOK = 400_000  # bytes


def source(cell):
    return "".join(cell["source"])


# ---------------------------------------------------------------- the tree


def test_nbs_and_the_package_are_the_same_tree():
    "Each exporting notebook is the module of its own path, and each module has its notebook."
    exported = {}
    for path in structure.notebooks(ROOT):
        place = path.relative_to(ROOT / "nbs").with_suffix("")
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            found = re.search(r"^#\|\s*default_exp\s+(\S+)", source(cell), re.M)
            if cell["cell_type"] == "code" and found:
                exported[found[1]] = ".".join([*place.parts[:-1], re.sub(r"^\d\d_", "", place.name)])
    assert {module: name for module, name in exported.items() if module != name} == {}
    assert set(exported) == set(HOUSE.modules)


def test_files_are_numbered_in_reading_order_without_letters():
    for folder in {path.parent for path in structure.notebooks(ROOT)} - {ROOT / "nbs"}:
        names = sorted(path.name for path in folder.glob("*.ipynb"))
        assert [name[:3] for name in names] == [f"{k:02d}_" for k in range(len(names))], folder
        assert names[0] == "00_index.ipynb", "a folder opens with a page that says what it is for"


def test_only_the_command_stands_outside_the_folders():
    assert {name for name in HOUSE.modules if "." not in name} == {"cli"}
    for path in (ROOT / LIB).glob("*/__init__.py"):
        assert path.read_text().strip() == "", path
    folders = {path.parent for path in (ROOT / LIB).glob("*/*.py")}
    assert all((folder / "__init__.py").is_file() for folder in folders)
    assert {folder.name for folder in folders} <= set(structure.FOLDERS)


def test_no_module_of_the_package_has_a_public_functions_name():
    "`from dp_bayes_nb import fit` and `import dp_bayes_nb.fit` cannot mean two things."
    there = {path.stem for path in (ROOT / LIB).glob("*")}
    assert there & set(dp_bayes_nb.__all__) == set()
    for name in structure.FOLDERS:
        assert not hasattr(dp_bayes_nb, name) or inspect.ismodule(getattr(dp_bayes_nb, name))


# ---------------------------------------------------------------- arrows


def test_a_folder_imports_only_folders_above_it():
    assert HOUSE.upward() == []


def test_modules_do_not_import_one_another_in_circles():
    assert HOUSE.circles() == []


def test_the_arrows_are_really_looked_at(tmp_path):
    "An import upwards, at the top or inside a function, relative or absolute, and a circle are found."
    for name, text in {"base/a.py": "def f():\n    from ..posterior.b import g\n",
                       "posterior/b.py": "from ..base.c import h\n",
                       "base/c.py": "from dp_bayes_nb.posterior import b\n",
                       "posterior/d.py": "from . import b\n"}.items():
        path = tmp_path / LIB / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    house = structure.House(tmp_path)
    assert house.upward() == ["base.a imports posterior.b", "base.c imports posterior.b"]
    assert house.circles() == ["base.c", "posterior.b"]


def test_opendp_is_imported_by_the_data_holder_only():
    users = {structure.folder(name) for name in HOUSE.modules if "opendp" in HOUSE.outside(name)}
    assert users == {"data_holder"}


@pytest.mark.parametrize("folder", RIGHT)
def test_the_analysts_rooms_import_no_table_engine_and_nothing_of_the_data_holder(folder):
    rooms = [name for name in HOUSE.modules if structure.folder(name) == folder]
    for name in rooms:
        at_import = HOUSE.closure(name)
        assert not {module for module in at_import if structure.folder(module) == "data_holder"}, name
        assert not {package for module in at_import
                    for package in HOUSE.outside(module, inside=False)} & set(ENGINES), name


def test_fit_loads_no_table_engine():
    "Seen from outside: what a fresh interpreter has loaded after importing the room of `fit`."
    module = dp_bayes_nb._public["fit"]
    code = f"import sys, {LIB}.{module}; print(sorted({{m.split('.')[0] for m in sys.modules}} & set({ENGINES!r})), " \
           f"[m for m in sys.modules if m.startswith('{LIB}.data_holder')])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert said.stdout.strip() == "[] []"


def test_whoever_imports_jax_computes_in_double_precision():
    "The room that sets it is reached from every module that imports JAX."
    for name in HOUSE.modules:
        if {"jax", "jaxtyping"} & set(HOUSE.outside(name, inside=False)):
            assert "base.arguments" in HOUSE.closure(name), name


# ---------------------------------------------------------------- the contract


def test_at_most_four_classes_of_the_project_stand_above_any_class():
    assert {name: count for name, count in HOUSE.towers().items() if count > 4} == {}


def test_at_most_four_classes_stand_above_any_model_as_python_sees_it():
    for name in dp_bayes_nb.__all__:
        value = getattr(dp_bayes_nb, name)
        if inspect.isclass(value):
            assert len([c for c in value.__mro__[1:] if c.__module__.startswith(LIB)]) <= 4, name


def test_generic_rooms_do_not_ask_a_model_what_it_has():
    asked = HOUSE.asked()
    assert len(asked) <= 5, asked
    assert [line for line in asked if structure.folder(line.split(":")[0]) not in structure.OWN] == []


def test_questions_to_a_model_are_really_looked_for(tmp_path):
    path = tmp_path / LIB / "posterior" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("hasattr(release.family, 'update')\ngetattr(model, name, None)\nhasattr(prior, 'x')\n")
    assert len(structure.House(tmp_path).asked()) == 2


# ---------------------------------------------------------------- sizes


def test_lines_are_at_most_120_characters():
    assert HOUSE.wide() == []
    wide = []
    for path in structure.notebooks(ROOT):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                wide += [f"{path.name}: {line[:80]}" for line in source(cell).splitlines()
                         if len(line) > structure.WIDTH and not line.startswith("#|")]
    assert wide == []


def test_few_cells_are_longer_than_40_lines():
    long = [(lines, notebook, first) for notebook, first, lines in HOUSE.cells() if lines > structure.LONG]
    assert len(long) <= LONG_CELLS, sorted(long, reverse=True)[:20]


def test_notebooks_stay_under_400_kilobytes():
    assert {path.name: path.stat().st_size for path in structure.notebooks(ROOT)
            if path.stat().st_size > NOTEBOOK} == {}


# ---------------------------------------------------------------- the package


def test_the_wheel_holds_every_folder(tmp_path):
    "What setup.py would pack, asked of setup.py itself."
    said = subprocess.run([sys.executable, "setup.py", "-q", "build", "--build-base", str(tmp_path / "build")],
                          cwd=ROOT, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    packed = {path.relative_to(tmp_path / "build" / "lib").as_posix()
              for path in (tmp_path / "build" / "lib").rglob("*") if path.is_file()}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / LIB).rglob("*.py")} | {f"{LIB}/py.typed"}
    assert packed >= there, sorted(there - packed)


def test_every_module_imports():
    for name in HOUSE.modules:
        importlib.import_module(f"{LIB}.{name}")


def test_files_of_releases_name_models_that_exist():
    "The table of models by name leads to classes, wherever they live now."
    contract = importlib.import_module(f"{LIB}.models.contract")
    for name, module in contract.MODELS.items():
        assert hasattr(importlib.import_module(f"{LIB}.{module}"), name), (name, module)


def test_links_between_notebooks_lead_to_notebooks():
    dead = []
    for path in structure.notebooks(ROOT):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                for link in re.findall(r"\]\(([^)#\s]+\.ipynb)", source(cell)):
                    if not (path.parent / link).is_file():
                        dead.append(f"{path.relative_to(ROOT)}: {link}")
    assert dead == []


def test_chapters_are_named_by_title_not_by_number():
    found = []
    for path in structure.notebooks(ROOT):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            found += [f"{path.name}: {m[0]}" for m in re.finditer(r"\b[Cc]hapters? \d[^\n]{0,30}", source(cell))]
    assert found == []


def test_the_syntax_of_every_exported_module_is_this_pythons():
    for name, text in HOUSE.texts.items():
        assert ast.parse(text, feature_version=(3, 11)), name
