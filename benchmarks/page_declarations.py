"""Five hundred random declarations made by the package, and their exact posteriors: for the tests of the page's engine.

    python benchmarks/page_declarations.py    # half a minute; writes tests/fixtures/page_declarations.json

A declaration is drawn (true numbers, noise, what was done to print them), declared, and read back from the release: so
what the page is given is what the package says of it. The exact answers are those of tests/oracles/page_posteriors.py.
"""

import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracles"))

from dp_bayes_nb import (Bernoulli, Clamped, Counts, Exact, Gaussian, Laplace, RandomRounded, Rounded,  # noqa: E402
                         Suppressed, Within, declare)
from dp_bayes_nb.noise.printing import print_rows  # noqa: E402
import page_posteriors as exact  # noqa: E402

SEED, RESULT = 20261129, ROOT / "tests" / "fixtures" / "page_declarations.json"
KINDS = {"count": 170, "share": 110, "noisy": 40, "rate": 50, "compare": 40, "shares": 20, "table": 70}


# § From a release to what the page is given
def steps_of(row):
    "The statements of one row as the page writes them."
    said = {"Rounded": ("rounded", "step"), "RandomRounded": ("random", "base"), "Suppressed": ("hidden", "below"),
            "Clamped": ("cut", "low", "high"), "Within": ("within", "low", "high")}
    names = [(step, *said[type(step).__name__]) for step in row.steps if step != Exact()]
    return [{"how": how} | {name: getattr(step, name) for name in given} for step, how, *given in names]


def cells_of(release):
    "Each row of a release as a cell."
    rows = (Exact(),) * len(release.values) if isinstance(release.printed, str) else release.printed
    out = []
    noise = release.noise
    for value, row, kind, scale, grid in zip(release.values, rows, noise.kinds, noise.scale, noise.grid):
        law = {"law": kind, "size": float(scale), "whole": bool(grid > 0)} if scale > 0 else {"law": "none"}
        out.append({"value": None if math.isnan(value) else float(value), "noise": law, "printed": steps_of(row)})
    return out


row_of = exact.row_of


# § Random declarations
def size(rng, low, high):
    "A number uniform in its logarithm, with three digits."
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def noise_of(kind, scale, discrete):
    if kind == "none":
        return None
    return Laplace(scale=scale, discrete=discrete) if kind == "laplace" else Gaussian(sd=scale, discrete=discrete)


def drawn(rng, true, kind, scale, discrete):
    "A true number with noise."
    if kind == "none":
        return float(true)
    if not discrete:
        return float(true + (rng.laplace(0, scale) if kind == "laplace" else rng.normal(0, scale)))
    reach = int(40 * scale + 10)
    e = np.arange(-reach, reach + 1)
    p = np.exp(-abs(e) / scale if kind == "laplace" else -0.5 * (e / scale) ** 2)
    return float(true + rng.choice(e, p=p / p.sum()))


def printing(rng, kind, scale, discrete, true):
    "What was done before printing."
    step = float(rng.choice([2, 3, 5, 10, 25, 100]))
    below = float(rng.choice([3, 5, 10, 20]))
    choices = [None] * 3 + [Rounded(step), Rounded(step), Suppressed(below),
                            Suppressed(below) & Rounded(float(rng.choice([1, 5]))),
                            Clamped(low=0.0), Clamped(low=0.0) & Rounded(step), "within"]
    if discrete or kind == "none":
        base = int(rng.choice([3, 5, 10]))
        choices += [RandomRounded(base)] * 2
        choices += [RandomRounded(base) & Clamped(low=0.0), Suppressed(below) & RandomRounded(3)]
    return choices[rng.integers(len(choices))]


def one_row(rng, sizes=(1e-3, 1e6), counts=(0.3, 3e6), noisy=False, most=math.inf, plain=False):
    "Noise, printing and a printed value (None: blank) of one row; the value is far from likely now and then."
    if noisy:
        kind = "laplace" if rng.random() < 0.6 else "gaussian"
    else:
        kind = str(rng.choice(["laplace", "gaussian", "none"], p=[0.5, 0.35, 0.15]))
    scale, discrete = size(rng, *sizes), bool(rng.random() < 0.4)
    if discrete:
        scale = max(min(scale, 3e4), 0.05)
    true = min(int(size(rng, *counts)) if rng.random() < 0.85 else int(rng.integers(0, 4)), most)
    row = None if plain else printing(rng, kind, scale, discrete, true)
    y = drawn(rng, true, kind, scale, discrete)
    if kind != "none" and rng.random() < 0.1:  # far outside
        y += (-1) ** int(rng.integers(2)) * round(rng.uniform(2, 5 if kind == "gaussian" else 15) * scale)
    if isinstance(row, str):
        low, high = sorted(y + rng.integers(-20, 21, 2) * max(1.0, round(scale / 4)))
        row, value = Within(math.floor(min(low, y)), math.ceil(max(high, y))), None
    elif row is None:
        value = y
    else:
        printed, _ = print_rows((row,), np.array([y]), rng)
        value = None if math.isnan(printed[0]) else float(printed[0])
    return noise_of(kind, scale, discrete) or Laplace(scale=0), row or Exact(), value


def declaration(rng, kind):
    "One declaration: the release, the question for the page, and the oracle's answer."
    named = dict(source="drawn at random")
    if kind == "count":
        noise, row, value = one_row(rng)
        release = declare(Counts(["a"]), [value], noise=noise, printed=row, **named)
        cell, = cells_of(release)
        return release, {"cell": cell}, lambda: exact.of_one(row_of(cell))
    if kind == "share":
        n = max(int(size(rng, 1, 2e6)), 1)
        noise, row, value = one_row(rng, (1e-2, max(n / 3, 1)), (0.3, n), most=n)
        prior = [1.0, 1.0] if rng.random() < 0.7 else [size(rng, 0.3, 20), size(rng, 0.3, 20)]
        release = declare(Bernoulli(), value, n=n, noise=noise, printed=row, **named)
        cell, = cells_of(release)
        return release, {"cell": cell, "n": n, "prior": prior}, lambda: exact.share(row_of(cell), n, *prior)
    if kind == "noisy":
        n = max(int(size(rng, 1, 3000)), 1)
        noise, row, value = one_row(rng, (1e-2, 6), (0.3, n), True, most=n)
        of_n, row_n, value_n = one_row(rng, (1e-2, 6), (n, n * 1.01), True, plain=True)
        prior = [1.0, 1.0] if rng.random() < 0.7 else [size(rng, 0.5, 5), size(rng, 0.5, 5)]
        release = declare(Bernoulli(), [value], noise=noise, n=value_n, n_noise=of_n, printed={"successes": row},
                          **named)
        of, cell = cells_of(release)
        given = {"cell": cell, "n": of, "prior": prior}
        return release, given, lambda: exact.share_of_noisy(row_of(cell), row_of(of), *prior)
    if kind == "rate":
        n = max(int(size(rng, 1, 1e5)), 1)
        u, v = one_row(rng, (1e-2, 15), (0.3, n), most=n), one_row(rng, (1e-2, 15), (n, n * 1.01))
        release = declare(Counts(["part", "rest"]), {"part": u[2], "whole": v[2]}, matrix=[[1, 0], [1, 1]],
                          noise=[u[0], v[0]], printed=[u[1], v[1]], **named)
        a, b = cells_of(release)
        return release, {"part": a, "whole": b}, lambda: exact.quotient(row_of(a), row_of(b), True)
    if kind == "compare":
        top = size(rng, 3, 1e6)
        u, v = (one_row(rng, (1e-2, 200), (0.3, top)) for _ in range(2))
        release = declare(Counts(["a", "b"]), [u[2], v[2]], noise=[u[0], v[0]], printed=[u[1], v[1]], **named)
        a, b = cells_of(release)
        return release, {"a": a, "b": b}, lambda: exact.compare(row_of(a), row_of(b))
    if kind == "shares":
        n = [max(int(size(rng, 5, 2e4)), 5) for _ in range(2)]
        rows = [one_row(rng, (0.05, 4), (1, m), most=m) for m in n]
        releases = [declare(Bernoulli(), value, n=m, noise=noise, printed=row, **named)
                    for (noise, row, value), m in zip(rows, n)]
        a, b = (cells_of(release)[0] for release in releases)
        return releases, {"a": a, "b": b, "n": n}, lambda: exact.compare_shares(row_of(a), row_of(b), n)
    return a_table(rng, named)


def a_table(rng, named):
    "Cells of one noise and one printing, and mostly their total."
    J = int(rng.choice([1, 2, 3, 4, 6, 12]))
    kind = str(rng.choice(["laplace", "gaussian", "none"], p=[0.5, 0.3, 0.2]))
    scale, discrete = size(rng, 0.05, 12), bool(rng.random() < 0.5)
    truth = [int(size(rng, 0.3, 300)) for _ in range(J)]
    row = printing(rng, kind, scale, discrete, 0)
    row = None if isinstance(row, str) else row
    total = str(rng.choice(["same", "exact", "other", "none"], p=[0.5, 0.2, 0.2, 0.1]))
    noises = [(kind, scale, discrete)] * J
    rows = [row or Exact()] * J
    if total != "none":
        noises.append((kind, scale, discrete) if total == "same" else ("none", 0.0, False) if total == "exact" else
                      ("laplace", size(rng, 0.5, 10), False))
        rows.append(rows[0] if total == "same" else Exact())
        truth = [*truth, sum(truth)]
    y = np.array([drawn(rng, k, *noise) for k, noise in zip(truth, noises)])
    values = [None if math.isnan(v) else float(v) for v in print_rows(tuple(rows), y, rng)[0]]
    names = [f"c{i}" for i in range(J)]
    keys = names + ["total"] * (total != "none")
    H = [*np.eye(J).tolist(), *([[1.0] * J] if total != "none" else [])]
    laws = [noise_of(*each) or Laplace(scale=0) for each in noises]
    release = declare(Counts(names), dict(zip(keys, values)), matrix=H, noise=laws, printed=rows, **named)
    cells = cells_of(release)
    given = {"cells": cells[:J], "total": cells[J] if total != "none" else None}
    rows_of = [row_of(each) for each in given["cells"]]
    return release, given, lambda: exact.table(rows_of, given["total"] and row_of(given["total"]))


def made():
    "The declarations, in order: kind, release, question, oracle; what the package refuses is drawn again."
    rng = np.random.default_rng(SEED)
    for kind, many in KINDS.items():
        found = 0
        while found < many:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    release, given, answer = declaration(rng, kind)
                    if kind in ("rate", "compare") or kind == "table":
                        check_finite(given)
            except ValueError:
                continue
            found += 1
            yield kind, release, given, answer


def check_finite(given):
    "Only what can be listed in a moment."
    cells = [each for each in (*given.get("cells", ()), *given.values()) if isinstance(each, dict)]
    lengths = [len(exact.counted(row_of(cell)).k) for cell in cells]
    if "part" in given and math.prod(lengths) > 3e6 or "a" in given and max(lengths) > 4e4:
        raise ValueError("too many pairs")


if __name__ == "__main__":
    out = []
    for i, (kind, _, given, answer) in enumerate(made()):
        out.append({"kind": kind, **given, "exact": answer()})
        if i % 20 == 0:
            print(i, kind, flush=True)
    text = ",\n".join(json.dumps(each, separators=(",", ":")) for each in out)
    RESULT.write_text(f"[{text}]\n", encoding="utf-8")
    print(len(out), "declarations,", len(text) // 1000, "kB")
