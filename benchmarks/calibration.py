"""A calibration of a thousand trials, beside that of 0.1.0 and beside what a competent user would write in NumPy;
and a plan with a target.
"""

import jax
import numpy as np
import scipy.special as sp
from table import clock, interleave, record

from dp_bayes_nb.research import evaluation
from dp_bayes_nb.models.conjugate_priors import Gamma
from dp_bayes_nb.research.evaluation import calibrate
from dp_bayes_nb.models.counts import Bernoulli
from dp_bayes_nb.research.planning import plan
from dp_bayes_nb.base.priors import Beta
from dp_bayes_nb.models.rates import Exponential

TRIALS, DRAWS, ROUNDS, FEW = 1000, 1000, 2, 64
DESIGN = dict(n=1000, epsilon=0.1)
ROUTE = evaluation.tabulation


def by_counts(rng, alpha=10.0, beta=10.0):
    "Ranks for a share: weights of every count, a count for each draw, a beta variate given it. All trials at once."
    n, b = DESIGN["n"], 1 / DESIGN["epsilon"]
    theta, every = rng.beta(alpha, beta, TRIALS), np.arange(n + 1)
    p = 1 - np.exp(-1 / b)
    z = rng.binomial(n, theta) + rng.geometric(p, TRIALS) - rng.geometric(p, TRIALS)
    weight = sp.betaln(alpha + every, beta + n - every) - sp.betaln(1 + every,
                                                                    1 + n - every) - np.abs(z[:, None] - every) / b
    cdf = np.exp(weight - weight.max(axis=1, keepdims=True)).cumsum(axis=1)
    u = rng.random((TRIALS, DRAWS)) * cdf[:, -1:]
    s = np.stack([np.searchsorted(c, v) for c, v in zip(cdf, u)])
    return (rng.beta(alpha + s, beta + n - s) < theta[:, None]).sum(axis=1)


def by_grid(rng, shape=10.0, rate=10.0, lower=0.025, upper=3.69, points=2000):
    "Ranks for clipped waiting times: moments on a grid of the rate, a normal sum, Laplace noise. All trials at once."
    n, b = DESIGN["n"], (upper - lower) / DESIGN["epsilon"]
    theta = rng.gamma(shape, 1 / rate, TRIALS)
    z = np.clip(rng.exponential(1 / theta[:, None], (TRIALS, n)), lower, upper).sum(axis=1) + rng.laplace(0, b, TRIALS)
    grid = np.linspace(0.02, 5, points)
    a, c = np.exp(-grid * lower), np.exp(-grid * upper)
    mean = lower + (a - c) / grid
    second = lower**2 + 2 * ((lower / grid + 1 / grid**2) * a - (upper / grid + 1 / grid**2) * c)
    sd = np.sqrt(n * (second - mean**2))
    d = z[:, None] - n * mean
    x = [(sd / b - d / sd) / 2**0.5, (sd / b + d / sd) / 2**0.5]
    tail = [np.where(v > 0, -d**2 / (2 * sd**2) + np.log(sp.erfcx(np.maximum(v, 0))),
                     sd**2 / (2 * b * b) + sign * d / b + np.log(sp.erfc(np.minimum(v, 0))))
            for v, sign in zip(x, (-1, 1))]
    value = np.logaddexp(*tail) + (shape - 1) * np.log(grid) - rate * grid
    cdf = np.exp(value - value.max(axis=1, keepdims=True)).cumsum(axis=1)
    u = rng.random((TRIALS, DRAWS)) * cdf[:, -1:]
    return np.stack([np.interp(v, c, grid) < t for v, c, t in zip(u, cdf, theta)]).sum(axis=1)


MODELS = {"Bernoulli": (Bernoulli(), Beta(10.0, 10.0), by_counts),
          "Exponential, clipped": (Exponential((0.025, 3.69)), Gamma(10.0, 10.0), by_grid)}
PLANS = {"a share, n = 1000, width 0.1": dict(model=Bernoulli(), prior=Beta(1.0, 1.0), n=1000, target=0.1),
         "waiting times, n = 500, width 0.6": dict(model=Exponential((0, 2)), prior=Gamma(20.0, 10.0), n=500,
                                                  target=0.6)}


def old_way(function):
    "`function` with every posterior tabulated by `fit`'s own kernel, as in 0.1.0."
    def run():
        evaluation.tabulation = lambda *_: None
        try:
            return function()
        finally:
            evaluation.tabulation = ROUTE
    return run


def main():
    rows, rng = {}, np.random.default_rng(0)
    for name, (family, prior, by_hand) in MODELS.items():
        calls = {"new": lambda f=family, p=prior: calibrate(f, p, **DESIGN, trials=TRIALS, draws=DRAWS).ranks,
                 "old": old_way(lambda f=family, p=prior: calibrate(f, p, **DESIGN, trials=FEW, draws=DRAWS).ranks),
                 "by hand": lambda by_hand=by_hand: by_hand(rng)}
        first = {call: clock(function)[0] for call, function in calls.items()}
        times = interleave(calls, ROUNDS)
        each = {call: np.median(t, axis=0) / (FEW if call == "old" else TRIALS) for call, t in times.items()}
        rows[name] = {"first run with compilation, s": first["new"], "s": float(each["new"][0] * TRIALS),
                      "target, s": 60.0,
                      "trials/s": float(1 / each["new"][0]),
                      "times 0.1.0": float(each["old"][0] / each["new"][0]),
                      "times 0.1.0, processor": float(each["old"][1] / each["new"][1]),
                      "times NumPy by hand": float(each["by hand"][0] / each["new"][0]),
                      "times NumPy by hand, processor": float(each["by hand"][1] / each["new"][1])}
    for name, study in PLANS.items():
        run = lambda study=study: np.ones(1) * plan(**study, progress=False).epsilon
        first = clock(run)[0]
        t = np.median(interleave({"plan": run}, ROUNDS)["plan"], axis=0)
        rows[f"plan: {name}"] = {"first run with compilation, s": first, "s": float(t[0]), "processor s": float(t[1]),
                                 "target, s": 4.0}
    record("calibration", rows,
           f"{TRIALS} trials of {DRAWS} draws with the default method, n = 1000, epsilon = 0.1; {jax.device_count()} "
           f"device(s); "
           f"0.1.0: its kernel inside this loop, {FEW} trials; NumPy: all trials at once, brute force; old, new and "
           f"NumPy in alternation")


if __name__ == "__main__":
    main()
