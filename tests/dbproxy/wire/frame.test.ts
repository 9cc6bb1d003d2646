import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { frame, framedLength, frames, maxFrame, PacketReader } from "../../../plugins/dbproxy/wire/frame.ts";
import { bytes, codeOf, cut, cuts, hex, same, singles } from "./support.ts";

/** Shared: its frames' edges begin with what could be mistaken for ERR, EOF and OK. */
const big = new Uint8Array(2 * maxFrame + 5).fill(0x61);
big.set([0xff, 0xfe, 0x00], 0);
big.set([0xff, 0xfe, 0x00], maxFrame);
big.set([0xfe, 0xff, 0x00], 2 * maxFrame);

/** Everything a reader made of the chunks: payloads with numbers. */
function readAll(chunks: readonly Uint8Array[], limit = Infinity): [Uint8Array, number][] {
  const packets: [Uint8Array, number][] = [];
  const reader = new PacketReader(limit, (payload, seq) => {
    packets.push([payload, seq]);
  });
  for (const chunk of chunks) expect(reader.push(chunk)).toBe(undefined);
  return packets;
}

describe("frames", () => {
  test("a small packet is a header and its payload", () => {
    expect(frame(3, hex("0e"))).toEqual(hex("01 00 00 03 0e"));
    expect(frame(0x101, hex(""))).toEqual(hex("00 00 00 01"));
    expect(frames(255, [hex("01 02"), hex("03")])).toEqual(hex("02 00 00 ff 01 02 01 00 00 00 03"));
  });

  const split: [size: number, frames: number[]][] = [
    [0xfffffe, [0xfffffe]],
    [0xffffff, [0xffffff, 0]],
    [0x1000000, [0xffffff, 1]],
    [0x1fffffe, [0xffffff, 0xffffff, 0]],
  ];
  for (const [size, lengths] of split) {
    test(`a payload of 0x${size.toString(16)} bytes is ${lengths.length} frames`, () => {
      const payload = big.subarray(0, size);
      const wire = frame(255, payload);
      expect(wire.length).toBe(framedLength(size));
      let at = 0;
      for (const [i, n] of lengths.entries()) {
        expect([...wire.subarray(at, at + 4)]).toEqual([n & 255, n >> 8 & 255, n >> 16, 255 + i & 255]);
        expect(same(wire.subarray(at + 4, at + 4 + n), big.subarray(i * maxFrame, i * maxFrame + n))).toBe(true);
        at += 4 + n;
      }
      expect(at).toBe(wire.length);
    });
  }

  test("numbers go on behind a split packet", () => {
    const two = frames(7, [big.subarray(0, maxFrame), hex("01")]);
    expect(two.subarray(-9)).toEqual(hex("00 00 00 08 01 00 00 09 01"));
  });

  test("a split packet comes back whole from chunks, also when a header is cut", () => {
    const wire = frames(0, [big.subarray(0, maxFrame + 1), hex("07")]);
    const at = [5, maxFrame + 2, maxFrame + 6];
    const packets = readAll([0, ...at].map((from, i) => wire.subarray(from, at[i])));
    expect(packets.map(([payload, seq]) => [payload.length, seq])).toEqual([[maxFrame + 1, 1], [1, 2]]);
    expect(same(packets[0]![0], big.subarray(0, maxFrame + 1))).toBe(true);
  });
});

describe("PacketReader", () => {
  test("any chunking gives the same packets", () => {
    const packet = fc.oneof(bytes(5), bytes(400));
    fc.assert(fc.property(fc.array(packet, { maxLength: 8 }), fc.nat(255), cuts, (payloads, seq, points) => {
      const wire = frames(seq, payloads);
      const expected = payloads.map((payload, i) => [[...payload], seq + i & 255]);
      for (const chunks of [cut(wire, points), singles(wire), cut(wire, [])]) {
        expect(readAll(chunks).map(([payload, seq]) => [[...payload], seq])).toEqual(expected);
      }
    }));
  });

  test("when told to stop it gives back the bytes behind the packet, and may begin again", () => {
    const seen: number[] = [];
    const reader = new PacketReader(100, (payload) => {
      seen.push(payload[0]!);
      return payload[0] !== 2;
    });
    expect(reader.push(hex("01 00 00 01 01 01 00"))).toBe(undefined);
    expect(reader.push(hex("00 02 02 16 03 01"))).toEqual(hex("16 03 01"));
    expect(reader.push(hex("01 00 00 09 02"))).toEqual(hex(""));
    expect(seen).toEqual([1, 2, 2]);
  });

  test("a packet over the limit is refused by its header", () => {
    expect(readAll([hex("03 00 00 00 'abc'")], 3).length).toBe(1);
    expect(codeOf(() => readAll([hex("04 00 00 00")], 3))).toBe("DB_PACKET_TOO_LARGE");
    const reader = new PacketReader(maxFrame + 2, () => {});
    reader.push(hex("ff ff ff 00"));
    reader.push(big.subarray(0, maxFrame));
    expect(codeOf(() => reader.push(hex("03 00 00 01")))).toBe("DB_PACKET_TOO_LARGE");
    // What is only announced takes no memory.
    for (let i = 0; i < 2000; i++) new PacketReader(2 ** 31, () => {}).push(hex("fe ff ff 00 01"));
  });

  test("numbers are checked when asked for", () => {
    const reader = new PacketReader(100, () => {});
    reader.expectSeq = 255;
    reader.push(hex("01 00 00 ff 07 01 00 00 00 07"));
    expect(reader.expectSeq).toBe(1);
    expect(codeOf(() => reader.push(hex("01 00 00 02 07")))).toBe("DB_SEQUENCE");
  });
});
