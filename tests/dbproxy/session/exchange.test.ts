import { expect, test } from "bun:test";
import type { Backend } from "../../../plugins/dbproxy/backend/backend.ts";
import { Exchange } from "../../../plugins/dbproxy/session/exchange.ts";
import type { Stopped } from "../../../plugins/dbproxy/session/guard.ts";
import { Running } from "../../../plugins/dbproxy/session/running.ts";
import type { Session } from "../../../plugins/dbproxy/session/session.ts";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";

const command = Uint8Array.of(1, 0, 0, 0, COM.QUERY);
const refusal: Stopped = { granted: false, bulkhead: "a", reason: "full", limit: 1, waitedMs: 0 };

/** A session that gets its connection, and its permit, when the test says so. */
function world(ask: (end: (stopped: Stopped | undefined) => void) => Stopped | "waits" | undefined) {
  const log: string[] = [];
  const running = new Running();
  let ready: ((backend: Backend, steps: readonly never[]) => void) | undefined;
  const now = { ms: 0 };
  const session = {
    host: { now: () => now.ms },
    track: { schema: undefined },
    capabilities: 0,
    backend: undefined as unknown,
    reader: { hold: () => log.push("hold") },
    flow: () => log.push("flow"),
    relay: { begin() {}, active: true },
    hold: { use() {}, take: (_fresh: boolean, then: typeof ready) => void (ready = then) },
    guard: { ask, leave() {}, waiting: false },
    answer: () => log.push("answer"),
    fail: () => log.push("fail"),
  };
  const backend = { send: () => (log.push("send"), true) } as unknown as Backend;
  const exchange = new Exchange(session as unknown as Session, running);
  running.begin(COM.QUERY, true);
  return {
    log,
    running,
    now,
    exchange,
    lend: () => ready!(backend, []),
    asks: () => ready !== undefined,
    session,
    backend,
  };
}

test("a statement's time begins when it goes to the server: neither its wait for a permit counts nor that for a connection", () => {
  let end!: (stopped: Stopped | undefined) => void;
  const { exchange, running, now, lend, asks, log } = world((then) => (end = then, "waits"));
  exchange.forward(command, undefined);
  expect([log, asks()]).toEqual([["hold"], false]);
  now.ms = 300;
  end(undefined);
  // It goes on waiting, now for a connection.
  expect([log, asks()]).toEqual([["hold", "hold"], true]);
  now.ms = 500;
  lend();
  expect([log.slice(2), running.started]).toEqual([["send", "flow"], 500]);
});

test("what has a connection is sent, and more is read, when its permit comes", () => {
  let end!: (stopped: Stopped | undefined) => void;
  const { exchange, session, backend, log } = world((then) => (end = then, "waits"));
  session.backend = backend;
  exchange.forward(command, undefined);
  end(undefined);
  expect(log).toEqual(["hold", "send", "flow"]);
});

test("what is refused and has come in part is read to its end, unless that is in another frame", () => {
  const part = world(() => refusal);
  part.running.whole = false;
  part.exchange.forward(Uint8Array.of(0, 0, 2, 0, COM.QUERY), undefined);
  expect([part.exchange.stopped, part.log]).toEqual([true, []]);
  part.exchange.onMore(new Uint8Array(9), false);
  expect(part.log).toEqual([]);
  part.exchange.onMore(new Uint8Array(9), true);
  expect([part.exchange.stopped, part.log]).toEqual([false, ["answer"]]);

  const frames = world(() => refusal);
  frames.running.whole = false;
  frames.exchange.forward(Uint8Array.of(255, 255, 255, 0, COM.QUERY), undefined);
  expect(frames.log).toEqual(["fail"]);
});
