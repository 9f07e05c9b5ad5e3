// From what is asked to what is answered, in numbers: the engine is asked here, and nothing is drawn.

import * as engine from "../engine/index.js";

const ENDS = [0.025, 0.975];
const ends = posterior => ENDS.map(p => posterior.quantile(p));

// { posterior, interval, median, naive, noise, ... }, or throws the engine's Refused.
export function answered(asks) {
  switch (asks.kind) {
    case "count":
      return one(engine.count(asks.cell), "count", [asks.cell]);
    case "share":
      return one(engine.share(asks.cell, asks.n), "share", [asks.cell, asks.n]);
    case "rate":
      return one(engine.rate(asks.part, asks.whole), "rate", [asks.part, asks.whole]);
    case "compare":
      return compared(asks);
    default:
      return summed(asks);
  }
}

function one(posterior, kind, args) {
  const naive = engine.naive(kind, ...args),
    share = engine.noiseShare(kind, posterior, naive);
  return {
    posterior,
    median: posterior.quantile(0.5),
    interval: ends(posterior),
    naive: naive && { median: naive.quantile(0.5), interval: ends(naive) },
    noise: share,
  };
}

function compared({ a, b, n }) {
  const args = n ? [a, b, { n }] : [a, b];
  const found = engine.compare(...args),
    naive = engine.naive("compare", ...args),
    share = engine.noiseShare("compare", found, naive);
  const { difference, ratio } = found,
    plain = naive?.difference ?? naive;
  return {
    posterior: difference,
    median: difference.quantile(0.5),
    interval: ends(difference),
    above: found.above,
    equal: found.equal,
    ratio: ratio && { median: ratio.quantile(0.5), interval: ends(ratio) },
    naive: plain && { median: plain.quantile(0.5), interval: ends(plain) },
    noise: share,
  };
}

function summed({ cells, total }) {
  const found = engine.table(cells, total);
  return {
    posterior: found.total,
    median: found.total.quantile(0.5),
    interval: ends(found.total),
    naive: null,
    noise: null,
    cells: found.cells.map(posterior => ({ posterior, median: posterior.quantile(0.5), interval: ends(posterior) })),
  };
}

export const Refused = engine.Refused;
