import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { deflateSync } from "node:zlib";
import { CoreError } from "../../../core/error.ts";
import type { ByteSocket, SocketHandler } from "../../../plugins/dbproxy/net/socket.ts";
import { compressed, zstdSupported } from "../../../plugins/dbproxy/wire/compressed.ts";
import { bytes, cut, cuts, hex, same, singles } from "./support.ts";

/** A socket whose peer is the test. */
class Plug implements ByteSocket {
  readonly remoteAddress = "";
  readonly encrypted = false;
  readonly secure = true;
  readonly pending = 0;
  handler: SocketHandler = new Log();
  readonly sent: Uint8Array[] = [];
  paused = false;
  destroyed = false;

  write(bytes: Uint8Array): boolean {
    this.sent.push(bytes);
    return true;
  }

  flushed(): boolean {
    return true;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {}

  destroy(): void {
    this.destroyed = true;
    this.handler.onClose(undefined);
  }

  /** All that was sent, and forgets it. */
  take(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.sent.splice(0)));
  }
}

class Log implements SocketHandler {
  readonly data: Uint8Array[] = [];
  readonly closes: (string | undefined)[] = [];
  then: () => void = () => {};

  onData(chunk: Uint8Array): void {
    this.data.push(chunk);
    this.then();
  }

  onDrain(): void {}

  onClose(error: Error | undefined): void {
    this.closes.push(error instanceof CoreError ? error.code : error?.message);
  }

  get bytes(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.data));
  }
}

function pair(method: "zlib" | "zstd", level?: number) {
  const near = new Plug(), far = new Plug();
  const seen = new Log(), answered = new Log();
  const server = compressed(near, method, level), client = compressed(far, method, level, "client");
  server.handler = seen;
  client.handler = answered;
  return { near, far, server, client, seen, answered };
}

const outer = (seq: number, payload: Uint8Array): Uint8Array =>
  new Uint8Array([payload.length & 255, payload.length >> 8, 0, seq, 0, 0, 0, ...payload]);

describe("the compressed protocol", () => {
  test("both runtimes have zstd", () => {
    expect(zstdSupported).toBe(true);
  });

  test("short payloads go as they are, longer ones deflated", () => {
    const { near, server } = pair("zlib");
    server.write(hex("01 00 00 01 00"));
    expect(near.take()).toEqual(hex("05 00 00 00 00 00 00 01 00 00 01 00"));
    server.write(new Uint8Array(49));
    expect(near.take().subarray(0, 7)).toEqual(hex("31 00 00 01 00 00 00"));
    server.write(new Uint8Array(50));
    const packet = near.take();
    expect(packet.subarray(3, 7)).toEqual(hex("02 32 00 00"));
    expect(same(packet.subarray(7), new Uint8Array(deflateSync(new Uint8Array(50))))).toBe(true);
    const noise = new Uint8Array(64).map((_, i) => i * 167 & 255);
    server.write(noise);
    expect(near.take()).toEqual(new Uint8Array([64, 0, 0, 3, 0, 0, 0, ...noise]));
  });

  test("numbers are shared by both sides and start anew with a command", () => {
    const { near, far, server, client, seen, answered } = pair("zlib");
    const numbers: number[][] = [];
    for (let i = 0; i < 2; i++) {
      client.restart();
      client.write(hex("01 00 00 00 0e"));
      const request = far.take();
      near.handler.onData(request);
      server.write(hex("01"));
      server.write(hex("02"));
      server.restart();
      const replies = near.sent.splice(0);
      numbers.push([request[3]!, ...replies.map((reply) => reply[3]!)]);
      for (const reply of replies) far.handler.onData(reply);
    }
    expect(numbers).toEqual([[0, 1, 2], [0, 1, 2]]);
    expect([seen.bytes.length, answered.bytes.length]).toEqual([10, 4]);
  });

  test("a command that comes early waits for the reply before it", () => {
    const { near, server, seen } = pair("zlib");
    near.handler.onData(outer(0, hex("01")));
    near.handler.onData(outer(1, hex("02")));
    server.write(hex("aa"));
    near.handler.onData(outer(0, hex("03")));
    server.write(hex("bb"));
    expect(near.sent.map((packet) => packet[3])).toEqual([2, 3]);
    expect(seen.bytes).toEqual(hex("01 02"));
    server.restart();
    server.write(hex("cc"));
    expect(seen.bytes).toEqual(hex("01 02 03"));
    expect(near.sent.at(-1)![3]).toBe(1);
    // Commands without a reply.
    server.restart();
    near.handler.onData(outer(0, hex("04")));
    server.restart();
    near.handler.onData(outer(0, hex("05")));
    expect(seen.bytes).toEqual(hex("01 02 03 04 05"));
  });

  test("too much held back pauses the reading until it is wanted", () => {
    const { near, server, seen } = pair("zlib");
    near.handler.onData(outer(0, hex("01")));
    for (let i = 0; i < 6; i++) near.handler.onData(outer(i, new Uint8Array(60000)));
    // The first continues nothing: number 0 where 1 was due.
    expect([near.paused, seen.bytes.length]).toEqual([true, 1]);
    server.resume();
    expect(near.paused).toBe(true);
    server.restart();
    expect([near.paused, seen.bytes.length]).toEqual([false, 360001]);
  });

  test("nothing is unpacked while paused", () => {
    const { near, server, seen } = pair("zlib");
    seen.then = () => server.pause();
    near.handler.onData(new Uint8Array([...outer(0, hex("01")), ...outer(1, hex("02")), ...outer(2, hex("03"))]));
    expect([seen.bytes.length, near.paused]).toEqual([1, true]);
    server.resume();
    expect([seen.bytes.length, near.paused]).toEqual([2, true]);
    seen.then = () => {};
    server.resume();
    expect([seen.bytes.length, near.paused]).toEqual([3, false]);
  });

  for (const method of ["zlib", "zstd"] as const) {
    test(`${method}: what is written comes out, in any chunking and in both directions`, () => {
      const piece = fc.oneof(
        bytes(60),
        fc.tuple(bytes(20, 1), fc.integer({ min: 1, max: 3000 })).map(([b, n]) =>
          new Uint8Array(b.length * n).map((_, i) => b[i % b.length]!)
        ),
      );
      fc.assert(
        fc.property(fc.array(piece, { maxLength: 6 }), cuts, fc.boolean(), (pieces, points, upwards) => {
          const { near, far, server, client, seen, answered } = pair(method, 1);
          const [from, wire, to, log] = upwards
            ? [client, far, near, seen] as const
            : [server, near, far, answered] as const;
          for (const piece of pieces) from.write(piece);
          for (const chunk of cut(wire.take(), points)) to.handler.onData(chunk);
          expect(log.closes).toEqual([]);
          expect(same(log.bytes, new Uint8Array(Buffer.concat(pieces)))).toBe(true);
        }),
        { numRuns: 40 },
      );
    });

    test(`${method}: over 16 MiB in one write, and byte by byte`, () => {
      const { near, far, client, seen } = pair(method, 1);
      const large = new Uint8Array(0xffffff + 3);
      large.fill(7, 0xffff00);
      client.write(large);
      expect(far.sent.length).toBe(2);
      expect(far.sent[0]!.subarray(3, 7)).toEqual(hex("00 ff ff ff"));
      for (const packet of far.sent.splice(0)) for (const byte of singles(packet)) near.handler.onData(byte);
      expect(same(seen.bytes, large)).toBe(true);
    });

    test(`${method}: a packet that is not what it announced ends the connection, once`, () => {
      const { far, client } = pair(method);
      client.write(new Uint8Array(100000));
      const good = far.take();
      const wrong = (change: (packet: Uint8Array) => void) => {
        const packet = good.slice();
        change(packet);
        return packet;
      };
      const bad = [
        wrong((p) => p[4] = p[4]! - 1),
        wrong((p) => p[4] = p[4]! + 1),
        wrong((p) => p[6] = 0),
        wrong((p) => p[7] = p[7]! ^ 0xff),
        wrong((p) => p.fill(0x55, 12)),
      ];
      for (const packet of bad) {
        const { near, seen } = pair(method);
        near.handler.onData(packet);
        near.handler.onData(packet);
        expect([seen.closes, seen.data.length, near.destroyed]).toEqual([["DB_PROTOCOL"], 0, true]);
      }
    });
  }

  test("a number that is not due ends the connection", () => {
    const { near, far, seen, answered } = pair("zlib");
    near.handler.onData(outer(1, hex("01")));
    far.handler.onData(outer(3, hex("01")));
    expect([seen.closes, answered.closes]).toEqual([["DB_SEQUENCE"], ["DB_SEQUENCE"]]);
  });
});
