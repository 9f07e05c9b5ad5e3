// The Python lines that give the same with the package.

import { S } from "../strings.js";
import { float } from "../reader/json.js";

const num = v => (v === null ? "None" : Number.isInteger(v) && Math.abs(v) < 1e15 ? String(v) : float(v));

// A text as a Python literal, whatever is in it.
export const literal = text =>
  `"${String(text)
    .replace(/[\\"]/gu, "\\$&")
    .replace(/[^ -~\u00a1-\uffff]/gu, c =>
      c.codePointAt(0) < 0x10000
        ? "\\u" + c.codePointAt(0).toString(16).padStart(4, "0")
        : "\\U" + c.codePointAt(0).toString(16).padStart(8, "0"),
    )}"`;
const names = of => `[${of.map(literal).join(", ")}]`;

function noise({ law, whole, said, size }) {
  if (law === "none") return "Laplace(scale=0)";
  const cls = law === "laplace" ? "Laplace" : "Gaussian",
    more = whole ? ", discrete=True" : "";
  switch (said.by) {
    case "epsilon":
      return `${cls}.from_epsilon(${num(said.epsilon)}, sensitivity=${num(said.sensitivity)}${more})`;
    case "rho":
      return `${cls}.from_rho(${num(said.rho)}, sensitivity=${num(said.sensitivity)}${more})`;
    case "error":
      return `${cls}.from_error(${num(said.error)}, confidence=${num(said.confidence)}${more})`;
    case "scale":
    case "sd":
    case "variance":
      return `${cls}(${said.by}=${num(said[said.by])}${more})`;
    default:
      return `${cls}(${law === "laplace" ? "scale" : "sd"}=${num(size)}${more})`;
  }
}

const STEP = {
  rounded: step => `Rounded(${num(step.step)})`,
  random: step => `RandomRounded(${num(step.base)})`,
  hidden: step => `Suppressed(${num(step.below)})`,
  cut: step => `Clamped(${num(step.low)}, ${num(step.high)})`,
  within: step => `Within(${num(step.low)}, ${num(step.high)})`,
};
const printing = steps => (steps.length ? steps.map(step => STEP[step.how](step)).join(" & ") : "Exact()");

// Noise and printing of rows as arguments of `declare`: once where all are the same, else a list.
function stated(rows) {
  const laws = rows.map(row => noise(row.noise)),
    prints = rows.map(row => printing(row.cell.printed));
  const out = [];
  if (rows.some(row => row.noise.law !== "none")) out.push(`noise=${byRow(laws)}`);
  if (prints.some(each => each !== "Exact()") || out.length === 0) out.push(`printed=${byRow(prints)}`);
  return out;
}

// Statements of rows: one where all are the same, else a list, in which what repeats is written once.
function byRow(all) {
  if (all.every(each => each === all[0])) return all[0];
  if (all.length <= 3) return `[${all.join(", ")}]`;
  const runs = [];
  for (const each of all) {
    if (runs.at(-1)?.[0] === each) runs.at(-1)[1] += 1;
    else runs.push([each, 1]);
  }
  return runs.map(([each, times]) => `[${each}]${times > 1 ? ` * ${times}` : ""}`).join(" + ");
}

// `from dp_bayes_nb import …` for the names that lines use.
function imported(lines) {
  const text = lines.join("\n").replace(/"(?:[^"\\]|\\.)*"/gu, "");
  const known = [
    "Bernoulli",
    "Clamped",
    "Counts",
    "Exact",
    "Gaussian",
    "Grouped",
    "Laplace",
    "RandomRounded",
    "Release",
    "Rounded",
    "Suppressed",
    "Within",
    "contrast",
    "declare",
    "fit",
  ];
  return [
    `from dp_bayes_nb import ${known.filter(name => new RegExp(`\\b${name}\\b`, "u").test(text)).join(", ")}`,
    "",
    ...lines,
  ].join("\n");
}

const call = (head, args) => [
  `published = declare(`,
  `    ${head},`,
  ...args.map((each, k) => `    ${each}${k < args.length - 1 ? "," : ")"}`),
];

// The program of a reading; null where there is no question.
export function python(reading) {
  const source = (reading.kind === "file" && reading.source) || S.python.source;
  const { asks, rows } = reading;
  if (reading.kind === "file" && !(asks && (reading.other || reading.release.model.family === "Categorical"))) return ofFile(reading);
  if (!asks) return null;
  const said = `source=${literal(source)}`,
    values = rows.map(row => num(row.cell.value));
  const called = uniqueNames(rows);
  const fitted = variable => `${variable} = fit(published, progress=False).posterior`;
  switch (asks.kind) {
    case "count":
      return imported([
        ...call(`Counts(${names(called)}), [${values[0]}]`, [...stated(rows), said]),
        `${fitted("counts")}["counts"]`,
        "print(counts.quantile([0.5, 0.025, 0.975]).values)",
      ]);
    case "share": {
      const exact = typeof asks.n === "number",
        quiet = rows[0].noise.law === "none"; // a noise of n needs one of the count too, though it is 0
      const size = exact
        ? [`n=${num(asks.n)}`]
        : [`n=${num(reading.of.cell.value)}`, `n_noise=${noise(reading.of.noise)}`, ...(quiet ? [`noise=${noise(rows[0].noise)}`] : [])];
      return imported([
        ...call(`Bernoulli(), ${values[0]}`, [...size, ...stated(rows), said]),
        `${fitted("share")}["probability"]`,
        "print(share.quantile([0.5, 0.025, 0.975]).values)",
      ]);
    }
    case "rate":
      return imported([
        `cells = Counts(["part", "rest"])`,
        ...call(`cells, {"part": ${values[0]}, "all": ${num(reading.of.cell.value)}}`, [
          "matrix=[[1, 0], [1, 1]]",
          ...stated([rows[0], reading.of]),
          said,
        ]),
        `${fitted("counts")}["counts"]`,
        `rate = counts.sel(count="part") / counts.sum("count")`,
        "print(rate.quantile([0.5, 0.025, 0.975]).values)",
      ]);
    case "compare":
      return compared(reading, called, values, said);
    default:
      return table(reading, called, values, said);
  }
}

function compared({ asks, rows }, called, values, said) {
  const model = asks.n ? `Grouped(Bernoulli("yes"), "group", ${names(called)}, sizes="public")` : `Counts(${names(called)})`;
  const size = asks.n ? [`n=[${asks.n.map(num).join(", ")}]`] : [];
  return imported([
    `cells = ${model}`,
    ...call(`cells, [${values.join(", ")}]`, [...size, ...stated(rows), said]),
    "result = fit(published, progress=False)",
    'print(contrast(result)[["median", "low", "high", "above"]])',
    'print(contrast(result, how="ratio")[["median", "low", "high"]])',
  ]);
}

function table({ rows, total }, called, values, said) {
  const p = rows.length,
    unit = rows.map((_, i) => `[${rows.map((_, j) => Number(i === j)).join(", ")}]`);
  const identity =
    p <= 6
      ? `[${[...unit, `[${rows.map(() => 1).join(", ")}]`].join(", ")}]`
      : `np.vstack([np.eye(${p}, dtype=int), np.ones(${p}, dtype=int)])`;
  const all = total ? [...rows, total] : rows,
    numbers = total ? [...values, num(total.cell.value)] : values;
  const lines = imported([
    `cells = Counts(${names(called)})`,
    ...call(`cells, [${numbers.join(", ")}]`, [...(total ? [`matrix=${identity}`] : []), ...stated(all), said]),
    `counts = fit(published, progress=False).posterior["counts"]`,
    `print(counts.quantile([0.5, 0.025, 0.975], ("chain", "draw")).T.to_pandas())`,
    `print(counts.sum("count").quantile([0.5, 0.025, 0.975]).values)`,
  ]);
  return total && p > 6 ? `import numpy as np\n${lines}` : lines;
}

// Names that Counts takes: all there, all different.
export function uniqueNames(rows) {
  const plain = rows.map(
    (row, k) =>
      (
        row.name ??
        (rows.length === 1 ? row.unit : null) ??
        (rows.length === 2 ? [S.names.a, S.names.b][k] : S.names.cell(k + 1))
      )
        .trim()
        .replaceAll("/", " ") || S.names.cell(k + 1),
  );
  const seen = new Map();
  return plain.map(name => {
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return seen.get(name) === 1 ? name : `${name} [${seen.get(name)}]`;
  });
}

// The lines for a release file: what to ask of it depends on its model.
function ofFile({ release, asks, file }) {
  const lines = [
    `published = Release.load(${literal(file ?? "release.json")})`,
    "result = fit(published)",
    "print(result.posterior)",
  ];
  if (asks?.kind === "share")
    lines.splice(
      1,
      2,
      'share = fit(published, progress=False).posterior["probability"]',
      "print(share.quantile([0.5, 0.025, 0.975]).values)",
    );
  else if (asks?.kind === "compare")
    lines.splice(2, 1, 'print(contrast(result)[["median", "low", "high", "above"]])');
  else if (asks && release.model.family === "Counts")
    lines.splice(
      1,
      2,
      'counts = fit(published, progress=False).posterior["counts"]',
      'print(counts.quantile([0.5, 0.025, 0.975], ("chain", "draw")).T.to_pandas())',
    );
  return imported(lines);
}
