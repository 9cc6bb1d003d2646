import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";
import * as answers from "../../../plugins/bulkhead/local/answers.ts";
import * as asks from "../../../plugins/bulkhead/local/asks.ts";
import { headerBytes, longestFromServer, longestToServer } from "../../../plugins/bulkhead/local/frame.ts";
import { FrameReader, Payload } from "../../../plugins/bulkhead/local/frame_reader.ts";

interface Frame {
  readonly type: number;
  readonly number: number;
  readonly payload: Payload;
}

const payloadOf = (bytes: Uint8Array) => new Payload(bytes).move(0, bytes.length);

/** Reads frames out of pieces. */
function read(pieces: readonly Uint8Array[], longest = longestFromServer): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader(longest, (type, number, payload) => {
    frames.push({ type, number, payload: payloadOf(payload.tail(0).slice()) });
  });
  for (const piece of pieces) {
    reader.push(piece);
    // As a runtime does that uses its buffers again.
    piece.fill(0xff);
  }
  return frames;
}

const one = (bytes: Uint8Array): Frame => {
  const frames = read([bytes.slice()]);
  expect(frames.length).toBe(1);
  return frames[0]!;
};

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const number = fc.integer({ min: 1, max: 0xffff_ffff });
const name = fc.string({ unit: fc.constantFrom(..."abcXYZ019_.:-/~"), minLength: 1, maxLength: 255 });
const ms = fc.double({ min: 0, max: 1e9, noNaN: true });
const code = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    return (error as CoreError).code;
  }
  return undefined;
};

const ask = fc.record({
  weight: u32.filter((n) => n < 0xffff_ffff),
  limit: u32.filter((n) => n < 0xffff_ffff),
  leaseMs: u32.filter((n) => n < 0xffff_ffff),
  maxWaitMs: u32.filter((n) => n < 0xffff_ffff),
  maxQueue: fc.option(u32.filter((n) => n < 0xffff_ffff), { nil: undefined }),
  owner: u32,
  name,
});

describe("what is written is read", () => {
  test("of every frame", () => {
    fc.assert(fc.property(number, ask, fc.boolean(), (n, asked, scoped) => {
      const acquire = one(asks.writeAcquire(n, asked));
      expect([acquire.number, asks.readAcquire(acquire.payload)]).toEqual([n, asked]);
      expect(asks.readHello(one(asks.writeHello({ version: 1, scoped })).payload)).toEqual({ version: 1, scoped });
      expect(asks.readRelease(one(asks.writeRelease(n, scoped)).payload)).toBe(scoped);
      expect(answers.readReleased(one(answers.writeReleased(n, scoped)).payload)).toBe(scoped);
      expect(asks.readWelcome(one(asks.writeWelcome()).payload)).toBe(1);
      expect(asks.readCounts(one(asks.writeCounts(n, asked.name)).payload)).toBe(asked.name);
      expect(asks.readResize(one(asks.writeResize(n, asked.limit, asked.name)).payload))
        .toEqual({ limit: asked.limit, name: asked.name });
    }));
    const fence = fc.maxSafeNat();
    const reason = fc.constantFrom(
      ...(["full", "queue_full", "timeout", "cancelled", "deadlock", "draining", "unavailable"] as const),
    );
    fc.assert(fc.property(number, fence, ms, u32, reason, (n, fence, waitedMs, position, reason) => {
      const grant = one(answers.writeGrant(n, { fence, waitedMs, position }));
      expect([grant.number, answers.readGrant(grant.payload)]).toEqual([n, { fence, waitedMs, position }]);
      const deny = one(answers.writeDeny(n, { reason, waitedMs, retryAfterMs: position }));
      expect(answers.readDeny(deny.payload)).toEqual({ reason, waitedMs, retryAfterMs: position });
      const counts = { limit: position, active: n, holders: 1, queued: 2, oldestWaitMs: waitedMs };
      expect(answers.readCounted(one(answers.writeCounted(n, counts)).payload)).toEqual(counts);
    }));
    expect(answers.readCounted(one(answers.writeCounted(1, undefined)).payload)).toBeUndefined();
  });

  test("of an error, cut where it is too long", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 1000 }), (message) => {
      const text = message.replaceAll("\0", "");
      const error = answers.readFault(one(answers.writeFault(3, new CoreError("BULKHEAD_X", text))).payload);
      expect(error.code).toBe("BULKHEAD_X");
      // What is cut in the middle of a character ends with a mark.
      expect(text.startsWith(error.message.replace(/\ufffd+$/, "")) || text.includes("\ufffd")).toBe(true);
      if (new TextEncoder().encode(text).length < 500) expect(error.message).toBe(text);
    }));
  });

  test("however it is cut into pieces", () => {
    const piece = fc.oneof(
      fc.tuple(number, ask).map(([n, asked]) => asks.writeAcquire(n, asked)),
      number.map((n) => answers.writeCounted(n, undefined)),
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.infiniteStream(fc.nat(40)), (all, sizes) => {
        const whole = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
        let at = 0;
        for (const bytes of all) {
          whole.set(bytes, at);
          at += bytes.length;
        }
        const expected = read([whole.slice()]);
        const pieces: Uint8Array[] = [];
        for (at = 0; at < whole.length;) {
          const size = sizes.next().value;
          pieces.push(whole.slice(at, at + size));
          at += size;
        }
        expect(read(pieces)).toEqual(expected);
        expect(expected.length).toBe(all.length);
      }),
    );
  });
});

test("names are read as they are written, whichever was read before", () => {
  fc.assert(fc.property(fc.array(name, { minLength: 2, maxLength: 6 }), (names) => {
    for (const written of [...names, names[0]!, `${names[0]}x`.slice(1), names[0]!]) {
      expect(asks.readCounts(one(asks.writeCounts(1, written)).payload)).toBe(written);
    }
  }));
});

test("a chunk may have more frames than a reader has room for", () => {
  const pieces = Array.from({ length: 500 }, (_, n) => asks.writeCounts(n + 1, `name${n}`));
  const whole = new Uint8Array(pieces.flatMap((bytes) => [...bytes]));
  const all: unknown[] = [];
  const reader = new FrameReader(longestToServer, (_, n, payload) => all.push([n, asks.readCounts(payload)]));
  reader.push(whole);
  expect(all).toEqual(pieces.map((_, n) => [n + 1, `name${n}`]));
});

describe("what is no frame", () => {
  test("is told by its header alone, before its payload is kept", () => {
    const header = (length: number, zero = 0) => {
      const bytes = new Uint8Array(headerBytes);
      new DataView(bytes.buffer).setUint16(0, length, true);
      bytes[3] = zero;
      return bytes;
    };
    expect(code(() => read([header(longestToServer + 1)], longestToServer))).toBe("BULKHEAD_PROTOCOL");
    expect(code(() => read([header(0, 1)]))).toBe("BULKHEAD_PROTOCOL");
    expect(read([header(longestToServer)], longestToServer)).toEqual([]);
  });

  test("is an error of the protocol and nothing else, whatever it is", () => {
    const readers = [
      asks.readHello,
      asks.readWelcome,
      asks.readAcquire,
      asks.readCounts,
      asks.readRelease,
      answers.readReleased,
      asks.readResize,
      answers.readGrant,
      answers.readDeny,
      answers.readCounted,
      answers.readFault,
    ];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        for (const reader of readers) {
          const found = code(() => reader(payloadOf(bytes)));
          expect([undefined, "BULKHEAD_PROTOCOL"]).toContain(found);
        }
        expect([undefined, "BULKHEAD_PROTOCOL"]).toContain(code(() => read([bytes.slice()], longestToServer)));
      }),
      { numRuns: 500 },
    );
  });

  test("a name of another length than there can be", () => {
    const acquire = asks.writeAcquire(1, {
      weight: 1,
      limit: 1,
      leaseMs: 1,
      maxWaitMs: 0,
      maxQueue: 0,
      owner: 0,
      name: "",
    });
    expect(code(() => asks.readAcquire(one(acquire).payload))).toBe("BULKHEAD_PROTOCOL");
  });
});
