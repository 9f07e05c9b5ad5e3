// One published number: its noise, what was printed of it, and with that the likelihood of the true number.
//
// The same statements as the Python package dp_bayes_nb (noise/laws, noise/printing, noise/perturbed), with its ties,
// its grids and its limit for contradictions.

import { integrate, sumRun, LISTED } from "./sums.js";
import { refuse, spend } from "./work.js";

export const CHANCE = 1e-9; // of noise beyond which a declaration contradicts itself
export const NATS = 36; // a weight e^-36 times the largest is left out
const LONGEST = 2 ** 20; // numbers of a table

const LIMIT = 1e15; // beyond, doubles are too coarse for whole numbers
const finite = (x) => typeof x === "number" && Math.abs(x) <= LIMIT; // false for NaN
export const number = (x, name) => (finite(x) ? x : refuse("number", { field: name, given: x }));
const isWhole = (x, step = 1) => Math.abs(x / step - Math.round(x / step)) <= 1e-9 * Math.max(1, Math.abs(x / step));

// ---- Noise ----

// P(x <= e <= y) of Laplace noise; on whole numbers x, x + 1, ..., y, where for real x it is the same formula.
function laplaceBetween(x, y, b, whole) {
  if (x + y < 0) [x, y] = [-y, -x];
  if (whole) {
    const r = Math.exp(-1 / b);
    return (x >= 0 ? Math.exp(-x / b) * -Math.expm1(-(y - x + 1) / b)
      : -Math.expm1(-(y + 1) / b) - r * Math.expm1(x / b)) / (1 + r);
  }
  return 0.5 * (x >= 0 ? Math.exp(-x / b) * -Math.expm1(-(y - x) / b) : -Math.expm1(-y / b) - Math.expm1(x / b));
}

// Sum or integral of exp(-e^2/2s^2) from x to y, by blocks, without cancellation however far from 0.
function gaussianBetween(x, y, s, whole) {
  if (x + y < 0) [x, y] = [-y, -x];
  const far = 9 * s, reach = x > 0 ? Math.min(far, 40 * s * s / x) : far;
  if (x < -far) x += whole ? Math.ceil(-far - x) : -far - x;
  const end = (x > 0 ? x : 0) + reach;
  if (y > end) y = whole ? x + Math.floor(end - x) : end;
  const p = (e) => Math.exp(-0.5 * (e / s) ** 2), longest = x > 0 ? Math.min(2 * s, 8 * s * s / x) : 2 * s;
  let sum = 0;
  if (!whole) {
    const blocks = Math.max(Math.ceil((y - x) / longest), 1);
    for (let i = 0; i < blocks; i++) sum += integrate(p, x + (y - x) * i / blocks, x + (y - x) * (i + 1) / blocks);
    return sum;
  }
  const count = Math.round(y - x) + 1, blocks = Math.max(Math.ceil(count / Math.max(longest, LISTED)), 1);
  for (let i = 0; i < blocks; i++) {
    const a = Math.floor(count * i / blocks), b = Math.floor(count * (i + 1) / blocks) - 1;
    sum += sumRun((j) => p(x + j), a, b);
  }
  return sum;
}

// A law of noise: `density(e)` up to a constant, `between(x, y)`, how far it goes down to `nats`, or on one side with a
// chance (as `reach` of the package), and the log of E exp(t e).
function law({ law: kind = "none", size = 0, whole = false } = {}) {
  if (kind === "none") return null;
  if (kind !== "laplace" && kind !== "gaussian") refuse("law", { given: kind });
  if (number(size, "size") < 0) refuse("size", { given: size });
  if (size === 0) return null;
  if (kind === "laplace") {
    return { kind, size, whole: !!whole,
      density: (e) => Math.exp(-Math.abs(e) / size),
      between: (x, y) => laplaceBetween(x, y, size, whole),
      deep: (nats) => nats * size,
      reach: (chance) => -Math.log(chance) * size,
      cumulant: (t) => -Math.log1p(-((t * size) ** 2)), edge: 1 / size };
  }
  const total = !whole || size > 2 ? size * Math.sqrt(2 * Math.PI) : gaussianBetween(-9 * 2 - 1, 9 * 2 + 1, size, true);
  return { kind, size, whole: !!whole,
    density: (e) => Math.exp(-0.5 * (e / size) ** 2),
    between: (x, y) => {
      if (whole && size < 2) [x, y] = [Math.round(x), Number.isFinite(x) ? Math.round(x) + Math.round(y - x) : Math.round(y)]; // no smooth formula there
      return gaussianBetween(x, y, size, whole) / total;
    },
    deep: (nats) => Math.sqrt(2 * nats) * size + 1,
    reach: (chance) => normalTail(chance) * size + (whole ? 1 : 0),
    cumulant: (t) => 0.5 * (t * size) ** 2, edge: Infinity };
}

// x with P(Z > x) = chance of a standard normal, chance <= 1/2.
function normalTail(chance) {
  let low = 0, high = 40;
  for (let i = 0; i < 60; i++) {
    const x = (low + high) / 2;
    if (gaussianBetween(x, 50, 1, false) / Math.sqrt(2 * Math.PI) > chance) low = x; else high = x;
  }
  return (low + high) / 2;
}

// ---- Printing ----
// A statement knows: `apply(y)`, what becomes of a number (NaN: nothing), and `before(ends, grid)`, from the ends
// {low, high, above, under} of what numbers became to those of what they were; above, under: without the end itself.

const even = (q) => { const r = Math.round(q); return Math.abs(q % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r; };
const NONE = { low: Infinity, high: -Infinity, above: false, under: false };

function rounded({ step, ties = "even" }) {
  if (!(number(step, "step") > 0)) refuse("step", { given: step });
  const toward = { even, up: (q) => Math.floor(q + 0.5), down: (q) => Math.ceil(q - 0.5),
    away: (q) => Math.sign(q) * Math.floor(Math.abs(q) + 0.5) }[ties] || refuse("printing", { given: ties });
  const up = (middle) => Number.isFinite(middle) && toward(middle) > middle; // does this middle go up?
  return { multiple: step, reach: step,
    lattice: (grid) => (grid > 0 && grid % step === 0 ? grid : step),
    apply: (y) => toward(y / step) * step,
    before(ends, grid) {
      if (this.lattice(grid) === grid) return ends;
      return { low: ends.low - step / 2, high: ends.high + step / 2, above: !up(ends.low / step - 0.5),
        under: up(ends.high / step + 0.5) };
    } };
}

function random({ base }) {
  if (!(finite(base) && Number.isInteger(base) && base >= 2)) refuse("base", { given: base });
  return { multiple: base, reach: base, random: true,
    lattice: (grid) => (grid > 0 && grid % base === 0 ? grid : base),
    outcomes(y) {
      const q = Math.abs(y) % base, sign = y < 0 ? -1 : 1, near = Math.abs(y) - q;
      return [[sign * near, 1 - q / base], [sign * (near + base), q / base]];
    },
    before: (ends) => ({ ...ends, low: ends.low - (base - 1), high: ends.high + (base - 1) }) };
}

function hidden({ below }) {
  number(below, "below");
  return { blank: true, marks: [below], lattice: (grid) => grid,
    apply: (y) => (y < below ? NaN : y),
    before(ends) {
      if (Number.isNaN(ends.low)) return { low: -Infinity, high: below, above: false, under: true };
      const low = Math.max(ends.low, below);
      return { ...ends, low, above: ends.above && low === ends.low };
    } };
}

function limits({ low = null, high = null }, code) {
  if (low !== null) number(low, "low");
  if (high !== null) number(high, "high");
  const [a, b] = [low === null ? -Infinity : low, high === null ? Infinity : high];
  if (!(code === "cut" ? a < b : a <= b) || a === -b && b === Infinity) refuse("limits", { low, high });
  return [a, b];
}

function cut(step) {
  const [a, b] = limits(step, "cut");
  return { marks: [a, b].filter(Number.isFinite),
    lattice: (grid) => ([a, b].some((end) => Number.isFinite(end) && end % (grid > 0 ? grid : 1) !== 0) ? 0 : grid),
    apply: (y) => Math.min(Math.max(y, a), b),
    before(ends) {
      if (Number.isNaN(ends.low)) return ends;
      const rises = ends.high > b || ends.high === b && !ends.under, sinks = ends.low < a || ends.low === a && !ends.above;
      const possible = (ends.high > a || ends.high === a && !ends.under) && (ends.low < b || ends.low === b && !ends.above);
      return possible ? { low: sinks ? -Infinity : ends.low, high: rises ? Infinity : ends.high,
        above: ends.above && !sinks, under: ends.under && !rises } : NONE;
    } };
}

function within(step) {
  const [a, b] = limits(step, "within");
  return { blank: true, last: true, marks: [a, b].filter(Number.isFinite), lattice: (grid) => grid, range: [a, b],
    apply: (y) => y,
    before: (ends) => (Number.isNaN(ends.low) || ends.low >= a && ends.high <= b
      ? { low: a, high: b, above: false, under: false } : NONE) };
}

const HOWS = { rounded, random, hidden, cut, within };

// Ends moved inwards to whole numbers, on a grid.
function inside(ends, grid) {
  let { low, high, above, under } = ends;
  if (Number.isNaN(low)) return ends;
  if (grid > 0) {
    low = Math.ceil(low / grid - 1e-9) * grid;
    high = Math.floor(high / grid + 1e-9) * grid;
    if (above && low <= ends.low) low += grid;
    if (under && high >= ends.high) high -= grid;
    above = under = false;
  }
  return low > high || low === high && (above || under) ? NONE : { low, high, above, under };
}

// P(value is printed | number y before these steps).
function chanceOf(steps, y, value) {
  if (!steps.length) return Number.isNaN(y) ? +Number.isNaN(value) : +(Math.abs(y - value) <= 1e-9 * (1 + Math.abs(value)));
  if (Number.isNaN(y)) return +Number.isNaN(value);
  const [step, ...rest] = steps;
  if (step.range) return +(y >= step.range[0] && y <= step.range[1]);
  if (!step.random) return chanceOf(rest, step.apply(y), value);
  return step.outcomes(y).reduce((sum, [z, p]) => sum + (p > 0 ? p * chanceOf(rest, z, value) : 0), 0);
}

// What the noisy number can have been: {low, high}, or with random steps a table {first, chance, below, above} too.
function unprinted(value, steps, grid) {
  if (steps.some((step) => step.random) && grid !== 1) refuse("perturbed");
  const blank = value === null;
  if (blank && !steps.some((step) => step.blank)) refuse("blank");
  if (steps.slice(0, -1).some((step) => step.last) || steps.filter((step) => step.marks && step.blank && !step.last).length > 1) refuse("order");
  const grids = [grid];
  steps.forEach((step, k) => {
    const seen = grids[k], shown = !blank && steps.slice(k + 1).every((later) => later.blank && !later.last);
    if (shown && step.multiple && step.lattice(seen) === step.multiple && !isWhole(value, step.multiple)) {
      refuse("multiple", { value, step: step.multiple });
    }
    grids.push(step.lattice(seen));
  });
  let ends = { low: blank ? NaN : value, high: blank ? NaN : value, above: false, under: false };
  for (let k = steps.length - 1; k >= 0; k--) {
    ends = inside(steps[k].before(ends, grids[k]), grids[k]);
    if (ends.low > ends.high) refuse(blank ? "blank" : steps[k].blank && !steps[k].last ? "shown" : "printed", { value });
  }
  if (Number.isNaN(ends.low)) refuse("blank");
  if (!steps.some((step) => step.random)) return { low: ends.low, high: ends.high };
  return table(blank ? NaN : value, steps, ends);
}

function table(value, steps, { low, high }) {
  const marks = [...steps.flatMap((step) => step.marks || []), low, high].filter(Number.isFinite);
  const slack = 2 * steps.reduce((sum, step) => sum + (step.reach || 0), 0) + 2;
  let first = Number.isFinite(low) ? low : Math.round(Math.min(...marks) - slack);
  let last = Number.isFinite(high) ? high : Math.round(Math.max(...marks) + slack);
  if (last - first > LONGEST) refuse("large", { numbers: last - first });
  spend(20 * (last - first));
  const chance = Float64Array.from({ length: last - first + 1 }, (_, i) => chanceOf(steps, first + i, value));
  const below = Number.isFinite(low) ? 0 : chance[0], above = Number.isFinite(high) ? 0 : chance[chance.length - 1];
  let a = 0, b = chance.length - 1;
  while (a <= b && !(chance[a] > 0)) a++;
  while (b > a && !(chance[b] > 0)) b--;
  if (a > b) refuse("printed", { value });
  [first, last] = [first + a, first + b];
  return { low: below > 0 ? -Infinity : first, high: above > 0 ? Infinity : last, first, chance: chance.slice(a, b + 1), below, above };
}

// ---- The likelihood of the true number ----

// A cell read: {low, high: ends of the noisy number; noise; w(k): chance of what was printed, up to a constant, given
// the true number k; cuts: where w is not smooth; from, to: beyond these w is nothing; exact: is the number known?}
// `nats`: how far down the noise is followed.
export function read(cell, name = "cell", nats = NATS) {
  if (cell === null || typeof cell !== "object") refuse("number", { field: name });
  const value = cell.value === undefined ? null : cell.value;
  if (value !== null) number(value, "value");
  const noise = law(cell.noise || undefined);
  const steps = (cell.printed || []).map((each) => (Object.hasOwn(HOWS, each.how) ? HOWS[each.how](each) : refuse("printing", { given: each.how })));
  const grid = noise ? +noise.whole : 1; // a true number is whole
  const seen = unprinted(value, steps, grid), single = seen.low === seen.high && !seen.chance;
  if (single && grid && !isWhole(seen.low)) refuse(noise ? "grid" : "whole", { value });
  const out = noise ? noisy(seen, noise, single, nats) : silent(seen);
  return { ...out, low: seen.low, high: seen.high, noise, value, exact: !noise && single, table: !!seen.chance,
    reach: (chance) => (noise ? noise.reach(chance) : 0) };
}

function silent(seen) {
  if (!seen.chance) {
    const { low, high } = seen;
    return { w: (k) => +(k >= low && k <= high), from: low, to: high, cuts: [], terms: [[low, high, [1, 0, 0]]] };
  }
  const last = seen.first + seen.chance.length - 1, cuts = [seen.first - 1, last];
  const terms = [...(seen.below > 0 ? [[-Infinity, seen.first - 1, [seen.below, 0, 0]]] : []), ...(seen.above > 0 ? [[last + 1, Infinity, [seen.above, 0, 0]]] : [])];
  return { w: (k) => chanceAt(seen, Math.round(k)), from: seen.low, to: seen.high, cuts, terms, list: [seen.first, last] };
}

const chanceAt = ({ first, chance, below, above }, y) => (y < first ? below : y >= first + chance.length ? above : chance[y - first]);

function noisy(seen, noise, single, nats) {
  const { low, high } = seen, far = noise.deep(nats);
  const from = Math.min(Math.ceil(low - far), Math.floor(low) - 1), to = Math.max(Math.floor(high + far), Math.ceil(high) + 1);
  const terms = noise.kind === "laplace" && !seen.chance ? exponentials(low, high, noise, single) : null;
  if (single) return { w: (k) => noise.density(low - k), from, to, terms, cuts: [low] };
  if (!seen.chance) return { w: (k) => noise.between(low - k, high - k), from, to, terms, cuts: [low, high].filter(Number.isFinite).flatMap((end) => [end - far - 1, end, end + far]) };
  return { ...mixed(seen, noise, far), from, to };
}

// The likelihood under Laplace noise as sums of exponentials: [from, to, ...[factor, rate, origin]], each of them
// factor exp(rate (k - origin)). The formulas of laplaceBetween, written out.
function exponentials(low, high, { size: b, whole }, single) {
  const [least, most] = [Math.floor(low), Math.floor(high)];
  if (single) return [[-Infinity, least, [1, 1 / b, low]], [least + 1, Infinity, [1, -1 / b, low]]];
  const r = Math.exp(-1 / b), half = whole ? 1 / (1 + r) : 0.5, side = half * -Math.expm1(-(high - low + (whole ? 1 : 0)) / b);
  const middle = [[1, 0, 0], [-half, 1 / b, high + (whole ? 1 : 0)], [whole ? -half * r : -half, -1 / b, low]].filter(([, , origin]) => Number.isFinite(origin));
  return [[-Infinity, least, [side, 1 / b, low]], [Number.isFinite(low) ? least + 1 : -Infinity, most, ...middle], [most + 1, Infinity, [side, -1 / b, high]]]
    .filter(([first, last]) => first <= last && first !== Infinity && last !== -Infinity);
}

// The sum over noisy numbers y of P(printed | y) P(noise is y - k). Laplace: from one number to the next by two
// recursions, up and down, as a filter; outside of the table its tails. Gaussian: term by term.
function mixed(seen, noise, room) {
  const pad = seen.below > 0 || seen.above > 0 ? Math.ceil(room) : 0;
  const first = seen.first - (seen.below > 0 ? pad : 0), last = seen.first + seen.chance.length - 1 + (seen.above > 0 ? pad : 0);
  const n = last - first + 1;
  if (n > 2 * LONGEST) refuse("large", { numbers: n });
  spend(10 * n);
  const c = Float64Array.from({ length: n }, (_, i) => chanceAt(seen, first + i)), cuts = [first - 1, first, last];
  if (noise.kind === "gaussian") {
    const far = Math.ceil(room);
    const w = (k) => {
      if (noise.size < 2) k = Math.round(k);
      const a = Math.max(first, Math.ceil(k - far)), b = Math.min(last, Math.floor(k + far));
      let sum = 0;
      spend(2 * Math.max(b - a, 0));
      for (let y = a; y <= b; y++) sum += c[y - first] * noise.density(y - k);
      return sum + tails(k);
    };
    const unit = noise.density(0) / noise.between(0, 0); // density to probability
    const tails = (k) => unit * ((seen.below > 0 && k - far < first ? seen.below * noise.between(-far - 1 + Math.floor(k) - k, first - 1 - k) : 0)
      + (seen.above > 0 && k + far > last ? seen.above * noise.between(last + 1 - k, Math.ceil(k) + far + 1 - k) : 0));
    return { w, cuts };
  }
  const r = Math.exp(-1 / noise.size), up = new Float64Array(n), down = new Float64Array(n);
  for (let i = 0; i < n; i++) up[i] = c[i] + r * (i ? up[i - 1] : seen.below / (1 - r));
  for (let i = n - 1; i >= 0; i--) down[i] = c[i] + r * (i < n - 1 ? down[i + 1] : seen.above / (1 - r));
  const flat = (1 + r) / (1 - r);
  const terms = [[-Infinity, first - 1, seen.below > 0 ? [seen.below * flat, 0, 0] : [down[0], 1 / noise.size, first]],
    [last + 1, Infinity, seen.above > 0 ? [seen.above * flat, 0, 0] : [up[n - 1], -1 / noise.size, last]]];
  return { cuts, terms, list: [first, last], w: (k) => {
    if (k < first) return seen.below > 0 ? seen.below * flat : down[0] * Math.exp((k - first) / noise.size);
    if (k > last) return seen.above > 0 ? seen.above * flat : up[n - 1] * Math.exp((last - k) / noise.size);
    const i = Math.round(k) - first;
    return up[i] + down[i] - c[i];
  } };
}
