"""Percentages, noisy ratios and percent changes printed alone: coverage of 95% intervals, by the reading and naively.

    python benchmarks/ratios.py [tables]

Shares, rates and bases are drawn as the prior and the range say, so that coverage is a statement about the posterior.
The naive analysis takes the printed figure as exact and the base as the middle of its range.
Four minutes of a processor; writes results/ratios.json.
"""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.stats as st

from dp_bayes_nb import Bernoulli, Categorical, Clamped, Counts, Dirichlet, Gamma, Laplace, Ratio, Rounded, declare
from dp_bayes_nb.releases.document import measured
from dp_bayes_nb.ways.ratios import sample_ratios

DRAWS = 2000
RESULT = Path(__file__).resolve().parent.parent / "results" / "ratios.json"


class Given:
    "A measurement as `fit` hands it on: one table, and the range of its base."

    def __init__(self, release):
        self.groups = (as_stack(measured(release)),)
        self.unknown = release.n is None
        self.least, self.most = ([end] for end in (release.n_range or (0, 0)))


def as_stack(one):
    "A measurement with a leading axis of one table."
    import jax
    return jax.tree.map(lambda part: np.asarray(part)[None], one)


def posterior(rng, release, prior):
    "Draws of a release's parameter and of its base."
    return sample_ratios(rng, release.model, Given(release), release.model.accept(prior), (DRAWS,))


def naive_share(value, middle):
    "The interval of a share whose count and base are taken as known."
    return st.beta(1 + value * middle, 1 + (1 - value) * middle).interval(0.95)


def percentage(rng):
    "One percentage to a decimal, of 20 to 500 records: truth, base, draws of both, and the naive interval."
    n, theta = rng.integers(20, 501), rng.random()
    value = round(100 * rng.binomial(n, theta) / n, 1)
    made = declare(Ratio(Bernoulli(), per=100), value, n_range=(20, 500), printed=Rounded(0.1), source="simulated")
    found = posterior(rng, made, None)
    return theta, n, found["probability"], found["n"], naive_share(value / 100, 260)


def three_of_four(rng):
    "Three whole percentages of four answers, of 20 to 200 records: the first share."
    n, theta = rng.integers(20, 201), rng.dirichlet(np.ones(4))
    values = np.rint(100 * rng.multinomial(n, theta) / n)[:3]
    model = Ratio(Categorical(["a", "b", "c", "d"]), per=100)
    made = declare(model, dict(zip("abc", values.tolist())), n_range=(20, 200), printed=Rounded(1, "even"),
                   source="simulated")
    found = posterior(rng, made, Dirichlet(np.ones(4)))
    naive = st.beta(1 + values[0] * 1.1, 3 + (100 - values[0]) * 1.1).interval(0.95)
    return theta[0], n, found["probabilities"][:, 0], found["n"], naive


def noisy_ratio(rng):
    "A share of two counts with Laplace noise of scale 10, clamped, to three decimals, of 100 to 200 records."
    while True:
        n, theta = rng.integers(100, 201), rng.random()
        up, down = rng.binomial(n, theta) + rng.laplace(0, 10), n + rng.laplace(0, 10)
        if down > 0:
            break
    value = round(float(np.clip(up / down, 0, 1)), 3)
    model = Ratio(Bernoulli(), numerator=Laplace(scale=10), denominator=Laplace(scale=10))
    made = declare(model, value, n_range=(100, 200), printed=Clamped(0, 1) & Rounded(0.001), source="simulated")
    found = posterior(rng, made, None)
    return theta, n, found["probability"], found["n"], naive_share(value, 150)


def percent_change(rng):
    "A percent change to a decimal, of a base from 50 to 450: the ratio of two rates around 250."
    n = 0
    while not 50 <= n <= 450:
        rates = rng.gamma(2, 125, 2)
        x, n = rng.poisson(rates)
    model = Ratio(Counts(["new", "old"]), per=100, change=True)
    value = round(100 * (x / n - 1), 1)
    made = declare(model, value, n_range=(50, 450), printed=Rounded(0.1), source="simulated")
    found = posterior(rng, made, Gamma(2.0, 0.008))
    naive = rng.gamma(2 + np.array([250 * (1 + value / 100), 250]), 1 / 1.008, (DRAWS, 2))
    return (rates[0] / rates[1], n, found["rates"][:, 0] / found["rates"][:, 1], found["n"],
            np.quantile(naive[:, 0] / naive[:, 1], [0.025, 0.975]))


def study(rng, draw, tables):
    "Coverage and mean width of so many tables."
    ends, hits, naive_hits, base_hits, widths = (0.025, 0.975), [], [], [], []
    for _ in range(tables):
        truth, n, draws, base, naive = draw(rng)
        low, high = np.quantile(draws, ends)
        least, most = np.quantile(base, ends, method="inverted_cdf")
        hits.append(low <= truth <= high)
        naive_hits.append(naive[0] <= truth <= naive[1])
        base_hits.append(least <= n <= most)
        widths.append((high - low, naive[1] - naive[0]))
    width, naive_width = np.median(widths, axis=0)
    return {"tables": tables, "coverage": float(np.mean(hits)), "width": float(width),
            "naive_coverage": float(np.mean(naive_hits)), "naive_width": float(naive_width),
            "base_coverage": float(np.mean(base_hits))}


def main(tables):
    "All cases, each with a seed of its own."
    cases = {"a percentage, base from 20 to 500": percentage, "three of four percentages, base from 20 to 200":
             three_of_four, "a ratio of noisy counts, base from 100 to 200": noisy_ratio,
             "a percent change, base from 50 to 450": percent_change}
    found = {"draws": DRAWS, "cases": {}}
    for i, (name, draw) in enumerate(cases.items()):
        found["cases"][name] = study(np.random.default_rng([42, 3, i]), draw, tables)
        print(name, found["cases"][name], flush=True)
        if tables == 1000:
            RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
