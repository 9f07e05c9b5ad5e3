"""The page's engine (page/engine, JavaScript) against exact posteriors of 500 declarations that the package made.

The answers in tests/fixtures/page_declarations.json come from benchmarks/page_declarations.py, by lists of all possible
numbers (tests/oracles/page_posteriors.py). Here node answers the same questions: means and standard deviations, and
quantiles of shares and rates, agree within 1e-6 of a posterior standard deviation, quantiles of whole numbers exactly,
where the distribution function is not within 1e-9 of the level. A copy of the engine with one line changed must fail.
"""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from oracles import page_posteriors as exact

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
        errors.append(0.0 if not sure else (0.0 if a == b else math.inf) if whole else scaled(a, b))
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


def test_the_answers_kept_are_those_of_the_oracle(declarations):
    "A few of them again, of each kind; and what the package's default prior is, by an enumeration without the oracle."
    few = [given for i, given in enumerate(declarations) if i % 31 == 0 and given["kind"] in ("count", "share")]
    for given in few:
        row = row_of(given["cell"])
        due = exact.of_one(row) if given["kind"] == "count" else exact.share(row, given["n"], *given["prior"])
        assert error(due, given["exact"]) < 1e-9
    k = np.arange(0, 500)
    w = np.exp(-abs(k - 7) / 2.0)
    (found,) = ask([{"kind": "count", "cell": {"value": 7, "noise": {"law": "laplace", "size": 2}}}])
    assert abs(found["answer"]["mean"] - w @ k / w.sum()) < 1e-12


row_of = exact.row_of

WRONG = {  # the line as it is, the line that is wrong, the file, and the kind of declarations that show it
    "halves go up": (
        "return Math.abs(q % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;",
        "return r;",
        "cells.js", "count"),
    "rounding is ignored": (
        "low: ends.low - step / 2, high: ends.high + step / 2,",
        "low: ends.low, high: ends.high,",
        "cells.js", "count"),
    "noise on whole numbers is taken for noise on the line": (
        "return { kind, size, whole: !!whole,\n      density",
        "whole = false;\n    return { kind, size, whole: !!whole,\n      density",
        "cells.js", "count"),
    "the scale is taken for a standard deviation": (
        "density: (e) => Math.exp(-Math.abs(e) / size),",
        "density: (e) => Math.exp(-Math.abs(e) * Math.SQRT2 / size),",
        "cells.js", "count"),
    "a hidden number is at most the limit": (
        "high: below, above: false, under: true",
        "high: below, above: false, under: false",
        "cells.js", "count"),
    "a number cut at 0 is 0": (
        "low: sinks ? -Infinity : ends.low,",
        "low: ends.low,",
        "cells.js", "count"),
    "random rounding is rounding": (
        "return [[sign * near, 1 - q / base], [sign * (near + base), q / base]];",
        "return [[sign * near, +(2 * q < base)], [sign * (near + base), +(2 * q >= base)]];",
        "cells.js", "count"),
    "a prior of shares is taken for flat": (
        "alpha * logExpit(x) + beta * logExpit(-x)",
        "logExpit(x) + logExpit(-x)",
        "index.js", "share"),
    "a whole without its part": (
        "const upTo = (u, n) => (part ? u.upTo(n) : u.total)",
        "const upTo = (u, n) => u.total",
        "rates.js", "rate"),
    "the total is ignored": (
        "return new Whole((k) => one.at(k) * series(k),",
        "return new Whole((k) => one.at(k),",
        "tables.js", "table"),
    "sums over whole numbers are integrals": (
        "q[j] += INVERSE_SINH[i] * d[j];",
        "q[j] += 0 * d[j];",
        "sums.js", "count"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_engine_with_a_wrong_line_fails(name, declarations, tmp_path):
    line, wrong, file, kind = WRONG[name]
    folder = shutil.copytree(ENGINE, tmp_path / "engine")
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count(line) == 1, f"{file} has no such line any more"
    (folder / file).write_text(text.replace(line, wrong), encoding="utf-8")
    some = [given for given in declarations if given["kind"] == kind][:150]
    worst = largest(some, ask(some, folder))
    assert max(found for found, _ in worst.values()) > 10 * CLOSE


def cell(value, law="none", size=0.0, whole=False, printed=()):
    return {"value": value, "noise": {"law": law, "size": size, "whole": whole}, "printed": list(printed)}


HIDDEN, FIVE, RANDOM = {"how": "hidden", "below": 10}, {"how": "rounded", "step": 5}, {"how": "random", "base": 3}
REFUSED = [  # code, question
    ("number", {"kind": "count", "cell": cell("12", "laplace", 2)}),
    ("number", {"kind": "count", "cell": cell(1e300, "laplace", 2)}),
    ("number", {"kind": "count", "cell": cell(12, "laplace", None)}),
    ("size", {"kind": "count", "cell": cell(12, "laplace", -2)}),
    ("law", {"kind": "count", "cell": cell(12, "cauchy", 2)}),
    ("blank", {"kind": "count", "cell": cell(None, "laplace", 2)}),
    ("shown", {"kind": "count", "cell": cell(5, "laplace", 2, True, [HIDDEN, FIVE])}),
    ("multiple", {"kind": "count", "cell": cell(12, "laplace", 2, True, [FIVE])}),
    ("multiple", {"kind": "count", "cell": cell(13, printed=[RANDOM])}),
    ("printed", {"kind": "count", "cell": cell(12, "laplace", 2, False, [{"how": "cut", "low": 0, "high": 10}])}),
    ("printed", {"kind": "count", "cell": cell(12, printed=[{"how": "within", "low": 0, "high": 10}])}),
    ("perturbed", {"kind": "count", "cell": cell(12, "laplace", 2, False, [RANDOM])}),
    ("order", {"kind": "count", "cell": cell(None, "laplace", 2, False, [HIDDEN, HIDDEN])}),
    ("printing", {"kind": "count", "cell": cell(12, printed=[{"how": "constructor"}])}),
    ("step", {"kind": "count", "cell": cell(12, printed=[{"how": "rounded", "step": 0}])}),
    ("base", {"kind": "count", "cell": cell(12, printed=[{"how": "random", "base": 1.5}])}),
    ("limits", {"kind": "count", "cell": cell(12, printed=[{"how": "cut", "low": 5, "high": 5}])}),
    ("grid", {"kind": "count", "cell": cell(12.5, "laplace", 2, True)}),
    ("whole", {"kind": "count", "cell": cell(12.5)}),
    ("between", {"kind": "count", "cell": cell(12.4, "laplace", 0.001)}),
    ("negative", {"kind": "count", "cell": cell(-45, "laplace", 2)}),
    ("negative", {"kind": "count", "cell": cell(-1)}),
    ("endless", {"kind": "count", "cell": cell(100, "laplace", 2, False, [{"how": "cut", "low": 0, "high": 100}])}),
    ("n", {"kind": "share", "cell": cell(0, "laplace", 2), "n": 0, "prior": [1, 1]}),
    ("n", {"kind": "share", "cell": cell(3, "laplace", 2), "n": 10.5, "prior": [1, 1]}),
    ("above", {"kind": "share", "cell": cell(31, "laplace", 1), "n": 10, "prior": [1, 1]}),
    ("prior", {"kind": "share", "cell": cell(3, "laplace", 1), "n": 10, "prior": [0, 1]}),
    ("part", {"kind": "rate", "part": cell(100, "laplace", 1), "whole": cell(50, "laplace", 1)}),
    ("part", {"kind": "noisy", "cell": cell(100), "n": cell(50), "prior": [1, 1]}),
    ("zero", {"kind": "rate", "part": cell(0), "whole": cell(0)}),
    ("cells", {"kind": "table", "cells": [], "total": None}),
    ("total", {"kind": "table", "cells": [cell(10), cell(20)], "total": cell(31)}),
    ("total", {"kind": "table", "cells": [cell(10, "laplace", 2), cell(20, "laplace", 2)],
               "total": cell(200, "laplace", 2)}),
    ("total", {"kind": "table", "cells": [cell(10, "gaussian", 2), cell(20, "gaussian", 2)], "total": cell(2)}),
]


def test_what_cannot_be_is_refused():
    for (code, question), told in zip(REFUSED, ask([question for _, question in REFUSED]), strict=True):
        assert told.get("refused") == code, (code, question, told)


def test_every_code_is_listed_at_the_head_of_the_engine():
    text = {path.name: path.read_text(encoding="utf-8") for path in ENGINE.glob("*.js")}
    used = set(re.findall(r'refuse\([^;]*?"([a-z_]+)"', "\n".join(text.values())))
    head = text["index.js"].split("import", 1)[0]
    listed = set(re.findall(r"^// {3}([a-z_]+):", head, re.M))
    assert {code for code, _ in REFUSED} <= listed and used - {"cut", "n", "part", "whole", "total"} <= listed
    assert sum(len(each.encode()) for each in text.values()) < 90_000


LARGE = [
    {"kind": "count", "cell": cell(1e6, "laplace", 1e4)},
    {"kind": "count", "cell": cell(1e6, "gaussian", 1e4, True, [{"how": "rounded", "step": 1000}])},
    {"kind": "share", "cell": cell(1e6, "laplace", 1e4), "n": 4_000_000, "prior": [1, 1]},
    {"kind": "rate", "part": cell(1e5, "laplace", 1e4), "whole": cell(1e6, "laplace", 1e4)},
    {"kind": "noisy", "cell": cell(1e5, "laplace", 1e4), "n": cell(1e6, "laplace", 1e4), "prior": [1, 1]},
    {"kind": "compare", "a": cell(1e6, "laplace", 1e4), "b": cell(1e6, "laplace", 1e4)},
    {"kind": "table", "cells": [cell(50 + i, "laplace", 2) for i in range(200)], "total": cell(29_900, "laplace", 2)},
    {"kind": "table", "cells": [cell(1e6 + i, "laplace", 1e4) for i in range(200)], "total": cell(2e8, "laplace", 1e4)},
    {"kind": "noisy", "cell": cell(3120, "laplace", 5), "n": cell(12_000, "laplace", 353.5), "prior": [1, 1]},
    {"kind": "noisy", "cell": cell(3120, "laplace", 20), "n": cell(12_000, "gaussian", 500), "prior": [1, 1]},
    {"kind": "noisy", "cell": cell(3120, "gaussian", 20, True, [RANDOM]),
     "n": cell(12_000, "laplace", 250, True, [RANDOM]), "prior": [1, 1]},
]
TIMED = (10, 8, 9, 4)  # once more, when the engine is warm


def test_large_numbers_are_answered_at_once():
    told = ask(LARGE + [LARGE[i] for i in TIMED])
    print([round(each["ms"]) for each in told[len(LARGE):]], "ms")
    two = told[5]["answer"]["difference"]
    r = math.exp(-1e-4)
    assert two["mean"] == 0 and abs(two["sd"] ** 2 / (4 * r / (1 - r) ** 2) - 1) < 1e-10
    # a part that is never near its whole: s and n are independent, and the moments of the share are products of sums
    for i, again in zip(TIMED, told[len(LARGE):], strict=True):
        s, n = (exact.counted(row_of(LARGE[i][name])) for name in ("cell", "n"))
        k, w = n.k[n.k >= s.k[-1]], n.weights[n.k >= s.k[-1]]  # below is e^-24 and less
        ps, pn = s.weights / s.weights.sum(), w / (k + 1.0) / (w / (k + 1.0)).sum()
        mean = (ps @ (s.k + 1.0)) * (pn @ (1 / (k + 2.0)))
        sd = math.sqrt((ps @ ((s.k + 1.0) * (s.k + 2.0))) * (pn @ (1 / ((k + 2.0) * (k + 3.0)))) - mean**2)
        assert max(abs(told[i]["answer"]["mean"] - mean), abs(told[i]["answer"]["sd"] - sd)) < CLOSE * sd, i
        assert again["cpu"] < 2000, i  # milliseconds; if s is gone through for each n, over 10,000
    over = (ps @ s.k) * (n.weights @ (1 / n.k) / n.weights.sum())
    assert abs(told[3]["answer"]["mean"] - over) < CLOSE * told[3]["answer"]["sd"]
    due = exact.table([row_of(each) for each in LARGE[6]["cells"]], row_of(LARGE[6]["total"]))
    assert max(error(*pair) for pair in parts(told[6]["answer"], due)[0]) < CLOSE


MOST = 3.3e8  # steps of an answer, two seconds or so
THOUSAND, MILLION = {"how": "random", "base": 1000}, {"how": "hidden", "below": 1_000_000}
ROUGH = {"how": "random", "base": 100_000}


def totalled(*given):
    "200 cells with a total, of the same noise and the same printing."
    cells = [cell(each, *given) for each in range(3000, 203_000, 1000)]
    return {"kind": "table", "cells": cells, "total": cell(sum(each["value"] for each in cells), *given)}


HEAVY = [  # what takes the engine long, or took it: a question, and whether it is answered
    (True, {"kind": "noisy", "cell": cell(3e8, "gaussian", 1e7), "n": cell(1e9, "gaussian", 1e7), "prior": [1, 1]}),
    (False, {"kind": "noisy", "cell": cell(5e8, "laplace", 20), "n": cell(1e9, "gaussian", 1e7), "prior": [1, 1]}),
    (True, {"kind": "noisy", "cell": cell(1e6, "laplace", 1e5), "n": cell(4e6, "laplace", 3e5), "prior": [1, 1]}),
    (True, {"kind": "compare", "a": cell(None, printed=[MILLION]), "b": cell(None, printed=[MILLION])}),
    (True, totalled("gaussian", 20, True, [{"how": "random", "base": 5}])),
    (True, totalled("laplace", 1e8)),
    (True, totalled("none", 0, False, [FIVE])),
    (False, {"kind": "compare", "a": cell(300_000, "gaussian", 1700, True, [ROUGH]),
             "b": cell(300_000, "gaussian", 1700, True, [ROUGH])}),
]


def test_what_takes_long_is_refused(answers, tmp_path):
    "By steps that are counted, so on every machine the same; without the limit the last question costs more."
    for (answered, question), told in zip(HEAVY, ask([question for _, question in HEAVY]), strict=True):
        assert (told["steps"] <= MOST) == answered and (answered or told["refused"] == "slow"), question
        assert ("answer" in told) == answered and told["steps"] < 1.2 * MOST, question
    assert max(told["steps"] for told in answers) < MOST / 5  # the 500 declarations
    folder = shutil.copytree(ENGINE, tmp_path / "engine")
    text = (folder / "work.js").read_text(encoding="utf-8")
    assert text.count('if (steps > MOST) refuse("slow", { steps });') == 1
    (folder / "work.js").write_text(text.replace('if (steps > MOST) refuse("slow", { steps });', ""), encoding="utf-8")
    (told,) = ask([HEAVY[-1][1]], folder)
    assert "answer" in told and told["steps"] > MOST


def test_answers_agree_with_one_another_and_with_their_curves():
    "An exact n is an n that is known, also where the number contradicts it; what lies under curves is nearly all."
    above, rounded = cell(98.3, "gaussian", 5), cell(45, "laplace", 4, True, [FIVE])
    pairs = [(above, 78), (rounded, 60), (cell(None, printed=[HIDDEN]), 2000), (cell(1612), 2000)]
    told = ask([{"kind": "noisy", "cell": each, "n": n, "prior": [1, 1]}
                for each, size in pairs for n in (size, cell(size))])
    for known, printed in zip(told[::2], told[1::2], strict=True):
        assert error(printed["answer"], known["answer"]) < CLOSE
    (due,) = [exact.share(row_of(above), 78, 1, 1)]
    assert error(told[0]["answer"], due) < CLOSE
    curves = ask([{"kind": "curves", "a": cell(200, "laplace", 4), "b": rounded, "n": [300, 300]}])[0]["answer"]
    assert np.all(np.abs(np.array(curves) - 1) < 2e-4)


def test_fits_of_the_package_stand_beside():
    "Draws of `fit`: their distribution function is within 4,000 draws' error of the page's, 1% for all together."
    from dp_bayes_nb import Bernoulli, Counts, Gaussian, Laplace, Rounded, Suppressed, declare, fit
    named, out = {"source": "an example"}, []
    rounded = Suppressed(10) & Rounded(5)
    cases = [
        (declare(Counts(["a"]), [312], noise=Laplace(scale=2), **named),
         {"kind": "count", "cell": cell(312, "laplace", 2)}),
        (declare(Counts(["a"]), [None], noise=Gaussian(sd=3, discrete=True), printed=rounded, **named),
         {"kind": "count", "cell": cell(None, "gaussian", 3, True, [HIDDEN, FIVE])}),
        (declare(Bernoulli(), 45, n=1200, noise=Laplace(scale=4, discrete=True), printed=Rounded(5), **named),
         {"kind": "share", "cell": cell(45, "laplace", 4, True, [FIVE]), "n": 1200, "prior": [1, 1]}),
        (declare(Bernoulli(), 3, n=8.2, noise=Laplace(scale=3), n_noise=Laplace(scale=3), **named),
         {"kind": "noisy", "cell": cell(3, "laplace", 3), "n": cell(8.2, "laplace", 3), "prior": [1, 1]}),
    ]
    band = math.sqrt(math.log(2 * len(cases) / 0.01) / (2 * 4000))  # Dvoretzky, Kiefer, Wolfowitz
    for (release, _), told in zip(cases, ask([question for _, question in cases]), strict=True):
        draws = next(iter(fit(release, progress=False).posterior.data_vars.values())).values.ravel()
        for level, q in zip((0.025, 0.25, 0.5, 0.75, 0.975), told["answer"]["q"], strict=True):
            out.append(max((draws < q).mean() - level, level - (draws <= q).mean()))
    assert max(out) < band
