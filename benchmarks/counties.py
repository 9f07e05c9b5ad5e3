"""Deaths by county with small counts hidden and the state's total printed: coverage of pooled rates and hidden counts.

`python benchmarks/counties.py [tables]` simulates tables of 60 counties in the manner of a public mortality query:
typical rate, spread and rates from the prior that is fitted, counts below 10 hidden, the total printed. It reports how
often 95% intervals contain the hidden counts and the rates, next to rates from hidden counts set to 0 or to the middle
of their range. A whole count lies between the 2.5% and the 97.5% quantile with a chance of 95% or more; `ranks` is the
share of truths whose rank among the draws, ties broken at random, is in the middle 95%, and should be .95. A run goes
on where `results/counties.json` ends. `python benchmarks/counties.py large` times one table of 3,000 counties.
"""
import json
import sys
import time
from pathlib import Path

import numpy as np
import scipy.stats as st
from scipy.sparse import eye_array, vstack

from dp_bayes_nb import Counts, Pooled, Suppressed, declare
from dp_bayes_nb.fields.pooling import FURTHEST
from dp_bayes_nb.posterior.fit import posterior_draws

RESULTS = Path(__file__).parents[1] / "results" / "counties.json"
COUNTIES, BELOW, DRAWS, LARGE = 60, 10, 250, 3000  # draws: of each of four chains
LOCATION, SCALE = (float(np.log(2e-4)), 0.3), 0.3  # of the log of the typical rate, and of the spread: half-normal
TAILS = [0.025, 0.975]


def table(rng, counties, location, spread):
    "Populations, rates and deaths."
    population = np.round(np.exp(rng.normal(10.0, 0.9, counties)))
    effect = rng.standard_t(3, 2 * counties + 100)
    rate = np.exp(location + spread * effect[np.abs(effect) < FURTHEST][:counties])
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


def ranked(rng, draws, truth):
    "Of which truths the rank among draws (D, G), ties broken at random, is in the middle 95%."
    ties = (draws == truth).sum(axis=0) + 1
    rank = ((draws < truth).sum(axis=0) + rng.random(len(truth)) * ties) / (len(draws) + 1)
    return np.abs(rank - 0.5) < 0.475


def covered(seed):
    "Of one table: how many counties are hidden, and how many of each kind of interval contain the truth."
    rng = np.random.default_rng([20425, seed])
    location, spread = rng.normal(*LOCATION), abs(rng.normal(0.0, SCALE))
    population, rate, deaths = table(rng, COUNTIES, location, spread)
    hidden, start = deaths < BELOW, time.process_time()
    found = posterior_draws(declared(population, deaths), Pooled("t3", location=LOCATION, scale=SCALE, slope=False),
                            pool="partial", draws=DRAWS, seed=seed)
    flat = lambda value: np.asarray(value).reshape(-1, COUNTIES)
    rates, s = flat(found.theta["rates"]), flat(found.confidential["s"])[:, hidden]
    within, of_rates = inside(rates, rate), ranked(rng, rates, rate)
    out = {"counties": COUNTIES, "hidden": hidden.sum(), "rates": within.sum(), "rates of hidden": within[hidden].sum(),
           "rates, ranks": of_rates.sum(), "rates of hidden, ranks": of_rates[hidden].sum(),
           "hidden counts": inside(s, deaths[hidden]).sum(),
           "hidden counts, ranks": ranked(rng, s, deaths[hidden]).sum()}
    for name, value in (("zeros", 0.0), ("midpoints", (BELOW - 1) / 2)):
        ends = st.gamma.ppf(np.array(TAILS)[:, None], value + 0.5) / population[hidden]  # Jeffreys' prior
        out[name] = ((ends[0] <= rate[hidden]) & (rate[hidden] <= ends[1])).sum()
    return {**{name: int(value) for name, value in out.items()},
            "effective": int(found.infos["effective"][0, 0]), "seconds": round(time.process_time() - start, 1)}


def share(rows, name):
    "A share over all tables, and its standard error, with tables as the units."
    of = "counties" if name in ("rates", "rates, ranks", "hidden") else "hidden"
    part, whole = (np.array([row[key] for row in rows], float) for key in (name, of))
    p = part.sum() / whole.sum()
    return [round(float(p), 4), round(float(np.sqrt(((part - p * whole) ** 2).sum()) / whole.sum()), 4)]


def text(rows):
    "The file: the study in numbers, and the tables, a line each."
    names = [name for name in rows[0] if name not in ("counties", "effective", "seconds")]
    middle = {f"{name}, median": float(np.median([row[name] for row in rows])) for name in ("effective", "seconds")}
    found = {"tables": len(rows), **{name: share(rows, name) for name in names}, **middle, "columns": list(rows[0])}
    lines = ",\n".join(f"  {json.dumps(list(row.values()))}" for row in rows)
    return f'{json.dumps(found, indent=1)[:-2]},\n "rows": [\n{lines}\n ]\n}}\n'


def study(tables):
    "All tables, from where the file ends; the file after every five."
    there = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = [dict(zip(there["columns"], row)) for row in there.get("rows", [])]
    while len(rows) < tables:
        rows.append(covered(len(rows)))
        if len(rows) % 5 == 0 or len(rows) == tables:
            RESULTS.write_text(text(rows))


def large():
    "Seconds of one table, 1,000 draws."
    population, _, deaths = table(np.random.default_rng(7), LARGE, np.log(2e-4), 0.2)
    release = declared(population, deaths)
    wall, processor = time.time(), time.process_time()
    found = posterior_draws(release, pool="partial", draws=250)
    seen = {"counties": LARGE, "wall": round(time.time() - wall), "processor": round(time.process_time() - processor),
            **{name: round(float(found.infos[name][0, 0]), 2) for name in ("efficiency", "effective")}}
    RESULTS.with_name("counties_large.json").write_text(json.dumps(seen, indent=1) + "\n")
    print(seen)


if __name__ == "__main__":
    large() if sys.argv[1:] == ["large"] else study(int(sys.argv[1]) if sys.argv[1:] else 1000)
