"""k-ary randomised response, 64 answers, 10,000 respondents, ε = 1: simultaneous coverage, squared error, seconds.

    python benchmarks/randomized_response.py [trials]  # 0: only the cases whose prior learns α

Truths are drawn from the prior (Dirichlet(α), three values of α), so that coverage is a statement about the posterior,
or are Zipf shares that no prior drew. A simultaneous band is mean ± c·sd of √share, with the c that holds 95% of the
draws of all shares together. "Iterative Bayes" is expectation and maximisation from equal shares, at its limit, the
maximum of the likelihood, and stopped at 100 steps. "α learned" is the prior LearnedDirichlet(), whatever the truths
are. Ten minutes of a processor; writes results/randomized_response.json.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from dp_bayes_nb.base.priors import LearnedDirichlet
from dp_bayes_nb.counts.reports import draw_shares, likely_shares
from dp_bayes_nb.models.reports import kept

K, N, EPSILON, DRAWS, LEARNED = 64, 10_000, 1.0, 1000, 100
RESULT = Path(__file__).resolve().parent.parent / "results" / "randomized_response.json"


def covered(draws, truth):
    "Does the simultaneous 95% band hold every share?"
    root = np.sqrt(draws)
    center, sd = root.mean(axis=0), root.std(axis=0)
    far = np.sort(np.abs((root - center) / sd).max(axis=1))
    return bool(np.abs((np.sqrt(truth) - center) / sd).max() <= far[int(np.ceil(0.95 * (len(draws) + 1))) - 1])


def limit(Q, c):
    "The limit of iterative Bayes: shares that maximise Σ c log(q + (p − q)θ), where θ > 0 at the same slope."
    q = Q[0, 1] / (Q[0, 0] - Q[0, 1])
    shares = lambda slope: np.maximum(c / slope - q, 0.0)
    return shares(brentq(lambda slope: shares(slope).sum() - 1, 1e-9, N * K / q))


def study(rng, draw_truth, alpha, trials):
    "Coverage, mean squared errors and seconds of so many surveys."
    Q = np.array(kept(1 / (1 + (K - 1) * np.exp(-EPSILON)), K))
    hits, errors, seconds = [], [], []
    for _ in range(trials):
        truth = draw_truth(rng)
        c = rng.multinomial(N, Q @ truth)
        start = time.perf_counter()
        draws = draw_shares(rng, Q, c, alpha, DRAWS)
        seconds.append(time.perf_counter() - start)
        hits.append(covered(draws, truth))
        estimates = draws.mean(axis=0), limit(Q, c), likely_shares(Q, c, np.ones(K), 100)
        errors.append([((each - truth) ** 2).sum() for each in estimates])
    errors = np.array(errors)
    mean, n = errors.mean(axis=0), len(errors)
    ratio = lambda j: mean[0] / mean[j]
    spread = lambda j: float((errors[:, 0] - ratio(j) * errors[:, j]).std() / mean[j] / n**0.5)
    return {"trials": trials, "coverage": float(np.mean(hits)), "coverage_se": float((np.mean(hits) * (1 - np.mean(
        hits)) / n) ** 0.5), "squared_error": float(mean[0]), "ratio_to_iterative_bayes": float(ratio(1)),
        "ratio_se": spread(1), "ratio_to_100_steps": float(ratio(2)), "ratio_to_100_steps_se": spread(2),
        "median_seconds": float(np.median(seconds))}


def main(trials):
    "All cases, each with a seed of its own."
    zipf = 1 / np.arange(1, K + 1)
    cases = {f"Dirichlet({a})": (lambda rng, a=a: rng.dirichlet(np.full(K, a)), a) for a in (0.5, 0.1, 1.0)}
    cases["Zipf, prior Dirichlet(0.5)"] = lambda rng: rng.permutation(zipf / zipf.sum()), 0.5
    cases["Zipf, prior Dirichlet(1)"] = lambda rng: rng.permutation(zipf / zipf.sum()), 1.0
    found = {"k": K, "n": N, "epsilon": EPSILON, "draws": DRAWS, "cases": {}}
    for i, (name, (draw, a)) in enumerate(cases.items()):
        some = trials if i == 0 else trials // 4 if name.startswith("Dirichlet") else trials // 8
        known = json.loads(RESULT.read_text())["cases"] if trials == 0 else {}
        found["cases"][name] = known.get(name) or study(np.random.default_rng([42, i]), draw, np.full(K, a), some)
    rows = LearnedDirichlet(sizes=(K,)).rows
    for i, name in enumerate(("Zipf, prior Dirichlet(1)", "Dirichlet(0.1)", "Dirichlet(0.5)", "Dirichlet(1.0)")):
        case = f"{name.split(',')[0]}, α learned"
        found["cases"][case] = study(np.random.default_rng([42, 10 + i]), cases[name][0], rows, LEARNED)
        print(case, found["cases"][case], flush=True)
        RESULT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
