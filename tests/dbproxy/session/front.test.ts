import { expect, test } from "bun:test";
import { newNonce } from "../../../plugins/dbproxy/auth/nonce.ts";
import { Sha2Cache } from "../../../plugins/dbproxy/auth/server_dialogue.ts";
import type { Backend } from "../../../plugins/dbproxy/backend/backend.ts";
import { readFacts } from "../../../plugins/dbproxy/backend/facts.ts";
import type { CheckoutWaiter } from "../../../plugins/dbproxy/pool/options.ts";
import type { FrontOptions } from "../../../plugins/dbproxy/session/entrance.ts";
import { welcome } from "../../../plugins/dbproxy/session/front.ts";
import type { SessionHost } from "../../../plugins/dbproxy/session/host.ts";
import { Promises } from "../../../plugins/dbproxy/session/promises.ts";
import { SessionRegistry } from "../../../plugins/dbproxy/session/registry.ts";
import { SchemaMemory } from "../../../plugins/dbproxy/session/schemas.ts";
import { SettingsGraph } from "../../../plugins/dbproxy/state/graph.ts";
import { CAP } from "../../../plugins/dbproxy/wire/capabilities.ts";
import { Conversation } from "../../../plugins/dbproxy/wire/conversation.ts";
import { decodeErr } from "../../../plugins/dbproxy/wire/err.ts";
import { decodeGreeting } from "../../../plugins/dbproxy/wire/greeting.ts";
import { encodeLogin } from "../../../plugins/dbproxy/wire/login.ts";
import type { Greeting } from "../../../plugins/dbproxy/wire/packets.ts";
import { pair } from "../../support/pair.ts";
import { turns, waitFor } from "../../support/wait.ts";

const greeting: Greeting = {
  version: "9.0.0",
  threadId: 1,
  nonce: newNonce(),
  capabilities: 0xffffffff,
  extended: 0,
  charset: 255,
  status: 2,
  plugin: "caching_sha2_password",
};

/** A proxy whose backends come when the test says so. */
class World {
  readonly waiters: CheckoutWaiter<Backend>[] = [];
  readonly released: Backend[] = [];
  readonly discarded: Backend[] = [];
  readonly idle: Backend[] = [];
  readonly host: SessionHost;
  readonly cancelled: CheckoutWaiter<Backend>[] = [];
  refusal: Error | undefined;

  constructor() {
    const graph = new SettingsGraph();
    this.host = {
      facts: readFacts(greeting, []),
      graph: undefined,
      root: (charset: number) => graph.root(charset),
      sessions: new SessionRegistry(),
      schemas: new SchemaMemory(() => 0),
      promises: new Promises({
        idle: () => ({ backends: this.idle, room: true }),
        spare() {},
        reconsider() {},
        discard: (backend) => this.discarded.push(backend),
      }),
      now: () => 0,
      checkout: (_want: unknown, waiter: CheckoutWaiter<Backend>) => {
        this.waiters.push(waiter);
        return { cancel: () => void this.cancelled.push(waiter) };
      },
      release: (backend: Backend) => this.released.push(backend),
      discard: (backend: Backend) => this.discarded.push(backend),
      pinned() {},
      catalogueChanges() {},
    } as unknown as SessionHost;
  }

  backend(id: number): Backend {
    return {
      id,
      kind: "0/schema",
      promised: false,
      state: { settings: this.host.root(255), dirty: undefined, schema: "app", multiStatements: false, used: false },
      prepare: () => this.refusal === undefined ? Promise.resolve() : Promise.reject(this.refusal),
      lend() {},
      reclaim() {},
    } as unknown as Backend;
  }

  /** A client that has sent its login. */
  async client(database: string | undefined, relay?: FrontOptions["relay"]) {
    const [near, far] = pair();
    const welcomed = welcome(far, {
      host: this.host,
      auth: relay === undefined ? "trust" : "users",
      users: new Map(),
      cache: new Sha2Cache(),
      tls: undefined,
      tlsRequired: false,
      timeoutMs: 1000,
      meet: () => Promise.resolve(),
      relay,
      authFailed() {},
      turnedAway() {},
    });
    const talk = new Conversation(near);
    const greeted = decodeGreeting(await talk.read()) as Greeting;
    const schema = database === undefined ? 0 : CAP.CONNECT_WITH_DB;
    talk.write(encodeLogin({
      capabilities: CAP.PROTOCOL_41 | CAP.SECURE_CONNECTION | CAP.PLUGIN_AUTH | schema,
      extended: 0,
      maxPacket: 0,
      charset: 255,
      user: "app",
      auth: new Uint8Array(32),
      database,
      plugin: "caching_sha2_password",
      attributes: [],
      zstdLevel: 0,
    }));
    return { near, talk, greeted, welcomed };
  }

  async waiter(): Promise<CheckoutWaiter<Backend>> {
    return await waitFor(() => this.waiters.shift(), { what: "a checkout", every: 0 });
  }
}

test("a client that leaves while its schema is looked for leaves the line, and nothing behind", async () => {
  const world = new World();
  const { near, welcomed } = await world.client("app");
  const waiter = await world.waiter();
  near.destroy();
  await welcomed;
  expect([world.cancelled, world.released, world.host.sessions.size]).toEqual([[waiter], [], 0]);
});

test("a long command that comes while a backend is awaited is read to its end", async () => {
  const world = new World();
  const { near, talk } = await world.client(undefined);
  for (let i = 0; i < 2; i++) await talk.read();
  const length = 3_000_000;
  const command = new Uint8Array(4 + length).fill(0x20);
  command.set([length & 0xff, length >> 8 & 0xff, length >> 16, 0, 3]);
  for (let at = 0; at < command.length; at += 65_536) near.write(command.slice(at, at + 65_536));
  const waiter = await world.waiter();
  await turns();
  let sent = 0;
  const take = (bytes: Uint8Array) => {
    sent += bytes.length;
    return true;
  };
  const backend = world.backend(5) as { kind: string; state: object; send: unknown; write: unknown };
  backend.state = { ...backend.state, schema: undefined };
  backend.send = (_steps: unknown, frames: Uint8Array) => take(frames);
  backend.write = take;
  waiter.onBackend(backend as unknown as Backend, 0);
  await waitFor(() => sent >= command.length, { what: "the whole command", every: 0 });
  await turns();
  expect(sent).toBe(command.length);
});

test("the verdict on the password comes before the error of a missing schema", async () => {
  const world = new World();
  const { talk, welcomed } = await world.client("app");
  const { StepFailed } = await import("../../../plugins/dbproxy/backend/backend.ts");
  world.refusal = new StepFailed("no", { code: 1049, state: "42000", message: "Unknown database 'app'" });
  (await world.waiter()).onBackend(world.backend(5), 0);
  expect(await talk.read()).toEqual(Uint8Array.of(1, 3));
  expect(decodeErr(await talk.read())).toEqual({ code: 1049, state: "42000", message: "Unknown database 'app'" });
  await welcomed;
  expect([world.discarded.length, world.host.sessions.size]).toEqual([1, 0]);
});

test("a promise ends with a client that does not log in, or leaves", async () => {
  const world = new World();
  const { near, talk, welcomed } = await world.client(undefined);
  for (let i = 0; i < 2; i++) await talk.read();
  await welcomed;
  near.destroy();
  await waitFor(() => world.host.sessions.size === 0, { what: "the session's end", every: 0 });
  const backend = world.backend(77);
  (backend as { kind: string }).kind = "0";
  (backend as { state: object }).state = { ...backend.state, schema: undefined };
  world.idle.push(backend);
  const second = await world.client(undefined);
  expect(second.greeted.threadId).toBe(77);
  for (let i = 0; i < 2; i++) await second.talk.read();
  const third = await world.client(undefined);
  expect(third.greeted.threadId).toBeGreaterThan(0x3fffffff);
  for (const { near } of [second, third]) near.destroy();
  await waitFor(() => !backend.promised, { what: "the promise's end", every: 0 });
  // The other's end, too: its id was above all.
  await turns();
  // Another's turn, so that it may be promised again.
  const other = { ...backend, id: 70 } as Backend;
  world.idle.push(other);
  const between = await world.client(undefined);
  expect(between.greeted.threadId).toBe(70);
  between.near.destroy();
  await waitFor(() => !other.promised, { what: "the other promise's end", every: 0 });
  const fourth = await world.client(undefined, () => Promise.reject(new Error("no such user")));
  expect(fourth.greeted.threadId).toBe(77);
  await fourth.welcomed;
  expect(backend.promised).toBe(false);
});

test("a client that gets a connection of its own is not promised another", async () => {
  const world = new World();
  world.host.promises.saw({ kind: "0/schema", schema: "app" } as never);
  const promised = world.backend(77);
  world.idle.push(promised);
  const own = world.backend(78);
  const { greeted, talk, welcomed } = await world.client(
    "app",
    () => Promise.resolve({ host: world.host, backend: own }),
  );
  await talk.read();
  await welcomed;
  expect([greeted.threadId, world.discarded]).toEqual([77, [promised]]);
  // The id it was greeted with still means it.
  expect(world.host.sessions.find(77)).toBe(world.host.sessions.find(78)!);
});
