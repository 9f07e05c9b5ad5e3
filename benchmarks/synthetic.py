"""Synthetic tables: do 95% intervals from them contain the true value, and what do shortcuts cost?

`python benchmarks/synthetic.py [PART …]`, into results/synthetic.json; parts that are not named are kept:
- `combined`: 500 simulated releases of three columns; four estimates, each by several kinds of analysis;
- `published`: the simulated design of NAPSU-MQ (Räisä, Jälkö, Kaski and Honkela 2023, arXiv 2205.14485);
- `normal`: a logistic regression whose covariate is taken as normal, as in Kulkarni et al. (2021), where it is not.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("TQDM_DISABLE", "1")

import jax  # noqa: E402
import numpy as np  # noqa: E402
from scipy.stats import binomtest, norm  # noqa: E402

import dp_bayes_nb as d  # noqa: E402
from dp_bayes_nb.base.files import atomic_write  # noqa: E402
from dp_bayes_nb.noise.design import noise_design  # noqa: E402
from dp_bayes_nb.tables.synthetic import combine_synthetic, synthesize  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results" / "synthetic.json"
LEVEL = 0.95
FIT = {"draws": 200, "warmup": 150, "chains": 2, "progress": False}


def probabilities(model, effects):
    "Cells of draws of the effects, (…, *shape)."
    effects = np.asarray(effects)
    flat = effects.reshape(-1, effects.shape[-1])
    p = np.exp(np.asarray(_log_cells(model)(flat)))
    return p.reshape(*effects.shape[:-1], *model.cells.shape)


_KEPT = {}


def _log_cells(model):
    if model not in _KEPT:
        _KEPT[model] = jax.jit(jax.vmap(lambda x: model.log_cells({"effects": x})))
    return _KEPT[model]


def counted(tables, model):
    "Counts of the cells of each table, (D, *shape)."
    shape = model.cells.shape
    out = []
    for table in tables:
        codes = [np.asarray(table[c.name].cat.codes) if c.texts else np.searchsorted(c.levels, table[c.name])
                 for c in model.columns]
        out.append(np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape))).reshape(shape))
    return np.array(out, float)


# ---------------------------------------------------------------- analyses of tables of counts


def logistic(X, successes, totals, steps=30):
    "Coefficients and squared standard errors of logistic regressions, (D, q) each, of cells with covariates X (c, q)."
    beta = np.zeros((*successes.shape[:-1], X.shape[1]))
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(beta @ X.T, -30, 30)))
        information = np.einsum("...c,ci,cj->...ij", totals * p * (1 - p), X, X)
        step = np.linalg.solve(information, ((successes - totals * p) @ X)[..., None])[..., 0]
        beta = beta + np.clip(step, -2, 2)
    return beta, np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)


MODEL = d.LogLinear({"ill": ["no", "yes"], "exposed": ["no", "yes"], "dose": [0, 1, 2]}, 2)
TRUTH = {"effects": np.array([-0.5, -0.2, 0.1, -0.25, 0.3, 0.25, 0.1, 0.2, -0.1])}
NAMES = ("mean", "difference", "log odds ratio", "regression slope")
_X = np.array([[1.0, exposed, dose] for exposed in (0, 1) for dose in (0, 1, 2)])


def analysed(c):
    "Estimates and variances (…, 4) of tables of counts (…, ill, exposed, dose)."
    n = c.sum((-3, -2, -1))
    mean = c[..., 1, :, :].sum((-2, -1)) / n
    by_dose = c.sum(-2)  # (…, ill, dose)
    p, at = by_dose[..., 1, :] / by_dose.sum(-2), by_dose.sum(-2)
    v = p * (1 - p) / at
    two = c.sum(-1)  # (…, ill, exposed)
    ratio = np.log(two[..., 0, 0]) + np.log(two[..., 1, 1]) - np.log(two[..., 0, 1]) - np.log(two[..., 1, 0])
    cells = c.reshape(*c.shape[:-2], 6)
    beta, u = logistic(_X, cells[..., 1, :], cells.sum(-2))
    return np.stack([mean, p[..., 2] - p[..., 0], ratio, beta[..., 2]], -1), \
        np.stack([mean * (1 - mean) / n, v[..., 2] + v[..., 0], (1 / two).sum((-2, -1)), u[..., 2]], -1)


def margins_of(model):
    "Indicators of the cells of the released margins, (m, K)."
    K = model.cells.size
    return np.array([np.asarray(model.cells.mean(e)) for e in np.eye(K)]).T


def from_margins(model, z, n, M, steps=60):
    "Cells of the log-linear model that are nearest to noisy margins taken for exact: one estimate, without its error."
    D = np.linalg.svd(np.c_[M.T - M.T.mean(0)], full_matrices=False)
    X = D[0][:, D[1] > 1e-9 * D[1][0]]
    theta, scale = np.zeros(X.shape[1]), 1e-3
    def p_of(t):
        e = np.exp(X @ t - (X @ t).max())
        return e / e.sum()
    loss = lambda t: ((z / n - M @ p_of(t)) ** 2).sum() + 1e-9 * (t**2).sum()
    for _ in range(steps):  # Levenberg and Marquardt
        p = p_of(theta)
        J = M @ (p[:, None] * (X - p @ X))
        g = J.T @ (z / n - M @ p) - 1e-9 * theta
        while scale < 1e9:
            new = theta + np.linalg.solve(J.T @ J + scale * np.eye(len(theta)) * np.trace(J.T @ J) / len(theta), g)
            if loss(new) <= loss(theta):
                theta, scale = new, max(scale / 5, 1e-9)
                break
            scale *= 4
    return p_of(theta)


# ---------------------------------------------------------------- parts


def summary(low, high, truth):
    "Coverage, its exact p-value, and mean width, by estimate."
    inside = (low <= truth) & (truth <= high)
    out = {}
    for j, name in enumerate(NAMES):
        k = int(inside[:, j].sum())
        out[name] = {"coverage": k / len(inside), "p": binomtest(k, len(inside), LEVEL).pvalue,
                     "width": float((high - low)[:, j].mean())}
    return out


def combined(trials=500, n=1000, epsilon=0.5):
    warnings.simplefilter("ignore")
    M, t95 = margins_of(MODEL), norm.ppf(0.5 + LEVEL / 2)
    truth = analysed(probabilities(MODEL, TRUTH["effects"]))[0]
    ends = {name: [] for name in ("100 tables of n records", "20 tables of 5n records", "20 tables of n records",
                                  "the posterior itself", "one table taken for real",
                                  "100 tables stacked, taken for real", "noisy margins taken for exact")}
    floored, seconds = dict.fromkeys(list(ends)[:3], 0.0), {"fit": 0.0, "100 tables and analyses": 0.0}
    for k in range(trials):
        release = d.simulate_release(MODEL, TRUTH, n, epsilon, seed=10_000 + k)
        start = time.process_time()
        idata = d.fit(release, seed=k, **FIT)
        middle = time.process_time()
        q, u = analysed(counted(synthesize(idata, tables=100, seed=k), MODEL))
        both = combine_synthetic(q, u)
        seconds["fit"] += (middle - start) / trials
        seconds["100 tables and analyses"] += (time.process_time() - middle) / trials
        large = analysed(counted(synthesize(idata, 5 * n, tables=20, seed=k), MODEL))
        for name, found in (("100 tables of n records", both), ("20 tables of 5n records",
                                                               combine_synthetic(*large, ratio=5.0)),
                            ("20 tables of n records", combine_synthetic(q[::5], u[::5]))):
            ends[name].append(found.interval(LEVEL))
            floored[name] += float(found.floored.mean()) / trials
        half = lambda q, u: (q - t95 * np.sqrt(u), q + t95 * np.sqrt(u))
        ends["one table taken for real"].append(half(q[0], u[0]))
        ends["100 tables stacked, taken for real"].append(half(q.mean(0), u.mean(0) / len(u)))
        ends["noisy margins taken for exact"].append(half(*analysed(
            n * from_margins(MODEL, np.asarray(release.values), n, M).reshape(MODEL.cells.shape))))
        effects = idata.posterior["effects"].values
        draws = analysed(probabilities(MODEL, effects.reshape(-1, effects.shape[-1])))[0]
        ends["the posterior itself"].append(tuple(np.quantile(draws, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)))
        if k % 50 == 49:
            print(k + 1, {name: np.mean([(a <= truth) & (truth <= b) for a, b in each], 0).round(3).tolist()
                          for name, each in ends.items()}, flush=True)
    found = {name: summary(*np.array(each).transpose(1, 0, 2), truth) for name, each in ends.items()}
    for name, share in floored.items():
        found[name]["share of variances that were not positive"] = share
    return {"about": f"{trials} simulated releases of {n} records of three columns (2 x 2 x 3 cells), the three tables "
                     f"of pairs with Laplace noise, epsilon {epsilon:g}; one true population, the default prior; 95% "
                     "intervals for the share of the ill, its difference between two doses, the log odds ratio of ill "
                     "and exposed, and the slope of dose in a logistic regression; p: exact binomial",
            "trials": trials, "n": n, "epsilon": epsilon, "truth": dict(zip(NAMES, truth.tolist())),
            "noise": float(noise_design(MODEL, epsilon=epsilon)[0].scale[0]), "seconds": seconds, "rows": found}


PUBLISHED = {"source": "coverage of 95% intervals over 100 repetitions, read to about .01 from a figure in the public "
                       "report of the authors (DPBayes/NAPSU-MQ-experiments, workflow/scripts/report.py.ipynb); median "
                       "widths from its box plots",
             "epsilon": [0.1, 0.25, 0.5, 1.0, 10.0], "coverage, coefficient 1": [0.96, 0.96, 0.95, 0.97, 0.94],
             "coverage, coefficient 0": [0.98, 0.95, 0.94, 0.97, 0.97],
             "width, coefficient 1": [1.77, 0.78, 0.49, 0.39, 0.33],
             "width, coefficient 0": [1.43, 0.61, 0.42, 0.35, 0.31]}


def published(trials=60, n=2000):
    "Two fair coins and a logistic response with coefficients 1 and 0, no intercept; the table of all three."
    warnings.simplefilter("ignore")
    model = d.LogLinear({"x1": 2, "x2": 2, "y": 2}, [("x1", "x2", "y")])
    X, beta, delta = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)]), np.array([1.0, 0.0]), float(n) ** -2
    p1 = 1 / (1 + np.exp(-X @ beta))
    p = (0.25 * np.stack([1 - p1, p1], -1)).reshape(-1)
    log_p = np.log(p) - np.log(p).mean()
    each = np.eye(len(model.parameters["effects"].levels))
    D = np.array([np.asarray(model.log_cells({"effects": e})) for e in each])
    effects = np.linalg.lstsq((D - D.mean(1, keepdims=True)).T, log_p, rcond=None)[0]
    assert np.allclose(probabilities(model, effects).ravel(), p)
    rows = {}
    for j, epsilon in enumerate(PUBLISHED["epsilon"]):
        inside, widths, floored, start = [], [], 0.0, time.process_time()
        for k in range(trials):
            release = d.simulate_release(model, {"effects": effects}, n, epsilon,
                                            mechanism="gaussian", delta=delta, seed=50_000 + 1000 * j + k)
            idata = d.fit(release, seed=k, **FIT)
            c = counted(synthesize(idata, tables=100, seed=k), model).reshape(100, 4, 2)
            found = combine_synthetic(*logistic(X, c[..., 1], c.sum(-1)))
            low, high = found.interval(LEVEL)
            inside.append((low <= beta) & (beta <= high))
            widths.append(high - low)
            floored += float(found.floored.mean()) / trials
        noise = float(noise_design(model, epsilon=epsilon, mechanism="gaussian", delta=delta)[0].scale[0])
        hits = np.sum(inside, 0)
        rows[f"epsilon = {epsilon:g}"] = {
            "noise": noise, "coverage, coefficient 1": hits[0] / trials, "coverage, coefficient 0": hits[1] / trials,
            "p, coefficient 1": binomtest(int(hits[0]), trials, LEVEL).pvalue,
            "p, coefficient 0": binomtest(int(hits[1]), trials, LEVEL).pvalue,
            "median width, coefficient 1": float(np.median(np.array(widths)[:, 0])),
            "median width, coefficient 0": float(np.median(np.array(widths)[:, 1])),
            "share of variances that were not positive": floored,
            "processor seconds a release, its tables and analyses": (time.process_time() - start) / trials}
        print(epsilon, rows[f"epsilon = {epsilon:g}"], flush=True)
    return {"about": f"{trials} repetitions of the simulated design of NAPSU-MQ: n = {n}, the full table of three "
                     "binary columns with Gaussian noise, delta = 1/n²; 100 synthetic tables of n records, logistic "
                     "regression without intercept; the default prior",
            "trials": trials, "theirs": PUBLISHED, "rows": rows}


# ---------------------------------------------------------------- covariates taken as normal


def _moments(theta, nodes, weights):
    "Mean and covariance of (x, x², y, xy) where x is normal, and the derivatives of the mean: equation by quadrature."
    a, b, m, log_s = theta
    s = np.exp(log_s)
    x = m + s * nodes
    p = 1 / (1 + np.exp(-(a + b * x)))
    v, one = p * (1 - p), np.ones_like(x)
    T1, T0 = np.stack([x, x * x, one, x]), np.stack([x, x * x, 0 * one, 0 * one])
    mean = (T1 * p + T0 * (1 - p)) @ weights
    second = (T1 * (weights * p)) @ T1.T + (T0 * (weights * (1 - p))) @ T0.T
    y_of = np.stack([0 * x, 0 * x, one, x])  # what y multiplies
    dx = np.stack([one, 2 * x, b * v, p + x * b * v])
    J = np.stack([(y_of * v) @ weights, (y_of * v * x) @ weights, dx @ weights, (dx * s * nodes) @ weights], 1)
    return mean, second - np.outer(mean, mean), J


def normal_analysis(z, n, noise_variance, rounds=60):
    "Slope and its standard error from noisy sums of (x, x², y, xy), x taken as normal: four equations, four unknowns."
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    t = z / n
    s2 = max(t[1] - t[0] ** 2, 1e-4)
    theta = np.array([np.log(t[2] / (1 - t[2])) if 0 < t[2] < 1 else 0.0, 0.0, t[0], 0.5 * np.log(s2)])
    for _ in range(rounds):
        mean, C, J = _moments(theta, nodes, weights)
        if not np.isfinite(J).all() or np.linalg.cond(J) > 1e12:  # no solution near: the noise is too large
            return np.nan, np.nan, False
        theta = theta + np.clip(np.linalg.solve(J, t - mean), -0.5, 0.5)
    inverse = np.linalg.inv(J)
    V = inverse @ (C / n + np.diag(noise_variance) / n**2) @ inverse.T
    return theta[1], np.sqrt(V[1, 1]), bool(np.abs(t - mean).max() < 1e-8)


def normal(trials=400, epsilon=1.0, intercept=-1.5, slope=5.0):
    rows, t95 = {}, norm.ppf(0.5 + LEVEL / 2)
    designs = {"normal": lambda rng, n: np.clip(rng.normal(0.5, 0.165, n), 0, 1),
               "exponential": lambda rng, n: np.minimum(rng.exponential(0.2, n), 1.0)}
    for kind, draw in designs.items():
        for n in (500, 2000, 20_000, 200_000):
            rng, inside, widths, found = np.random.default_rng([n, len(kind)]), [], [], []
            for _ in range(trials):
                x = draw(rng, n)
                y = rng.random(n) < 1 / (1 + np.exp(-(intercept + slope * x)))
                T = np.stack([x, x * x, y, x * y])
                b = 4.0 / epsilon  # each of the four sums moves by 1 at most
                z = T.sum(1) + rng.laplace(scale=b, size=4)
                estimate, error, solved = normal_analysis(z, n, np.full(4, 2 * b * b))
                inside.append(solved and abs(estimate - slope) <= t95 * error)
                widths.append(2 * t95 * error if solved else np.nan)
                found.append(estimate if solved else np.nan)
            rows[f"{kind}, n = {n}"] = {"coverage": float(np.mean(inside)), "median width": float(np.nanmedian(widths)),
                                        "median estimate": float(np.nanmedian(found)),
                                        "solved": float(np.mean(np.isfinite(found)))}
            print(kind, n, rows[f"{kind}, n = {n}"], flush=True)
    return {"about": f"{trials} releases of the sums of x, x², y and xy with Laplace noise, epsilon {epsilon:g}; logit "
                     f"P(y) = {intercept:g} + {slope:g} x; x is taken as normal, as it is in the first rows and is not "
                     "in the others (exponential with mean .2, clipped at 1); 95% intervals for the slope",
            "trials": trials, "slope": slope, "rows": rows}


def rounded(value):
    "Three significant digits."
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return float(f"{value:.3g}") if isinstance(value, (float, np.floating)) else value


PARTS = {"combined": combined, "published": published, "normal": normal}


def main():
    wanted = sys.argv[1:] or list(PARTS)
    if wrong := set(wanted) - set(PARTS):
        sys.exit(f"no such part: {sorted(wrong)}; there are {list(PARTS)}")
    for name in wanted:
        found = rounded(PARTS[name]())
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        every = {**known, name: found}
        atomic_write(RESULTS, json.dumps({key: every[key] for key in PARTS if key in every}, indent=1,
                                         ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
