// Answers declarations (JSON on standard input) with the page's engine, or with a copy of it that a test made wrong.
//   node tests/page_runner.mjs [folder of the engine] < declarations.json
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { resolve, dirname } from "node:path";

const folder = process.argv[2] || resolve(dirname(new URL(import.meta.url).pathname), "../page/engine");
const engine = await import(pathToFileURL(resolve(folder, "index.js")));
const { spent } = await import(pathToFileURL(resolve(folder, "work.js")));
const LEVELS = [0.025, 0.25, 0.5, 0.75, 0.975];
// The mass under a curve of 60 points: nearly 1.
const mass = (p) => { const { x, y } = p.curve(60), step = x.length > 1 ? x[1] - x[0] : 1; return y.reduce((sum, each) => sum + each * step, 0); };
const told = (p) => p && { mean: p.mean, sd: p.sd, q: LEVELS.map((level) => p.quantile(level)) };

const ASK = {
  curves: ({ a, b, n }) => {
    const { difference, ratio, a: A } = engine.compare(a, b, { n });
    return [A, difference, ratio, engine.count(a), engine.rate(b, a)].map(mass);
  },
  count: ({ cell }) => told(engine.count(cell)),
  share: ({ cell, n, prior }) => told(engine.share(cell, n, prior)),
  noisy: ({ cell, n, prior }) => told(engine.share(cell, n, prior)),
  rate: ({ part, whole }) => { const p = engine.rate(part, whole); return { ...told(p), none: p.none }; },
  compare: ({ a, b }) => { const c = engine.compare(a, b); return { difference: told(c.difference), ratio: told(c.ratio), above: c.above, equal: c.equal }; },
  shares: ({ a, b, n }) => { const c = engine.compare(a, b, { n }); return { difference: told(c.difference), above: c.above }; },
  table: ({ cells, total }) => { const t = engine.table(cells, total); return { cells: t.cells.map(told), total: told(t.total) }; },
};

const out = JSON.parse(readFileSync(0, "utf8")).map((given) => {
  const start = performance.now(), used = process.cpuUsage();
  try {
    return { answer: ASK[given.kind](given), ms: performance.now() - start, cpu: process.cpuUsage(used).user / 1000, steps: spent() };
  } catch (error) {
    if (!(error instanceof engine.Refused)) throw error;
    return { refused: error.code, ms: performance.now() - start, steps: spent() };
  }
});
process.stdout.write(JSON.stringify(out));
