// The quotient U/N of two whole numbers with independent weights, of a part and its whole (U <= N) or not.
//
// P(U/N <= r) is a sum over N of weights times P(U <= floor(r N)) (recipe "A rate of two noisy counts"). 0/0 and 1/0 are
// no rates: the answer is for the case that N > 0, and `none` is the probability of the other one.

import { Whole, sumProduct } from "./sums.js";
import { solve } from "./roots.js";
import { spend } from "./work.js";

const LONGEST = 2 ** 20; // numbers that are summed one by one; beyond, a rate is taken for a real number

export function rateOf(U, N, part) {
  const from = Math.max(N.first, 1), doublings = Array.from({ length: 40 }, (_, i) => 64 * 2 ** i);
  const over = (g, breaks) => sumProduct(N, g, from, Infinity, Infinity, [...breaks, ...doublings].sort((x, y) => x - y));
  const upTo = (u, n) => (part ? u.upTo(n) : u.total), edges = part ? U.edges : [];
  const total = over((n) => upTo(U, n), edges);
  const zero = N.first <= 0 ? N.weight(0) * (part ? U.upTo(0) : U.total) : 0;
  if (!(total > 0)) return null; // N is 0
  // moments of u - c n, from sums of powers of u - u0 over the part of U up to n
  const u0 = Math.round(U.mean), n0 = Math.max(N.mean, 1), c = u0 / n0, moment = (j) => new Whole((k) => (k - u0) ** j * U.w(k), U.first, U.last, [...U.edges, u0]);
  const [one, two] = [moment(1), moment(2)], both = part ? [...new Set([...U.edges, ...one.edges, ...two.edges])] : [];
  const away = (n) => c * (n - n0) + c * n0 - u0;
  const mean = over((n) => (upTo(one, n) - away(n) * upTo(U, n)) / n, both) / total;
  const square = over((n) => (upTo(two, n) - 2 * away(n) * upTo(one, n) + away(n) ** 2 * upTo(U, n)) / (n * n), both) / total;
  const d = { whole: false, mean: c + mean, sd: Math.sqrt(Math.max(square - mean * mean, 0)) };
  const exact = byOne(U, N, from, part, total), smooth = asReal(U, over, part, total);
  const spread = Math.max(d.sd, 1e-12 * Math.abs(d.mean));
  const nearest = (r) => { // the largest quotient up to r, but for rounding
    let best = 0;
    spend(N.last - from);
    for (let n = from; n <= N.last; n++) best = Math.max(best, Math.min(Math.floor(r * n * (1 + 1e-15)), part ? n : Infinity, U.last) / n);
    return best;
  };
  const listed = N.last - from < LONGEST && U.last - U.first < LONGEST;
  d.cdf = (r) => (r < 0 ? 0 : listed ? exact(r) : smooth(r));
  d.quantile = (p) => {
    if (!listed) return solve(smooth, p, 0, part ? 1 : Infinity, d.mean, spread);
    if (N.last - from < 2 ** 13) return nearest(solve(exact, p, 0, part ? 1 : Infinity, d.mean, spread));
    const guess = solve(smooth, p, 0, part ? 1 : Infinity, d.mean, spread, 1e-7);
    return nearest(solve(exact, p, 0, part ? 1 : Infinity, guess, 1e-5 * spread, 1e-8));
  };
  d.roughly = N.last - from < 2 ** 12 ? d.cdf : smooth; // for a curve
  return { d, none: zero / (zero + total), error: listed ? 0 : 1 / Math.min(U.sd, N.sd) };
}

// The distribution function by a sum over each N.
function byOne(U, N, from, part, total) {
  let made = null;
  const tables = () => {
    spend(10 * (U.last - U.first + N.last - from));
    const below = new Float64Array(U.last - U.first + 2), w = Float64Array.from({ length: N.last - from + 1 }, (_, i) => N.weight(from + i));
    for (let k = U.first; k <= U.last; k++) below[k - U.first + 1] = below[k - U.first] + U.weight(k);
    return { below, w };
  };
  return (r) => {
    made = made || tables();
    const { below, w } = made, shift = 1 - U.first, most = below.length - 1;
    let sum = 0;
    spend(w.length);
    for (let i = 0; i < w.length; i++) {
      const n = from + i, k = Math.floor(r * n * (1 + 1e-15));
      sum += w[i] * below[Math.min(Math.max((part && k > n ? n : k) + shift, 0), most)];
    }
    return Math.min(Math.max(sum / total, 0), 1);
  };
}

// The same without the steps: U up to r N counts as it does on average over where r N lies between two numbers.
function asReal(U, over, part, total) {
  const reach = (x) => { // upTo, with straight lines between the numbers of a list
    if (x < U.first - 1) return 0;
    const low = Math.floor(x);
    return U.rough(x) ? U.upTo(low) + (x - low) * U.weight(low + 1) : U.upTo(x);
  };
  return (r) => {
    if (!(r > 0)) return 0;
    if (part && r >= 1) return 1;
    const sum = over((n) => reach(r * n - 0.5), U.edges.flatMap((edge) => [edge / r, (edge + 0.5) / r, (edge + 1.5) / r]));
    return Math.min(Math.max(sum / total, 0), 1);
  };
}
