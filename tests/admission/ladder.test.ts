import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Gates } from "../../core/contracts/gates.ts";
import { Meter } from "../../core/contracts/meter.ts";
import { Peers } from "../../core/contracts/peers.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import type { Execution, Hooks, Permit, Token } from "../../core/plugin.ts";
import { admission } from "../../plugins/admission/plugin.ts";
import { FakeExchange } from "./fake_exchange.ts";
import { FakeMeter } from "./fake_meter.ts";
import { VirtualClock } from "./virtual_clock.ts";

const php: Execution = { lane: "php", run: () => new Response() };

async function start(config: unknown, size = 1, trusted: readonly string[] = []) {
  const clock = new VirtualClock();
  const plugin = admission(clock, () => 0.5, () => 1_800_000_000_000 + clock.time);
  const parsed = plugin.config["~standard"].validate(config) as { value?: unknown; issues?: unknown };
  if (parsed.issues !== undefined) throw new Error(JSON.stringify(parsed.issues));
  const meter = new FakeMeter();
  const env: Record<string, string> = {};
  const services = new Map<string, unknown>([
    [Meter.id, meter],
    [Peers.id, { empty: trusted.length === 0, trusts: (address: string) => trusted.includes(address) }],
    [ScriptSettings.id, { add: (_: string, added: { env: Record<string, string> }) => Object.assign(env, added.env) }],
  ]);
  const hooks = await plugin.setup({
    name: "admission",
    config: parsed.value,
    baseDir: "/",
    log() {},
    use: () => undefined,
    find: (token: Token<unknown>) => services.get(token.id),
    provide: (token: Token<unknown>, service: unknown) => void services.set(token.id, service),
  } as never) as Partial<Hooks>;
  const gates = services.get(Gates.id) as Gates;
  const gate = gates.open("php", size);
  const seen: Seen[] = [];
  const visit = (headers: Record<string, string> = {}, change: Partial<FakeExchange> = {}): Seen => {
    const x = Object.assign(new FakeExchange(clock.time + 60_000, headers, clock.time), change);
    const one: Seen = { x, verdict: undefined };
    seen.push(one);
    const found = hooks.onAdmit!(x.exchange, php);
    if (found instanceof Promise) void found.then((verdict) => one.verdict = verdict);
    else one.verdict = found ?? "free";
    return one;
  };
  /** Ends it, and lets what follows happen. */
  const end = async (one: Seen) => {
    (one.verdict as Permit).release();
    await settled();
  };
  return { clock, gates, gate, meter, env, hooks, visit, end };
}

interface Seen {
  readonly x: FakeExchange;
  verdict: Permit | Response | void | "free";
}

const settled = () => new Promise<void>((done) => setTimeout(done, 0));
const statusOf = (one: Seen) => (one.verdict as Response)?.status;
const isIn = (one: Seen) => typeof (one.verdict as Permit)?.release === "function";

describe("rules", () => {
  test("exempt requests never wait and take no permit, whatever is full", async () => {
    const { visit, gate, meter } = await start({ max_queue: 0, rules: [{ path: "/health", exempt: true }] });
    expect(isIn(visit())).toBe(true);
    expect(statusOf(visit())).toBe(503);
    expect(visit({}, { path: "/health" }).verdict).toBe("free");
    expect(gate.used).toBe(1);
    expect(meter.counts.get("fairlead_admission_total{php,critical,exempt}")).toBe(1);
  });

  test("heavy requests take their weight, and give it back once; more than there are is all there are", async () => {
    const { visit, end, gate } = await start({ rules: [{ path: "/r", weight: 3 }, { path: "/all", weight: 99 }] }, 4);
    const heavy = visit({}, { path: "/r" });
    expect(gate.used).toBe(3);
    const light = visit(), waits = visit({}, { path: "/all" });
    expect([gate.used, gate.queued]).toEqual([4, 1]);
    await end(light);
    await end(heavy);
    expect([isIn(waits), gate.used]).toEqual([true, 4]);
    (heavy.verdict as Permit).release();
    expect(gate.used).toBe(4);
    await end(waits);
    expect(gate.used).toBe(0);
  });

  test("a full line gives the place of the lowest class to a higher one", async () => {
    const { visit, end, gate, meter } = await start({
      max_queue: 1,
      rules: [{ path: "/up", class: "critical_plus" }, { path: "/low", class: "sheddable" }],
    });
    const first = visit();
    const low = visit({}, { path: "/low" });
    const up = visit({}, { path: "/up" });
    await settled();
    expect([statusOf(low), gate.queued]).toEqual([503, 1]);
    expect(meter.counts.get("fairlead_admission_total{php,sheddable,shed_evicted}")).toBe(1);
    await end(first);
    expect(isIn(up)).toBe(true);
    expect(meter.counts.get("fairlead_admission_total{php,critical_plus,queued}")).toBe(1);
    expect(up.x.extra.map(([name]) => name)).toEqual(["server-timing"]);
  });

  test("hints lower a class", async () => {
    const { visit, meter } = await start({ hints: true }, 2);
    visit({ "sec-purpose": "prefetch" });
    visit({ priority: "u=5" });
    expect(meter.counts.get("fairlead_admission_total{php,sheddable,immediate}")).toBe(1);
    expect(meter.counts.get("fairlead_admission_total{php,sheddable_plus,immediate}")).toBe(1);
  });

  test("a key above its cap is 429, and its permits count until they come back", async () => {
    const { visit, end, gate, meter } = await start({ key: "header:X-T", key_limit: 1 }, 4);
    const first = visit({ "x-t": "a" });
    expect(statusOf(visit({ "x-t": "a" }))).toBe(429);
    expect(isIn(visit({ "x-t": "b" }))).toBe(true);
    expect(isIn(visit())).toBe(true);
    expect(isIn(visit())).toBe(true);
    expect(meter.counts.get("fairlead_admission_total{php,critical,key_cap}")).toBe(1);
    await end(first);
    expect(isIn(visit({ "x-t": "a" }))).toBe(true);
    expect(gate.used).toBe(4);
  });

  test("keys take turns", async () => {
    const { visit, end } = await start({ key: "client" });
    const at = (address: string) => visit({}, { client: { address, port: 1 } });
    const first = at("203.0.113.1");
    const hog = [at("203.0.113.1"), at("203.0.113.1"), at("203.0.113.1")];
    const other = at("203.0.113.2");
    await end(first);
    if (isIn(hog[0]!)) await end(hog[0]!);
    expect([isIn(other), isIn(hog[1]!)]).toEqual([true, false]);
  });
});

describe("deadlines", () => {
  const forward = async (trusted: readonly string[], config: unknown, headers: Record<string, string>) => {
    const { hooks } = await start(config, 1, trusted);
    const x = new FakeExchange(60_000, headers);
    const passed = new Response();
    const answer = hooks.onRequest === undefined
      ? passed
      : await (hooks.onRequest as unknown as { handler: Hooks["onRequest"] }).handler(x.exchange, () => passed);
    return { deadline: x.deadline, status: answer === passed ? undefined : answer.status };
  };
  const headers = { "x-request-deadline": "250ms" };

  test("of trusted proxies, or everybody's, come forward and never go back", async () => {
    expect((await forward(["203.0.113.9"], {}, headers)).deadline).toBe(250);
    expect((await forward(["203.0.113.8"], {}, headers)).deadline).toBe(60_000);
    expect((await forward([], {}, headers)).deadline).toBe(60_000);
    expect((await forward([], { deadlines: "all" }, headers)).deadline).toBe(250);
    expect((await forward(["203.0.113.9"], { deadlines: "off" }, headers)).deadline).toBe(60_000);
    expect((await forward(["203.0.113.9"], {}, { "x-request-deadline": "2m" })).deadline).toBe(60_000);
    expect(await forward(["203.0.113.9"], {}, { "x-request-deadline": "1799999999" })).toEqual({
      deadline: -1000,
      status: 504,
    });
  });

  test("of anybody end his own wait", async () => {
    for (const config of [{}, { rules: [{ path: "/x", weight: 1 }] }]) {
      const { visit, clock, gate } = await start(config);
      visit();
      const hurried = visit({ "x-envoy-expected-rq-timeout-ms": "40" });
      const patient = visit();
      clock.advance(40);
      await settled();
      expect([statusOf(hurried), patient.verdict, gate.queued]).toEqual([504, undefined, 1]);
    }
  });

  test("that would pass in line are refused at once", async () => {
    const { visit, end, clock } = await start({});
    let running = visit();
    const line = Array.from({ length: 20 }, () => visit());
    for (let i = 0; i < 10; i++) {
      clock.advance(100);
      await end(running);
      running = line[i]!;
    }
    const hopeless = visit({ "x-request-deadline": "200ms" });
    expect(statusOf(hopeless)).toBe(503);
    expect(visit({ "x-request-deadline": "30s" }).verdict).toBe(undefined);
  });
});

describe("serialize", () => {
  const cookie = (value: string) => ({ cookie: `a=1; S=${value}` });

  test("lets one request of a session run at a time; who waits holds no permit and no place at the gate", async () => {
    const { visit, end, gate, meter } = await start({ serialize: "cookie:S" }, 3);
    const first = visit(cookie("x"));
    const others = [visit(cookie("x")), visit(cookie("x"))];
    const stranger = visit(cookie("y")), nobody = visit();
    expect([gate.used, gate.queued]).toEqual([3, 0]);
    expect([first, stranger, nobody].every(isIn)).toBe(true);
    expect(meter.read("fairlead_admission_sessions_queued", "")).toBe(undefined);
    await end(first);
    expect([isIn(others[0]!), isIn(others[1]!)]).toEqual([true, false]);
    await end(others[0]!);
    expect(isIn(others[1]!)).toBe(true);
    await end(others[1]!);
    expect(gate.used).toBe(2);
  });

  test("leaves no trace of who left, at every point", async () => {
    const { visit, end, gate, clock } = await start({ serialize: "cookie:S" }, 1);
    const first = visit(cookie("x"));
    const inSession = visit(cookie("x")), after = visit(cookie("x"));
    const atGate = visit(cookie("y")), behind = visit(cookie("y"));
    inSession.x.leave();
    atGate.x.leave();
    await settled();
    expect([statusOf(inSession), statusOf(atGate), gate.queued]).toEqual([499, 499, 1]);
    after.x.gone = true;
    clock.advance(100);
    await end(first);
    expect(isIn(behind)).toBe(true);
    await end(behind);
    expect([statusOf(after), gate.used, gate.queued]).toEqual([499, 0, 0]);
    expect(isIn(visit(cookie("x")))).toBe(true);
  });

  test("is bounded in number and time, the wait at the gate included", async () => {
    const { visit, end, gate, clock } = await start(
      { serialize: "cookie:S", max_queue: 2, key_queue: 1, grace: "1s" },
      1,
    );
    const first = visit(cookie("x"));
    const second = visit(cookie("x"));
    expect(statusOf(visit(cookie("x")))).toBe(429);
    clock.advance(900);
    await end(first);
    expect(isIn(second)).toBe(true);
    const third = visit(cookie("x"));
    const blocked = visit(cookie("z"));
    clock.advance(600);
    await end(second);
    expect([isIn(blocked), third.verdict, gate.queued]).toEqual([true, undefined, 1]);
    clock.advance(400);
    await settled();
    expect([statusOf(third), gate.queued]).toEqual([503, 0]);
    await end(blocked);
    expect(isIn(visit(cookie("x")))).toBe(true);
  });

  test("a drain turns away who waits for his session", async () => {
    const { visit, end, hooks } = await start({ serialize: "cookie:S" }, 2);
    const first = visit(cookie("x")), second = visit(cookie("x"));
    const drained = hooks.onDrain!(new AbortController().signal);
    await settled();
    expect(statusOf(second)).toBe(503);
    expect(statusOf(visit(cookie("y")))).toBe(503);
    await end(first);
    await drained;
  });
});

describe("reserve", () => {
  const self = (word: string | undefined, session = "x") => ({ "x-fairlead-self": word!, cookie: `S=${session}` });
  const loopback = { peer: { address: "127.0.0.1", port: 1 } };

  test("an application that calls itself from every worker goes on", async () => {
    const { visit, end, env, gate } = await start({ reserve: 1, serialize: "cookie:S" }, 3);
    const word = env["FAIRLEAD_SELF"];
    const outer = [visit({ cookie: "S=x" }), visit({ cookie: "S=y" })], waits = visit();
    expect([outer.every(isIn), isIn(waits), gate.used, gate.limit]).toEqual([true, false, 2, 3]);
    const calls = [visit(self(word, "x"), loopback), visit(self(word, "y"), loopback)];
    expect([calls.map(isIn), gate.used]).toEqual([[true, false], 3]);
    await end(calls[0]!);
    expect(isIn(calls[1]!)).toBe(true);
    await end(calls[1]!);
    await end(outer[0]!);
    expect(isIn(waits)).toBe(true);
    for (const one of [outer[1]!, waits]) await end(one);
    expect(gate.used).toBe(0);
  });

  test("is not for those who only say so", async () => {
    const { visit, env } = await start({ reserve: 1 }, 2);
    const word = env["FAIRLEAD_SELF"]!;
    expect(isIn(visit())).toBe(true);
    expect(isIn(visit(self(word), { peer: { address: "203.0.113.9", port: 1 } }))).toBe(false);
    expect(isIn(visit(self(`${word.slice(0, -1)}!`), loopback))).toBe(false);
    expect(isIn(visit(self(""), loopback))).toBe(false);
    expect(isIn(visit(self(word), loopback))).toBe(true);
  });

  test("keeps at least one permit for others, and follows the pool's size", async () => {
    const { gates, visit, meter } = await start({ reserve: 5 }, 1);
    expect(isIn(visit())).toBe(true);
    expect(meter.read("fairlead_admission_limit", "php")).toBe(1);
    expect(gates.open("php", 4).limit).toBe(4);
    expect(["php", "php/self"].map((name) => meter.read("fairlead_admission_limit", name))).toEqual([1, 3]);
    gates.find("php")!.resize(8);
    expect(["php", "php/self"].map((name) => meter.read("fairlead_admission_limit", name))).toEqual([3, 5]);
    expect(gates.open("db", 2, { drains: false }).limit).toBe(2);
    expect(meter.read("fairlead_admission_limit", "db")).toBe(2);
  });
});

test("whatever happens, permits, keys and sessions all come back", async () => {
  const step = fc.record({
    do: fc.constantFrom("come", "come", "come", "end", "end", "leave", "wait", "size"),
    n: fc.nat(40),
    path: fc.constantFrom("/", "/heavy", "/low", "/up"),
    session: fc.constantFrom("a", "b", ""),
    tenant: fc.constantFrom("s", "t", ""),
    self: fc.boolean(),
    hurry: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60, size: "max" }),
      fc.constantFrom("off", "on"),
      async (steps, adaptive) => {
        const { visit, gate, gates, clock, env, meter } = await start({
          ...{
            serialize: "cookie:S",
            reserve: 1,
            key: "header:X-T",
            key_limit: 2,
            key_queue: 3,
            max_queue: 6,
            grace: "500ms",
          },
          ...{ adaptive, codel: true, threshold: true },
          rules: [
            { path: "/heavy", weight: 3 },
            { path: "/low", class: "sheddable" },
            { path: "/up", class: "critical_plus" },
          ],
        }, 4);
        let seen: Seen[] = [];
        for (const now of steps) {
          if (now.do === "come") {
            const headers = {
              cookie: `S=${now.session}`,
              "x-t": now.tenant,
              ...(now.self ? { "x-fairlead-self": env["FAIRLEAD_SELF"]! } : {}),
              ...(now.hurry ? { "x-request-deadline": `${1 + now.n * 5}ms` } : {}),
            };
            seen.push(visit(headers, { path: now.path, peer: { address: "127.0.0.1", port: 1 } }));
          } else if (now.do === "wait") clock.advance(now.n * 5);
          else if (now.do === "size") gates.open("php", 1 + now.n % 5);
          else {
            const some = seen.filter((one) => now.do === "end" ? isIn(one) : one.verdict === undefined);
            const one = some[now.n % Math.max(1, some.length)];
            if (one !== undefined && now.do === "leave") one.x.leave();
            else if (one !== undefined) (one.verdict as Permit).release();
            seen = seen.filter((other) => other !== one || now.do === "leave");
          }
          for (let i = 0; i < 4; i++) await Promise.resolve();
          expect(gate.queued).toBeLessThanOrEqual(12);
        }
        clock.advance(60_000);
        for (let round = 0; round < 100; round++) {
          for (let i = 0; i < 4; i++) await Promise.resolve();
          const left = seen.filter(isIn);
          if (left.length === 0) break;
          seen = seen.filter((one) => !isIn(one));
          for (const one of left) {
            (one.verdict as Permit).release();
            (one.verdict as Permit).release();
          }
        }
        expect(seen.filter((one) => one.verdict === undefined)).toEqual([]);
        expect([gate.used, gate.queued]).toEqual([0, 0]);
        expect(meter.read("fairlead_admission_keys", "php")).toBe(0);
        const free = ["a", "b"].map((session) => visit({ cookie: `S=${session}` }));
        expect(free.filter(isIn).length).toBe(Math.min(2, gates.find("php")!.limit - (gate.limit > 1 ? 1 : 0)));
      },
    ),
    { numRuns: 60 },
  );
});

describe("the adaptive limit", () => {
  const load = async (adaptive: "shadow" | "on") => {
    const server = await start({ adaptive, max_queue: 1000, grace: 0 }, 32);
    const { hooks, visit, clock, gate } = server;
    // Two at a time go at full speed, the others share.
    let running: { readonly one: Seen; readonly ends: number }[] = [];
    const serve = (until: number, demand: number) => {
      while (clock.time < until) {
        while (running.length < demand) {
          const one = visit();
          if (!isIn(one)) break;
          const ms = 40 * Math.max(1, (running.length + 1) / 2) * (0.9 + 0.2 * ((running.length * 7) % 10) / 10);
          running.push({ one, ends: clock.time + ms });
        }
        const next = running.reduce((a, b) => a.ends <= b.ends ? a : b);
        clock.advance(Math.max(0, next.ends - clock.time));
        running = running.filter((item) => item !== next);
        (next.one.verdict as Permit).release();
        hooks.onResponse!(next.one.x.exchange, { status: 200, ms: 1, bytes: 1, error: undefined });
      }
    };
    serve(10_000, 1);
    serve(120_000, 64);
    return { ...server, limit: gate.limit };
  };

  test("in the shadow is told only", async () => {
    const { limit, meter } = await load("shadow");
    expect(limit).toBe(32);
    expect(meter.read("fairlead_admission_adaptive_limit", "php")!).toBeLessThan(10);
    expect(meter.read("fairlead_admission_baseline_seconds", "php")!).toBeCloseTo(0.04, 2);
  });

  test("on holds permits back that would only wait", async () => {
    const { meter } = await load("on");
    expect(meter.read("fairlead_admission_limit", "php")!).toBeLessThan(20);
    expect(meter.read("fairlead_admission_adaptive_limit", "php")!).toBeLessThan(20);
  });
});
