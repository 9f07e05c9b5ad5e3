// Strict JSON, and the canonical text that a seal is made of: as `parse` and `seal` of releases/files do it in Python.
// Whole numbers and floats stay apart, because Python writes 100.0 and 100 differently.

export const MOST = 2 ** 24;
const DEEPEST = 20,
  LONGEST_NUMBER = 400;

export class Damaged extends Error {
  constructor(code, facts = {}) {
    super(code);
    this.code = code;
    this.facts = facts;
  }
}

export class Whole {
  // an integer of any length, by its digits
  constructor(digits) {
    this.digits = digits;
  }
  valueOf() {
    return Number(this.digits);
  }
}

export function parse(text) {
  if (text.length > MOST) throw new Damaged("too_large");
  const first = text.trimStart()[0];
  if (first !== "{" && first !== "[") throw new Damaged("not_json");
  const found = new Parser(text).all();
  if (!(found instanceof Map)) throw new Damaged("not_json");
  return found;
}

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/uy;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy;
const BLANK = /[ \t\n\r]*/uy;

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.slash = -1; // where the next backslash is
  }

  all() {
    const value = this.value(0);
    this.blank();
    if (this.at < this.text.length) throw new Damaged("not_valid_json");
    return value;
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  blank() {
    this.take(BLANK);
  }

  sign(one) {
    this.blank();
    if (this.text[this.at] !== one) return false;
    this.at += 1;
    return true;
  }

  // A string, however long: patterns that repeat run out of memory in millions of characters.
  string() {
    if (this.text[this.at] !== '"') return null;
    const start = this.at++;
    let quote = -1;
    for (;;) {
      if (quote < this.at) quote = this.text.indexOf('"', this.at);
      if (quote < 0) throw new Damaged("not_valid_json");
      if (this.slash < this.at) this.slash = (this.text.indexOf("\\", this.at) + 1 || Infinity) - 1;
      if (this.slash > quote) break;
      this.at = this.slash;
      if (!this.take(ESCAPE)) throw new Damaged("not_valid_json");
    }
    this.at = quote + 1;
    const whole = this.text.slice(start, this.at);
    if (/[\u0000-\u001f]/u.test(whole)) throw new Damaged("not_valid_json");
    return JSON.parse(whole);
  }

  value(depth) {
    this.blank();
    if (depth >= DEEPEST && "{[".includes(this.text[this.at] ?? " ")) throw new Damaged("too_deep");
    if (this.sign("{")) return this.object(depth + 1);
    if (this.sign("[")) return this.list(depth + 1);
    for (const [word, value] of [
      ["true", true],
      ["false", false],
      ["null", null],
    ]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const string = this.string();
    if (string !== null) return string;
    const number = this.take(NUMBER);
    if (!number) throw new Damaged("not_valid_json");
    if (number[1] === undefined && number[2] === undefined) {
      if (number[0].length > LONGEST_NUMBER) throw new Damaged("not_valid_json");
      return new Whole(number[0] === "-0" ? "0" : number[0]);
    }
    if (!Number.isFinite(Number(number[0]))) throw new Damaged("not_valid_json");
    return Number(number[0]);
  }

  object(depth) {
    const out = new Map();
    if (this.sign("}")) return out;
    do {
      this.blank();
      const name = this.string();
      if (name === null || !this.sign(":")) throw new Damaged("not_valid_json");
      if (out.has(name)) throw new Damaged("key_twice", { key: name.slice(0, 40) });
      out.set(name, this.value(depth));
    } while (this.sign(","));
    if (!this.sign("}")) throw new Damaged("not_valid_json");
    return out;
  }

  list(depth) {
    const out = [];
    if (this.sign("]")) return out;
    do out.push(this.value(depth));
    while (this.sign(","));
    if (!this.sign("]")) throw new Damaged("not_valid_json");
    return out;
  }
}

// Python's json.dumps(value, sort_keys=True, separators=(",", ":")).
export function canonical(value) {
  if (value === null || typeof value === "boolean") return String(value);
  if (value instanceof Whole) return value.digits;
  if (typeof value === "number") return float(value);
  if (typeof value === "string") return ascii(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const keys = [...value.keys()].sort(byCharacters);
  return `{${keys.map(key => `${ascii(key)}:${canonical(value.get(key))}`).join(",")}}`;
}

// Python sorts texts by characters, JavaScript by halves of them.
function byCharacters(a, b) {
  const [x, y] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    if (x[i] !== y[i]) return x[i].codePointAt(0) - y[i].codePointAt(0);
  }
  return x.length - y.length;
}

const SHORT = { "\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const escaped = c => SHORT[c] ?? "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0");
const ascii = text => `"${text.replace(/[\\"]|[^ -~]/g, escaped)}"`; // without u: each half of a pair by itself

// Python's repr of a float: the shortest digits, with an exponent below 1e-4 and from 1e16 on.
export function float(value) {
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [, sign, first, rest, power] = /^(-?)(\d)(?:\.(\d+))?e([-+]\d+)$/u.exec(value.toExponential());
  const digits = first + (rest ?? ""),
    exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${first}${rest ? "." + rest : ""}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

// The same as plain objects, for reading.
export function plainly(value) {
  if (value instanceof Whole) return Number(value.digits);
  if (Array.isArray(value)) return value.map(plainly);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plainly(item)]));
  return value;
}
