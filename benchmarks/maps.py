"""Maps of noisy and of suppressed counts, read with neighbours and without: coverage, errors, seconds and memory.

`python benchmarks/maps.py [section maps]` goes on where `results/maps.json` ends. The truth of the log rates is that
of Besag, York and Mollié in the form of Riebler et al. (2016): spread · (√share · surface + √(1 − share) · own), the
surface of unit size on each connected part, islands with their own effect only. Sections:

- `maps`: 400 areas, a lattice of 20 × 20, or 300 and 90 neighbours by triangles of random points, and 10 islands; rates
  around 20, spread .5, share 0, .5 or 1, Laplace noise of scale 2; of every second map 20 areas are not released.
- `large`: 3,000 areas, 2,900 and 60 by triangles, and 40 islands, likewise.
- `cells`: areas × weeks with effects of areas, a walk of weeks and an own effect of every cell: seconds by size.
- `mortality` and `nation`: deaths in 400 and in 3,000 counties by triangles of random points, populations of exp(N(10,
  .9²)), typical rate 2 in 10,000, spread .3, share .8; counts below 10 hidden, as in the mortality tables that Quick
  (Preventing Chronic Disease 16:180441, 2019) read by a substitution, without neighbours, and with neighbours.
  `substituted`: 5 deaths where the count is hidden, intervals by Jeffreys' prior.

`field`: `pool=OnMap(...)`; `pooled`: `pool="partial"` with normal effects; both with the prior that `fit` takes when
none is given. Errors of rates are root mean squares relative to the typical rate, over released areas.
"""
import resource
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.stats as st
from resumed import Study, mean_of
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay

from dp_bayes_nb import Along, Counts, Laplace, OnMap, Pooled, Suppressed, declare
from dp_bayes_nb.fields.structures import graph
from dp_bayes_nb.posterior.fit import posterior_draws

RATE, SPREAD, NOISE, DRAWS, FEW, BELOW = 20.0, 0.5, 2.0, 250, 100, 10  # draws: of each of 4 chains
TYPICAL, MORTALITY_SPREAD, MORTALITY_SHARE = 2e-4, 0.3, 0.8
TAILS, SHARES = [0.025, 0.975], (0.0, 0.5, 1.0)
SIZES = [(100, 13), (50, 52), (100, 26), (100, 52), (100, 104), (200, 52), (400, 26), (100, 208), (400, 52)]
SECTIONS = {name: i for i, name in enumerate(("maps", "large", "cells", "mortality", "nation"))}
APART = ("kind", "share", "counties", "moved", "moves", "seconds", "wall", "GB", "pooled, seconds")
TRIED = {"maps": 200, "large": 20, "cells": len(SIZES), "mortality": 60, "nation": 6}


def lattice(rows, columns):
    "Edges (E, 2) of neighbours on a lattice."
    at = np.arange(rows * columns).reshape(rows, columns)
    return np.concatenate([np.stack([at[:-1].ravel(), at[1:].ravel()], 1),
                           np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1)])


def triangles(rng, *sizes):
    "Edges of Delaunay triangles of random points, a connected part of each size."
    found, start = [], 0
    for size in sizes:
        corners = Delaunay(rng.random((size, 2))).simplices
        found.append(start + np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))
        start += size
    return np.unique(np.sort(np.concatenate(found), axis=1), axis=0)


def surface(rng, n, edges):
    "A draw of unit size on each connected part; 0 on islands."
    W = sp.coo_matrix((np.ones(2 * len(edges)), (edges.ravel(), edges[:, ::-1].ravel())), (n, n)).tocsr()
    L, (_, part) = (sp.diags(np.asarray(W.sum(axis=1)).ravel()) - W).tocsr(), connected_components(W, directed=False)
    u, sizes = np.zeros(n), np.bincount(part)
    for c in np.flatnonzero(sizes > 1):
        own = np.flatnonzero(part == c)
        Q = L[own][:, own]
        if len(own) <= 500:
            value, vector = np.linalg.eigh(Q.toarray())
            root = vector[:, 1:] / np.sqrt(value[1:])
            u[own] = root @ rng.standard_normal(len(own) - 1) / np.exp(0.5 * np.mean(np.log((root**2).sum(axis=1))))
        else:  # Q = Dᵀ D, and the scale of the package
            upper = sp.triu(-Q, 1).tocoo()
            m = len(upper.row)
            D = sp.csr_matrix((np.r_[np.ones(m), -np.ones(m)], (np.r_[:m, :m], np.r_[upper.row, upper.col])),
                              (m, len(own)))
            draw = splu((Q + 1e-9 * sp.eye(len(own))).tocsc()).solve(D.T @ rng.standard_normal(m))
            scaled = graph(len(own), np.column_stack([upper.row, upper.col]))[0]
            u[own] = (draw - draw.mean()) * np.sqrt(Q.diagonal()[0] / scaled.diagonal()[0])
    return u


def log_rates(rng, n, edges, spread, share):
    "Effects of areas; islands have the whole spread by themselves."
    island = np.bincount(edges.ravel(), minlength=n) == 0
    own = np.where(island, 1.0, np.sqrt(1 - share)) * rng.standard_normal(n)
    return spread * (np.sqrt(share) * surface(rng, n, edges) + own)


def fitted(release, pool, seed, prior=None, draws=DRAWS):
    "Draws, seconds of processor and of the wall, and how often a chain took over."
    start, wall = time.process_time(), time.time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = posterior_draws(release, prior, pool=pool, draws=draws, seed=seed, progress=False)
    return found, round(time.process_time() - start, 2), round(time.time() - wall, 2)


def memory():
    "The largest memory so far, GB."
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3)


def flat(found, name, G):
    return np.asarray(found.theta[name]).reshape(-1, G)


def scored(draws, truth, unit):
    "Coverage of 95% intervals, mean width and root mean square error, in units of a typical rate."
    low, high = np.quantile(draws, TAILS, axis=0)
    return {"coverage": np.mean((low <= truth) & (truth <= high)), "width": np.mean(high - low) / unit,
            "error": np.sqrt(np.mean((draws.mean(axis=0) - truth)**2)) / unit}


def named(prefix, said):
    return {f"{prefix}, {name}": round(float(value), 4) for name, value in said.items()}


def one_map(section, number):
    "A row: noisy counts on a map."
    rng = np.random.default_rng([20443, SECTIONS[section], number])
    large, share = section == "large", SHARES[number % 3]
    n, kind = (3000, "triangles") if large else (400, ("lattice", "triangles")[number // 3 % 2])
    edges = lattice(20, 20) if kind == "lattice" else triangles(rng, *((2900, 60) if large else (300, 90)))
    truth = RATE * np.exp(log_rates(rng, n, edges, SPREAD, share))
    counts = rng.poisson(truth) + rng.laplace(0, NOISE, n)
    hidden = np.sort(rng.choice(n, 20, replace=False)) if number % 2 and not large else np.empty(0, int)
    seen, names = np.setdiff1d(np.arange(n), hidden), [f"area {i}" for i in range(n)]
    release = declare(Counts([names[i] for i in seen]), counts[seen], noise=Laplace(scale=NOISE), source="simulated")
    pool = OnMap("area", edges=[(names[i], names[j]) for i, j in edges], areas=names)
    found, seconds, wall = fitted(release, pool, number)
    gb = memory()
    pooled, pooled_seconds, _ = fitted(release, "partial", number, Pooled("normal", slope=False), FEW)
    row = {"kind": kind, "share": share, **named("field", scored(flat(found, "rates", len(seen)), truth[seen], RATE)),
           **named("pooled", scored(flat(pooled, "rates", len(seen)), truth[seen], RATE))}
    if len(hidden):
        row |= named("not released", scored(flat(found, "predicted", n)[:, hidden], truth[hidden], RATE))
    island = np.flatnonzero(np.bincount(edges.ravel(), minlength=n)[seen] == 0)
    if len(island):
        row |= named("islands", scored(flat(found, "rates", len(seen))[:, island], truth[seen[island]], RATE))
    return row | {"spread, mean": round(float(found.theta["spread"].mean()), 3),
                  "share, mean": round(float(found.theta["share"].mean()), 3),
                  "moved": round(found.attrs["moved_by_check"], 3), "moves": found.attrs["moves"],
                  "seconds": seconds, "wall": wall, "pooled, seconds": pooled_seconds, "GB": gb}


def one_size(section, number):
    "A row: seconds of areas × weeks."
    areas, weeks = SIZES[number]
    rng = np.random.default_rng([20443, SECTIONS[section], number])
    edges = triangles(rng, areas)
    walk = np.cumsum(0.06 * rng.standard_normal(weeks))
    effects = log_rates(rng, areas, edges, SPREAD, 0.7)[:, None] + walk - walk.mean()
    effects = effects + 0.1 * rng.standard_normal((areas, weeks))
    truth = RATE * np.exp(effects).ravel()
    counts = rng.poisson(truth) + rng.laplace(0, NOISE, len(truth))
    area, week = (part.ravel() for part in np.indices((areas, weeks)))
    release = declare(Counts([f"{i} in week {t}" for i, t in zip(area, week)]), counts, noise=Laplace(scale=NOISE),
                      source="simulated")
    at = [f"area {i}" for i in area]
    pool = [OnMap("area", edges=[(f"area {i}", f"area {j}") for i, j in edges], at=at), Along("week", at=week.tolist())]
    found, seconds, wall = fitted(release, pool, number)
    return {"areas": areas, "weeks": weeks, "cells": areas * weeks,
            **named("field", scored(flat(found, "rates", len(truth)), truth, RATE)),
            "moved": round(found.attrs["moved_by_check"], 3), "moves": found.attrs["moves"], "seconds": seconds,
            "wall": wall, "GB": memory()}


def one_nation(section, number):
    "A row: deaths by county, small counts hidden."
    rng = np.random.default_rng([20443, SECTIONS[section], number])
    n = 3000 if section == "nation" else 400
    edges = triangles(rng, n)
    population = np.round(np.exp(rng.normal(10.0, 0.9, n)))
    truth = TYPICAL * np.exp(log_rates(rng, n, edges, MORTALITY_SPREAD, MORTALITY_SHARE))
    deaths, names = rng.poisson(population * truth), [f"county {i}" for i in range(n)]
    hidden = deaths < BELOW
    release = declare(Counts(names, population), [None if h else int(d) for h, d in zip(hidden, deaths)],
                      printed=Suppressed(BELOW), source="simulated")
    found, seconds, wall = fitted(release, OnMap("county", edges=[(names[i], names[j]) for i, j in edges]), number)
    gb = memory()
    pooled, pooled_seconds, _ = fitted(release, "partial", number, Pooled("normal", slope=False), FEW)
    guessed = np.where(hidden, 5, deaths)
    by = {"field": flat(found, "rates", n), "pooled": flat(pooled, "rates", n),
          "substituted": rng.gamma(guessed + 0.5, 1 / population, (4 * DRAWS, n))}
    row = {"counties": n, "hidden": round(float(hidden.mean()), 4)}
    for name, draws in by.items():
        middle = guessed / population if name == "substituted" else draws.mean(axis=0)
        row |= named(name, scored(draws, truth, TYPICAL) | {
            "error": np.sqrt(np.mean((middle - truth)**2)) / TYPICAL,
            "bias": np.mean(middle - truth) / TYPICAL, "correlation": np.corrcoef(middle, truth)[0, 1]})
        row |= named(f"{name}, hidden", {
            "coverage": scored(draws[:, hidden], truth[hidden], 1)["coverage"],
            "error": np.sqrt(np.mean((middle - truth)[hidden]**2)) / TYPICAL,
            "correlation": st.spearmanr(middle[hidden], truth[hidden])[0]})
    return row | {"moved": round(found.attrs["moved_by_check"], 3), "moves": found.attrs["moves"], "seconds": seconds,
                  "wall": wall, "pooled, seconds": pooled_seconds, "GB": gb}


ROWS = {"maps": one_map, "large": one_map, "cells": one_size, "mortality": one_nation, "nation": one_nation}


def ratio_of(rows, above, below):
    "A ratio of root mean square errors and its standard error."
    a, b = (np.array([row[name] for row in rows], float)**2 for name in (above, below))
    r = a.sum() / b.sum()
    error = np.sqrt(((a - r * b)**2).sum()) / b.sum()
    return [round(float(np.sqrt(r)), 4), round(float(error / (2 * np.sqrt(r))), 4)]


def said_of(section, rows):
    "A section in numbers."
    if section == "cells":
        return {}
    key = lambda row: f"{row['kind']}, share {row['share']}" if "kind" in row else "all"
    out = {}
    for name in dict.fromkeys([*map(key, rows), "all"]):
        own = [row for row in rows if name in (key(row), "all")]
        columns = [each for each in dict.fromkeys(c for row in own for c in row) if each not in APART]
        out[name] = {"maps": len(own), **{each: mean_of(row.get(each) for row in own) for each in columns},
                     "error ÷ pooled": ratio_of(own, "field, error", "pooled, error"),
                     **{f"{each}, median": float(np.median([row[each] for row in own]))
                        for each in ("seconds", "wall", "pooled, seconds")},
                     "seconds, largest": max(row["seconds"] for row in own),
                     "GB, largest": max(row["GB"] for row in own),
                     "moved by the check, largest": max(row["moved"] for row in own),
                     "chains": sum(row["moves"] > 0 for row in own)}
    return out


STUDY = Study("maps.json", TRIED, lambda section, number: ROWS[section](section, number), said_of)

if __name__ == "__main__":
    STUDY.main()
