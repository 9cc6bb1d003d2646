import { afterAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { connect } from "../../../plugins/dbproxy/net/connect.ts";
import { listen } from "../../../plugins/dbproxy/net/listen.ts";
import type { ByteSocket } from "../../../plugins/dbproxy/net/socket.ts";
import {
  startTlsClient,
  startTlsServer,
  type TlsClientOptions,
  tlsServerContext,
} from "../../../plugins/dbproxy/net/tls.ts";
import { makeCertificates } from "../../support/certificates.ts";
import { everyBytes, pair } from "../../support/pair.ts";
import { allowSlowTests, turns, waitFor, within } from "../../support/wait.ts";
import { Inbox, utf8 } from "./inbox.ts";

allowSlowTests(60_000);

const dir = mkdtempSync(join(tmpdir(), "fairlead-tls-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const files = makeCertificates(dir);
const pem = (path: string) => readFileSync(path, "utf8");
const [ca, cert, key] = [pem(files.ca), pem(files.cert), pem(files.key)];
const context = tlsServerContext({ cert, key });
const elsewhere = tlsServerContext({ cert: pem(files.otherNameCert), key: pem(files.otherNameKey) });
const timeoutMs = 5000;

/** Both ends of a plain connection over TCP. */
async function plain(): Promise<[client: ByteSocket, server: ByteSocket]> {
  const { promise, resolve } = Promise.withResolvers<ByteSocket>();
  const listening = await listen({ kind: "tcp", host: "127.0.0.1", port: 0 }, {}, resolve);
  const client = await connect(listening.place, { timeoutMs });
  const server = await promise;
  await listening.close();
  return [client, server];
}

/** As the server of a protocol does: reads the request of 36 bytes and gives on what was read past it. */
function requested(server: ByteSocket, use = context): Promise<ByteSocket> {
  return new Promise((resolve, reject) => {
    let got = new Uint8Array();
    server.handler = {
      onData(chunk) {
        got = Uint8Array.of(...got, ...chunk);
        if (got.length < 36) return;
        startTlsServer(server, got.subarray(36), use, { timeoutMs }).then(resolve, reject);
      },
      onDrain() {},
      onClose: () => reject(new Error("closed before the request")),
    };
  });
}

async function outcome(work: Promise<ByteSocket>): Promise<string> {
  try {
    const socket = await work;
    socket.destroy();
    return "ok";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Runs a handshake and tells how it went for the client. */
async function handshake(options: Omit<TlsClientOptions, "timeoutMs">, use = context): Promise<string> {
  const [client, server] = await plain();
  const served = outcome(requested(server, use));
  client.write(new Uint8Array(36));
  const result = await outcome(startTlsClient(client, { ...options, timeoutMs }));
  await served;
  return result;
}

describe("TLS", () => {
  const links: Readonly<Record<string, () => Promise<[ByteSocket, ByteSocket]>>> = {
    "over TCP": plain,
    "in memory": async () => pair(),
    "in memory, cut small": async () => pair({ chunking: everyBytes(11) }),
  };
  for (const [name, link] of Object.entries(links)) {
    test(`carries bytes both ways ${name}, the hello right behind the request`, async () => {
      const [client, server] = await link();
      const serving = requested(server);
      // Both in one turn: they arrive as one chunk where the link does not cut.
      client.write(new Uint8Array(36));
      const a = await startTlsClient(client, { mode: "required", timeoutMs });
      const b = await serving;
      expect([a.encrypted, a.secure, b.encrypted, b.secure]).toEqual([true, true, true, true]);
      expect(b.remoteAddress).toBe(server.remoteAddress);
      const [inA, inB] = [new Inbox(a), new Inbox(b)];
      const size = name.endsWith("small") ? 3000 : 3_000_000;
      a.write(utf8("hello"));
      a.write(new Uint8Array(size));
      b.write(utf8("welcome"));
      await inB.read(5 + size);
      await inA.read(7);
      expect([inA.text, inB.length, inB.text.slice(0, 5)]).toEqual(["welcome", 5 + size, "hello"]);
      a.end();
      await inB.until(() => inB.end !== undefined);
      await inA.until(() => inA.end !== undefined);
      expect([inA.end, inB.end]).toEqual([null, null]);
    });
  }

  test("stops the writer where the reader stops, and drains", async () => {
    const [client, server] = await plain();
    const serving = requested(server);
    client.write(new Uint8Array(36));
    const a = await startTlsClient(client, { mode: "required", timeoutMs });
    const b = await serving;
    const [inA, inB] = [new Inbox(a), new Inbox(b)];
    b.pause();
    let full = 0;
    for (let i = 0; i < 200; i++) if (!a.write(new Uint8Array(100_000))) full++;
    await turns(50);
    // How much of it waits in TLS itself, where it is not counted, is the runtime's affair: it may say that there is room again.
    expect(full).toBeGreaterThan(0);
    expect(inB.length).toBeLessThan(5_000_000);
    b.resume();
    await inB.read(20_000_000);
    await inA.until(() => inA.drains > 0);
    expect(a.pending).toBe(0);
    a.destroy();
    await inB.until(() => inB.end !== undefined);
  });

  test("tells a writer each time that it may go on", async () => {
    const [client, server] = await plain();
    const tlsServer = requested(server);
    client.write(new Uint8Array(36));
    const writer = await startTlsClient(client, { mode: "required", timeoutMs });
    const reader = await tlsServer;
    const total = 48 * 1024 * 1024;
    let [sent, got, stalls] = [0, 0, 0];
    const { promise, resolve } = Promise.withResolvers<void>();
    reader.handler = {
      onData(chunk) {
        got += chunk.length;
        if (got === total) resolve();
        // A reader that is not always ready.
        if (++stalls % 7 !== 0) return;
        reader.pause();
        setTimeout(() => reader.resume(), stalls % 3);
      },
      onDrain() {},
      onClose: () => resolve(),
    };
    // Pieces as they come from a socket.
    const pieces = [1, 65_536, 16_384, 131_072, 333_333, 7];
    let turn = 0;
    const go = () => {
      while (sent < total) {
        const piece = Math.min(pieces[turn++ % pieces.length]!, total - sent);
        sent += piece;
        if (!writer.write(new Uint8Array(piece))) return;
      }
    };
    writer.handler = { onData() {}, onDrain: go, onClose() {} };
    go();
    await within(20_000, "the transfer", promise).catch(() => {});
    expect([sent, got]).toEqual([total, total]);
    writer.destroy();
    reader.destroy();
  });

  test("verifies exactly what its mode says", async () => {
    const servername = "localhost";
    const otherCa = pem(files.otherCa);
    expect(await handshake({ mode: "preferred" })).toBe("ok");
    expect(await handshake({ mode: "required" })).toBe("ok");
    expect(await handshake({ mode: "required", ca, servername }, elsewhere)).toBe("ok");
    expect(await handshake({ mode: "verify_ca", ca })).toBe("ok");
    expect(await handshake({ mode: "verify_ca", ca, servername }, elsewhere)).toBe("ok");
    expect(await handshake({ mode: "verify_ca", ca: otherCa })).toBe("DB_TLS");
    expect(await handshake({ mode: "verify_ca" })).toBe("DB_TLS");
    expect(await handshake({ mode: "verify_identity", ca, servername })).toBe("ok");
    expect(await handshake({ mode: "verify_identity", ca, servername: "127.0.0.1" })).toBe("ok");
    expect(await handshake({ mode: "verify_identity", ca, servername: "127.0.0.2" })).toBe("DB_TLS");
    expect(await handshake({ mode: "verify_identity", ca, servername }, elsewhere)).toBe("DB_TLS");
    expect(await handshake({ mode: "verify_identity", ca: otherCa, servername })).toBe("DB_TLS");
    expect(await handshake({ mode: "verify_identity", ca })).toBe("DB_TLS");
  });

  test("asks clients for a certificate when it has an authority", async () => {
    const mutual = tlsServerContext({ cert, key, ca });
    const served = async (options: Partial<TlsClientOptions>) => {
      const [client, server] = await plain();
      const serving = outcome(requested(server, mutual));
      client.write(new Uint8Array(36));
      // With TLS 1.3 the client believes it is through before the server has looked.
      const reached = startTlsClient(client, { mode: "required", timeoutMs, ...options }).catch(() => undefined);
      const result = await serving;
      (await reached)?.destroy();
      return result;
    };
    expect(await served({ cert, key })).toBe("ok");
    expect(await served({})).toBe("DB_TLS");
    const stranger = makeCertificates(mkdtempSync(join(dir, "stranger-")));
    expect(await served({ cert: pem(stranger.cert), key: pem(stranger.key) })).toBe("DB_TLS");
  });

  test("refuses plain text sent ahead of the handshake", async () => {
    for (const ahead of ["\x03\x00\x00\x00\x03SELECT 1", "x".repeat(600), "\x16\x03\x01\x00\x05hello", "\x00"]) {
      const [client, server] = await plain();
      const serving = outcome(requested(server));
      client.write(new Uint8Array(36));
      client.write(utf8(ahead));
      const reached = outcome(startTlsClient(client, { mode: "required", timeoutMs }));
      expect(await serving).toBe("DB_TLS");
      expect(await reached).toBe("DB_TLS");
    }
  });

  test("gives up a handshake that does not come, or breaks off", async () => {
    const [client, server] = await plain();
    new Inbox(client);
    expect(await outcome(startTlsServer(server, new Uint8Array(), context, { timeoutMs: 50 }))).toBe("DB_TLS");
    const [left, right] = await plain();
    new Inbox(left);
    const serving = outcome(startTlsServer(right, utf8("\x16"), context, { timeoutMs }));
    left.destroy();
    expect(await serving).toBe("DB_TLS");
    const [a, b] = await plain();
    new Inbox(b);
    expect(await outcome(startTlsClient(a, { mode: "required", timeoutMs: 50 }))).toBe("DB_TLS");
  });

  test("says what is wrong with a certificate", () => {
    const code = (work: () => unknown) => {
      try {
        work();
        return "none";
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect(code(() => tlsServerContext({ cert: "no PEM", key }))).toBe("DB_TLS_INVALID");
    expect(code(() => tlsServerContext({ cert, key: pem(files.otherNameKey) }))).toBe("DB_TLS_INVALID");
  });

  test("leaves no descriptor behind", async () => {
    const open = () => execFileSync("sh", ["-c", `ls -l /proc/${process.pid}/fd | grep -c socket || true`]).toString();
    await handshake({ mode: "required" });
    await turns();
    const before = Number(open());
    for (let i = 0; i < 10; i++) {
      await handshake({ mode: "required" });
      await handshake({ mode: "verify_identity", ca, servername: "wrong" });
    }
    await waitFor(() => Number(open()) < before + 4, { what: `descriptors to be closed, to about ${before}` });
  });
});
