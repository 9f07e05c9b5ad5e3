// SHA-256 of a text of ASCII (FIPS 180-4), without waiting: the browser's own is not there in every page.

const firstBits = (x, root) => Math.floor((Math.pow(x, 1 / root) % 1) * 2 ** 32) | 0;
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every(p => n % p)) PRIMES.push(n);
const K = PRIMES.map(p => firstBits(p, 3));
const START = PRIMES.slice(0, 8).map(p => firstBits(p, 2));
const turned = (x, by) => (x >>> by) | (x << (32 - by));

export function sha256(text) {
  const length = text.length,
    size = ((length + 72) >> 6) << 6;
  const bytes = new Uint8Array(size),
    view = new DataView(bytes.buffer);
  for (let i = 0; i < length; i++) bytes[i] = text.charCodeAt(i);
  bytes[length] = 0x80;
  view.setUint32(size - 8, Math.floor(length / 2 ** 29));
  view.setUint32(size - 4, (length << 3) >>> 0);
  const h = Int32Array.from(START),
    w = new Int32Array(64);
  for (let at = 0; at < size; at += 64) block(h, w, view, at);
  return [...h].map(word => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function block(h, w, view, at) {
  for (let t = 0; t < 16; t++) w[t] = view.getInt32(at + 4 * t);
  for (let t = 16; t < 64; t++) {
    const a = w[t - 15],
      b = w[t - 2];
    w[t] =
      w[t - 16] + w[t - 7] + (turned(a, 7) ^ turned(a, 18) ^ (a >>> 3)) + (turned(b, 17) ^ turned(b, 19) ^ (b >>> 10));
  }
  let [a, b, c, d, e, f, g, i] = h;
  for (let t = 0; t < 64; t++) {
    const one = (i + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[t] + w[t]) | 0;
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [i, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, i].forEach((word, k) => {
    h[k] = (h[k] + word) | 0;
  });
}
