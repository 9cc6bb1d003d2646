import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";
import {
  CUT,
  EARLY,
  encodeFrame,
  ENDED,
  FrameReader,
  HELLO,
  LAST,
  LEAVING,
  LOG,
  READY,
  REPLY,
} from "../../../plugins/php/native/frame.ts";
import { cut, frame, join } from "./support/frames.ts";

interface Found {
  readonly type: number;
  readonly flags: number;
  readonly number: number;
  readonly payload: string;
}

function read(chunks: readonly Uint8Array[]): Found[] {
  const found: Found[] = [];
  let reply = "";
  const reader = new FrameReader({
    onReply(_number, bytes) {
      expect(bytes.byteLength).toBeGreaterThan(0);
      reply += latin1(bytes);
    },
    onFrame(type, flags, number, payload) {
      found.push({ type, flags, number, payload: type === REPLY ? reply : latin1(payload) });
      reply = "";
    },
  });
  for (const chunk of chunks) reader.push(chunk);
  expect(reader.fresh).toBe(true);
  return found;
}

const latin1 = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes);
const payload = fc.uint8Array({ maxLength: 300 });
const number = fc.integer({ min: 0, max: 0xffff_ffff });
const anyFrame = fc.oneof(
  fc.record({
    type: fc.constant(REPLY),
    flags: fc.constantFrom(0, LAST, READY, LAST | READY, CUT, CUT | READY),
    number,
    payload,
  }),
  fc.record({ type: fc.constantFrom(HELLO, EARLY, LOG, ENDED), flags: fc.constant(0), number, payload }),
  fc.record({ type: fc.constant(LEAVING), flags: fc.constant(0), number, payload: fc.constant(new Uint8Array(0)) }),
);

describe("frames", () => {
  test("come out as they went in, wherever they are cut", () => {
    fc.assert(
      fc.property(
        fc.array(anyFrame, { maxLength: 8 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        (frames, cuts) => {
          const bytes = join(frames.map((one) => frame(one.type, one.flags, one.number, one.payload)));
          expect(read(cut(bytes, cuts))).toEqual(frames.map((one) => ({ ...one, payload: latin1(one.payload) })));
        },
      ),
    );
  });

  test("are written as PROTOCOL.md says", () => {
    expect(encodeFrame(5, 0x01020304)).toEqual(new Uint8Array([0, 0, 0, 0, 5, 0, 0, 0, 4, 3, 2, 1]));
    fc.assert(fc.property(fc.integer({ min: 0, max: 255 }), number, payload, (type, number, bytes) => {
      expect(encodeFrame(type, number, bytes)).toEqual(frame(type, 0, number, bytes));
    }));
  });

  test("hand a reply on without a copy", () => {
    const chunk = frame(REPLY, 0, 1, "hello");
    const views: Uint8Array[] = [];
    new FrameReader({ onReply: (_number, bytes) => void views.push(bytes), onFrame() {} }).push(chunk);
    expect(views.map((view) => view.buffer === chunk.buffer)).toEqual([true]);
  });

  test("are refused when they are none, before their payload has come", () => {
    const cases: readonly (readonly [string, Uint8Array])[] = [
      ["type 0", frame(0, 0, 1)],
      ["type 2", frame(2, 0, 1)],
      ["type 11", frame(11, 0, 1)],
      ["flags 8", frame(REPLY, 8, 1)],
      ["flags 1", frame(LOG, 1, 1)],
      ["must be zero", Object.assign(frame(REPLY, 0, 1), { 6: 1 })],
      ["must be zero", Object.assign(frame(REPLY, 0, 1), { 7: 1 })],
      ["with 1 bytes", frame(LEAVING, 0, 0, "x")],
      ["with 4097 bytes", frame(HELLO, 0, 0, "x".repeat(4097)).subarray(0, 12)],
      ["with 2147483648 bytes", Object.assign(frame(REPLY, 0, 1), { 3: 0x80 })],
      ["type 47", new TextEncoder().encode("<br />Warning: something")],
    ];
    for (const [says, bytes] of cases) {
      const reader = new FrameReader({ onReply() {}, onFrame() {} });
      const push = () => reader.push(bytes);
      expect(push).toThrow(says);
      // And stay refused.
      expect(() => reader.push(frame(REPLY, 0, 1))).toThrow(says);
    }
  });

  test("of an enemy are refused with a code, or read", () => {
    fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
      const reader = new FrameReader({ onReply() {}, onFrame() {} });
      try {
        for (const chunk of chunks) reader.push(chunk);
      } catch (error) {
        expect((error as CoreError).code).toBe("PHP_PROTOCOL");
      }
    }));
  });
});
