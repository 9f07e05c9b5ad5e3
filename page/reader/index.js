// From what was pasted, typed or dropped to one of six questions: `read`. It never guesses in silence: each thing that was
// taken, asked or left aside is a note { kind, code, facts, choices }, whose words are in strings.js.
// A choice { key, value } goes into `chosen` when it is taken, and the text is read again.

import { NUMBER, decimalOf } from "./numbers.js";
import { footnote, isFiller, said } from "./footnote.js";
import { noiseOf } from "./noise.js";
import { MOST_LINES, NOISE, dataLike, ownFootnotes, printedValue, rows as rowsOf } from "./lines.js";
import { Damaged } from "./json.js";
import { opened, questionOf } from "./release.js";

export const QUESTIONS = ["count", "share", "rate", "compare", "table", "hidden"];
export const MOST_CHARACTERS = 50000; // of a text that is no release file
const TOTAL =
  /^(?:(?:grand |sub)?totals?|all|sum|overall|together|everyone|gesamt|summe|insgesamt|alle|zusammen)(?![\p{L}])/iu;
const SIZE = /^(?:n|of|out of|total|population|denominator|base|all|whole)$/iu;

export function read(text, { question = null, chosen = {} } = {}) {
  const typed = String(text)
    .replace(/\r\n?/gu, "\n")
    .replace(/(?<=^|[\s\d])\[(?:\d{1,2}|[a-z*])\](?=\s|$)/gmu, sign => " ".repeat(sign.length)) // marks of footnotes
    .replace(/^(\s*\d[\d.,]*)(\s*)\*+(?=\s|$)/gmu, "$1$2 ")
    .replace(/^(\s*)\*+(?=\s*\p{L})(?!\s*(?:means?|stands?|indicates?|is|bedeutet)\s)/gmu, "$1 ")
    .replace(/^\ufeff/u, "");
  if (typed.trim() === "") return empty();
  if (/^\s*\{/u.test(typed)) return ofFile(typed);
  if (typed.length > MOST_CHARACTERS) return stopped("refused", "too_long", { characters: typed.length });
  return ofText(typed.replace(/[\u0001-\u0003]/gu, " "), question, chosen);
}

const empty = () => ({ kind: "empty", question: null, asks: null, notes: [], rows: [], footnote: null });
const stopped = (kind, code, facts = {}) => ({
  ...empty(),
  kind: "refused",
  notes: [{ kind, code, facts, choices: [] }],
});

// A release file.
function ofFile(text) {
  let release;
  try {
    release = opened(text);
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    return stopped("refused", error.code, error.facts);
  }
  const found = questionOf(release);
  const notes = [
    {
      kind: "read",
      code: "seal",
      facts: { source: release.source, simulated: release.simulated, declared: release.declared },
      choices: [],
    },
  ];
  if (found.cannot) {
    return {
      ...empty(),
      kind: "file",
      release,
      notes: [...notes, { kind: "refused", code: `cannot_${found.cannot}`, facts: found.facts, choices: [] }],
    };
  }
  if (found.note) notes.push({ kind: "assumed", code: found.note, facts: {}, choices: [] });
  const rows = found.rows.map(row => ({ name: row.name, shown: row.value, noise: row.noise, cell: cellOf(row) }));
  const total = found.total
    ? { name: found.total.name, shown: found.total.value, noise: found.total.noise, cell: cellOf(found.total) }
    : null;
  return {
    kind: "file",
    release,
    question: found.question,
    rows,
    notes,
    footnote: null,
    total,
    noise: rows[0].noise,
    printed: rows[0].cell.printed,
    source: release.source,
    asks: asksOf(found.question, rows, { n: found.n ?? null, total }),
  };
}

const cellOf = ({ value, noise, printed }) => ({
  value,
  noise: { law: noise.law, size: noise.size, whole: noise.whole },
  printed,
});

// What is asked of the engine.
function asksOf(question, rows, { n, ofCell = null, total }) {
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

function ofText(text, question, chosen) {
  const notes = [];
  const decimal = chosen.decimal ?? decimalOf(evidence(text));
  const { text: marked, owns } = ownFootnotes(text, decimal);
  const { facts, rest } = footnote(marked, decimal);
  const found = rowsOf(rest, owns);
  if (found.torn)
    return {
      ...empty(),
      kind: "text",
      footnote: facts,
      notes: [{ kind: "asked", code: "torn", facts: { line: found.torn.replace(/\u0001+/gu, " ") }, choices: [] }],
    };
  const table = found.columns ? ofColumns(found, chosen, notes, facts) : withoutYears(found.rows, chosen, notes);
  const units = table.flatMap(row => [row.unit, row.of?.unit]).filter(unit => unit && NOISE.test(unit.replace(/(?<!\p{L})per \p{L}+/giu, "")) && !isFiller(unit));
  notes.push(...unread([...found.left, ...new Set(units)], chosen));
  const left = (what, k, all) => all.indexOf(what) === k && !(chosen.leave && ["percent", "random"].includes(what));
  for (const what of facts.beyond.filter(left))
    notes.push({ kind: "asked", code: `beyond_${what}`, facts: {}, choices: [] });
  for (const what of facts.lacks) notes.push({ kind: "asked", code: `lacks_${what}`, facts: {}, choices: [] });
  if (table.length === 0 && !found.columns) table.push(...picked(found.left, chosen, notes));
  if (table.length === 0)
    return {
      ...empty(),
      kind: "text",
      footnote: facts,
      notes: notes.some(note => note.code === "found")
        ? notes
        : [...notes, { kind: "asked", code: "no_number", facts: {}, choices: [] }],
    };
  if (table.length > MOST_LINES) return { ...stopped("refused", "many_lines", { lines: table.length }), kind: "text" };
  return ofRows(table, facts, { question, chosen, notes, decimal, headed: Boolean(found.columns?.[0].name) });
}

// The numbers that may show which sign stands before the parts of a whole: not those between the commas of a table.
const evidence = text =>
  text
    .split("\n")
    .filter(line => !/(?:^|[^\d\s]),\d+,\d|^\s*\d+,\d+\s*$/u.test(line))
    .join("\n")
    .replace(/(?<=[\p{L}"]),(?=\d)/gu, ", ")
    .match(new RegExp(NUMBER, "giu")) ?? [];

// Numbers in lines that are no data, where there is no other: which is meant is asked.
function picked(left, chosen, notes) {
  if (left.filter(line => /\d/u.test(line)).length > 1) return [];
  const all = left.join("\n").match(new RegExp(`(?<![\\p{L}\\d.,-])${NUMBER}(?![\\p{L}\\d%]|\\s*%)`, "giu")) ?? [];
  const numbers = [...new Set(all.map(each => each.trim()))].slice(0, 6);
  const at = notes.findIndex(note => note.code === "left_data");
  if (numbers.includes(chosen.pick)) {
    if (at >= 0) notes[at] = { ...notes[at], kind: "assumed", code: "left", choices: [] };
    return [{ name: null, shown: chosen.pick, own: null, unit: null, of: null }];
  }
  if (numbers.length && at >= 0)
    notes[at] = {
      kind: "asked",
      code: "found",
      facts: { numbers },
      choices: numbers.map(value => ({ key: "pick", value })),
    };
  return [];
}

// Census 2021, beside other numbers, is asked about.
function withoutYears(rows, chosen, notes) {
  const years = rows.filter(row => row.year);
  if (years.length === 0 || years.length === rows.length || chosen.year === "count") return rows;
  if (chosen.year === "year") return rows.filter(row => !row.year);
  notes.push({
    kind: "asked",
    code: "year",
    facts: { name: years[0].name, shown: years[0].shown },
    choices: ["year", "count"].map(value => ({ key: "year", value })),
  });
  return rows;
}

const cellLike = line =>
  line.split(/\s+/u).length <= 4 && !/(?<!\d)(?:19|20)\d\d$/u.test(line) && /(?:\d|[*…–—-]|\.\.|\s\(?[a-z]\)?)$/iu.test(line);

// Lines that were not understood: one that looks like data, or speaks of noise, stops the answer until it is left out.
function unread(left, chosen) {
  const out = [];
  const said = lines => ({
    lines: lines.slice(0, 5).map(line => line.slice(0, 120)),
    more: Math.max(0, lines.length - 5),
  });
  const data = left.filter(line => dataLike(line) && !NOISE.test(line)),
    noise = left.filter(line => NOISE.test(line));
  const grave = [...data, ...noise],
    key = grave.join("\n"),
    choices = data.some(line => cellLike(line)) ? [] : [{ key: "leave", value: key }]; // a cell is not to be left out
  const light = chosen.leave === key ? left : left.filter(line => !grave.includes(line));
  if (data.length && chosen.leave !== key)
    out.push({ kind: "asked", code: "left_data", facts: said(data), choices: noise.length ? [] : choices });
  if (noise.length && chosen.leave !== key)
    out.push({ kind: "asked", code: "left_noise", facts: said(noise), choices });
  if (light.length) out.push({ kind: "assumed", code: "left", facts: said(light), choices: [] });
  return out;
}

// The first of columns that all hold numbers, where it names the rows: its heading says so, or it is asked about.
const LABEL =
  /^(?:years?|ages?|age[ _-]?(?:groups?|bands?)|dates?|months?|quarters?|weeks?|days?|ids?|codes?|rows?|areas?|regions?|wards?|districts?|tracts?|zips?|postcodes?|groups?|categor(?:y|ies)|names?|class(?:es)?|bands?|levels?|grades?|jahr|alter|monat|gebiet)$/iu;
const COUNT =
  /^(?:n|counts?|numbers?|values?|people|persons|cases|deaths|births|total|population|noisy[ _]?(?:counts?|values?)?|published|printed|anzahl|part|yes|sd|std|scale|moe)$/iu;
function labels(columns, chosen, notes) {
  const [first] = columns;
  if (columns.length < 2 || first.name === null) return null;
  if (LABEL.test(first.name)) return first;
  if (chosen.labels !== undefined) return chosen.labels ? first : null;
  if (COUNT.test(first.name)) return null;
  notes.push({
    kind: "asked",
    code: "labels",
    facts: { name: first.name },
    choices: [true, false].map(value => ({ key: "labels", value })),
  });
  return first;
}

// The noise of one row of a column of margins of error; its law, and how sure it is, stand in the footnote of all.
const within = (error, { laws, whole, confidences }) => ({
  ...footnote(`± ${error}`).facts,
  laws,
  whole,
  confidences,
});

// Columns of a table as rows.
function ofColumns({ columns }, chosen, notes, facts) {
  const names = columns.find(c => !c.numbers) ?? labels(columns, chosen, notes),
    numbers = columns.filter(c => c.numbers && c !== names);
  const called = pattern => numbers.find(c => c.name !== null && pattern.test(c.name));
  const scale = called(/^(?:laplace[_ ])?scale$/iu),
    sd = called(/^(?:sd|std|standard deviation|noise[_ ]sd)$/iu);
  const moe = called(/^(?:moe|margins?[ _]of[ _]error|me|±|\+\/-|error)(?: \(\d+ ?%\))?$/iu);
  const rest = numbers.filter(c => c !== scale && c !== sd && c !== moe);
  let n = rest.length > 1 ? (rest.find(c => c.name !== null && SIZE.test(c.name)) ?? null) : null;
  if (n === null && rest.length === 2 && columns.every(c => c.name === null)) {
    if (chosen.of !== false) n = rest[1];
    if (chosen.of === undefined)
      notes.push({
        kind: "asked",
        code: "headless",
        facts: { part: rest[0].values[0], whole: rest[1].values[0] },
        choices: [true, false].map(value => ({ key: "of", value })),
      });
  }
  const values = rest.filter(c => c !== n);
  if (values.length === 0) return [];
  const value = values[chosen.column ?? 0] ?? values[0];
  if (values.length > 1)
    notes.push({
      kind: "assumed",
      code: "column",
      facts: { name: value.name },
      choices: values
        .map((c, k) => ({ key: "column", value: k, facts: { name: c.name } }))
        .filter(c => c.value !== values.indexOf(value)),
    });
  return value.values.map((shown, i) => {
    const own = scale
      ? footnote(`Laplace scale ${scale.values[i]}`).facts
      : sd
        ? footnote(`Gaussian sd ${sd.values[i]}`).facts
        : moe
          ? within(moe.values[i], facts)
          : null;
    return {
      name: names?.values[i].replace(/\u0001+/gu, " ") || null,
      shown,
      own,
      unit: null,
      of: n ? { shown: n.values[i], own: null, unit: null } : null,
    };
  });
}

function ofRows(table, facts, { question, chosen, notes, decimal, headed }) {
  const likely = headed && table.length > 1 && !table[0].of ? "table" : suggested(table, facts);
  const asked = question ?? likely;
  const own = table.some(row => row.own || row.of?.own);
  const context = { facts, chosen, notes, decimal, shared: sharedFootnote(table, facts, chosen, notes) };
  const rows = table.map(row => rowOf(row, context));
  const either = [...facts.either, ...rows.flatMap(row => (row.either ? [row.either] : []))];
  if (either.length)
    notes.unshift({
      kind: "asked",
      code: "either",
      facts: either[0],
      choices: [
        { key: "decimal", value: either[0].either.includes(",") ? "." : ",", facts: { value: either[0].thousands } },
        { key: "decimal", value: either[0].either.includes(",") ? "," : ".", facts: { value: either[0].part } },
      ],
    });
  const reading = {
    kind: "text",
    question: asked,
    suggested: likely,
    footnote: facts,
    source: facts.source,
    own,
    noise: context.shared.noise,
    printed: context.shared.printed,
    notes,
    decimal,
  };
  return { ...reading, ...shaped(asked, rows, context) };
}

function suggested(table, facts) {
  const [first, second] = table;
  if (table.length === 1 && first.of) return facts.both || (first.of.own && !first.of.own.none) ? "rate" : "share";
  if (table.length === 1)
    return /^[-−]?[\d.,\s]+$/u.test(first.shown) && facts.printed.length === 0 ? "count" : "hidden";
  if (table.length === 2) return second.name && TOTAL.test(second.name) ? "rate" : "compare";
  return "table";
}

// The footnote of all numbers that have none of their own.
function sharedFootnote(table, facts, chosen, notes) {
  const all = table.every(row => row.own && (!row.of || row.of.own));
  const selfSaid = table.every(row => /[<>≤≥+–]|\d\s*-\s*\d|or (?:fewer|less|more)|than|under|below/iu.test(row.shown));
  if (all && !said(facts) && !chosen.noise) return { noise: null, printed: [], marked: null };
  const { noise, notes: more } = noiseOf({ ...facts, selfSaid }, chosen);
  notes.push(...more);
  return { noise, printed: printedOf(facts, chosen, notes), marked: facts.marked };
}

function printedOf(facts, chosen, notes) {
  if (chosen.printed) return chosen.printed;
  const steps = facts.printed
    .map(({ at, ...step }) => step)
    .filter((step, k, all) => all.findIndex(other => JSON.stringify(other) === JSON.stringify(step)) === k);
  if (facts.bases)
    notes.push({
      kind: "asked",
      code: "bases",
      facts: {},
      choices: facts.bases.map(base => {
        const value = [...steps, { how: "random", base }];
        return { key: "printed", value, facts: { printed: value } };
      }),
    });
  if (steps.some(step => Object.values(step).some(v => Number.isNaN(v)))) return [];
  const round = steps.findIndex(step => step.how === "rounded" || step.how === "random"),
    hide = steps.findIndex(step => step.how === "hidden");
  if (round >= 0 && hide >= 0) {
    const turned = [...steps];
    [turned[round], turned[hide]] = [turned[hide], turned[round]];
    notes.push({
      kind: "assumed",
      code: "order",
      facts: { printed: steps },
      choices: [{ key: "printed", value: turned, facts: { printed: turned } }],
    });
  }
  return steps;
}

function rowOf(row, context) {
  const thousands = context.decimal === null && /^[1-9]\d{0,2}([.,])\d{3}$/u.exec(row.of?.shown.trim() ?? "");
  const sign = thousands && { ".": ",", ",": "." }[thousands[1]]; // 1,250 of 45,000: what it is of is whole
  const main = numberOf(row.shown, row.own, sign ? { ...context, decimal: sign } : context);
  const ofValue = row.of ? numberOf(row.of.shown, row.of.own, context, true) : null;
  return {
    name: row.name ?? null,
    unit: row.unit ?? row.of?.unit ?? null,
    shown: row.shown,
    ...main,
    of: ofValue,
    either: main.either ?? ofValue?.either ?? null,
  };
}

// A printed number with its footnote: { cell, noise, value } (cell null: something is not known), or { either }.
function numberOf(shown, own, { facts, chosen, notes, decimal, shared }, size = false) {
  let { noise, printed, marked } = shared;
  if (own) {
    if (speaksOfNoise(own)) {
      const mine = noiseOf(own, own.interval && chosen.noise ? { noise: chosen.noise } : ofAll(chosen));
      notes.push(...mine.notes.filter(note => !notes.some(other => other.code === note.code)));
      noise = mine.noise;
    }
    printed = own.printed.length || own.none ? printedOf(own, {}, notes) : printed;
    marked = own.marked ?? marked;
  }
  const whole = size || noise === null || noise.law === "none" || noise.whole;
  const found = printedValue(shown, { decimal, whole });
  if (found === null) return { cell: null, noise, value: null };
  if (found.either) return { cell: null, noise, value: null, either: found };
  if (found.mark) {
    const hides = marked
      ? [marked]
      : chosen.mark
        ? [{ how: "hidden", below: chosen.mark }]
        : printed.some(step => step.how === "hidden")
          ? printed
          : null;
    if (hides === null) {
      if (!notes.some(note => note.code === "mark"))
        notes.push({
          kind: "asked",
          code: "mark",
          facts: { mark: shown },
          choices: [5, 10].map(value => ({ key: "mark", value })),
        });
      return { cell: null, noise, value: null, hidden: true };
    }
    return { cell: noise && cellOf({ value: null, noise, printed: hides }), noise, value: null, hidden: true };
  }
  const steps = found.printed ? withRounding(found.printed, printed, chosen, notes) : printed;
  return {
    cell: noise && cellOf({ value: found.value, noise, printed: steps }),
    noise,
    value: found.value,
    said: found.printed ? true : undefined,
  };
}

// <10 under a footnote that rounds: which of both came first matters.
function withRounding(said, printed, chosen, notes) {
  const round = printed.filter(step => step.how === "rounded" || step.how === "random");
  if (round.length === 0) return said;
  const hidden = said[0].how === "hidden"; // what was hidden is not rounded any more
  const first = hidden ? [...said, ...round] : said,
    last = [...round, ...said];
  const before = chosen.order === "rounded";
  if (!notes.some(note => note.code === "order"))
    notes.push({
      kind: "assumed",
      code: "order",
      facts: { printed: before ? last : first },
      choices: [
        before
          ? { key: "order", value: "hidden", facts: { printed: first } }
          : { key: "order", value: "rounded", facts: { printed: last } },
      ],
    });
  return before ? last : first;
}

const ofAll = ({ law, confidence }) => ({ ...(law && { law }), ...(confidence && { confidence }) });
const speaksOfNoise = own => own.laws.size || own.sizes.length || own.epsilon !== null || own.rho !== null || own.none || own.interval !== null;

const misfit = (code, notes) => ({ asks: null, notes: [...notes, { kind: "misfit", code, facts: {}, choices: [] }] });

// Rows in the form of a question.
function shaped(question, rows, context) {
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

function partOf(question, rows, { chosen, notes }) {
  const [first, second] = rows;
  const of = first.of ?? (rows.length === 2 ? { ...second, cell: second.cell } : null);
  if (rows.length > 2 || of === null)
    return { ...misfit(question === "share" ? "two_numbers" : "two_noisy_numbers", notes), rows };
  const exactOf = first.of !== null && !ownNoise(first.of, first) && question === "share";
  const noisy = chosen.n_noisy ?? (question === "rate" || !exactOf);
  const head = [{ ...first, of: null }];
  if (of.cell === null && of.value === null) return { rows: head, of, asks: null };
  if (question === "share" && chosen.n_noisy === undefined && exactOf && first.noise && first.noise.law !== "none") {
    notes.push({
      kind: "assumed",
      code: "n_exact",
      facts: { n: of.value },
      choices: [{ key: "n_noisy", value: true }],
    });
  }
  if (question === "share" && noisy)
    notes.push({
      kind: "read",
      code: "n_noisy",
      facts: { n: of.value },
      choices: chosen.n_noisy ? [{ key: "n_noisy", value: false }] : [],
    });
  const ofCell = noisy ? of.cell : null;
  const exact = question === "share" && of.cell?.noise.law === "none" && of.cell.printed.length === 0;
  if (!noisy && !Number.isInteger(of.value))
    return {
      rows: head,
      of,
      asks: null,
      notes: [...notes, { kind: "asked", code: "n_whole", facts: { n: of.value }, choices: [] }],
    };
  return { rows: head, of, asks: asksOf(question, head, { n: of.value, ofCell: exact ? null : ofCell }) };
}

const ownNoise = (of, row) =>
  of.cell !== null &&
  row.cell !== null &&
  JSON.stringify(of.cell.noise) !== JSON.stringify(row.cell.noise) &&
  of.cell.noise.law !== "none";

function compared(rows, { chosen, notes }) {
  if (rows.length < 2) return { ...misfit("two_to_compare", notes), rows };
  const a = chosen.a ?? 0,
    b = chosen.b ?? 1,
    pair = [rows[a] ?? rows[0], rows[b] ?? rows[1]];
  if (rows.length > 2)
    notes.push({ kind: "assumed", code: "compared", facts: { a: pair[0].name, b: pair[1].name }, choices: [] });
  const n = pair.every(row => row.of) ? pair.map(row => row.of.value) : null;
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
  return { rows: pair, all: rows, n, asks: asksOf("compare", pair, { n }) };
}

function summed(rows, { chosen, notes }) {
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
  const cells = rows.filter((_, k) => k !== total);
  return {
    rows: cells,
    total: total === undefined ? null : rows[total],
    asks: asksOf("table", cells, { total: total === undefined ? null : rows[total] }),
  };
}
