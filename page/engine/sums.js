// Sums and integrals of functions that are smooth between a few known places.
//
// One rule serves all of them. A stretch is cut into pieces until on each the function is a polynomial of degree 15 as
// far as a double can tell: 16 Gauss-Legendre nodes give its Legendre series, whose last two coefficients say how well
// it fits (Trefethen, Approximation Theory and Approximation Practice, chapters 4 and 8). An integral is then exact. A
// sum over the whole numbers a..b is the integral from a - 1/2 to b + 1/2 of another polynomial, which the
// Euler-Maclaurin formula for midpoints gives (DLMF 2.10.1 and 24.7; the series of (D/2)/sinh(D/2)). A piece of at most
// 64 whole numbers is listed one by one, so that no function is too rough.

import { spend } from "./work.js";

const N = 16;
export const LISTED = 64; // whole numbers that are listed rather than fitted
const CLOSE = 1e-12; // of the largest value: last coefficients that are nothing
const INVERSE_SINH = [1, -1 / 24, 7 / 5760, -31 / 967680, 127 / 154828800]; // of (D/2)/sinh(D/2), in powers of D^2

// Legendre polynomials 0..n at t.
function legendre(t, n) {
  const p = new Float64Array(n + 1);
  p[0] = 1;
  if (n > 0) p[1] = t;
  for (let j = 1; j < n; j++) p[j + 1] = ((2 * j + 1) * t * p[j] - j * p[j - 1]) / (j + 1);
  return p;
}

// Gauss's nodes and weights on [-1, 1], by Newton's method (DLMF 3.5.20).
export function gauss(n) {
  const nodes = new Float64Array(n), weights = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let t = Math.cos(Math.PI * (i + 0.75) / (n + 0.5)), slope = 1;
    for (let k = 0; k < 50; k++) {
      const p = legendre(t, n);
      slope = n * (t * p[n] - p[n - 1]) / (t * t - 1);
      const step = p[n] / slope;
      t -= step;
      if (Math.abs(step) < 1e-16) break;
    }
    nodes[n - 1 - i] = t;
    weights[n - 1 - i] = 2 / ((1 - t * t) * slope * slope);
  }
  return [nodes, weights];
}

export const [NODES, WEIGHTS] = gauss(N);
const FIT = new Float64Array(N * N); // coefficient j of the Legendre series: the sum of FIT[j N + i] f(node i)
NODES.forEach((t, i) => legendre(t, N - 1).forEach((p, j) => { FIT[j * N + i] = (j + 0.5) * WEIGHTS[i] * p; }));

const COLUMNS = Array.from({ length: N }, (_, i) => FIT.filter((_, at) => at % N === i)); // the series of a 1 at node i

function coefficients(f) {
  const c = new Float64Array(N);
  for (let j = 0; j < N; j++) for (let i = 0; i < N; i++) c[j] += FIT[j * N + i] * f[i];
  return c;
}

const UP = Float64Array.from({ length: N + 1 }, (_, j) => (2 * j + 1) / (j + 1)), DOWN = UP.map((_, j) => (j + 1) / (j + 2));

// A Legendre series at t (Clenshaw, DLMF 3.11.15).
function series(c, t) {
  let b1 = 0, b2 = 0;
  for (let j = c.length - 1; j > 0; j--) {
    const b = c[j] + UP[j] * t * b1 - DOWN[j] * b2;
    b2 = b1;
    b1 = b;
  }
  return c[0] + t * b1 - b2 / 2;
}

function derivative(c) {
  const d = new Float64Array(N);
  for (let j = N - 1; j > 0; j--) d[j - 1] = (2 * j - 1) * (c[j] + (j + 1 < N ? d[j + 1] / (2 * j + 3) : 0));
  return d;
}

function antiderivative(c) { // DLMF 18.9.18: the integral of P_j is (P_{j+1} - P_{j-1})/(2j + 1)
  const A = new Float64Array(N + 1);
  for (let j = 0; j < N; j++) {
    A[j + 1] += c[j] / (2 * j + 1);
    if (j > 0) A[j - 1] -= c[j] / (2 * j + 1);
  }
  return A;
}

// The polynomial whose integral from k - 1/2 to k + 1/2 is that of c at k; h: half the length of the piece.
function spread(c, h) {
  const q = Float64Array.from(c);
  let d = c;
  for (let i = 1; i < INVERSE_SINH.length; i++) {
    d = derivative(derivative(d));
    for (let j = 0; j < N; j++) {
      d[j] /= h * h;
      q[j] += INVERSE_SINH[i] * d[j];
    }
  }
  return q;
}

// Weights of the nodes for a sum over whole numbers, over h, at some 1/h; between these they are interpolated (as
// functions of 1/h they are entire, and at 10 points known to 1e-15).
const KNOTS = Array.from({ length: 10 }, (_, r) => (1 + Math.cos(Math.PI * (r + 0.5) / 10)) / LISTED);
const AT_KNOTS = KNOTS.map((knot) => COLUMNS.map((column) => {
  const A = antiderivative(spread(column, 1 / knot));
  return series(A, 1 + knot / 2) - series(A, -1 - knot / 2);
}));
const BARYCENTRIC = KNOTS.map((x) => 1 / KNOTS.reduce((product, y) => (x === y ? product : product * (x - y) * LISTED), 1));

// Weights of the nodes for a sum over m > LISTED whole numbers in a row, the first at t = -1 and the last at t = 1.
export function weightsOf(m) {
  const h = (m - 1) / 2, w = new Float64Array(N);
  let sum = 0;
  for (let r = 0; r < KNOTS.length; r++) {
    const part = BARYCENTRIC[r] / (1 / h - KNOTS[r]), row = AT_KNOTS[r];
    sum += part;
    for (let i = 0; i < N; i++) w[i] += part * row[i];
  }
  for (let i = 0; i < N; i++) w[i] *= h / sum;
  return w;
}

// Places and weights of which a sum over the whole numbers a..b is one, of a function that is smooth there.
export function nodesOf(a, b) {
  if (b - a < LISTED) return Array.from({ length: b - a + 1 }, (_, i) => [a + i, 1]);
  return Array.from(weightsOf(b - a + 1), (w, i) => [(a + b) / 2 + (b - a) / 2 * NODES[i], w]);
}

// The sum of g over the whole numbers a..b, of a g that is smooth there.
export function sumRun(g, a, b) {
  let sum = 0;
  spend(10 * (b - a < LISTED ? Math.max(b - a + 1, 0) : N));
  if (b - a < LISTED) {
    for (let k = a; k <= b; k++) sum += g(k);
    return sum;
  }
  const w = weightsOf(b - a + 1), c = (a + b) / 2, h = (b - a) / 2;
  for (let i = 0; i < N; i++) sum += w[i] * g(c + h * NODES[i]);
  return sum;
}

// The integral of g from a to b, of a g that is smooth there.
export function integrate(g, a, b) {
  let sum = 0;
  spend(5 * N);
  const c = (a + b) / 2, h = (b - a) / 2;
  for (let i = 0; i < N; i++) sum += WEIGHTS[i] * g(c + h * NODES[i]);
  return h * sum;
}

// Values at the nodes of [a, b].
function sample(w, a, b) {
  spend(2 * N * N);
  return NODES.map((t) => w((a + b) / 2 + (b - a) / 2 * t));
}

const FLOOR = 1e-11; // of the largest value: what is below this need not be known as well as itself
const NEARLY = 1e-10; // error of a log density where the density is largest

// Whether a piece fits, by its last coefficients, its largest value and the largest of all.
const relative = (floor, close = CLOSE) => (tail, local, top) => tail <= close * Math.max(local, floor * top);
const logarithmic = (tail, local, top) => tail * Math.exp(local - top) <= NEARLY;

// Pieces of some stretches on which w is fitted, from left to right. `split(a, b)`: two halves, or null where a piece is
// listed; `made(a, b, values, coefficients)`: a piece; `least`: one so short is taken as it is.
function pieces(w, ends, split, made, { fits = relative(FLOOR), size = Math.abs, least = 0 } = {}) {
  const largest = (values) => values.reduce((top, y) => Math.max(top, size(y)), -Infinity);
  const first = ends.map(([a, b]) => (split(a, b) ? sample(w, a, b) : null));
  let top = -Infinity;
  ends.forEach(([a, b], i) => { top = Math.max(top, largest(first[i] || [w(a), w(b)])); });
  const out = [], todo = ends.map((each, i) => [each, first[i]]).reverse();
  while (todo.length) {
    const [[a, b], known] = todo.pop(), halves = split(a, b);
    if (!halves) { out.push(made(a, b, null, null)); continue; }
    const f = known || sample(w, a, b), c = coefficients(f), local = largest(f);
    top = Math.max(top, local);
    if (fits(Math.abs(c[N - 1]) + Math.abs(c[N - 2]), local, top) || b - a < least) out.push(made(a, b, f, c));
    else todo.push([halves[1], null], [halves[0], null]);
  }
  return out;
}

// Stretches between places inside of [low, high].
function stretches(low, high, cuts) {
  const edges = [...new Set(cuts)].filter((x) => x > low && x < high).sort((x, y) => x - y);
  return [...edges, high].map((b, i) => [i ? edges[i - 1] : low, b]);
}

const halved = (a, b) => [[a, (a + b) / 2], [(a + b) / 2, b]];

// A log density that costs much as one that costs little.
export function fitLog(log, low, high, cuts) {
  const found = pieces(log, stretches(low, high, cuts), halved, (a, b, f, c) => ({ a, b, c }),
    { fits: logarithmic, size: (y) => y, least: 1e-7 * (high - low) });
  const starts = Float64Array.from(found, (piece) => piece.a);
  return { edges: starts, value: (x) => {
    const { a, b, c } = found[placed(starts, x)];
    return series(c, (2 * x - a - b) / (b - a));
  } };
}

// Index of the last piece that starts at or before x.
function placed(starts, x) {
  let low = 0, high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= x) low = middle; else high = middle - 1;
  }
  return low;
}

// A distribution on whole numbers: weights w(k), k = low..high, where w takes real numbers too and is smooth between
// the cuts: from one past floor(cut) to the floor of the next.
export class Whole {
  constructor(w, low, high, cuts = [], floor = FLOOR) {
    this.whole = true;
    this.w = w;
    const edges = [...new Set(cuts.map(Math.floor))].filter((x) => x >= low && x < high).sort((x, y) => x - y);
    const ends = [...edges, high].map((b, i) => [i ? edges[i - 1] + 1 : low, b]);
    const halves = (a, b) => {
      const middle = Math.floor((a + b) / 2);
      return b - a < LISTED ? null : [[a, middle], [middle + 1, b]];
    };
    this.pieces = pieces(w, ends, halves, (a, b, f, c) => this.#piece(a, b, f, c),
      { fits: relative(floor, floor < 1 ? CLOSE : 10 * CLOSE) });
    this.starts = Float64Array.from(this.pieces, (piece) => piece.a);
    this.smooth = ends; // stretches between the cuts
    this.list = null;
    this.#total();
  }

  #piece(a, b, f, c) {
    if (!f) {
      spend(10 * (b - a + 1));
      const below = new Float64Array(b - a + 2); // sums of the weights below a, a + 1, ...
      const list = Float64Array.from({ length: b - a + 1 }, (_, i) => this.w(a + i));
      list.forEach((w, i) => { below[i + 1] = below[i] + w; });
      return { a, b, list, below, sum: below[b - a + 1] };
    }
    const h = (b - a) / 2, A = antiderivative(spread(c, h)), end = 1 + 0.5 / h, start = series(A, -end);
    return { a, b, f, c, h, A, start, sum: h * (series(A, end) - start) };
  }

  // Sums over whole numbers: of all weights, and of powers of the distance from a place in the middle.
  #total() {
    let total = 0;
    for (const piece of this.pieces) {
      piece.base = total;
      total += piece.sum;
    }
    this.total = total;
    const center = this.#find(0.5);
    let one = 0, two = 0;
    for (const [k, w] of this.nodes()) {
      one += w * (k - center);
      two += w * (k - center) ** 2;
    }
    this.mean = center + one / total;
    this.sd = Math.sqrt(Math.max(two / total - (one / total) ** 2, 0));
  }

  // All weights in a list, if they are not too many: for those who ask for single ones often.
  listed() {
    const span = this.last - this.first;
    if (span < 2 ** 16) this.list = Float64Array.from({ length: span + 1 }, (_, i) => this.w(this.first + i));
    return this;
  }

  get first() { return this.pieces[0].a; }
  get last() { return this.pieces[this.pieces.length - 1].b; }
  get edges() { return [this.first - 1, ...this.pieces.map((piece) => piece.b)]; } // after these its sums change their formula

  // Places and weights of which a sum over all numbers is one, of a smooth function too.
  nodes() {
    return this.pieces.flatMap((piece) => (piece.below
      ? Array.from({ length: piece.b - piece.a + 1 }, (_, i) => [piece.a + i, piece.list[i]])
      : Array.from(weightsOf(piece.b - piece.a + 1), (w, i) => [(piece.a + piece.b) / 2 + piece.h * NODES[i], w * piece.f[i]])));
  }

  // The weight of a number, whole or between two whole ones.
  weight(k) {
    if (k < this.first || k > this.last) return 0;
    if (this.list && Number.isInteger(k)) return this.list[k - this.first];
    const piece = this.pieces[placed(this.starts, k)];
    if (piece.c) return series(piece.c, (k - (piece.a + piece.b) / 2) / piece.h);
    const i = k - piece.a;
    return Number.isInteger(i) ? piece.list[i] : this.w(k);
  }

  // Is x among numbers that were not fitted?
  rough(x) { return !this.pieces[placed(this.starts, x)].c; }

  // The sum of the weights of all numbers up to x, which may lie between two of them (within a fitted piece).
  upTo(x) {
    if (x < this.first) return 0;
    if (x >= this.last) return this.total;
    const piece = this.pieces[placed(this.starts, x)];
    if (piece.below) return piece.base + piece.below[Math.min(Math.floor(x), piece.b) - piece.a + 1];
    return piece.base + piece.h * (series(piece.A, (Math.min(x, piece.b) + 0.5 - (piece.a + piece.b) / 2) / piece.h) - piece.start);
  }

  cdf(x) { return Math.min(Math.max(this.upTo(Math.floor(x)) / this.total, 0), 1); }

  // The least whole number up to which there is the part p of all weights.
  #find(p) {
    const goal = (p - 1e-13) * this.total;
    let low = this.first, high = this.last;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.upTo(middle) >= goal) high = middle; else low = middle + 1;
    }
    return low;
  }

  quantile(p) { return this.#find(p); }
}

// The sum over k = from..to of the weight of k in a distribution on whole numbers times g(k). g is smooth over `longest`
// numbers, but for the breaks: from one past floor(break) to the floor of the next.
export function sumProduct(d, g, from, to, longest = Infinity, breaks = []) {
  let sum = 0;
  from = Math.max(from, d.first);
  to = Math.min(to, d.last);
  if (!(from <= to)) return 0;
  let next = 0; // break
  for (let at = placed(d.starts, from); at < d.pieces.length && d.pieces[at].a <= to; at++) {
    const { a, b, list, c, h } = d.pieces[at], start = Math.max(a, from), end = Math.min(b, to);
    if (list) {
      spend(10 * (end - start + 1));
      for (let k = start; k <= end; k++) sum += list[k - a] * g(k);
      continue;
    }
    const length = Math.max(Math.floor(longest), LISTED), center = (a + b) / 2, f = (k) => series(c, (k - center) / h) * g(k);
    for (let k = start; k <= end;) {
      while (next < breaks.length && Math.floor(breaks[next]) < k) next++;
      const last = Math.min(k + length - 1, end, next < breaks.length ? Math.floor(breaks[next]) : end);
      sum += sumRun(f, k, last);
      k = last + 1;
    }
  }
  return sum;
}

// P(A <= t(b)) for independent continuous A and B, where t rises with the value b of B; `back` is its inverse.
export function below(A, B, t, back) {
  const edges = [...A.pieces.map((piece) => piece.a), A.last].map((x) => B.from(back(A.to(x)))).filter((x) => x > B.first && x < B.last);
  const all = [...B.pieces.map((piece) => piece.a), B.last, ...edges].sort((x, y) => x - y);
  let sum = 0;
  for (let i = 1; i < all.length; i++) {
    spend(20 * N);
    if (all[i] > all[i - 1]) sum += integrate((x) => B.density(x) * A.cdf(t(B.to(x))), all[i - 1], all[i]);
  }
  return Math.min(Math.max(sum / B.total, 0), 1);
}

// A continuous distribution: density w(x) dx on [low, high], smooth between the cuts, of the value to(x), which rises.
export class Line {
  constructor(w, low, high, cuts = [], to = (x) => x, from = (x) => x) {
    this.whole = false;
    this.to = to;
    this.from = from;
    let out = 0;
    this.pieces = pieces(w, stretches(low, high, cuts), halved, (a, b, f, c) => ({ a, b, f, c }),
      { fits: relative(1, 100 * CLOSE), least: 1e-7 * (high - low) });
    for (const piece of this.pieces) {
      piece.h = (piece.b - piece.a) / 2;
      piece.A = antiderivative(piece.c);
      piece.start = series(piece.A, -1);
      piece.base = out;
      out += piece.h * (series(piece.A, 1) - piece.start);
    }
    this.total = out;
    this.starts = Float64Array.from(this.pieces, (piece) => piece.a);
    this.mean = this.expect((v) => v);
    this.sd = Math.sqrt(this.expect((v) => (v - this.mean) ** 2));
  }

  get first() { return this.pieces[0].a; }
  get last() { return this.pieces[this.pieces.length - 1].b; }

  expect(g) {
    let sum = 0;
    for (const { a, b, h, f } of this.pieces) for (let i = 0; i < N; i++) sum += h * WEIGHTS[i] * f[i] * g(this.to((a + b) / 2 + h * NODES[i]));
    return sum / this.total;
  }

  density(x) {
    const piece = this.pieces[placed(this.starts, x)];
    return series(piece.c, (x - (piece.a + piece.b) / 2) / piece.h);
  }

  // Probability below a value; `cdfAt`: of x.
  cdf(value) { return this.cdfAt(this.from(value)); }

  cdfAt(x) {
    if (!(x > this.first)) return 0;
    if (x >= this.last) return 1;
    const piece = this.pieces[placed(this.starts, x)];
    const sum = piece.base + piece.h * (series(piece.A, (x - (piece.a + piece.b) / 2) / piece.h) - piece.start);
    return Math.min(Math.max(sum / this.total, 0), 1);
  }

  quantile(p) {
    let low = this.first, high = this.last;
    for (let i = 0; i < 200 && high - low > 1e-15 * Math.max(Math.abs(low), Math.abs(high)); i++) {
      const middle = (low + high) / 2;
      if (middle <= low || middle >= high) break;
      if (this.cdfAt(middle) < p) low = middle; else high = middle;
    }
    return this.to((low + high) / 2);
  }
}
