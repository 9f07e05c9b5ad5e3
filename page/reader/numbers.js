// Numbers as people print them: 1204, 1,204, 1.204,5, 1 204, −3, with signs that say thousands or parts of a whole.
// What may be either is not guessed: `read` says so, and whoever calls settles it with `decimal`.

const SPACE = "[ \\u00a0\\u2009\\u202f]";

// A number in running text. It ends in a digit, so that a comma after it is no part of it; its length has an end, so that
// no text takes long to be read.
export const NUMBER = `[-−+]?(?:\\d{1,3}(?:${SPACE}\\d{3}){1,6}(?![\\d])(?:[.,]\\d{1,20})?|\\d{1,30}(?:[.,'’]\\d{1,20}){0,8}|[.,]\\d{1,20})(?:[eE][-+]?\\d{1,3})?`;

// A text as it is shown: the names of signs in the source of a web page, and the digits of every script as 0 to 9.
const SIGNS = { nbsp: "\u00a0", thinsp: "\u2009", lt: "<", gt: ">", le: "≤", ge: "≥", plusmn: "±", minus: "−", ndash: "–",
  mdash: "—", hellip: "…", quot: '"', amp: "&", epsilon: "ε", sigma: "σ", rho: "ρ" };
const isDigit = code => /\p{Nd}/u.test(String.fromCodePoint(code));
const DIGITS = new Map();
function digitOf(sign) {
  if (DIGITS.has(sign)) return DIGITS.get(sign);
  let before = 0;
  for (const code = sign.codePointAt(0); isDigit(code - before - 1); before++);
  const digit = String(before % 10); // every script has its ten digits in a row
  DIGITS.set(sign, digit);
  return digit;
}
export const written = text =>
  text
    .replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|(\w{2,8}));/giu, (all, ten, sixteen, name) =>
      name ? (SIGNS[name.toLowerCase()] ?? all) : String.fromCodePoint(ten ? Number(ten) : parseInt(sixteen, 16)),
    )
    .replace(/(?!\d)\p{Nd}/gu, digitOf)
    .replace(/[！-～]/gu, sign => String.fromCharCode(sign.charCodeAt(0) - 0xfee0)); // signs as wide as a Chinese one

// The number that a text shows: { value }, { either, thousands, part } where a sign may be either, { either, blank, thousands }
// where 312 290 may be two numbers, or null where it shows none.
// decimal: "." or ",", where it is known which sign stands before the parts of a whole; whole: only whole numbers can stand here;
// blank: numbers are known to have blanks between their thousands.
export function read(text, { decimal = null, whole = false, blank = false } = {}) {
  const shown = String(text).trim();
  const found = /^([-−+]?)(.*?)((?:[eE][-+]?\d+)?)$/u.exec(shown);
  const body = found[2].replace(new RegExp(SPACE, "gu"), " ");
  if (!blank && / /u.test(found[2]) && !/ 0/u.test(body) && /^\d{1,3}(?: \d{3})+(?:[.,]\d+)?$/u.test(body))
    return { either: shown, blank: true, thousands: signed(found[1], body.replace(/ /gu, "").replace(",", ".")) };
  if (!/^[\d.,'’ ]*\d$/u.test(body) || /^0\d/u.test(body)) return null; // 0312 is a code
  const digits = plain(body, decimal, whole);
  if (digits === null) return null;
  if (digits === "either")
    return {
      either: shown,
      thousands: signed(found[1], body.replace(/[.,]/u, "")),
      part: signed(found[1], body.replace(",", ".")),
    };
  const value = Number(signedText(found[1], digits) + found[3]);
  return Number.isFinite(value) ? { value } : null;
}

const signedText = (sign, digits) => (sign === "-" || sign === "−" ? "-" : "") + digits;
const signed = (sign, digits) => Number(signedText(sign, digits));

// The digits with a point before the parts, "either" where that is not known, null where it is no number.
function plain(body, decimal, whole) {
  if (/^\d+$/u.test(body)) return body;
  if (/^\d{1,3}(?:[ '’]\d{3})+(?:[.,]\d+)?$/u.test(body)) return body.replace(/[ '’]/gu, "").replace(",", ".");
  if (/[ '’]/u.test(body)) return null;
  const points = count(body, "."),
    commas = count(body, ",");
  if (points && commas) {
    const last = body.lastIndexOf(".") > body.lastIndexOf(",") ? "." : ",";
    return grouped(body, last === "." ? "," : ".", last);
  }
  const sign = points ? "." : ",";
  if (points + commas > 1) return grouped(body, sign, null);
  if (!/^[1-9]\d{0,2}[.,]\d{3}$/u.test(body)) return body.replace(",", "."); // 0.204, 12.5 and 1204.567 are parts
  if (decimal !== null) return decimal === sign ? body.replace(",", ".") : body.replace(sign, "");
  return whole ? body.replace(sign, "") : "either";
}

const count = (text, sign) => text.split(sign).length - 1;

// Thousands by one sign, parts after another.
function grouped(body, between, before) {
  const [head, tail, ...more] = before === null ? [body] : body.split(before);
  const groups = head.split(between);
  const fine =
    more.length === 0 &&
    /^\d{1,3}$/u.test(groups[0]) &&
    groups.slice(1).every(g => /^\d{3}$/u.test(g)) &&
    (tail === undefined || /^\d+$/u.test(tail));
  return fine ? groups.join("") + (tail === undefined ? "" : "." + tail) : null;
}

// Are there blanks between thousands in a text, as nobody else uses them: 45 000, or blanks that do not break a line?
export const hasBlanks = text => /(?<!\d)\d{1,3}(?:[\u00a0\u2009\u202f]\d{3}| 0\d\d)(?!\d)/u.test(text);

// Which sign the numbers of a text have before the parts of a whole, where one of them shows it; null: none does, or they differ.
export function decimalOf(texts) {
  const found = new Set();
  for (const text of texts) {
    const body = String(text).replace(/[eE][-+]?\d+$/u, "");
    const points = count(body, "."),
      commas = count(body, ",");
    if (points && commas) found.add(body.lastIndexOf(".") > body.lastIndexOf(",") ? "." : ",");
    else if (points > 1) found.add(",");
    else if (commas > 1) found.add(".");
    else if (points + commas === 1 && !/^[-−+]?[1-9]\d{0,2}[.,]\d{3}$/u.test(body.trim()))
      found.add(points ? "." : ",");
  }
  return found.size === 1 ? [...found][0] : null;
}
