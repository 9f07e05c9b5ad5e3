// What makes a text doubtful although its rules read something in it: a number that goes on behind what was read, a word
// that denies or restricts, an order of steps that this page does not compute with. Each of them stops the answer.

// Behind a number that was read: 1/0.5 | 2·10^-1 | 2√2 | 3% | 10 thousand | 10-20 | 2 significant figures.
const BEHIND = [
  "[/^]\\s*[\\p{L}\\d.(−-]",
  "\\s*/\\s*(?:[\\d.√(]|\\p{L}(?!\\p{L}))",
  "\\s*[·×∙⋅*^]\\s*[\\d.√(\\p{L}−-]",
  "\\s*[√%‰²³⁻⁰¹⁴-⁹½¼¾]",
  "[\\d.,]*\\d",
  "\\s*(?:[-–−+±]|to|bis)\\s*\\d",
  "\\s*x\\s*\\d",
  "\\s*(?:per ?cent|percent(?:age)?|prozent|pp|points?|pct)(?!\\p{L})",
  "\\s*(?:hundreds?|thousands?|millions?|billions?|tausend|millionen|mio|k|m|bn|mn)(?!\\p{L})",
  "\\s*(?:significant|sig\\.?|decimals?|digits?|figures?|places?)(?!\\p{L})",
  "\\s*(?:times|divided|multiplied|over|per \\d|of (?:the|each|every|its) (?:count|value|estimate|number|total|mean)s?)(?!\\p{L})",
];
const TAIL = new RegExp(`^(?:${BEHIND.join("|")})`, "iu");
const HEAD = /(?:[/·×√^\d]|(?<!\p{L})(?:ln|log|exp|sqrt)\s*\(?\s*)$/iu;

const COUNTED = /\d{1,9}\s?$/u; // 2 standard deviations = 6

// The whole expression of which only a part was read, or null. A rule has read `all` at a place of `text`.
export function cutShort(text, at, all) {
  if (!/\d/u.test(all)) return null;
  const behind = text.slice(at + all.length, at + all.length + 40);
  const tail = /[\d.]\s*$/u.test(all) ? TAIL.exec(behind) : null,
    head = /^[\p{L}εϵρσδλ]/u.test(all.trimStart()) ? HEAD.exec(text.slice(Math.max(0, at - 8), at)) : null;
  if (/^(?:standard[- ](?:deviation|error)s|sds|sigmas)(?!\p{L})/iu.test(all) && COUNTED.test(text.slice(0, at))) return `${COUNTED.exec(text.slice(0, at))[0]}${all}`;
  if (!tail && !head) return null;
  return `${head?.[0] ?? ""}${all}${tail ? /^[^\n,;]{0,30}/u.exec(behind)[0] : ""}`.replace(/\u0001+/gu, " ").trim();
}

// Words that deny what stands beside them, that say that it holds for some only or at another time, or that something else
// was done to the number.
const DENIED = [
  "not|no|without|never|neither|nor|none|nicht|kein\\p{L}*|ohne|cannot|\\p{L}+n['’]t|lacks?|lacking|absent|free of",
  "except(?:ed|ing|ion|ions)?|excluding|unless|instead|rather than|other than|or|either|optional(?:ly)?|example|e\\.g\\.|if",
  "only|nur|some|manche|einige|most|partly|sometimes|usually|typically|several|two|three|four|multiple|twice|draws|sum|totals? of|average|mean|median",
  "no longer|discontinued|abandoned|removed|subtracted|formerly|previous(?:ly)?|earlier|former|old|until|since|would|might|could|(?<!\\d )may|should|will|planned|proposed",
  "log|logarithm\\p{L}*|sqrt|transformed|relative|standardi[sz]ed|multiplied|proportional|doubled|halved",
].join("|");
const DENIAL = new RegExp(`(?<!\\p{L})(?:${DENIED})(?!\\p{L})`, "iu");
const LAST = new RegExp(`(?<!\\p{L})(?:${DENIED})(?!\\p{L})(?!.*(?<!\\p{L})(?:${DENIED})(?!\\p{L}))`, "iu");

export const denies = text => DENIAL.test(text);

// Does a text end in a denial, but for words that only join? ... people without | ... is not, as agreed, added
export function endsInDenial(text, isFiller) {
  const found = LAST.exec(text);
  return found !== null && isFiller(text.slice(found.index + found[0].length));
}

const THEN = /(?<!\p{L})(?:then|before|prior to|followed by|next|later|subsequently|afterwards?|second(?:ly)?|danach|vor)(?!\p{L})/iu;
const AFTER = /(?<!\p{L})(?:after|following|once|nach)(?!\p{L})/iu;
const BEFORE = /(?<!\p{L})(?:before|prior to|vor)(?!\p{L})/iu;
const FIRST = /(?<!\p{L})(?:first|firstly|zuerst)(?!\p{L})/iu;

// Does a footnote say that the number was rounded or hidden before the noise was added? `prints`, `noises`: places of
// what it says of either, as [start, end].
export function printedFirst(text, prints, noises) {
  if (prints.length === 0 || noises.length === 0) return false;
  const byPlace = (a, b) => a[0] - b[0];
  const [print] = [...prints].sort(byPlace),
    [noise] = [...noises].sort(byPlace);
  const printLeads = print[0] < noise[0],
    [one, other] = printLeads ? [print, noise] : [noise, print];
  const lead = text.slice(Math.max(0, one[0] - 25), one[0]).split(/[.;\n]/u).at(-1),
    between = text.slice(one[1], other[0]);
  if (!printLeads) return BEFORE.test(lead) || AFTER.test(between);
  if (BEFORE.test(lead) || AFTER.test(between)) return false;
  return AFTER.test(lead) || FIRST.test(lead) || THEN.test(between);
}

// Names and units of what is no number of people or things: Mean age: 41 | death rate: 12 | 12 more than last year | 12th.
const NO_COUNT =
  /^(?:the )?(?:net )?(?:mean|average|median|rates?|ratio|proportion|percentage|index|score|change|difference|increase|decrease|growth|balance)(?!\p{L})|^(?:up|down|[+-]?%|in %)$/iu;
const ENDS_NO_COUNT = /(?<!\p{L})(?:rates?|ratios?|proportions?|percentages?|percent|pct|shares?|scores?|index|mean|median|average|%)\)?$/iu;
export const namesNoCount = (name, parted = false) => NO_COUNT.test(name) || (!parted && ENDS_NO_COUNT.test(name));
export const isNoCount = (shown, unit) => /^\+/u.test(shown) || /^(?:(?:more|fewer|less|(?:higher|lower) than)(?!\p{L})|(?:st|nd|rd|th)$)/iu.test(unit ?? "");

// A number in short: 1.2 million | 312k.
export const SHORT =
  /^(?:hundreds?|thousands?|millions?|billions?|thsd|dozens?|tausend|tsd\.?|millionen|mio\.?|mrd\.?|k|m|mn|bn|mil|mill|lakhs?|crores?|hundert)(?!\p{L})/iu;

// Does a range or a limit run into another number: 18-24 312 | under 5 312?
export const runsTogether = line =>
  /(?:[-–<>≤≥]|(?<!\p{L})(?:to|and|bis|under|below|over|above|than|least|most))\s*\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)/iu.test(line) &&
  !/\d[ \u00a0\u2009\u202f]\d{3}\s*(?:[-–]|to|and|bis)\s*\d/iu.test(line);
