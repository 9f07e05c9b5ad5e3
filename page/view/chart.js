// Pictures: the curve of an answer with the printed number and both intervals; and intervals of many cells.

import { svg } from "./dom.js";
import { ticks } from "./format.js";
import { S } from "../strings.js";

const MOST_BARS = 70;
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

// Pixels of numbers.
const scale = (low, high, from, to) => v => from + ((to - from) * (v - low)) / (high - low);

function limits(posterior, marks) {
  let low = posterior.quantile(0.001),
    high = posterior.quantile(0.999);
  const width = Math.max(high - low, posterior.whole ? 6 : 1e-9);
  for (const mark of marks) {
    if (mark < low && mark > low - width) low = mark;
    if (mark > high && mark < high + width) high = mark;
  }
  const space = 0.04 * Math.max(high - low, posterior.whole ? 6 : 1e-9) + (posterior.whole ? 0.5 : 0);
  return [low - space, high + space];
}

// grained: a rate takes some values only, and its curve is drawn in wider steps.
export function curve({ posterior, interval, naive, printed, printedAs = null, zero, grained, written, described }, width) {
  const height = 268,
    top = 26,
    base = 168;
  const marks = [printed, zero, ...(naive ?? [])].filter(v => v !== null && v !== undefined);
  const [low, high] = limits(posterior, marks);
  const px = scale(low, high, 6, width - 6);
  const parts = [
    ...shape(posterior, interval, px, low, high, top, base, grained),
    ...axis(low, high, px, base, width, written, posterior.whole),
  ];
  if (zero !== null && zero !== undefined && zero > low && zero < high)
    parts.push(
      svg("line", { class: "zero", x1: px(zero), x2: px(zero), y1: top - 8, y2: base }),
      label(S.answer.equal, px(zero), top - 13, width, "mark"),
    );
  if (printed !== null && printed > low && printed < high)
    parts.push(
      svg("line", { class: "printed", x1: px(printed), x2: px(printed), y1: top - 6, y2: base }),
      label(S.answer.printedMark(printedAs ?? written(printed)), px(printed), top - 12, width, "mark"),
    );
  parts.push(...span("ours", S.answer.ours, interval, posterior.quantile(0.5), px, base + 50, width));
  if (naive) parts.push(...span("naive", S.answer.naive, naive, null, px, base + 86, width));
  return svg(
    "svg",
    {
      class: "picture",
      role: "img",
      "aria-label": described,
      viewBox: `0 0 ${width} ${naive ? height : height - 34}`,
      width,
      height: naive ? height : height - 34,
    },
    parts,
  );
}

function shape(posterior, [from, to], px, low, high, top, base, grained) {
  const { x, y } = posterior.curve(posterior.whole ? 400 : grained ? 64 : 200);
  const most = Math.max(...y),
    py = v => base - ((base - top - 10) * v) / most;
  const seen = x.map((v, k) => [v, y[k]]).filter(([v]) => v >= low && v <= high);
  const stepped =
    posterior.whole && seen.length <= MOST_BARS && seen.every(([v], k) => k === 0 || v - seen[k - 1][0] === 1);
  if (stepped) {
    const wide = Math.max(1, 0.86 * (px(1) - px(0)));
    return seen.map(([v, p]) =>
      svg("rect", {
        class: v >= from && v <= to ? "in" : "out",
        x: (px(v) - wide / 2).toFixed(2),
        y: py(p).toFixed(2),
        width: wide.toFixed(2),
        height: Math.max(0, base - py(p)).toFixed(2),
      }),
    );
  }
  const area = points =>
    points.length < 2
      ? ""
      : `M${px(points[0][0]).toFixed(2)} ${base}L${points.map(([v, p]) => `${px(v).toFixed(2)} ${py(p).toFixed(2)}`).join("L")}L${px(points.at(-1)[0]).toFixed(2)} ${base}Z`;
  const line = `M${seen.map(([v, p]) => `${px(v).toFixed(2)} ${py(p).toFixed(2)}`).join("L")}`;
  return [
    svg("path", { class: "out", d: area(seen) }),
    svg("path", { class: "in", d: area(inside(seen, from, to)) }),
    svg("path", { class: "outline", d: line }),
  ];
}

// The points between two ends, with the ends themselves.
function inside(points, from, to) {
  const at = v => {
    const k = points.findIndex(([x]) => x >= v);
    if (k <= 0) return points[Math.max(k, 0)][1];
    const [[a, p], [b, q]] = [points[k - 1], points[k]];
    return p + ((q - p) * (v - a)) / (b - a);
  };
  const [first, last] = [Math.max(from, points[0][0]), Math.min(to, points.at(-1)[0])];
  return [[first, at(first)], ...points.filter(([x]) => x > first && x < last), [last, at(last)]];
}

function axis(low, high, px, base, width, written, whole) {
  const { at } = ticks(low, high, width < 420 ? 4 : 7);
  const shown = whole ? at.filter(Number.isInteger) : at;
  return [
    svg("line", { class: "axis", x1: 0, x2: width, y1: base, y2: base }),
    ...shown.map(v => [
      svg("line", { class: "axis", x1: px(v), x2: px(v), y1: base, y2: base + 5 }),
      label(written(v, true), px(v), base + 19, width, "tick"),
    ]),
  ];
}

// Text that stays inside the picture.
function label(text, x, y, width, kind) {
  const half = 3.4 * text.length,
    anchor = x - half < 2 ? "start" : x + half > width - 2 ? "end" : "middle";
  return svg(
    "text",
    { class: kind, x: anchor === "start" ? 2 : anchor === "end" ? width - 2 : x, y, "text-anchor": anchor },
    text,
  );
}

function span(kind, text, [from, to], middle, px, y, width) {
  const [a, b] = [clamp(px(from), 2, width - 2), clamp(px(to), 2, width - 2)],
    center = clamp((a + b) / 2, 2, width - 2);
  const out = [label(text, center, y - 9, width, `said ${kind}`)];
  if (b - a < 3) out.push(svg("circle", { class: kind, cx: center, cy: y, r: 4.5 }));
  else out.push(svg("rect", { class: kind, x: a, y: y - 3, width: b - a, height: 6, rx: 3 }));
  if (middle !== null)
    out.push(svg("circle", { class: `${kind} middle`, cx: clamp(px(middle), 2, width - 2), cy: y, r: 5 }));
  return out;
}

// The interval of a cell around its median; all cells on one scale, `reach` to either side: { low, middle, high, printed }.
export function interval({ low, middle, high, printed }, reach, width) {
  const px = scale(middle - reach, middle + reach, 7, width - 7),
    y = 11,
    seen = printed !== null && Math.abs(printed - middle) <= reach;
  return svg(
    "svg",
    { class: "row", "aria-hidden": "true", viewBox: `0 0 ${width} 22`, width, height: 22 },
    svg("line", { class: "rail", x1: 0, x2: width, y1: y, y2: y }),
    svg("rect", { class: "ours", x: px(low), y: y - 3, width: Math.max(2, px(high) - px(low)), height: 6, rx: 3 }),
    seen ? svg("line", { class: "printed", x1: px(printed), x2: px(printed), y1: 1, y2: 21 }) : null,
    svg("circle", { class: "ours middle", cx: px(middle), cy: y, r: 4.5 }),
  );
}
