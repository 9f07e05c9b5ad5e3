"""Posterior of a noisy table by sampling its counts: exact, slow, and independent of the package's samplers.

    theta ~ prior,  c ~ Multinomial(n, softmax(logits(theta))),  z = M c + e,  e Laplace or Gaussian, on a grid or not

NumPy only. The state of a chain is (theta, c) with whole counts c >= 0 that sum to n; nothing is taken as normal. Three
moves, each a symmetric Metropolis proposal whose distribution does not depend on the state, so that each leaves
p(theta, c | z) invariant:

1. theta' = theta + L e;
2. c' = c + r d: d one of a list of whole directions with sum 0 (from one cell to another, and combinations that leave
   all margins alone), r a whole number with a random sign, its size uniform in the logarithm;
3. both at once: theta' = theta + L e and c' = c + D(theta, theta'), D = n (p' - p) rounded, what is missing to sum 0
   at a random cell. D(theta', theta) = -D(theta, theta'), so the way back has the same probability. Without it chains
   are slow where noise is much larger than sampling error.

L and the scales are tuned in the warm-up, pooled over chains, and fixed afterwards.
"""

import itertools
from typing import Callable, NamedTuple

import numpy as np
from scipy.optimize import nnls

LAPLACE, GAUSSIAN = "laplace", "gaussian"


class Table(NamedTuple):
    "What was released, and the model: everything that the posterior depends on."
    z: np.ndarray  # (m,) released numbers
    matrix: np.ndarray  # (m, K) counts of margins from counts of cells
    n: int
    kind: str  # of the noise, on whole numbers or not: only its log density, up to a constant, is used
    scale: np.ndarray  # (m,) b of Laplace noise, sd of Gaussian noise
    logits: Callable  # (chains, d) -> (chains, K)
    log_prior: Callable  # (chains, d) -> (chains,)


def log_noise(table: Table, s):
    "Log density of the noise z - s, up to a constant: (…,) of (…, m)."
    r = (table.z - s) / table.scale
    return -np.abs(r).sum(-1) if table.kind == LAPLACE else -0.5 * (r**2).sum(-1)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def margin_matrix(shape, margins):
    "Indicators (m, K) of the cells of each margin, margin by margin, cells in C order."
    cells = np.array(list(itertools.product(*map(range, shape))))
    rows = [np.all(cells[:, list(margin)] == level, axis=1)
            for margin in margins for level in itertools.product(*[range(shape[a]) for a in margin])]
    return np.array(rows, dtype=float)


def directions(matrix):
    "Whole directions with sum 0: every pair of cells, and every two pairs that leave all margins alone."
    K = matrix.shape[1]
    one = np.eye(K, dtype=int)
    pairs = np.array([one[a] - one[b] for a, b in itertools.combinations(range(K), 2)])
    of_margins, null = pairs @ matrix.T, []
    for i, j in itertools.combinations(range(len(pairs)), 2):  # a square of cells
        for sign in (1, -1):
            if not (of_margins[i] + sign * of_margins[j]).any():
                null.append(pairs[i] + sign * pairs[j])
    kernel = _cubes(matrix, K)
    found = [pairs, *([np.array(null)] if null else []), *([kernel] if len(kernel) else [])]
    return np.unique(np.concatenate(found), axis=0), np.unique(np.concatenate(found[1:] or [pairs]), axis=0)


def _cubes(matrix, K, tries=4000, seed=0):
    "Whole null vectors of the margins with entries -1, 0, 1, found as differences of two tables with equal margins."
    rng, found = np.random.default_rng(seed), {}
    basis = _whole_null_basis(matrix)
    if not len(basis):
        return np.zeros((0, K), dtype=int)
    for weights in itertools.product((-1, 0, 1), repeat=len(basis)) if len(basis) <= 6 else \
            rng.integers(-1, 2, (tries, len(basis))):
        v = np.asarray(weights) @ basis
        if v.any() and np.abs(v).max() == 1:
            found[tuple(v)] = v
    return np.array(list(found.values()), dtype=int)


def _whole_null_basis(matrix):
    "A whole basis of the null space by Gauss's elimination with fractions."
    from fractions import Fraction
    rows = [[Fraction(int(v)) for v in row] for row in matrix]
    K, pivots, r = matrix.shape[1], [], 0
    for column in range(K):
        pivot = next((i for i in range(r, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[r], rows[pivot] = rows[pivot], rows[r]
        rows[r] = [v / rows[r][column] for v in rows[r]]
        for i in range(len(rows)):
            if i != r and rows[i][column]:
                rows[i] = [a - rows[i][column] * b for a, b in zip(rows[i], rows[r])]
        pivots.append(column)
        r += 1
    basis = []
    for free in set(range(K)) - set(pivots):
        v = [Fraction(0)] * K
        v[free] = Fraction(1)
        for i, column in enumerate(pivots):
            v[column] = -rows[i][free]
        scale = np.lcm.reduce([x.denominator for x in v])
        basis.append([int(x * scale) for x in v])
    return np.array(basis, dtype=int).reshape(-1, K)


class Chains:
    "Many chains at once: x (C, d), c (C, K)."
    def __init__(self, table, x, c, rng):
        self.t, self.rng, self.x, self.c = table, rng, np.array(x, float), np.array(c)
        self.log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, table.n + 1)))])
        self.all, self.null = directions(table.matrix)
        self.C, self.d = self.x.shape
        self.most = max(2.0, 3.0 * np.sqrt(table.n))  # records moved at once, at most
        self.alone, self.joint = np.eye(self.d) * 0.1, np.eye(self.d) * 0.1  # L of moves 1 and 3
        self.scales = np.ones(2)
        self.accepted = np.zeros((4, 2))
        self._refresh()

    def _refresh(self):
        "Everything that follows from the state."
        self.log_p, self.prior = log_softmax(self.t.logits(self.x)), self.t.log_prior(self.x)
        self.of_counts = -self.log_factorial[self.c].sum(-1)
        self.noise = log_noise(self.t, self.c @ self.t.matrix.T)

    def _decide(self, log_ratio, move):
        with np.errstate(invalid="ignore"):
            yes = np.log(self.rng.random(self.C)) < log_ratio
        self.accepted[move] += yes.sum(), self.C
        return yes

    def move_theta(self):
        "Move 1."
        step = self.scales[0] * self.rng.normal(size=(self.C, self.d)) @ self.alone.T
        x = self.x + step
        log_p, prior = log_softmax(self.t.logits(x)), self.t.log_prior(x)
        yes = self._decide((self.c * (log_p - self.log_p)).sum(-1) + prior - self.prior, 0)
        self.x[yes], self.log_p[yes], self.prior[yes] = x[yes], log_p[yes], prior[yes]

    def move_counts(self, null=False):
        "Move 2."
        rng, choice = self.rng, self.null if null else self.all
        size = np.floor(np.exp(rng.uniform(0, np.log(self.most + 1), self.C))).astype(int)
        delta = choice[rng.integers(len(choice), size=self.C)] * (size * rng.choice([-1, 1], self.C))[:, None]
        self._propose_counts(delta, 2 if null else 1)

    def _propose_counts(self, delta, move):
        c = self.c + delta
        inside = (c >= 0).all(-1)
        c = np.where(inside[:, None], c, self.c)
        of_counts, noise = -self.log_factorial[c].sum(-1), log_noise(self.t, c @ self.t.matrix.T)
        ratio = (delta * self.log_p).sum(-1) + of_counts - self.of_counts + noise - self.noise
        yes = self._decide(np.where(inside, ratio, -np.inf), move)
        self.c[yes], self.of_counts[yes], self.noise[yes] = c[yes], of_counts[yes], noise[yes]

    def move_both(self):
        "Move 3."
        x = self.x + self.scales[1] * self.rng.normal(size=(self.C, self.d)) @ self.joint.T
        log_p, prior = log_softmax(self.t.logits(x)), self.t.log_prior(x)
        delta = np.rint(self.t.n * (np.exp(log_p) - np.exp(self.log_p))).astype(int)  # rint is odd
        delta[np.arange(self.C), self.rng.integers(delta.shape[1], size=self.C)] -= delta.sum(-1)
        c = self.c + delta
        inside = (c >= 0).all(-1)
        c = np.where(inside[:, None], c, self.c)
        of_counts, noise = -self.log_factorial[c].sum(-1), log_noise(self.t, c @ self.t.matrix.T)
        ratio = (c * log_p).sum(-1) - (self.c * self.log_p).sum(-1) + prior - self.prior \
            + of_counts - self.of_counts + noise - self.noise
        yes = self._decide(np.where(inside, ratio, -np.inf), 3)
        for name, new in {"x": x, "c": c, "log_p": log_p, "prior": prior, "of_counts": of_counts,
                          "noise": noise}.items():
            getattr(self, name)[yes] = new[yes]

    def sweep(self, thetas=5, counts=16, nulls=4, both=4):
        for _ in range(both):
            self.move_both()
            for _ in range(counts // both):
                self.move_counts()
            for _ in range(nulls // both):
                self.move_counts(null=True)
        for _ in range(thetas):
            self.move_theta()

    def rates(self):
        "Shares of accepted moves since the last call."
        found = self.accepted[:, 0] / np.maximum(self.accepted[:, 1], 1)
        self.accepted[:] = 0
        return found

    def tune(self, xs, cs):
        "Covariances of the moves from draws of all chains: of theta, and of what the counts leave open of theta."
        x, c = xs.reshape(-1, self.d), cs.reshape(-1, cs.shape[-1]).astype(float)
        x, c = x - x.mean(0), c - c.mean(0)
        whole = x.T @ x / len(x)
        fitted = c @ np.linalg.lstsq(c, x, rcond=1e-10)[0]
        rest = (x - fitted).T @ (x - fitted) / len(x)
        tiny = 1e-9 * np.diag(np.diag(whole))
        self.alone, self.joint = np.linalg.cholesky(rest + 1e-3 * np.diag(np.diag(rest)) + tiny), \
            np.linalg.cholesky(whole + tiny)


def starts(table, d, chains, rng, x=None, ridge=1.0):
    "Dispersed counts near the released numbers, and zeros (or the given coordinates) for theta."
    K = table.matrix.shape[1]
    weights = 1 / table.scale
    rows = np.concatenate([table.matrix * weights[:, None], np.ones((1, K)), 1e-3 * np.eye(K)])
    found = nnls(rows, np.concatenate([table.z * weights, [table.n], np.full(K, 1e-3 * table.n / K)]))[0]
    p = (found + ridge) / (found + ridge).sum()
    c = rng.multinomial(table.n, p, size=chains)
    return (np.zeros((chains, d)) if x is None else np.broadcast_to(x, (chains, d))), c


def sample(table: Table, d: int, *, chains=200, warmup=400, sweeps=600, seed=0, x=None, keep=True):
    """Draws x (sweeps, chains, d), cell probabilities p and counts c (sweeps, chains, K), and acceptance rates.

    Warm-up: eight rounds of tuning over the pooled draws of the last round, then two without.
    """
    rng = np.random.default_rng(seed)
    state = Chains(table, *starts(table, d, chains, rng, x), rng)
    per = max(warmup // 10, 5)
    for round_ in range(10):
        xs, cs = [], []
        for _ in range(per):
            state.sweep()
            xs.append(state.x.copy()), cs.append(state.c.copy())
            rates = state.rates()
            if round_ < 8:  # towards an acceptance of a third
                state.scales *= np.exp(0.3 * (rates[[0, 3]] - 0.3))
        if round_ < 8:
            before = state.alone.copy(), state.joint.copy()
            state.tune(np.array(xs[len(xs) // 2:]), np.array(cs[len(cs) // 2:]))
            state.scales *= [np.exp(np.log(np.diag(b) / np.diag(a)).mean()) for b, a in
                             zip(before, (state.alone, state.joint))]
            state.scales = np.clip(state.scales, 1e-3, 3.0)
    xs, cs, ps = [], [], []
    for _ in range(sweeps):
        state.sweep()
        xs.append(state.x.copy()), cs.append(state.c.copy()), ps.append(np.exp(state.log_p))
    return {"x": np.array(xs), "c": np.array(cs), "p": np.array(ps), "rates": state.rates()}


def mean_and_error(draws):
    "Mean, sd and Monte Carlo error of the mean from independent chains: (…,) each of (sweeps, chains, …)."
    by_chain = draws.mean(0)
    return draws.mean((0, 1)), draws.std((0, 1)), by_chain.std(0, ddof=1) / np.sqrt(draws.shape[1])


def compositions(n, K):
    "All tables of K counts with sum n."
    if K == 1:
        return np.array([[n]])
    return np.concatenate([np.column_stack([np.full(len(rest), first), rest])
                           for first in range(n + 1) for rest in [compositions(n - first, K - 1)]])


def enumerated(table: Table, nodes, log_weights):
    """Mean and sd of every cell probability by complete enumeration of the counts, theta on quadrature nodes.

    `nodes` (Q, d), `log_weights` (Q,): of the prior; K and n must be tiny.
    """
    log_p = log_softmax(table.logits(nodes))
    counts = compositions(table.n, table.matrix.shape[1])
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, table.n + 1)))])
    of_counts = -log_factorial[counts].sum(-1) + log_noise(table, counts @ table.matrix.T)
    log_likelihood = np.concatenate([_logsumexp(part @ counts.T + of_counts) for part in
                                     np.array_split(log_p, max(1, len(log_p) * len(counts) // 10**7))])
    w = np.exp(log_weights + log_likelihood - (log_weights + log_likelihood).max())
    w /= w.sum()
    p = np.exp(log_p)
    return w @ p, np.sqrt(w @ p**2 - (w @ p) ** 2)


def _logsumexp(x):
    top = x.max(-1, keepdims=True)
    return (top + np.log(np.exp(x - top).sum(-1, keepdims=True)))[:, 0]


def normal_nodes(d, sd, points=41, width=5.0):
    "An even grid (points^d, d) over +-width sd, and log weights of N(0, sd^2) in each coordinate (trapezoidal rule)."
    x = np.linspace(-width, width, points)
    w = np.exp(-0.5 * x**2)
    grid = np.array(list(itertools.product(sd * x, repeat=d)))
    return grid, np.log(np.array(list(itertools.product(w / w.sum(), repeat=d)))).sum(-1)


def blocks_of(shape, margins):
    "All sets of columns within some margin."
    inside = {part for margin in margins for k in range(1, len(margin) + 1) for part in
              itertools.combinations(sorted(margin), k)}
    return sorted(inside, key=lambda part: (len(part), part))


def effect_design(shape, margins):
    "Log-linear effects: cells times effects in orthonormal bases of each block (by QR), and (order, effects) of each."
    def basis(K):
        return np.linalg.qr(np.concatenate([np.ones((K, 1)), np.eye(K)[:, 1:]], axis=1))[0][:, 1:]
    columns, sizes = [], []
    for block in blocks_of(shape, margins):
        part = np.ones((1, 1))
        for axis, K in enumerate(shape):
            part = np.kron(part, basis(K) if axis in block else np.ones((K, 1)))
        columns.append(part)
        sizes.append((len(block), part.shape[1]))
    return np.concatenate(columns, axis=1), sizes


def shrinkage_log_prior(sizes, scale=1.0, decay=0.5, degrees=4.0):
    "Log density, up to a constant, of a multivariate t distribution for each block: the same in any orthonormal basis."
    ends = np.cumsum([0, *[k for _, k in sizes]])
    def log_prior(x):
        total = 0.0
        for (order, k), a, b in zip(sizes, ends, ends[1:]):
            s = scale * decay ** (order - 1)
            total = total - 0.5 * (degrees + k) * np.log1p((x[:, a:b] ** 2).sum(-1) / (degrees * s * s))
        return total
    return log_prior


def log_linear_table(shape, margins, z, n, kind, scale, **prior) -> tuple[Table, int]:
    "A release of the margins of a log-linear model under its shrinkage prior, and the number of effects."
    X, sizes = effect_design(shape, margins)
    return Table(np.asarray(z, float), margin_matrix(shape, margins), n, kind, np.asarray(scale, float),
                 lambda x: x @ X.T, shrinkage_log_prior(sizes, **prior)), X.shape[1]
