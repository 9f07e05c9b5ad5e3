// Exact posteriors of published numbers with noise: the engine of the page. No sampling, no dependency, no DOM.
//
// Codes of `Refused` (and the facts that come with them), for the strings of the page:
//   number: no number, or beyond 1e15 (field, given)
//   size: a noise below 0 (given)
//   law: an unknown law of noise (given)
//   printing: an unknown statement of what was printed (given)
//   step: a rounding step that is not above 0 (given)
//   base: a base of random rounding that is no whole number from 2 on (given)
//   limits: a low limit that is not below the high one (low, high)
//   order: hidden twice, or something done after a number was given as a range
//   perturbed: random rounding of numbers that are not whole (noise on the line)
//   blank: nothing printed, and no statement says why; or nothing can be hidden so
//   shown: a number that is shown although it is below the limit of hiding (value)
//   multiple: no multiple of the step or of the base (value, step)
//   printed: not such as these statements print, as beyond a limit (value)
//   grid: not whole, but its noise is (value)
//   whole: not whole, and without noise (value)
//   between: too far from any whole number for its noise (value, far)
//   negative: too far below 0 for its noise (value, far)
//   above: too far above n for its noise (value, most, far)
//   part: too far above the number that it is a part of (part, whole)
//   total: cells and total contradict one another (value, cells, far)
//   endless: nothing that was printed limits the number from above
//   endless_n: the same of n
//   n: no whole number from 1 on (given)
//   prior: no two numbers above 0 (given)
//   far: numbers, or a number and the prior, that are so far apart that nothing is left
//   zero: the denominator is certainly 0
//   cells: no list of cells
//   kind: an unknown question (given)
//   large: more than a million numbers would have to be listed (numbers)
//   slow: more steps than an answer may cost (steps)

import { Whole, Line, LISTED, below, fitLog, sumProduct, sumRun } from "./sums.js";
import { leastWhole, solve } from "./roots.js";
import { rateOf } from "./rates.js";
import { binomial, expit, logExpit, logit } from "./binomial.js";
import { tableOf } from "./tables.js";
import { read, number, CHANCE, NATS } from "./cells.js";
import { Refused, begin, refuse, spend } from "./work.js";

export { Refused, begin };

// What the page sees of a distribution.
function posterior(d, low, high, more = {}) {
  return { whole: d.whole, mean: d.mean, sd: d.sd, low, high, quantile: (p) => d.quantile(probability(p)), cdf: (x) => d.cdf(x),
    curve: (maxPoints = 200) => curve(d, maxPoints), ...more };
}

const probability = (p) => (typeof p === "number" && p >= 0 && p <= 1 ? p : refuse("number", { field: "p", given: p }));

// Probabilities of whole numbers, or of runs of them (per number); densities on bins of a line.
function curve(d, maxPoints) {
  const points = Math.max(8, Math.floor(maxPoints) || 200), a = d.quantile(5e-5), b = d.quantile(1 - 5e-5), x = [], y = [];
  const run = d.whole ? Math.ceil((b - a + 1) / points) : (b - a) / points;
  if (!(run > 0)) return { x: [a], y: [1] };
  const ends = d.whole ? Math.ceil((b - a + 1) / run) : points;
  const cdf = d.roughly || ((at) => d.cdf(at));
  let before = cdf(d.whole ? a - 1 : a);
  for (let i = 0; i < ends; i++) {
    const end = d.whole ? a + run * (i + 1) - 1 : a + run * (i + 1), after = cdf(end);
    x.push(end - (d.whole ? (run - 1) / 2 : run / 2));
    y.push(Math.max(after - before, 0) / run);
    before = after;
  }
  return { x, y };
}

// Refuse a cell that no true number from least to most can stand behind, as far as noise goes.
function checkReach(cell, least, most, rows = 1) {
  const far = cell.reach(CHANCE / rows), slack = far + 1e-9 * Math.max(1, Math.abs(cell.value ?? 0));
  if (!cell.noise && cell.high < least) refuse("negative", { value: cell.value });
  if (Math.ceil(cell.low - slack) > Math.floor(cell.high + slack)) refuse("between", { value: cell.value, far });
  if (cell.low > most + slack) refuse("above", { value: cell.value, most, far });
  if (cell.high < least - slack) refuse("negative", { value: cell.value, far });
}

// The distribution of the true number of one cell, flat beforehand.
function flat(cell, most = Infinity, code = "endless") {
  const far = Number.isFinite(cell.low) ? cell.low - cell.from : 0, low = Math.max(0, Math.min(cell.from, Math.floor(most - far))), high = Math.min(most, Math.max(cell.to, cell.to - Math.min(Math.floor(cell.high), 0)));
  if (high === Infinity) refuse(code);
  const found = new Whole(cell.w, low, Math.max(high, low), cell.cuts);
  if (!(found.total > 0)) refuse(cell.high < 0 ? "negative" : "above", { value: cell.value, most }); // too far even for a double
  return Object.assign(found, { scale: cell.noise ? cell.noise.size : Infinity });
}

const supportOf = (cell, most = Infinity) => (cell.noise ? [0, most] : [Math.max(cell.from, 0), Math.min(cell.to, most)]);

export function count(cell) {
  begin();
  const one = read(cell);
  checkReach(one, 0, Infinity);
  return posterior(flat(one), ...supportOf(one));
}

// ---- A share ----
// Given the share p, the true number s of n has a binomial distribution: p has the density p^(alpha - 1) (1 - p)^(beta - 1)
// times the sum over s of P(printed | s) Binomial(s; n, p); where n is printed with noise too, times the sum over n of
// P(printed | n), flat beforehand (the package: counts/exact_counts (1), (2); ways/noisy_tables (2)). In log odds.

export function share(cell, n, prior = [1, 1]) {
  begin();
  return posterior(shareLine(cell, n, priorOf(prior)), 0, 1);
}

function shareLine(given, n, [alpha, beta]) {
  if (typeof n !== "number") return shareOfNoisy(...readPair(given, n, alpha, beta), alpha, beta);
  if (!(Number.isInteger(number(n, "n")) && n >= 1)) refuse("n", { given: n });
  const part = read(given, "part", NATS + lift(alpha, beta, n));
  checkReach(part, 0, n);
  const s = flat(part, n).listed();
  return line((x) => likelihood(s, n, x), alpha, beta, s.mean, n, s.sd);
}

// By how many nats a prior may raise a number over another one, at most.
const lift = (alpha, beta, n) => (Math.max(alpha - 1, 0) + Math.max(beta - 1, 0)) * Math.log(n + 2);

function shareOfNoisy(part, size, alpha, beta) {
  const n = flat(size, Infinity, "endless_n"), s = flat(part, n.last).listed();
  const rough = part.noise ? 3 * part.noise.size : part.table ? 0 : Infinity; // over so many numbers s is smooth
  const like = (x) => {
    const p = expit(x), q = expit(-x), near = (k) => reach(k * q);
    const first = Math.max(n.first, Math.floor((s.first - near(s.first)) / p)), last = Math.min(n.last, Math.ceil((s.last + 2 * near(s.last) + 200) / p));
    const marks = part.table ? [part.noise ? [Math.min(...part.cuts), Math.max(...part.cuts)] : [s.first, s.last]] : (part.noise ? part.cuts : [s.first, s.last]).map((cut) => [cut, cut]);
    const zones = marks.map(([a, b]) => [(a - near(Math.max(a, 0))) / p, (b + near(Math.max(b, 0))) / p]).filter(([, b]) => b > first);
    zones.sort((a, b) => a[0] - b[0]);
    let sum = 0, at = first;
    const g = (m) => likelihood(s, m, x), own = size.table || !size.noise ? Infinity : size.noise.size * (size.noise.kind === "laplace" ? 8 : 2.5);
    const ends = [...n.smooth.map(([, end]) => end), n.last];
    const add = (to, longest) => {
      to = Math.min(Math.floor(to), last);
      if (size.table && to >= at) sum += sumProduct(n, g, at, to, longest);
      const length = Math.max(Math.floor(Math.min(own, longest)), LISTED), f = (m) => size.w(m) * g(m);
      while (!size.table && at <= to) {
        const stop = Math.min(to, ends.find((end) => end >= at)), parts = Math.max(Math.ceil((stop - at + 1) / length), 1), start = at;
        for (let i = 1; i <= parts; i++) {
          const end = start - 1 + Math.floor((stop - start + 1) * i / parts);
          sum += sumRun(f, at, end);
          at = end + 1;
        }
      }
      at = Math.max(at, to + 1);
    };
    add(200, 1); // where n is small, it is whole
    for (const [a, b] of zones) {
      add(a, rough / p);
      add(b, Math.max(3 * Math.sqrt(q * Math.max(a * p, 1)), 1) / p);
    }
    add(last, rough / p);
    return sum;
  };
  return line(like, alpha, beta, Math.min(s.mean, n.mean), Math.max(n.mean, s.mean, 1), s.sd + n.sd);
}

// A number and another one that it is a part of. Where they contradict one another, noise is followed further down.
function readPair(a, b, alpha = 1, beta = 1) {
  const [part, whole] = [read(a, "part"), read(b, "whole")];
  checkReach(part, 0, Infinity, 2);
  checkReach(whole, 0, Infinity, 2);
  if (part.low - part.reach(CHANCE / 2) > whole.high + whole.reach(CHANCE / 2)) refuse("part", { part: part.value, whole: whole.value });
  const more = (part.low > whole.high ? DEEPER : 0) + lift(alpha, beta, Math.max(whole.value || 0, 1));
  return more > 0 ? [read(a, "part", NATS + more), read(b, "whole", NATS + more)] : [part, whole];
}

const DEEPER = 44; // twice the nats at which a number alone is refused

function priorOf(prior) {
  if (!Array.isArray(prior) || prior.length !== 2) refuse("prior");
  prior.forEach((a) => { if (!(number(a, "prior") > 0)) refuse("prior", { given: a }); });
  return prior;
}

// The sum over s of P(printed | s) Binomial(s; n, p), p of log odds x: where the binomial is not below e^-45, by
// one of three rules. Few numbers: one by one, each from its neighbour. Many, and no place among them where s is not
// smooth: equal steps of 0.7 standard deviations of the product, whose error for a bell is exp(-2 (pi sd/step)^2) (DLMF 3.5(i)). Else
// blocks. n may be a real number (a node of a sum over n): where few are no successes, they are what is whole then.
function likelihood(s, n, x) {
  const p = expit(x), q = expit(-x), sd = Math.sqrt(n * p * q), far = reach(n * Math.min(p, q));
  if (s.first === s.last) return s.weight(s.first) * binomial(n, p, q)(s.first);
  if (p > 0.5 && n * q < 100 && !Number.isInteger(n)) {
    const from = Math.ceil(Math.max(n - s.last, 0)), to = Math.floor(Math.min(n * q + far, n - s.first));
    return from <= to ? oneByOne((r) => s.weight(n - r), n, q, p, from, to) : 0;
  }
  const from = Math.max(Math.ceil(n * p - far), s.first, 0), to = Math.min(Math.floor(n * p + far), s.last, Math.floor(n));
  if (!(from <= to)) return 0;
  const w = s.list ? (k) => s.weight(k) : s.w;
  if (to - from < 1000) return s.list ? listed(s, n, p, q, from, to) : oneByOne(w, n, p, q, from, to);
  const law = binomial(n, p, q), g = (k) => w(k) * law(k), scale = 1 / Math.hypot(1 / sd, 1 / s.scale); // of the product
  let sum = 0, k = from;
  if (to - from > 15 * scale && s.smooth.some(([a, b]) => a <= from && to <= b)) {
    const step = Math.max(Math.floor(0.7 * scale), 1);
    spend(20 * (to - from) / step);
    for (; k <= to; k += step) sum += g(k);
    return step * sum;
  }
  for (const [, edge] of s.smooth) {
    for (const end = Math.min(edge, to); k <= end;) {
      const next = Math.min(k + Math.max(Math.floor(4 * scale), LISTED) - 1, end);
      spend(15 * (next - k < LISTED ? next - k + 1 : 16));
      sum += sumRun(g, k, next);
      k = next + 1;
    }
  }
  return sum;
}

function oneByOne(w, n, p, q, from, to) {
  const start = Math.min(Math.max(Math.round(n * p), from), to), top = binomial(n, p, q)(start), odds = p / q;
  if (!(top > 0)) return 0;
  let sum = top * w(start);
  spend(5 * (to - from) + 50);
  for (let k = start, b = top; k < to && b > 0; k++) sum += w(k + 1) * (b *= (n - k) / (k + 1) * odds);
  for (let k = start, b = top; k > from && b > 0; k--) sum += w(k - 1) * (b *= k / ((n - k + 1) * odds));
  return sum;
}

// The same of weights in a list, which is what takes the time where n is noisy.
function listed(s, n, p, q, from, to) {
  const start = Math.min(Math.max(Math.round(n * p), from), to), top = binomial(n, p, q)(start), odds = p / q, back = q / p;
  const { list } = s, { first } = s;
  if (!(top > 0)) return 0;
  let sum = top * list[start - first];
  spend(to - from + 50);
  for (let k = start, b = top; k < to && b > 0; k++) sum += list[k + 1 - first] * (b *= (n - k) / (k + 1) * odds);
  for (let k = start, b = top; k > from && b > 0; k--) sum += list[k - 1 - first] * (b *= k / (n - k + 1) * back);
  return sum;
}

// How far from its mean a binomial number of this variance is followed: to e^-40 of its largest probability, which is
// below the density at which `line` ends.
const reach = (variance) => 9 * Math.sqrt(variance) + 30;

const DEEP = 32; // a density e^-32 times the largest is left out

// The posterior of a share from its likelihood in log odds, near s of n.
function line(like, alpha, beta, s, n, spread) {
  const log = (x) => alpha * logExpit(x) + beta * logExpit(-x) + Math.log(Math.max(like(x), 0));
  const a = s + alpha, b = Math.max(n - s, 0) + beta, center = Math.log(a / b);
  const step = Math.min(Math.sqrt(1 / a + 1 / b + (spread * (1 / a + 1 / b)) ** 2), 2);
  let top = log(center);
  const end = (sign) => { // where the density is 0, but the log of it no less than a few DEEP
    let inner = center, x = center, size = step, value = top;
    for (let i = 0; i < 300 && (value > top - DEEP || value < top - 1.2 * DEEP); i++) {
      if (value > top - DEEP) [inner, x] = [x, x + sign * size];
      else x = (inner + x) / 2;
      if (value > top - DEEP) size *= 1.4;
      value = log(x);
      top = Math.max(top, value);
    }
    return x;
  };
  if (!(top > -Infinity)) refuse("far");
  const right = end(1), left = end(-1), near = [-8, -2, 0, 2, 8].map((k) => center + k * step);
  const fit = fitLog(log, left, right, near);
  return new Line((x) => Math.exp(fit.value(x) - top), left, right, fit.edges, expit, logit);
}

// ---- A rate, and two compared ----

export function rate(part, whole) {
  begin();
  const [u, n] = readPair(part, whole), most = flat(n);
  return quotient(flat(u, most.last), most, true);
}

function quotient(u, n, part) {
  const found = rateOf(u, n, part);
  if (!found) refuse("zero");
  return posterior(found.d, 0, part ? 1 : Infinity, { none: found.none, error: found.error });
}

// A and B: counts, or with {n: [of A, of B]} shares.
export function compare(a, b, { n = null, prior = [1, 1] } = {}) {
  begin();
  if (n === null || n === undefined) {
    const cells = [read(a, "a"), read(b, "b")];
    cells.forEach((cell) => checkReach(cell, 0, Infinity, 2));
    const [A, B] = cells.map((cell) => flat(cell));
    return compared(new Gap(A, B), B.last > 0 ? quotient(A, B, false) : null, [A, B].map((d, i) => posterior(d, ...supportOf(cells[i]))), [-Infinity, Infinity]);
  }
  if (!Array.isArray(n) || n.length !== 2) refuse("n");
  return shares(...[a, b].map((cell, i) => shareLine(cell, n[i], priorOf(prior))));
}

function shares(A, B) {
  const size = A.mean / B.mean, spread = size * Math.hypot(A.sd / A.mean, B.sd / B.mean);
  const difference = new Apart((d) => below(A, B, (v) => v + d, (v) => v - d), A.mean - B.mean, Math.hypot(A.sd, B.sd), -1, 1);
  const ratio = new Apart((r) => (r > 0 ? below(A, B, (v) => r * v, (v) => v / r) : 0), size, spread, 0, Infinity);
  Object.assign(ratio, { mean: NaN, sd: NaN }); // they need not exist
  return compared(difference, posterior(ratio, 0, Infinity), [A, B].map((d) => posterior(d, 0, 1)), [-1, 1]);
}

function compared(difference, ratio, [a, b], ends) {
  const not = difference.cdf(0), equal = difference.whole ? not - difference.cdf(-1) : 0;
  return { difference: posterior(difference, ...ends), ratio, above: 1 - not, equal, a, b };
}

// A difference or a ratio of two shares by its distribution function.
class Apart {
  constructor(cdf, guess, spread, low, high) {
    Object.assign(this, { whole: false, cdf, mean: guess, sd: spread });
    this.quantile = (p) => solve(cdf, p, low, high, guess, spread);
  }
}

// The difference of two independent whole numbers: P(A <= B + d), a sum over B.
class Gap {
  constructor(A, B) {
    Object.assign(this, { A, B, whole: true, mean: A.mean - B.mean, sd: Math.hypot(A.sd, B.sd) });
  }

  cdf(d) {
    const { A, B } = this;
    d = Math.floor(d);
    const part = sumProduct(B, (k) => A.upTo(k + d), -Infinity, Infinity, Infinity, A.edges.map((edge) => edge - d));
    return Math.min(Math.max(part / A.total / B.total, 0), 1);
  }

  quantile(p) {
    const { A, B } = this;
    return leastWhole((d) => this.cdf(d), p, A.first - B.last, A.last - B.first, this.mean, this.sd);
  }
}

// ---- Cells and their total ----

export function table(cells, total = null) {
  begin();
  if (!Array.isArray(cells) || !cells.length) refuse("cells");
  const readAll = (nats) => [cells.map((cell, i) => read(cell, i, nats)), total && read(total, "total", nats)];
  let [each, whole] = readAll(NATS);
  [...each, ...(whole ? [whole] : [])].forEach((cell) => checkReach(cell, 0, Infinity, cells.length + (whole ? 1 : 0)));
  if (whole && checkTotal(each, whole)) [each, whole] = readAll(NATS + DEEPER / 2);
  const ends = (cell) => ({ ...cell, first: Math.max(0, cell.from), last: Math.max(cell.to, cell.to - Math.min(Math.floor(cell.high), 0)) });
  const parts = each.map(ends), sum = whole && ends(whole);
  if (!whole && parts.some((part) => part.last === Infinity)) refuse("endless");
  const found = tableOf(parts, sum);
  if (![...found.cells, found.total].every((d) => d.total > 0)) refuse("total"); // too far even for a double
  return { cells: found.cells.map((d, i) => posterior(d, ...supportOf(each[i]))), total: posterior(found.total, ...(whole ? supportOf(whole) : [0, Infinity])), error: found.error };
}

// Refuse a total that its cells do not reach: each by its own noise, and all together by Chernoff's bound for the noise of
// the total less that of the cells (the package: noise/contradictions (2)). True where they are far apart, but possible.
function checkTotal(cells, total) {
  const rows = cells.length + 1, sum = (f) => cells.reduce((all, cell) => all + f(cell), 0), reach = (cell) => cell.reach(CHANCE / rows);
  const facts = { value: total.value, cells: sum((cell) => cell.value || 0) };
  if (sum((cell) => Math.max(0, cell.low - reach(cell))) > total.high + reach(total)) refuse("total", facts);
  if (sum((cell) => cell.high + reach(cell)) < total.low - reach(total)) refuse("total", facts);
  const all = [total, ...cells].map((cell) => cell.noise).filter(Boolean);
  if (!all.length) return false;
  const nats = Math.log(rows / CHANCE), edge = Math.min(...all.map((noise) => noise.edge));
  let far = Infinity;
  const top = edge < Infinity ? edge : Math.sqrt(2 * nats / all.reduce((v, noise) => v + noise.size ** 2, 0));
  for (let i = 0; i < 80; i++) {
    const t = top * 0.999 * 1e-4 ** (i / 79);
    far = Math.min(far, (nats + all.reduce((log, noise) => log + noise.cumulant(t), 0)) / t);
  }
  const slack = far + 1e-9 * Math.max(1, Math.abs(facts.cells));
  const off = Math.max(total.low - sum((cell) => cell.high), sum((cell) => Math.max(cell.low, 0)) - total.high);
  if (total.low - sum((cell) => cell.high) > slack || total.high - sum((cell) => cell.low) < -slack) refuse("total", { ...facts, far });
  return off > 0.4 * far;
}

// ---- Beside it: the printed numbers taken as exact ----

const point = (value) => (Number.isFinite(value) ? { whole: Number.isInteger(value), mean: value, sd: 0, low: value, high: value, quantile: () => value,
  cdf: (x) => +(x >= value), curve: () => ({ x: [value], y: [1] }) } : null);
const printedOf = (cell) => (cell && typeof cell === "object" && typeof cell.value === "number" ? cell.value : typeof cell === "number" ? cell : null);

function naiveLine(value, n, [alpha, beta]) {
  const s = Math.min(Math.max(value, 0), n);
  return line((x) => binomial(n, expit(x), expit(-x))(s), alpha, beta, s, n, 0);
}

// The same question with the printed numbers taken as exact: kind "count", "share", "rate", "compare" or "table", and what
// that takes. In the form of the answer; null where a number is not printed.
export function naive(kind, ...given) {
  const beta = (value, n, prior) => {
    const [s, size] = [printedOf(value), printedOf(n)];
    return s === null || !(size > 0) ? null : posterior(naiveLine(s, size, prior), 0, 1);
  };
  const counted = (cell) => { const value = printedOf(cell); return value === null ? null : point(Math.max(value, 0)); };
  const ratio = (a, b) => (printedOf(a) === null || !(printedOf(b) > 0) ? null : point(Math.max(printedOf(a), 0) / printedOf(b)));
  if (kind === "count") return counted(given[0]);
  if (kind === "share") return beta(given[0], given[1], given[2] || [1, 1]);
  if (kind === "rate") return ratio(...given);
  if (kind === "table") return { cells: given[0].map(counted), total: given[1] ? counted(given[1]) : null };
  if (kind !== "compare") refuse("kind", { given: kind });
  const [x, y, { n = null, prior = [1, 1] } = {}] = given;
  if (!n) {
    const [a, b] = [counted(x), counted(y)], d = a && b ? a.mean - b.mean : null;
    return a && b && { difference: point(d), ratio: ratio(x, y), above: +(d > 0), equal: +(d === 0), a, b };
  }
  const plain = [x, y].map((cell, i) => [printedOf(cell), printedOf(n[i])]);
  if (plain.some(([s, size]) => s === null || !(size > 0))) return null;
  return shares(...plain.map(([s, size]) => naiveLine(s, size, prior)));
}

// How much of the width of the 95% interval is due to noise and printing, of an answer and of its naive one: 1 for counts
// and rates, null for a table or where a number is not printed.
export function noiseShare(kind, answer, plain) {
  if (kind === "table" || !plain) return null;
  const width = (d) => d.quantile(0.975) - d.quantile(0.025);
  const [whole, part] = kind === "compare" ? [answer.difference, plain.difference] : [answer, plain];
  return width(whole) > 0 ? Math.min(Math.max(1 - width(part) / width(whole), 0), 1) : 0;
}
