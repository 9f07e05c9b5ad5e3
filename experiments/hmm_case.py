"""The case study with hidden Markov models: two real tables, ten splits, five budgets, every route, into results/hmm_case.json.

    python experiments/hmm_case.py [--processes 2] [--fresh]

A cell (table, states, budget) is kept under .cache/hmm_case as soon as it is done, and a run that was interrupted goes
on from there.
"""

import argparse
import json
import multiprocessing
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).parent.parent
CACHE, RESULTS = ROOT / ".cache" / "hmm_case", ROOT / "results" / "hmm_case.json"


def label(case, states, epsilon):
    return f"{case}, {states} state{'s' * (states > 1)}, epsilon = {epsilon:g}"


def run(designs):
    "Cells of one table and number of states: each is compiled once."
    from dp_bayes_nb.core import atomic_write
    from dp_bayes_nb.hmm_experiments import case_cell
    for design in designs:
        kept, start = CACHE / f"{label(*design)}.json", time.process_time()
        if not kept.exists():
            rows = case_cell(*design, announce=lambda text: print(text, file=sys.stderr, flush=True))
            rows["ours"]["processor seconds of the cell"] = round(time.process_time() - start, 1)
            atomic_write(kept, json.dumps(rows))
    return len(designs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="tables computed side by side (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="forget kept cells")
    args = parser.parse_args()
    from dp_bayes_nb.experiments import save_result
    from dp_bayes_nb.hmm_experiments import CASE_SPLITS, LEAST, PUBLISHED, case_designs
    if args.fresh:
        shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    groups = {}
    for design in case_designs():
        groups.setdefault(design[:2], []).append(design)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, mp_context=context) as pool, tqdm(total=len(case_designs()), unit="cell") as bar:
        for done in as_completed([pool.submit(run, group) for group in groups.values()]):
            bar.update(done.result())
    cells = {label(*design): json.loads((CACHE / f"{label(*design)}.json").read_text()) for design in case_designs()}
    save_result({"about": "log probability of a record in a cell that was held back, mean over splits", "splits": CASE_SPLITS, "least": LEAST,
                 "published sweeps": PUBLISHED, "processor seconds": round(sum(c["ours"]["processor seconds of the cell"] for c in cells.values())),
                 "cells": cells}, RESULTS)


if __name__ == "__main__":
    main()
