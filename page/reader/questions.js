// Rows in the form of a question, and what the engine is asked then: one count, a part of another one, two compared, a table.

import { NONE } from "./noise.js";

export const TOTAL =
  /^(?:(?:grand |sub)?totals?|all|sum|overall|together|everyone|gesamt|summe|insgesamt|alle|zusammen)(?![\p{L}])/iu;

// A cell that may hold others of the same table.
const SUMS = /(?<!\p{L})(?:sub-?totals?|totals?|of which|thereof|davon|zusammen|insgesamt|gesamt)(?!\p{L})|^(?:all|sum|overall|everyone|alle)(?!\p{L})/iu;

// What is asked of the engine.
export function asksOf(question, rows, { n, ofCell = null, total }) {
  const cells = rows.map(row => row.cell);
  if (cells.some(cell => cell === null)) return null;
  switch (question) {
    case "count":
    case "hidden":
      return { kind: "count", cell: cells[0] };
    case "share":
      return (ofCell ?? n) ? { kind: "share", cell: cells[0], n: ofCell ?? n } : null;
    case "rate":
      return ofCell ? { kind: "rate", part: cells[0], whole: ofCell } : null;
    case "compare":
      return { kind: "compare", a: cells[0], b: cells[1], n };
    default:
      return { kind: "table", cells, total: total?.cell ?? null };
  }
}

const misfit = (code, notes) => ({ asks: null, notes: [...notes, { kind: "misfit", code, facts: {}, choices: [] }] });

// Rows in the form of a question.
export function shaped(question, rows, context) {
  const { notes } = context,
    [first, second] = rows;
  switch (question) {
    case "count":
    case "hidden":
      if (rows.length > 1) return { ...misfit("one_number", notes), rows };
      if (first.of)
        notes.push({
          kind: "assumed",
          code: "of_unused",
          facts: { n: first.of.value },
          choices: [{ key: "question", value: "share" }],
        });
      return { rows, asks: asksOf(question, rows, {}) };
    case "share":
    case "rate":
      return partOf(question, rows, context);
    case "compare":
      return compared(rows, context);
    default:
      return summed(rows, context);
  }
}

// Are the numbers that shares are of rounded too, as far as one can see from them?
const ROUNDS = ["rounded", "random"];
const multiple = (value, { step, base }) => {
  const times = value / (step ?? base);
  return Number.isFinite(times) && Math.abs(times - Math.round(times)) < 1e-9;
};
const roundedToo = (ofs, printed) => {
  const step = printed.find(each => ROUNDS.includes(each.how));
  return step !== undefined && ofs.every(of => of.value === null || multiple(of.value, step));
};

function partOf(question, rows, { chosen, notes, facts, shared }) {
  const [first, second] = rows;
  const of = first.of ?? (rows.length === 2 ? { ...second, cell: second.cell } : null);
  if (first.of && rows.length > 1) return { ...misfit("one_share", notes), rows };
  if (rows.length > 2 || of === null)
    return { ...misfit(question === "share" ? "two_numbers" : "two_noisy_numbers", notes), rows };
  const share = question === "share",
    inLine = first.of !== null && share && !ownNoise(first.of, first),
    rounded = inLine && !facts.exactOf && !of.own && roundedToo([of], shared.printed),
    quiet = (first.noise ?? NONE).law === "none";
  const noisy = chosen.n_noisy ?? (facts.both || !share || !inLine || (rounded && quiet));
  const head = [{ ...first, of: null }];
  if (of.cell === null && of.value === null) return { rows: head, of, asks: null };
  const choice = value => ({ key: "n_noisy", value });
  if (inLine && rounded && !quiet && chosen.n_noisy === undefined)
    notes.push({ kind: "asked", code: "n_rounded", facts: { n: of.value }, choices: [false, true].map(choice) });
  else if (
    inLine &&
    chosen.n_noisy === undefined &&
    !noisy &&
    !facts.exactOf &&
    (!quiet || shared.printed.some(step => ROUNDS.includes(step.how)))
  )
    notes.push({ kind: "assumed", code: "n_exact", facts: { n: of.value }, choices: [choice(true)] });
  const exact = share && of.cell?.noise.law === "none" && of.cell.printed.length === 0;
  if (share && noisy && !exact)
    notes.push({
      kind: inLine && chosen.n_noisy === undefined && !facts.both ? "assumed" : "read",
      ...(quiet ? { code: "n_rounded_too" } : { code: "n_noisy" }),
      facts: { n: of.value },
      choices: chosen.n_noisy || (rounded && quiet) ? [choice(false)] : [],
    });
  const ofCell = noisy && !exact ? of.cell : null;
  if (ofCell && share && JSON.stringify(ofCell.printed) !== JSON.stringify(first.cell?.printed))
    notes.push({ kind: "asked", code: "n_printed", facts: { n: of.value }, choices: [] }); // Python has one statement for both
  if (!ofCell && share && (!Number.isInteger(of.value) || of.value < 1))
    return {
      rows: head,
      of,
      asks: null,
      notes: [...notes, { kind: "asked", code: "n_whole", facts: { n: of.value }, choices: [] }],
    };
  return { rows: head, of, asks: asksOf(question, head, { n: of.value, ofCell }) };
}

const ownNoise = (of, row) =>
  of.own ||
  (of.cell !== null &&
    row.cell !== null &&
    JSON.stringify(of.cell.noise) !== JSON.stringify(row.cell.noise) &&
    of.cell.noise.law !== "none");

function compared(rows, { chosen, notes, facts, shared }) {
  if (rows.length < 2) return { ...misfit("two_to_compare", notes), rows };
  const a = chosen.a ?? 0,
    b = chosen.b ?? 1,
    pair = [rows[a] ?? rows[0], rows[b] ?? rows[1]];
  if (rows.length > 2)
    notes.push({ kind: "assumed", code: "compared", facts: { a: pair[0].name, b: pair[1].name }, choices: [] });
  if (pair.some(row => row.of) && !pair.every(row => row.of))
    notes.push({ kind: "asked", code: "one_of", facts: {}, choices: [] });
  const sizes = pair.every(row => row.of) ? pair.map(row => row.of) : null,
    n = sizes && sizes.map(of => of.value);
  if (n && n.some(size => !Number.isInteger(size) || size < 1))
    return {
      rows: pair,
      all: rows,
      asks: null,
      notes: [
        ...notes,
        {
          kind: "asked",
          code: "n_whole",
          facts: { n: n.find(size => !Number.isInteger(size) || size < 1) },
          choices: [],
        },
      ],
    };
  if (n) sizesExact(sizes, pair, { chosen, notes, facts, shared });
  return { rows: pair, all: rows, n, asks: asksOf("compare", pair, { n }) };
}

// Shares are compared only where the numbers of people are exact: said, or asked, or taken with a note.
function sizesExact(sizes, pair, { chosen, notes, facts, shared }) {
  const [{ value: n }] = sizes,
    choice = value => ({ key: "n_noisy", value });
  const own = sizes.some(of => of.own && (of.cell?.noise.law !== "none" || of.cell.printed.length)),
    silent = sizes.every(of => of.own) || facts.exactOf;
  if (own || facts.both || chosen.n_noisy === true)
    notes.push({ kind: "asked", code: "sizes_noisy", facts: {}, choices: own || facts.both ? [] : [choice(false)] });
  else if (silent || chosen.n_noisy === false) return;
  else if (roundedToo(sizes, shared.printed))
    notes.push({ kind: "asked", code: "n_rounded", facts: { n }, choices: [false, true].map(choice) });
  else if (pair.some(row => row.noise && row.noise.law !== "none") || shared.printed.some(step => ROUNDS.includes(step.how)))
    notes.push({ kind: "assumed", code: "n_exact", facts: { n }, choices: [choice(true)] });
}

function summed(rows, { chosen, notes, facts }) {
  if (rows.length < 2) return { ...misfit("two_cells", notes), rows };
  const at = rows.length > 2 ? [rows.length - 1, 0].find(k => TOTAL.test(rows[k].name ?? "")) : undefined;
  const total = chosen.total === false ? undefined : chosen.total === true ? (at ?? rows.length - 1) : at;
  if (total !== undefined)
    notes.push({
      kind: "read",
      code: "total",
      facts: { name: rows[total].name },
      choices: [{ key: "total", value: false }],
    });
  else if (rows.length > 2)
    notes.push({
      kind: "read",
      code: "no_total",
      facts: { name: rows.at(-1).name },
      choices: [{ key: "total", value: true }],
    });
  const cells = rows.filter((_, k) => k !== total),
    sums = cells.filter(row => SUMS.test(row.name ?? ""));
  if (sums.length && sums.length < cells.length && !chosen.sums && chosen.total !== false)
    notes.push({ kind: "asked", code: "sums", facts: { name: sums[0].name }, choices: [{ key: "sums", value: true }] });
  const
    [parted] = rows.filter(row => row.of);
  if (parted)
    notes.push({
      kind: "assumed",
      code: "of_unused",
      facts: { n: parted.of.value },
      choices: [{ key: "question", value: "compare" }],
    });
  let sum = total === undefined ? null : rows[total];
  if (sum && facts.exactOf && sum.value !== null)
    sum = { ...sum, noise: NONE, cell: { value: sum.value, noise: { law: "none", size: 0, whole: false }, printed: [] } };
  return { rows: cells, total: sum, asks: asksOf("table", cells, { total: sum }) };
}
