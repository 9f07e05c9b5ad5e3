// From what a footnote says to a law and its size: equations (1) to (4) of the chapter on statements of noise. What it does
// not say is taken by a rule that is named in a note, together with what else it may mean.

const LEAST_SURE = 0.5; // a ± that is less sure than that is a slip

// What facts of a footnote mean, given what the reader has chosen: { noise, notes }. noise null: nobody knows yet.
// noise = { law, size, whole, said }, where `said` is how the size was given, for words and for Python.
export function noiseOf(facts, chosen = {}) {
  if (chosen.noise) return { noise: sized(chosen.noise), notes: [] };
  const notes = [],
    laws = [...facts.laws];
  const spoken = laws.length || facts.sizes.length || facts.epsilon !== null || facts.rho !== null;
  if (facts.interval && !spoken) return { noise: null, notes: [intervalGiven(facts.interval)] };
  if (facts.none && !spoken) return { noise: NONE, notes };
  if (facts.none && !chosen.noisy) {
    const choices = [{ key: "noise", value: { law: "none" } }, { key: "noisy", value: true }];
    return { noise: null, notes: [asked("none_too", {}, choices)] };
  }
  if (!spoken) return unspoken(facts, chosen, notes);
  if (laws.length > 1 && !chosen.law) {
    return { noise: null, notes: [asked("two_laws", {}, LAWS)] };
  }
  const ways = waysOf(facts, laws, chosen, notes);
  if (ways === null) return { noise: null, notes };
  const law = chosen.law ?? laws[0] ?? taken(ways[0], notes);
  if (law === null || notes.some(note => note.kind === "asked")) return { noise: null, notes };
  return settled(law, ways, facts, chosen, notes);
}

export const NONE = { law: "none", size: 0, whole: false, said: { by: "none" } };
const LAWS = [
  { key: "law", value: "laplace" },
  { key: "law", value: "gaussian" },
];
const intervalGiven = ({ low, high, confidence }) =>
  asked(
    "interval",
    { low, high, confidence },
    ["laplace", "gaussian"].map(law => ({
      key: "noise",
      code: "interval",
      value: { law, whole: false, said: { by: "error", error: Math.abs(high - low) / 2, confidence } },
    })),
  );
const asked = (code, facts, choices = []) => ({ kind: "asked", code, facts, choices });
const assumed = (code, facts, choices = []) => ({ kind: "assumed", code, facts, choices });

function unspoken(facts, chosen, notes) {
  if (facts.whole || facts.sensitivity !== null || facts.delta) return { noise: null, notes: [asked("no_size", {})] };
  if (facts.printed.length === 0 && !facts.bases && facts.marked === null && !facts.selfSaid)
    return { noise: null, notes: [asked("no_footnote", {}, [{ key: "noise", value: { law: "none" } }])] };
  notes.push(assumed("no_noise", {}));
  return { noise: NONE, notes };
}

// How the size was given, each way by itself; null: something has to be asked first.
function waysOf(facts, laws, chosen, notes) {
  const gaussian = (chosen.law ?? laws[0]) === "gaussian";
  const said = [...facts.confidences, ...facts.sizes.map(way => way.confidence)].filter(v => v !== undefined);
  const sure = [...new Set(said)];
  if (facts.confidences.length && sure.length > 1 && !chosen.confidence) {
    notes.push(
      asked(
        "confidences",
        {},
        sure.map(value => ({ key: "confidence", value })),
      ),
    );
    return null;
  }
  if (said.some(v => !(v >= LEAST_SURE && v < 1))) {
    notes.push(asked("bad_confidence", {}));
    return null;
  }
  const ways = facts.sizes
    .map(way => (way.by === "error" && facts.confidences.length ? { ...way, confidence: chosen.confidence ?? sure[0] } : way))
    .map(way => withSure(way, chosen, notes))
    .map(way => (way.by !== "bare" ? way : bare(way, gaussian, chosen)));
  const unsaid = ways.find(way => way.by === "bare");
  if (unsaid) {
    const words = gaussian ? ["sd", "variance"] : unsaid.lambda ? ["scale", "rate"] : ["scale", "sd"];
    notes.push(
      asked(
        unsaid.lambda && !gaussian ? "lambda" : "bare",
        { size: unsaid.bare, law: gaussian ? "gaussian" : "laplace" },
        words.map(value => ({ key: "bare", value })),
      ),
    );
    return null;
  }
  const budget =
    facts.epsilon !== null && (facts.sensitivity !== null || chosen.sensitivity || ways.length === 0 || chosen.epsilon);
  const doubtful = [
    ["epsilon", facts.epsilons, budget],
    ["rho", facts.rhos, facts.rho !== null],
    ["sensitivity", facts.sensitivities, budget || facts.rho !== null],
  ].find(([key, all, used]) => used && all.length > 1 && chosen[key] === undefined);
  if (doubtful) {
    const [key, all] = doubtful;
    notes.push(
      asked(
        "several",
        { key, values: all },
        all.map(value => ({ key, value })),
      ),
    );
    return null;
  }
  const rho = chosen.rho ?? facts.rho,
    epsilon = chosen.epsilon ?? facts.epsilon;
  if (rho !== null) ways.push({ by: "rho", rho, sensitivity: sensitivity(facts, chosen, notes) });
  if (facts.epsilon !== null && (gaussian || facts.delta)) {
    if (ways.length === 0) {
      notes.push(asked("epsilon_gaussian", {}));
      return null;
    }
  } else if (budget) {
    ways.push({ by: "epsilon", epsilon, sensitivity: sensitivity(facts, chosen, notes) });
  }
  if (ways.length === 0) {
    notes.push(asked("no_size", { law: laws[0] ?? null }));
    return null;
  }
  return ways;
}

function bare(way, gaussian, { bare: by }) {
  if (!by) return way;
  return by === "rate" ? { by: "scale", scale: 1 / way.bare } : { by, [by]: way.bare };
}

function withSure(way, chosen, notes) {
  if (way.by !== "error" || way.confidence !== undefined) return way;
  if (chosen.confidence === "sd") return { by: "sd", sd: way.error };
  if (!chosen.confidence && !notes.some(note => note.code === "confidence"))
    notes.push(
      asked(
        "confidence",
        { error: way.error },
        [0.95, 0.9, 0.99, "sd"].map(value => ({ key: "confidence", value })),
      ),
    );
  return { ...way, confidence: chosen.confidence };
}

function sensitivity(facts, chosen, notes) {
  const value = chosen.sensitivity ?? facts.sensitivity;
  if (value === null)
    notes.push(
      asked(
        "sensitivity",
        {},
        [1, 2].map(each => ({ key: "sensitivity", value: each })),
      ),
    );
  return value;
}

// The law of a footnote that names none; null where it is asked.
function taken(way, notes) {
  if (way.by === "error") {
    notes.push(asked("error_law", { error: way.error }, LAWS));
    return null;
  }
  const law = way.by === "scale" || way.by === "epsilon" ? "laplace" : "gaussian";
  if (way.by === "rho") return law;
  notes.push(
    assumed(
      "law",
      { law, by: way.by },
      LAWS.filter(choice => choice.value !== law),
    ),
  );
  return law;
}

function settled(law, ways, facts, chosen, notes) {
  const whole = chosen.whole ?? facts.whole ?? false;
  if (law === "laplace" && ways.every(way => way.by === "rho"))
    return { noise: null, notes: [...notes, asked("rho_laplace", {}, [{ key: "law", value: "gaussian" }])] };
  const known = ways.map(way => {
    if (law === "gaussian" && way.by === "scale") notes.push(assumed("gaussian_scale", { scale: way.scale }));
    return sized({ law, whole, said: law === "gaussian" && way.by === "scale" ? { by: "sd", sd: way.scale } : way });
  });
  const fine = known.filter(each => each.size > 0 && Number.isFinite(each.size));
  if (fine.length < known.length) return { noise: null, notes: [...notes, asked("bad_size", {})] };
  const sizes = fine.map(each => each.size);
  if (Math.max(...sizes) > 1.02 * Math.min(...sizes) && chosen.by === undefined) {
    return {
      noise: null,
      notes: [
        ...notes,
        asked(
          "disagree",
          {},
          fine.map((each, k) => ({ key: "by", value: k, facts: { noise: each } })),
        ),
      ],
    };
  }
  return { noise: fine[chosen.by ?? 0], notes };
}

// A statement with its size: of a Laplace law its scale b, of a Gaussian its standard deviation.
export function sized({ law, whole = false, said }) {
  if (law === "none") return NONE;
  return { law, whole, said, size: (law === "laplace" ? laplace : gaussian)(said, whole) };
}

function laplace(said, whole) {
  switch (said.by) {
    case "scale":
      return said.scale;
    case "epsilon":
      return said.sensitivity / said.epsilon;
    case "sd":
      return scaleOf(said.sd ** 2, whole);
    case "variance":
      return scaleOf(said.variance, whole);
    case "error":
      return whole ? wholeScale(said.error, 1 - said.confidence) : said.error / -Math.log(1 - said.confidence);
    default:
      return NaN;
  }
}

const scaleOf = (variance, whole) => {
  if (!whole) return Math.sqrt(variance / 2);
  const x = 1 / variance;
  return 1 / Math.log1p(x + Math.sqrt(x * (2 + x)));
};

function wholeScale(error, alpha) {
  const target = Math.log(2 / alpha);
  return 1 / bisect(q => error * q + Math.log1p(Math.exp(-q)) - target, 0, target / error);
}

function gaussian(said, whole) {
  switch (said.by) {
    case "sd":
      return said.sd;
    case "variance":
      return Math.sqrt(said.variance);
    case "rho":
      return said.sensitivity / Math.sqrt(2 * said.rho);
    case "error":
      return whole
        ? wholeSd(said.error, 1 - said.confidence)
        : said.error / normalQuantile(1 - (1 - said.confidence) / 2);
    default:
      return NaN;
  }
}

function wholeSd(error, alpha) {
  if (error < 1) return NaN;
  const guess = error / normalQuantile(1 - alpha / 2);
  return bisect(sd => logTail(error, sd) - Math.log(alpha), 0.05 * guess, 2 * guess);
}

// log P(|e| ≥ error) of the discrete Gaussian, between whole numbers on a line.
function logTail(error, sd) {
  const at = Math.max(Math.floor(error), 1),
    share = error - at;
  const last = at + 2 + Math.ceil(40 * sd);
  let all = 1,
    beyond = 0,
    next = 0;
  for (let k = 1; k <= last; k++) {
    const w = 2 * Math.exp(-0.5 * (k / sd) ** 2);
    all += w;
    if (k >= at) beyond += w;
    if (k >= at + 1) next += w;
  }
  const [a, b] = [Math.log(beyond / all), Math.log(next / all)];
  return share === 0 || a === -Infinity ? a : a + share * (b - a);
}

function bisect(f, low, high) {
  const rising = f(high) > f(low);
  for (let k = 0; k < 200 && low < high; k++) {
    const middle = 0.5 * (low + high);
    if (middle === low || middle === high) break;
    if (f(middle) > 0 === rising) high = middle;
    else low = middle;
  }
  return 0.5 * (low + high);
}

// The standard normal quantile by Newton's steps on the distribution function.
export function normalQuantile(p) {
  let x = 0;
  for (let k = 0; k < 60; k++) {
    const step = (phi(x) - p) / (Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI));
    x -= Math.max(-1, Math.min(1, step));
    if (Math.abs(step) < 1e-15) break;
  }
  return x;
}

function phi(x) {
  // by its series, which is enough for |x| < 6
  let term = x,
    sum = x;
  for (let n = 1; n < 200 && Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (x * x) / (2 * n + 1);
    sum += term;
  }
  return 0.5 + (sum * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI);
}
