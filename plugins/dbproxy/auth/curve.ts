/**
 * The group of Ed25519 (RFC 8032, section 5.1) with BigInt, for MariaDB's client_ed25519: there the secret scalar comes
 * from a password of any length, which no signing function of `node:crypto` takes.
 *
 * BigInt is not constant in time. Only the client computes with its secret here, twice per connection to a backend, and
 * {@linkcode timesBase} always makes 256 doublings and 256 additions whatever the bits are.
 *
 * @module
 */
/** The prime of the field. */
const p = 2n ** 255n - 19n;
/** The order of the base point. */
export const order: bigint = 2n ** 252n + 27742317777372353535851937790883648493n;
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** Extended homogeneous coordinates: x = X/Z, y = Y/Z, x * y = T/Z. */
type Point = readonly [x: bigint, y: bigint, z: bigint, t: bigint];

const neutral: Point = [0n, 1n, 1n, 0n];
const baseX = 15112221349535400772501151409588531511454012693041857206046113283949847762202n;
const baseY = 46316835694926478169428394003475163141307993866256225615783033603165251855960n;
const base: Point = [baseX, baseY, 1n, mod(baseX * baseY)];

function mod(a: bigint, m: bigint = p): bigint {
  const r = a % m;
  return r < 0n ? r + m : r;
}

/** The unified addition of RFC 8032, 5.1.4: right for a doubling too, so every step costs the same. */
function add([x1, y1, z1, t1]: Point, [x2, y2, z2, t2]: Point): Point {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * d * mod(t1 * t2));
  const e = mod(2n * z1 * z2);
  const [f, g, h, i] = [b - a, e - c, e + c, b + a];
  return [mod(f * g), mod(h * i), mod(g * h), mod(f * i)];
}

/** `scalar` times the base point, for a scalar below 2^256. */
export function timesBase(scalar: bigint): Uint8Array {
  // Montgomery's ladder: r1 - r0 is the base point throughout.
  const r: [Point, Point] = [neutral, base];
  for (let i = 255n; i >= 0n; i--) {
    const bit = Number((scalar >> i) & 1n) as 0 | 1;
    const other = (1 - bit) as 0 | 1;
    r[other] = add(r[0], r[1]);
    r[bit] = add(r[bit], r[bit]);
  }
  return encode(r[0]);
}

function encode([x, y, z]: Point): Uint8Array {
  const inverse = power(z, p - 2n);
  const bytes = toBytes(mod(y * inverse));
  if (mod(x * inverse) & 1n) bytes[31]! |= 0x80;
  return bytes;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let b = base, e = exponent; e > 0n; e >>= 1n, b = mod(b * b)) if (e & 1n) result = mod(result * b);
  return result;
}

/** A number from little-endian bytes. */
export function toNumber(bytes: Uint8Array): bigint {
  let n = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) n = (n << 8n) | BigInt(bytes[i]!);
  return n;
}

/** A number below 2^256 as 32 little-endian bytes. */
export function toBytes(n: bigint): Uint8Array {
  const bytes = new Uint8Array(32);
  for (let i = 0, rest = n; i < 32; i++, rest >>= 8n) bytes[i] = Number(rest & 255n);
  return bytes;
}
