import { afterAll, describe, expect, test } from "bun:test";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../../../plugins/dbproxy/net/connect.ts";
import { listen, type Listening, type ListenOptions } from "../../../plugins/dbproxy/net/listen.ts";
import type { ByteSocket, Place } from "../../../plugins/dbproxy/net/socket.ts";
import { pair } from "../../support/pair.ts";
import { allowSlowTests, turns, within } from "../../support/wait.ts";
import { Inbox, utf8 } from "./inbox.ts";

allowSlowTests(60_000);

const dir = mkdtempSync(join(tmpdir(), "fairlead-net-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const loopback: Place = { kind: "tcp", host: "127.0.0.1", port: 0 };
let sockets = 0;
const unixPlace = (): Place => ({ kind: "unix", path: join(dir, `s${sockets++}`) });
const timeoutMs = 5000;

interface Both {
  readonly client: ByteSocket;
  readonly server: ByteSocket;
  readonly listening: Listening;
}

/** Both ends of one connection; the listener is closed by then. */
async function both(place: Place, options: ListenOptions = {}): Promise<Both> {
  const { promise, resolve } = Promise.withResolvers<ByteSocket>();
  const listening = await listen(place, options, resolve);
  const client = await connect(listening.place, { timeoutMs });
  const server = await promise;
  return { client, server, listening };
}

async function memory(): Promise<Both> {
  const [client, server] = pair();
  return { client, server, listening: { place: loopback, close: async () => {} } };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

const kinds: Readonly<Record<string, () => Promise<Both>>> = {
  tcp: () => both(loopback),
  unix: () => both(unixPlace()),
  memory,
};

test("what is written now is sent before the write returns, behind what waited", async () => {
  const sent: string[] = [];
  const [client, server] = pair({
    chunking: (bytes) => {
      sent.push(new TextDecoder().decode(bytes));
      return [bytes.slice()];
    },
  });
  const inbox = new Inbox(server);
  client.write(utf8("one "));
  expect(sent).toEqual([]);
  client.write(utf8("two "), true);
  expect(sent).toEqual(["one two "]);
  client.write(utf8("three "), true);
  client.write(utf8("four"));
  expect(sent).toEqual(["one two ", "three "]);
  await inbox.read(18);
  expect([inbox.text, sent.length]).toEqual(["one two three four", 3]);
  client.destroy();
});

test("what is written now and not taken holds the writer up until it is", async () => {
  const { client, server, listening } = await both(loopback);
  server.pause();
  let drains = 0;
  const inbox = new Inbox(server);
  client.handler = { onData() {}, onDrain: () => drains++, onClose() {} };
  const chunk = new Uint8Array(65_536);
  let written = 0;
  do written += chunk.length; while (client.write(chunk, true) && written < 64 * 1_048_576);
  expect([written < 64 * 1_048_576, drains]).toEqual([true, 0]);
  server.resume();
  await inbox.read(written);
  await within(
    timeoutMs,
    "the drain",
    (async () => {
      while (drains === 0) await turns();
    })(),
  );
  client.destroy();
  await listening.close();
});

for (const [kind, open] of Object.entries(kinds)) {
  describe(`a ${kind} connection`, () => {
    test("carries bytes both ways, in order, and closes once on both sides", async () => {
      const { client, server, listening } = await open();
      const [a, b] = [new Inbox(client), new Inbox(server)];
      client.write(utf8("one "));
      client.write(utf8("two "));
      await b.read(8);
      server.write(utf8("three"));
      await a.read(5);
      client.write(utf8("last"));
      client.end();
      await b.until(() => b.end !== undefined);
      await a.until(() => a.end !== undefined);
      expect([a.text, b.text]).toEqual(["three", "one two last"]);
      expect([a.end, b.end, a.closes, b.closes]).toEqual([null, null, 1, 1]);
      await listening.close();
    });

    test("keeps what came before the first handler, and hands it on in order", async () => {
      const { client, server, listening } = await open();
      const a = new Inbox(client);
      client.write(utf8("early, "));
      await turns();
      client.write(utf8("before, "));
      await turns();
      const b = new Inbox(server);
      client.write(utf8("after"));
      await b.read(20);
      expect(b.text).toBe("early, before, after");
      client.destroy();
      await b.until(() => b.end !== undefined);
      await a.until(() => a.end !== undefined);
      await listening.close();
    });

    test("tells a handler that comes late that it is closed, after the bytes", async () => {
      const { client, server, listening } = await open();
      client.write(utf8("bye"));
      client.end();
      await turns();
      const b = new Inbox(server);
      await b.until(() => b.end !== undefined);
      expect([b.text, b.closes]).toEqual(["bye", 1]);
      client.destroy();
      await listening.close();
    });

    test("hands every chunk to the handler of that moment", async () => {
      const { client, server, listening } = await open();
      let second: Inbox | undefined;
      server.handler = { onData: () => second = new Inbox(server), onDrain() {}, onClose() {} };
      client.write(utf8("x"));
      await turns();
      client.write(utf8("y"));
      await turns();
      await second!.read(1);
      expect(second!.text).toBe("y");
      client.destroy();
      await second!.until(() => second!.end !== undefined);
      await listening.close();
    });

    test("says that it is full, stops where the reader stops, and drains", async () => {
      const { client, server, listening } = await open();
      const a = new Inbox(client);
      const b = new Inbox(server);
      server.pause();
      // More than the system's buffers hold on both sides.
      const part = new Uint8Array(200_000).map((_, i) => i * 7);
      const parts = 150;
      let wrote = 0;
      let full = 0;
      for (; wrote < parts; wrote++) if (!client.write(part)) full++;
      expect(full).toBeGreaterThan(0);
      await turns(50);
      const before = b.length;
      expect(client.pending).toBeGreaterThan(262_144);
      await turns(50);
      expect([b.length, a.drains]).toEqual([before, 0]);
      server.resume();
      await b.read(parts * part.length);
      await a.until(() => a.drains > 0);
      expect([b.length, client.pending]).toEqual([parts * part.length, 0]);
      const all = b.bytes;
      for (let i = 0; i < parts; i += 37) {
        expect(all.subarray(i * part.length, (i + 1) * part.length).every((byte, j) => byte === part[j])).toBe(true);
      }
      client.destroy();
      await b.until(() => b.end !== undefined);
      await listening.close();
    });

    test("drains too when the system takes everything at once", async () => {
      const { client, server, listening } = await open();
      const [a, b] = [new Inbox(client), new Inbox(server)];
      expect(client.write(new Uint8Array(300_000))).toBe(false);
      await a.until(() => a.drains === 1);
      await b.read(300_000);
      client.destroy();
      await listening.close();
    });

    test("sends all that waits before its end", async () => {
      const { client, server, listening } = await open();
      const b = new Inbox(server);
      new Inbox(client);
      server.pause();
      client.write(new Uint8Array(12_000_000));
      client.end();
      await turns();
      server.resume();
      await b.until(() => b.end !== undefined);
      expect([b.length, b.end]).toEqual([12_000_000, null]);
      await listening.close();
    });

    test("does not lose a last packet to bytes it has not read", async () => {
      const { client, server, listening } = await open();
      const a = new Inbox(client);
      new Inbox(server);
      server.write(utf8("too many connections"));
      server.end();
      for (let i = 0; i < 5; i++) {
        client.write(utf8("a login nobody reads"));
        await turns(2);
      }
      await a.until(() => a.end !== undefined);
      expect([a.text, a.end]).toEqual(["too many connections", null]);
      await listening.close();
    });

    test("is closed by destroy, once, and takes no more", async () => {
      const { client, server, listening } = await open();
      const [a, b] = [new Inbox(client), new Inbox(server)];
      client.destroy();
      client.destroy();
      expect(a.closes).toBe(0);
      expect([client.write(utf8("x")), client.pending]).toEqual([true, 0]);
      client.end();
      client.pause();
      client.resume();
      await a.until(() => a.end !== undefined);
      await b.until(() => b.end !== undefined);
      await turns();
      expect([a.closes, b.closes, b.length]).toEqual([1, 1, 0]);
      await listening.close();
    });
  });
}

describe("connect", () => {
  test("tells a refused connection, a missing socket and an unknown name, with the place", async () => {
    const gone = await listen(loopback, {}, () => {});
    await gone.close();
    const path = join(dir, "missing");
    for (
      const [place, shown] of [
        [gone.place, `127.0.0.1:${(gone.place as { port: number }).port}: connection refused`],
        [{ kind: "unix", path }, `${path}: no such socket`],
        [{ kind: "tcp", host: "no-such-host.invalid", port: 3306 }, "no-such-host.invalid:3306: "],
      ] as [Place, string][]
    ) {
      const error = await connect(place, { timeoutMs }).catch((error) => error);
      expect(error.code).toBe("DB_CONNECT");
      expect(error.message).toContain(`Cannot connect to ${shown}`);
      expect(error.cause).toBeDefined();
    }
  });

  test("gives up after its time, and when it is told to", async () => {
    const hole = await blackHole();
    const late = await connect(hole.place, { timeoutMs: 100 }).catch((error) => error);
    expect([late.code, /no answer within \d+ ms/.test(late.message)]).toEqual(["DB_CONNECT", true]);
    const stop = new AbortController();
    const told = connect(hole.place, { timeoutMs: 60_000, signal: stop.signal }).catch((error) => error);
    stop.abort(new Error("the proxy closes"));
    expect((await told).message).toContain("the proxy closes");
    expect(await codeOf(connect(hole.place, { timeoutMs, signal: stop.signal }))).toBe("DB_CONNECT");
    hole.close();
  });

  test("tries every address of a name", async () => {
    // On most machines localhost is ::1 first, where nobody listens.
    const listening = await listen(loopback, {}, (socket) => socket.write(utf8("here")));
    const { port } = listening.place as { port: number };
    const client = await connect({ kind: "tcp", host: "localhost", port }, { timeoutMs });
    const a = new Inbox(client);
    await a.read(4);
    expect(a.text).toBe("here");
    client.destroy();
    await listening.close();
  });
});

describe("listen", () => {
  test("says what a peer's address is and whether it is secure", async () => {
    for (const [place, address, secure] of [[loopback, "127.0.0.1", false], [unixPlace(), "", true]] as const) {
      const { client, server, listening } = await both(place);
      expect([server.remoteAddress, server.secure, server.encrypted]).toEqual([address, secure, false]);
      expect([client.secure, client.encrypted]).toEqual([secure, false]);
      client.destroy();
      server.destroy();
      await listening.close();
    }
  });

  test("refuses an address that is taken, in the words of the HTTP listener", async () => {
    const first = await listen(loopback, {}, () => {});
    const error = await listen(first.place, {}, () => {}).catch((error) => error);
    expect(error.code).toBe("ADDRESS_TAKEN");
    expect(error.message).toContain("the address is in use");
    await first.close();
    const again = await listen(first.place, {}, () => {});
    await again.close();
  });

  test("replaces a socket that nobody serves, and no other", async () => {
    const place = unixPlace() as { kind: "unix"; path: string };
    const first = await listen(place, {}, () => {});
    expect(statSync(place.path).mode & 0o777).toBe(0o660);
    expect(await codeOf(listen(place, {}, () => {}))).toBe("ADDRESS_TAKEN");
    await first.close();
    expect(statSync(place.path, { throwIfNoEntry: false })).toBeUndefined();
    writeFileSync(place.path, "mine");
    expect(await codeOf(listen(place, {}, () => {}))).toBe("ADDRESS_TAKEN");
    rmSync(place.path);
    abandonedSocket(place.path);
    expect(statSync(place.path).isSocket()).toBe(true);
    const second = await listen(place, { mode: 0o600 }, () => {});
    expect(statSync(place.path).mode & 0o777).toBe(0o600);
    await second.close();
  });

  test("keeps its connections when it is closed", async () => {
    const { client, server, listening } = await both(loopback);
    const [a, b] = [new Inbox(client), new Inbox(server)];
    await listening.close();
    expect(await codeOf(connect(listening.place, { timeoutMs }))).toBe("DB_CONNECT");
    client.write(utf8("still"));
    await b.read(5);
    server.write(utf8("here"));
    await a.read(4);
    expect([a.text, b.text]).toEqual(["here", "still"]);
    client.destroy();
    await b.until(() => b.end !== undefined);
  });
});

/** A socket's name whose process is gone. */
function abandonedSocket(path: string): void {
  const program = "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un($ARGV[0])) or die $!";
  execFileSync("perl", ["-e", program, path]);
}

/** An address that never answers: a listener that accepts nothing, with its queue full. */
async function blackHole(): Promise<{ readonly place: Place; close(): void }> {
  const program = `
use Socket;
socket(my $s, AF_INET, SOCK_STREAM, 0);
bind($s, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die $!;
listen($s, 0);
my $name = getsockname($s);
my @held;
for (1 .. 4) {
  # Non-blocking, as a full queue does not answer.
  socket(my $c, AF_INET, SOCK_STREAM | 04000, 0);
  connect($c, $name);
  push @held, $c;
}
$| = 1;
print((unpack_sockaddr_in($name))[0], "\\n");
<STDIN>;
`;
  const child = spawn("perl", ["-e", program], { stdio: ["pipe", "pipe", "inherit"] });
  const port = await within(
    5000,
    "The black hole",
    new Promise<number>((resolve) => child.stdout.once("data", (text: Uint8Array) => resolve(parseInt(String(text))))),
  );
  return { place: { kind: "tcp", host: "127.0.0.1", port }, close: () => void child.kill() };
}

test("speaks with a server of node:net", async () => {
  const server = createServer((socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const client = await connect({ kind: "tcp", host: "127.0.0.1", port }, { timeoutMs });
  const a = new Inbox(client);
  client.write(utf8("echo"));
  await a.read(4);
  expect(a.text).toBe("echo");
  client.end();
  await a.until(() => a.end !== undefined);
  server.close();
});
