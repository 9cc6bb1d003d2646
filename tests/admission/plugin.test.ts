import { describe, expect, test } from "bun:test";
import { Gates } from "../../core/contracts/gates.ts";
import { Meter } from "../../core/contracts/meter.ts";
import type { AnyPlugin, Execution, Hooks, Permit, Token } from "../../core/plugin.ts";
import { admission } from "../../plugins/admission/plugin.ts";
import { FakeExchange } from "./fake_exchange.ts";
import { FakeMeter } from "./fake_meter.ts";
import { VirtualClock } from "./virtual_clock.ts";

const php: Execution = { lane: "php", run: () => new Response() };

function parse(plugin: AnyPlugin, config: unknown): unknown {
  const result = plugin.config["~standard"].validate(config) as { value?: unknown; issues?: unknown };
  return result.issues === undefined ? result.value : undefined;
}

async function start(config: unknown = {}, meter: FakeMeter | null = new FakeMeter()) {
  const clock = new VirtualClock();
  const plugin = admission(clock, () => 0.5);
  const services = new Map<string, unknown>([[Meter.id, meter ?? undefined]]);
  const hooks = await plugin.setup({
    name: "admission",
    config: parse(plugin, config),
    baseDir: "/",
    log() {},
    use: () => undefined,
    find: (token: Token<unknown>) => services.get(token.id),
    provide: (token: Token<unknown>, service: unknown) => void services.set(token.id, service),
  } as never);
  const gates = services.get(Gates.id) as Gates;
  const { onAdmit, onDrain, onClose } = hooks as Pick<Hooks, "onAdmit" | "onDrain" | "onClose">;
  const admit = (x: FakeExchange, execution = php) => onAdmit(x.exchange, execution);
  return { clock, gates, meter: meter as FakeMeter, admit, onDrain, onClose };
}

const isPermit = (verdict: unknown): verdict is Permit => typeof (verdict as Permit)?.release === "function";
const total = (meter: FakeMeter, outcome: string) =>
  meter.counts.get(`fairlead_admission_total{php,critical,${outcome}}`);
const never = () => new AbortController().signal;

describe("config", () => {
  test("has defaults, reads durations and refuses what it does not know", () => {
    const plugin = admission();
    const usual = {
      discipline: "fifo",
      max_queue: 1000,
      grace: 10_000,
      codel: false,
      threshold: false,
      predict: true,
      deadlines: "trusted",
      hints: false,
      key: { kind: "none" },
      key_limit: 0,
      key_queue: 0,
      fair: "count",
      shares: { critical_plus: 8, critical: 4, sheddable_plus: 2, sheddable: 1 },
      adaptive: "off",
      serialize: undefined,
      reserve: 0,
      rules: [],
    };
    expect(parse(plugin, {})).toEqual(usual);
    expect(parse(plugin, { discipline: "barge", max_queue: 0, grace: "250ms" })).toEqual({
      ...usual,
      discipline: "barge",
      max_queue: 0,
      grace: 250,
    });
    expect(parse(plugin, { grace: 0 })).toEqual({ ...usual, grace: 0 });
    expect(parse(plugin, { key: "header:X-T", key_limit: 1, rules: [{ path: "/a", class: "sheddable" }] })).toEqual({
      ...usual,
      key: { kind: "header", name: "x-t" },
      key_limit: 1,
      rules: [{ path: ["/a"], class: "sheddable" }],
    });
    for (
      const bad of [
        { grace: "soon" },
        { max_queue: -1 },
        { discipline: "lifo", grace: 0 },
        { queue: 1 },
        { key: "tenant" },
        { key_limit: 1 },
        {
          serialize: "client",
        },
        { rules: [{ class: "low" }] },
        { rules: [{ paths: "/" }] },
        { rules: [{ path: "api" }] },
        { shares: { vip: 1 } },
      ]
    ) {
      expect(parse(plugin, bad)).toBe(undefined);
    }
  });
});

describe("onAdmit", () => {
  test("lets everything into a lane without a gate", async () => {
    const { admit } = await start();
    expect(admit(new FakeExchange())).toBe(undefined);
  });

  test("lets in at once with one shared permit while there is room", async () => {
    const { admit, gates, meter } = await start();
    const gate = gates.open("php", 2);
    const [a, b] = [admit(new FakeExchange()), admit(new FakeExchange())];
    expect(isPermit(a)).toBe(true);
    expect(a).toBe(b);
    expect(gate.used).toBe(2);
    (a as Permit).release();
    (b as Permit).release();
    expect(gate.used).toBe(0);
    expect(total(meter, "immediate")).toBe(2);
    expect(meter.observed.get("fairlead_admission_wait_seconds{php,critical}")).toEqual([0, 0]);
  });

  test("makes the others wait in order, and says how long they did", async () => {
    const { admit, gates, meter, clock } = await start();
    gates.open("php", 1);
    const first = admit(new FakeExchange()) as Permit;
    const x = new FakeExchange();
    const second = admit(x);
    const third = admit(new FakeExchange());
    clock.advance(12.5);
    first.release();
    const permit = await second as Permit;
    expect(isPermit(permit)).toBe(true);
    expect(x.extra).toEqual([["server-timing", "adm;dur=12.5"]]);
    expect(x.leavers.size).toBe(0);
    expect(meter.read("fairlead_admission_queued", "php")).toBe(1);
    expect(meter.read("fairlead_admission_in_use", "php")).toBe(1);
    expect(meter.read("fairlead_admission_limit", "php")).toBe(1);
    expect(meter.read("fairlead_admission_oldest_wait_seconds", "php")).toBe(0.0125);
    permit.release();
    expect(isPermit(await third)).toBe(true);
    expect(total(meter, "queued")).toBe(2);
    expect(meter.observed.get("fairlead_admission_wait_seconds{php,critical}")).toEqual([0, 0.0125, 0.0125]);
  });

  test("turns away with 503 and Retry-After when the line is full", async () => {
    const { admit, gates, meter } = await start({ max_queue: 1 });
    gates.open("php", 1);
    admit(new FakeExchange());
    void admit(new FakeExchange());
    const response = admit(new FakeExchange()) as Response;
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(response.headers.has("connection")).toBe(false);
    expect((await response.text()).length).toBeLessThan(200);
    expect(total(meter, "shed_full")).toBe(1);
  });

  test("answers 503 when the grace window ends and 504 when the deadline comes first", async () => {
    const { admit, gates, meter, clock } = await start({ grace: "100ms" });
    const gate = gates.open("php", 1);
    admit(new FakeExchange());
    const grace = admit(new FakeExchange(1000));
    const deadline = admit(new FakeExchange(60));
    clock.advance(60);
    const late = await deadline as Response;
    expect([late.status, late.headers.has("retry-after")]).toEqual([504, false]);
    clock.advance(40);
    expect((await grace as Response).status).toBe(503);
    expect([gate.used, gate.queued]).toEqual([1, 0]);
    expect([total(meter, "deadline"), total(meter, "shed_grace")]).toEqual([1, 1]);
  });

  test("grace 0 turns away at once", async () => {
    const { admit, gates, meter } = await start({ grace: 0 });
    gates.open("php", 1);
    admit(new FakeExchange());
    expect((admit(new FakeExchange()) as Response).status).toBe(503);
    expect(total(meter, "shed_grace")).toBe(1);
  });

  test("a client that leaves while it waits is out of the line at once and never runs", async () => {
    const { admit, gates, meter } = await start();
    const gate = gates.open("php", 1);
    const first = admit(new FakeExchange()) as Permit;
    const x = new FakeExchange();
    const left = admit(x);
    const stays = admit(new FakeExchange());
    x.leave();
    expect(gate.queued).toBe(1);
    expect((await left as Response).status).toBe(499);
    first.release();
    expect(isPermit(await stays)).toBe(true);
    expect(gate.used).toBe(1);
    expect(total(meter, "cancelled")).toBe(1);
  });

  test("a client whose leaving was not heard of yet is not let in when its turn comes", async () => {
    const { admit, gates, meter, clock } = await start();
    const gate = gates.open("php", 1);
    const first = admit(new FakeExchange()) as Permit;
    const x = new FakeExchange();
    const left = admit(x), stays = admit(new FakeExchange());
    x.gone = true;
    clock.advance(51);
    first.release();
    expect((await left as Response).status).toBe(499);
    expect(isPermit(await stays)).toBe(true);
    expect([gate.used, gate.queued, total(meter, "cancelled")]).toEqual([1, 0, 1]);
  });

  test("lanes do not share permits, and opening again resizes", async () => {
    const { admit, gates } = await start();
    gates.open("php", 1);
    gates.open("php:api", 1);
    expect(isPermit(admit(new FakeExchange()))).toBe(true);
    expect(isPermit(admit(new FakeExchange(), { ...php, lane: "php:api" }))).toBe(true);
    const waits = admit(new FakeExchange());
    const gate = gates.open("php", 2);
    expect(gates.find("php")).toBe(gate);
    expect(isPermit(await waits)).toBe(true);
  });

  test("works without a meter", async () => {
    const { admit, gates } = await start({}, null);
    gates.open("php", 1);
    expect(isPermit(admit(new FakeExchange()))).toBe(true);
  });

  test("counts overtakes when told to barge", async () => {
    const { admit, gates, meter } = await start({ discipline: "barge" });
    gates.open("php", 1);
    const first = admit(new FakeExchange()) as Permit;
    void admit(new FakeExchange());
    first.release();
    expect(isPermit(admit(new FakeExchange()))).toBe(true);
    expect(meter.counts.get("fairlead_admission_overtakes_total{php}")).toBe(1);
  });

  test("tells how fair a saturated line is", async () => {
    const { admit, gates, meter, clock } = await start({ max_queue: 1000 });
    gates.open("php", 1);
    const line = Array.from({ length: 160 }, () => admit(new FakeExchange()));
    for (const one of line) {
      clock.advance(10);
      (await one as Permit).release();
    }
    expect(meter.read("fairlead_admission_fairness_ratio", "php")!).toBeCloseTo(1, 1);
    clock.advance(20_000);
    expect(meter.read("fairlead_admission_fairness_ratio", "php")).toBe(undefined);
  });

  test("waits are measured in powers of two from a quarter of a millisecond", async () => {
    const { meter } = await start();
    const bounds = meter.bounds.get("fairlead_admission_wait_seconds")!;
    expect([bounds[0], bounds[2], bounds.at(-1)]).toEqual([0.00025, 0.001, 16.384]);
  });
});

describe("onClose", () => {
  test("turns away who still waits", async () => {
    const { admit, gates, onClose } = await start();
    gates.open("php", 1);
    admit(new FakeExchange());
    const waiting = admit(new FakeExchange());
    await onClose();
    expect((await waiting as Response).status).toBe(503);
  });
});

describe("onDrain", () => {
  test("turns away waiters and newcomers, and ends when running work has", async () => {
    const { admit, gates, meter, onDrain } = await start();
    gates.open("php", 1);
    const running = admit(new FakeExchange()) as Permit;
    const waiting = admit(new FakeExchange());
    let ended = false;
    const drain = Promise.resolve(onDrain(never())).then(() => ended = true);
    const refused = await waiting as Response;
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((admit(new FakeExchange()) as Response).status).toBe(503);
    expect((admit(new FakeExchange(), { ...php, lane: gates.open("late", 1).name }) as Response).status).toBe(503);
    expect(ended).toBe(false);
    running.release();
    await drain;
    expect(total(meter, "drained")).toBe(2);
  });

  test("gives up at its deadline", async () => {
    const { admit, gates, onDrain, onClose } = await start();
    gates.open("php", 1);
    admit(new FakeExchange());
    const deadline = new AbortController();
    const drain = onDrain(deadline.signal);
    deadline.abort();
    await drain;
    await onDrain(deadline.signal);
    await onClose();
    expect(gates.find("php")!.used).toBe(1);
  });
});
