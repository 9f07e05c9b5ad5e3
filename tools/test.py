"""Every test of the project, counted: `N passed, N failed` is the last line.

One test each: the notebooks and the package agree; the README agrees with its notebook; saved outputs are there and
clean; every notebook runs; every pytest test; ruff; mypy. A failure shows its output and the rest goes on. Nothing in
the working tree is changed. A test that lacks something of the machine, such as a browser, is skipped, and a line at
the end says what is missing and how to get it. `--slow` runs the repetitions and the statistical
checks in their place, those first that were not seen for longest, and keeps each file's result in results/slow.json as
it comes; `--ci` also demands that no browser or Spark test was skipped and a clean git tree at the end, and installs
the wheel into an empty environment; `--site` builds the site too; `--budget` demands that nothing is over its budget of
processor time. `--versions` runs only the tests of tables, on the lowest and the newest versions of DuckDB, narwhals
and OpenDP; `--core` only the tests of the contract, of fits, files, tables, README and command line, and `--also
PYTHON` runs these beside the others in that Python's own environment.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from docs import LIB, NBS, ROOT, read_nb, source  # noqa: E402
from execute import chosen, environment, notebooks, short  # noqa: E402
from forked import forked, run_notebook, run_pytest  # noqa: E402
from install import run as installs  # noqa: E402

BIN = Path(sys.executable).parent
NEEDED = ("Chromium", "Playwright", "Voilà", "Java", "Spark", "pyspark")  # a skip that names one of them fails CI
# Tests compile many programs and run each for a moment: XLA compiles them 2.5 times faster with little optimisation.
# Not --xla_cpu_parallel_codegen_split_count=1: the density of a pool of groups came out infinite with it.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
BEFORE = "--xla_cpu_use_fusion_emitters=false"  # JAX 0.11 has one emitter only, and no such flag
# The slow part of a file of tests compiles many programs too (one of 15 s takes 7), unless it draws for minutes; most
# chapters draw for minutes, with programs as users have them, unless they are among these.
DRAWN = ("test_answers.py", "test_contrasts.py", "test_evaluation.py", "test_logistic.py", "test_misfit.py",
         "test_pooled_chains.py", "test_tables.py", "test_tables_sampler.py")
COMPILED = ("app/02_labs", "app/03_counter", "chains/07_mesh", "curves/01_curve", "fields/01_groups", "many/01_bulk",
            "many/02_many_sums", "models/12_rates", "models/15_own_model", "models/18_above", "research/10_check_model")
SPENT, EACH = {}, {}  # processor time of each notebook and file of tests, and of each test, in seconds
BUDGET = {"tests": 20, "nbs": 30}  # seconds of a processor for a test and for a notebook, unless it runs with --slow
# A second is that of the machine on which the budget was set: a fixed loop is timed before and after all tests, the
# slower time tells how much slower this machine is, and half as much again is allowed, because times vary.
LOOP, ALLOWED = 0.5, 1.5


class Result(NamedTuple):
    "One test: its trouble is empty when it passed, its reason is not empty when it was skipped."

    name: str
    trouble: str = ""
    seconds: float | None = None
    skipped: str = ""


class Count:
    "How many tests passed and failed so far, and the printing of each; in CI some may not be skipped."

    def __init__(self, ci=False):
        self.passed = self.failed = 0
        self.ci, self.skipped, self.failures = ci, [], []

    def add(self, name, trouble="", seconds=None, skipped=""):
        "Count one test, or note that it was skipped."
        if skipped and not (self.ci and demanded(skipped)):
            return self.skipped.append(f"{name}: {skipped}")
        if skipped:
            trouble = f"this may not be skipped in CI: {skipped}"
        took = "" if seconds is None else f" ({seconds:.0f} s)"
        self.failed += bool(trouble)
        self.passed += not trouble
        print(f"{'FAILED' if trouble else 'passed'}  {name}{took}", flush=True)
        if trouble:
            self.failures.append(name)
            print("\n".join("    " + line for line in trouble.strip().splitlines()[-120:]), flush=True)


def demanded(reason):
    "Whether CI must fail for this skip: it names a part that CI installs (Java only where it could be installed)."
    if "Java" in reason and shutil.which("java") is None:
        return False
    return any(word in reason for word in NEEDED)


def call(command, cwd=ROOT, **env):
    "Run a command: exit status and everything it said."
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **env}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def quick_flags():
    "Flags by which XLA optimises little, where this version of it knows them; else those that there are."
    before = os.environ.get("XLA_FLAGS", "")
    for quick in (f"{QUICK} {BEFORE}", QUICK):
        flags = f"{before} {quick}".strip()
        status, said = call([sys.executable, "-c", "import jax; jax.devices()"], XLA_FLAGS=flags)
        if not status:
            return flags
    print(f"programs are compiled with every optimisation, which takes longer: {said.strip()[-200:]}", flush=True)
    return before


# ---------------------------------------------------------------- the budget


def loop():
    "Processor seconds of a fixed piece of work, like that of a compiler."
    start = time.process_time()
    text = "\n".join(f"def f{k}(x, y={k}): return [g(x, {k})[y] + h{k}(*x) for g in x if g.a is not None]"
                     for k in range(2000))
    for _ in range(4):
        compile(text, "loop", "exec")
    return time.process_time() - start


def dearest():
    "Seconds of each test and each notebook, the dearest first."
    every = EACH | {name: seconds for name, seconds in SPENT.items() if name.startswith("nbs/")}
    return dict(sorted(every.items(), key=lambda item: -item[1]))


def keep_seconds(found, slower):
    """Processor seconds of each test and notebook of this run and of each whole file of tests, for comparing runs.

    They are kept in .cache/seconds.json.
    """
    path = ROOT / ".cache" / "seconds.json"
    path.parent.mkdir(exist_ok=True)
    each = {name: round(seconds, 2) for name, seconds in found.items()}
    files = {name: round(seconds, 2) for name, seconds in sorted(SPENT.items(), key=lambda item: -item[1])}
    path.write_text(json.dumps({"slower": round(slower, 2), "each": each, "files": files}, indent=1) + "\n",
                    encoding="utf-8")


def over(spent, slower):
    "What took more than its budget, in words; `slower`: how many times as slow as the budget's this machine is."
    kind = lambda name: name.partition("/")[0]
    return "\n".join(f"{seconds:.0f} s of a processor, {BUDGET[kind(name)]} are its budget: {name}"
                     for name, seconds in spent.items()
                     if seconds > BUDGET[kind(name)] * ALLOWED * max(slower, 1.0))


# ---------------------------------------------------------------- notebooks and package agree


def contents(root):
    "The notebooks and modules under a folder, by relative path."
    files = [*root.glob("nbs/**/*.ipynb"), *root.glob(f"{LIB}/**/*.py")]
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


def sync():
    "Export and clean a copy of the notebooks; it must come out as it went in."
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve()
        shutil.copyfile(ROOT / "pyproject.toml", copy / "pyproject.toml")
        for name in ("nbs", LIB):
            for path in [*(ROOT / name).rglob("*.ipynb"), *(ROOT / name).rglob("*.py")]:
                target = copy / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        before = contents(copy)
        trouble = []
        for module in sorted(copy.glob(f"{LIB}/**/*.py")):
            if module.name != "__init__.py":
                module.unlink()  # a module whose notebook is gone must not survive
        for tool in ("nbdev-export", "nbdev-clean"):
            status, said = call([BIN / tool], cwd=copy)
            if status or "Failed" in said:
                trouble.append(said)
        after = contents(copy)
    changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    if changed:
        trouble.append("these files are not what the notebooks export to, or not clean: " + ", ".join(changed)
                       + "\nrun nbdev-export and nbdev-clean, and commit what they change")
    return "\n".join(trouble)


def saved_outputs(only=()):
    "Saved outputs must be there, and show neither an error nor a warning."
    trouble = []
    for path in chosen(only):
        for number, cell in enumerate((c for c in read_nb(path)["cells"] if c["cell_type"] == "code"), 1):
            code, outputs = source(cell), cell["outputs"]
            where = f"{short(path)}, code cell {number}"
            if any(out["output_type"] == "error" for out in outputs):
                trouble.append(f"{where}: shows an error")
            if any(out.get("name") == "stderr" for out in outputs) and "stderr" not in cell["metadata"].get("tags", []):
                trouble.append(f"{where}: shows a warning")
            if not re.match(r"#\|\s*(hide|export|default_exp|eval)", code) and shows(code) and not outputs:
                trouble.append(
                    f"{where}: shows nothing; run tools/execute.py {short(path)}\n    {code.strip().splitlines()[-1]}")
    return "\n".join(trouble)


def shows(code):
    "Whether a cell must show something: it ends in a value, or prints, or draws."
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return False
    calls = {node.value.func.id if isinstance(node.value.func, ast.Name) else getattr(node.value.func, "attr", "")
             for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)}
    last = body[-1] if body and not code.rstrip().endswith(";") else None
    value = isinstance(last, ast.Expr) and not isinstance(last.value, ast.Call)
    text = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return bool({"print", "display", "show"} & calls) or (value and not text)


# ---------------------------------------------------------------- the tests


def notebook(path, flags):
    "Run one notebook's tests in a process of its own: name, trouble and seconds, in a list of one."
    start, name = time.perf_counter(), f"nbs/{short(path)}.ipynb"
    status, said, SPENT[name] = forked(run_notebook, path, "slow" if flags.slow else "",
                                       xla=flags.xla if short(path) in COMPILED else None)
    good = status == 0 and "Success." in said  # no notebook found is not a success
    trouble = "" if good else said or f"nothing was run, and the process ended with status {status}"
    return [Result(name, trouble, time.perf_counter() - start)]


def pytest(path, flags, **env):
    """Run one file of tests in a process of its own, read from pytest's XML report.

    A report without a test is a failure, but not of slow ones; one of skipped tests is none, with pytest's status 5.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = [path, "-q", "--tb=short", f"--junit-xml={report}", *(["-m", "slow"] if flags.slow else [])]
        if env:  # what is imported already would not be what it asks for
            status, said = call([sys.executable, "-m", "pytest", *words], **env)
        else:
            status, said, SPENT[f"tests/{path.name}"] = forked(
                run_pytest, words, xla=None if path.name in DRAWN else flags.xla)
        cases = list(ElementTree.parse(report).iter("testcase")) if report.is_file() else []
    if flags.slow and status == 5 and not cases:  # it speaks of the mark, and has no test that bears it
        return []
    results = [_result(case, path) for case in cases]
    EACH.update({result.name: float(each.get("value")) for result, case in zip(results, cases)
                 for each in case.iter("property") if each.get("name") == "processor"})
    only_skips = bool(results) and all(r.skipped for r in results)
    if not any(r.trouble for r in results) and (not results or status not in ((0, 5) if only_skips else (0,))):
        results.append(Result(f"tests/{path.name}",
                              f"pytest ended with status {status} after {len(results)} tests\n{said}"))
    return results


def _result(case, path):
    "One test case of pytest's report; a whole file that was skipped goes by the file's name."
    name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}" if case.get(
        "classname") else f"tests/{path.name}"
    skip = next((child for child in case if child.tag == "skipped"), None)
    if skip is not None:
        reason = re.search(r"Skipped: (.*)['\"]\)$", skip.text or "", re.S)  # the tuple (file, line, "Skipped: reason")
        return Result(name,
                      skipped=" ".join((reason[1] if reason else skip.get("message") or "no reason given").split()))
    texts = [child.text or child.get("message") or "failed" for child in case if child.tag in ("failure", "error")]
    return Result(name, "\n".join(texts), float(case.get("time", 0)))


# ---------------------------------------------------------------- lowest and newest versions

READERS = ("duckdb", "narwhals", "opendp")  # privacy rests on how these read, sum and draw
READ = ("test_engines.py", "test_release_files.py", "test_files_neighbours.py")


def bounds(package):
    "The requirement of a package and its lowest allowed version, from settings.ini."
    lines = [line for line in (ROOT / "settings.ini").read_text().splitlines() if re.match(r"\w*requirements = ", line)]
    wanted = next(word for line in lines for word in line.split() if re.match(rf"{package}[<>=]", word))
    return wanted, f"{package}=={re.search('>=([0-9.]+)', wanted)[1]}"


def version(which, flags):
    """The tests of tables and releases on the lowest or the newest allowed versions of what reads tables, laid over the
    others.
    """
    position = {"lowest": 1, "newest": 0}[which]
    with tempfile.TemporaryDirectory() as folder:
        status, said = call([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--upgrade", "--target", folder,
                             *(bounds(package)[position] for package in READERS)])
        where = f"the {which} versions of {', '.join(READERS)}"
        path = os.pathsep.join([folder, str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        found = [each for name in READ if (ROOT / "tests" / name).is_file() and not status
                 for each in pytest(ROOT / "tests" / name, flags, PYTHONPATH=path)]
    return [Result(f"installing {where}", said if status else ""),
            *(each._replace(name=f"{each.name} on {where}") for each in found)]


def stranger(_, flags):
    "The wheel in an empty environment, which has nothing of the data holder's."
    try:
        return [Result(name, trouble, seconds) for name, trouble, seconds in installs()]
    except Exception:  # noqa: BLE001  (one failure, and the rest goes on)
        return [Result("the wheel in an empty environment", traceback.format_exc(), 0.0)]


# What another Python, with other versions of JAX, ArviZ, NumPy and pandas, could do differently.
CORE = ("test_cli", "test_contract", "test_draws", "test_engines", "test_fit", "test_package", "test_readme",
        "test_release_files")
CORE_BOOKS = ("base/13_draws", "index", "posterior/04_fit", "start")


def another_python(python, flags):
    "The core of the tests in the environment of another Python, as one task of this run."
    start = time.perf_counter()
    status, said = call(["make", "--no-print-directory", "test", f"PYTHON={python}", "JOBS=1", "FLAGS=--core"],
                        XLA_FLAGS="")
    where, found = f" on {Path(python).name}", []
    for line in said.splitlines():
        if told := re.match(r"(passed|FAILED)  (.*?)(?: \((\d+) s\))?$", line):
            found.append(Result(told[2] + where, "failed" if told[1] == "FAILED" else "", float(told[3] or 0)))
        elif found and found[-1].trouble and line.startswith("    "):
            found[-1] = found[-1]._replace(trouble=f"{found[-1].trouble}\n{line.strip()}")
    troubled = any(each.trouble for each in found)
    if not found or (status != 0) != troubled:
        found.append(Result(f"the core of the tests{where}", said or "nothing was run", time.perf_counter() - start))
    return found


def site(_, flags):
    "The site, built, with every page looked at in a browser."
    start = time.perf_counter()
    status, said = call([sys.executable, "tools/docs.py"])
    return [Result("the site", said or "failed" if status else "", time.perf_counter() - start)]


def failed(*command):
    "A check that a command makes: all it said where it failed."
    def check():
        status, said = call([sys.executable, *command])
        return said or "failed" if status else ""
    return check


CHECKS = {"notebooks and package agree": sync, "saved outputs": saved_outputs,
          "README.md agrees with its notebook": failed("tools/readme.py", "--check"),
          "ruff": failed("-m", "ruff", "check", "."), "mypy": failed("-m", "mypy", LIB)}


def checked(name, flags):
    "One check of the files as they are."
    start = time.perf_counter()
    return [Result(name, CHECKS[name](), time.perf_counter() - start)]


def run_all(count, flags):
    "Every check, notebook and file of tests, several at a time, the longest first."
    books = sorted(notebooks(), key=lambda p: (-p.stat().st_size, p.name))
    files = sorted(ROOT.glob("tests/test_*.py"), key=lambda p: (-p.stat().st_size, p.name))
    if flags.core:
        books, files = [p for p in books if short(p) in CORE_BOOKS], [p for p in files if p.stem in CORE]
    if flags.slow:
        books = [p for p in books if any(re.search(r"^#\|\s*slow", source(c), re.M) for c in read_nb(p)["cells"])]
        files = [p for p in files if re.search(r"mark\.slow", p.read_text(encoding="utf-8"))]
    for what, found in (("notebooks", books), ("tests", files)):
        if not found:
            count.add(what, f"there are no {what}")
    tasks = [(pytest, path) for path in files] + [(notebook, path) for path in books]
    if flags.slow:  # what was not run for longest first, be it a notebook or a file of tests
        seen = {ROOT / name: each["date"] for name, each in kept_slow().items()}
        tasks.sort(key=lambda task: seen.get(task[1], ""))
    tasks = [*((another_python, python) for python in flags.also),
             *((site, "") for _ in range(flags.site)), *((stranger, "") for _ in range(flags.ci)),
             *((checked, name) for name in CHECKS if not (flags.core or flags.slow)), *tasks]

    def run(task):
        results = task[0](task[1], flags)
        if flags.slow:
            keep_slow(task[1].relative_to(ROOT).as_posix(), results)
        return results
    ran = set()
    with ThreadPoolExecutor(flags.workers) as pool:
        for done in as_completed([pool.submit(run, task) for task in tasks]):
            for result in done.result():
                count.add(*result)
                ran.add(result.name)
    if not (flags.core or flags.slow):
        count.add("every notebook ran", left_out(ran))


def left_out(ran):
    "What is wrong when the notebooks that ran are not the notebooks there are, which are counted by another road."
    there = {Path(folder, name).relative_to(ROOT).as_posix() for folder, _, names in os.walk(NBS) for name in names
             if name.endswith(".ipynb") and ".ipynb_checkpoints" not in folder}
    missing = sorted(there - ran)
    print(f"{len(there) - len(missing)} of {len(there)} notebooks ran", flush=True)
    return f"not run: {', '.join(missing)}" if missing else "" if there else "there are no notebooks"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="notebooks and files of tests at a time")
    parser.add_argument("--slow", action="store_true", help="the repetitions and the statistical checks too")
    parser.add_argument("--budget", action="store_true", help="fail where a test or a notebook is over its budget")
    parser.add_argument("--ci", action="store_true",
                        help="demand a clean git tree at the end, and that no browser or Spark test is skipped")
    parser.add_argument("--versions", action="store_true",
                        help="only the lowest and the newest versions of what reads tables")
    parser.add_argument("--core", action="store_true", help="only what another Python could do differently")
    parser.add_argument("--also", nargs="+", default=[], metavar="PYTHON", help="run the core on this Python too")
    parser.add_argument("--agree", action="store_true",
                        help="only whether notebooks are clean and modules their export")
    parser.add_argument("--site", action="store_true", help="build the site too")
    args = parser.parse_args()
    environment()
    os.environ["OMP_NUM_THREADS"] = os.environ["NPROC"] = "1"  # XLA asks for the second: a worker is a core
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    start, count = time.perf_counter(), Count(args.ci)
    args.xla = quick_flags()
    if not args.slow:  # the statistical checks of notebooks draw for minutes, with programs as users have them
        os.environ["XLA_FLAGS"] = args.xla
    if args.agree:
        count.add("notebooks and package agree", sync())
        return 1 if count.failed else 0
    if args.versions:
        for result in [*version("lowest", args), *version("newest", args)]:
            count.add(*result)
        return ended(count, start)
    pace = loop()
    run_all(count, args)
    if args.ci:
        status, said = call(["git", "status", "--porcelain"])
        count.add("git tree is clean", said or "git failed" if status or said.strip() else "")
    pace = max(pace, loop()) / LOOP
    found = dearest()
    beyond = "" if args.slow else over(found, pace)
    if args.budget:
        count.add("the budget of processor time", beyond)
    elif beyond:
        print(beyond)
    keep_seconds(found, pace)
    for name in [*found][:20]:
        print(f"{found[name]:6.0f} s of a processor  {name}")
    print(f"{sum(SPENT.values()):6.0f} s of a processor for all notebooks and files of tests, on a machine that takes "
          f"{pace:.2f} times as long as that of the budget")
    return ended(count, start)


# ---------------------------------------------------------------- what is slow

ONE_AT_A_TIME = threading.Lock()


def kept_slow():
    "What results/slow.json says of each file of tests and notebook there is: the last run of its slow part, its end."
    path = ROOT / "results" / "slow.json"
    found = json.loads(path.read_text(encoding="utf-8"))["files"] if path.is_file() else {}
    return {name: each for name, each in found.items() if (ROOT / name).is_file()}


def keep_slow(name, results):
    "The result of the slow part of a file, into results/slow.json at once: a run may be stopped, and the next goes on."
    _, commit = call(["git", "rev-parse", "--short", "HEAD"])
    failures = [each.name for each in results if each.trouble]
    skipped = sum(bool(each.skipped) for each in results)
    with ONE_AT_A_TIME:
        files = kept_slow() | {name: {
            "date": time.strftime("%Y-%m-%d %H:%M"), "commit": commit.strip(),
            "passed": len(results) - len(failures) - skipped, "skipped": skipped, "failures": failures,
            "processor seconds": round(SPENT.get(name, 0))}}
        path = ROOT / "results" / "slow.json"
        path.with_suffix(".new").write_text(json.dumps(
            {"about": "`make slow`: the last run of the slow part of each file", "files": dict(sorted(files.items()))},
            indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".new").replace(path)


def ended(count, start):
    "The last lines, and the exit status."
    for line in count.skipped:
        print(f"skipped  {line}")
    print(f"in {time.perf_counter() - start:.0f} s")
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
