"""Deaths by county with small counts hidden and the state's total printed: coverage of pooled rates and hidden counts.

`python benchmarks/counties.py [tables]` simulates tables of 60 counties in the manner of a public mortality query:
rates from a fixed t3 prior, counts below 10 hidden, the total printed. It reports how often 95% intervals contain the
hidden counts and the rates, next to rates from hidden counts set to 0 or to the middle of their range, and writes
`results/counties.json` as it goes. `python benchmarks/counties.py large` times one table of 3,000 counties.
"""
import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.stats as st
from scipy.sparse import eye_array, vstack

from dp_bayes_nb import Counts, Suppressed, declare
from dp_bayes_nb.posterior.fit import posterior_draws

RESULTS = Path(__file__).parents[1] / "results" / "counties.json"
COUNTIES, RATE, SPREAD, BELOW, DRAWS = 60, 2e-4, 0.2, 10, 100  # draws: of each of four chains
LARGE = 3000
TAILS = [0.025, 0.975]


def table(rng, counties):
    "Populations, rates and deaths."
    population = np.round(np.exp(rng.normal(10.0, 0.9, counties)))
    rate = RATE * np.exp(SPREAD * np.clip(rng.standard_t(3, counties), -20, 20))
    return population, rate, rng.poisson(population * rate)


def declared(population, deaths):
    "The table as it is printed."
    G = len(deaths)
    return declare(Counts([f"county {i}" for i in range(G)], population),
                   [d if d >= BELOW else None for d in deaths] + [int(deaths.sum())],
                   matrix=vstack([eye_array(G), np.ones((1, G))]), printed=Suppressed(BELOW), source="simulated")


def inside(draws, truth):
    "Which truths lie inside central 95% intervals of draws (D, G)."
    low, high = np.quantile(draws, TAILS, axis=0)
    return (low <= truth) & (truth <= high)


def covered(seed):
    "Of one table: how many counties are hidden, and how many of each kind of interval contain the truth."
    rng = np.random.default_rng([20424, seed])
    population, rate, deaths = table(rng, COUNTIES)
    hidden = deaths < BELOW
    found = posterior_draws(declared(population, deaths), pool="partial", draws=DRAWS, seed=seed)
    flat = lambda value: np.asarray(value).reshape(-1, COUNTIES)
    rates = inside(flat(found.theta["rates"]), rate)
    out = {"counties": COUNTIES, "hidden": int(hidden.sum()), "rates": int(rates.sum()),
           "rates of hidden": int(rates[hidden].sum()),
           "hidden counts": int(inside(flat(found.confidential["s"])[:, hidden], deaths[hidden]).sum())}
    for name, value in (("zeros", 0.0), ("midpoints", (BELOW - 1) / 2)):
        ends = st.gamma.ppf(np.array(TAILS)[:, None], value + 0.5) / population[hidden]  # Jeffreys' prior
        out[name] = int(((ends[0] <= rate[hidden]) & (rate[hidden] <= ends[1])).sum())
    return out


def share(rows, name, of):
    "A share over all tables, and its standard error, with tables as the units."
    part, whole = (np.array([row[key] for row in rows], float) for key in (name, of))
    p = part.sum() / whole.sum()
    return [round(float(p), 4), round(float(np.sqrt(((part - p * whole) ** 2).sum()) / whole.sum()), 4)]


def study(tables):
    "All tables, and the file after every ten."
    rows, start = [], time.process_time()
    for seed in range(tables):
        rows.append(covered(seed))
        if (seed + 1) % 10 == 0 or seed + 1 == tables:
            found = {name: share(rows, name, of) for name, of in (
                ("rates", "counties"), ("rates of hidden", "hidden"), ("hidden counts", "hidden"), ("zeros", "hidden"),
                ("midpoints", "hidden"))}
            found |= {"tables": len(rows), "hidden": share(rows, "hidden", "counties")[0],
                      "processor seconds per table": round((time.process_time() - start) / len(rows), 2)}
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
            print(found, flush=True)


def large():
    "Seconds of one table, 1,000 draws."
    population, _, deaths = table(np.random.default_rng(7), LARGE)
    release = declared(population, deaths)
    wall, processor = time.time(), time.process_time()
    found = posterior_draws(release, pool="partial", draws=250)
    print(f"{LARGE:,} counties: {time.time() - wall:.0f} s, {time.process_time() - processor:.0f} processor seconds; "
          f"efficiency {found.infos['efficiency'][0, 0]:.2f}, effective {found.infos['effective'][0, 0]:.0f}")


if __name__ == "__main__":
    large() if sys.argv[1:] == ["large"] else study(int(sys.argv[1]) if sys.argv[1:] else 1000)
