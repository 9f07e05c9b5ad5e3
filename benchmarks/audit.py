"""Audits at full size: every model, relation and mechanism of tests/test_audit.py, and persons; 20,000 releases of
each of two tables, together at a confidence of .99. `python benchmarks/audit.py [SECONDS]` writes results/audit.json,
goes on where it stopped, and stops after the case in which the seconds are over. Noise has no seed: a case is run once,
and its line is kept whatever it says.
"""

import itertools
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from test_audit import BUDGETS, CASES, CASES_OF_PERSONS, FULL, PERSONS, TRIED  # noqa: E402

from dp_bayes_nb import audit  # noqa: E402
from dp_bayes_nb.base.files import atomic_write  # noqa: E402

RESULTS = ROOT / "results" / "audit.json"
CONFIDENCE = 1 - 0.009 / (len(CASES) + len(CASES_OF_PERSONS))  # p-values of the noise get the rest of .01


def declared(name, promise, budget):
    "The model of a case, and what `audit` is told."
    model, options = PERSONS.get(name) or (TRIED[name], {})
    person = {"person": "id"} if name in PERSONS else {}
    return model, {"neighbours": promise, **BUDGETS[budget], **options, **person}


def line(name, promise, budget):
    "One case: what was claimed and seen; or why there is no such release."
    model, options = declared(name, promise, budget)
    start = time.process_time()
    try:
        found = audit(model, confidence=CONFIDENCE, **options, **FULL)
    except ValueError as error:
        return {"refused": str(error)[:120]}
    return {"claims": [{key: row[key] for key in ("what", "claimed", "lower_bound")} for row in found.table],
            "attained": found.moved / found.sensitivity, "noise": found.noise, "agreement": found.agreement,
            "contradicted": found.contradicted, "trials": found.trials, "processor_s": time.process_time() - start}


def rounded(value):
    "Six digits: what is attained must not look more than it is."
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


FIRST = ("Bernoulli", "Exponential", "Grouped, private", "Grouped, public", "combined, sum", "two rows")


def in_order():
    "One model of each kind by all mechanisms, then each under its own relation with Laplace noise, persons, the rest."
    both = [*CASES, *CASES_OF_PERSONS]
    first = [case for budget in BUDGETS for case in both if case[0] in FIRST and case[2] == budget]
    own = [case for case in CASES if case[1] == TRIED[case[0]].relation and case[2] == "laplace"]
    return dict.fromkeys(itertools.chain(first, own, CASES_OF_PERSONS, CASES))


def main(seconds=None):
    found = json.loads(RESULTS.read_text())["cases"] if RESULTS.exists() else {}
    start = time.perf_counter()
    for case in in_order():
        name = " | ".join(case)
        if name in found:
            continue
        if seconds is not None and time.perf_counter() - start > seconds:
            break
        found[name] = rounded(line(*case))
        print(name, found[name], flush=True)
        about = {"cases": len(CASES) + len(CASES_OF_PERSONS), "confidence of each": CONFIDENCE,
                 "confidence of all": 0.99, **FULL}
        atomic_write(RESULTS, json.dumps({"about": about, "cases": found}, indent=1) + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else None)
