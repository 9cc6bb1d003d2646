import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Reader } from "../../../plugins/dbproxy/wire/bytes.ts";
import { CommandReader } from "../../../plugins/dbproxy/wire/command_reader.ts";
import { decodeErr } from "../../../plugins/dbproxy/wire/err.ts";
import { maxFrame, PacketReader } from "../../../plugins/dbproxy/wire/frame.ts";
import { decodeGreeting, encodeGreeting } from "../../../plugins/dbproxy/wire/greeting.ts";
import { decodeChangeUser, decodeLogin, encodeLogin, isSslRequest } from "../../../plugins/dbproxy/wire/login.ts";
import { decodeEof, decodeOk } from "../../../plugins/dbproxy/wire/ok.ts";
import { decodeTrackers } from "../../../plugins/dbproxy/wire/trackers.ts";
import { bytes, hex, survives } from "./support.ts";

/** Bytes that mean something to the protocol come often. */
const telling = fc.array(fc.constantFrom(0, 1, 2, 3, 8, 0x0a, 0x11, 0x61, 0x40, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff), {
  maxLength: 120,
}).map((list) => new Uint8Array(list));

/** A good packet with some bytes changed and its end cut off. */
const nearly = (good: Uint8Array): fc.Arbitrary<Uint8Array> =>
  fc.tuple(fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 4 }), fc.nat(good.length)).map(
    ([changes, length]) => {
      const bad = good.slice();
      for (const [at, byte] of changes) bad[at] = byte;
      return bad.subarray(0, length);
    },
  );

const greeting = encodeGreeting({
  version: "5.5.5-10.11.19-MariaDB",
  threadId: 7,
  nonce: new Uint8Array(20).fill(5),
  capabilities: 0x81fff7fe,
  extended: 0x1d,
  charset: 8,
  status: 2,
  plugin: "mysql_native_password",
});
const login = encodeLogin({
  capabilities: 0x7ffffffe,
  extended: 0,
  maxPacket: 1 << 24,
  charset: 33,
  user: "app",
  auth: new Uint8Array(20),
  database: "shop",
  plugin: "mysql_native_password",
  attributes: [["a", "b"], ["c", "d"]],
  zstdLevel: 3,
});
const change = hex("11 'app' 00 02 aa bb 'shop' 00 e0 00 'caching_sha2_password' 00 04 01 'a' 01 'b'");
const ok = hex("00 fc 01 00 00 02 40 00 00 02 'ab' 0b 00 04 01 'a' 01 'b' 02 02 01 '1'");

const anything = (good: Uint8Array): fc.Arbitrary<Uint8Array> => fc.oneof(bytes(150), telling, nearly(good));

describe("garbage gives a value or a CoreError", () => {
  test("greeting and login", () => {
    survives(decodeGreeting, anything(greeting));
    survives(decodeLogin, anything(login));
    survives(isSslRequest, anything(login));
    survives((b) => decodeChangeUser(b, 0xffffffff), anything(change));
    survives((b) => decodeChangeUser(b, 0), anything(change));
  });

  test("replies", () => {
    survives((b) => decodeOk(b, 0xffffffff), anything(ok));
    survives((b) => decodeOk(b, 0x200), anything(ok));
    survives((b) => decodeTrackers(b), anything(ok.subarray(13)));
    survives(decodeEof, anything(hex("fe 00 00 02 00")));
    survives(decodeErr, anything(hex("ff 10 04 '#08004no'")));
  });

  test("frames and fields", () => {
    survives((b) => new PacketReader(1000, () => {}).push(b), anything(hex("02 00 00 00 'ab' 01 00 00 00 'c'")));
    survives((b) => {
      const reader = new Reader(b);
      while (reader.left > 0) reader.lenencText();
    }, anything(hex("02 'ab' fc 01 00 'c'")));
  });

  test("a file whose frames are out of order is a problem, and nothing of it comes any more", () => {
    const problems: string[] = [];
    const data: number[] = [];
    const reader = new CommandReader({
      onCommand: () => reader.infile((frames) => void data.push(frames.length)),
      onMore() {},
      onProblem: (error) => void problems.push(error.code),
    });
    reader.push(hex("01 00 00 00 03"));
    const full = new Uint8Array(maxFrame + 4);
    full.set(hex("ff ff ff 02"));
    reader.push(full);
    reader.push(hex("01 00 00 09 'a'"));
    reader.push(hex("00 00 00 04"));
    expect([problems, data, reader.held]).toEqual([["DB_SEQUENCE"], [maxFrame + 4], 0]);
  });

  test("the command stream: whatever comes is delivered or a problem, once", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(telling, bytes(40)), { maxLength: 6 }), fc.nat(2), (chunks, mode) => {
        let problems = 0, delivered = 0;
        const reader = new CommandReader({
          onCommand(_, frames) {
            expect(problems).toBe(0);
            delivered += frames.length;
            if (mode === 1) reader.infile((frames) => void (delivered += frames.length));
            if (mode === 2) reader.takePackets((payload) => payload.length > 3);
            reader.next();
          },
          onMore(frames) {
            expect(problems).toBe(0);
            delivered += frames.length;
          },
          onProblem() {
            problems++;
          },
        }, { headLimit: 16, maxPacket: 100 });
        for (const chunk of chunks) reader.push(chunk);
        const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        expect(problems).toBeLessThanOrEqual(1);
        expect(delivered).toBeLessThanOrEqual(total);
        if (mode !== 2 && problems === 0) expect(total - delivered).toBeLessThan(20);
        expect(reader.held).toBe(0);
      }),
      { numRuns: 3000 },
    );
  });
});
