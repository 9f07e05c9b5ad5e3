// Exact posteriors of published numbers with noise: the engine of the page. No sampling, no dependency, no DOM.
//
// Codes of `Refused`: (filled in below)

import { Whole, Line, sumProduct } from "./sums.js";
import { binomial, expit, logExpit, logit } from "./binomial.js";
import { read, refuse, number, Refused, CHANCE } from "./cells.js";

export { Refused };

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
  let before = d.cdf(d.whole ? a - 1 : a);
  for (let i = 0; i < ends; i++) {
    const end = d.whole ? a + run * (i + 1) - 1 : a + run * (i + 1), after = d.cdf(end);
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
function flat(cell, most = Infinity) {
  const low = Math.max(0, cell.from), high = Math.min(most, Math.max(cell.to, cell.to - Math.min(cell.high, 0)));
  if (high === Infinity) refuse("endless");
  return new Whole(cell.w, low, Math.max(high, low), cell.cuts);
}

const supportOf = (cell, most = Infinity) => (cell.noise ? [0, most] : [Math.max(cell.from, 0), Math.min(cell.to, most)]);

export function count(cell) {
  const one = read(cell);
  checkReach(one, 0, Infinity);
  return posterior(flat(one), ...supportOf(one));
}

// ---- A share ----
// Given the share p, the true number s of n has a binomial distribution: p has the density p^(alpha - 1) (1 - p)^(beta - 1)
// times the sum over s of P(printed | s) Binomial(s; n, p); where n is printed with noise too, times the sum over n of
// P(printed | n), flat beforehand (the package: counts/exact_counts (1), (2); ways/noisy_tables (2)). In log odds.

export function share(cell, n, prior = [1, 1]) {
  const [alpha, beta] = priorOf(prior), part = read(cell);
  if (!(Number.isInteger(number(n, "n")) && n >= 1)) refuse("n", { given: n });
  checkReach(part, 0, n);
  const s = flat(part, n);
  return posterior(line((x) => likelihood(s, n, x), alpha, beta, s.mean, n, s.sd), 0, 1);
}

function priorOf(prior) {
  if (!Array.isArray(prior) || prior.length !== 2) refuse("prior");
  prior.forEach((a) => { if (!(number(a, "prior") > 0)) refuse("prior", { given: a }); });
  return prior;
}

// The sum over s of P(printed | s) Binomial(s; n, p), p of log odds x.
function likelihood(s, n, x) {
  const p = expit(x), q = expit(-x), sd = Math.sqrt(n * p * q), far = 10 * sd + 40;
  if (s.first === s.last) return s.weight(s.first) * binomial(s.first, n, p, q);
  return sumProduct(s, (k) => binomial(k, n, p, q), Math.ceil(n * p - far), Math.floor(n * p + far), 3 * sd);
}

const DEEP = 38; // a density e^-38 times the largest is left out

// The posterior of a share from its likelihood in log odds, near s of n.
function line(like, alpha, beta, s, n, spread) {
  const log = (x) => alpha * logExpit(x) + beta * logExpit(-x) + Math.log(Math.max(like(x), 0));
  const a = s + alpha, b = Math.max(n - s, 0) + beta, center = Math.log(a / b);
  const step = Math.min(Math.sqrt(1 / a + 1 / b + (spread * (1 / a + 1 / b)) ** 2), 2);
  let top = log(center);
  const end = (sign) => {
    let x = center, size = step;
    for (let i = 0; i < 200; i++) {
      x += sign * size;
      size *= 1.4;
      const value = log(x);
      if (value > top) top = value;
      else if (!(value > top - DEEP)) break;
    }
    return x;
  };
  const right = end(1), left = end(-1);
  return new Line((x) => Math.exp(log(x) - top), left, right, [center - 2 * step, center, center + 2 * step], expit, logit);
}
