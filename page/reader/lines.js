// Lines of data: names and what was printed for them. 312 | 312 people | north, 12 | north: <5 | 118 of 290 | a CSV table.

import { NUMBER, read } from "./numbers.js";
import { ONE_TIME, denies, endsInDenial, isLoose, isSlashed, runsTogether } from "./doubts.js";
import { footnote, isFiller, said } from "./footnote.js";

export const MOST_LINES = 200;
const UP = "[ \\t]*";
const MARKS =
  "\\*+|\\.\\.+|…|\\(?[cxsd]\\)|[cxsd](?![\\p{L}])|[-–—]|n/?a|suppressed|hidden|withheld|not (?:shown|published|disclosed)|geheim";
const VALUE = `(?:(?:<=|>=|[<>≤≥])${UP}\\d[\\d.,]*|(?:fewer than|less than|under|below|at least|at most|up to|more than|over|above)${UP}${NUMBER}|${NUMBER}${UP}(?:\\+(?!\\d|${UP}\\u0001)|or (?:fewer|less|more)|and (?:over|more|above))|between${UP}${NUMBER}${UP}(?:–|-|to|and)${UP}${NUMBER}|${NUMBER}${UP}(?:–|-|to)${UP}${NUMBER}|${NUMBER}(?![\\d.,]*\\d))`;
// Between a name and its number. A comma between digits is no such sign: 4,525 is one number, or is asked about.
const SIGN = "(?:[:|;\\t]|(?<![<>!])=|(?<!\\d),|,(?!\\d))";
const OWN = `(?:${UP}\\u0002(\\d+)\\u0003)?`; // in the place of a footnote of its own, in brackets
const UNIT = `(?:${UP}(\\(?\\p{L}(?:(?!\\.\\s)[^\\d\\u0001:=|;]){0,60}?))?`;
const OF = `${UP}(?:(?<!\\p{L})(?:of|out of|von|sur|among)|/)${UP}(?:the${UP})?(?:all${UP})?`;
const END = `(?!\\s*\\.\\.)[\\s.,;()\\u0001]*$`;
const SAID_FIRST = new RegExp(
  `^[\\s,;()\\u0001]*(?:out of|of|among|von)${UP}(?:the${UP}|all${UP}|den${UP})?(${VALUE})${OWN}${UNIT},${UP}(${VALUE})${OWN}${UNIT}${END}`,
  "iu",
); // Of 1150 patients, 312 …
const BEGIN = `^[\\s,;()\\u0001]*`;
const MARKED = `(?:${VALUE}|${MARKS})`;

const PAIR = new RegExp(
  `${BEGIN}(?:(.*?[^\\s:=|;,\\u0001(])${UP}(?:${SIGN}|${UP}(?=[\\s]))${UP})?(${VALUE})${OWN}${UNIT}${OF}(${VALUE})${OWN}${UNIT}${END}`,
  "iu",
);
const NAMELESS = new RegExp(`${BEGIN}(${VALUE})${OWN}${UNIT}${OF}(${VALUE})${OWN}${UNIT}${END}`, "iu"); // 1 250 of 45 000
const ALONE = new RegExp(`${BEGIN}(${MARKED})${OWN}${UNIT}${END}`, "iu");
const NAMED = new RegExp(
  `${BEGIN}(.*?[^\\s:=|;,\\u0001(])${UP}(?:${SIGN}|(?:is|was|are|were)(?=\\s))${UP}(${MARKED})${OWN}${UNIT}${END}`,
  "iu",
);
const SPACED = new RegExp(`${BEGIN}([^\\d\\u0001]*?[^\\s\\d:=|;,\\u0001(])\\s${UP}(${VALUE})${OWN}${UNIT}${END}`, "iu"); // a name of words only

// A name and a sign that stands for a number: Oak *. Letters that may stand for one (c, x) need a colon before them.
const STARRED = new RegExp(`${BEGIN}([^\\u0001]*?[^\\s:=|;,\\u0001(])\\s${UP}(\\*+|\\.\\.+|…|\\(?[cxsd]\\)|[-–—]|n/a)${END}`, "iu");
// Words by which a text says something of noise, of printing, or of how sure a number is.
export const NOISE =
  /(?<!\p{L})(?:nois|rausch|perturb|distort|adjust|alter(?:ed|ing)|modif|jitter|random|zuf[aä]ll|budget|uniform|half(?!\p{L})|halv|third|quarter of|twice|double|split|shared? (?:between|among|of)|(?:shown|printed|given|reported|published|recorded|recoded) as|replac|set to|swap|round(?!\p{L}| (?:table|[1-9]))|rounded|rounding|\p{L}*rundung|gerundet|arrond|redonde|bruit|ruido|verschlei|geheim|gesperrt|unterdrück|supprim|suprim|ocult|suppress|hidden|mask|withheld|redact|confiden|percent|prozent|margin|error|interval|epsilon|sigma|varianc|deviation|laplac|gauss|geometric|privacy|private|sensitiv|clip|clamp|truncat|winsor|smooth(?:ed|ing)|rak(?:ed|ing)(?!\p{L})|post-?(?:strat|process)|made consistent|bounded|folded|absolute value|resampl|forecast|extrapolat|interpolat|modell?ed|top-?down|capped|top[- ]?cod|synthetic|imput|weighted|gewichtet|hochgerechnet|pond[eé]r|estim|geschätzt|schätz|thousand|million|tausend|multiplied|scaled|divided|one[- ](?:sided|tailed)|inverse|reciprocal|rate parameter|(?<!-)wide(?!\p{L})|width|squared|per (?:query|table|release|year|month|week|day|attribute|question))|[εδρσα±]/iu;

// A line that was not read, but looks like one of data.
export const dataLike = line => /\d/u.test(line) || /(?:[*…–—-]|\.\.|\sn\/?a|\s\(?[a-z]\)?)$/iu.test(line);

// { value }, { value: null, printed: [...] }, { mark: true } for a star or an empty cell, null for none of them; `either` as in numbers.js.
export function printedValue(text, { decimal, whole, blank = false }) {
  const shown = text.trim().replace(/−/gu, "-");
  const number = part => read(part, { decimal, whole, blank });
  if (shown === "" || shown === "." || new RegExp(`^(?:${MARKS})$`, "iu").test(shown)) return { mark: true };
  const plain = number(shown);
  if (plain !== null) return plain;
  const range = new RegExp(`^(?:between${UP})?(${NUMBER})${UP}(?:–|-|to|and)${UP}(${NUMBER})$`, "iu").exec(shown);
  if (range) return limits(number(range[1]), number(range[2]), (a, b) => within(a, b));
  const below = new RegExp(`^(?:<|fewer than|less than|under|below)${UP}(${NUMBER})$`, "iu").exec(shown);
  if (below)
    return limits(number(below[1]), { value: 0 }, a => ({ value: null, printed: [{ how: "hidden", below: a }] }));
  const most = new RegExp(`^(?:<=|≤|at most|up to)${UP}(${NUMBER})$|^(${NUMBER})${UP}or (?:fewer|less)$`, "iu").exec(
    shown,
  );
  if (most) return limits(number(most[1] ?? most[2]), { value: 0 }, a => within(null, a));
  const above = new RegExp(`^(?:>|more than|over|above)${UP}(${NUMBER})$`, "iu").exec(shown);
  if (above) return limits(number(above[1]), { value: 0 }, a => within(Number.isInteger(a) ? a + 1 : a, null));
  const least = new RegExp(
    `^(?:>=|≥|at least)${UP}(${NUMBER})$|^(${NUMBER})${UP}(?:\\+|or more|and (?:over|more|above))$`,
    "iu",
  ).exec(shown);
  if (least) return limits(number(least[1] ?? least[2]), { value: 0 }, a => within(a, null));
  return null;
}

const within = (low, high) => ({ value: null, printed: [{ how: "within", low, high }] });
const limits = (a, b, made) => (a === null || b === null ? null : a.either ? a : b.either ? b : made(a.value, b.value));

// A name without a number, among names with numbers: Oak | Oak: nd | Oak nil.
const EMPTY = /^(?=\S)(?:[^\u0001\d:;|\t]{1,60}[:;|\t][ \t]*\S{0,12}|\p{L}[^\s\u0001]*(?:[ \t]+[^\s\u0001]+){0,2})[ \t]*$/u;

// The rows of a text: [{ name, shown, own, unit, of: { shown, own, unit } | null }], and the lines that are none.
export function rows(text, owns) {
  const found = [],
    left = [],
    beside = [], // of those that were left: what stood beside a footnote
    empty = [], // of those that were left: what may be the name of a number that is not there
    denied = []; // of those that were left: what may deny something that was read
  const lines = text.split("\n");
  const table = asTable(lines);
  const torn = table?.columns[0].name ? undefined : tornLine(lines);
  if (torn) return { rows: [], left: [], columns: null, torn };
  if (table) return table;
  let named = false; // did the line before have a name and a number?
  for (const line of lines) {
    if (/^[\s\u0001.,;()]*$/u.test(line)) {
      named &&= !line.includes("\u0001");
      continue;
    }
    const several = parts(line).map(part => row(part, owns)),
      follows = named;
    named = several.every(each => each?.name && !line.includes("\u0001"));
    if (several.every(each => each !== null)) found.push(...several);
    else {
      left.push(plainly(line));
      if (follows && EMPTY.test(line)) {
        empty.push(left.at(-1));
        named = true;
      }
      if (line.includes("\u0001")) beside.push(left.at(-1));
      denied.push(...denial(left.at(-1), line));
    }
  }
  return { rows: found, left: left.filter(line => /[\p{L}\p{N}%]/u.test(line)), denied, beside, empty, columns: null };
}

// What a line that was left may deny or restrict: plain, without what was read in it.
const denial = (plain, line) =>
  (line.includes("\u0001") && denies(plain)) || endsInDenial(plain, isFiller)
    ? [{ line: plain, shown: line.replace(/\u0001+/gu, "…").trim() }]
    : [];

// What is left of a line, for people to read.
const plainly = line =>
  line
    .split(/([;\u0001]+)/u)
    .map((part, k) => (k % 2 === 0 && isFiller(part) ? "" : part))
    .join("")
    .replace(/\u0001+/gu, " ")
    .replace(/\s+/gu, " ")
    .replace(/^[ ,;]+/u, "")
    .replace(/[ ,;]+$/u, "");

// The first line whose commas or blanks may stand in a number or beside one: 2019,50 | Region 1,50 | Region 1 250 | Elm,4,525.
function tornLine(lines) {
  const data = lines.filter(line => line.length <= LONGEST && /\d/u.test(line));
  const [only] = data;
  if (data.length === 1 && !/^\s*(?:19|20)\d\d\s*:/u.test(only) && /^\s*\d+(?::| +: *)\d/u.test(only)) return only.trim(); // 312:290
  const pairs = data.filter(line => /^\s*\d+,\d+\s*$/u.test(line) && !/^\s*\d{1,3}(?:,\d{3})+\s*$/u.test(line));
  if (pairs.length > 1) return pairs[0].trim();
  const of = new RegExp(`\\d${OF}`, "iu");
  return data.find(
    line =>
      /^\s*\d+\s*[-–]\s*\d+,\d+\s*$/u.test(line) ||
      runsTogether(line) ||
      /^[\d\s.,]+[+×*x]\s*\d[^\p{L}\u0001]*=/iu.test(line) || // 312 + 45 = 357
      /^\s*\d{1,2}:\d\d(?::\d\d)?(?: ?(?:[ap]\.?m\.?|uhr|h))?\s*$/iu.test(line) || // 12:30
      /\p{L} +\d+ +[-–] +\d/u.test(line) || // Ward 12 - 45
      /(?:^|[\p{L})])\s*[-−] +(?!(?:19|20)\d\d(?!\d))\d/u.test(line) || // Elm - 12
      /^\s*(?:(?:19|20)\d\d\s*[/–-]\s*\d{2,4} +\d|\d+ +\d{1,2}\s*\/\s*\d)/u.test(line) || // 2021/22 312 | 312 1/2
      /^\s*\d[\d.,]*(?: \p{L}[\p{L}-]*){1,3}, +(?!(?:19|20)\d\d(?!\d))\d/u.test(line) || // 312 men, 290 women
      (/^[^\d\u0001:=|;\t]*\p{L}[^\d\u0001:=|;\t,]*[ ]\d{1,3} \d{3}(?!\d)/u.test(line) && !of.test(line)) ||
      /^[^\d\u0001:=|;\t]*\p{L} +\d{1,3} \d{3} of /u.test(line) ||
      (/^[^\d\u0001:=|;\t]*\p{L}[^\d\u0001:=|;\t,]* \d+,\d+\s*$/u.test(line) &&
        !/ [1-9]\d{0,2}(?:,\d{3})+\s*$/u.test(line)) ||
      (headless(lines) && /^[^,\d]+,[1-9]\d{0,2},\d{3}\s*$/u.test(line) && everyTorn(data)),
  )?.trim();
}
const headless = lines => /\d/u.test(lines.find(line => line.trim() !== "") ?? "");
const everyTorn = data => data.filter(line => /,\S*,/u.test(line)).every(line => /,[1-9]\d{0,2},\d{3}\s*$/u.test(line));

// A line may hold several: 131 vs 124; North 131, South 124.
function parts(line) {
  if (line.length > 4 * LONGEST) return [line];
  const full = part => !/^[\s\u0001.,;()]*$/u.test(part);
  const versus = line.split(/\s+(?:vs\.?|versus|against|compared (?:with|to)|gegen)\s+|;\s+/iu).filter(full);
  if (versus.length > 1 && versus.every(part => row(part) !== null)) return versus;
  const commas = line.split(/,\s+(?=\p{L})|\s+and\s+(?=\p{L}[^\d]*\d)/u).filter(full);
  return commas.length > 1 && commas.every(part => row(part)?.name) ? commas : [line];
}

const YEAR = /^(?:19|20)\d\d$/u;
// Words of a sentence about all numbers: Counts under 10 are shown.
const OF_ALL =
  /(?<!\p{L})(?:cells|counts|numbers|values|figures|if|when|where|only|average|sums? of|each|any|draws|those|data|tables?|werte|zahlen|zellen|fälle|angaben|effectifs|valeurs|chiffres|valores|casos|datos|cifras)(?!\p{L})|^a count/iu;
const VERB = /^(?:are|is|was|were|have|has|will|may|can|must|sind|ist|werden|wird|wurden?|ne|sont|est|ont|no|se|son|están?)(?!\p{L})/iu;
const THINGS = /^(?:noisy )?(?:cells|draws|counts|noises|quer(?:y|ies)|tables|releases|copies)(?!\p{L})/iu;
// Words before a number that is no count: see table 3.
const REFERENCE =
  /(?<!\p{L})(?:tables?|figures?|fig\.?|pages?|p\.|sections?|chapters?|footnotes?|notes?|versions?|appendix|volumes?|issues?|no\.|nr\.|№|since|until|from|in|by|per|than|weeks?|months?|years?|days?)$/iu;
// Words before a number that make another one of it: minus 12 | no more than 5 | höchstens 5.
const TURNS =
  /(?:^|[\s:,;=])(?:minus|not|nicht|(?:max|min)(?:\.|imum(?: of)?)|exceed(?:s|ing)|unter|über|höchstens|mindestens|maximal|minimal|(?:weniger|mehr|kleiner|größer) als|bis zu|(?:lower|smaller|greater|larger|higher|bigger) than|moins de|plus de|au (?:moins|plus)|(?:inf|sup)[ée]rieure?s? à|(?:inf|sup)erior(?:es)? a|menos de|más de|meno di|più di)$|[<>≤≥⩽⩾≦≧＜＞≠▲▼△▽↑↓]$/iu;
const turns = (name, shown) => TURNS.test(name) || /(?:^|\s)(?:max|min)$/u.test(name) || (/(?:^|\s)not?$/iu.test(name) && /^\p{L}/u.test(shown));
const SIZES = /(?<!\p{L})(?:sd|s\.d\.?|std|r?se|s\.e\.?|cv|scale|rho|eps|lambda|delta|moe|mechanism)$/iu; // before a number that is no count
const LONGEST = 400; // characters of a line of data

function row(line, owns = null) {
  if (line.length > LONGEST) return null;
  if (/^[\s,;()]*\u0001+(?![\s\u0001]*[;.])/u.test(line) && !/^[\s\u0001]*$/u.test(line)) return null; // a footnote, and a number in it
  const own = k => (k === undefined || owns === null ? null : owns[Number(k)]);
  const turned = SAID_FIRST.exec(line);
  if (turned) {
    const [, all, b, ofUnit, shown, a, unit] = turned;
    return { name: null, shown, own: own(a), unit: unitOf(unit), of: { shown: all, own: own(b), unit: unitOf(ofUnit) } };
  }
  const nameless = NAMELESS.exec(line),
    pair = nameless ? [nameless[0], undefined, ...nameless.slice(1)] : PAIR.exec(line);
  if (pair) {
    const [, name, shown, a, unit, all, b, ofUnit] = pair;
    if (/^[-−]/u.test(all) || turns(name ?? "", shown)) return null; // 312 +16/-10
    return {
      name: named(name),
      shown,
      own: own(a),
      unit: unitOf(unit),
      of: { shown: all, own: own(b), unit: unitOf(ofUnit) },
      ...(isSlashed(line, shown, all) && { slashed: `${shown}/${all}` }),
      ...(isLoose(line, name ?? null, unitOf(unit)) && { loose: line }),
    };
  }
  const starred = STARRED.exec(line);
  if (starred && /\d$/u.test(starred[1]) && /\p{L}/u.test(starred[1])) return null; // Region 3 *: a sign, or a mark at 3
  if (starred && /\p{L}/u.test(starred[1])) return { name: named(starred[1]), shown: starred[2], own: null, unit: null, of: null };
  const alone = ALONE.exec(line);
  if (alone?.[3] && /^\(?\p{L}\)?$/u.test(alone[1])) return null; // c x: no sign and no number
  if (/^(?:is|means?|stands?|denotes?|indicates?|ist|bedeutet|est|signifie|es|significa)(?!\p{L})/iu.test(alone?.[3] ?? "")) return null; // 0 is a true zero
  if (alone && !(alone[3] && /\d/u.test(alone[3]))) {
    const [, shown, a, unit] = alone;
    const year = line.includes("\u0001") && YEAR.test(shown); // beside a footnote
    const loose = isLoose(line, null, unitOf(unit));
    return { name: null, shown, own: own(a), unit: unitOf(unit), of: null, ...(year && { year }), ...(loose && { loose: line }) };
  }
  const parted = NAMED.exec(line),
    whole = parted ?? SPACED.exec(line);
  if (!whole || (whole[1].includes("\u0001") && denies(whole[1])) || SIZES.test(whole[1])) return null;
  if (/[:=|;]\s*\d/u.test(whole[1])) return null; // Elm: 45, 50
  if (turns(whole[1], whole[2]) || /\d[\d.,]*\s*\u0001/u.test(whole[1])) return null; // no more than 5 | 312 ± 16 at α = 0.1
  if (/\([^)]*$/u.test(whole[1])) return null; // 312 (2021: 290)
  if ((line.includes("\u0001") || VERB.test(whole[4] ?? "")) && OF_ALL.test(whole[1])) return null; // If a count is below 50, …
  if (line.includes("\u0001") && THINGS.test(whole[4] ?? "")) return null; // Sum of 4 cells with …
  if (NOISE.test(whole[1].replace(/^(?:the )?(?:noisy (?=count|number|value)|estimates?$)/iu, ""))) return null;
  const [, name, shown, a, unit] = whole;
  if (/^[[{\s]*\d+$/u.test(name) && !YEAR.test(name) && /^[\s([{]*\d+\s*[,;\t|]/u.test(line)) return null; // 45, 20: two numbers
  if (!/[\p{L}\p{N}\p{Sc}~≈≃∼≅]/u.test(name)) return null; // ↑ 312
  const year = !parted && YEAR.test(shown);
  if (name.includes("\u0002")) return null; // Elm 3 (± 2) West: 45
  if (!parted && REFERENCE.test(name) && !ONE_TIME.test(name)) return null;
  const loose = isLoose(line, name, unitOf(unit));
  return { name: named(name), shown, own: own(a), unit: unitOf(unit), of: null, ...(year && { year }), ...(loose && { loose: line }) };
}

const named = name =>
  name === undefined
    ? null
    : name
        .replace(/\u0001+/gu, " ")
        .replace(/\s+(?:is|was|are|were|=)$/iu, "")
        .trim()
        .replace(/^"(.*)"$/u, "$1") || null;
const unitOf = unit => {
  const kept = unit
    ?.replace(/\u0001+/gu, " ")
    .replace(/^[\s,;]+|[\s,;.()]+$/gu, "")
    .replace(/\s+/gu, " ")
    .replace(/[\s,]*\b(?:with|noise|plus|and|has|have|had)$/iu, "");
  return (kept && kept.includes("(") && !kept.includes(")") ? `${kept})` : kept) || null;
};

const HEADS =
  /^(?:areas?|regions?|names?|groups?|categor(?:y|ies)|wards?|districts?|tracts?|codes?|class|sex|gender|count(?:y|ies)|states?|countr(?:y|ies)|cit(?:y|ies)|towns?|places?|schools?|hospitals?|gebiet|ort|kreis|land)$/iu;

// A table with columns: a header, or three columns and more. Fields are quoted as in CSV.
function asTable(lines) {
  const full = lines.filter(line => line.trim() !== "" && !/^[\s\u0001.,;()]*$/u.test(line));
  const sign = ["\t", ";", "|", ","].find(
    one =>
      full.length > 1 &&
      full[0].includes(one) &&
      !(one === "," && full.slice(0, 3).every(line => !/,(?!\d{3}(?!\d))|(?<!\d),/u.test(line))) && // 1,250 of 9,000
      full.slice(0, 3).every(line => split(line, one).length === split(full[0], one).length),
  );
  if (!sign) return null;
  const fields = full.map(line => split(line, sign));
  const width = fields[0].length,
    body = fields.filter(row => row.length === width);
  const isValue = text => new RegExp(`^${MARKED}$`, "iu").test(text) || text === "" || text === ".";
  const years = row => row.slice(1).every(text => YEAR.test(text)) && /\p{L}/u.test(row[0]);
  const header =
    body[0].slice(1).every(text => text !== "" && !/\d/u.test(text) && !isValue(text)) ||
    ((width > 2 || HEADS.test(body[0][0])) && years(body[0]) && !body.slice(1).some(years))
      ? body.shift()
      : null;
  if (header === null && width < 3) return null;
  if (body.length === 0) return null;
  const columns = body[0].map((_, j) => ({
    name: header?.[j] ?? null,
    values: body.map(row => row[j]),
    numbers: body.every(row => isValue(row[j])) && body.some(row => /\d/u.test(row[j])),
  }));
  const other = full.filter(line => split(line, sign).length !== width),
    shown = line => line.replace(/\u0001+/gu, " ").trim();
  return {
    columns,
    rows: [],
    left: other.map(shown).filter(line => /[\p{L}\p{N}]/u.test(line)),
    beside: other.filter(line => line.includes("\u0001")).map(shown),
    denied: other.flatMap(line => denial(shown(line), line)),
  };
}

export function split(line, sign) {
  const out = [];
  let field = "",
    quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quoted) {
      if (c !== '"') field += c;
      else if (line[i + 1] === '"') {
        field += '"';
        i++;
      } else quoted = false;
    } else if (c === '"' && field.trim() === "") {
      quoted = true;
      field = "";
    } else if (c === sign) {
      out.push(field.trim());
      field = "";
    } else field += c;
  }
  out.push(field.trim());
  return out;
}

// Footnotes in brackets that follow a number of the data: 118 (Laplace, scale 10) of 290 (exact). They are that number's own,
// where nothing was said in the line before them.
const MOST_BRACKETS = 60; // in a line
const ENDS_IN_NUMBER = new RegExp(`(?:${NUMBER})${UP}$`, "u");

// Was all of a footnote in brackets understood? If not, it is read with the rest of the text, which asks.
const understood = (facts, rest) =>
  isFiller(rest.replace(/\u0001+/gu, " ")) &&
  facts.cut.length + facts.lacks.length + facts.beyond.length + facts.either.length === 0 &&
  facts.bases === null &&
  !facts.printedFirst;

// 45 ± 3 in several lines, or behind the number that another one is of: each ± is that number's own.
function bracketed(text) {
  const error = new RegExp(`(${NUMBER}${UP})((?:±|\\+/[-−]|\\+-)${UP}${NUMBER}(?:${UP}[,;]?${UP}\\(?${NUMBER}${UP}%\\)?|${UP}\\((?:\\d[\\d.]{0,4}|one|two|three)${UP}(?:s\\.?[de]\\.?|standard (?:deviation|error)s?|σ|sigma)\\))?)`, "giu");
  const lines = text.split("\n"),
    has = line => line.length <= LONGEST && /±|\+\/?[-−]/u.test(line) && line.search(error) >= 0;
  const several = lines.filter(has).length > 1 || lines.some(line => has(line) && [...line.matchAll(error)].length > 1);
  return lines
    .map(line =>
      has(line) && (several || new RegExp(`\\d${OF}`, "iu").test(line))
        ? line.replace(error, (_, number, own) => `${number.trimEnd()} (${own.replace(/[()]/gu, "")}${/%/u.test(own) ? "" : sureOf(line, error)})`)
        : line,
    )
    .join("\n");
}

// How sure the last ± of a line is, where it alone says it: 312 ± 16 and 287 ± 16 (95%).
function sureOf(line, error) {
  const sure = [...line.matchAll(error)].map(([, , own]) => new RegExp(`${NUMBER}${UP}%`, "u").exec(own)?.[0]);
  return sure.slice(0, -1).some(each => each) || !sure.at(-1) ? "" : ` ${sure.at(-1)}`;
}

export function ownFootnotes(text, decimal, blank) {
  const owns = [];
  const speaks = part => said(footnote(part, decimal, blank).facts);
  const marked = bracketed(text)
    .split("\n")
    .map(line => {
      let done = "",
        at = 0;
      for (const found of [...line.matchAll(/\(([^()]*)\)/gu)].slice(0, MOST_BRACKETS)) {
        const before = line.slice(at, found.index);
        if (speaks(before)) break;
        const { facts, rest } = footnote(found[1], decimal, blank),
          own = ENDS_IN_NUMBER.test(before.slice(-80)) && understood(facts, rest);
        if (said(facts) && !own) break;
        done += before + (said(facts) ? ` \u0002${owns.push({ ...facts, typed: text.includes(found[0]) ? found[0] : found[1] }) - 1}\u0003` : found[0]);
        at = found.index + found[0].length;
      }
      return done + line.slice(at);
    })
    .join("\n");
  return { text: marked, owns };
}
