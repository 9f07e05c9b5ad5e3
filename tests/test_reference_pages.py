"""The site's reference: every public name once, under a job, with an example that runs and prints what it says."""

import ast
import contextlib
import doctest
import importlib.util
import inspect
import io
import re
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


EQUATION = re.compile(r"\b(?:[Ee]quations?|eqs?\.) ?\(?\d")
WORDS = 4  # before a method's reference, in its sentence


def said_by_number(name, thing):
    """Texts of the help of a public name that leave to an equation's number what it is: any number, of the name and its
    parameters; of a method one that does not follow its words.
    """
    found = [f"{name}: {text[:60]}" for text in (inspect.getdoc(thing) or "", *(row[3] for row in
             reference.parameters(thing))) if EQUATION.search(text)]
    for method, each in inspect.getmembers(thing) if inspect.isclass(thing) else []:
        text = inspect.getdoc(each) or ""
        if method.startswith("_") or not (getattr(each, "__module__", None) or "").startswith("dp_bayes_nb"):
            continue
        found += [f"{name}.{method}: {text[:60]}" for one in EQUATION.finditer(text)
                  if len(re.split(r"[.;]\s", text[:one.start()])[-1].split()) < WORDS]
    return found


def test_no_help_says_an_equation_by_its_number_only():
    assert [said for name in dpb.__all__ for said in said_by_number(name, getattr(dpb, name))] == []


def test_an_equation_without_its_words_is_found():
    def half(x):
        "Half of x (equation 3 of the chapter)."

    class Sum:
        "A sum."
        def mean(self):
            "Its mean: equation (1)."

        def spread(self):
            "The standard deviation of the sum: equation (2)."

    Sum.mean.__module__ = Sum.spread.__module__ = "dp_bayes_nb.models"
    assert len(said_by_number("half", half)) == 1
    assert [text.split(":")[0] for text in said_by_number("Sum", Sum)] == ["Sum.mean"]


def test_an_entry_opens_with_call_output_and_parameters():
    "In this order; what else its docstring says comes below."
    for name in dpb.__all__:
        thing = getattr(dpb, name)
        text, (_, more) = reference.entry(name, thing, "posterior.fit", "Fit"), reference.prose(thing)
        parts = [text.find(start) for start in ("## `", "```python", "```text", "| parameter |") if start in text]
        assert parts == sorted(parts) and len(parts) >= 2, name
        assert not more or text.index(more) > parts[-1], name


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
