/**
 * The first 32-bit words of the fraction of pi, from which Blowfish begins; by Machin's formula,
 * pi = 16 atan(1/5) - 4 atan(1/239).
 */
export function piWords(count: number): Uint32Array {
  const spare = 64n, bits = BigInt(32 * count) + spare;
  const atan = (inverse: bigint) => {
    const square = inverse * inverse;
    let power = (1n << bits) / inverse, sum = power, sign = -1n;
    for (let n = 3n; power > 0n; n += 2n, sign = -sign) {
      power /= square;
      sum += sign * (power / n);
    }
    return sum;
  };
  const fraction = (16n * atan(5n) - 4n * atan(239n) - (3n << bits)) >> spare;
  const digits = fraction.toString(16).padStart(8 * count, "0");
  return Uint32Array.from({ length: count }, (_, i) => Number.parseInt(digits.slice(8 * i, 8 * i + 8), 16));
}
