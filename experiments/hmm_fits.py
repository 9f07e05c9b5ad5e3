"""Posteriors of a release of the case study, as small numbers: results/hmm_fits.json.

    python experiments/hmm_fits.py [police] [collapsed|naive]

Probabilities of the states of every cell, quantiles of the emission probabilities, diagnostics. What is in the file already is skipped.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from dp_bayes_nb import Release, fit, state_probabilities
from dp_bayes_nb.core import atomic_write

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "hmm_fits.json"
SETTINGS = {"draws": 400, "warmup": 200, "chains": 2, "seed": 1}


def summary(name, method):
    "One posterior."
    start = time.process_time()
    idata = fit(Release.load(ROOT / "nbs" / "releases" / f"{name}_5.json"), method=method, progress=False, **SETTINGS)
    posterior = idata.posterior
    quantiles = {key: np.quantile(value.values, [0.025, 0.5, 0.975], axis=(0, 1)).round(4).tolist() for key, value in posterior.data_vars.items()}
    path = idata.sample_stats["path"].values
    return {"states": state_probabilities(idata).values.round(3).tolist(), "quantiles": quantiles, "last path": path[-1, -1].tolist(),
            "rhat": max(float(np.nanmax(v.attrs["rhat"])) for v in posterior.data_vars.values()),
            "effective": min(float(np.nanmin(v.attrs["ess_bulk"])) for v in posterior.data_vars.values()),
            "processor seconds": round(time.process_time() - start, 1), **SETTINGS}


def main():
    for name in sys.argv[1:2] or ("police",):
        for method in sys.argv[2:3] or ("collapsed", "naive"):
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
            if f"{name}, {method}" not in kept:
                kept[f"{name}, {method}"] = summary(name, method)
                atomic_write(RESULTS, "{\n" + ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items()) + "\n}\n")


if __name__ == "__main__":
    main()
