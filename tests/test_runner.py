"""The runner's counting: what passes, what fails, what is skipped, and what CI may not skip."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
spec = importlib.util.spec_from_file_location("runner", ROOT / "tools" / "test.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)

BROWSER = (
    "import pytest\npytest.skip('Chromium is not installed (Debian: apt-get install chromium)', "
    "allow_module_level=True)\n")
FILES = {  # text, then passed, failed and skipped at home, and in CI
    "passes": ("def test_a(): pass\ndef test_b(): pass\n", (2, 0, 0), (2, 0, 0)),
    "fails": ("def test_a(): pass\ndef test_b(): assert 0\n", (1, 1, 0), (1, 1, 0)),
    "skips the whole file": (BROWSER, (0, 0, 1), (0, 1, 0)),
    "skips one": ("import pytest\n@pytest.mark.skip(reason='no Chromium')\ndef test_a(): pass\ndef test_b(): pass\n",
                  (1, 0, 1), (1, 1, 0)),
    "skips what CI may lack": ("import pytest\ndef test_a(): pytest.skip('only on Tuesdays')\n", (0, 0, 1), (0, 0, 1)),
    "skips for want of a module": ("import pytest\npytest.importorskip('pyspark_', reason='pip install pyspark')\n",
                                   (0, 0, 1), (0, 1, 0)),
    "has no test": ("x = 1\n", (0, 1, 0), (0, 1, 0)),
    "is all slow": ("import pytest\n@pytest.mark.slow\ndef test_a(): pass\n", (0, 1, 0), (0, 1, 0)),
    "cannot be imported": ("import nothing_of_this_name\n", (0, 1, 0), (0, 1, 0)),
    "dies": ("import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\n", (0, 1, 0), (0, 1, 0)),
    "is killed": ("import os\ndef test_a(): os.kill(os.getpid(), 9)\n", (0, 1, 0), (0, 1, 0)),
    "skips and fails": ("import pytest\ndef test_a(): pytest.skip('x')\ndef test_b(): assert 0\n", (0, 1, 1),
                        (0, 1, 1)),
    "fails in a teardown": ("import pytest\n@pytest.fixture\ndef f():\n    yield\n    assert 0\ndef test_a(f): pass\n",
                            (0, 1, 0), (0, 1, 0)),
    "is stopped after a skip": ("import pytest\ndef test_a(): pytest.skip('x')\ndef test_b(): pytest.exit('enough')\n",
                                (1, 1, 1), (1, 1, 1)),
}


class Flags:
    slow, xla = False, None


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    "What the runner makes of each file, run once."
    folder, found = tmp_path_factory.mktemp("tiny"), {}
    shutil.copyfile(ROOT / "setup.cfg", folder / "setup.cfg")
    for number, (what, (text, *_)) in enumerate(FILES.items()):
        path = folder / f"test_{number}.py"
        path.write_text(text)
        found[what] = runner.pytest(path, Flags)
    return found


@pytest.mark.parametrize("what", FILES)
@pytest.mark.parametrize("ci", [False, True], ids=["home", "ci"])
def test_a_file_is_counted_for_what_it_is(results, what, ci, capsys):
    count = runner.Count(ci)
    for result in results[what]:
        count.add(*result)
    said = capsys.readouterr().out
    # A teardown that fails is a second entry of one test in some versions of pytest: at least one failure then.
    assert (count.passed, min(count.failed, 1), len(count.skipped)) == FILES[what][1 + ci], said
    assert said.count("FAILED") == count.failed


def test_a_skipped_file_says_what_is_missing_and_how_to_get_it(results):
    count = runner.Count()
    for result in results["skips the whole file"]:
        count.add(*result)
    (line,) = count.skipped
    assert "test_2.py: Chromium is not installed (Debian: apt-get install chromium)" in line and "\n" not in line


def test_java_may_be_missing_in_ci_only_where_there_is_none(monkeypatch):
    for found, failed in ((None, 0), ("/usr/bin/java", 1)):
        monkeypatch.setattr(runner.shutil, "which", lambda name, found=found: found)
        count = runner.Count(ci=True)
        count.add("tests/test_spark.py", skipped="Spark needs Java (Debian: apt-get install openjdk-17-jre-headless)")
        assert count.failed == failed


def stubbed(monkeypatch):
    "The whole program, with every step but the tests left out."
    monkeypatch.setattr(runner, "call", lambda command, **_: (0, ""))
    monkeypatch.setattr(runner, "environment", lambda: None)
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setattr(runner, "quick_flags", lambda: "")

    def some(count, flags):
        for name in ("ruff", "mypy"):
            count.add(name)
        count.add("tests/test_app.py", skipped="Chromium is not installed")

    monkeypatch.setattr(runner, "run_all", some)


def ran(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["test.py", *words])
    return runner.main()


def test_the_last_line_counts_skips_as_neither(monkeypatch, capsys):
    stubbed(monkeypatch)
    monkeypatch.setattr(runner, "keep_seconds", lambda *a: None)
    monkeypatch.setattr(runner, "EACH", {})
    monkeypatch.setattr(runner, "SPENT", {})
    assert ran(monkeypatch) == 0
    *_, skipped, seconds, last = capsys.readouterr().out.splitlines()
    assert (skipped, last) == ("skipped  tests/test_app.py: Chromium is not installed", "2 passed, 0 failed")
    assert ran(monkeypatch, "--ci") == 1  # the clean tree is one more
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 1 failed"


def test_a_check_that_fails_says_why(monkeypatch):
    "Of files, by a command, and the site."
    assert set(runner.CHECKS) == {"notebooks and package agree", "saved outputs", "README.md agrees with its notebook",
                                  "ruff", "mypy"}
    assert runner.failed("-c", "pass")() == "" and "why" in runner.failed("-c", "raise SystemExit('why')")()
    monkeypatch.setitem(runner.CHECKS, "ruff", lambda: "a line is too long")
    (result,) = runner.checked("ruff", None)
    assert result[:2] == ("ruff", "a line is too long")
    for status, said, trouble in ((0, "", ""), (1, "a link leads nowhere", "a link leads nowhere"), (1, "", "failed")):
        monkeypatch.setattr(runner, "call", lambda command, status=status, said=said: (status, said))
        (result,) = runner.site("", None)
        assert result[:2] == ("the site", trouble)


def test_programs_share_a_context_and_are_what_they_are_in_one_of_their_own(monkeypatch):
    import jax
    from forked import one_context
    from jax._src.interpreters import mlir

    def lowered(number):
        text = jax.jit(lambda x: jax.numpy.exp(x) + number).lower(2.0).as_text(debug_info=False)
        return text, mlir.make_ir_context() is mlir.make_ir_context()

    # where this file is run as the others are, programs of this process share one already
    monkeypatch.setattr(mlir, "make_ir_context", getattr(mlir.make_ir_context, "__wrapped__", mlir.make_ir_context))
    apart = [lowered(1.0), lowered(2.0)]
    one_context()
    together = [lowered(1.0), lowered(2.0)]
    assert [text for text, _ in apart] == [text for text, _ in together] and apart[0][0] != apart[1][0]
    assert [shared for _, shared in [*apart, *together]] == [False, False, True, True]


def test_each_test_says_its_processor_time(results):
    "With its fixtures; a file that died says nothing."
    found = {name: seconds for name, seconds in runner.EACH.items() if "test_0" in name}
    assert len(found) == 2 and all(0 <= seconds < 5 for seconds in found.values())


def test_what_is_over_its_budget_is_said_and_fails_where_the_budget_is_held(monkeypatch, capsys, tmp_path):
    "Half as much again is allowed, and more on a slower machine, never less on a faster one."
    spent = {"tests/test_a::test_b": 31.0, "tests/test_a::test_c": 29.0, "nbs/a/01_b.ipynb": 44.0}
    assert runner.over(spent, 0.5) == "31 s of a processor, 20 are its budget: tests/test_a::test_b"
    assert runner.over(spent, 1.1) == "" and "01_b" in runner.over({**spent, "nbs/a/01_b.ipynb": 46.0}, 1.0)
    assert 0.2 < runner.loop() < 10
    monkeypatch.setattr(runner, "EACH", {"tests/test_a::test_b": 310.0})
    monkeypatch.setattr(runner, "SPENT", {"tests/test_a.py": 311.0, "nbs/a/01_b.ipynb": 44.0})
    assert [*runner.dearest()] == ["tests/test_a::test_b", "nbs/a/01_b.ipynb"]
    stubbed(monkeypatch)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    assert (ran(monkeypatch), ran(monkeypatch, "--budget")) == (0, 1)
    kept = json.loads((tmp_path / ".cache" / "seconds.json").read_text())
    assert kept["each"] == {"tests/test_a::test_b": 310.0, "nbs/a/01_b.ipynb": 44.0} and kept["files"] == runner.SPENT
    assert "310 s of a processor, 20 are its budget: tests/test_a::test_b" in capsys.readouterr().out


def test_slow_parts_are_run_where_they_were_not_seen_for_longest(monkeypatch, tmp_path):
    "Only files that have them; the result of each is kept at once, so that a run can be stopped and goes on."
    for name, text in (("a", "pytest.mark.slow"), ("b", "pytest.mark.slow"), ("c", "quick")):
        path = tmp_path / "tests" / f"test_{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "results").mkdir()
    notebook = tmp_path / "nbs" / "01_x.ipynb"
    notebook.parent.mkdir()
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["#| slow\n", "x"]}]}))
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "notebooks", lambda: [notebook])
    asked, dies = [], []
    def tried(path, flags):
        if path.stem in dies:
            raise KeyboardInterrupt
        asked.append(path.stem)
        return [runner.Result("x"), runner.Result("y", "why"), runner.Result("z", skipped="no Java")]
    monkeypatch.setattr(runner, "pytest", tried)
    monkeypatch.setattr(runner, "notebook", tried)
    flags = type("Flags", (), dict(slow=True, core=False, ci=False, site=False, also=(), workers=1))
    dies.append("test_b")
    with pytest.raises(KeyboardInterrupt):
        runner.run_all(runner.Count(), flags)
    kept = runner.kept_slow()
    assert asked[0] == "test_a" and [*kept][:1] != ["tests/test_b.py"] and "tests/test_b.py" not in kept
    assert {k: kept["tests/test_a.py"][k] for k in ("passed", "skipped", "failures")} == {
        "passed": 1, "skipped": 1, "failures": ["y"]}
    dies.clear(), asked.clear()
    runner.run_all(runner.Count(), flags)
    assert asked[0] == "test_b" and sorted(runner.kept_slow()) == [
        "nbs/01_x.ipynb", "tests/test_a.py", "tests/test_b.py"]


def test_versions_are_those_of_the_settings(monkeypatch):
    "The lowest is the bound itself, the newest what the requirement allows; both are installed, tested and counted."
    assert runner.bounds("duckdb")[0].startswith("duckdb>=") and runner.bounds("duckdb")[1] == runner.bounds("duckdb")[
        0].split(",")[0].replace(">=", "==")
    asked, tested = [], []
    monkeypatch.setattr(runner, "call", lambda command, **_: asked.append(command) or (0, ""))
    monkeypatch.setattr(runner, "pytest", lambda path, flags, **env: tested.append((path.name, env["PYTHONPATH"]))
                        or [runner.Result(path.name)])
    results = [each for which in ("lowest", "newest") for each in runner.version(which, Flags)]
    assert [c[-3:] for c in asked] == [[runner.bounds(p)[k] for p in runner.READERS] for k in (1, 0)]
    assert {name for name, _ in tested} >= {"test_engines.py",
                                            "test_release_files.py"} and len({path for _, path in tested}) == 2
    assert len(results) == 2 + len(tested) and not any(r.trouble for r in results)
    monkeypatch.setattr(runner, "call", lambda command, **_: (1, "no such version"))
    tested.clear()
    assert [r.trouble for r in runner.version("lowest", Flags)] == ["no such version"] and not tested


def test_the_core_on_another_python_is_counted(monkeypatch):
    "One result a test that it printed, by name; a run that printed nothing, or ended badly without saying why, fails."
    said = ("Setting up\npassed  tests/test_fit::test_a (3 s)\nFAILED  nbs/index.ipynb (1 s)\n    why\n"
            "1 passed, 1 failed\n")
    def found(status, said):
        monkeypatch.setattr(runner, "call", lambda command, **_: (status, said))
        return [(each.name, each.trouble) for each in runner.another_python("/some/bin/python3.13", Flags)]
    both = [("tests/test_fit::test_a on python3.13", ""), ("nbs/index.ipynb on python3.13", "failed\nwhy")]
    assert found(2, said) == both and found(0, said.replace("FAILED", "passed"))[1][1] == ""
    assert [bool(trouble) for _, trouble in found(2, said.replace("FAILED", "passed"))] == [False, False, True]
    assert found(0, said)[-1][1] == said and found(2, "no such Python")[0][1] == "no such Python"
    assert found(0, "") == [("the core of the tests on python3.13", "nothing was run")]


def test_the_core_is_made_of_tests_that_there_are():
    assert {path.stem for path in ROOT.glob("tests/test_*.py")} >= {*runner.CORE}
    assert {runner.short(path) for path in runner.notebooks()} >= {*runner.CORE_BOOKS}


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-newest.txt"])
def test_every_requirement_has_a_tested_version(name):
    "It names an exact version, inside the bounds, for each package that the settings ask for."
    import configparser
    import re

    from packaging.requirements import Requirement
    from packaging.version import Version

    parser = configparser.ConfigParser(delimiters=["="], interpolation=None)
    parser.read(ROOT / "settings.ini", encoding="utf-8")
    wanted = [Requirement(word) for key, line in parser["DEFAULT"].items() if key.endswith("requirements")
              for word in line.split()]
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", line) for line in lines), "exact versions and nothing else"
    normal = lambda name: re.sub("[-_.]+", "-", name).lower()
    exact = {normal(name): Version(version) for name, version in (line.split("==") for line in lines)}
    assert len(wanted) > 20 and [str(r) for r in wanted if normal(r.name) not in exact
                                 or exact[normal(r.name)] not in r.specifier] == []


def test_every_notebook_that_is_there_has_run(tmp_path, monkeypatch, capsys):
    "Notebooks in folders count too; one that did not run fails the whole."
    for name in ("nbs/index.ipynb", "nbs/base/03_arguments.ipynb", "nbs/.ipynb_checkpoints/index.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "NBS", tmp_path / "nbs")
    assert runner.left_out({"nbs/index.ipynb", "nbs/base/03_arguments.ipynb", "tests/test_x.py"}) == ""
    assert capsys.readouterr().out == "2 of 2 notebooks ran\n"
    assert "nbs/base/03_arguments.ipynb" in runner.left_out({"nbs/index.ipynb"})


def test_the_notebooks_that_would_run_are_those_there_are():
    "The runner's own list, against a walk of the folders; each is exported under its own path."
    walked = {p for p in (ROOT / "nbs").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts}
    assert set(runner.notebooks()) == walked and len(walked) > 80
