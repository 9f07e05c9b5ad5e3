// Cells that add up to a printed total: P(cells | prints) is proportional to the product over cells of L_j(k_j), times
// L_T(k_1 + ... + k_J) (the package: counts/tree (1)).
//
// What the others and the total say of one cell is a sum over all their values. It is
// computed as a Fourier sum over whole numbers in a circle of P: the transform of each number is a closed form (with
// Laplace noise its weights are exponentials on a few stretches) or a sum over its nodes, the product of all but one needs
// no division, and after a few hundred frequencies it is nothing, because many noises together are smooth. Everything is tilted by exp(tau k) before (a saddlepoint; Daniels 1954), so that a
// total that lies far from what its cells say is not lost among rounding errors: the joint weights stay the same.

import { LISTED, Whole, nodesOf } from "./sums.js";
import { refuse, spend } from "./work.js";

const NOTHING = 1e-14; // a transform below this is 0
const CHUNK = 128; // frequencies at a time
const MOST = 4e6; // transforms in memory

// `cells`, `total`: {w, first, last, cuts}; total null: none is printed. Returns distributions [cells], total.
export function tableOf(cells, total) {
  narrow(cells, total);
  if (cells.length === 1) {
    const one = cells[0], w = total ? (k) => one.w(k) * total.w(k) : one.w;
    const both = new Whole(w, one.first, one.last, [...one.cuts, ...(total ? total.cuts : [])]);
    return { cells: [both], total: both, error: 0 };
  }
  const tau = total ? tiltOf(cells, total) : 0, parts = cells.map((cell) => tilted(cell, tau)), whole = total && tilted(total, -tau);
  if (total && total.first === total.last && cells.length === 2) return byTurns(parts, whole);
  return byFourier(parts, whole, total);
}

// Two cells whose total is known: what it says of the one is what the other one must be then.
function byTurns(parts, { d, first: t }) {
  const made = [parts, [...parts].reverse()].map(([one, other]) => {
    const cuts = [...one.cuts, ...other.cuts.map((k) => Math.ceil(t - k) - 1), ...other.cuts.map((k) => t - k)];
    return new Whole((k) => one.at(k) * other.at(t - k), Math.max(one.first, t - other.last), Math.min(one.last, t - other.first), cuts);
  });
  return { cells: made, total: d, error: 0 };
}

// Ends of cells and of the total from one another.
function narrow(cells, total) {
  if (!total) return;
  for (let round = 0; round < 3; round++) {
    const least = cells.reduce((sum, cell) => sum + cell.first, 0), most = cells.reduce((sum, cell) => sum + cell.last, 0);
    total.first = Math.max(total.first, least);
    total.last = Math.min(total.last, most);
    for (const cell of cells) {
      const [first, last] = [cell.first, cell.last];
      cell.first = Math.max(first, total.first - (most === Infinity ? Infinity : most - last));
      cell.last = Math.min(last, total.last - (least - first));
    }
    if (total.first > total.last || cells.some((cell) => cell.first > cell.last)) refuse("total");
  }
}

// A number with weights w(k) exp(tau (k - c)), c near its middle.
function tilted(one, tau) { // `tau` of the result: of its terms
  const c = Math.round((one.d || (one.d = new Whole(one.w, one.first, one.last, one.cuts))).mean), at = tau ? (k) => one.w(k) * Math.exp(tau * (k - c)) : one.w;
  return { ...one, c, at, tau, d: tau ? new Whole(at, one.first, one.last, one.cuts) : one.d };
}

// tau at which the cells add up to the total on average: the minimum of a convex function.
function tiltOf(cells, total) {
  const all = [...cells.map((cell) => [cell, 1]), [total, -1]].map(([one, sign]) => {
    one.d = new Whole(one.w, one.first, one.last, one.cuts);
    const nodes = one.d.nodes(), k = Float64Array.from(nodes, ([x]) => x - one.d.mean), w = Float64Array.from(nodes, ([, y]) => y);
    return { k, w, sign, mean: one.d.mean };
  });
  const slope = (tau) => all.reduce((sum, { k, w, sign, mean }) => {
    let top = -Infinity, one = 0, none = 0;
    spend(4 * k.length);
    for (let i = 0; i < k.length; i++) top = Math.max(top, sign * tau * k[i]);
    for (let i = 0; i < k.length; i++) {
      const e = w[i] * Math.exp(sign * tau * k[i] - top);
      none += e;
      one += e * k[i];
    }
    return sum + sign * (mean + one / none);
  }, 0);
  const sd = Math.sqrt(all.reduce((sum, _, i) => sum + (i < cells.length ? cells[i] : total).d.sd ** 2, 0)), off = slope(0);
  if (!(Math.abs(off) > 0.5 * sd)) return 0;
  let [a, b] = [0, -Math.sign(off) / Math.max(sd, 1e-3)];
  for (let i = 0; i < 60 && slope(b) * off > 0; i++) [a, b] = [b, 2 * b];
  for (let i = 0; i < 30; i++) {
    const middle = (a + b) / 2, found = slope(middle);
    if (Math.abs(found) < 0.25 * sd) return middle;
    if (found * off > 0) a = middle; else b = middle;
  }
  return (a + b) / 2;
}

function byFourier(parts, whole, total) {
  const all = whole ? [...parts, whole] : parts, sd = Math.hypot(...all.map((one) => one.d.sd));
  const half = (one) => Math.max(one.last - one.d.mean, one.d.mean - one.first);
  const offset = parts.reduce((sum, one) => sum + one.c, 0) - (whole ? whole.c : 0);
  const off = parts.reduce((sum, one) => sum + one.d.mean, 0) - (whole ? whole.d.mean : 0);
  const far = Math.min(all.reduce((sum, one) => sum + half(one), 0), 9 * sd + 1.2 * Math.max(...all.map(half)));
  const P = Math.ceil(whole ? far + Math.abs(off) : 2 * far) + 3;
  const { re, im, M, error } = transforms(parts, whole, P), { out, all: every } = products(re, im, M);
  const made = whole ? parts.map((one, i) => {
    const series = fourier(out[i], P, one.c - offset), reach = 9 * Math.sqrt(Math.max(sd * sd - one.d.sd ** 2, 0)) + 1.2 * Math.max(...all.filter((each) => each !== one).map(half));
    const first = Math.max(one.first, Math.floor(one.d.mean - reach)), last = Math.min(one.last, Math.ceil(one.d.mean + reach));
    return new Whole((k) => one.at(k) * series(k), first, last, one.cuts, 1);
  }) : parts.map((one) => one.d);
  const reach = Math.ceil(Math.min(far, whole ? far : (P - 1) / 2)), least = parts.reduce((sum, one) => sum + one.first, 0), most = parts.reduce((sum, one) => sum + one.last, 0);
  const sum = fourier(conjugate(whole ? out[parts.length] : every), P, whole ? whole.c + offset : offset);
  const middle = Math.round(whole ? whole.d.mean : off);
  const ends = [Math.max(least, middle - reach, whole ? whole.first : least), Math.min(most, middle + reach, whole ? whole.last : most)];
  return { cells: made, total: new Whole((t) => (whole ? whole.at(t) : 1) * sum(t), ...ends, total ? total.cuts : [], 1), error };
}

// For each number and the frequencies 2 pi m/P: the sum of w exp(i theta (k - c)), of the total its conjugate.
function transforms(parts, whole, P) {
  const all = whole ? [...parts, whole] : parts, most = Math.min(Math.floor(P / 2), Math.floor(MOST / all.length));
  const re = all.map(() => []), im = all.map(() => []);
  let M = 0, last = 1;
  const sources = all.map((one, i) => source(one, whole && i === parts.length ? -1 : 1, P));
  while (M <= most) {
    const count = Math.min(CHUNK, most - M + 1);
    sources.forEach((add, i) => {
      const x = new Float64Array(count), y = new Float64Array(count);
      add(x, y, M);
      re[i].push(x);
      im[i].push(y);
    });
    M += count;
    // the largest product, of all or of all but one
    last = 0;
    for (let m = 0; m < count; m++) {
      let least = Infinity, log = 0;
      for (let i = 0; i < all.length; i++) {
        const size = Math.hypot(re[i].at(-1)[m], im[i].at(-1)[m]);
        least = Math.min(least, size);
        log += Math.log(size);
      }
      last = Math.max(last, least > 0 ? Math.exp(log - (whole ? Math.log(least) : 0)) : 0);
    }
    if (last < NOTHING) break;
  }
  const join = (lists) => lists.map((chunks) => { const out = new Float64Array(M); let at = 0; for (const each of chunks) { out.set(each, at); at += each.length; } return out; });
  return { re: join(re), im: join(im), M, error: last < NOTHING || M > P / 2 ? 0 : last };
}

// Adds to x + iy the transform of a number at the frequencies start, start + 1, ...
function source(one, sign, P) {
  const { d, c, tau, first, last } = one, turn = 2 * Math.PI / P, total = d.total;
  const inList = one.list ? range(Math.max(one.list[0], first), Math.min(one.list[1], last)).map((k) => [k, one.at(k)]) : one.terms ? [] : fine(one);
  const nodes = inList.map(([k, w]) => [sign * (k - c), w / total]), terms = [];
  for (const [from, to, ...each] of one.terms || []) {
    const [a, b] = [Math.max(from, first), Math.min(to, last)];
    if (a > b) continue;
    for (const [factor, rate, origin] of each) { // a geometric sum from its larger end
      const slope = rate + tau, end = slope >= 0 ? b : a;
      terms.push({ size: factor * Math.exp(rate * (end - origin) + tau * (end - c)) / total, at: sign * (end - c), count: b - a + 1, log: -Math.abs(slope), step: slope >= 0 ? -sign : sign });
    }
  }
  return (x, y, start) => {
    spend(x.length * (2 * nodes.length + 40 * terms.length));
    for (const [k, w] of nodes) {
      const cos = Math.cos(turn * k), sin = Math.sin(turn * k), angle = turn * (Math.abs(k) < 2 ** 30 ? (k * start) % P : k * start);
      let a = w * Math.cos(angle), b = w * Math.sin(angle);
      for (let m = 0; m < x.length; m++) {
        x[m] += a;
        y[m] += b;
        const next = a * cos - b * sin;
        b = a * sin + b * cos;
        a = next;
      }
    }
    for (const { size, at, count, log, step } of terms) {
      for (let m = 0; m < x.length; m++) {
        const f = start + m, [a, b] = oneLess(count * log, turn * ((count * f) % P) * step), [e, g] = oneLess(log, turn * f * step);
        const angle = turn * ((at * f) % P), cos = size * Math.cos(angle), sin = size * Math.sin(angle), norm = e * e + g * g;
        const [u, v] = norm > 0 ? [(a * e + b * g) / norm, (b * e - a * g) / norm] : [count, 0];
        x[m] += cos * u - sin * v;
        y[m] += sin * u + cos * v;
      }
    }
  };
}

// 1 - exp(log + i angle), log <= 0.
function oneLess(log, angle) {
  const size = Math.exp(log), half = Math.sin(angle / 2);
  return [-Math.expm1(log) + 2 * size * half * half, -size * Math.sin(angle)];
}

const range = (a, b) => Array.from({ length: Math.max(b - a + 1, 0) }, (_, i) => a + i);

// Nodes so close that waves up to where the transform of Gaussian noise is nothing are smooth between them.
function fine({ d, at, noise }) {
  const longest = noise ? Math.max(2 * noise.size, LISTED) : Infinity;
  return d.pieces.flatMap(({ a, b, c }) => {
    const n = c ? Math.ceil((b - a + 1) / longest) : 1;
    return Array.from({ length: n }, (_, i) => [a + Math.floor((b - a + 1) * i / n), a + Math.floor((b - a + 1) * (i + 1) / n) - 1])
      .flatMap(([first, last]) => nodesOf(first, last)).map(([k, w]) => [k, w * at(k)]);
  });
}

// For each cell, and for all (the sum), the product of the transforms of the others.
function products(re, im, M) {
  const J = re.length, after = [[new Float64Array(M).fill(1), new Float64Array(M)]];
  for (let i = J - 1; i >= 0; i--) after.push(times(after[after.length - 1], [re[i], im[i]]));
  let before = after[0];
  const out = re.map((_, i) => {
    const found = times(before, after[J - 1 - i]);
    before = times(before, [re[i], im[i]]);
    return found;
  });
  return { out, all: before };
}

function times([a, b], [c, d]) {
  spend(4 * a.length);
  return [a.map((x, m) => x * c[m] - b[m] * d[m]), a.map((x, m) => x * d[m] + b[m] * c[m])];
}

const conjugate = ([re, im]) => [re, im.map((y) => -y)];

// k -> the sum over frequencies of a transform, an even one of the other sign included, at k - shift, over P.
function fourier([re, im], P, shift) {
  const M = re.length;
  return (k) => {
    const angle = 2 * Math.PI * (k - shift) / P, c = Math.cos(angle), s = Math.sin(angle);
    let sum = 0;
    spend(2 * M);
    for (let start = 0; start < M; start += CHUNK) {
      let a = Math.cos(angle * start), b = Math.sin(angle * start);
      for (let m = start; m < Math.min(start + CHUNK, M); m++) {
        sum += (m === 0 || 2 * m === P ? 0.5 : 1) * (re[m] * a - im[m] * b);
        const next = a * c - b * s;
        b = a * s + b * c;
        a = next;
      }
    }
    return 2 * sum / P;
  };
}
