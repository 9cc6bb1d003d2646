import { describe, expect, test } from "bun:test";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { admit } from "../../plugins/admission/admit.ts";
import { turns } from "../support/wait.ts";
import { HandMade, watch } from "./bodies.ts";

type BodyInit = ConstructorParameters<typeof Response>[0];

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

/** One request that is answered with `body`, behind a gate of one permit. */
async function answered(body: BodyInit, init: RequestInit = {}, head: ResponseInit = {}) {
  const gate = new FairGate({ limit: 1 });
  const given = new Response(body, head);
  const fetch = admit(() => given, { gate });
  const response = await fetch(new Request("http://site.test/", init));
  return { gate, given, response };
}

describe("a permit is held until the body", () => {
  test("has been read to its end", async () => {
    const made = new HandMade();
    const { gate, response } = await answered(made.stream, {}, { status: 201, headers: { "x-own": "1" } });
    expect([response.status, response.headers.get("x-own"), gate.used]).toEqual([201, "1", 1]);
    const reader = response.body!.getReader();
    made.give("one ");
    made.give("two");
    expect(text((await reader.read()).value)).toBe("one ");
    expect(text((await reader.read()).value)).toBe("two");
    await turns(2);
    expect(gate.used).toBe(1);
    made.end();
    expect((await reader.read()).done).toBe(true);
    expect(gate.used).toBe(0);
  });

  test("has failed, which its reader sees", async () => {
    const made = new HandMade();
    const { gate, response } = await answered(made.stream);
    const reading = response.text().catch(String);
    made.give("part");
    await turns(2);
    expect(gate.used).toBe(1);
    made.fail(new Error("broken off"));
    expect(await reading).toBe("Error: broken off");
    expect(gate.used).toBe(0);
  });

  test("was cancelled by its reader, which its maker hears", async () => {
    const made = new HandMade();
    const { gate, response } = await answered(made.stream);
    const reader = response.body!.getReader();
    made.give("part");
    await reader.read();
    await reader.cancel("enough");
    expect(made.cancelled).toBeDefined();
    expect(gate.used).toBe(0);
  });

  test("was cancelled and its maker has cleaned up", async () => {
    const cleaned = Promise.withResolvers<void>();
    const { gate, response } = await answered(new ReadableStream({ cancel: () => cleaned.promise }));
    const cancelling = watch(response.body!.cancel());
    await turns(2);
    expect([cancelling.settled, gate.used]).toEqual([false, 1]);
    cleaned.resolve();
    await cancelling.promise;
    expect(gate.used).toBe(0);
  });

  test("has lost its client, also where the runtime cancels nothing", async () => {
    const client = new AbortController();
    const made = new HandMade();
    const { gate, response } = await answered(made.stream, { signal: client.signal });
    const reader = response.body!.getReader();
    made.give("part");
    expect(text((await reader.read()).value)).toBe("part");
    const next = reader.read().then(() => "ended well", String);
    client.abort(new Error("gone"));
    expect(await next).toBe("Error: gone");
    expect([gate.used, made.cancelled !== undefined]).toEqual([0, true]);
  });

  test("belongs to a client that has gone already", async () => {
    const client = new AbortController();
    const gate = new FairGate({ limit: 1 });
    const made = new HandMade();
    const fetch = admit(() => {
      client.abort();
      return new Response(made.stream);
    }, { gate });
    const response = await fetch(new Request("http://site.test/", { signal: client.signal }));
    await turns(2);
    expect([gate.used, made.cancelled !== undefined]).toEqual([0, true]);
    expect(await response.text().catch(() => "cut off")).toBe("cut off");
  });

  test("is not asked for by HEAD, which stops its maker", async () => {
    const made = new HandMade();
    const { gate, response } = await answered(made.stream, { method: "HEAD" }, { headers: { "x-own": "1" } });
    expect([response.headers.get("x-own"), gate.used, made.cancelled !== undefined]).toEqual(["1", 0, true]);
    expect(await response.text()).toBe("");
  });

  test("was thrown away, once the collector has been there", async () => {
    const collect = await collector();
    const made = new HandMade();
    const { gate } = await answered(made.stream);
    expect(gate.used).toBe(1);
    for (let i = 0; i < 100 && gate.used > 0; i++) {
      collect();
      await turns(3);
    }
    expect([gate.used, made.cancelled !== undefined]).toEqual([0, true]);
  });
});

describe("a body that is whole", () => {
  const bodies: Readonly<Record<string, () => BodyInit>> = {
    none: () => null,
    empty: () => "",
    text: () => "hello",
    "a long text": () => "x".repeat(300_000),
    bytes: () => new Uint8Array(1000),
    form: () => new URLSearchParams({ a: "1" }),
    blob: () => new Blob(["a blob"]),
    "a stream that has ended": () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(3));
          controller.close();
        },
      }),
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`(${name}) is sent as it was made, and holds no permit`, async () => {
      const { gate, given, response } = await answered(body());
      expect(gate.used).toBe(0);
      expect(response === given).toBe(true);
      expect(await response.text()).toBe(await new Response(body()).text());
    });
  }

  test("is not what an endless stream is, which is asked for little before its reader asks", async () => {
    let pulls = 0;
    const { gate, response } = await answered(
      new ReadableStream({
        pull(controller) {
          pulls++;
          controller.enqueue(new Uint8Array([pulls]));
        },
      }),
    );
    await turns(3);
    expect(pulls).toBeLessThan(16);
    const before = pulls;
    const reader = response.body!.getReader();
    for (let i = 1; i <= 40; i++) expect((await reader.read()).value![0]).toBe(i);
    expect(pulls).toBeGreaterThan(before);
    expect(pulls).toBeLessThan(40 + 16);
    await reader.cancel();
    expect(gate.used).toBe(0);
  });
});

test("a body that was read already is the handler's error, and gives the permit back", async () => {
  const gate = new FairGate({ limit: 1 });
  const fetch = admit(async () => {
    const response = new Response("read");
    await response.text();
    return response;
  }, { gate });
  expect(await fetch(new Request("http://site.test/")).catch((error) => error.name)).toBe("TypeError");
  expect(gate.used).toBe(0);
});

/** Runs the garbage collector now, on either runtime. */
async function collector(): Promise<() => void> {
  const { Bun } = globalThis as { Bun?: { gc(force: boolean): void } };
  if (Bun !== undefined) return () => Bun.gc(true);
  const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import("node:v8"), import("node:vm")]);
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
