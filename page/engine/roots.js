// Quantiles from distribution functions that cost something to evaluate.

const SLACK = 1e-13; // of a probability: what rounding may have taken from it

// The least whole d in [low, high] with F(d) >= p: outwards from a guess until it is enclosed, then halves.
export function leastWhole(F, p, low, high, guess, spread) {
  const holds = (d) => F(d) >= p - SLACK;
  let step = Math.max(Math.ceil(spread), 1), right = Math.min(Math.max(Math.round(guess), low), high), left = right;
  while (right < high && !holds(right)) { left = right + 1; right = Math.min(right + step, high); step *= 2; }
  if (left === right) {
    left = right - 1;
    while (left >= low && holds(left)) { right = left; left = Math.max(left - step, low - 1); step *= 2; }
    left += 1;
  }
  left = Math.max(left, low);
  while (left < right) {
    const middle = Math.floor((left + right) / 2);
    if (holds(middle)) right = middle; else left = middle + 1;
  }
  return left;
}

// x in [low, high] with F(x) = p, where F rises: enclosed from a guess, then by secants and halves in turn.
export function solve(F, p, low, high, guess, spread, close = 1e-12) {
  let step = spread > 0 ? spread : 1, a = Math.min(Math.max(guess, low), high), b = a, fa = F(a), fb = fa;
  while (fb < p && b < high) { [a, fa] = [b, fb]; b = Math.min(b + step, high); fb = F(b); step *= 2; }
  while (fa >= p && a > low) { [b, fb] = [a, fa]; a = Math.max(a - step, low); fa = F(a); step *= 2; }
  if (fa >= p) return a;
  for (let i = 0; i < 200 && b - a > close * spread + 1e-16 * Math.abs(b); i++) {
    let x = (a + b) / 2;
    if (i % 3 && fb > fa) { // a secant, a little beyond its root so that both ends close in
      const width = b - a, share = (p - fa) / (fb - fa), off = (i % 3 === 1 ? 1 : -1) * 1e-3;
      x = a + width * Math.min(Math.max(share * (1 + off) + off * 1e-3, 1e-4), 1 - 1e-4);
    }
    if (!(x > a && x < b)) break;
    const f = F(x);
    if (f < p) [a, fa] = [x, f]; else [b, fb] = [x, f];
  }
  return b;
}
