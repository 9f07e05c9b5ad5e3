"""The page's engine (page/engine, JavaScript) against exact posteriors of 500 declarations that the package made.

The answers in tests/fixtures/page_declarations.json come from benchmarks/page_declarations.py, by lists of all possible
numbers (tests/oracles/page_posteriors.py). Here node answers the same questions: means and standard deviations, and
quantiles of shares and rates, agree within 1e-6 of a posterior standard deviation, quantiles of whole numbers exactly,
where the distribution function is not within 1e-9 of the level. A copy of the engine with one line changed must fail.
"""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest


ROOT = Path(__file__).resolve().parent.parent
NODE, ENGINE, RUNNER = shutil.which("node"), ROOT / "page" / "engine", ROOT / "tests" / "page_runner.mjs"
CLOSE = 1e-6  # posterior standard deviations
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def ask(questions, engine=ENGINE):
    "What the engine answers."
    done = subprocess.run([NODE, str(RUNNER), str(engine)], input=json.dumps(questions), capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def declarations():
    return json.loads((ROOT / "tests" / "fixtures" / "page_declarations.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def answers(declarations):
    return ask(declarations)


def parts(found, due):
    "Pairs of distributions, and of probabilities, of an answer and the exact one."
    if "cells" in due:
        return [*zip(found["cells"], due["cells"], strict=True), (found["total"], due["total"])], []
    if "difference" in due:
        both = [(found["difference"], due["difference"])]
        both += [(found["ratio"], due["ratio"])] if due.get("ratio") else []
        return both, [(found[name], due[name]) for name in ("above", "equal") if name in due]
    return [(found, due)], [(found[name], due[name]) for name in ("none",) if name in due]


def error(found, due):
    "The largest error in posterior standard deviations; infinite for a wrong whole number."
    unit = max(due["sd"], 1e-9 * max(1.0, abs(due["mean"])))  # doubles do not resolve less
    sd, scaled = due["sd"], lambda a, b: abs(a - b) / unit
    errors = [scaled(found["mean"], due["mean"]), scaled(found["sd"], sd)]
    for a, b, sure in zip(found["q"], due["q"], due.get("sure", [True] * 5), strict=True):
        whole = isinstance(b, int)
        errors.append((0.0 if a == b else math.inf) * sure if whole and sure else 0.0 if whole or not sure else scaled(a, b))
    return max(errors)


def largest(declarations, answers):
    "The largest error of each kind of question, and where."
    worst = {}
    for i, (given, told) in enumerate(zip(declarations, answers, strict=True)):
        if "refused" in told:
            found = math.inf
        else:
            both, chances = parts(told["answer"], given["exact"])
            found = max([error(*pair) for pair in both] + [abs(a - b) for a, b in chances])
        if found >= worst.get(given["kind"], (-1.0,))[0]:
            worst[given["kind"]] = found, i
    return worst


def test_answers_are_exact(declarations, answers):
    worst = largest(declarations, answers)
    print({kind: f"{found:.1e} (declaration {i})" for kind, (found, i) in worst.items()}, len(declarations))
    assert len(declarations) == 500
    assert max(found for found, _ in worst.values()) < CLOSE, worst
