import { afterAll, describe, expect, test } from "bun:test";
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Held, OwnPlaces } from "../../../core/handover/places.ts";
import { type ListeningSockets, listeningSockets } from "../../../core/handover/listening_sockets.ts";
import { type Bound, listen } from "../../../core/http/listen.ts";
import { TrustedProxies } from "../../../core/http/proxies.ts";
import { freePort } from "../../support/ports.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-places-"));
afterAll(() => rmSync(folder, { recursive: true }));

const noSockets: ListeningSockets = { list: () => [], share() {}, steer: () => false, keepToOurselves() {} };

const intake = { proxies: new TrustedProxies([]), timeoutMs: 5000, maxBody: 1000, idleMs: 5000 };
const limits = {
  http2: false,
  intake,
  maxHeader: 10_000,
  keepAliveMs: 5000,
  headerMs: 5000,
  tls: undefined,
};

const named = (name: string) => new Response(name, { headers: { "content-length": `${name.length}` } });

/** A server that says its name. */
function serve(name: string, at: string | number, places: OwnPlaces): Promise<Bound> {
  const where = typeof at === "string"
    ? { kind: "unix", path: at } as const
    : { kind: "tcp", host: "127.0.0.1", port: at } as const;
  return listen({ ...limits, at: where, places, handle: () => named(name) });
}

/** Who answers, and how often. */
async function tally(at: string | number, count = 40): Promise<Record<string, number>> {
  const answers: Record<string, number> = {};
  await Promise.all(Array.from({ length: count }, async () => {
    const who = await ask(at);
    answers[who] = (answers[who] ?? 0) + 1;
  }));
  return answers;
}

function ask(at: string | number): Promise<string> {
  return new Promise((resolve) => {
    const socket = typeof at === "string" ? connect(at) : connect(at, "127.0.0.1");
    let text = "";
    socket.on("connect", () => socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    socket.on("data", (bytes: unknown) => text += new TextDecoder().decode(bytes as Uint8Array));
    socket.on("error", (error: { code?: string }) => resolve(String(error.code)));
    socket.on("close", () => resolve(text.split("\r\n\r\n")[1] || "nothing"));
  });
}

/** A port as both servers of this process see it: each finds the sockets of the other, too, as processes do not. */
const onLinux = listeningSockets() === undefined ? test.skip : test;

describe("a port", () => {
  onLinux("is taken by nobody else while nobody replaces its server", async () => {
    const port = await freePort();
    const first = await serve("first", port, new OwnPlaces());
    const held: Held = { ports: [port], paths: [] };
    for (const places of [new OwnPlaces(), new OwnPlaces(held)]) {
      expect((await serve("second", port, places).catch((error) => error)).code).toBe("ADDRESS_TAKEN");
    }
    await first.stop(true);
  });

  onLinux("goes over to the successor with its first connection, and back when that one fails", async () => {
    const port = await freePort(), places = new OwnPlaces();
    const first = await serve("first", port, places);
    const held = places.share()!;
    expect(held.ports).toContain(port);
    const second = await serve("second", port, new OwnPlaces(held));
    expect(await tally(port)).toEqual({ second: 40 });
    places.keep();
    expect(await tally(port)).toEqual({ first: 40 });
    await second.stop(true);
    expect(await tally(port)).toEqual({ first: 40 });
    const next = new OwnPlaces(places.share());
    const third = await serve("third", port, next);
    places.give();
    await first.stop(true);
    next.own();
    expect(await tally(port)).toEqual({ third: 40 });
    // Who shares the port without being a successor gets nothing of it.
    const intruder = await listen({
      ...limits,
      at: { kind: "tcp", host: "127.0.0.1", port },
      places: new OwnPlaces({ ports: [port], paths: [] }, () => undefined),
      handle: () => named("intruder"),
    });
    expect(await tally(port)).toEqual({ third: 40 });
    await intruder.stop(true);
    await third.stop(true);
  });
});

describe("a unix socket", () => {
  test("has its mode from the beginning, and no other name", async () => {
    const path = join(folder, "one.sock");
    const server = await serve("one", path, new OwnPlaces());
    expect([lstatSync(path).mode & 0o777, server.at]).toEqual([0o660, { kind: "unix", path }]);
    expect(readdirSync(folder)).toEqual(["one.sock"]);
    await server.stop(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is a successor's from the moment it listens, and the name stays when the first one leaves", async () => {
    const path = join(folder, "two.sock");
    const first = await serve("first", path, new OwnPlaces());
    const second = await serve("second", path, new OwnPlaces({ ports: [], paths: [path] }));
    expect(await tally(path)).toEqual({ second: 40 });
    await first.stop(true);
    expect(await tally(path)).toEqual({ second: 40 });
    await second.stop(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  onLinux("is had back when the successor has failed, however it ended", async () => {
    const path = join(folder, "three.sock"), places = new OwnPlaces();
    const first = await serve("first", path, places);
    const { ino } = lstatSync(path);
    places.share();
    const second = await serve("second", path, new OwnPlaces({ ports: [], paths: [path] }));
    places.keep();
    expect([lstatSync(path).ino, await tally(path)]).toEqual([ino, { first: 40 }]);
    await second.stop(true);
    places.share();
    places.keep();
    expect([readdirSync(folder), await tally(path)]).toEqual([["three.sock"], { first: 40 }]);
    await first.stop(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("whose name somebody else has by now is not a successor's to take", async () => {
    const path = join(folder, "six.sock"), other = join(folder, "seven.sock");
    const places = new OwnPlaces(undefined, () => noSockets);
    const first = await serve("first", path, places), second = await serve("second", other, places);
    rmSync(path);
    writeFileSync(path, "");
    expect(places.share()).toEqual({ ports: [], paths: [other] });
    places.give();
    await Promise.all([first.stop(true), second.stop(true)]);
    expect(readdirSync(folder)).toEqual(["six.sock"]);
    rmSync(path);
  });

  test("that is served, or a file, is an error for who replaces nobody", async () => {
    const path = join(folder, "four.sock");
    const first = await serve("first", path, new OwnPlaces());
    expect((await serve("second", path, new OwnPlaces()).catch((error) => error)).code).toBe("ADDRESS_TAKEN");
    await first.stop(true);
    writeFileSync(path, "");
    expect((await serve("second", path, new OwnPlaces()).catch((error) => error)).code).toBe("ADDRESS_TAKEN");
    rmSync(path);
  });

  test("whose mode cannot be set leaves nothing behind", async () => {
    const path = join(folder, "five.sock"), wrong = new Error("no such group");
    let stopped = 0;
    const open = (at: unknown) => {
      writeFileSync((at as { path: string }).path, "");
      return { stop: () => void stopped++ };
    };
    const error = await new OwnPlaces().take({ kind: "unix", path }, open, () => {
      throw wrong;
    }).catch((cause) => cause);
    expect([error.code, error.cause, stopped, readdirSync(folder)]).toEqual(["ADDRESS_FAILED", wrong, 1, []]);
  });
});

test("who listens elsewhere is told when all has passed on, and one that fails keeps nobody", async () => {
  const places = new OwnPlaces(), told: string[] = [];
  places.onPassed(() => Promise.reject(new Error("broken")));
  places.onPassed(() => void told.push("second"));
  await places.pass();
  expect(told).toEqual(["second"]);
});
