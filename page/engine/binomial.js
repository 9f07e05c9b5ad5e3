// The binomial distribution without cancellation, for real numbers of successes too.

export const logit = (p) => (p <= 0 ? -Infinity : p >= 1 ? Infinity : Math.log(p) - Math.log1p(-p));
export const expit = (x) => (x < 0 ? Math.exp(x) / (1 + Math.exp(x)) : 1 / (1 + Math.exp(-x)));

export const logExpit = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));

// log x! - x log x + x, x >= 0: Stirling's series (DLMF 5.11.1), below 12 by the recurrence of the gamma function.
export function stirling(x) {
  if (x < 12) {
    let product = 1;
    for (let i = 1; i <= 12; i++) product *= x + i;
    const y = x + 12;
    return stirling(y) + y * Math.log(y) - 12 - Math.log(product) - (x > 0 ? x * Math.log(x) : 0);
  }
  return 0.5 * Math.log(2 * Math.PI * x) + rest(x);
}

// What is left of Stirling's series.
function rest(x) {
  const z = 1 / (x * x);
  return (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x;
}

// x log(x/m) + m - x, the deviance (Loader 2000, Fast and accurate computation of binomial probabilities).
function deviance(x, m) {
  if (Math.abs(x - m) > 0.1 * (x + m)) return (x > 0 ? x * Math.log(x / m) : 0) + m - x;
  if (x === m) return 0;
  const v = (x - m) / (x + m), u = v * v;
  const tail = 1 / 3 + u * (1 / 5 + u * (1 / 7 + u * (1 / 9 + u * (1 / 11 + u * (1 / 13 + u * (1 / 15 + u / 17))))));
  return v * (x - m + 2 * x * u * tail);
}

// s -> P(s successes of n), with chances p and q = 1 - p of each; s and n - s too may be any numbers >= 0.
export function binomial(n, p, q) {
  if (p === 0 || q === 0) return (s) => +(s === (p === 0 ? 0 : n));
  const top = stirling(n), np = n * p, nq = n * q;
  const factor = n / (2 * Math.PI), large = n > 0 ? rest(n) : 0;
  return (s) => {
    const t = n - s, away = deviance(s, np) + deviance(t, nq);
    if (s >= 12 && t >= 12) return Math.sqrt(factor / (s * t)) * Math.exp(large - rest(s) - rest(t) - away); // the same, quicker
    return s < 0 || t < 0 ? 0 : Math.exp(top - stirling(s) - stirling(t) - away);
  };
}
