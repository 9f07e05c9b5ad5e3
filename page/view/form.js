// "Change what was read": noise and printing as fields, for those who would rather choose than write.

import { S } from "../strings.js";
import { h, put } from "./dom.js";
import { read as number } from "../reader/numbers.js";
import { sized } from "../reader/noise.js";

const F = S.form;
const options = (all, chosen) =>
  Object.entries(all).map(([value, text]) => {
    const node = h("option", { value }, text);
    node.selected = value === chosen;
    return node;
  });
const field = (id, text, node) => h("p", { class: "field" }, h("label", { for: id }, text), node);

// Draw the fields for a reading; `changed` gets { noise } or { printed } when one of them says something whole.
export function form(node, reading, changed) {
  const noise = reading.rows.find(row => row.noise)?.noise ?? null,
    printed = reading.rows.find(row => row.cell)?.cell.printed ?? reading.printed ?? [];
  const law = h("select", { id: "f-law" }, options(F.laws, noise?.law ?? "none"));
  if (!noise) {
    law.prepend(h("option", { value: "" }, "…"));
    law.value = "";
  }
  const by = h("select", { id: "f-by" }),
    size = h("input", { id: "f-size", type: "text", inputmode: "decimal", autocomplete: "off" });
  const sensitivity = h("input", {
    id: "f-sensitivity",
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
  });
  const whole = h("input", { id: "f-whole", type: "checkbox" });
  const details = h("div", { class: "inside" });
  const how = h("select", { id: "f-printed" }, options(F.prints, kindOf(printed))),
    step = h("input", { id: "f-step", type: "text", inputmode: "decimal", autocomplete: "off" });
  const steps = h("div", { class: "inside" });
  whole.checked = noise?.whole ?? false;
  const said = noise?.said;
  if (said)
    size.value = texts(
      said.epsilon ??
        said.rho ??
        said.error ??
        said.scale ??
        said.sd ??
        (said.variance === undefined ? undefined : Math.sqrt(said.variance)),
    );
  if (said?.sensitivity) sensitivity.value = texts(said.sensitivity);
  if (printed.length === 1) step.value = texts(printed[0].step ?? printed[0].base ?? printed[0].below);

  const fields = () => {
    const known = Object.fromEntries(
      Object.entries(F.ways).filter(
        ([way]) =>
          way !== (law.value === "gaussian" ? "epsilon" : "rho") && way !== (law.value === "gaussian" ? "scale" : ""),
      ),
    );
    put(
      by,
      options(
        known,
        by.value in known
          ? by.value
          : said?.by in known
            ? said.by
            : said?.by === "variance"
              ? "sd"
              : Object.keys(known)[0],
      ),
    );
    const budget = by.value === "epsilon" || by.value === "rho";
    put(
      details,
      law.value === "none" || law.value === ""
        ? []
        : [
            field("f-by", F.by, by),
            field("f-size", by.value === "epsilon" ? "ε" : by.value === "rho" ? "ρ" : F.size, size),
            budget ? field("f-sensitivity", F.sensitivity, sensitivity) : [],
            h("p", { class: "field check" }, whole, h("label", { for: "f-whole" }, F.whole)),
          ],
    );
    put(steps, ["none", "cut", "text"].includes(how.value) ? [] : field("f-step", F.step, step));
  };
  const tell = () => {
    const made = stated(law.value, by.value, size.value, sensitivity.value, whole.checked);
    const done = printedAs(how.value, step.value);
    const needed = !["", "none"].includes(law.value);
    size.setAttribute("aria-invalid", String(needed && made === null && (positive(size.value) === null || positive(sensitivity.value) !== null)));
    sensitivity.setAttribute("aria-invalid", String(needed && positive(sensitivity.value) === null));
    changed({ ...(made && { noise: made }), ...(done && { printed: done }) });
  };
  for (const node of [law, by, how])
    node.addEventListener("change", () => {
      fields();
      tell();
    });
  for (const node of [size, sensitivity, step]) node.addEventListener("input", tell);
  whole.addEventListener("change", tell);
  fields();
  put(
    node,
    h("div", { class: "fields" }, field("f-law", F.noise, law), details),
    h("div", { class: "fields" }, field("f-printed", F.printed, how), steps),
  );
}

const texts = v => (v === undefined || v === null ? "" : String(v));
const kindOf = printed =>
  printed.length === 0
    ? "none"
    : printed.length === 1 && ["rounded", "random", "hidden", "cut"].includes(printed[0].how)
      ? printed[0].how
      : "text";
const positive = text => {
  const found = number(text, { decimal: "." });
  return found && found.value > 0 ? found.value : null;
};

function stated(law, by, size, sensitivity, whole) {
  if (law === "none") return { law: "none" };
  const value = positive(size),
    moved = positive(sensitivity);
  if (law === "" || value === null || ((by === "epsilon" || by === "rho") && moved === null)) return null;
  const said =
    by === "error"
      ? { by, error: value, confidence: 0.95 }
      : by === "epsilon" || by === "rho"
        ? { by, [by]: value, sensitivity: moved }
        : { by, [by]: value };
  const made = { law, whole, said };
  return Number.isFinite(sized(made).size) ? made : null;
}

function printedAs(how, text) {
  const value = positive(text);
  switch (how) {
    case "none":
      return [];
    case "cut":
      return [{ how: "cut", low: 0, high: null }];
    case "rounded":
      return value === null ? null : [{ how, step: value }];
    case "random":
      return value === null || !Number.isInteger(value) || value < 2 ? null : [{ how, base: value }];
    case "hidden":
      return value === null ? null : [{ how, below: value }];
    default:
      return null;
  }
}
