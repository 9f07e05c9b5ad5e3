"""The case study with hidden Markov models, all of it: two real tables, ten splits, five budgets, every route, hidden
Markov model
and naive Bayes, into results/hmm_case.json; and the posteriors of the two releases in nbs/releases, into
results/hmm_fits.json.

    make case        or        python nbs/papers/hmm_case.py [--processes 2] [--fresh]

A piece (table, states, budget; or table, method) is kept under .cache/hmm_case as soon as it is done, and a run that
was
interrupted goes on from there. With --fresh everything is computed anew.
"""

import argparse
import json
import multiprocessing
import shutil
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, wait
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = ROOT / ".cache" / "hmm_case"
NUMBERED = {"birds": ("sky", "not recorded")}  # states that differ little in the first level of the first feature
APART = 1.1  # rhat from which chains are shown one by one
FITS = {"collapsed": {"draws": 4000, "warmup": 1000, "chains": 2, "seed": 1},
        "naive": {"draws": 400, "warmup": 200, "chains": 2, "seed": 1}}


def label(case, states, epsilon):
    return f"{case}, {states} state{'s' * (states > 1)}, epsilon = {epsilon:g}"


def cell(case, states, epsilon):
    "Every route on ten splits of a table."
    from dp_bayes_nb.papers.hmm_experiments import case_cell
    return case_cell(case, states, epsilon, announce=lambda text: None)


def posterior(case, method):
    """The posterior of a release as small numbers: probabilities of states, quantiles of emission probabilities,
    diagnostics.
    """
    from dp_bayes_nb import Release, fit, relabel
    with warnings.catch_warnings():
        # what fit says of chains that disagree is kept as rhat, and chapter ‘Events in regions: every route to a hidden
        # Markov model’ shows it
        warnings.simplefilter("ignore", UserWarning)
        idata = fit(Release.load(ROOT / "nbs" / "releases" / f"{case}_5.json"), method=method, progress=False,
                    **FITS[method])
    number = (lambda draws: relabel(draws, *NUMBERED[case])) if case in NUMBERED else lambda draws: draws
    shown, before, more = summary(number(idata)), summary(idata), {}
    # each chain stays at a mode of its own, and a mean over them means nothing: the one that moves best first
    if shown["rhat"] > APART:
        rhat, chains = {"rhat": shown["rhat"]}, [idata.isel(chain=[c]) for c in range(FITS[method]["chains"])]
        each = sorted(((summary(number(chain)) | rhat, summary(chain) | rhat) for chain in chains),
                      key=lambda pair: -pair[0]["effective"])
        (shown, before), more = each[0], {"other chains": [found for found, _ in each[1:]]}
    if case in NUMBERED:
        more |= {"numbered by": NUMBERED[case],
                 "numbered by the first level": {name: before[name] for name in ("rhat", "effective", "unsure")}}
    return {**shown, **FITS[method], **more}


def summary(idata):
    "Of draws whose states are numbered somehow."
    import arviz as az
    import numpy as np

    from dp_bayes_nb import state_probabilities
    draws, states = idata.posterior.data_vars, state_probabilities(idata).values
    quantiles = {name: np.quantile(value.values, [0.025, 0.5, 0.975], axis=(0, 1)).round(4).tolist()
                 for name, value in draws.items()}
    together = idata.posterior.sizes["chain"] > 1  # one chain has no rhat
    worst = lambda f, choose: float(choose([choose(f(idata.posterior[name])[name].values) for name in draws]))
    return {"states": states.round(3).tolist(), "quantiles": quantiles, "rhat": worst(az.rhat, np.nanmax) if together
            else None, "effective": worst(az.ess, np.nanmin),
            "unsure": int((states.max(axis=-1) < 0.95).sum())}


def run(function, pieces):
    "Pieces that share what is compiled; what is kept is not computed again."
    from dp_bayes_nb.base.files import atomic_write
    for name, arguments in pieces:
        kept, start = CACHE / f"{name}.json", time.process_time()
        if not kept.exists():
            found = function(*arguments)
            atomic_write(kept, json.dumps({"found": found, "seconds": round(time.process_time() - start, 1)}))


def work():
    "Groups of pieces, the longest first."
    from dp_bayes_nb.papers.hmm_experiments import CASES, case_designs
    groups = {}
    for design in case_designs():
        groups.setdefault(design[:2], []).append((label(*design), design))
    longest = sorted(groups, key=lambda group: -group[1])
    return [(cell, groups[group]) for group in longest] + [(posterior, [(f"{case}, {method}", (case, method))
                                                                        for method in FITS]) for case in CASES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="computed side by side (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="forget what is kept")
    args = parser.parse_args()
    from dp_bayes_nb.base.files import atomic_write
    from dp_bayes_nb.papers.experiments import save_result
    from dp_bayes_nb.papers.hmm_experiments import CASE_DRAWS, CASE_SPLITS, LEAST, ONE_STATE, PUBLISHED
    if args.fresh:
        shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    groups = work()
    names = [name for _, pieces in groups for name, _ in pieces]
    done = lambda: sum((CACHE / f"{name}.json").exists() for name in names)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, mp_context=context) as pool, tqdm(total=len(names), initial=done(),
                                                                               unit="piece") as bar:
        running = [pool.submit(run, *group) for group in groups]
        while wait(running, timeout=2).not_done:
            if done() > bar.n:
                bar.update(done() - bar.n)
        for group in running:
            group.result()
        bar.update(done() - bar.n)
    kept = {name: json.loads((CACHE / f"{name}.json").read_text()) for name in names}
    seconds = {"processor seconds": round(sum(found["seconds"] for found in kept.values()))}
    cells = {name: kept[name]["found"] for function, pieces in groups if function is cell for name, _ in pieces}
    save_result({"about": "log probability of a record in a cell that was held back, mean over splits",
                 "splits": CASE_SPLITS, "draws": CASE_DRAWS, "with one state": ONE_STATE,
                 "least": LEAST, "published sweeps": PUBLISHED, **seconds, "cells": cells},
                ROOT / "results" / "hmm_case.json")
    fits = [f" {json.dumps(name)}: {json.dumps(kept[name]['found'])}" for function, pieces in groups
            if function is posterior for name, _ in pieces]
    atomic_write(ROOT / "results" / "hmm_fits.json", "{\n" + ",\n".join(fits) + "\n}\n")


if __name__ == "__main__":
    main()
