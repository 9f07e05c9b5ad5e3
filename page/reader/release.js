// A release file of this package: read strictly, its seal checked as `open_sealed` of releases/files does, and turned into
// a question where it is one of the six.

import { Damaged, canonical, parse, plainly } from "./json.js";
import { sha256 } from "./sha256.js";
import { NONE } from "./noise.js";
import { MOST_LINES } from "./lines.js";

const KEYS = [
  "schema",
  "id",
  "origin",
  "model",
  "names",
  "values",
  "noise",
  "matrix",
  "n",
  "printed",
  "neighbours",
  "budget",
  "sensitivity",
  "missing",
  "bounds_source",
];
const EXTENDED = ["n_range", "source", "parts"],
  OF_PERSONS = ["person"];
const KEYS_1 = [
  "schema",
  "n",
  "sensitivity",
  "epsilon",
  "delta",
  "neighbours",
  "missing",
  "bounds_source",
  "simulated",
  "family",
  "names",
  "integers",
  "grid_exponent",
  "noise",
];
const has = (object, key) => object.has(key);

// The document inside a sealed text, as plain objects. Damaged, with a code, for anything else.
export function opened(text) {
  const document = parse(text);
  if (has(document, "entries") && has(document, "epsilon")) throw new Damaged("a_ledger");
  const schema = plainly(document.get("schema") ?? null);
  const keys =
    schema === 1
      ? KEYS_1
      : [...KEYS, ...(has(document, "source") ? EXTENDED : []), ...(has(document, "person") ? OF_PERSONS : [])];
  if (![...keys].some(key => has(document, key))) throw new Damaged("not_ours");
  if (![1, 2, 3].includes(schema)) throw new Damaged("another_schema", { schema: String(schema).slice(0, 40) });
  const wanted = new Set([...keys, "sha256"]),
    found = new Set(document.keys());
  if ([...wanted].some(key => !found.has(key)) || [...found].some(key => !wanted.has(key)))
    throw new Damaged("other_keys");
  const seal = document.get("sha256");
  document.delete("sha256");
  if (seal !== sha256(canonical(document))) throw new Damaged("broken_seal");
  return same(plainly(document), schema);
}

// One form for all schemas.
function same(d, schema) {
  try {
    const p = d.names.length,
      grid1 = 2 ** -d.grid_exponent;
    const each = (value, k) => (Array.isArray(value) ? value[k] : value);
    const kind = k => each(d.noise.kind, k);
    const fine = Array.isArray(d.names) && p > 0 && d.names.every(name => typeof name === "string");
    const values = schema === 1 ? d.integers.map(v => v * grid1) : d.values;
    if (!fine || !Array.isArray(values) || values.length !== p) throw new Damaged("other_keys");
    const rows = d.names.map((name, k) => {
      const scale = each(d.noise.scale, k),
        grid = schema === 1 ? grid1 : each(d.noise.grid, k);
      return {
        name,
        value: values[k],
        noise: lawOf(kind(k), scale, grid),
        grid,
        printed: printings(d.printed ?? "exact", k),
      };
    });
    return {
      model: d.model ?? d.family,
      rows,
      n: d.n,
      matrix: d.matrix ?? null,
      source: d.source ?? null,
      declared: Boolean(d.source),
      simulated: schema === 1 ? d.simulated : d.origin === "simulated",
      n_range: d.n_range ?? null,
    };
  } catch (error) {
    if (error instanceof Damaged) throw error;
    throw new Damaged("other_keys");
  }
}

function lawOf(kind, scale, grid) {
  if (scale === 0) return NONE;
  if (!["laplace", "gaussian"].includes(kind) || !(scale > 0)) return null;
  return {
    law: kind,
    size: scale,
    whole: grid === 1,
    said: kind === "laplace" ? { by: "scale", scale } : { by: "sd", sd: scale },
  };
}

// What was done to a number before printing; null where this page does not know it.
function printings(printed, k) {
  let said = Array.isArray(printed) ? printed[k] : printed;
  if (said !== null && typeof said === "object" && Number.isInteger(said.as_row)) said = printed[said.as_row];
  return steps(said);
}

function steps(said) {
  if (said === "exact" || said === null) return [];
  if (typeof said !== "object") return null;
  if (Array.isArray(said.in_order)) {
    const all = said.in_order.map(steps);
    return all.every(each => each !== null) ? all.flat() : null;
  }
  if (typeof said.rounded === "number") return said.ties === "even" ? [{ how: "rounded", step: said.rounded }] : null;
  if (typeof said.suppressed === "number") return [{ how: "hidden", below: said.suppressed }];
  if (Array.isArray(said.clamped)) return [{ how: "cut", low: said.clamped[0], high: said.clamped[1] }];
  if (Array.isArray(said.within)) return [{ how: "within", low: said.within[0], high: said.within[1] }];
  if (typeof said.random_rounded === "number")
    return said.probabilities === null ? [{ how: "random", base: said.random_rounded }] : null;
  return null;
}

// The question that a release answers here: { question, rows, n, of, total } as of a text, or { cannot: code, facts }.
export function questionOf(release) {
  const { model, rows, n, matrix } = release,
    family = model?.family;
  const cannot = code => ({ cannot: code, facts: { family: nameOf(model), rows: rows.length } });
  const grouped = family === "Grouped" && model.model?.family === "Bernoulli" && model.sizes === "public";
  if (!["Bernoulli", "Counts", "Categorical"].includes(family) && !grouped) return cannot("model");
  if (rows.some(row => row.noise === null || row.printed === null)) return cannot("statement");
  if (rows.some(row => ![0, 1].includes(row.grid) && row.noise.law !== "none")) return cannot("grid");
  if (grouped) return ofGroups(release, cannot);
  if (family === "Counts" || family === "Categorical") return ofCounts(release, cannot);
  if (rows.length === 1 && typeof n === "number" && matrix === null) return { question: "share", rows, n };
  return ofNoisySize(release, cannot);
}

const nameOf = model =>
  String(model?.family === "Grouped" ? `Grouped ${model.model?.family}` : model?.family).slice(0, 60);

// Two groups whose sizes are public: their shares are compared.
function ofGroups({ model, rows, n, matrix }, cannot) {
  const fits = rows.length === 2 && Array.isArray(n) && n.length === 2 && matrix === null;
  if (!fits) return cannot("model");
  const names = model.levels?.[0] ?? rows.map(row => row.name);
  return { question: "compare", rows: rows.map((row, k) => ({ ...row, name: String(names[k] ?? row.name) })), n };
}

// A share whose number of people is noisy or rounded too. The package takes every number in `n_range` as equally likely,
// this page every one from 0 on: the same where the range is wide.
function ofNoisySize({ rows, matrix, n_range: range }, cannot) {
  const at = rows.findIndex(row => row.name === "n");
  if (rows.length !== 2 || at < 0 || !isIdentity(dense(matrix) ?? [])) return cannot("noisy_n");
  const of = rows[at],
    far = of.noise.law === "none" ? Math.max(0, ...of.printed.map(step => step.step ?? step.base ?? 0)) : 36 * of.noise.size;
  const wide = of.value !== null && (range === null || (range[0] === 0 && range[1] >= of.value + far));
  return wide ? { question: "share", rows: [rows[1 - at]], of } : cannot("noisy_n");
}

function ofCounts({ model, rows, n, matrix }, cannot) {
  const names = rows.map(row => row.name.replace(/^count\[(.*)\]$/su, "$1"));
  const called = rows.map((row, k) => ({ ...row, name: names[k] }));
  if (rows.length > MOST_LINES) return cannot("many");
  if (model.family === "Categorical") {
    if (matrix !== null || typeof n !== "number") return cannot("noisy_n");
    const total = { name: null, value: n, noise: NONE, printed: [] };
    return { question: "table", rows: called, total, note: "categories" };
  }
  if (model.exposure != null || model.exposures != null) return cannot("model");
  const H = dense(matrix);
  if (H === null || isIdentity(H))
    return called.length === 1 ? { question: "count", rows: called } : { question: "table", rows: called, total: null };
  return ofSums(H, called, model.names, cannot) ?? cannot("matrix");
}

// What is known of a cell that is in the total only.
const UNPRINTED = { value: null, noise: NONE, printed: [{ how: "within", low: 0, high: null }], unprinted: true };

// Rows that are single cells, and one that is the total of all, in any order; null for other sums.
function ofSums(H, rows, names) {
  const cells = H[0].map((_, j) => ({ ...UNPRINTED, name: String(names?.[j] ?? j + 1) }));
  let total = null;
  for (const [i, row] of H.entries()) {
    const at = row.indexOf(1),
      single = row.every((h, j) => h === (j === at ? 1 : 0));
    if (single && at >= 0 && cells[at].unprinted) cells[at] = { ...rows[i], name: cells[at].name };
    else if (row.length > 1 && row.every(h => h === 1) && total === null) total = rows[i];
    else return null;
  }
  if (total === null && cells.some(cell => cell.unprinted)) return null;
  if (cells.length === 1) return { question: "count", rows: cells };
  return { question: "table", rows: cells, total };
}

// H as rows of numbers, also where the file has its entries only.
function dense(matrix) {
  if (matrix === null || Array.isArray(matrix)) return matrix;
  const [p, m] = matrix.shape,
    H = Array.from({ length: p }, () => new Array(m).fill(0));
  matrix.row.forEach((i, k) => {
    H[i][matrix.column[k]] = Array.isArray(matrix.value) ? matrix.value[k] : matrix.value;
  });
  return H;
}

const isIdentity = H =>
  H.length > 0 && H.every((row, i) => row.length === H.length && row.every((h, j) => h === (i === j ? 1 : 0)));
