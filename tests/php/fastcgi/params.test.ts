import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CoreError } from "../../../core/error.ts";
import { encodeParams, packParams, type Pair, ParamsWriter } from "../../../plugins/php/fastcgi/params.ts";
import { encodeHeaderParams, join } from "./support.ts";

/** An independent reader, written from the specification. */
function decode(bytes: Uint8Array, text: (bytes: Uint8Array) => string): Pair[] {
  const pairs: Pair[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const length = () => {
    if (view.getUint8(at) < 0x80) return view.getUint8(at++);
    at += 4;
    return view.getUint32(at - 4) - 0x80000000;
  };
  while (at < bytes.length) {
    const name = length();
    const value = length();
    pairs.push([text(bytes.subarray(at, at + name)), text(bytes.subarray(at + name, at + name + value))]);
    at += name + value;
    expect(at <= bytes.length).toBe(true);
  }
  return pairs;
}
const utf8 = (bytes: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(bytes);
const latin1 = (bytes: Uint8Array) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

const size = fc.constantFrom(0, 1, 63, 64, 65, 127, 128, 129, 300);
const byteString = size.chain((length) =>
  fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: length, minLength: length })
).map((codes) => String.fromCharCode(...codes));
const asciiName = size.map((length) => "N".repeat(length));

test("short and long lengths", () => {
  expect([...encodeParams([["A", "bc"]])]).toEqual([1, 2, 65, 98, 99]);
  const long = encodeParams([["A".repeat(128), ""]]);
  expect([...long.subarray(0, 6)]).toEqual([0x80, 0, 0, 128, 0, 65]);
  expect(long.length).toBe(4 + 1 + 128);
  expect(encodeParams([]).length).toBe(0);
});

test("text goes as UTF-8, header values as the bytes they are", () => {
  expect([...encodeParams([["A", "é"]])]).toEqual([1, 2, 65, 0xc3, 0xa9]);
  expect([...encodeHeaderParams([["A", "é"]])]).toEqual([1, 1, 65, 0xe9]);
  expect([...encodeHeaderParams([["A", "€"]])]).toEqual([1, 3, 65, 0xe2, 0x82, 0xac]);
});

test("pairs come out as they went in", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme", maxLength: 200 }))),
      (pairs) => {
        expect(decode(encodeParams(pairs), utf8)).toEqual(pairs);
      },
    ),
  );
  fc.assert(fc.property(fc.array(fc.tuple(asciiName, byteString)), (pairs) => {
    expect(decode(encodeHeaderParams(pairs), latin1)).toEqual(pairs);
  }));
});

test("a lone surrogate is replaced, and the lengths still agree", () => {
  expect(decode(encodeParams([["A", "x\ud800y"], ["B", "c"]]), utf8)).toEqual([["A", "x\ufffdy"], ["B", "c"]]);
});

test("a blob stays what it was when its writer goes on", () => {
  const writer = new ParamsWriter();
  writer.text("A", "1");
  const first = writer.take();
  writer.text("B", "2");
  expect([...first]).toEqual([1, 1, 65, 49]);
  expect([...writer.take()]).toEqual([1, 1, 66, 50]);
  expect(writer.take().length).toBe(0);
});

test("records hold whole pairs, all of them, in order, and no record is too long", () => {
  const length = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 30_000, max: 65_000 }));
  const blob = fc.array(length, { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(blob, { maxLength: 4 }), (lengths) => {
      let count = 0;
      const pairs = lengths.map((blob) => blob.map((length): Pair => [`P${count++}`, "v".repeat(length)]));
      const packed = packParams(pairs.map(encodeParams)).map(join);
      expect(packed.every((record) => record.length > 0 && record.length <= 65_535)).toBe(true);
      expect(packed.flatMap((record) => decode(record, latin1))).toEqual(pairs.flat());
    }),
    { numRuns: 60 },
  );
});

test("records are as few as order allows", () => {
  const pair = (length: number) => encodeParams([["A", "v".repeat(length - 6)]]);
  expect(packParams([pair(40_000), pair(25_535)]).length).toBe(1);
  expect(packParams([pair(40_000), pair(25_536)]).length).toBe(2);
  expect(packParams([]).length).toBe(0);
  expect(packParams([new Uint8Array(0)]).length).toBe(0);
});

test("a pair that fits no record is 431, whatever is around it", () => {
  const code = (blobs: Uint8Array[]) => {
    try {
      return packParams(blobs).length;
    } catch (error) {
      return [(error as CoreError).code, (error as CoreError).status];
    }
  };
  const pair = (length: number) => encodeParams([["A", "v".repeat(length - 6)]]);
  expect(code([pair(65_535)])).toBe(1);
  expect(code([pair(65_536)])).toEqual(["PHP_PARAMS_TOO_LARGE", 431]);
  expect(code([pair(10), pair(65_536), pair(10)])).toEqual(["PHP_PARAMS_TOO_LARGE", 431]);
  expect(code([new Uint8Array(70_000).fill(0xff)])).toEqual(["PHP_PARAMS_MALFORMED", undefined]);
  expect(code([pair(65_000), new Uint8Array([1, 255])])).toBe(1);
  expect(code([pair(65_535), new Uint8Array([1, 127])])).toEqual(["PHP_PARAMS_MALFORMED", undefined]);
});
