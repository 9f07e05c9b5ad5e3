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
  "\\s*(?:significant|sig\\.?|decimals?|digits?|figures?|places?|s\\.? ?f|d\\.? ?p|décimales?|chiffres|(?:nachkomma|dezimal)?stellen|decimales|cifras)(?!\\p{L})",
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
  "pas|aucune?s?|sans|jamais|sauf|seulement|uniquement|sin|ning[uú]n\\p{L}*|nunca|excepto|salvo|sólo|solo|außer|ausser|nie|niemals|teilweise|weder",
  "log|logarithm\\p{L}*|sqrt|transformed|relative|standardi[sz]ed|multiplied|proportional|doubled|halved",
].join("|");
const DENIAL = new RegExp(`(?<!\\p{L})(?:${DENIED})(?!\\p{L})`, "iu");
const LAST = new RegExp(`(?<!\\p{L})(?:${DENIED})(?!\\p{L})(?!.*(?<!\\p{L})(?:${DENIED})(?!\\p{L}))`, "iu");

export const denies = text => DENIAL.test(text);

// Words behind a number by which it is another one than the published: 312 before Laplace noise | 312 true.
const ANOTHER = /(?<!\p{L})(?:before|prior to|vor|avant|antes(?: de)?|true|actual|raw|unperturbed|unrounded|original|wahr|tatsächlich)$/iu;
export const isAnother = unit => ANOTHER.test(unit);

// Does a text end in a denial, but for words that only join? ... people without | ... is not, as agreed, added
export function endsInDenial(text, isFiller) {
  const found = LAST.exec(text);
  return found !== null && isFiller(text.slice(found.index + found[0].length));
}

const THEN = /(?<!\p{L})(?:then|before|prior to|followed by|next|later|subsequently|afterwards?|second(?:ly)?|danach|vor)(?!\p{L})/iu;
const AFTER = /(?<!\p{L})(?:after|following|once|nach)(?!\p{L})/iu;
const BEFORE = /(?<!\p{L})(?:before|prior to|vor)(?!\p{L})/iu;
const FIRST = /(?<!\p{L})(?:first|firstly|zuerst)(?!\p{L})/iu;

// Which of two things a footnote says to have been done first, 0 or 1; null where it does not say. Places of what it says of
// either, as [start, end].
export function firstOf(text, ...places) {
  if (places.some(each => each.length === 0)) return null;
  const [a, b] = places.map(each => [...each].sort((x, y) => x[0] - y[0])[0]),
    leads = a[0] < b[0] ? 0 : 1,
    [one, other] = leads === 0 ? [a, b] : [b, a];
  const lead = text.slice(Math.max(0, one[0] - 25), one[0]).split(/[.;\n]/u).at(-1),
    between = text.slice(one[1], other[0]);
  if (BEFORE.test(lead) || AFTER.test(between)) return 1 - leads;
  return AFTER.test(lead) || FIRST.test(lead) || THEN.test(between) ? leads : null;
}

// Which of rounding and hiding came first: "rounded", "hidden" or null. Counts below 10 are hidden, the others rounded to 5.
const OTHERS = /(?<!\p{L})(?:(?:all |any |the |die )?(?:others?|rest|remaining|remainder)|übrigen?|restlichen?|alle anderen|(?:les )?autres|(?:los |las )?demás)(?!\p{L})/iu;
export function firstPrinted(text, rounds, hides) {
  if (rounds.length === 0 || hides.length === 0) return null;
  const [[hidden, end]] = [...hides].sort((a, b) => a[0] - b[0]),
    round = Math.min(...rounds.map(([at]) => at));
  if (hidden < round && OTHERS.test(text.slice(end, round))) return "hidden";
  const first = firstOf(text, rounds, hides);
  return first === null ? null : ["rounded", "hidden"][first];
}

// Does it matter to a number whether it was rounded or hidden first? Not where all that is rounded to it is on one side of the limit.
export function orderMatters(value, steps) {
  const round = steps.find(step => step.how === "rounded" || step.how === "random"),
    hide = steps.find(step => step.how === "hidden" || step.how === "within");
  if (!round || !hide) return false;
  return value === null || hide.how === "within" || value - (round.base ?? round.step / 2) < hide.below;
}

// Names and units of what is no number of people or things: Mean age: 41 | death rate: 12 | 12 more than last year | 12th.
const NO_COUNT =
  /^(?:the )?(?:net )?(?:mean|average|median|rates?|ratio|proportion|percentage|index|score|change|difference|increase|decrease|growth|balance|veränderung|zunahme|abnahme|saldo|differenz|[ée]volution|variation|variación|différence|diferencia|solde|indice|índice)(?!\p{L})|^(?:up|down|[+-]?%|in %)$/iu;
const ENDS_NO_COUNT = /(?<!\p{L})(?:rates?|ratios?|proportions?|percentages?|percent|pct|shares?|scores?|index|mean|median|average|%)\)?$/iu;
export const namesNoCount = (name, parted = false) => NO_COUNT.test(name) || (!parted && ENDS_NO_COUNT.test(name));
export const isNoCount = (shown, unit) => /^\+/u.test(shown) || /^(?:(?:more|fewer|less|(?:higher|lower) than)(?!\p{L})|(?:st|nd|rd|th)$)/iu.test(unit ?? "");

// Names and units of what may be an amount or a measure, not a number of people or things: Income: 41000 | 312 EUR | age 41.
const AMOUNTS = [
  "incomes?|salar(?:y|ies)|wages?|pay|earnings?|revenues?|turnover|sales|profits?|prices?|costs?|expenses?|expenditures?|spending|rents?|debts?|taxes|budgets?|gdp|amounts?",
  "ages?|heights?|weights?|lengths?|distances?|durations?|temperatures?|speeds?|(?:household|family|class) sizes?|bmi|iq|dose|ranks?|max|min|mode|range|(?:waiting|travel|response|reaction) times?",
  "(?:phone|telephone|tel\\.?|fax|zip|postcode|post ?code|version|id|date|year|jahr|datum|stand|seite|page)",
  "(?:durchschnitts|median)?alter|\\p{L}*(?:einkommen|gehalt|lohn|löhne|umsatz|kosten|miete|gewicht|größe|höhe|länge|dauer|preis|preise|ausgaben|mittelwert|durchschnitt|quote|anteil)",
  "revenus?|salaires?|prix|coûts?|dépenses?|loyers?|âge|taille|poids|durée|montants?|moyenne|médiane|taux",
  "ingresos?|salarios?|precios?|costes?|costos?|gastos?|edad|peso|altura|duración|importe|media|mediana|promedio|tasa|porcentaje",
].join("|");
const CURRENCY = "[€$£¥₹₽]|(?:eur|usd|gbp|chf|jpy|cad|aud)(?!\\p{L})";
const AMOUNT = new RegExp(
  `(?<!\\p{L})(?:${AMOUNTS}) *(?:(?:in|per|of|at|pro|par|por|de|du|des) [^\\d]{1,30}|[([][^)\\]]{1,30}[)\\]]|(?:19|20)\\d\\d)?$|${CURRENCY}`,
  "iu",
);
const MEASURE = new RegExp(
  `^\\(?(?:${CURRENCY}|(?:dollars|euros?|pounds|francs|cents|uhr|[ap]\\.?m|km|cm|mm|k?m[²2]|miles|feet|ft|inches|kg|m?g|lbs?|tons|tonnes?|tonnen|hectares|hektar|ha|acres|lit(?:re|er)s?|m?l|hours|hrs?|h|minutes|min|seconds|sec|days|weeks|months|years|yrs?|jahre?|stunden|tage|wochen|monate|ans|jours|mois|heures|años|días|meses|horas|degrees|[km]wh|mmhg|bpm|[rp]?pm|px|mph|kph|[kmg]?hz|[kmg]b|bytes|k?cal|calories|db|bp|volts?|watts?|m?mol|fte|vzä|full-time equivalents|person[- ]?(?:years|days|hours)|(?:index )?points?|punkte)(?![\\p{L}-])|°)`,
  "iu",
);
// This year 312, last year 287: names of counts.
export const ONE_TIME = /^(?:the )?(?:this|last|next|current|previous|prior|past|dieses|letztes|voriges|vergangenes|nächstes) (?:year|month|week|quarter|jahr)$/iu;
export const isAmount = (name, unit = null) => (name !== null && AMOUNT.test(name) && !ONE_TIME.test(name)) || (unit !== null && MEASURE.test(unit));

// Words that make a number less than what was printed: about 312 | ca. 312 | 312 or so.
const ABOUT =
  "about|around|approx(?:\\.|imately)?|roughly|some|nearly|almost|close to|circa|zirka|ca?\\.|ca|etwa|ungefähr|rund|knapp|environ|près de|autour de|presque|unos|unas|aproximadamente|aprox\\.?|cerca de|alrededor de|casi";
const FLAG = /^\(?[abd-oqs-z]\)?$/iu; // marks of offices but p and r, provisional and revised: 312 e
const LOOSE_NAME = new RegExp(`(?:^|[\\s:,;=(])(?:${ABOUT})$|[~≈≃∼≅]$`, "iu"),
  LOOSE_UNIT = new RegExp(`^\\(?(?:${ABOUT}|approx|est|ish|or so|oder so)(?!\\p{L})`, "iu");
export const isLoose = (line, name, unit) =>
  /^[\s\u0001]*\(\s*[\d.,]+\s*\)[\s\u0001]*$/u.test(line) || (name !== null && LOOSE_NAME.test(name)) ||
  (unit !== null && (LOOSE_UNIT.test(unit) || (FLAG.test(unit) && !SHORT.test(unit) && !MEASURE.test(unit))));

// 312/2021 is 312 in 2021, or a part of 2021 people; 5/12 may be a date.
export const isSlashed = (line, part, whole) =>
  /\d\s*\/\s*\d/u.test(line) && (/^(?:19|20)\d\d$/u.test(whole) || (/^\d{1,2}$/u.test(part) && /^\d{1,2}$/u.test(whole) && part <= 31 && whole <= 31 && Math.min(part, whole) <= 12));

const IN_SHORT = /(?<!\p{L})(?:tsd|tausend|mio|mrd|milliers|milliards|millones|thousands|millions)(?!\p{L})/iu;
export const namesShort = name => IN_SHORT.test(name);

// A number in short: 1.2 million | 312k.
export const SHORT =
  /^(?:hundreds?|thousands?|millions?|billions?|thsd|dozens?|tausend|tsd\.?|millionen|mio\.?|mrd\.?|milliers?|milliards?|miles|millón|millones|k|m|mn|bn|mil|mill|lakhs?|crores?|hundert)(?!\p{L})/iu;

// Does a range or a limit run into another number: 18-24 312 | under 5 312?
export const runsTogether = line =>
  /(?:[-–<>≤≥]|(?<!\p{L})(?:to|and|bis|under|below|over|above|than|least|most))\s*\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)/iu.test(line) &&
  !/\d[ \u00a0\u2009\u202f]\d{3}\s*(?:[-–]|to|and|bis)\s*\d/iu.test(line);
