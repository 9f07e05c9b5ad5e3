// From what was pasted, typed or dropped to one of six questions: `read`. It never guesses in silence: each thing that was
// taken, asked or left aside is a note { kind, code, facts, choices }, whose words are in strings.js.
// A choice { key, value } goes into `chosen` when it is taken, and the text is read again.

import { NUMBER, decimalOf, hasBlanks, written } from "./numbers.js";
import { footnote, isFiller, said } from "./footnote.js";
import { NONE, noiseOf } from "./noise.js";
import { SHORT, endsInDenial, isAmount, isAnother, isNoCount, namesNoCount, namesShort, orderMatters } from "./doubts.js";
import { ofColumns } from "./columns.js";
import { MOST_LINES, NOISE, dataLike, ownFootnotes, printedValue, rows as rowsOf } from "./lines.js";
import { Damaged } from "./json.js";
import { TOTAL, asksOf, shaped } from "./questions.js";
import { opened, questionOf } from "./release.js";

export const QUESTIONS = ["count", "share", "rate", "compare", "table", "hidden"];
export const MOST_CHARACTERS = 50000; // of a text that is no release file
const FAR_TOO_MANY = 4 * MOST_CHARACTERS; // blanks included: not even looked at

// home: the sign before the parts of a whole in the reader's own language, blanks: whether blanks stand between thousands
// there; they settle what nothing else does, but not how large the noise is.
export function read(text, { question = null, chosen = {}, home = null, blanks = false } = {}) {
  if (/^\s*\{/u.test(text)) return ofFile(String(text).replace(/^\ufeff/u, ""), question, chosen);
  if (text.length > FAR_TOO_MANY) return text.trim() === "" ? empty() : stopped("refused", "too_long", { characters: text.length });
  const pasted = written(String(text)).replace(/\r\n?/gu, "\n"),
    marks = marksOf(pasted);
  const typed = pasted
    .replace(/^(?!\s)([^\d\n]{1,120}?) \[([a-z])\][ \t]*$/gmu, (_, name, sign) => `${name} ${/[cxsd]/u.test(sign) ? `(${sign})` : "*"}`) // Oak [c]
    .replace(/^[ \t]*\[([cxsd])\](?=[ \t]*(?:=|:|means?|stands? for|indicates?|is|bedeutet)[ \t])/gmu, " $1 ")
    .replace(/(?<=^|[\s\d])\[(?:\d{1,2}|[a-z*])\](?=\s|$)/gmu, sign => " ".repeat(sign.length)) // marks of footnotes
    .replace(/[ \u00a0\u2009\u202f]{3,}/gu, "  ") // so that no rule takes long over what says nothing
    .replace(/([\t ;|])[\t ;|]{40,}/gu, "$1 ")
    .replace(/(?:[ \t]*\n){3,}/gu, "\n\n")
    .replace(/^(\s*\d[\d.,]*)(\s*)\*+(?=\s|$)/gmu, "$1$2 ")
    .replace(/^([ \t]*)\*+(?=[ \t]*\p{L})(?!\s*(?:means?|stands?|indicates?|is|bedeutet)\s)/gmu, "$1 ")
    .replace(/^\ufeff/u, "")
    .replace(/^sep=.\n/iu, "")
    .replace(/^[ \t]*\|(.*)\|[ \t]*$/gmu, "$1") // tables of Markdown
    .replace(/^[ \t]*:?-{2,}:?(?:[ \t]*\|[ \t]*:?-{2,}:?)*[ \t]*$/gmu, "")
    .replace(/^(?=[^]*(?:±|\+\/?[-−]))[^]*$/u, all => all.replace(SURE_ALONE, "$& confidence"))
    .replace(WITH_PERCENT, (all, head, part, whole, percent) => (isPercent(part, whole, percent) ? head : all));
  if (typed.trim() === "") return empty();
  if (typed.length > MOST_CHARACTERS) return stopped("refused", "too_long", { characters: typed.length });
  const plain = typed.replace(/[\u0001-\u0003]/gu, " "),
    shown = decimalOf(evidence(plain)),
    torn = home !== null && shown !== null && shown !== home, // the text writes its numbers otherwise than the reader
    readWith = more => ofText(plain, question, { ...chosen, ...more }, torn && THOUSANDS[home].test(plain) ? null : shown, marks, home);
  const found = readWith({}),
    gap = found.notes.find(note => note.code === "blank");
  if (gap && blanks && gap.facts.all.length === 1 && found.alone)
    return atHome(readWith({ blank: true }), gap, []);
  const doubt = found.notes.find(note => note.code === "either");
  if (!doubt || home === null || torn || chosen.decimal || doubt.facts.all.some(shown => shown.includes(home))) return found;
  if (doubt.facts.unsure) return found; // scale 2.000 or ε = 1,000, in every language
  return atHome(
    readWith({ decimal: home }),
    doubt,
    doubt.choices.filter(choice => choice.value !== home),
  );
}

// A reading in which a doubt was settled by the reader's language.
function atHome(settled, { facts }, choices) {
  settled.notes.unshift({ kind: "assumed", code: "home", facts, choices });
  return settled;
}

// Marks of footnotes, [1] or a star, behind numbers: in how many lines, and which; none where no marked line speaks of noise.
// A ± behind one number alone is such a mark too: 131 vs 124 ± 16.
function marksOf(text) {
  const errors = [...text.matchAll(/\d[ \t]*((?:±|\+\/[-−])[ \t]*\d[\d.,]*)/gu)];
  if (errors.length === 1) return { lines: 1, signs: 1, mark: errors[0][1] };
  const spots = [],
    lines = text.split("\n"),
    marked = lines.filter(line => line.length <= 400 && /^\s*(?:\[(?:\d{1,2}|[a-z*])\]|\*+)\s*\p{L}/u.test(line)).slice(0, MOST_LINES);
  if (!marked.some(line => said(footnote(line).facts))) return null;
  for (const line of lines) {
    const mark = /\d\s*(\[(?:\d{1,2}|[a-z*])\])(?=\s|$)/u.exec(line) ?? /^\s*\d[\d.,]*\s*(\*+)(?=\s|$)/u.exec(line);
    if (mark) spots.push(mark[1]);
  }
  return { lines: spots.length, signs: new Set(spots).size, mark: spots[0] };
}

// A number that a reader takes for thousands, by the sign before the parts of a whole.
const THOUSANDS = { ".": /(?<![\d.,])[1-9]\d{0,2},\d{3}(?![\d.,]*\d)/u, ",": /(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,]*\d)/u };

// How sure a ± is, in a line that has no other number: 95% | Gaussian, 95% | 95% Laplace noise
const WITH = "[ \\t.,;:()]*(?:(?:gaussian|normal|laplace)?[ \\t.,;:()]*(?:noise)?)[ \\t.,;:()]*",
  SURE_ALONE = new RegExp(`(?<=^${WITH})(?:68|80|90|95|98|99)(?:[.,]\\d{1,2})? ?%(?=${WITH}$)`, "gimu");

// 118 of 290 complaints (40.7%): the percentage says the same again.
const WITH_PERCENT = /((?<![\d.,])(\d{1,12}) (?:of|out of|von) (\d{1,12})(?: \p{L}+){0,3}) ?\((\d{1,3}(?:[.,]\d{1,4})?) ?%\)/gu;
const isPercent = (part, whole, percent) => {
  const digits = /[.,](\d+)$/u.exec(percent)?.[1].length ?? 0;
  return Math.abs((100 * part) / whole - Number(percent.replace(",", "."))) <= 0.51 * 10 ** -digits;
};

const empty = () => ({ kind: "empty", question: null, asks: null, notes: [], rows: [], footnote: null });
const stopped = (kind, code, facts = {}) => ({
  ...empty(),
  kind: "refused",
  notes: [{ kind, code, facts, choices: [] }],
});

// A release file.
function ofFile(text, question, chosen) {
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
  const rowOfFile = row => ({
    name: row.name,
    shown: row.value,
    value: row.value,
    noise: row.noise,
    cell: cellOf(row),
    ...(row.unprinted && { unprinted: true }),
  });
  const rows = found.rows.map(rowOfFile),
    total = found.total ? rowOfFile(found.total) : null,
    of = found.of ? { ...rowOfFile(found.of), name: null } : null;
  if (question !== null && question !== found.question) return ofFileAs(question, { release, found, rows, of, notes, chosen });
  return {
    kind: "file",
    release,
    question: found.question,
    suggested: found.question,
    rows,
    notes,
    footnote: null,
    total,
    ...(of && { of }),
    noise: rows[0].noise,
    printed: rows[0].cell.printed,
    source: release.source,
    asks: asksOf(found.question, rows, { n: found.n ?? null, ofCell: of?.cell ?? null, total }),
  };
}

// A release file, asked another question than its own: with its numbers, as far as they fit.
function ofFileAs(question, { release, found, rows, of, notes, chosen }) {
  const size = k => (Array.isArray(found.n) ? found.n[k] : found.n),
    exact = value => ({ value, noise: NONE, cell: cellOf({ value, noise: NONE, printed: [] }), own: true });
  const parted = rows.map((row, k) => ({ ...row, of: of ?? (found.n == null ? null : exact(size(k))) }));
  const context = { chosen, notes, facts: {}, shared: { printed: rows[0].cell.printed } };
  const reading = {
    kind: "file",
    release,
    other: true,
    question,
    suggested: found.question,
    notes,
    footnote: null,
    noise: rows[0].noise,
    printed: rows[0].cell.printed,
    source: release.source,
  };
  const alone = ["share", "rate"].includes(question) && parted[0].of === null; // its cells are no parts of each other
  return { ...reading, ...shaped(question, alone ? parted.slice(0, 1) : parted, context) };
}

const cellOf = ({ value, noise, printed }) => ({
  value,
  noise: { law: noise.law, size: noise.size, whole: noise.whole },
  printed,
});

function ofText(text, question, chosen, shown, marks, home) {
  const decimal = chosen.decimal ?? shown,
    blank = chosen.blank ?? hasBlanks(text),
    aside = ownFootnotes(text, decimal, blank),
    reading = ofMarked(text, aside, { decimal, blank }, question, chosen, marks, home);
  const again = said => (Array.isArray(said) ? said.map(again) : typeof said === "string" ? said.replace(ASIDE, (_, k) => aside.owns[k].typed) : said);
  for (const note of reading.notes) note.facts = Object.fromEntries(Object.entries(note.facts).map(([key, said]) => [key, again(said)]));
  return reading;
}
const ASIDE = /\u0002(\d+)\u0003/gu; // a footnote of its own, which people read as it was typed

function ofMarked(text, { text: marked, owns }, { decimal, blank }, question, chosen, marks, home) {
  const notes = [];
  const { facts, rest } = footnote(marked, decimal, blank);
  const found = rowsOf(rest, owns);
  if (found.torn)
    return {
      ...empty(),
      kind: "text",
      footnote: facts,
      notes: [{ kind: "asked", code: "torn", facts: { line: found.torn.replace(/\u0001+/gu, " ") }, choices: [] }],
    };
  const table = found.columns ? ofColumns(found, chosen, notes, facts, decimal) : withoutYears(found.rows, chosen, notes);
  slashes(table, chosen, notes);
  doubts(table, found, facts, chosen, notes);
  if (marks?.lines && table.length > 1 && (marks.lines < table.length || marks.signs > 1) && !chosen.marks)
    notes.push({ kind: "asked", code: "marks", facts: { mark: marks.mark }, choices: [{ key: "marks", value: true }] });
  const left = (what, k, all) => all.indexOf(what) === k && !(chosen.leave && ["percent", "random"].includes(what));
  for (const what of facts.beyond.filter(left))
    notes.push({ kind: "asked", code: `beyond_${what}`, facts: {}, choices: [] });
  for (const what of facts.lacks) notes.push({ kind: "asked", code: `lacks_${what}`, facts: {}, choices: [] });
  if (table.length === 0 && !found.columns) table.push(...picked(found.left, chosen, notes, question));
  if (table.length === 0)
    return {
      ...empty(),
      kind: "text",
      footnote: facts,
      notes: notes.some(note => note.code.startsWith("found"))
        ? notes
        : [...notes, { kind: "asked", code: "no_number", facts: {}, choices: [] }],
    };
  if (table.length > MOST_LINES) return { ...stopped("refused", "many_lines", { lines: table.length }), kind: "text" };
  const data = new Set(table.flatMap(row => [row.shown, row.of?.shown])),
    lists = home !== "," && !chosen.decimal && decimalOf(evidence(text).filter(each => !data.has(each))) !== ",";
  return ofRows(table, facts, { question, chosen, notes, decimal, blank, lists, headed: Boolean(found.columns?.[0].name) });
}

// 312/2021: of 2021, or in it?
function slashes(table, chosen, notes) {
  const slashed = table.filter(row => row.slashed);
  if (chosen.slash === "year") for (const row of slashed) row.of = null;
  else if (slashed.length && !chosen.slash)
    notes.push({
      kind: "asked",
      code: "slash",
      facts: { shown: slashed[0].slashed },
      choices: [{ key: "slash", value: "of" }, ...(YEARLY.test(slashed[0].of.shown) ? [{ key: "slash", value: "year" }] : [])],
    });
}
const YEARLY = /^(?:19|20)\d\d$/u;

// The name of some of the rows, or of a column that is not asked about, in a line beside a footnote: Elm: Laplace, scale 2.
function ofSome(table, { beside = [], others = [] }) {
  const words = text => ` ${text ?? ""} `.toLowerCase().split(/[^\p{L}\p{N}]+/u).join(" "),
    names = table.slice(0, MOST_LINES).map(row => words(row.name)),
    lines = [...new Set(beside)].filter(line => line.length <= 400).slice(0, MOST_LINES);
  return lines.filter(line => {
    const said = words(line),
      holds = name => name.length > 2 && name !== " a " && said.includes(name);
    return (names.some(holds) && !names.every(holds)) || others.map(words).some(holds);
  });
}

// What stops the answer although it was read: numbers in short or cut short, words that deny, an order of steps.
function doubts(table, found, facts, chosen, notes) {
  const units = table.flatMap(row => [row.unit, row.of?.unit]).filter(unit => unit);
  const short = table.flatMap(row => [row, row.of ?? {}]).filter(({ unit, shown }) => (unit && SHORT.test(unit)) || /\de[-+]?\d/iu.test(shown ?? ""));
  if (short.length)
    notes.push({ kind: "asked", code: "short", facts: { shown: `${short[0].shown} ${SHORT.exec(short[0].unit ?? "")?.[0] ?? ""}`.trim() }, choices: [] });
  const speaking = units.filter(
    unit => !SHORT.test(unit) && NOISE.test(unit.replace(/(?<!\p{L})per \p{L}+/giu, "")) && !isFiller(unit),
  );
  const denying = units.filter(unit => endsInDenial(unit, isFiller) || isAnother(unit)).map(unit => ({ line: unit, shown: `${unit} …` })),
    some = ofSome(table, found).map(line => ({ line, shown: line })),
    denied = [...(found.denied ?? []), ...denying, ...some];
  if (denied.length) notes.push({ kind: "asked", code: "denied", facts: { shown: denied[0].shown.slice(0, 160) }, choices: [] });
  const rate = table.find(row => namesNoCount(row.name ?? "", row.of !== null) || isNoCount(row.shown, row.unit));
  if (rate)
    notes.push({
      kind: "asked",
      code: "no_count",
      facts: { name: isNoCount(rate.shown, rate.unit) ? `${rate.shown} ${rate.unit ?? ""}`.trim() : rate.name },
      choices: [],
    });
  if (table.some(row => row.name && !row.field && namesShort(row.name)) && !facts.beyond.includes("units")) facts.beyond.push("units");
  const amount = !rate && !chosen.counts && table.find(row => row.of === null && !row.field && isAmount(row.name ?? null, row.unit));
  if (amount)
    notes.push({
      kind: "asked",
      code: "amount",
      facts: { name: isAmount(amount.name ?? null) ? amount.name : `${amount.shown} ${amount.unit}` },
      choices: [{ key: "counts", value: true }],
    });
  const loose = !chosen.loose && table.find(row => row.loose);
  if (loose)
    notes.push({
      kind: "asked",
      code: "loose",
      facts: { line: loose.loose.replace(/\u0001+/gu, " ").trim().slice(0, 120), shown: loose.shown },
      choices: [{ key: "loose", value: true, facts: { shown: loose.shown } }],
    });
  if (facts.cut.length) notes.push({ kind: "asked", code: "cut", facts: { shown: facts.cut[0] }, choices: [] });
  else {
    const left = found.left.filter(line => !denied.some(each => each.line === line));
    notes.push(...unread([...new Set([...left, ...speaking])], chosen, found.empty));
  }
  if (facts.printedFirst && !chosen.noise_first)
    notes.push({ kind: "asked", code: "printed_first", facts: {}, choices: [{ key: "noise_first", value: true }] });
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
function picked(left, chosen, notes, question) {
  if (left.filter(line => /\d/u.test(line)).length > 1) return [];
  const all = left.join("\n").replace(ASIDE, "").match(new RegExp(`(?<![\\p{L}\\d.,-])${NUMBER}(?![\\p{L}\\d%]|[.,]\\d|\\s*%)`, "giu")) ?? [];
  const numbers = [...new Set(all.map(each => each.trim()))].slice(0, 6);
  const at = notes.findIndex(note => note.code === "left_data");
  if (numbers.includes(chosen.pick)) {
    if (at >= 0) notes[at] = { ...notes[at], kind: "assumed", code: "left", choices: [] };
    return [{ name: null, shown: chosen.pick, own: null, unit: null, of: null }];
  }
  const several = numbers.length > 1 && ["compare", "table"].includes(question); // one of them is no answer
  if (several && at >= 0)
    notes[at] = { kind: "asked", code: "found_several", facts: { numbers }, choices: [] };
  else if (numbers.length && at >= 0)
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
function unread(left, chosen, empty = []) {
  const out = [];
  const said = lines => ({
    lines: lines.slice(0, 5).map(line => line.slice(0, 120)),
    more: Math.max(0, lines.length - 5),
  });
  const data = left.filter(line => (dataLike(line) || empty.includes(line)) && !NOISE.test(line)),
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

// What can be read in two ways: 1,204 | 312 290 | 45,20.
function inTwoWays(doubtful, notes) {
  const plain = doubtful.filter(each => !each.blank && !each.comma),
    asked = (code, those, choices) => ({ kind: "asked", code, facts: { ...those[0], all: those.map(each => each.either), unsure: those.some(each => each.unsure) }, choices });
  const decimal = (value, number) => ({ key: "decimal", value, facts: { value: number } });
  const out = [];
  if (plain.length) {
    const [{ either, thousands, part }] = plain,
      comma = either.includes(",");
    out.push(asked("either", plain, [decimal(comma ? "." : ",", thousands), decimal(comma ? "," : ".", part)]));
  }
  for (const [code, choice] of [
    ["blank", each => ({ key: "blank", value: true, facts: { value: each.thousands } })],
    ["comma", each => decimal(",", each.part)],
  ]) {
    const those = doubtful.filter(each => each[code]);
    if (those.length) out.push(asked(code, those, [choice(those[0])]));
  }
  if (out.length) notes.splice(0, notes.length, ...out, ...notes.filter(note => note.code !== "bad_size"));
}

function ofRows(table, facts, { question, chosen, notes, decimal, blank, lists, headed }) {
  const likely = headed && table.length > 1 && !table[0].of ? "table" : suggested(table, facts);
  const asked = question ?? likely;
  const own = table.some(row => row.own || row.of?.own);
  const context = { facts, chosen, notes, decimal, blank, lists, shared: sharedFootnote(table, facts, chosen, notes) };
  const rows = table.map(row => rowOf(row, row.field ? { ...context, blank: true, lists: false } : context));
  inTwoWays([...facts.either, ...rows.flatMap(row => (row.either ? [row.either] : []))], notes);
  const unread = rows.flatMap(row => [row, ...(row.of ? [row.of] : [])]).find(each => each.unread);
  if (unread) notes.push({ kind: "asked", code: "unwritten", facts: { shown: unread.unread }, choices: [] });
  const reading = {
    kind: "text",
    alone: table.length === 1 && table[0].of === null,
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
  const silent = !speaksOfNoise(facts) && facts.printed.length === 0;
  const all = table.every(
    row => row.own && speaksOfNoise(row.own) && (!row.of || silent || (row.of.own && speaksOfNoise(row.of.own))),
  );
  const selfSaid = table.every(row => /[<>≤≥+–]|\d\s*-\s*\d|or (?:fewer|less|more)|between|than|under|below/iu.test(row.shown) || row.own?.printed.length > 0);
  if (all && !chosen.noise) {
    if (speaksOfNoise(facts, false) && chosen.sizes === undefined && !notes.some(note => note.code === "column_noise"))
      notes.push({ kind: "asked", code: "two_footnotes", facts: {}, choices: [] });
    return { noise: silent ? NONE : null, printed: printedOf(facts, chosen, notes), marked: facts.marked };
  }
  const { noise, notes: more } = noiseOf({ ...facts, selfSaid }, chosen);
  notes.push(...more);
  return { noise, printed: printedOf(facts, chosen, notes), marked: facts.marked };
}

function printedOf(facts, chosen, notes) {
  const order = chosen.order ?? facts.order;
  if (chosen.printed) return order ? inOrder(chosen.printed, order) : chosen.printed;
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
  return order ? inOrder(steps, order) : steps;
}

// Steps of which rounding, or hiding, comes first.
const rounds = step => step.how === "rounded" || step.how === "random",
  hides = step => step.how === "hidden" || step.how === "within";
function inOrder(steps, first) {
  const round = steps.findIndex(rounds),
    hide = steps.findIndex(hides);
  if (round < 0 || hide < 0 || round < hide === (first === "rounded")) return steps;
  const turned = [...steps];
  [turned[round], turned[hide]] = [turned[hide], turned[round]];
  return turned;
}

// What was rounded and hidden: the order is asked where nothing says it, and said where it matters.
function orderOf(steps, value, { facts, chosen, notes }) {
  const order = chosen.order ?? facts.order;
  if (!orderMatters(value, steps) || notes.some(note => note.code === "order")) return;
  const choices = ["hidden", "rounded"]
    .filter(first => first !== order)
    .map(first => ({ key: "order", value: first, facts: { printed: inOrder(steps, first) } }));
  const said = { printed: steps };
  notes.push(order ? { kind: "assumed", code: "order", facts: said, choices } : { kind: "asked", code: "which_order", facts: said, choices });
}

function rowOf(row, context) {
  const thousands = context.decimal === null && /^[1-9]\d{0,2}([.,])\d{3}$/u.exec(row.of?.shown.trim() ?? "");
  const sign = thousands && { ".": ",", ",": "." }[thousands[1]]; // 1,250 of 45,000: what it is of is whole
  const main = numberOf(row.shown, row.own, sign ? { ...context, decimal: sign } : context);
  const ofValue = row.of ? { ...numberOf(row.of.shown, row.of.own, context, true), own: row.of.own ?? null } : null;
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
function numberOf(shown, own, { facts, chosen, notes, decimal, blank, lists, shared }, size = false) {
  let { noise, printed, marked } = shared;
  if (own?.either?.length) return { cell: null, noise: null, value: null, either: own.either[0] };
  if (own) {
    if (speaksOfNoise(own, false) && !own.none && own.laws.size === 0)
      own = { ...own, laws: facts.laws, whole: own.whole ?? facts.whole };
    if (own.sizes.length && own.confidences.length === 0) own = { ...own, confidences: facts.confidences };
    if (speaksOfNoise(own)) {
      const mine = noiseOf(own, own.interval && chosen.noise ? { noise: chosen.noise } : ofAll(chosen));
      notes.push(...mine.notes.filter(note => !notes.some(other => other.code === note.code)));
      noise = mine.noise;
    }
    printed = own.printed.length || own.none ? printedOf(own, { order: chosen.order }, notes) : printed;
    marked = own.marked ?? marked;
  }
  const whole = size || noise === null || noise.law === "none" || noise.whole;
  const found = printedValue(shown, { decimal, whole, blank });
  if (found === null) return { cell: null, noise, value: null, unread: shown };
  if (lists && /^[-−+]?(?!\d{1,3},\d{3}$)\d+,\d+$/u.test(shown.trim()))
    return { cell: null, noise, value: null, either: { either: shown.trim(), comma: true, part: found.value } };
  const said = own?.printed.length ? own : facts;
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
    orderOf(hides, null, { facts: said, chosen, notes });
    return { cell: noise && cellOf({ value: null, noise, printed: hides }), noise, value: null, hidden: true };
  }
  const steps = found.printed ? withRounding(found.printed, printed, chosen.order ?? said.order) : printed;
  orderOf(steps, found.value, { facts: said, chosen, notes });
  return {
    cell: noise && cellOf({ value: found.value, noise, printed: steps }),
    noise,
    value: found.value,
    said: found.printed ? true : undefined,
  };
}

// <10 under a footnote that rounds too.
const withRounding = (said, printed, order) => inOrder([...said, ...printed.filter(rounds)], order ?? "hidden");

const ofAll = ({ law, confidence, sensitivity, bare }) => ({
  ...(law && { law }),
  ...(confidence && { confidence }),
  ...(sensitivity && { sensitivity }),
  ...(bare && { bare }),
});
const speaksOfNoise = (own, law = true) =>
  (law && own.laws.size > 0) || own.sizes.length > 0 || own.epsilon !== null || own.rho !== null || own.none || own.interval !== null;
