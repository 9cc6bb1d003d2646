import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Reader, Writer } from "../../../plugins/dbproxy/wire/bytes.ts";
import { bytes, codeOf, hex, name, same, u64 } from "./support.ts";

describe("fields", () => {
  test("integers are little-endian", () => {
    const reader = new Reader(hex("01 02 03 04 05 06 ff ff ff ff 07"), 1);
    expect([reader.u8(), reader.u16(), reader.u24(), reader.u32(), reader.left]).toEqual([
      2,
      0x403,
      0xff0605,
      0x7ffffff,
      0,
    ]);
    expect(new Reader(hex("ff ff ff ff")).u32()).toBe(0xffffffff);
    expect(new Writer().u8(1).u16(0x302).u24(0x60504).u32(0xfffefdfc).take()).toEqual(
      hex("01 02 03 04 05 06 fc fd fe ff"),
    );
  });

  test("a number that does not fit its field is refused, not cut", () => {
    for (const bad of [256, -1, 1.5, NaN]) expect(codeOf(() => new Writer().u8(bad))).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Writer().u16(0x10000))).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Writer().u24(0x1000000))).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Writer().u32(0x100000000))).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Writer().lenenc(2n ** 64n))).toBe("DB_PROTOCOL");
  });

  test("length-encoded integers have the servers' forms", () => {
    const forms: [number | bigint, string][] = [
      [0, "00"],
      [0xfa, "fa"],
      [0xfb, "fc fb 00"],
      [0xffff, "fc ff ff"],
      [0x10000, "fd 00 00 01"],
      [0xffffff, "fd ff ff ff"],
      [0x1000000, "fe 00 00 00 01 00 00 00 00"],
      [Number.MAX_SAFE_INTEGER, "fe ff ff ff ff ff ff 1f 00"],
      [2n ** 53n, "fe 00 00 00 00 00 00 20 00"],
      [2n ** 64n - 1n, "fe ff ff ff ff ff ff ff ff"],
    ];
    for (const [value, form] of forms) {
      expect(new Writer().lenenc(value).take()).toEqual(hex(form));
      expect(new Reader(hex(form)).lenenc()).toBe(value);
    }
    expect(codeOf(() => new Reader(hex("fb")).lenenc())).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Reader(hex("ff")).lenenc())).toBe("DB_PROTOCOL");
  });

  test("a length beyond the packet is an error and allocates nothing", () => {
    for (const form of ["01", "fe ff ff ff ff ff ff ff ff", "fe ff ff ff ff 00 00 00 00", "fc 01", "fd 00 00", ""]) {
      expect(codeOf(() => new Reader(hex(form)).lenencBytes())).toBe("DB_PROTOCOL");
    }
    expect(codeOf(() => new Reader(hex("41 42")).nulText())).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Reader(hex("00"), 1).nulText())).toBe("DB_PROTOCOL");
    expect(codeOf(() => new Reader(hex("00"), 5).rest())).toBe("DB_PROTOCOL");
  });

  test("a NUL cannot smuggle fields into a name", () => {
    expect(codeOf(() => new Writer().nulText("root\0"))).toBe("DB_PROTOCOL");
  });

  test("a byte order mark is kept", () => {
    expect(new Reader(hex("04 ef bb bf 'a'")).lenencText()).toBe("\ufeffa");
  });

  test("what is written is read, and take() leaves an empty writer", () => {
    fc.assert(
      fc.property(u64, bytes(300), name, bytes(70000), fc.nat(40), (n, some, text, many, zeros) => {
        const writer = new Writer(1);
        writer.lenenc(n).lenencBytes(some).nulText(text).zero(zeros).lenencText(text).lenencBytes(many).text(text);
        const reader = new Reader(writer.take());
        expect(reader.lenenc()).toBe(n);
        expect(same(reader.lenencBytes(), some)).toBe(true);
        expect(reader.nulText()).toBe(text);
        expect(same(reader.bytes(zeros), new Uint8Array(zeros))).toBe(true);
        expect(reader.lenencText()).toBe(text);
        expect(same(reader.lenencBytes(), many)).toBe(true);
        expect(reader.restText()).toBe(text);
        expect(writer.u8(7).take()).toEqual(new Uint8Array([7]));
      }),
      { numRuns: 60 },
    );
  });
});
