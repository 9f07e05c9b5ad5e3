"""Intervals of others, written anew from their papers for the scoreboard: no code of theirs, no part of the package.

`bootstrap`: the parametric bootstrap of Ferrando, Wang and Sheldon (AISTATS 2022) for a normal mean and standard
deviation, from a noisy mean and a noisy variance of clamped records, as Awan and Wang (arXiv 2303.05328) release them;
with `debiased`, about an estimate that is corrected for clamping, after Wang, Chang and Awan (arXiv 2507.10746), with
exact moments where they simulate. `naive_share`: the conjugate update of a noisy count that is taken for exact.
"""

import numpy as np
from scipy.stats import beta, norm

LEAST = 1e-3  # a released variance below this is set to it


def released(rng, mean, sd, n, low, high, mu, size):
    "Noisy means and variances of `size` tables of n clamped normal records, each statistic mu-GDP: (size,) each."
    mean, sd = np.broadcast_to(mean, size), np.broadcast_to(sd, size)
    x = np.clip(mean[:, None] + sd[:, None] * rng.standard_normal((size, n)), low, high)
    a = x.mean(axis=1) + (high - low) / (n * mu) * rng.standard_normal(size)
    v = x.var(axis=1, ddof=1) + (high - low) ** 2 / (n * mu) * rng.standard_normal(size)
    return a, np.sqrt(np.maximum(v, LEAST))


def clamped_moments(mean, sd, low, high):
    "Mean and variance of clamp(N(mean, sd²), low, high)."
    a, b = (low - mean) / sd, (high - mean) / sd
    p, q, f, g = norm.cdf(a), norm.sf(b), norm.pdf(a), norm.pdf(b)
    first = low * p + high * q + mean * (1 - p - q) + sd * (f - g)
    second = low**2 * p + high**2 * q + (mean**2 + sd**2) * (1 - p - q) + sd * (f * (mean + low) - g * (mean + high))
    return first, second - first**2


def corrected(a, s, low, high, steps=60):
    "The mean and standard deviation whose clamped moments are the released ones, as near as they come: (…, 2)."
    x = np.stack([a, np.log(np.maximum(s, 0.05))], axis=-1)
    wide = high - low
    bounds = np.array([low - wide, np.log(0.05)]), np.array([high + wide, np.log(2 * wide)])
    off = lambda x: np.stack(clamped_moments(x[..., 0], np.exp(x[..., 1]), low, high), axis=-1) - np.stack(
        [a, s**2], axis=-1)
    h = 1e-5
    for _ in range(steps):
        r = off(x)
        J = np.stack([(off(x + h * e) - r) / h for e in np.eye(2)], axis=-1)
        H = np.swapaxes(J, -1, -2) @ J + 1e-6 * np.eye(2)
        step = np.linalg.solve(H, (np.swapaxes(J, -1, -2) @ r[..., None]))[..., 0]
        x = np.clip(x - np.clip(step, -0.5, 0.5), *bounds)
    return np.stack([x[..., 0], np.exp(x[..., 1])], axis=-1)


def bootstrap(rng, mean, sd, n=100, low=0.0, high=3.0, mu=1.0, repetitions=1000, samples=200, debiased=False):
    "95% intervals of (mean, sd), {way: (repetitions, 2, 2)}: by percentiles, and reflected about the estimate."
    found = lambda seen: corrected(*seen, low, high) if debiased else np.stack(seen, axis=-1)
    estimates = found(released(rng, mean, sd, n, low, high, mu, repetitions))
    ends = np.array([np.quantile(found(released(rng, *e, n, low, high, mu, samples)), [0.025, 0.975], axis=0)
                     for e in estimates])  # (repetitions, 2 ends, 2 parameters)
    percentile = np.moveaxis(ends, 1, 2)
    return {"percentile": percentile, "reflected": 2 * estimates[:, :, None] - percentile[:, :, ::-1]}, estimates


def naive_share(z, n, a=1.0, b=1.0):
    "Equal-tailed 95% intervals of a share from noisy counts z, clamped to [0, n] and taken for exact: (2, …)."
    s = np.clip(z, 0, n)
    return beta.ppf(0.025, a + s, b + n - s), beta.ppf(0.975, a + s, b + n - s)
