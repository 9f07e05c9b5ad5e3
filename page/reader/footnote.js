// What a footnote says, as facts: the law of the noise, its size in whichever words it was given, and what was done before
// printing. Nothing is concluded here; `noise.js` does that. Whatever a rule has read is blanked out, so that what is
// left can be read as data, or named as not understood.

import { NUMBER, read } from "./numbers.js";
import { cutShort, firstOf, firstPrinted } from "./doubts.js";

const GAP = "[ \\t]*";
const START = "(?<![\\p{L}\\p{N}])",
  END = "(?![\\p{L}\\p{N}])";
const IS = `${GAP}(?:=|:|≈|~|of|is|was|equals?|equal to|ist|von)?${GAP}`;
const N = `(${NUMBER})`;
const TIMES = { one: 1, two: 2, three: 3 }; // standard deviations
const WORDS = { five: 5, ten: 10, tens: 10, hundred: 100, hundreds: 100, thousand: 1000, thousands: 1000,
  zehner: 10, hunderter: 100, tausender: 1000, "ganze zahlen": 1, dizaine: 10, centaine: 100, millier: 1000, "l'unité": 1,
  decena: 10, centena: 100, millar: 1000, unidad: 1, one: 1, integer: 1, integers: 1, unit: 1, "whole number": 1, "whole numbers": 1, person: 1 };
const WORD = `(${NUMBER}|${Object.keys(WORDS).join("|")})`;
const BELOW = "(?:below|under|less than|fewer than|smaller than|lower than|unter|(?:kleiner|weniger)(?: als)?|inférieur(?:e?s|e)? à|moins de|inferior(?:es)? a|menos de|<)";
const MOST = "(?:at most|up to|no more than|≤|<=)";
const FEWER = "(?:or fewer|or less|or below|or under|and below|and under|and fewer)";
const HIDDEN =
  "(?:(?<![\\p{L}\\p{N}])(?:hidden|suppressed|suppression|withheld|masked|omitted|redacted|confidential|blank(?:ed)?(?: out)?|left (?:out|blank|empty)|not (?:shown|published|printed|disclosed|reported|released|displayed)|geheim(?: ?gehalten)?(?!\\p{L})|unterdrückt|gesperrt|nicht (?:ausgewiesen|veröffentlicht|gezeigt)|(?:masqu|supprim)ée?s?|confidentiel(?:le)?s?|non (?:diffus|publi|communiqu)ée?s?|ocult[oa]s?|suprimid[oa]s?|confidencial(?:es)?|no (?:se )?(?:publican|muestran|difunden)))";
const JOIN =
  "(?:[ \\t]|if|when|where|they|it|its|is|are|was|were|be|being|been|the|a|an|all|any|to|of|for|with|values?|counts?|numbers?|cells?|which|that|have|has|primary|threshold|limit|noisy|count|true|werden|wurden|wird|sind|ist|fälle|werte|zellen|sont|est|les|valeurs|effectifs|son|están|los|valores|casos|;|,|:|=|\\(|\\))*?";
const TO =
  "(?:[ \\t]|to|the|nearest|closest|multiples?|of|a|an|base|by|value|values|number|numbers|integer|auf|\\(|=|:|-)*?";
const BOTH = `(?:${GAP}(?:either|up|down|or|independently|separately|,))*`; // ways of rounding at random
const PERCENT = "(?:%|percent|per cent|pct)";
const FEW = "(?:[ \\t]+(?!(?:not|no|never|nor|without|only)(?!\\p{L}))[\\p{L}]+){0,3}?"; // what is counted
const SURE = `(?:${GAP}[,;(]?${GAP}(?:at|with|for|in|of|level|bei|mit|auf|à|al)?${GAP}(?:the)?${GAP}${N}${GAP}${PERCENT}(?:${GAP}(?:confidence|level|moe|margins?|errors?|intervals?|konfidenz|of (?:the )?(?:time|times|cases|releases|noise)|sure|ci))*${GAP}\\)?)?`;

const rule = (pattern, what, flags = "gimu") => [new RegExp(pattern, flags), what];

// In their order: what is special before what is general. Each gets the facts, the groups of its match, and its place.
const RULES = [
  rule(
    `^${GAP}(?:source|quelle)${GAP}:${GAP}([^\\n]+)$|(?<=[,;.)]${GAP})(?:source|quelle)${GAP}:${GAP}(?![^\\n]*(?:nois|rausch|round|laplac|gauss|suppress|hidden|epsilon|[ε±%=;]))([^\\n]{1,80})$`,
    (f, [text, inLine]) => {
      f.source = (text ?? inLine).trim();
    },
  ),
  // what only follows from the noise or the printing
  rule(
    `(?:${START}(?:so|thus|therefore|hence)(?:${GAP}that)?,?${GAP})?${START}(?:the |noisy |published |some |these |individual )*(?:counts?|numbers?|values?|figures?|cells?|totals?|sums?|results?|components?|details?)(?: in tables?)?${GAP}(?:may|can|might|could)${GAP}(?:therefore |thus |also |sometimes )*(?:(?:be|become|appear)${GAP}(?:negative|below (?:0|zero)|fractional|non-?integers?|not whole)|not${GAP}(?:add|sum)(?: up)?(?: (?:exactly|precisely))?(?:${GAP}to${GAP}(?:the )?(?:totals?|sums?|100 ?%))?(?:${GAP}(?:due to|because of|owing to)${GAP}(?:the )?(?:noise|(round)ing|suppression|perturbation)(?:${GAP}(?:and|or)${GAP}(?:noise|rounding|suppression))?)?)${END}`,
    (f, [rounds]) => {
      f.rounds ||= Boolean(rounds);
    },
  ),
  rule(`${START}(?:mean[- ](?:of |is |= ?)?(?:0|zero)|zero[- ]mean|(?:cent(?:er|re)d|around)(?: (?:at|on|around))? (?:0|zero)|unbiased)${END}`, () => {}),
  // whether the number that a share is of is noisy
  rule(
    `${START}(?:the )?(?:n|totals?|denominators?|populations?|bases?|(?:group |sample )?sizes?|numbers? of (?:people|persons|records|households|patients))(?: (?:size|number|count)s?)?${GAP}(?:is|are|was|were)?${GAP}(?:known${GAP})?(?:exact(?:ly known)?|public|not noisy|without noise|noise[- ]free|free of noise)${END}|${START}(?:none|no noise|exact|without noise)${GAP}(?:in|for|on)${GAP}(?:the )?(?:totals?|denominators?|population|n)${END}|${START}exact${GAP}(?:totals?|denominators?|population|n)${END}`,
    f => {
      f.exactOf = true;
    },
  ),
  rule(
    `${START}(?:(?:no|without|free of)${GAP}(?:any)?${GAP}noise(?: (?:was )?added)?|(?:kein|ohne) rauschen|sans bruit|sin ruido)${END}|${START}noise${GAP}[:=]?${GAP}none${END}|${START}(?:not noisy|noise[- ]free)${END}|${START}(?<!(?:the|of|to|an|a|true|and) )exact(?:ly)?(?: counts?| numbers?)?${END}`,
    f => {
      f.none = true;
    },
  ),
  // what a sign in the place of a number stands for
  rule(
    `(?<=^|[;,.(\\n]${GAP})(?:["“'])?(\\*+|\\.\\.+|…|[cxsd]|[-–—])(?:["”'])?${GAP}(?:=|:|means|stands? for|indicates?|is|bedeutet)${GAP}(?:a |an )?(?:counts?|numbers?|values?|cells?)?${GAP}(?:of|from|that (?:is|are|was|were)|is|are|which is|to)?${GAP}(?:(${BELOW}|${MOST})${GAP}${N}|${N}${GAP}(?:-|–|to)${GAP}${N}|${N}${GAP}${FEWER})(?:${FEW}${JOIN}${HIDDEN})?`,
    (f, [sign, below, limit, low, high, most], at, number) => {
      const step = limit
        ? { how: "hidden", below: number(limit) + (new RegExp(`^${MOST}$`, "iu").test(below) ? 1 : 0) }
        : most
          ? { how: "hidden", below: number(most) + 1 }
          : { how: "within", low: number(low), high: number(high) };
      if (step.how === "within") f.marked = step;
      else f.printed.push({ ...step, at });
    },
  ),
  // printing
  rule(
    `${START}(?:zufällig auf${GAP}${N}${GAP}gerundet|zufallsrundung(?:${GAP}(?:zur|auf|mit|basis))*${GAP}${N}|(?:arrondi(?:e?s|e)?|redondead[oa]s?|redondeo)${GAP}(?:de (?:façon|manière|forma) )?(?:aléatoire(?:ment)?|aleatori[oa](?:mente)?)(?:${GAP}(?:à|a|au|al|en|de|un|base|multiple|múltiplo))*${GAP}${N})${END}`,
    (f, groups, at, number) => f.printed.push({ how: "random", base: number(groups.find(g => g)), at }),
  ),
  rule(
    `${START}auf${GAP}(?:(?:die|volle|ganze|den|nächsten?|nächste|ein|vielfaches?|von)${GAP})*${WORD}(?:er)?${GAP}gerundet${END}|${START}(?:arrondi(?:e?s|e)?|redondead[oa]s?)(?:${GAP}(?:à|a|au|aux|al|la|le|les|un|plus proche|multiples?|múltiplos?|de))*${GAP}${WORD}(?:${GAP}(?:près|le plus proche|más cercan[oa]))?${END}`,
    (f, [german, other], at, number) => {
      const step = german ?? other;
      f.printed.push({ how: "rounded", step: WORDS[step.toLowerCase()] ?? number(step), at });
    },
  ),
  rule(`${START}round(?:ed|ing)${TO}${N}(?:,|${GAP})*(?:at random|randomly)${END}`, (f, [base], at, number) =>
    f.printed.push({ how: "random", base: number(base), at }),
  ),
  rule(
    `${START}(?:random(?:ly)?${GAP}round(?:ed|ing)|rounded${GAP}(?:at random|randomly))${BOTH}${TO}${N}${GAP}(?:,|or|and)${GAP}${N}`,
    (f, [one, other], at, number) => {
      f.bases = [number(one), number(other)];
    },
  ),
  rule(
    `${START}(?:random(?:ly)?${GAP}round(?:ed|ing)|rounded${GAP}(?:at random|randomly)|rr)${BOTH}${TO}${N}`,
    (f, [base], at, number) => f.printed.push({ how: "random", base: number(base), at }),
  ),
  rule(`${START}(?:random(?:ly)?${GAP}round(?:ed|ing)|rounded${GAP}(?:at random|randomly))${END}`, f =>
    f.lacks.push("random"),
  ),
  rule(`${START}round(?:ed|ing)${GAP}(up|down)(?:wards)?${TO}${WORD}`, f => f.beyond.push("rounded_up")),
  rule(
    `${START}(?:(?:are|were|was|is|be)${GAP})?(?:round(?:ed|ing)?(?: off)?(?: (?:independently|separately|individually))?|nearest|in multiples|multiples of|gerundet)${TO}${WORD}${END}`,
    (f, [step], at, number) => f.printed.push({ how: "rounded", step: WORDS[step.toLowerCase()] ?? number(step), at }),
  ),
  rule(`${START}round(?:ed|ing)${END}`, f => f.lacks.push("rounded")),
  rule(`${HIDDEN}${JOIN}${BELOW}${GAP}${N}|${BELOW}${GAP}${N}${FEW}${JOIN}${HIDDEN}`, (f, [a, b], at, number) =>
    f.printed.push({ how: "hidden", below: number(a ?? b), at }),
  ),
  rule(
    `${HIDDEN}${JOIN}${MOST}${GAP}${N}|${MOST}${GAP}${N}${FEW}${JOIN}${HIDDEN}|${HIDDEN}${JOIN}${N}${GAP}${FEWER}|${N}${GAP}${FEWER}${FEW}${JOIN}${HIDDEN}`,
    (f, groups, at, number) => f.printed.push({ how: "hidden", below: number(groups.find(g => g)) + 1, at }),
  ),
  rule(
    `${N}${GAP}(?:-|–|to|through)${GAP}${N}${JOIN}${HIDDEN}|${HIDDEN}${JOIN}(?:from|between)?${GAP}${N}${GAP}(?:-|–|to|and|through)${GAP}${N}`,
    (f, [a, b, c, d], at, number) => {
      f.marked = { how: "within", low: number(a ?? c), high: number(b ?? d) };
    },
  ),
  rule(
    `(?:${HIDDEN}|(?:minimum|smallest)${GAP}(?:cell|count)?${GAP}(?:size)?|threshold)${JOIN}${N}`,
    (f, [below], at, number) => f.printed.push({ how: "hidden", below: number(below), at }),
  ),
  rule(
    `${START}(?:(?:post-?processed|forced|made|constrained|truncated|clipped|clamped)${GAP}(?:to be${GAP})?(?:non-?negative|positive|≥${GAP}0)|non-?negativity(?: (?:was |is )?(?:imposed|enforced|constraint))?)${END}`,
    (f, _, at) => f.printed.push({ how: "cut", low: 0, high: null, at }),
  ),
  rule(
    `${START}negatives?(?:${GAP}(?:noisy )?(?:counts?|numbers?|values?|cells?|ones))?(?:${GAP}(?:are|were|is|was|have been))?${GAP}(?:set|moved|replaced|clamped|truncated|clipped|cut(?: off)?|raised|changed|printed|shown|→|->)(?:${GAP}(?:to|by|at|with|as))?${GAP}(?:0|zero)${END}|${START}(?:clamped|truncated|clipped|cut(?: off)?|censored)(?:${GAP}(?:at|to|below|from below))*${GAP}(?:0|zero)(?:${GAP}(?:if|when|where)${GAP}(?:it${GAP}is${GAP})?negative)?${END}|${START}no negatives?${END}`,
    (f, _, at) => f.printed.push({ how: "cut", low: 0, high: null, at }),
  ),
  // how large the noise is
  rule(
    `\\(?${START}${N}${GAP}${PERCENT}${GAP}(?:confidence|credible|level|intervals?|ci|:|,|of|from|is|=|${GAP})*\\[?${GAP}${N}${GAP}(?:-|–|to|bis)${GAP}${N}${GAP}\\]?\\)?`,
    (f, [sure, low, high], _, number) => {
      f.interval = { low: number(low), high: number(high), confidence: number(sure) / 100 };
    },
  ),
  rule(
    `${START}${N}${GAP}(?:-|–|to|bis)${GAP}${N}${GAP}[(,]?${GAP}(?:at|with)?${GAP}${N}${GAP}${PERCENT}(?:${GAP}(?:confidence|level|intervals?|ci))*${GAP}\\)?`,
    (f, [low, high, sure], _, number) => {
      f.interval = { low: number(low), high: number(high), confidence: number(sure) / 100 };
    },
  ),
  rule(
    `${START}n(?:ormal)?${GAP}\\(${GAP}0${GAP}[,;]${GAP}(?:(?:(σ²|σ\\^2|sigma\\^2|variance|var)|(σ|sigma|sd|std|scale))${GAP}=?${GAP})?${N}${GAP}(²|\\^2)?${GAP}\\)`,
    (f, [variance, sd, v, squared], _, number) => {
      f.laws.add("gaussian");
      if (variance || sd) f.sizes.push(variance ? { by: "variance", variance: number(v) } : { by: "sd", sd: number(v) });
      else f.sizes.push(squared ? { by: "sd", sd: number(v) } : { by: "bare", bare: number(v) });
    },
  ),
  rule(`(?:${START}variance(?: of (?:the )?noise)?|σ²|σ\\^2|sigma\\^2|sigma²)${IS}${N}`, (f, [v], _, number) =>
    f.sizes.push({ by: "variance", variance: number(v) }),
  ),
  rule(
    `(?:±|\\+/[-−]|\\+-|${START}plus or minus|${START}plus/minus)${GAP}${N}${GAP}(\\((?=[^()\\n]*\\)))?(?:(?:=|at)${GAP})?(?:(1|one|2|two|3|three|1\\.96|1\\.645|1\\.64)${GAP}(?:[×x*]${GAP})?)?(s\\.?[de]\\.?|standard[- ](?:deviations?|errors?)|σ|sigma)${END}\\)?`,
    (f, [v, bracket, times, word], _, number) => {
      const few = /(?:[nr]s|σ|sigma)$/iu.test(word) ? [1, 2, 3, 1.96] : [1, 2, 1.96];
      if (!times && !bracket && few.includes(number(v))) f.cut.push(`± ${v} ${word}`); // how many of them, or how large one is?
      f.sizes.push({ by: "sd", sd: number(v) / (TIMES[times?.toLowerCase()] ?? Number(times ?? 1)) });
    },
  ),
  rule(
    `${START}${N}${GAP}${PERCENT}(?:${GAP}(?:of (?:the )?(?:time|times|cases|releases|noise)|confidence|margins?(?: of error)?|error|moe|(?:stays? |lies? |is |are )?(?:with)?in|below|interval|level|:|,|\\)|of|is|=))*${GAP}(?:(?:±|\\+/[-−])${GAP}|(?!(?:19|20)\\d\\d(?![\\d.,]*\\d)))${N}(?!${GAP}${PERCENT})`,
    (f, [sure, e], _, number) => f.sizes.push({ by: "error", error: number(e), confidence: number(sure) / 100 }),
  ),
  rule(
    `(?:±|\\+/[-−]|\\+-|${START}(?:plus or minus|plus/minus|give or take|margins? of error|moe|errors?(?: of)? at most|within))(?:${GAP}(?:of|=|:|is|±))?${GAP}${N}${SURE}`,
    (f, [e, sure], _, number) =>
      f.sizes.push({ by: "error", error: number(e), ...(sure && { confidence: number(sure) / 100 }) }),
  ),
  // how sure a ± is, said by itself: at the 90 percent confidence level
  rule(
    `(?:${START}(?:at|with|for|to)${GAP}(?:the|a|an)?${GAP}|${START})${N}${GAP}${PERCENT}[ \\t-]*(?:confidence|level|moe|margins?|ci${END}|(?:of the )?(?:time|times|cases))(?:[ \\t-](?:confidence|levels?|of errors?|intervals?|margins?|errors?))*`,
    (f, [sure], _, number) => {
      f.confidences.push(number(sure) / 100);
    },
  ),
  rule(
    `${START}(?:standard[- ]deviations?|std\\.?(?:${GAP}dev\\.?)?|s\\.?d\\.?|standard errors?|s\\.e\\.|se(?=${GAP}[=:])|standardabweichung|écart[- ]type|desviación (?:típica|estándar))(?: of (?:the )?noise)?${IS}${N}|(?:σ|${START}sigma)${IS}${N}`,
    (f, [a, b], _, number) => f.sizes.push({ by: "sd", sd: number(a ?? b) }),
  ),
  rule(
    `(?:${START}scale(?: parameter)?(?: (?:[bλ]|lambda))?|skala|skalenparameter|(?:d['’])?échelle|escala)${IS}${N}|${START}b${GAP}=${GAP}${N}`,
    (f, [a, b], _, number) => f.sizes.push({ by: "scale", scale: number(a ?? b) }),
  ),
  rule(`(?:${START}(?:lap(?:lace)?)${GAP}\\(${GAP})?(?:λ|${START}lambda)${IS}${N}(?:${GAP}\\))?`, (f, [v], _, number) =>
    f.sizes.push({ by: "bare", bare: number(v), lambda: true }),
  ),
  rule(`${START}(?:lap(?:lace)?)${GAP}\\(${GAP}(?:0${GAP}[,;]${GAP})?${N}${GAP}\\)`, (f, [b], _, number) => {
    f.laws.add("laplace");
    f.sizes.push({ by: "scale", scale: number(b) });
  }),
  rule(`(?:δ|${START}[dD]elta)${IS}(?:0(?:[.,]0+)?(?![\\d.,]*\\d)|([\\d.,eE^⁻⁰¹²³⁴-⁹×·*\\-−+]*\\d[⁰¹²³⁴-⁹]*))|${START}(10⁻[⁰¹²³⁴-⁹]+)`, (f, [some, ten]) => {
    f.delta ||= Boolean(some ?? ten);
  }, "gmu"), // not Δ
  rule(`(?:ρ|${START}(?:rho|zcdp))(?:${GAP}(?:-?zcdp|budget))?${IS}(?:ρ|rho)?${IS}${N}`, (f, [r], _, number) => {
    f.rhos.push(number(r, true));
  }),
  rule(
    `(?:[εϵ]|${START}(?:epsilon|eps\\.?|privacy(?:[- ]loss)?[- ]budget|privacy loss|budget))(?:${GAP}[εϵ])?${IS}${N}${GAP}(/${GAP}${NUMBER})?`,
    (f, [e, over], _, number) => {
      f.epsilons.push(over ? number(e, true) / number(over.slice(1).trim(), true) : number(e, true)); // none is in thousands
    },
  ),
  rule(`(?:${START}(?:(?:[lℓ][12₁₂]|global|with)[- ])?(?:sensitivi(?:ty|tät)|sensibili(?:té|dad))|Δ)${IS}(${NUMBER}|one|two)`, (f, [s], _, number) => {
    f.sensitivities.push({ one: 1, two: 2 }[s.toLowerCase()] ?? number(s));
  }),
  rule(
    `${START}(?:one|each|a|1)${GAP}(?:person|record|individual|household)${GAP}(?:can )?(?:changes?|adds?|moves?|contributes?)[^.;\\n\\d]{0,30}?(?:by )?(?:at most )?(?<!(?<!\\p{L})of )${N}`,
    (f, [s], _, number) => {
      f.sensitivities.push(number(s));
    },
  ),
  rule(
    `${START}(?:one|each|every|a|1)${GAP}(?:person|individual)${GAP}(?:(?:is|was)${GAP}counted|counts|appears|occurs)${GAP}(?:at most |only |exactly )?once${END}|${START}(?:one|each|every|a|1)${GAP}(?:person|individual)${GAP}(?:can )?(?:contributes?|adds?|changes?)(?: the number| the count| it)?${GAP}(?:by )?(?:at most )?one(?: record| row)?${END}(?!${GAP}(?:of|in|per))`,
    f => {
      f.sensitivities.push(1);
    },
  ),
  // which law
  rule(
    `${START}(?:discrete|two[- ]sided|double|symmetric|integer)?[- ]?geometric(?:${GAP}(?:noise|mechanism|distribution))*${END}`,
    f => {
      f.laws.add("laplace");
      f.whole = true;
    },
  ),
  rule(
    `${START}(?:discrete|integer|integer[- ]valued)${GAP}(laplac(?:e|ian)|gauss(?:ian)?|normal)(?:${GAP}(?:noise|mechanism|distribution))*${END}`,
    (f, [law]) => {
      f.laws.add(/^lap/iu.test(law) ? "laplace" : "gaussian");
      f.whole = true;
    },
  ),
  rule(
    `${START}(laplac(?:e|ian|ien|iano)|lap|double[- ]exponential|gau(?:ss(?:ian|isch|ien|iano)?|ß)|normalverteilt(?:e[rs]?)?|normal(?:ly)?(?=[- ](?:distributed|noise|errors?|distribution|mechanism)))(?:[- ](?:distributed|verteilt(?:e[rs]?)?))?(?:${GAP}(?:noise|errors?|mechanism|distribution|-?rauschen))*(?:${GAP}(?:of|:|=)?${GAP}(?:size|magnitude|level|parameter)?${GAP}${N})?${END}`,
    (f, [law, bare], _, number) => {
      f.laws.add(/^(?:lap|double)/iu.test(law) ? "laplace" : "gaussian");
      if (bare) f.sizes.push({ by: "bare", bare: number(bare) });
    },
  ),
  rule(
    `${START}discrete${END}|${START}(?:on|in|of)${GAP}(?:whole numbers|integers)(?: only)?${END}|${START}(?:whole|integer)[- ](?:numbered |valued )?noise${END}`,
    f => {
      f.whole = true;
    },
  ),
  rule(`${START}(?:in|to|on|for|of)?${GAP}(?:both|each|either)${GAP}(?:counts?|numbers?|cells?|of them)?(?:${GAP}(?:are${GAP}|were${GAP})?noisy)?${END}`, f => {
    f.both = true;
  }),
];

// Words that join what was read: a stretch of a footnote with nothing else in it is no data.
const FILLER = new Set(
  `a an the of with by was were is are be been has have had and to from in on at as for it its this these that which
  they them all each every other others any than when where then after before noise noisy added adding perturbed protect protects
  margin margins error errors estimates estimate privacy differential differentially private privately count counts number numbers cell cells value values table tables figure figures
  published released printed using via mechanism under been so per parameter law zcdp dp footnote note notes also
  people persons person drawn distribution distributed true original actual independently independent separately before after release data statistics results result applied generated calibrated satisfies ε δ epsilon delta we our und mit der die das von
  infused infusion rauschen zufallsrauschen small injected contain contains include includes subject obtained protected taken preserve ensure maintain safeguard
  confidentiality anonymity respondents individuals individual patients disclosure control avoid such integers whole
  fallzahlen effectifs valeurs chiffres statistique valores cifras casos bruit ruido de du des d l la le les et con el los las avec a été ajouté ajoutée añadido habitantes
  verrauscht wurde wurden werden wird zahl zahlen wert werte alle auf zu zum hinzugefügt addiert schutz angaben anzahl den dem des`.split(/\s+/u),
);

// Words that say something this page cannot take into account: they are named, never passed over.
const BEYOND = {
  law: /(?<!\p{L})(?:uniform|cauchy|student|staircase|exponential mechanism|poisson noise|binomial noise|multiplicative|cell[- ]keys?|swapp(?:ed|ing)|randomi[sz]ed response)(?!\p{L})/giu,
  percent: /\d\s*(?:%|per ?cent|percent)/giu,
  random: /random|zufäll|zufall(?!srauschen)|aléatoir|aleatori/giu,
  units:
    /(?<!\p{L})in (?:thousands|millions|hundreds|1[,. ]?000s?)(?!\p{L})|['’]000|(?<!\d)(?:1[,.]?)?000['’]?s(?!\p{L})|(?<!\p{L})in 000(?!\d)|\((?:thousands|millions|000s?)\)|[x×] ?1[,.]?000(?!\d)|(?<!\p{L})(?:per|pro|je|pour|por(?: cada)?) (?:1[,. ]?000|10[,. ]?000|100[,. ]?000|thousand|hundred|million|capita|head)(?!\d)|(?<!\p{L})(?:in|en) (?:tausend|tsd|mio|mrd|milliers|millions|miles|millones)(?!\p{L})|(?<!\p{L})(?:units?|unités?|unidad(?:es)?|einheit(?:en)?) ?: ?(?:thousand|million|tsd|tausend|mio|millier|miles|1[,. ]?000|000)/giu,
};

export const nothing = () => ({
  laws: new Set(),
  whole: null,
  sizes: [],
  confidences: [],
  interval: null,
  bases: null,
  epsilons: [], // all that were named; `epsilon`, `rho`, `sensitivity` are the first of each
  epsilon: null,
  delta: false,
  rhos: [],
  rho: null,
  sensitivities: [],
  sensitivity: null,
  none: false,
  both: false,
  exactOf: false,
  rounds: false, // rounding is mentioned as the cause of something
  cut: [],
  printedFirst: false,
  order: null, // what came first, "rounded" or "hidden", where both were done
  printed: [],
  marked: null,
  lacks: [],
  beyond: [],
  source: null,
  either: [],
});

// { facts, rest }: what is said, and the text with as many blanks (\u0001) in the place of what was read.
export function footnote(text, decimal = null, blank = false) {
  const facts = nothing();
  const number = (shown, budget = false) => {
    const found = read(shown, { decimal, blank });
    if (found?.either) facts.either.push({ ...found, unsure: budget || found.either.includes(".") });
    return found === null ? NaN : found.either ? NaN : found.value;
  };
  const places = { prints: [], noises: [], rounds: [], hides: [] };
  const done = (...hows) => facts.printed.filter(step => hows.includes(step.how)).length;
  const counts = () => ({ // of what was said of printing and of noise
    prints: facts.printed.length + facts.lacks.length,
    noises: facts.laws.size + facts.sizes.length + facts.epsilons.length + facts.rhos.length,
    rounds: done("rounded", "random") + (facts.bases ? 1 : 0),
    hides: done("hidden"),
  });
  let rest = text;
  for (const [pattern, what] of RULES) {
    pattern.lastIndex = 0;
    rest = rest.replace(pattern, (all, ...more) => {
      const k = more.findIndex(part => typeof part === "number"),
        at = more[k],
        before = counts(),
        source = facts.source;
      what(facts, more.slice(0, k), at, number);
      for (const [what, count] of Object.entries(counts())) if (count > before[what]) places[what].push([at, at + all.length]);
      const cut = facts.source === source ? cutShort(more[k + 1], at, all) : null;
      if (cut) facts.cut.push(cut);
      return "\u0001".repeat(all.length);
    });
  }
  if (facts.rounds && !facts.lacks.length && !facts.bases && !facts.printed.some(step => ["rounded", "random"].includes(step.how)))
    facts.lacks.push("rounded");
  facts.printedFirst = firstOf(text, places.prints, places.noises) === 0;
  facts.order = firstPrinted(text, places.rounds, places.hides);
  for (const [one, all] of [
    ["epsilon", "epsilons"],
    ["rho", "rhos"],
    ["sensitivity", "sensitivities"],
  ]) {
    facts[all] = [...new Set(facts[all])];
    facts[one] = facts[all][0] ?? null;
  }
  for (const [what, pattern] of Object.entries(BEYOND)) {
    if (rest.match(pattern)) facts.beyond.push(what);
  }
  facts.printed.sort((a, b) => a.at - b.at);
  return { facts, rest: rest.split("\n").map(unfilled).join("\n") };
}

// A line without the words that only joined what was read.
function unfilled(line) {
  if (!line.includes("\u0001")) return line;
  return line
    .split(/(\u0001+|[;.](?=\s|$))/u)
    .map((part, k) => (k % 2 === 0 && isFiller(part) ? "\u0001".repeat(part.length) : part))
    .join("");
}

export const isFiller = part =>
  !/[\d*<>≤≥%\u0002]/u.test(part) &&
  part
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .every(word => word === "" || FILLER.has(word));

export const said = f =>
  f.laws.size > 0 ||
  f.sizes.length > 0 ||
  f.interval !== null ||
  f.bases !== null ||
  f.epsilon !== null ||
  f.rho !== null ||
  f.none ||
  f.whole !== null ||
  f.printed.length > 0 ||
  f.marked !== null ||
  f.lacks.length > 0 ||
  f.sensitivity !== null ||
  f.delta;
