"""What is loaded: the analyst's half needs a document,
and neither tables nor what draws the noise of a real release.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import dp_bayes_nb

PACKAGE = Path(dp_bayes_nb.__file__).parent
LIB = "dp_bayes_nb"
FIXTURES = Path(__file__).parent / "fixtures"
DATA_HOLDER = {"data_holder"} | {f"data_holder.{path.stem}" for path in (PACKAGE / "data_holder").glob("[!_]*.py")}
ENGINES = {"duckdb", "narwhals", "opendp"}
BOTH_SIDES = {"command.publish", "app.counter"}  # tools that hold data too
BLOCK = """
import sys

class Blocked:
    "As if these were not installed."
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {engines!r} or name in {rooms!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""
ROOMS = {f"{LIB}.{room}" for room in DATA_HOLDER}


def run(code, *arguments):
    "Run code in a fresh interpreter that finds this package."
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                               "JAX_PLATFORMS": "cpu"})


ANALYSTS = ("models.contract", "releases.document", "noise.design", "releases.simulate", "posterior.fit",
            "posterior.results", "research.evaluation", "research.planning", "many.bulk", "research.record_search",
            "research.check_model")


def test_the_analysts_rooms_load_no_table_engine():
    "All in one process: an engine that one of them loads is there for all, and the first after which it is is named."
    done = run(f"import sys\nfor room in {ANALYSTS!r}:\n    __import__('dp_bayes_nb.' + room)\n"
               f"    for name in sorted(({ENGINES!r} | {ROOMS!r}) & set(sys.modules)): print(name, 'after', room)")
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr[-2000:] + done.stdout


FIT = BLOCK.format(engines=ENGINES, rooms=ROOMS) + """
import sys, warnings
warnings.simplefilter("ignore")
import dp_bayes_nb as db
for path in sys.argv[1:]:
    release = db.Release.load(path)
    idata = db.fit(release, draws=50, warmup=50, chains=2, progress=False)
    assert set(release.family.parameters) <= set(idata.posterior), path
    assert db.Release.from_json(release.to_json()) == release
simulated = db.simulate_release(db.Bernoulli(), {"probability": 0.3}, 1000, 0.1)
idata = db.fit(simulated, progress=False)
db.predict(idata), db.plot_posterior(idata)
print("done")
"""


def test_a_release_is_fitted_with_duckdb_narwhals_and_opendp_uninstalled():
    done = run(FIT, *sorted(FIXTURES.glob("release_schema*_laplace.json")),
               *sorted(FIXTURES.glob("release_schema*_gaussian.json")))
    assert done.returncode == 0 and done.stdout.strip() == "done", done.stderr[-3000:]


def test_the_blocker_blocks():
    "The mutants: a room of the data holder, and a release where only the engines are gone."
    done = run(BLOCK.format(engines=set(), rooms=ROOMS) + "import dp_bayes_nb.data_holder.sums")
    assert done.returncode == 1 and "No module named 'dp_bayes_nb.data_holder'" in done.stderr
    done = run(BLOCK.format(engines=ENGINES, rooms=set())
               + "from dp_bayes_nb import Bernoulli, release\nrelease(Bernoulli(), [0, 1], epsilon=1)")
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr


def imported(path, package=PACKAGE):
    """Names of modules that a file imports, those of this package without its name,
    and whether it does so when it is loaded.
    """
    tree, here = ast.parse(path.read_text()), [LIB, *path.relative_to(package).parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) + 1 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            names = [module] if node.module else [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            ours = name.startswith(LIB + ".")
            yield name.removeprefix(LIB + ".") if ours else name.split(".")[0], node in tree.body


# `counted` is a data holder's act, and so is an audit; a plan's costs are added up; a statistic is compared on engines
ALLOWED = {("hidden_markov.model", "data_holder.sums"), ("research.hmm_routes", "data_holder.ledger"),
           ("research.record_search", "data_holder.columns"), ("research.audit", "data_holder.release"),
           ("research.many_releases", "data_holder.release"), ("research.neighbouring_tables", "data_holder.persons"),
           ("research.neighbouring_tables", "data_holder.csv_files"),
           ("research.table_forms", "data_holder.csv_files")}


def wrong_arrows(files, package=PACKAGE):
    "Rooms outside the data holder's that import one of hers anywhere, or an engine when they are loaded."
    room = lambda path: ".".join(path.relative_to(package).with_suffix("").parts)
    found = {(room(path), name) for path in files for name, loaded in imported(path, package)
             if room(path) not in DATA_HOLDER | BOTH_SIDES
             and (name in DATA_HOLDER or (name in ENGINES and loaded))}
    return sorted(found - ALLOWED)


def test_no_room_imports_from_the_data_holder_anywhere_in_its_code(tmp_path):
    files = sorted(path for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "_modidx.py"))
    assert len(files) > 50 and wrong_arrows(files) == []
    written = tmp_path / "posterior" / "fit.py"
    written.parent.mkdir()
    written.write_text("import narwhals\nfrom ..data_holder import sums\nfrom .. import data_holder\n"
                       "def f():\n    from dp_bayes_nb.data_holder.sums import exact_sums\n"
                       "def g():\n    from ..data_holder.tables import read\n")
    assert wrong_arrows([written], tmp_path) == [
        ("posterior.fit", name) for name in ("data_holder", "data_holder.sums", "data_holder.tables", "narwhals")
    ]


def test_opendp_is_imported_where_noise_is_drawn_only():
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")
             if "opendp" in {name for name, _ in imported(path)}}
    assert found <= {"data_holder/release.py", "data_holder/quantiles.py"} and found


def started(*names):
    "Which devices JAX has started after some modules were imported, and after some more."
    done = run(f"import sys\nfrom jax._src import xla_bridge\nfor some in {[list(each) for each in names]!r}:\n"
               "    for name in some: __import__(name)\n    print('devices:', *xla_bridge._backends)")
    assert done.returncode == 0, done.stderr[-2000:]
    return [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("devices:")]


def test_what_tests_are_forked_from_has_started_no_device():
    """A device has threads, which a fork has not: tests stood still, and every import was half a second slower.
    The last module computes a number when it is imported.
    """
    text = (PACKAGE.parent / "tools" / "forked.py").read_text()
    names, = (ast.literal_eval(node.args[0]) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)
              and getattr(node.func, "attr", "") == "set_forkserver_preload")
    assert f"{LIB}.posterior.fit" in names
    assert started(names, ["blackjax.adaptation.step_size"]) == [[], ["cpu"]]
