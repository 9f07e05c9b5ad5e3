// The binomial distribution without cancellation, for real numbers of successes too.

export const logit = (p) => Math.log(p) - Math.log1p(-p);
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
  const z = 1 / (x * x);
  return 0.5 * Math.log(2 * Math.PI * x) + (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x;
}

// x log(x/m) + m - x, the deviance (Loader 2000, Fast and accurate computation of binomial probabilities).
function deviance(x, m) {
  if (Math.abs(x - m) > 0.1 * (x + m)) return (x > 0 ? x * Math.log(x / m) : 0) + m - x;
  const v = (x - m) / (x + m), v2 = v * v;
  let sum = (x - m) * v, power = 2 * x * v;
  for (let j = 1; j < 100; j++) {
    power *= v2;
    const next = sum + power / (2 * j + 1);
    if (next === sum) break;
    sum = next;
  }
  return sum;
}

// P(s successes of n), with chances p and q = 1 - p of each; n - s too may be any number >= 0.
export function binomial(s, n, p, q) {
  if (s < 0 || s > n) return 0;
  if (p === 0 || q === 0) return +((p === 0) === (s === 0) && (q === 0) === (s === n));
  return Math.exp(stirling(n) - stirling(s) - stirling(n - s) - deviance(s, n * p) - deviance(n - s, n * q));
}
