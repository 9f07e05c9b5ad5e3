// Numbers in the reader's own writing.

import { S } from "../strings.js";

const here =
  typeof navigator === "undefined" ? undefined : navigator.languages?.length ? [...navigator.languages] : undefined;
const safe = () => {
  try {
    Intl.NumberFormat(here);
    return here;
  } catch {
    return undefined;
  }
};
const LOCALE = safe();
const made = new Map();
function formatter(options) {
  const key = JSON.stringify(options);
  if (!made.has(key)) {
    const locale = new Intl.NumberFormat(LOCALE, options);
    made.set(key, {
      format: v =>
        locale
          .format(v)
          .replace(/^-(?=.*[1-9])/u, "−")
          .replace(/^-/u, ""),
    });
  }
  return made.get(key);
}

// The sign before the parts of a whole here; null where numbers are written with other digits or signs.
export const DECIMAL = [".", ","].find(sign => formatter({ minimumFractionDigits: 1 }).format(1.5) === `1${sign}5`) ?? null;

// Do blanks stand between thousands here?
export const BLANKS = /\s/u.test(formatter({ useGrouping: true }).format(1234567));

// A number as it is, to 12 digits.
export const plain = v => formatter({ maximumSignificantDigits: 12 }).format(v);
export const sized = v => formatter({ maximumSignificantDigits: 4 }).format(v);
// A whole number.
export const whole = v => formatter({ maximumFractionDigits: 0 }).format(v + 0);
export const decimals = (v, digits) =>
  formatter({ minimumFractionDigits: digits, maximumFractionDigits: digits }).format(v);
export const percent = (v, digits) =>
  formatter({ style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits }).format(v);

// A probability that is not 0 or 1 is never shown as if it were.
export function chance(p) {
  if (p > 0 && p < 0.001) return S.answer.below(percent(0.001, 1));
  if (p < 1 && p > 0.999) return S.answer.above(percent(0.999, 1));
  return percent(p, p > 0.99 || p < 0.01 ? 1 : 0);
}

// Digits after the point that show an interval of this width to two digits, in percent where `by` is 100.
export const digitsFor = (width, by = 1) =>
  width > 0 ? Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(width * by)))) : by === 100 ? 1 : 0;

// Round numbers between two limits.
export function ticks(low, high, wanted) {
  const unit = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const step = [1, 2, 5, 10].map(c => c * unit).find(c => (high - low) / c <= wanted * (1 + 1e-9));
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) out.push(k * step);
  return { at: out, step };
}
