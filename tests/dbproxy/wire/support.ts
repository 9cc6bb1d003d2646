import { expect } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";

/** Bytes written as hex (spaces allowed) and, between quotes, as text: `05 'abc' 00`. */
export function hex(text: string): Uint8Array {
  const parts = text.match(/'[^']*'|[0-9a-f]{2}/g) ?? [];
  return new Uint8Array(
    parts.flatMap((part) => part[0] === "'" ? [...part.slice(1, -1)].map(code) : parseInt(part, 16)),
  );
}

const code = (char: string): number => char.charCodeAt(0);

/** As text: a comparison of large arrays is slow in `expect`. */
export const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** The code of the CoreError that `run` throws; "none" when it returns. Anything else thrown fails the test. */
export function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof CoreError) return error.code;
    throw error;
  }
  return "none";
}

/** Cuts bytes into chunks, each with memory of its own. Cut points are fractions. */
export function cut(bytes: Uint8Array, points: readonly number[]): Uint8Array[] {
  const at = [...new Set(points.map((p) => Math.floor(p * bytes.length)))].sort((a, b) => a - b);
  const chunks: Uint8Array[] = [];
  let from = 0;
  for (const end of [...at, bytes.length]) {
    if (end > from) chunks.push(bytes.slice(from, end));
    from = end;
  }
  return chunks;
}

export const singles = (bytes: Uint8Array): Uint8Array[] => Array.from(bytes, (byte) => new Uint8Array([byte]));

/** Cut points for `cut`; sometimes so many that most bytes stand alone. */
export const cuts: fc.Arbitrary<number[]> = fc.oneof(
  fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 6 }),
  fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 300, minLength: 100 }),
);

export const bytes = (max: number, min = 0): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ maxLength: max, minLength: min });

export const u16: fc.Arbitrary<number> = fc.nat(0xffff);
export const u32: fc.Arbitrary<number> = fc.nat(0xffffffff);
export const bit = (bits: number, one: number, on: boolean): number => (on ? bits | one : bits & ~one) >>> 0;

/** Text without NUL; well-formed, as UTF-8 has no lone surrogates. */
export const name: fc.Arbitrary<string> = fc.string({ unit: "grapheme", maxLength: 12 }).map((s) =>
  s.replaceAll("\0", "").toWellFormed()
);

/** A 64-bit unsigned integer as the codecs give it: a bigint only when a number cannot hold it. */
export const u64: fc.Arbitrary<number | bigint> = fc.oneof(
  fc.constantFrom(0, 0xfa, 0xfb, 0xfc, 0xff, 0xffff, 0x10000, 0xffffff, 0x1000000, 0xffffffff, 0x100000000),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, BigInt(Number.MAX_SAFE_INTEGER) + 1n, 2n ** 64n - 1n),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((n) => n <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(n) : n),
);

/** Fails unless every input gives a value or a CoreError, soon and without much memory. */
export function survives(decode: (bytes: Uint8Array) => unknown, inputs: fc.Arbitrary<Uint8Array>): void {
  fc.assert(
    fc.property(inputs, (input) => {
      const before = input.slice();
      expect(codeOf(() => decode(input))).toMatch(/^(none|DB_[A-Z_]+)$/);
      expect(same(input, before)).toBe(true);
    }),
    { numRuns: 2000 },
  );
}
