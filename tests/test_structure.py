"""The house as DESIGN and CONTRIBUTING describe it: folders, arrows, towers of classes, sizes.

The arrows bind exported cells, not tests. `python tools/structure.py` prints the same figures.
"""

import ast
import builtins
import importlib
import inspect
import itertools
import json
import re
import subprocess
import symtable
import sys
from pathlib import Path

import pytest

import dp_bayes_nb
from dp_bayes_nb.models.contract import Model

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import structure  # noqa: E402

LIB = "dp_bayes_nb"
HOUSE = structure.House(ROOT)
RIGHT = ("base", "noise", "models", "releases", "curves", "counts", "chains", "ways", "posterior", "many", "fields",
         "regression", "naive_bayes", "hidden_markov", "tables")
ENGINES = ("duckdb", "narwhals", "opendp", "pandas", "polars", "pyarrow")
LONG_CELLS = 71  # exported cells over 40 lines without docstrings, at most; lower it when it falls
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


def test_scripts_of_two_folders_have_two_names():
    "Tests import from tools and from benchmarks in one process: the second of two equal names would not be found."
    def names(folder):
        return {path.stem for path in (ROOT / folder).iterdir() if path.suffix == ".py"
                or path.is_dir() and path.name != "__pycache__"}

    assert names("tools") & (names("benchmarks") | names("tests")) == set()


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


def backwards(places, house):
    "Imports of a chapter that is read later, by the places of the modules; the papers, app and command are free."
    return sorted({f"{name} imports {other}" for name in places if structure.folder(name) not in structure.FREE
                   for other, _ in house.imports(name) if places.get(other, -1) > places[name]})


def test_no_chapter_imports_a_later_one():
    "Folders in their order, and files by their numbers: that is the order of reading, and of the site's last part."
    read = [re.search(r"#\| default_exp ([\w.]+)", path.read_text(encoding="utf-8")) for room in structure.FOLDERS
            for path in sorted((ROOT / "nbs" / room).glob("[0-9]*.ipynb"))]
    places = {found[1]: k for k, found in enumerate(filter(None, read))}
    assert set(places) | {"cli"} == set(HOUSE.modules)
    assert backwards(places, HOUSE) == []
    turned = {name: -place for name, place in places.items()}
    assert len(backwards(turned, HOUSE)) > 500


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
    "The room that sets it is reached from every module that imports JAX; `later` names it for type checkers only."
    for name in {*HOUSE.modules} - {"base.later"}:
        if {"jax", "jaxtyping", "base.later"} & {*HOUSE.outside(name, inside=False), *HOUSE.closure(name)}:
            assert "base.arguments" in HOUSE.closure(name), name


# ---------------------------------------------------------------- the contract


def test_at_most_four_classes_of_the_project_stand_above_any_class():
    assert {name: count for name, count in HOUSE.towers().items() if count > 4} == {}


def test_at_most_four_classes_stand_above_any_model_as_python_sees_it():
    for name in dp_bayes_nb.__all__:
        value = getattr(dp_bayes_nb, name)
        if inspect.isclass(value):
            above = [c for c in value.__mro__[1:] if c.__module__.startswith(LIB)]
            assert len([c for c in above if c not in Model.__bases__]) <= 4, name


def twice(classes):
    "Parts, methods and fields, that two of these classes have."
    have = [{name for name in {*vars(cls), *vars(cls).get("__annotations__", {})} if not name.startswith("__")}
            for cls in classes]
    return sorted({name for one, other in itertools.combinations(have, 2) for name in one & other})


def test_each_part_of_the_contract_has_one_role():
    assert {(cls.__module__.removeprefix(f"{LIB}."), cls.__name__) for cls in Model.__bases__} == structure.ROLES
    assert twice([Model, *Model.__bases__]) == [] and {cls.__bases__ for cls in Model.__bases__} == {(object,)}
    assert {name.split(".")[-1] for name, tree in HOUSE.modules.items() for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef) for base in node.bases
            if getattr(base, "id", "") in {name for _, name in structure.ROLES}} == {"contract"}
    made_up = type("MadeUp", (), {"readings": None, "__annotations__": {"parameters": dict}, "own": 1})
    assert twice([*Model.__bases__, made_up]) == ["parameters", "readings"]


def test_generic_rooms_do_not_ask_a_model_what_it_has():
    asked = HOUSE.asked()
    assert len(asked) <= 5, asked
    assert [line for line in asked if structure.folder(line.split(":")[0]) not in structure.OWN] == []


def test_questions_to_a_model_are_really_looked_for(tmp_path):
    path = tmp_path / LIB / "posterior" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("hasattr(release.family, 'update')\ngetattr(model, name, None)\nhasattr(prior, 'x')\n")
    assert len(structure.House(tmp_path).asked()) == 2


# Of whole numbers: what their weights are, where they matter, their sums, and a sum divided into its parts.
COUNT_LAW = {"log_gamma_ratio", "first_true", "span", "coarse", "convolve", "draw_index", "split", "overlap"}


def convolving(module):
    "Where a module makes a convolution of its own, or turns around weights to multiply them."
    calls = ("convolve", "irfft", "fftconvolve", "sliding_window_view")
    return [ast.unparse(node)[:60] for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Call)
            and isinstance(node.func, (ast.Attribute, ast.Name))
            and getattr(node.func, "attr", getattr(node.func, "id", "")) in calls
            and (isinstance(node.func, ast.Attribute) or node.func.id != "convolve")]


def second_homes(house):
    "Functions of the law of counts that another module defines, and sums of counts that it makes itself."
    rooms = [name for name in house.modules if structure.folder(name) in ("counts", "posterior", "fields")
             and name != "counts.law"]
    return sorted([f"{name}.{node.name}" for name in rooms for node in ast.walk(house.modules[name])
                   if isinstance(node, ast.FunctionDef) and node.name.lstrip("_") in COUNT_LAW
                   and (not node.name.endswith("split") or node.args.args[0].arg == "rng")]  # others split a state
                  + [f"{name}: {call}" for name in rooms for call in convolving(house.texts[name])])


def test_the_law_of_counts_has_one_home(tmp_path):
    "A draw of o with probability proportional to f(o) g(r − o) stands in counts/law, and so does what leads to it."
    of_many = ["counts.many_categories: irfft(others, length, axis=2)"]  # of many tables at once, one transform
    assert second_homes(HOUSE) == of_many
    assert {node.name for node in HOUSE.modules["counts.law"].body if isinstance(node, ast.FunctionDef)} >= COUNT_LAW
    path = tmp_path / LIB / "posterior" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("def _split(rng, f, g, rest):\n    return np.convolve(f, g)\n\n\nlaw.convolve\nconvolve(f, g)\n")
    assert second_homes(structure.House(tmp_path)) == ["posterior.a._split", "posterior.a: np.convolve(f, g)"]


# To accept or not, a leapfrog, steps uphill, wide proposals, draws by weight.
MOVES = {"metropolis", "leapfrog", "leapfrogs", "leapfrogs_along", "climb", "fisher", "shortened", "student",
         "student_log_density", "draw_by_weight", "diverged"}


def accepting(tree):
    "Where a module compares a logarithm, such as that of a uniform number, or learns a step size by blackjax."
    log = lambda node: (isinstance(node, ast.Call) and ast.unparse(node.func) == "jnp.log"
                        and not ast.unparse(node.args[0]).isupper())  # of a constant
    return [ast.unparse(node)[:60] for node in ast.walk(tree)
            if (isinstance(node, ast.Compare) and any(map(log, (node.left, *node.comparators))))
            or (isinstance(node, ast.ImportFrom) and "step_size" in (node.module or ""))]


def test_the_moves_of_chains_have_one_home(tmp_path):
    "Who accepts, leaps, climbs or learns a step size has it from chains/moves; rejection samplers are no chains."
    def elsewhere(house):
        rooms = [name for name in house.modules if structure.folder(name) in RIGHT and name != "chains.moves"]
        found = {name: [node.name for node in ast.walk(house.modules[name]) if isinstance(node, ast.FunctionDef)
                        and node.name.lstrip("_") in MOVES] + accepting(house.modules[name]) for name in rooms}
        return {name: what for name, what in found.items() if what}
    rejection = {"noise.laplace", "chains.rows", "tables.effects"}  # of inverse Gaussian, gamma and prior draws
    records = {"fields.pooling": ["_climb"], "fields.structured": ["climb"]}  # by NumPy, of tables
    found = elsewhere(HOUSE)
    assert {name: what for name, what in found.items() if name not in rejection} == records
    assert all(len(found[name]) == 1 for name in rejection)
    assert {node.name for node in HOUSE.modules["chains.moves"].body if isinstance(node, ast.FunctionDef)} == MOVES
    path = tmp_path / LIB / "tables" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("def _leapfrogs(x, lucky):\n    return jnp.log(lucky) < x\n")
    assert len(elsewhere(structure.House(tmp_path))["tables.a"]) == 2


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


def leaning(module):
    "Functions and classes of a module whose docstring says nothing without the one above it."
    return [node.name for node in ast.walk(ast.parse(module)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and (ast.get_docstring(node) or "").startswith("The same")]


def test_docstrings_stand_alone():
    leaned = {path.name: leaning(path.read_text(encoding="utf-8")) for path in (ROOT / LIB).rglob("*.py")}
    assert {name: found for name, found in leaned.items() if found} == {}
    assert leaning('def f(x):\n    "The same, for x."') == ["f"]


def test_modules_offer_what_others_use():
    "The other names are inner code, in cells that begin with `#| exporti`."
    assert HOUSE.public() <= 736


def test_few_cells_are_longer_than_40_lines():
    long = [(lines, notebook, first) for notebook, first, lines in HOUSE.cells() if lines > structure.LONG]
    assert len(long) <= LONG_CELLS, sorted(long, reverse=True)[:20]


LINES = 600  # that are not blank


def too_long(house):
    "Modules with more lines than they may have, those of `structure.House.lengths`."
    return {name: lines for name, lines in house.lengths().items() if lines > LINES}


def test_modules_have_at_most_600_lines():
    assert too_long(HOUSE) == {}


def test_modules_that_are_too_long_are_found(tmp_path):
    (tmp_path / LIB / "command").mkdir(parents=True)
    (tmp_path / LIB / "command" / "a.py").write_text("# %% a cell\n\nx = 1\n" + "x += 1\n\n" * LINES)
    (tmp_path / LIB / "cli.py").write_text("x = 1\n\n" * LINES)
    assert too_long(structure.House(tmp_path)) == {"command.a": LINES + 1}


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
    registry = importlib.import_module(f"{LIB}.models.registry")
    for name, module in registry.MODELS.items():
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


# ---------------------------------------------------------------- pages


def prose(name):
    "The running Markdown of a notebook, without blocks of code."
    cells = json.loads((ROOT / "nbs" / name).read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"```.*?```", "", text, flags=re.S)


PAGES = {path.relative_to(ROOT / "nbs").as_posix(): prose(path.relative_to(ROOT / "nbs"))
         for path in structure.notebooks(ROOT)}
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8")
         for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}


def numbers_in_disorder(text):
    "The numbers of a page's equations, where they are not 1, 2, 3, …"
    tags = re.findall(r"\\tag\{([^}]*)\}", text)
    return tags if tags != [str(k + 1) for k in range(len(tags))] else []


def uneven_rows(text):
    "Rows of a table that have other cells than its head."
    bad, width = [], None
    lines = [re.sub(r"\$[^$\n]*\$", "", line.replace(r"\|", "")).strip() for line in text.split("\n")]
    for line, below in zip(lines, [*lines[1:], ""]):
        if not line.startswith("|"):
            width = None
            continue
        found = line.strip("|").count("|")
        width = found if width is None and re.fullmatch(r"[|:\- ]+", below) else width
        bad += [line] if width is not None and found != width else []
    return bad


def escaped_code(text):
    "Code of running text with a backslash that its reader would see, or a cell of a table that would show one."
    return re.findall(r"`[^`\n]*\\[_*][^`\n]*`|\((?:\\\*)[^)\n]*\)", text)


def dead_anchors(name, text):
    "Links of a page to a place of a chapter that is not there."
    import search
    dead = []
    for link, at in re.findall(r"\]\(([^)#\s]*\.ipynb|)#([^)\s]+)\)", text):
        page = (Path(name).parent / link).as_posix() if link else name
        page = str(Path("/" + page)).lstrip("/") if ".." not in page else (
            (ROOT / "nbs" / page).resolve().relative_to(ROOT / "nbs").as_posix())
        rows = search.page_entries(page, json.loads((ROOT / "nbs" / page).read_text(encoding="utf-8"))["cells"],
                                   ROOT / LIB)
        there = {row["href"].partition("#")[2] for row in rows} | set(re.findall(r"\{[^}\n]*#([\w-]+)", PAGES[page]))
        dead += [] if at in there else [f"{link}#{at}"]
    return dead


def test_equations_are_numbered_one_after_another():
    assert {name: numbers_in_disorder(text) for name, text in PAGES.items() if numbers_in_disorder(text)} == {}


def test_rows_of_a_table_have_the_cells_of_its_head():
    pages = PAGES | TEXTS
    assert {name: uneven_rows(text) for name, text in pages.items() if uneven_rows(text)} == {}


def test_code_shows_no_backslash():
    pages = PAGES | TEXTS
    assert {name: escaped_code(text) for name, text in pages.items() if escaped_code(text)} == {}


def test_links_to_a_place_of_a_chapter_find_it():
    assert {name: dead_anchors(name, text) for name, text in PAGES.items() if dead_anchors(name, text)} == {}


def test_faults_of_pages_are_really_looked_for():
    assert numbers_in_disorder(r"$$ a \tag{1} $$ $$ b \tag{3} $$ $$ c \tag{2} $$") == ["1", "3", "2"]
    assert uneven_rows("| a | b |\n|---|---|\n| 1 | $|x|$ |\n| 2 |\n\n| x |") == ["| 2 |"]
    assert escaped_code(r"a\_b and `lower\_bound`") == [r"`lower\_bound`"] and escaped_code("| (\\*groups) |")
    assert dead_anchors("start.ipynb", "[a](tutorials/01_first_release.ipynb#the-data-holder) [b](#nowhere)") == [
        "#nowhere"]


def test_colours_are_called_by_their_names():
    "The palette has no red; a page that draws with it may not say so."
    from dp_bayes_nb.base.style import COLORS
    hues = {"#0072B2": "blue", "#D55E00": "vermilion", "#009E73": "green", "#CC79A7": "purple", "#E69F00": "orange",
            "#56B4E9": "blue", "#882255": "wine", "#332288": "indigo", "#DDCC77": "sand"}
    assert {hues.get(color, "grey") for color in COLORS.values()} <= {*hues.values(), "grey"}
    wrong = {}
    for path in structure.notebooks(ROOT):
        name = path.relative_to(ROOT / "nbs").as_posix()
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        if name != "base/12_style.ipynb" and any("COLORS[" in source(cell) for cell in cells):
            alt = " ".join(re.findall(r"fig-alt: (.*)", "\n".join(map(source, cells))))
            if said := re.findall(r"\b(?:red|pink|yellow|brown)\b", PAGES[name] + alt, re.I):
                wrong[name] = said
    assert wrong == {}


def test_a_figure_of_two_colours_says_which_is_which():
    "In tutorials: a legend, names at the lines, titles, or a colour for each row that is named at the axis."
    lacking = []
    for path in sorted((ROOT / "nbs" / "tutorials").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = source(cell)
            if len(set(re.findall(r"COLORS\[\"(\w+)\"\]", text))) > 1 and "plt.show()" in text:
                if not re.search(r"legend\(|\.text\(|annotate\(|set_title\(|colours = ", text):
                    lacking.append(path.name)
    assert lacking == []


def test_pages_for_readers_build_no_release_by_hand():
    shown = [path for path in structure.notebooks(ROOT) if path.parent.name in ("tutorials", "questions", "nbs")]
    made = [path.name for path in shown for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
            if cell["cell_type"] == "code" and re.search(r"(?<![\w.])Release\(", source(cell))]
    assert made == []


HERE_TOO = {"private_quantile": r"\bquantiles?\b|\bmedians?\b", "Person": r"rows (?:a|per) person|many rows",
            "DateHistogram": r"\bhistograms?\b", "synthesize": r"synthetic", "ledger_report": "ledger"}


def test_what_this_package_does_is_not_called_others_alone():
    alone = lambda text: [name for name, words in HERE_TOO.items() if name in dp_bayes_nb.__all__
                          and re.search(words, text, re.I)]
    page = PAGES["questions/03_comparisons.ipynb"]
    section = re.search(r"^## What others do better\n(.*?)^## ", page, re.M | re.S)[1]
    sentence = re.split(r"(?<=only choice)\.", section)[0]
    assert "only choice" in sentence and alone(sentence) == [] and "add or remove" not in sentence
    assert alone("many rows a person, unknown partitions, quantiles") == ["private_quantile", "Person"]


def test_the_last_tutorial_is_what_its_opening_page_says():
    opening = PAGES["tutorials/00_index.ipynb"]
    *_, last = re.findall(r"^- \[(.+?)\]\([\w.]+\): (.+)$", opening, re.M)
    said = re.search(r"the last (.+?)\.", opening)[1]
    named = lambda words: {word for word in re.findall(r"[a-z]{5,}", words.lower())} - {"without", "assumed", "table"}
    assert named(said) & named(" ".join(last))
    assert not named("infers a median of any column") & named(" ".join(last))


# ---------------------------------------------------------------- one way to install


def other_ways(text):
    "Commands that install this package otherwise than from a checkout: by a name, which nobody keeps on an index."
    extras = "|".join(re.findall(r"^(\w+)_requirements =", (ROOT / "settings.ini").read_text(encoding="utf-8"), re.M))
    own = re.compile(rf"(?:-c constraints\.txt )?(?:-e )?(?:'\.\[(?:{extras}|\{{extra\}})\]'|\.(?![\w/\[]))")
    others = ("pre-commit", "pyspark", "`", "{", "-r ")
    return [line.strip()[:90] for line in re.findall(r"pip3? install ([^\n]*)", text)
            if not own.match(line) and not line.startswith(others)] + re.findall(
        r"(?:uv add|conda install|pipx? install)\s+[\"']?dp[-_]bayes[-_]nb[^\n]{0,20}", text)


def test_there_is_one_way_to_install():
    from dp_bayes_nb.base.arguments import how_to_install
    assert other_ways(how_to_install("release")) == [] and "pip install '.[release]'" in how_to_install("release")
    found = {}
    shown = [*structure.notebooks(ROOT), *(ROOT / LIB).rglob("*.py"), *ROOT.glob("*.md"), ROOT / "Makefile",
             ROOT / "tools" / "install.py"]
    for path in shown:
        text = path.read_text(encoding="utf-8").replace('\\"', '"')
        if ways := other_ways(text):
            found[path.relative_to(ROOT).as_posix()] = ways
    assert found == {}


@pytest.mark.parametrize("text", [
    "pip install dp_bayes_nb", "pip install 'dp_bayes_nb[demo]'", "`pip install dp-bayes-nb`", "uv add dp_bayes_nb",
    "pip install 'dist/dp_bayes_nb-0.6.1-py3-none-any.whl[release]'", "pip install '.[nothing]'"])
def test_another_way_to_install_is_found(text):
    assert other_ways(text) != []
    assert other_ways("pip install '.[demo]'\npip install .") == []


def test_chapters_are_named_by_title_not_by_number():
    found = []
    for path in structure.notebooks(ROOT):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            found += [f"{path.name}: {m[0]}" for m in re.finditer(r"\b[Cc]hapters? \d[^\n]{0,30}", source(cell))]
    assert found == []


def test_the_syntax_of_every_exported_module_is_this_pythons():
    for name, text in HOUSE.texts.items():
        assert ast.parse(text, feature_version=(3, 11)), name


# ---------------------------------------------------------------- who decides


def identities(modules):
    "Where a function, a method of fitting or a way is asked for by its identity or equality: module, line and text."
    made, functions = {}, {node.name for tree in modules.values() for node in tree.body
                           if isinstance(node, ast.FunctionDef)}
    for name, tree in modules.items():
        for node in (node for node in tree.body if isinstance(node, ast.Assign)):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            if getattr(called, "id", getattr(called, "attr", "")) in ("Method", "Way", "_replace"):
                made.setdefault(name.split(".")[-1], set()).update(
                    part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name))
    found = []
    for name, tree in modules.items():
        here = set(made.get(name.split(".")[-1], ()))  # made here, or imported from where they are made
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)):
            here |= {alias.name for alias in node.names} & made.get((node.module or "").split(".")[-1], set())
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.Compare)):
            named = {part.value.id for part in ast.walk(node) if isinstance(part, ast.Attribute)
                     and part.attr == "name" and isinstance(part.value, ast.Name)}
            asked = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & here - named
            plain = {right.id for right in node.comparators if isinstance(right, ast.Name)} & functions
            if asked or plain and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
                found.append(f"{name}:{node.lineno} {ast.unparse(node)}")
    return found


def test_no_decision_hangs_on_which_function_it_is():
    "A method says by name how its draws come; a function that is compared is one that cannot be replaced."
    assert identities(HOUSE.modules) == []


@pytest.mark.parametrize("text", ["if method is COLLAPSED: pass", "if form is not route_of: pass",
                                  "if kernel in (COLLAPSED, None): pass"])
def test_a_decision_by_identity_is_found(text):
    source = f"COLLAPSED = Method(None)\ndef route_of(): pass\n{text}\n"
    assert len(identities({"made.up": ast.parse(source)})) == 1
    assert identities({"made.up": ast.parse(source.replace(text, "if way.name == route_of().name: pass"))}) == []


def unbound(source):
    "Names that `source` reads and binds nowhere in sight; what annotations say in strings is not looked at."
    tables = [symtable.symtable(source, "source", "exec")]
    bound, read = {*dir(builtins), "__file__"}, {}
    bound |= {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    while tables:
        table = tables.pop(0)
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_assigned() and symbol.is_global():  # `global`, or := in a comprehension
                bound.add(symbol.get_name())
            if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
                read[symbol.get_name()] = True
    return [name for name in read if name not in bound]


def test_names_are_bound_somewhere():
    "A cell's name that no cell brings fails where it is run, which for a chapter may be an hour from here."
    found = {}
    for path in structure.notebooks(ROOT):
        cells = [source(cell) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
                 if cell["cell_type"] == "code" and "#| eval: false" not in source(cell)]
        found[path.name] = unbound(re.sub(r"^[%!].*", "pass", "\n".join(cells), flags=re.M))
    for path in [path for folder in ("tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]:
        found[path.name] = unbound(path.read_text(encoding="utf-8"))
    assert {name: names for name, names in found.items() if names} == {}


def test_a_name_that_nothing_binds_is_found():
    assert unbound("async def f(a, *, b=one):\n    return [a + b + absent for a in f]") == ["one", "absent"]
    assert unbound("import os.path\nfor k in range(3):\n    match k:\n        case [x, *y]: print(os, x, y)") == []


# ---------------------------------------------------------------- the law of the noise


# tables by law: of OpenDP's mechanisms, and of the formulas of an oracle that is to share none with what it checks
BY_LAW = ("data_holder.release", "base.checks")


ASKING = ("startswith", "endswith", "index", "count", "__eq__", "__contains__")  # comparisons by a method


def told_apart(modules):
    "Where laws of noise are told apart by their names or classes, outside the room of the laws: module, line and text."
    from dp_bayes_nb.base.measurement import known_laws
    kinds, found = {*known_laws()}, []
    classes = {"Laplace", "Gaussian", *(type(law).__name__ for law in known_laws().values())}
    for name, tree in modules.items():
        named = {target.id: node.value for node in ast.walk(tree) if isinstance(node, ast.Assign)
                 for target in node.targets if isinstance(target, ast.Name)}
        for node in ast.walk(tree) if not name.startswith("noise.") else ():
            parts = ([node.left, *node.comparators] if isinstance(node, ast.Compare)
                     else [node.value] if isinstance(node, ast.MatchValue)
                     else [node.func.value, *node.args] if getattr(getattr(node, "func", 0), "attr", "") in ASKING
                     else node.keys if isinstance(node, ast.Dict) and name not in BY_LAW else [])
            parts = [named.get(getattr(part, "id", ""), part) for part in parts]  # through a variable
            parts = [part.args[0] if getattr(getattr(part, "func", 0), "id", "") in ("set", "frozenset", "tuple")
                     and part.args else part for part in parts]
            texts = {each.value for part in parts for each in (part, *getattr(part, "elts", ()))
                     if isinstance(each, ast.Constant)}
            asked = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and classes & {
                part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            if texts & kinds or asked or getattr(node, "attr", "") in {f"is_{kind}" for kind in kinds}:
                found.append(f"{name}:{node.lineno} {ast.unparse(node)}")
    return found


def test_laws_of_noise_are_asked_and_not_told_apart():
    assert told_apart(HOUSE.modules) == []


@pytest.mark.parametrize("text", [
    'if noise.kind == "laplace": pass', 'kind in ("gaussian",)', 'jnp.where(noise.is_laplace, a, b)',
    'mechanism != "gaussian"', '"laplace" not in noise.kinds', '{"laplace": 5.0, "gaussian": 3.0}[kind]',
    "isinstance(statement, (Laplace, Exact))", 'match kind:\n    case "laplace": pass',
    'np.array([kind == "laplace" for kind in kinds])', 'usual = "laplace"\nif noise.kind == usual: pass',
    'HEAVY = ("laplace", "discrete_laplace")\nheavy = kind in HEAVY', 'kinds = frozenset({"gaussian"})\nkind in kinds',
    'kind.startswith("laplace")', '("laplace", "gaussian").index(kind)'])
def test_laws_that_are_told_apart_are_found(text):
    assert len(told_apart({"posterior.made_up": ast.parse(text)})) == 1
    assert told_apart({"noise.made_up": ast.parse(text)}) == []
    assert told_apart({"posterior.made_up": ast.parse('Noise("gaussian", sd, 0.0).normal and law_of(kind).rho')}) == []


# ---------------------------------------------------------------- random numbers


def byte_code(texts):
    "Modules that look at the code of a function, which differs between versions of Python."
    return [name for name, text in texts.items() if re.search(r"\bco_\w+|__code__|\bmarshal\b", text)]


def test_nothing_depends_on_byte_code():
    assert byte_code(HOUSE.texts) == []
    assert byte_code({"a": "f.__code__.co_code", "b": "code.co_consts", "c": "co = decode(x)"}) == ["a", "b"]
