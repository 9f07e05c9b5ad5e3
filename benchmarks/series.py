"""Weekly counts under Laplace noise, read along time: coverage, widths and found changes for truths of several kinds.

`python benchmarks/series.py [section series]` simulates 104 weekly counts, Poisson around rates, plus Laplace noise,
and fits them with `pool=Along("week")` and the prior that `fit` takes when none is given: level N(50, 10²), spread
half-normal(1), share of the walk Beta(1/4, 1/4). Sections of `results/series.json`, each of which goes on where the
file ends:

- `prior`: spread and share drawn from that prior, and the level from N(log rate, .5²), which is fitted too; rates
  around 3, 60 and 1,000, noise of scale 10 (ε = .1) and 1 (ε = 1), no week or 20% of weeks missing.
- `walk`: a random walk of the log rate with steps of sd .06. `bound` is (1 + 4R/W)^(-1/4), at least .05, with W = .06²
  and R the variance of one reading of the log rate, (rate + 2 scale²)/rate². `known` is the width where the step is
  known and there is no other effect, by the same method.
- `independent` (effects of sd .2), `constant`, `shift` (constant, 40% up or down in the middle).
- `whole`: seconds of processor of `fit` as it is, in a warm process, with the draws of the confidential counts, which
  the other sections leave out; there, `seconds` are those of everything else.
- `shape`: walk, independent and constant truths with other priors of the spread, on the same other
  series. `best`: the width where the step of the walk is known, of exchangeable pooling, and of complete pooling.

One by one: each week's likelihood under a flat prior of its rate. Complete pooling: the same for one rate of all weeks.
A series in which no week limits its rate from both sides is refused, and counted.
`found` is the largest of the probabilities, over weeks, that the mean rate of k weeks from a week on differs by more
than a tenth from that of the k weeks before; `at` the week of the largest difference of log means; the true change is
at week 52. `early` is the same of
the last two weeks against the eight before them when 54 weeks are known, two of them after the change.
"""
import math
import time
from functools import cache

import numpy as np
from resumed import Study, mean_of
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import kstest

import dp_bayes_nb.fields.structured as structured
from dp_bayes_nb import Along, Counts, Laplace, Pooled, declare, fit
from dp_bayes_nb.fields.propagation import Setting, propagate
from dp_bayes_nb.fields.structures import walk
from dp_bayes_nb.posterior.fit import posterior_draws

WEEKS, DRAWS, STEP, SPREAD, SHIFT, LEVEL = 104, 500, 0.06, 0.2, 0.4, 0.5  # draws: of each of four chains
TAILS, SPANS, EARLY = [0.025, 0.975], (2, 4, 8), 54
DESIGNS = {"prior": [(rate, b, gap) for gap in (0, 1) for rate in (3, 60, 1000) for b in (10, 1)],
           "walk": [(60, 14, 0), (60, 10, 0), (60, 1, 0), (3, 10, 0), (3, 1, 0), (1000, 10, 0), (1000, 1, 0)],
           "independent": [(60, 14, 0), (60, 1, 0), (1000, 10, 0)],
           "constant": [(60, 14, 0), (60, 1, 0), (1000, 10, 0), (3, 10, 0)],
           "shift": [(60, 1, 0), (60, 10, 0), (1000, 1, 0)]}
SECTIONS = {name: i for i, name in enumerate((*DESIGNS, "shape", "whole"))}
PRIORS = {"half-normal, 1": structured.spread_at,
          "half-normal, 0.25": lambda z, scale: 0.25 * float(-ndtri(0.5 * ndtr(-z))),
          "exponential, above 1 in 1%": lambda z, scale: float(log_ndtr(-z)) / math.log(0.01),
          "square of a half-normal, 0.5": lambda z, scale: 0.5 * float(ndtri(0.5 * ndtr(-z)))**2}
SHAPE_DESIGNS = [(kind, b) for kind in ("walk", "independent", "constant") for b in (14, 1)]
LIMITS = (0.8, 0.9, 0.95, 0.99)
MEANS = ("coverage", "one by one", "width", "error", "exchangeable", "complete", "known")
TRIED = {"prior": 1000, "walk": 420, "independent": 180, "constant": 180, "shift": 180, "shape": 144, "whole": 60}


KEPT = {}  # what the last fit tabulated, so that it need not be done twice


def remembered(*given, ready=structured.ready):
    "`ready`, and a note of it."
    KEPT["ready"] = ready(*given)
    return KEPT["ready"]


structured.ready = remembered
COUNTS = structured._counts
structured._counts = lambda words, one, x, shape: {"s": np.zeros((*shape, *one.alike.shape))}  # nothing is drawn


def log_rates(rng, kind, rate):
    "Log rates of all weeks; of the prior's structure also spread and share."
    f, said = np.full(WEEKS, np.log(rate)), {}
    if kind == "prior":
        said = {"spread": abs(rng.standard_normal()), "share": rng.beta(structured.SHAPE, structured.SHAPE)}
        value, vector = np.linalg.eigh(walk(WEEKS, 1)[0].toarray())
        u = vector[:, 1:] @ (rng.standard_normal(WEEKS - 1) / np.sqrt(value[1:]))
        e, parts = rng.standard_normal(WEEKS), np.sqrt([said["share"], 1 - said["share"]])
        f = f + LEVEL * rng.standard_normal() + said["spread"] * (parts[0] * u + parts[1] * e)
    elif kind == "walk":
        steps = np.cumsum(STEP * rng.standard_normal(WEEKS))
        f = f + steps - steps.mean()
    elif kind == "independent":
        f = f + SPREAD * rng.standard_normal(WEEKS)
    elif kind == "shift":
        f = f + (np.arange(WEEKS) >= WEEKS // 2) * np.log1p(SHIFT) * rng.choice([1, -1])
    return f, said


def declared(weeks, counts, b):
    "A release of some weeks."
    return declare(Counts([str(week) for week in weeks]), counts, noise=Laplace(scale=b), source="simulated")


def fitted(release, pool, seed, prior=None):
    "Draws, and seconds of processor."
    start = time.process_time()
    found = posterior_draws(release, prior, pool=pool, draws=DRAWS, seed=seed, progress=False)
    return found, time.process_time() - start


def rates_of(found):
    "Draws (D, weeks) of rates, of the weeks that are missing too."
    value = found.theta["predicted" if "predicted" in found.theta else "rates"]
    return np.asarray(value).reshape(4 * DRAWS, -1)


def inside(draws, truth):
    "Which truths lie inside central 95% intervals of draws (D, G), and the intervals' widths."
    low, high = np.quantile(draws, TAILS, axis=0)
    return (low <= truth) & (truth <= high), high - low


def by_tables(table):
    "Ends (2, weeks) of intervals one by one, and (2,) of one rate of all, under a flat prior of the rate."
    x = np.linspace(table.x.min() - 8, table.x.max(), 6000)
    like = table.at(np.broadcast_to(x, (len(table.x), len(x)))) + x
    both = np.vstack([like, (like - x).sum(axis=0) + x])
    upto = np.cumsum(np.exp(both - both.max(axis=1, keepdims=True)), axis=1)
    ends = np.exp([np.interp(np.array(TAILS) * row[-1], row, x) for row in upto]).T
    return ends[:, :-1], ends[:, -1]


def known_width(one, rng):
    "Mean width where the step of the walk is known and there is nothing else."
    Q = one.field.parts[0].Q
    size = STEP * np.sqrt(-Q[0, 1])  # a step of the part of unit size has variance 1/q
    found = propagate(one.field, one.table, Setting(np.array([size]), np.full(WEEKS, 1e-8)))
    cells = structured.draw_at(rng, one.field, one.table, found, 4 * DRAWS)[0]
    return float(np.mean(inside(np.exp(cells).T, 0.0)[1]))


def differs(after, before):
    "The probability that two means differ by more than a tenth, and how far they are apart, on average over draws."
    apart = np.log(after / before)
    return np.mean(np.abs(apart) > np.log(1.1), axis=0), np.abs(apart.mean(axis=0))


def changes(found, release, b, seed, weeks, counts):
    "Where a change is most probable, by rates and by the trend; and what the early fit says."
    out = {}
    for name in ("rates", "trend"):
        draws = np.asarray(found.theta[name]).reshape(4 * DRAWS, -1)
        total = np.concatenate([np.zeros((len(draws), 1)), np.cumsum(draws, axis=1)], axis=1)
        for k in SPANS:
            t = np.arange(k, WEEKS - k + 1)
            p, apart = differs(total[:, t + k] - total[:, t], total[:, t] - total[:, t - k])
            out |= {f"found, {name}, {k}": round(float(p.max()), 4), f"at, {name}, {k}": int(t[apart.argmax()])}
    if b > 1:
        return out
    early, _ = fitted(declared(weeks[:EARLY], counts[:EARLY], b), Along("week"), seed)
    for name in ("rates", "trend"):
        draws = np.asarray(early.theta[name]).reshape(4 * DRAWS, -1)
        out[f"early, {name}"] = round(float(differs(draws[:, -2:].mean(axis=1), draws[:, -10:-2].mean(axis=1))[0]), 4)
    return out


def compared(kind, release, one, found, rate, seed, f):
    "What else the weeks of a truth could have been read by."
    if kind == "independent":
        pooled, _ = fitted(release, "partial", seed, Pooled("normal", slope=False))
        within, width = inside(rates_of(pooled), np.exp(f))
        return {"exchangeable": round(float(width.mean()), 4), "exchangeable, coverage": round(float(within.mean()), 4)}
    if kind == "constant":
        low, high = by_tables(one.table)[1]
        return {"complete": round(float(high - low), 4), "complete, coverage": int(low <= rate <= high)}
    if kind == "walk":
        return {"known": round(known_width(one, np.random.default_rng([20437, seed])), 4)}
    return {}


def observed(section, kind, design, number):
    "The truth and the numbers of one series."
    rate, b, gap = design
    rng = np.random.default_rng([20431, SECTIONS[section], number])
    f, said = log_rates(rng, kind, rate)
    counts = rng.poisson(np.exp(f)) + rng.laplace(0, b, WEEKS)
    hidden = 1 + rng.choice(WEEKS - 2, round(0.2 * WEEKS), replace=False) if gap else np.empty(0, int)
    weeks = np.setdiff1d(np.arange(WEEKS), hidden)
    return f, said, weeks, counts[weeks], hidden


def one_series(section, number):
    "A row of the file."
    design = DESIGNS[section][number % len(DESIGNS[section])]
    rate, b, gap = design
    f, said, weeks, counts, hidden = observed(section, section, design, number)
    release = declared(weeks, counts, b)
    prior = Pooled("normal", location=(np.log(rate), LEVEL), slope=False) if section == "prior" else None
    try:
        found, seconds = fitted(release, Along("week"), number, prior)
    except ValueError:  # no week limits its rate from both sides
        return {"rate": rate, "scale": b, "missing": gap}
    one = KEPT["ready"]
    draws, truth = rates_of(found), np.exp(f)
    within, width = inside(draws, truth)
    rank = (draws < truth).mean(axis=0)
    ends, _ = by_tables(one.table)
    alone = (ends[0] <= truth[weeks]) & (truth[weeks] <= ends[1])
    row = {"rate": rate, "scale": b, "missing": gap, "coverage": within[weeks].mean(), "width": width[weeks].mean(),
           "one by one": (ends[1] - ends[0]).mean(), "one by one, coverage": alone.mean(),
           "error": np.sqrt(np.mean((draws.mean(axis=0) - truth)[weeks] ** 2))}
    if section == "prior":
        row |= {"coverage, missing": within[hidden].mean() if gap else None, **said,
                "width, missing": width[hidden].mean() if gap else None,
                "spread, rank": np.mean(np.asarray(found.theta["spread"]) < said["spread"]),
                "share, rank": np.mean(np.asarray(found.theta["share"]) < said["share"])}
    row |= {name: round(float(value), 4) for name, value in row.items() if isinstance(value, (float, np.floating))}
    row |= compared(section, release, one, found, rate, number, f)
    if section == "prior":
        row["ranks"] = np.bincount(np.minimum((rank[weeks] * 10).astype(int), 9), minlength=10).tolist()
    else:
        row |= changes(found, release, b, number, weeks, counts)
    return row | {"moved": round(found.attrs["moved_by_check"], 3), "moves": found.attrs["moves"],
                  "seconds": round(seconds, 3)}


def one_shape(section, number):
    "A row of the file: one series by several priors of the spread."
    kind, b = SHAPE_DESIGNS[number % len(SHAPE_DESIGNS)]
    f, _, weeks, counts, _ = observed("shape", kind, (60, b, 0), number)
    release, usual = declared(weeks, counts, b), structured.spread_at
    row = {"kind": kind, "scale": b}
    try:
        for name, structured.spread_at in PRIORS.items():
            within, width = inside(rates_of(fitted(release, Along("week"), number)[0]), np.exp(f))
            row |= {f"{what}, {name}": round(float(value.mean()), 4)
                    for what, value in (("coverage", within), ("width", width))}
    finally:
        structured.spread_at = usual
    one = KEPT["ready"]
    if kind == "walk":
        row["best"] = known_width(one, np.random.default_rng([20437, number]))
    elif kind == "independent":
        pooled = fitted(release, "partial", number, Pooled("normal", slope=False))[0]
        row["best"] = float(inside(rates_of(pooled), 0.0)[1].mean())
    else:
        low, high = by_tables(one.table)[1]
        row["best"] = float(high - low)
    return row | {"best": round(row["best"], 4)}


@cache
def warmed(gap):
    "A first fit, whose programs are compiled."
    _, _, weeks, counts, _ = observed("whole", "prior", (60, 1, gap), 0)
    fit(declared(weeks, counts, 1), pool=Along("week"), draws=DRAWS, progress=False)


def one_whole(section, number):
    "A row of the file: seconds of `fit` for a series of the prior's structure."
    rate, b, gap = design = DESIGNS["prior"][number % len(DESIGNS["prior"])]
    _, _, weeks, counts, _ = observed(section, "prior", design, number)
    structured._counts, quiet = COUNTS, structured._counts
    warmed(gap)
    start = time.process_time()
    found = fit(declared(weeks, counts, b), pool=Along("week"), draws=DRAWS, seed=number, progress=False)
    seconds, structured._counts = time.process_time() - start, quiet
    attrs = found.posterior.attrs
    return {"rate": rate, "scale": b, "missing": gap, "seconds": round(seconds, 3), "moves": int(attrs["moves"]),
            "effective share": round(float(attrs["effective_share"]), 3)}


def ratio_of(above, below):
    "A ratio of means and its standard error."
    a, b = np.array(above, float), np.array(below, float)
    r = a.sum() / b.sum()
    return [round(float(r), 4), round(float(np.sqrt(((a - r * b) ** 2).sum()) / b.sum()), 4)]


def said_of(section, rows):
    "A section in numbers, by design."
    out = {}
    for key in dict.fromkeys((row["rate"], row["scale"], row["missing"]) for row in rows):
        own = [row for row in rows if (row["rate"], row["scale"], row["missing"]) == key]
        column = lambda name, own=own: [row[name] for row in own]
        rate, b, gap = key
        said = {"series": len(own)} | {name: mean_of(column(name)) for name in own[0] if name.split(",")[0] in MEANS}
        said["width ÷ one by one"] = ratio_of(column("width"), column("one by one"))
        for name in ("exchangeable", "complete", "known"):
            if name in own[0]:
                said[f"width ÷ {name}"] = ratio_of(column("width"), column(name))
        if section == "walk":
            bound = max(0.05, (1 + 4 * (rate + 2 * b**2) / rate**2 / STEP**2) ** -0.25)
            said |= {"bound": round(bound, 4), "width ÷ (bound × one by one)": ratio_of(column("width"), np.array(
                column("one by one")) * bound)}
        out[f"rate {rate}, scale {b}" + ", some missing" * gap] = said | timed(own)
    return out | (ranked(rows) if section == "prior" else {"changes": finds(rows, section)})


def timed(rows):
    "Seconds of processor, and how often a chain took over."
    seconds = [row["seconds"] for row in rows]
    return {"seconds, median": float(np.median(seconds)), "seconds, largest": max(seconds),
            "moved by the check, largest": max(row["moved"] for row in rows),
            "chains": sum(row["moves"] > 0 for row in rows)}


def ranked(rows):
    "All of the prior's series together: coverage, ranks of rates by tenths, and of spread and share."
    tenths = np.array([row["ranks"] for row in rows], float)
    share = tenths / tenths.sum(axis=1, keepdims=True)
    return {"all": {"series": len(rows), "coverage": mean_of(row["coverage"] for row in rows),
                    "coverage, missing": mean_of(row["coverage, missing"] for row in rows),
                    "ranks of rates, tenths": [mean_of(column) for column in share.T],
                    **{f"{name}, uniform ranks, p": round(float(kstest([row[f"{name}, rank"] for row in rows],
                                                                       "uniform").pvalue), 4)
                       for name in ("spread", "share")}, **timed(rows)}}


def finds(rows, section):
    "Shares of series in which a probability is above each of LIMITS; of a shift, also within two weeks of its place."
    out, part = {}, lambda hits: round(float(np.mean(hits)), 3)
    for key in dict.fromkeys((row["rate"], row["scale"]) for row in rows):
        own, said = [row for row in rows if (row["rate"], row["scale"]) == key], {}
        for name in ("rates", "trend"):
            for k in SPANS:
                hits = {limit: [row[f"found, {name}, {k}"] > limit for row in own] for limit in LIMITS}
                said[f"{name}, {k} weeks"] = [part(each) for each in hits.values()]
                if section == "shift":
                    near = [abs(row[f"at, {name}, {k}"] - WEEKS // 2) <= 2 for row in own]
                    said[f"{name}, {k} weeks, in place"] = [part(np.array(each) & near) for each in hits.values()]
            if own[0].get(f"early, {name}") is not None:
                said[f"{name}, early"] = [part([row[f"early, {name}"] > limit for row in own]) for limit in LIMITS]
        out[f"rate {key[0]}, scale {key[1]}"] = said
    return out


def shapes(rows):
    "Coverage and widths by prior of the spread, and the width that could be had by one who knows the kind."
    out = {}
    for kind, b in SHAPE_DESIGNS:
        own = [row for row in rows if (row["kind"], row["scale"]) == (kind, b)]
        if len(own) > 1:
            out[f"{kind}, scale {b}"] = {"series": len(own)} | {
                name: {"coverage": mean_of(row[f"coverage, {name}"] for row in own),
                       "width ÷ best": ratio_of([row[f"width, {name}"] for row in own], [row["best"] for row in own])}
                for name in PRIORS}
    return out


def whole(rows):
    "Seconds by design, and in how many series draws were weighed or a chain took over."
    out = {}
    for rate, b, gap in dict.fromkeys((row["rate"], row["scale"], row["missing"]) for row in rows):
        own = [row for row in rows if (row["rate"], row["scale"], row["missing"]) == (rate, b, gap)]
        seconds = [row["seconds"] for row in own]
        out[f"rate {rate}, scale {b}" + ", some missing" * gap] = {
            "series": len(own), "seconds, median": float(np.median(seconds)), "seconds, largest": max(seconds),
            "weighed": sum(row["effective share"] < 1 for row in own), "chains": sum(row["moves"] > 0 for row in own)}
    for b in dict.fromkeys(row["scale"] for row in rows):
        out[f"scale {b}, median"] = float(np.median([row["seconds"] for row in rows if row["scale"] == b]))
    return out


OTHERS = {"shape": (one_shape, shapes), "whole": (one_whole, whole)}


def said(section, rows):
    "A section in numbers."
    if section in OTHERS:
        return OTHERS[section][1](rows)
    fitted = [row for row in rows if row.get("coverage") is not None]
    return (said_of(section, fitted) if fitted else {}) | {"refused": len(rows) - len(fitted)}



STUDY = Study("series.json", TRIED, lambda section, number: OTHERS.get(section, (one_series,))[0](section, number),
              said, every=10)

if __name__ == "__main__":
    STUDY.main()
