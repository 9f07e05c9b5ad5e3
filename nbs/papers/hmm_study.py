"""Every route to a hidden Markov model on simulated cells with a known truth, into results/hmm_study.json.

Four sizes of a cell, at one budget. A size is written as soon as it is done; sizes that are in the file already are
skipped, so an interrupted run goes on where it stopped (`--fresh` starts anew).
"""

import json
import sys
import time
from pathlib import Path

from tqdm import tqdm

from dp_bayes_nb.papers.experiments import save_result
from dp_bayes_nb.papers.hmm_experiments import (LEAST, PUBLISHED, STUDY_EPSILON, STUDY_SIZES, STUDY_TRIALS,
                                                simulated_study)

RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "hmm_study.json"


def main():
    kept = json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() and "--fresh" not in sys.argv else {}
    for size in tqdm(STUDY_SIZES, unit="size"):
        name, start = f"{size} a cell", time.process_time()
        if name not in kept:
            rows = simulated_study(size, announce=tqdm.write)
            rows["ours"]["processor seconds of the design"] = round(time.process_time() - start, 1)
            kept[name] = rows
            save_result({"about": "held-out log probability of a record, and coverage of emission probabilities",
                         "trials": STUDY_TRIALS,
                         "epsilon": STUDY_EPSILON, "least": LEAST, "published sweeps": PUBLISHED, "cells": kept},
                        RESULTS)


if __name__ == "__main__":
    main()
