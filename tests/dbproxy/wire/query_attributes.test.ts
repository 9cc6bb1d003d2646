import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Writer } from "../../../plugins/dbproxy/wire/bytes.ts";
import { behindAttributes } from "../../../plugins/dbproxy/wire/query_attributes.ts";

/** Types with a value as it is sent; a NULL has none. */
const string = fc.uint8Array({ maxLength: 300 }).map((bytes) => ({ value: new Writer().lenencBytes(bytes).take() }));
const number = fc.constantFrom([1, 1], [2, 2], [3, 4], [4, 4], [5, 8], [8, 8]);
const attribute = fc.oneof(
  string.chain(({ value }) => fc.constantFrom(0x00, 0x0f, 0xf6, 0xfc, 0xfd, 0xfe).map((type) => ({ type, value }))),
  number.map(([type, size]) => ({ type: type!, value: new Uint8Array(size!).fill(type!) })),
  fc.constantFrom(7, 10, 11, 12).chain((type) =>
    fc.constantFrom(0, 4, 7, 8, 11, 12).map((n) => ({ type, value: new Writer().u8(n).zero(n).take() }))
  ),
  fc.constantFrom(6, 13).map((type) => ({ type, value: undefined })),
);

function payloadOf(attributes: readonly { type: number; value: Uint8Array | undefined }[], sql: string): Uint8Array {
  const out = new Writer().lenenc(attributes.length).lenenc(1);
  if (attributes.length > 0) {
    const nulls = new Uint8Array(attributes.length + 7 >> 3);
    for (const [i, { value }] of attributes.entries()) if (value === undefined) nulls[i >> 3]! |= 1 << (i & 7);
    out.bytes(nulls).u8(1);
    for (const [i, { type }] of attributes.entries()) out.u16(type | (i & 1) << 15).lenencText(`name ${i}`);
    for (const { value } of attributes) if (value !== undefined) out.bytes(value);
  }
  return out.text(sql).take();
}

const textOf = (payload: Uint8Array) => {
  const text = behindAttributes(payload);
  return text && new TextDecoder().decode(text);
};

describe("the text of a query with attributes", () => {
  test("is found behind a string, as the MySQL client sends it", () => {
    const sent = "01 01 00 01 fe00 05 7472616365 03 616263 53454c4543542031".replaceAll(" ", "");
    expect(textOf(Uint8Array.from(sent.match(/../g)!, (hex) => parseInt(hex, 16)))).toBe("SELECT 1");
  });

  test("is found behind any attributes", () => {
    fc.assert(fc.property(fc.array(attribute, { maxLength: 20 }), fc.string(), (attributes, sql) => {
      expect(textOf(payloadOf(attributes, sql))).toBe(sql);
    }));
  });

  test("is not made up where the attributes are cut, of a type nobody knows, or not bound", () => {
    const whole = payloadOf([{ type: 0xfe, value: new Writer().lenencText("value").take() }], "");
    for (let n = 0; n < whole.length; n++) expect(behindAttributes(whole.subarray(0, n))).toBe(undefined);
    expect(behindAttributes(payloadOf([{ type: 0x55, value: new Uint8Array(1) }], "SELECT 1"))).toBe(undefined);
    const unbound = whole.slice();
    unbound[3] = 0;
    expect(behindAttributes(unbound)).toBe(undefined);
  });

  test("any bytes have one or none", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const text = behindAttributes(bytes);
      expect(text === undefined || text.length < bytes.length).toBe(true);
    }));
  });
});
