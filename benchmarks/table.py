"""Clock, results file and table shared by the benchmarks; run by itself it prints what was recorded."""

import importlib.metadata
import json
import os
import platform
import time
from pathlib import Path

import jax
import numpy as np

from dp_bayes_nb.base.files import atomic_write

RESULTS = Path(__file__).parent.parent / "results" / "benchmarks.json"

# Compile times are measured cold: programs kept from an earlier run would hide them.
jax.config.update("jax_enable_compilation_cache", False)


def clock(function):
    "Wall seconds and processor seconds (all threads) of one call, after its arrays are ready."
    wall, processor = time.perf_counter(), time.process_time()
    jax.block_until_ready(function())
    return time.perf_counter() - wall, time.process_time() - processor


def interleave(functions: dict, rounds: int) -> dict[str, np.ndarray]:
    "Clock every function once a round, in turn, so that a busy machine slows all of them alike: (rounds, 2) each."
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(clock(function))
    return {name: np.array(t) for name, t in times.items()}


def rounded(value):
    "Three significant digits: a benchmark knows no more."
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return float(f"{value:.3g}") if isinstance(value, float) else value


def record(name: str, rows: dict, about: str):
    "Put the rows of one benchmark into the results file (old or new, never half written), and print them."
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    versions = {p: importlib.metadata.version(p) for p in ("numpy", "jax", "jaxlib", "arviz")}
    settings = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version(), **versions}
    results[name] = {"about": about, "settings": settings, "rows": rounded(rows)}
    RESULTS.parent.mkdir(exist_ok=True)
    atomic_write(RESULTS, json.dumps(dict(sorted(results.items())), indent=1) + "\n")
    show(name, results[name])


def recorded(name: str) -> dict:
    "Rows of one benchmark as recorded, empty where there are none."
    return json.loads(RESULTS.read_text()).get(name, {}).get("rows", {}) if RESULTS.exists() else {}


def show(name, result):
    print(f"\n{name}: {result['about']}")
    for row, values in result["rows"].items():
        values = values if isinstance(values, dict) else {"": values}
        print(f"  {row:42s} " + "  ".join(f"{k} {v:,.4g}" if not isinstance(v, str) else f"{k} {v}"
                                          for k, v in values.items()))


if __name__ == "__main__":
    for name, result in json.loads(RESULTS.read_text()).items():
        show(name, result)
