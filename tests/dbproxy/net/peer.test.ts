import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { connect } from "../../../plugins/dbproxy/net/connect.ts";
import { listen } from "../../../plugins/dbproxy/net/listen.ts";
import { type PeerSystem, tcpPeer, unixPeer } from "../../../plugins/dbproxy/net/peer.ts";
import type { ByteSocket, Place } from "../../../plugins/dbproxy/net/socket.ts";
import { startTlsClient, startTlsServer, tlsServerContext } from "../../../plugins/dbproxy/net/tls.ts";
import { compressed } from "../../../plugins/dbproxy/wire/compressed.ts";
import { makeCertificates } from "../../support/certificates.ts";
import { pair } from "../../support/pair.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(30_000);

/** Lines as Linux on a little-endian machine writes them. */
const row = (local: string, remote: string, inode: number, state = "01") =>
  `   7: ${local} ${remote} ${state} 00000000:00000000 02:000AE2C3 00000000    33        0 ${inode} 2 00000000a 20 4 30 10 -1\n`;
const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

function fake(
  files: Readonly<Record<string, string>>,
  folders: Readonly<Record<string, readonly string[]>>,
): PeerSystem & { readonly asked: string[] } {
  const asked: string[] = [];
  const at = <T>(all: Readonly<Record<string, T>>, path: string): T => {
    asked.push(path);
    if (!Object.hasOwn(all, path)) throw new Error(`ENOENT: ${path}`);
    return all[path]!;
  };
  return { asked, credentials: () => undefined, read: (path) => at(files, path), links: (path) => at(folders, path) };
}

const ends = { remoteAddress: "127.0.0.1", remotePort: 0xbeef, localAddress: "127.0.0.1", localPort: 3306 };
const folders = {
  "/proc/10/fd": ["/dev/null", "socket:[4]", "socket:[77]"],
  "/proc/12/fd": ["pipe:[7]", "socket:[7]"],
};

describe("the process at the other end of TCP", () => {
  const answer = (tcp: string, pids: readonly number[], at: Parameters<typeof tcpPeer>[0] = ends, tcp6 = "") =>
    tcpPeer(at, pids, fake({ "/proc/self/net/tcp": head + tcp, "/proc/self/net/tcp6": head + tcp6 }, folders));
  const ours = row("0100007F:0CEA", "0100007F:BEEF", 8);
  const theirs = row("0100007F:BEEF", "0100007F:0CEA", 7);

  test("is the candidate that holds the client's socket, not ours", () => {
    expect(answer(ours + theirs, [10, 11, 12])).toBe(12);
    expect(answer(theirs + ours, [12])).toBe(12);
    expect(answer(ours + theirs, [10, 11])).toBeUndefined();
    expect(answer(ours, [10, 12])).toBeUndefined();
  });

  test("is not taken for another by its ports alone", () => {
    expect(answer(row("0200007F:BEEF", "0100007F:0CEA", 7), [12])).toBeUndefined();
    expect(answer(row("0100007F:BEEF", "0200007F:0CEA", 7), [12])).toBeUndefined();
    expect(answer(row("0200007F:BEEF", "0100007F:0CEA", 4) + theirs, [10, 12])).toBe(12);
    expect(answer(row("0100007F:BEEF", "0100007F:0CEA", 0, "06") + theirs, [12])).toBe(12);
  });

  test("is found over IPv6, and over IPv4 written as IPv6 on either side", () => {
    const one = "00000000000000000000000001000000", mapped = "0000000000000000FFFF00000100007F";
    const six = { ...ends, remoteAddress: "::1", localAddress: "0:0:0:0:0:0:0:1" };
    expect(answer("", [12], six, row(`${one}:BEEF`, `${one}:0CEA`, 7))).toBe(12);
    expect(answer("", [12], six, row(`${mapped}:BEEF`, `${mapped}:0CEA`, 7))).toBeUndefined();
    expect(answer("", [12], ends, row(`${mapped}:BEEF`, `${mapped}:0CEA`, 7))).toBe(12);
    const asSix = { ...ends, remoteAddress: "::ffff:127.0.0.1", localAddress: "::ffff:127.0.0.1" };
    expect(answer(theirs, [12], asSix)).toBe(12);
    const far = { ...ends, remoteAddress: "2001:db8::a:1", localAddress: "2001:db8::a:1" };
    const words = "B80D0120" + "00000000" + "00000000" + "01000A00";
    expect(answer("", [12], far, row(`${words}:BEEF`, `${words}:0CEA`, 7))).toBe(12);
  });

  test("is looked for nowhere when nobody can be it, and is unknown where nothing can be read", () => {
    const from = fake({}, {});
    expect(tcpPeer(ends, [], from)).toBeUndefined();
    expect(from.asked).toEqual([]);
    expect(tcpPeer(ends, [12], from)).toBeUndefined();
    expect(tcpPeer({}, [12], from)).toBeUndefined();
    expect(tcpPeer({ ...ends, remoteAddress: "fe80::1%eth0" }, [12], from)).toBeUndefined();
  });
});

test("the process at the other end of a unix socket is what the kernel says, if it says anything", () => {
  const from = (credentials: PeerSystem["credentials"]): PeerSystem => ({ ...fake({}, {}), credentials });
  expect(unixPeer(9, from((fd) => fd * 100))).toBe(900);
  expect(unixPeer(9, from(() => 0))).toBeUndefined();
  expect(unixPeer(9, from(() => undefined))).toBeUndefined();
  expect(unixPeer(-1, from(() => 900))).toBeUndefined();
  expect(unixPeer(undefined, from(() => 900))).toBeUndefined();
  const failing = from(() => {
    throw new Error("no such call");
  });
  expect(unixPeer(9, failing)).toBeUndefined();
});

describe("a real connection", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-peer-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  let sockets = 0;

  /** Runs `look` on the server's side of a connection of this process to itself. */
  async function on(place: Place, look: (server: ByteSocket, client: ByteSocket) => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<ByteSocket>();
    const listening = await listen(place, {}, resolve);
    const client = await connect(listening.place, { timeoutMs: 5000 });
    const server = await promise;
    try {
      await look(server, client);
    } finally {
      client.destroy();
      server.destroy();
      await listening.close();
    }
  }
  const places: Readonly<Record<string, () => Place>> = {
    unix: () => ({ kind: "unix", path: join(dir, `s${sockets++}`) }),
    tcp: () => ({ kind: "tcp", host: "127.0.0.1", port: 0 }),
    "tcp over IPv6": () => ({ kind: "tcp", host: "::1", port: 0 }),
  };

  for (const [name, place] of Object.entries(places)) {
    test(`${name}: the process is told, plain, compressed and within TLS`, async () => {
      await on(place(), async (server) => {
        if (name !== "unix") {
          expect(server.peerPid!([])).toBeUndefined();
          expect(server.peerPid!([1])).toBeUndefined();
        }
        expect(server.peerPid!([1, process.pid])).toBe(process.pid);
        // Once it is known nothing is looked up any more.
        expect(server.peerPid!([])).toBe(process.pid);
      });
      await on(place(), async (server) => {
        expect(compressed(server, "zlib").peerPid!([process.pid])).toBe(process.pid);
      });
      await on(place(), async (server, client) => {
        const files = makeCertificates(dir);
        const [cert, key] = [readFileSync(files.cert, "utf8"), readFileSync(files.key, "utf8")];
        const options = { timeoutMs: 5000 };
        const [secured] = await Promise.all([
          startTlsServer(server, new Uint8Array(), tlsServerContext({ cert, key }), options),
          startTlsClient(client, { mode: "required", ...options }),
        ]);
        expect(secured.peerPid!([process.pid])).toBe(process.pid);
      });
    });
  }

  test("unix: the process is told while the peer has just left, and not made up once the socket is closed", async () => {
    await on(places.unix!(), async (server, client) => {
      const { promise, resolve } = Promise.withResolvers<number | undefined>();
      server.handler = { onData() {}, onDrain() {}, onClose: () => resolve(server.peerPid!([])) };
      client.end();
      expect(await promise).toBe(process.pid);
    });
    await on(places.unix!(), async (server) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.handler = { onData() {}, onDrain() {}, onClose: () => setTimeout(resolve, 20) };
      server.destroy();
      await promise;
      expect(server.peerPid!([process.pid])).toBeUndefined();
    });
  });

  test("memory: nobody is told", () => {
    expect(pair()[0].peerPid!([process.pid])).toBeUndefined();
  });
});
