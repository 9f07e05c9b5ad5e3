// Columns of a table as rows: which of them names the rows, which holds the counts, which says how large the noise is.

import { footnote } from "./footnote.js";
import { NOISE } from "./lines.js";
import { isAmount, namesNoCount } from "./doubts.js";

const SIZE = /^(?:n|of|out of|total|population|denominator|base|all|whole)$/iu;
// The first of columns that all hold numbers, where it names the rows: its heading says so, or it is asked about.
const LABEL =
  /^(?:years?|ages?|age[ _-]?(?:groups?|bands?)|dates?|months?|quarters?|weeks?|days?|ids?|codes?|rows?|areas?|regions?|wards?|districts?|tracts?|zips?|postcodes?|groups?|categor(?:y|ies)|names?|class(?:es)?|bands?|levels?|grades?|jahr|alter|monat|gebiet)$/iu;
const COUNT =
  /^(?:n|counts?|numbers?|values?|people|persons|cases|deaths|births|total|population|noisy[ _]?(?:counts?|values?)?|published|printed|anzahl|part|yes|sd|std|scale|moe)$/iu;
const HOLDS_COUNTS = /^(?:counts?|numbers?|values?|people|persons|noisy[ _]?(?:counts?|values?)?|published|printed|anzahl)$/iu;

// Headings of columns of noise, and what each of their numbers says.
const STATED = [
  [/^(?:laplace[_ ])?scale$/iu, v => `scale ${v}`],
  [/^(?:noise[_ ])?(?:sd|std|std\.? ?dev\.?|standard deviation|sigma|σ)$/iu, v => `sd ${v}`],
  [/^(?:noise[_ ])?(?:var|variance)$/iu, v => `variance ${v}`],
  [/^(?:epsilon|eps|ε)$/iu, v => `ε = ${v}`],
  [/^(?:moe|margins?[ _]of[ _]error|me|±|\+\/-|error)(?: \((\d+) ?%\))?$/iu, (v, sure) => `± ${v}${sure ? ` at ${sure}%` : ""}`],
];
const LIMIT = /(?<!\p{L})(?:low|lower|upper|high|min|max|ci|lcl|ucl|cv|rse|se|stderr|bound|limit|sensitivity|delta)(?!\p{L})/iu;
const FLAGS = /(?<!\p{L})(?:flags?|status|notes?|footnotes?|symbols?|quality|reliability|remarks?|marks?|comments?|obs_status|suppress\p{L}*|hinweise?|anmerkung|remarque|nota)(?!\p{L})/iu;
const DECORATED = /^[±~≈]?\s*\d[\d.,\s]*\s*(?:k|m|bn?|%|million|thousand|\(.*\))$/iu;

const speaks = facts => facts.sizes.length > 0 || facts.epsilons.length > 0 || facts.rhos.length > 0;
const asked = (code, facts, choices = []) => ({ kind: "asked", code, facts, choices });

function labels(columns, chosen, notes) {
  const [first] = columns;
  if (columns.length < 2 || first.name === null) return null;
  if (LABEL.test(first.name)) return first;
  if (chosen.labels !== undefined) return chosen.labels ? first : null;
  if (COUNT.test(first.name)) return null;
  notes.push(
    asked(
      "labels",
      { name: first.name },
      [true, false].map(value => ({ key: "labels", value })),
    ),
  );
  return first;
}

// The footnote of each row from columns of noise; the law, and how sure a ± is, stand in the footnote of all.
function ownOf(numbers, facts, chosen, notes, decimal) {
  const found = numbers.flatMap(column => {
    const stated = STATED.find(([heading]) => column.name !== null && heading.test(column.name));
    return stated ? [{ column, sure: stated[0].exec(column.name)[1], says: stated[1] }] : [];
  });
  const used = chosen.sizes === "footnote" ? [] : found.slice(0, 1);
  if (found.length > 1) notes.push(asked("two_columns", { names: found.map(({ column }) => column.name) }));
  else if (found.length && speaks(facts) && chosen.sizes === undefined)
    notes.push(
      asked(
        "column_noise",
        { name: found[0].column.name },
        ["column", "footnote"].map(value => ({ key: "sizes", value })),
      ),
    );
  const { laws, whole, confidences, sensitivity, sensitivities, delta } = facts;
  const own = i =>
    used.length === 0
      ? null
      : {
          ...footnote(used[0].says(used[0].column.values[i], used[0].sure), decimal, true).facts,
          laws,
          whole,
          confidences,
          sensitivity,
          sensitivities,
          delta,
        };
  return { own, columns: found.map(({ column }) => column) };
}

// Columns that may say something of the numbers, and that nothing was made of.
function unread(columns, chosen, notes) {
  const said = columns.filter(
    c =>
      (c.numbers && c.name !== null && (NOISE.test(c.name) || LIMIT.test(c.name))) ||
      (!c.numbers && c.values.some(text => DECORATED.test(text.trim()))) ||
      (!c.numbers && FLAGS.test(c.name ?? "") && c.values.some(text => text.trim() !== "")),
  );
  const key = said.map(c => `${c.name}`).join("\n");
  if (said.length && chosen.leave !== key)
    notes.push(asked("columns_unread", { names: said.map(c => c.name ?? c.values[0]) }, [{ key: "leave", value: key }]));
  return said;
}

export function ofColumns(found, chosen, notes, facts, decimal) {
  const { columns } = found;
  const names = columns.find(c => !c.numbers && !c.values.every(text => DECORATED.test(text.trim()))) ?? labels(columns, chosen, notes),
    numbers = columns.filter(c => c.numbers && c !== names);
  const { own, columns: sizes } = ownOf(numbers, facts, chosen, notes, decimal);
  const left = unread(
    columns.filter(c => c !== names && !sizes.includes(c)),
    chosen,
    notes,
  );
  const rest = numbers.filter(c => !sizes.includes(c) && !left.includes(c));
  let n = rest.length > 1 ? (rest.find(c => c.name !== null && SIZE.test(c.name)) ?? null) : null;
  if (n === null && rest.length === 2 && columns.every(c => c.name === null)) {
    if (chosen.of !== false) n = rest[1];
    if (chosen.of === undefined)
      notes.push(
        asked(
          "headless",
          { part: rest[0].values[0], whole: rest[1].values[0] },
          [true, false].map(value => ({ key: "of", value })),
        ),
      );
  }
  const values = rest.filter(c => c !== n);
  if (values.length === 0) return [];
  const value = counted(values, chosen, notes);
  if (namesNoCount(value.name ?? "")) notes.push(asked("no_count", { name: value.name }));
  else if (isAmount(value.name) && !chosen.counts) notes.push(asked("amount", { name: value.name }, [{ key: "counts", value: true }]));
  found.others = columns.filter(c => c !== value && c !== names).map(c => c.name); // headings of what is not asked about
  return value.values.map((shown, i) => ({
    name: names?.values[i].replace(/\u0001+/gu, " ") || null,
    shown,
    field: true, // a field holds one number
    own: own(i),
    unit: null,
    of: n ? { shown: n.values[i], own: null, unit: null } : null,
  }));
}

// Which of several columns of numbers is asked about: the only one whose heading says that it holds counts, or it is asked.
function counted(values, chosen, notes) {
  if (values.length === 1) return values[0];
  const named = values.filter(c => HOLDS_COUNTS.test(c.name ?? "")),
    value = values[chosen.column ?? (named.length === 1 ? values.indexOf(named[0]) : 0)] ?? values[0];
  const sure = chosen.column !== undefined || named.length === 1;
  notes.push({
    ...(sure ? { kind: "assumed", code: "column" } : { kind: "asked", code: "which_column" }),
    facts: { name: value.name },
    choices: values
      .map((c, k) => ({ key: "column", value: k, facts: { name: c.name } }))
      .filter(c => !sure || c.value !== values.indexOf(value)),
  });
  return value;
}
