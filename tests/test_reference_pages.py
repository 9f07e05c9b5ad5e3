"""The site's reference: every public name once, under a job, with an example that runs and prints what it says."""

import ast
import contextlib
import doctest
import importlib.util
import inspect
import io
import sys
from pathlib import Path

import pytest

import dp_bayes_nb as dpb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
reference = pytest.importorskip("reference")
JOBS = reference.jobs()
NEED = {"fit_partitions": "dask"}  # what an example needs and the package does not


def test_each_public_name_has_one_job():
    names = [name for those in JOBS.values() for name in those]
    assert len(names) == len(set(names)) and set(names) == set(dpb.__all__)


@pytest.mark.parametrize("job", JOBS)
def test_each_public_name_has_an_example(job):
    missing = [name for name in JOBS[job] if not reference.example(getattr(dpb, name))[0]]
    assert not missing, f"no example in the docstring of {', '.join(missing)}"


LONG = ("Reading a posterior", "Releasing a table")  # half a minute and more of a processor


@pytest.mark.parametrize("job", [pytest.param(job, marks=pytest.mark.slow if job in LONG else ()) for job in JOBS])
def test_examples_run_and_print_what_they_say(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = [name for name in JOBS[job] if name not in NEED or importlib.util.find_spec(NEED[name])]
    failures = [said for name in here if (said := run(name, inspect.getdoc(getattr(dpb, name))))]
    assert not failures, "\n".join(failures)


def run(name, docstring):
    "What doctest finds wrong with the example of a docstring."
    test = doctest.DocTestParser().get_doctest(docstring, {}, name, None, None)
    said = io.StringIO()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with contextlib.redirect_stderr(io.StringIO()):  # bars of progress
        doctest.DocTestRunner(optionflags=flags).run(test, out=said.write)
    return said.getvalue()


def test_an_example_that_says_something_else_is_found():
    right = "A share.\n\n>>> from dp_bayes_nb import Bernoulli\n>>> Bernoulli('ill').sensitivity()\n1.0"
    assert run("right", right) == "" and "Got:\n    1.0" in run("wrong", right.replace("\n1.0", "\n2.0"))


def unexplained(things):
    "Parameters of public functions and classes of which no comment says what they mean."
    return [f"{name}: {row[0]}" for name, thing in things.items() for row in reference.parameters(thing) if not row[3]]


def test_each_parameter_is_explained():
    assert unexplained({name: getattr(dpb, name) for name in dpb.__all__}) == []


def test_an_unexplained_parameter_is_found(monkeypatch):
    monkeypatch.setattr(reference, "own_comments", lambda thing: {"model": "the model"})
    assert unexplained({"calibrate": dpb.calibrate})[:1] == ["calibrate: `prior`"]


def test_a_page_has_call_output_and_parameters():
    class Titles(dict):
        def __missing__(self, home):
            return home

    pages = reference.pages(Titles())
    assert len(pages) == len(JOBS) + 1
    text = pages["from_a_release_to_a_posterior"]
    assert "## `fit` {#fit}" in text and "| `draws` | `int` | `1000` |" in text and ">>>" not in text
    assert pages["../public_names"].count("\n| [`") == len(dpb.__all__)
    for name in dpb.__all__:
        ast.parse(reference.example(getattr(dpb, name))[0])
