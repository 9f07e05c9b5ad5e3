"""Calibration of every bounded family at three designs: ranks of simulated truths, into
results/family_calibration.json.

Each design has its own seed, fixed before the first run, and is written as soon as it is done; designs that are
in the file already are skipped, so an interrupted run goes on where it stopped (`--fresh` starts anew).
"""

import importlib.metadata
import json
import sys
import zlib
from pathlib import Path

import jax
import numpy as np
from tqdm import tqdm

from dp_bayes_nb.models.bounds import Clip, Redact
from dp_bayes_nb.models.conjugate_priors import Gamma, NormalInverseGamma, NormalMean
from dp_bayes_nb.base.files import atomic_write
from dp_bayes_nb.research.evaluation import calibrate
from dp_bayes_nb.models.gamma import GammaData
from dp_bayes_nb.models.normal import LogNormal, Normal
from dp_bayes_nb.base.priors import Beta, LogDensity
from dp_bayes_nb.models.rates import Exponential, Geometric, Pareto, Poisson, Weibull

CACHE = Path(__file__).resolve().parent.parent.parent / ".cache" / "family_calibration"  # finished batches of a design
RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "family_calibration.json"
TRIALS, DRAWS, WARMUP = {1: 2000, 2: 1000}, 100, 100  # trials by number of parameters
SIZES = [(20, 1.0), (300, 0.3), (5000, 0.1)]  # records, epsilon

SHAPE, RATE = Gamma(30.0, 15.0, name="shape"), Gamma(30.0, 15.0, name="rate")


def shape_and_rate(key):
    "Independent Gamma laws for the shape and the rate of Gamma data."
    first, second = jax.random.split(key)
    return {**SHAPE.sample(first), **RATE.sample(second)}


INDEPENDENT = LogDensity(lambda theta: SHAPE.log_density(theta) + RATE.log_density(theta), sample=shape_and_rate)

# Bounds that hold nearly all records at the prior mean, narrow enough that clipping matters.
MODELS = {
    "Poisson": (Poisson, Gamma(20.0, 4.0), (1, 10), {}),
    "Geometric": (Geometric, Beta(8.0, 8.0), (0, 5), {}),
    "Exponential": (Exponential, Gamma(10.0, 10.0), (0.025, 3.69), {}),
    "Normal, variance 1": (Normal, NormalMean(0.0, 4.0), (-2.0, 2.0), {"variance": 1.0}),
    "LogNormal, variance 1": (LogNormal, NormalMean(0.0, 4.0), (0.1, 8.0), {"log_variance": 1.0}),
    "Gamma, shape 2": (GammaData, Gamma(20.0, 10.0), (0.1, 3.0), {"shape": 2.0}),
    "Pareto": (Pareto, Gamma(20.0, 10.0), (1.0, 5.0), {"lower": 1.0}),
    "Weibull, shape 1.5": (Weibull, Gamma(20.0, 20.0), (0.05, 2.5), {"shape": 1.5}),
    "Normal": (Normal, NormalInverseGamma(0.0, 4.0, 8.0, 7.0), (-2.5, 2.5), {}),
    "LogNormal": (LogNormal, NormalInverseGamma(0.0, 4.0, 8.0, 7.0), (0.1, 10.0), {}),
    "Gamma": (GammaData, INDEPENDENT, (0.1, 3.0), {}),
}
# also with the paper's redaction
REDACTED = ("Poisson", "Exponential", "Normal, variance 1", "Normal", "LogNormal", "Gamma")
HARD = {  # releases that two parameters explain in two ways, or along a narrow ridge
    "LogNormal, incomes": (LogNormal(Redact(1, 500)), NormalInverseGamma(3.5, 1.0, 3.0, 1.0), 1000, 1.0),
    "Normal, two modes": (Normal(Redact(-1, 1)), NormalInverseGamma(0.0, 0.1, 2.0, 0.5), 1000, 1.0),
}


def designs():
    "Every design by name: model, kind of bounds, family, prior, records, epsilon."
    for name, (make, prior, bounds, more) in MODELS.items():
        for kind in (Clip, Redact) if name in REDACTED else (Clip,):
            for n, epsilon in SIZES:
                yield f"{name}, {kind.__name__}, n = {n}, epsilon = {epsilon:g}", (name, kind.__name__,
                    make(kind(*bounds), **more), prior, n, epsilon)
    for name, (family, prior, n, epsilon) in HARD.items():
        yield f"{name}, Redact, n = {n}, epsilon = {epsilon:g}", (name, "Redact", family, prior, n, epsilon)


def run(name, model, kind, family, prior, n, epsilon):
    "One design, as a row of numbers."
    trials = TRIALS[len(family.parameters)]
    result = calibrate(zlib.crc32(name.encode()), family, prior, n=n, epsilon=epsilon, trials=trials, draws=DRAWS,
                       warmup=WARMUP,
                       path=CACHE / f"{zlib.crc32(name.encode()):08x}")
    histogram = [np.bincount(r * 20 // (DRAWS + 1), minlength=20).tolist() for r in result.ranks.T]
    inside = np.mean((result.ranks >= 3) & (result.ranks <= 97), axis=0)  # 95 of 101 ranks
    accepted = {"accepted": round(float(result.infos["accepted"].mean()), 4)} if "accepted" in result.infos else {}
    return {"model": model, "bounds": kind, "method": result.method, "n": n, "epsilon": epsilon, "trials": trials,
            "parameters": list(result.parameters), "ks": np.round(result.ks, 5).tolist(), "ranks in 20 bins": histogram,
            "share of the middle 95 of 101 ranks": np.round(inside, 5).tolist(), **accepted,
            "width 95%": [float(f"{w:.4g}") for w in result.width(0.95)], "nonfinite": result.nonfinite}


def main():
    kept = json.loads(RESULTS.read_text())["designs"] if RESULTS.exists() and "--fresh" not in sys.argv else {}
    versions = {p: importlib.metadata.version(p) for p in ("numpy", "jax", "jaxlib")}
    bar = tqdm(list(designs()))
    for name, design in bar:
        bar.set_description(name)
        if name not in kept:
            kept[name] = run(name, *design)
            text = json.dumps({"draws": DRAWS, "versions": versions, "designs": kept}, indent=1)
            atomic_write(RESULTS, text + "\n")


if __name__ == "__main__":
    main()
