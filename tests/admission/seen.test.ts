/**
 * What an operator sees: who waits, and who was turned away.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { Hono } from "hono";
import { Gates } from "../../core/contracts/gates.ts";
import type { Hooks, Token } from "../../core/plugin.ts";
import { admission } from "../../plugins/admission/plugin.ts";
import { RefusalLog } from "../../plugins/admission/refusal_log.ts";
import { VirtualClock } from "./virtual_clock.ts";

type Line = Readonly<Record<string, unknown>>;

async function start(config: unknown) {
  const clock = new VirtualClock();
  const plugin = admission(clock, () => 0.5);
  const parsed = plugin.config["~standard"].validate(config) as { value: never };
  const services = new Map<string, unknown>();
  const lines: Line[] = [];
  const hooks = await plugin.setup({
    name: "admission",
    config: parsed.value,
    baseDir: "/",
    log: (level: string, message: string, fields: object) => lines.push({ level, message, ...fields }),
    use: () => undefined,
    find: (token: Token<unknown>) => services.get(token.id),
    provide: (token: Token<unknown>, service: unknown) => void services.set(token.id, service),
  } as never) as Pick<Hooks, "onAdmin" | "onClose">;
  const app = new Hono();
  hooks.onAdmin(app);
  const get = async (path = "/-/admission") => {
    const response = await app.request(path);
    // deno-lint-ignore no-explicit-any -- an answer is looked at in every place
    return { status: response.status, body: await response.json() as Record<string, any> };
  };
  return { clock, lines, gates: services.get(Gates.id) as Gates, get, close: () => hooks.onClose!() };
}

const waiter = (fields: object = {}) => ({ ...fields, onGrant() {}, onRefuse() {} });

describe("who waits", () => {
  test("is listed by gate in order of arrival, with class, key, weight and time", async () => {
    const { clock, gates, get } = await start({ key: "host", rules: [{ path: "/low", class: "sheddable" }] });
    const gate = gates.open("php", 2);
    gates.open("db", 5, { drains: false });
    gate.tryEnter(2);
    gate.enter(waiter({ criticality: "sheddable", key: "b" }));
    clock.advance(30);
    gate.enter(waiter({ criticality: "critical", key: "a", weight: 2 }));
    clock.advance(12);
    gate.enter(waiter());
    const php = {
      ...{ name: "php", limit: 2, in_use: 2, queued: 3, overloaded: false, oldest_wait_ms: 42 },
      waiting: [
        { class: "sheddable", key: "b", weight: 1, waited_ms: 42 },
        { class: "critical", key: "a", weight: 2, waited_ms: 12 },
        { class: "critical", weight: 1, waited_ms: 0 },
      ],
      not_shown: 0,
    };
    const db = {
      ...{
        name: "db",
        limit: 5,
        in_use: 0,
        queued: 0,
        overloaded: false,
        oldest_wait_ms: 0,
        waiting: [],
        not_shown: 0,
      },
    };
    expect(await get()).toEqual({ status: 200, body: { gates: [php, db] } });
    expect(await get("/-/admission?gate=php")).toEqual({ status: 200, body: { gates: [php] } });
    expect((await get("/-/admission?gate=other")).status).toBe(404);
    gate.leave(2);
    expect((await get("/-/admission?gate=php")).body.gates[0]).toMatchObject({ in_use: 2, queued: 2 });
  });

  test("is not told by what a client has sent: a cookie or a header may be what lets it in", async () => {
    const { gates, get } = await start({ key: "cookie:PHPSESSID" });
    const gate = gates.open("php", 1);
    gate.tryEnter();
    for (const key of ["c:0123456789abcdef", "c:0123456789abcdef", "h:Bearer secret", "a:203.0.113.7"]) {
      gate.enter(waiter({ key }));
    }
    const { body } = await get();
    const keys = (body.gates[0].waiting as { key: string }[]).map(({ key }) => key);
    // The start of their SHA-256, so that who knows one can look for it.
    expect(keys).toEqual(["c:#9f9f5111f7b2", "c:#9f9f5111f7b2", "h:#bffde2041334", "a:203.0.113.7"]);
  });

  test("is listed up to a hundred, the rest is counted, and sessions are where they are told apart", async () => {
    const { gates, get } = await start({ serialize: "cookie:S" });
    const gate = gates.open("php", 1);
    gate.tryEnter();
    for (let i = 0; i < 130; i++) gate.enter(waiter());
    const { body } = await get();
    expect([body.gates[0].waiting.length, body.gates[0].not_shown, body.gates[0].queued]).toEqual([100, 30, 130]);
    expect(body.sessions).toEqual({ active: 0, queued: 0 });
  });
});

describe("who was turned away", () => {
  const told = (gate: string, reason: string, refused: number) => (
    { level: "warn", message: "Turned work away", gate, reason, refused }
  );

  test("is one line at once, then one a second with a count, by gate and reason, until there is nothing to tell", async () => {
    const { clock, lines, gates } = await start({ max_queue: 1, grace: "100ms", predict: false });
    const php = gates.open("php", 1), other = gates.open("other", 1);
    for (const gate of [php, other]) {
      gate.tryEnter();
      gate.enter(waiter());
      for (let i = 0; i < 1000; i++) expect(gate.enter(waiter())).toBe("full");
    }
    expect(lines).toEqual([told("php", "full", 1), told("other", "full", 1)]);
    clock.advance(100);
    expect(lines.slice(2)).toEqual([told("php", "grace", 1), told("other", "grace", 1)]);
    clock.advance(900);
    expect(lines.slice(4)).toEqual([told("php", "full", 999), told("other", "full", 999)]);
    clock.advance(10_000);
    expect(lines.length).toBe(6);
    php.enter(waiter());
    php.enter(waiter());
    expect(lines.slice(6)).toEqual([told("php", "full", 1)]);
  });

  test("is not told of those who leave by themselves, and what is left is told at the end", async () => {
    const { lines, gates, close } = await start({ max_queue: 2 });
    const gate = gates.open("php", 1);
    gate.tryEnter();
    const leaving = waiter();
    gate.enter(leaving);
    gate.cancel(leaving);
    expect(lines).toEqual([]);
    for (let i = 0; i < 5; i++) gate.enter(waiter());
    await close();
    const php = lines.filter((line) => line["reason"] === "full").map((line) => line["refused"]);
    expect(php).toEqual([1, 2]);
    // Those in line when it closed.
    expect(lines.filter((line) => line["reason"] === "draining").map((line) => line["refused"])).toEqual([1, 1]);
  });

  test("is told of gates of newcomers that take another's place, too", async () => {
    const { lines, gates } = await start({ max_queue: 1, rules: [{ path: "/low", class: "sheddable" }] });
    const gate = gates.open("php", 1);
    gate.tryEnter();
    gate.enter(waiter({ criticality: "sheddable" }));
    expect(gate.enter(waiter({ criticality: "critical" }))).toBe("queued");
    expect(lines).toEqual([told("php", "evicted", 1)]);
  });

  test("keeps no timer when nothing is refused", () => {
    const clock = new VirtualClock();
    const lines: unknown[] = [];
    const log = new RefusalLog((...line) => void lines.push(line), clock);
    const refused = log.of("php");
    refused("full");
    clock.advance(1000);
    clock.advance(1000);
    refused("full");
    log.close();
    clock.advance(1000);
    expect(lines.length).toBe(2);
  });
});
