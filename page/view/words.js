// What was read and what was answered, in words: texts only.

import { S } from "../strings.js";
import { chance, decimals, digitsFor, percent, plain, sized, whole } from "./format.js";
import { uniqueNames } from "./python.js";
import { NUMBER, read as number } from "../reader/numbers.js";

const U = S.understood;

export function noiseWords(noise) {
  if (noise.law === "none") return U.noise.none;
  const text = U.noise[noise.law](sized(noise.size), noise.whole),
    said = noise.said;
  switch (said.by) {
    case "epsilon":
      return `${text} (${U.by.epsilon(plain(said.epsilon), plain(said.sensitivity))})`;
    case "rho":
      return `${text} (${U.by.rho(plain(said.rho), plain(said.sensitivity))})`;
    case "error":
      return `${text} (${U.by.error(plain(said.error), percent(said.confidence, 0))})`;
    case "variance":
      return `${text} (${U.by.variance(plain(said.variance))})`;
    case "sd":
      return noise.law === "gaussian" ? text : `${text} (${U.by.sd(plain(said.sd))})`;
    default:
      return text;
  }
}

export function stepWords(step) {
  const P = U.printed;
  switch (step.how) {
    case "rounded":
      return P.rounded(plain(step.step));
    case "random":
      return P.random(plain(step.base));
    case "hidden":
      return P.hidden(plain(step.below));
    case "cut":
      return step.high === null
        ? P.cut(plain(step.low))
        : step.low === null
          ? P.cutHigh(plain(step.high))
          : P.cutBoth(plain(step.low), plain(step.high));
    default:
      return step.low === null
        ? P.atMost(plain(step.high))
        : step.high === null
          ? P.atLeast(plain(step.low))
          : P.within(plain(step.low), plain(step.high));
  }
}
export const printedWords = steps => U.printed.join(steps.map(stepWords));

const shown = row =>
  row.cell?.value != null
    ? plain(row.cell.value)
    : row.value != null
      ? plain(row.value)
      : row.unprinted
        ? S.answer.unprinted
        : String(row.shown ?? "").trim() || S.answer.hidden;
export const printedNumber = shown;

// What was read, one short line each.
export function understood(reading) {
  const { rows, total, of, asks } = reading;
  const lines = [];
  if (reading.kind === "file") lines.push(S.cap(U.file));
  if (rows.length === 1 && reading.question !== "table") {
    const [row] = rows,
      number = of
        ? U.of(shown(row), shown({ ...of, shown: of.shown ?? of.value }))
        : typeof asks?.n === "number"
          ? U.of(shown(row), plain(asks.n))
          : shown(row);
    lines.push([row.name, number, row.unit].filter(Boolean).join(" "));
  } else if (rows.length > 6) {
    lines.push(
      `${S.answer.cells(rows.length)}: ${rows
        .slice(0, 3)
        .map(row => [row.name, shown(row)].filter(Boolean).join(" "))
        .join(", ")}, …`,
    );
  } else {
    lines.push(
      rows
        .map(row =>
          [row.name, row.of?.value != null ? U.of(shown(row), plain(row.of.value)) : shown(row)]
            .filter(Boolean)
            .join(" "),
        )
        .join(", "),
    );
  }
  const exactTotal = total?.noise?.law === "none" && total.cell?.printed.length === 0;
  const laws = [
    ...new Set(
      [...rows, ...(total && !exactTotal ? [total] : []), ...(of ? [of] : [])]
        .filter(row => row.noise && !row.unprinted)
        .map(row => noiseWords(row.noise)),
    ),
  ];
  if (laws.length === 1) lines.push(S.cap(laws[0]));
  else if (laws.length > 1) lines.push(S.cap(laws.length <= 3 ? S.list(laws) : U.noise.own));
  if (exactTotal) lines.push(U.exactTotal);
  const prints = [
    ...new Set([...rows, ...(total ? [total] : [])]
        .filter(row => row.cell && !row.unprinted)
        .map(row => printedWords(row.cell.printed)),
    ),
  ];
  if (prints.length === 1) {
    if (rows.some(row => row.cell?.printed.length && !row.unprinted)) lines.push(prints[0]);
  } else if (prints.length > 1)
    lines.push(
      ...rows
        .filter(row => row.cell?.printed.length)
        .slice(0, 4)
        .map(row => U.cell(row.name ?? "", printedWords(row.cell.printed))),
    );
  return lines.filter(line => line.trim() !== "");
}

// How numbers of an answer are written, by its question.
export function writer(reading, answer) {
  const { kind, n } = reading.asks,
    width = answer.interval[1] - answer.interval[0];
  const shares = kind === "share" || kind === "rate" || (kind === "compare" && n);
  if (!shares) return v => whole(v);
  const digits = Math.max(1, digitsFor(width, 100)),
    written = kind === "compare" ? (v, k) => decimals(100 * v, k) : percent;
  return (v, tick = false) => written(v, tick ? Math.min(digits, tickDigits(width)) : digits);
}
const tickDigits = width => Math.max(0, Math.min(4, -Math.floor(Math.log10((width * 100) / 4))));

// The texts of an answer: { label, big, between, naive, noise, quote, extra }.
export function told(reading, answer) {
  const { asks, rows } = reading,
    write = writer(reading, answer),
    A = S.answer;
  const [low, high] = answer.interval.map(v => write(v)),
    median = write(answer.median);
  const question = asks.kind,
    ofAll = question === "share" || question === "rate";
  const name = ofAll ? rows[0].name : nameOf(rows[0]),
    called = uniqueNames(rows);
  const compared = asks.n ? "compareShares" : "compare";
  const label =
    question === "compare" ? A.what[compared](...called) : question === "table" ? A.what.table : A.what[question](name);
  const facts = {
    what: name,
    name: rows[0].name,
    all: ofAll ? allOf(reading) : null,
    printed: printedOf(rows[0], reading.decimal),
    median,
    low,
    high,
    a: called[0],
    b: called[1],
    cells: whole(rows.length),
  };
  const hidden = question === "count" && (rows[0].cell.value === null || rows[0].cell.printed.length);
  const exact = answer.interval[0] === answer.interval[1];
  const kind = hidden
    ? "hidden"
    : question === "compare"
      ? compared
      : question === "table" && exact
        ? "exactTable"
        : question;
  if (question === "compare") facts.above = chance(answer.above);
  return {
    label,
    big: median,
    between: exact ? A.exactly : A.interval(low, high),
    unit: exact ? "" : A.said,
    naive: naiveWords(answer, write, question, rows),
    noise: noiseDone(answer, [...rows, ...(reading.of?.cell ? [reading.of] : [])]),
    quote: S.quote[kind](facts),
    about: S.about[question === "compare" ? compared : question],
    write,
    extra:
      question === "compare"
        ? versus(answer, called, Boolean(asks.n))
        : question === "rate"
          ? noRate(answer.posterior)
          : [],
  };
}

const allOf = ({ asks, of, rows }) =>
  [typeof asks.n === "number" ? plain(asks.n) : shown(of), rows[0].unit].filter(Boolean).join(" ");
const nameOf = row => (row.name && row.unit ? `${row.name}, ${row.unit}` : (row.name ?? row.unit ?? null));
const printedOf = (row, decimal) =>
  row.cell.value !== null ? plain(row.cell.value) : row.said ? rewritten(String(row.shown).trim(), decimal) : null;

// A limit or a range with its numbers as they are written here: <1,000.
const rewritten = (text, decimal) =>
  text.replace(new RegExp(NUMBER, "gu"), each => {
    const found = number(each, { decimal, whole: true });
    return found?.value === undefined ? each : plain(found.value);
  });

// Where the denominator may be 0.
const noRate = ({ none }) => (none > 0.0005 ? [{ value: chance(none), text: S.answer.noRate }] : []);

function versus(answer, [a, b], shares) {
  const A = S.answer;
  const out = [{ value: chance(answer.above), text: (shares ? A.probabilityShares : A.probability)(a, b) }];
  const ratio = answer.ratio;
  if (ratio && [ratio.median, ...ratio.interval].every(Number.isFinite)) {
    const digits = Math.max(1, Math.min(4, digitsFor(ratio.interval[1] - ratio.interval[0])));
    out.push({
      value: decimals(ratio.median, digits),
      text: (shares ? A.ratioShares : A.ratio)(a, b),
      more: A.interval(...ratio.interval.map(v => decimals(v, digits))),
    });
  }
  return out;
}

function naiveWords(answer, write, kind, rows) {
  if (kind === "table") return S.naive.cells;
  if (!answer.naive) return S.naive.nothing;
  const {
    median,
    interval: [low, high],
  } = answer.naive;
  if (low === high) return S.naive.exact(kind === "count" ? plain(rows[0].cell.value) : write(median));
  const same = answer.noise !== null && answer.noise < 1e-9;
  return S.naive[same ? "same" : "interval"](write(median), write(low), write(high));
}

function noiseDone({ noise, cells }, rows) {
  const rounds = rows.some(row => row.cell?.printed.length),
    noisy = rows.some(row => row.noise && row.noise.law !== "none");
  if (cells) return null;
  if (noise === null) return S.noise.unknown;
  if (noise >= 0.9995) return rounds ? (noisy ? S.noise.all : S.noise.allPrinting) : S.noise.allNoise;
  return noise <= 0 ? S.noise.none : S.noise.share(percent(noise, noise > 0.99 ? 1 : 0));
}

// Facts of a note as texts.
export function noteWords(note) {
  const f = note.facts ?? {},
    facts = { ...f };
  for (const key of ["size", "error", "n", "characters", "lines", "rows", "low", "high"])
    if (typeof f[key] === "number") facts[key] = plain(f[key]);
  if (typeof f.confidence === "number") facts.confidence = percent(f.confidence, 0);
  if (Array.isArray(f.printed)) facts.printed = f.printed.map(stepWords).join(", then ");
  if (["either", "blank", "comma"].includes(note.code)) facts.shown = f.either;
  if (note.code === "several") facts.values = f.values.map(plain);
  return S.notes[note.code](facts);
}

// What the engine refuses, in words.
export function refusedWords(error) {
  const facts = Object.fromEntries(
    Object.entries(error).map(([key, value]) => [key, typeof value === "number" ? plain(value) : value]),
  );
  return (Object.hasOwn(S.refused, error.code) ? S.refused[error.code] : S.refused.otherwise)(facts);
}

export function choiceWords(choice) {
  const C = S.choices;
  if (choice.code === "interval") return C.interval(C.law[choice.value.law]);
  if (choice.code) return C[choice.code]();
  switch (choice.key) {
    case "law":
      return C.law[choice.value];
    case "bare":
      return C.bare[choice.value];
    case "noise":
      return C.none;
    case "pick":
      return C.pick(choice.value);
    case "leave":
    case "noisy":
    case "noise_first":
    case "marks":
    case "sums":
    case "counts":
      return C[choice.key];
    case "sizes":
      return C.sizes[choice.value];
    case "epsilon":
    case "rho":
      return plain(choice.value);
    case "sensitivity":
    case "mark":
      return C[choice.key](plain(choice.value));
    case "confidence":
      return choice.value === "sd" ? C.one_sd : C.confidence(percent(choice.value, 0));
    case "loose":
      return C.loose(choice.facts.shown);
    case "blank":
    case "decimal":
      return plain(choice.facts.value);
    case "n_noisy":
    case "total":
    case "labels":
    case "year":
    case "slash":
    case "of":
      return C[choice.key][choice.value];
    case "column":
      return C.column(choice.facts.name);
    case "question":
      return C.question(choice.value);
    case "printed":
    case "order":
      return S.cap(choice.facts.printed.map(stepWords).join(", then "));
    default:
      return noiseWords(choice.facts.noise);
  }
}
