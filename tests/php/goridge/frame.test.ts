import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import {
  CONTROL,
  encodeControl,
  encodeFrame,
  ERROR,
  headerLength,
  JSON_CODEC,
  PONG,
  PROTO_CODEC,
  STOP,
  writeHeader,
} from "../../../plugins/php/goridge/frame.ts";
import { type FrameInfo, type FrameLimits, FrameReader } from "../../../plugins/php/goridge/frame_reader.ts";
import { cut } from "../fastcgi/support.ts";
import { joined } from "./support.ts";

const text = (value: string) => new TextEncoder().encode(value);
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

interface Seen {
  readonly frame: FrameInfo;
  readonly head: string;
  readonly body: string;
}

/** Reads frames; `pieces` counts the calls for bodies. */
function read(
  chunks: readonly Uint8Array[],
  limits: FrameLimits = {},
): { seen: Seen[]; error: unknown; reader: FrameReader } {
  const seen: Seen[] = [];
  let open: { frame: FrameInfo; head: Uint8Array; body: Uint8Array[] } | undefined;
  const reader = new FrameReader({
    onFrame(frame, head) {
      expect(open).toBe(undefined);
      open = { frame, head: head.slice(), body: [] };
    },
    onBody(bytes) {
      expect(bytes.byteLength > 0).toBe(true);
      open!.body.push(bytes.slice());
    },
    onFrameEnd() {
      seen.push({ frame: open!.frame, head: hex(open!.head), body: hex(joined(open!.body)) });
      open = undefined;
    },
  }, limits);
  try {
    for (const chunk of chunks) reader.push(chunk);
  } catch (error) {
    return { seen, error, reader };
  }
  return { seen, error: undefined, reader };
}

describe("golden vectors", () => {
  test("what a host sends", () => {
    expect(hex(encodeFrame(CONTROL | JSON_CODEC, [], text('{"pid":4242}')))).toBe(
      "13090c0000005f0c46730000" + "7b22706964223a343234327d",
    );
    expect(hex(encodeControl({ stop: true }))).toBe("13090d0000003a6bfacb0000" + "7b2273746f70223a747275657d");
    expect(hex(encodeFrame(0, [], new Uint8Array(0), PONG))).toBe("13000000000096d180340800");
    expect(hex(encodeFrame(0, [], new Uint8Array(0), STOP))).toBe("13000000000096d180340200");
    const header = new Uint8Array(headerLength(1));
    expect(writeHeader(header, 0, PROTO_CODEC, [59], 59)).toBe(16);
    expect(hex(header)).toBe("14803b0000001c2e49bf00003b000000");
  });

  test("what a worker sends", () => {
    const frames: readonly (readonly [string, number, readonly number[], string, string])[] = [
      ["13010c0000009e4736430000" + "7b22706964223a323838377d", CONTROL, [], '{"pid":2887}', ""],
      ["14000d000000f339efdb0000" + "0d000000" + "7b2273746f70223a747275657d", 0, [13], '{"stop":true}', ""],
      ["134004000000881e11e30000" + "626f6f6d", ERROR, [], "", "boom"],
      [
        "1480230000006c51e42a0000" + "21000000" +
        "08c801121c0a0c436f6e74656e742d54797065120c0a0a746578742f706c61696e" + "6869",
        PROTO_CODEC,
        [33],
        "\x08\xc8\x01\x12\x1c\x0a\x0cContent-Type\x12\x0c\x0a\x0atext/plain",
        "hi",
      ],
    ];
    for (const [bytes, flags, options, head, body] of frames) {
      const { seen, error } = read([Buffer.from(bytes, "hex")]);
      expect(error).toBe(undefined);
      expect(seen.length).toBe(1);
      expect([seen[0]!.frame.flags, seen[0]!.frame.options]).toEqual([flags, options]);
      expect(Buffer.from(seen[0]!.head, "hex").toString("latin1")).toBe(head);
      expect(Buffer.from(seen[0]!.body, "hex").toString("latin1")).toBe(body);
    }
  });
});

const frames = fc.array(
  fc.record({
    flags: fc.constantFrom(0, JSON_CODEC, PROTO_CODEC, ERROR, CONTROL, CONTROL | JSON_CODEC),
    stream: fc.integer({ min: 0, max: 15 }),
    head: fc.uint8Array({ maxLength: 60 }),
    body: fc.uint8Array({ maxLength: 200 }),
    extra: fc.array(fc.integer({ min: 0, max: 0xffffffff }), { maxLength: 9 }),
    bare: fc.boolean(),
  }),
  { maxLength: 6 },
);
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 });

test("frames come out as they went in, wherever the chunks are cut", () => {
  fc.assert(fc.property(frames, cuts, (sent, places) => {
    const expected: Seen[] = [];
    const bytes = joined(sent.map(({ flags, stream, head, body, extra, bare }) => {
      const options = bare ? [] : [head.byteLength, ...extra];
      const payload = joined([head, body]);
      const split = flags & CONTROL ? payload.byteLength : flags & ERROR || bare ? 0 : head.byteLength;
      expected.push({
        frame: { flags, stream, length: payload.byteLength, options },
        head: hex(payload.subarray(0, split)),
        body: hex(payload.subarray(split)),
      });
      return encodeFrame(flags, options, payload, stream);
    }));
    for (const chunks of [[bytes], cut(bytes, places), [...bytes].map((byte) => new Uint8Array([byte]))]) {
      const { seen, error, reader } = read(chunks);
      expect(error).toBe(undefined);
      expect(reader.fresh).toBe(true);
      expect(seen).toEqual(expected);
    }
  }));
});

test("bodies are views of their chunk, as they come", () => {
  const chunk = encodeFrame(0, [2], text("{}body"));
  const views: Uint8Array[] = [];
  const reader = new FrameReader({ onFrame() {}, onBody: (bytes) => views.push(bytes), onFrameEnd() {} });
  reader.push(chunk.subarray(0, 20));
  reader.push(chunk.subarray(20));
  expect(views.length).toBe(2);
  for (const view of views) expect(view.buffer).toBe(chunk.buffer);
});

test("stray text is shown as what it is, up to 512 bytes", () => {
  const { error, reader, seen } = read([encodeFrame(0, [2], text("{}")), text("PHP Warning:  Undefined ü\n")]);
  expect(seen.length).toBe(1);
  expect((error as CoreError).code).toBe("PHP_GORIDGE_DESYNC");
  expect((error as CoreError).status).toBe(502);
  expect((error as CoreError).message).toContain(JSON.stringify("PHP Warning:  Undefined ü\n"));
  expect(new TextDecoder().decode(reader.stray)).toBe("PHP Warning:  Undefined ü\n");
  expect(() => reader.push(encodeFrame(0, [], text("")))).toThrow("PHP Warning");
  const long = read([text("z".repeat(600))]);
  expect((long.error as CoreError).message).toContain(JSON.stringify("z".repeat(512)));
  expect((long.error as CoreError).message).not.toContain("z".repeat(513));
});

test("one wrong bit of a header is noticed, in whichever byte the checksum covers", () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 79 }), cuts, (bit, places) => {
    const bytes = encodeFrame(JSON_CODEC, [2], text('{}{"pid":1}'));
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    const { error, reader } = read(cut(bytes, places));
    expect((error as CoreError | undefined)?.code ?? (reader.fresh ? "read" : "waiting")).not.toBe("read");
  }));
});

test("a frame over the limits is refused before its payload comes", () => {
  const limits = { maxPayload: 100, maxHead: 10 };
  for (const [flags, options, length] of [[0, [], 101], [0, [11], 50], [CONTROL, [], 11]] as const) {
    const header = new Uint8Array(headerLength(options.length));
    writeHeader(header, 0, flags, options, length);
    expect((read([header], limits).error as CoreError).code).toBe("PHP_GORIDGE_TOO_LARGE");
  }
  expect(read([encodeFrame(0, [10], new Uint8Array(100)), encodeFrame(ERROR, [], new Uint8Array(100))], limits).error)
    .toBe(undefined);
});

test("hostile bytes are read or refused with a code", () => {
  const codes = new Set(["PHP_GORIDGE_DESYNC", "PHP_GORIDGE_TOO_LARGE"]);
  /** Headers whose checksum is right, with anything in them. */
  const plausible = fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 0xffffffff }), fc.uint8Array())
    .map(([flags, length, rest]) => {
      const header = new Uint8Array(12);
      writeHeader(header, 0, flags, [], length);
      return joined([header, rest]);
    });
  fc.assert(fc.property(fc.array(fc.oneof(fc.uint8Array({ maxLength: 80 }), plausible)), (chunks) => {
    const { error } = read(chunks, { maxHead: 1000, maxPayload: 1000 });
    if (error !== undefined) expect(error instanceof CoreError && codes.has(error.code)).toBe(true);
  }));
});
