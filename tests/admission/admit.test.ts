import { describe, expect, test } from "bun:test";
import type { Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { AdmissionOptions, Refused } from "../../plugins/admission/admission_options.ts";
import { admit } from "../../plugins/admission/admit.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { turns } from "../support/wait.ts";
import { watch } from "./bodies.ts";
import { VirtualClock } from "./virtual_clock.ts";

const request = (path = "/", init?: RequestInit) => new Request(`http://site.test${path}`, init);

/** A handler whose requests run until told to end, behind a gate on a virtual clock. */
function world(
  terms: { limit?: number; maxQueue?: number; grace?: number } = {},
  rules: Partial<AdmissionOptions<Request>> = {},
) {
  const clock = new VirtualClock();
  const gate = new FairGate({ limit: 1, ...terms, clock, random: () => 0.5 });
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<Response>>();
  const fetch = admit((r: Request) => {
    const { pathname } = new URL(r.url);
    started.push(pathname);
    const end = Promise.withResolvers<Response>();
    ends.set(pathname, end);
    return end.promise;
  }, { gate, clock, ...rules });
  const end = async (path: string, response = new Response(path)) => {
    ends.get(path)!.resolve(response);
    await turns(3);
  };
  const send = (path: string, init?: RequestInit) => watch(fetch(request(path, init)));
  return { clock, gate, started, fetch, send, end, ends };
}

/** A gate that says the same to everyone. */
function verdictGate(verdict: "granted" | Refusal): Gate & { readonly seen: Waiter[]; left: number } {
  return {
    name: "verdict",
    limit: 1,
    used: 0,
    queued: 0,
    seen: [],
    left: 0,
    tryEnter: () => false,
    enter(waiter) {
      this.seen.push(waiter);
      return verdict;
    },
    cancel: () => false,
    leave(held = 1) {
      this.left += typeof held === "number" ? held : held.weight ?? 1;
    },
    resize: () => {},
    retryAfter: () => 7,
  };
}

describe("who is let in", () => {
  test("runs at most as many as there are permits, the rest in order of arrival", async () => {
    const { send, end, started, gate } = world({ limit: 2 });
    for (const path of ["/a", "/b", "/c", "/d"]) send(path);
    await turns(2);
    expect(started).toEqual(["/a", "/b"]);
    expect([gate.used, gate.queued]).toEqual([2, 2]);
    await end("/b");
    expect(started).toEqual(["/a", "/b", "/c"]);
    await end("/a");
    expect(started).toEqual(["/a", "/b", "/c", "/d"]);
    await end("/c");
    await end("/d");
    expect([gate.used, gate.queued]).toEqual([0, 0]);
  });

  test("is told how long it waited, and only if it did", async () => {
    const { send, end, clock } = world();
    const [first, second] = [send("/a"), send("/b")];
    await turns(2);
    clock.advance(12.34);
    await end("/a");
    await end("/b");
    expect((await first.promise).headers.get("server-timing")).toBe(null);
    expect((await second.promise).headers.get("server-timing")).toBe("adm;dur=12.3");
  });

  test("keeps a handler's own Server-Timing, and headers that cannot be changed", async () => {
    const { send, end, clock } = world();
    const waits = [send("/a"), send("/b"), send("/c")];
    await turns(2);
    clock.advance(5);
    await end("/a");
    await end("/b", new Response("", { headers: { "server-timing": "db;dur=3" } }));
    await end("/c", Response.redirect("http://site.test/else", 303));
    expect((await waits[1]!.promise).headers.get("server-timing")).toBe("db;dur=3, adm;dur=5.0");
    const moved = await waits[2]!.promise;
    expect([moved.status, moved.headers.get("location"), moved.headers.get("server-timing")])
      .toEqual([303, "http://site.test/else", "adm;dur=5.0"]);
  });

  test("is anyone who is exempt, whatever the gate says", async () => {
    const gate = new FairGate({ limit: 1 });
    gate.close();
    const fetch = admit(() => new Response("alive"), { gate, exempt: (r) => r.url.endsWith("/health") });
    expect(await (await fetch(request("/health"))).text()).toBe("alive");
    expect((await fetch(request("/else"))).status).toBe(503);
  });

  test("passes on what the runtime gives beside the request", async () => {
    const fetch = admit((_: Request, env: { name: string }, n: number) => new Response(`${env.name} ${n}`), {
      limit: 1,
    });
    expect(await (await fetch(request(), { name: "env" }, 7)).text()).toBe("env 7");
  });

  test("may take more than one permit", async () => {
    const { send, end, started, gate } = world({ limit: 3 }, { weight: (r) => r.url.endsWith("heavy") ? 3 : 1 });
    for (const path of ["/a", "/heavy", "/b"]) send(path);
    await turns(2);
    expect([started, gate.queued]).toEqual([["/a"], 2]);
    await end("/a");
    expect([started, gate.used]).toEqual([["/a", "/heavy"], 3]);
    await end("/heavy");
    await end("/b");
    expect(gate.used).toBe(0);
  });

  test("brings class and key to the gate, which are looked at even when a permit is free", async () => {
    const gate = verdictGate("granted");
    const fetch = admit(() => new Response(), { gate, weight: 2, class: () => "sheddable", key: () => "tenant-1" });
    await fetch(request());
    expect(gate.seen.map(({ criticality, key, weight }) => [criticality, key, weight]))
      .toEqual([["sheddable", "tenant-1", 2]]);
    expect(gate.left).toBe(2);
  });
});

describe("who is not let in", () => {
  test("is answered 503 with Retry-After when the line is full, and then when its grace ends", async () => {
    const { send, fetch, clock, gate } = world({ maxQueue: 1, grace: 1000 });
    send("/a");
    const waits = send("/b");
    await turns(2);
    const full = await fetch(request("/c"));
    expect([full.status, full.headers.get("retry-after"), full.headers.get("server-timing")]).toEqual([503, "1", null]);
    clock.advance(1000);
    const late = await waits.promise;
    expect([late.status, late.headers.get("server-timing")]).toEqual([503, "adm;dur=1000.0"]);
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(0);
    expect([gate.used, gate.queued]).toEqual([1, 0]);
  });

  test("is answered 504 when its deadline passes in line, which counts from its arrival", async () => {
    const { send, clock, started } = world({}, { deadline: (r) => r.url.endsWith("b") ? 20 : undefined });
    clock.advance(500);
    send("/a");
    const waits = send("/b");
    await turns(2);
    clock.advance(19);
    await turns(2);
    expect(waits.settled).toBe(false);
    clock.advance(1);
    expect((await waits.promise).status).toBe(504);
    expect(started).toEqual(["/a"]);
  });

  test("is answered 429 when its key has its share, and 503 when the gate drains", async () => {
    const fetch = admit(() => new Response(), { gate: verdictGate("key"), key: () => "k" });
    const answer = await fetch(request());
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
    const { send, gate } = world();
    send("/a");
    const waits = send("/b");
    await turns(2);
    gate.close();
    expect((await waits.promise).status).toBe(503);
  });

  test("may be answered otherwise by onRefuse, or just be told of", async () => {
    const told: Refused[] = [];
    const usual = admit(() => new Response(), { gate: verdictGate("full"), onRefuse: (_, r) => void told.push(r) });
    const answer = await usual(request());
    expect(told).toEqual([{ reason: "full", waitedMs: 0, response: answer }]);
    const own = admit(() => new Response(), {
      gate: verdictGate("full"),
      onRefuse: async (r, { reason }) => new Response(`${new URL(r.url).pathname} ${await reason}`, { status: 529 }),
    });
    const other = await own(request("/x"));
    expect([other.status, await other.text()]).toEqual([529, "/x full"]);
  });
});

describe("a client that leaves", () => {
  test("leaves the line at once and without a trace, and its handler never runs", async () => {
    const { send, end, started, gate, clock } = world({ grace: 1000 });
    const client = new AbortController();
    send("/a");
    const waits = send("/b", { signal: client.signal });
    send("/c");
    await turns(2);
    clock.advance(3);
    client.abort();
    expect(gate.queued).toBe(1);
    const answer = await waits.promise;
    expect([answer.status, answer.body]).toEqual([499, null]);
    await end("/a");
    expect(started).toEqual(["/a", "/c"]);
    await end("/c");
    expect([gate.used, gate.queued, gate.counts.cancelled]).toEqual([0, 0, 1]);
  });

  test("leaves nothing when it had gone before it came", async () => {
    const { send, fetch, started, gate } = world();
    send("/a");
    await turns(2);
    const answer = await fetch(request("/b", { signal: AbortSignal.abort() }));
    expect([answer.status, gate.queued, started]).toEqual([499, 0, ["/a"]]);
  });

  test("does not run when it left between the grant and its turn; the next does", async () => {
    const { send, end, started, gate } = world();
    const client = new AbortController();
    gate.tryEnter();
    const waits = send("/a", { signal: client.signal });
    send("/b");
    await turns(2);
    gate.leave();
    client.abort();
    expect((await waits.promise).status).toBe(499);
    await turns(2);
    expect(started).toEqual(["/b"]);
    await end("/b");
    expect(gate.used).toBe(0);
  });

  test("is listened for only while it waits", async () => {
    for (const outcome of ["grant", "refusal", "leaving"]) {
      const { gate, fetch, end, clock } = world({ grace: 100 });
      const client = new AbortController();
      const asked = request("/a", { signal: client.signal });
      const { signal } = asked;
      let listeners = 0;
      const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
      signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
      signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
      gate.tryEnter();
      const answer = watch(fetch(asked));
      expect(listeners).toBe(1);
      if (outcome === "grant") gate.leave();
      if (outcome === "refusal") clock.advance(100);
      if (outcome === "leaving") client.abort();
      await turns(2);
      if (outcome === "grant") await end("/a");
      await answer.promise;
      // The listener that has fired took itself off (`once`), unseen by this count.
      expect(listeners).toBe(outcome === "leaving" ? 1 : 0);
      expect(gate.queued).toBe(0);
    }
  });
});

describe("errors", () => {
  test("of the handler are thrown on, and give the permit back", async () => {
    const { send, gate, ends } = world();
    const failing = send("/a");
    await turns(2);
    ends.get("/a")!.reject(new Error("broken"));
    expect(await failing.promise.catch(String)).toBe("Error: broken");
    const sync = admit(() => {
      throw new Error("at once");
    }, { gate });
    expect(await sync(request()).catch(String)).toBe("Error: at once");
    expect(gate.used).toBe(0);
  });

  test("of the rules are thrown on, and take nothing", async () => {
    const gate = new FairGate({ limit: 2 });
    const broken = () => {
      throw new Error("no rule");
    };
    for (const rule of ["exempt", "weight", "deadline", "class", "key"]) {
      const fetch = admit(() => new Response(), { gate, [rule]: broken });
      expect(await fetch(request()).catch(String)).toBe("Error: no rule");
    }
    const heavy = admit(() => new Response(), { gate, weight: 3 });
    expect(await heavy(request()).catch((error) => error.code)).toBe("ADMISSION_WEIGHT");
    expect([gate.used, gate.queued]).toEqual([0, 0]);
  });

  test("tell of a limit that is none", () => {
    expect(() => admit(() => new Response(), { limit: 0 })).toThrow(
      "Expected limit to be a whole number of at least 1",
    );
  });
});
