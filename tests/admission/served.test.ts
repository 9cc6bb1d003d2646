import { afterEach, describe, expect, test } from "bun:test";
import { Hono } from "hono";
import { admit } from "../../plugins/admission/admit.ts";
import { fairAdmission } from "../../plugins/admission/fair_admission.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { waitFor } from "../support/wait.ts";
import { HandMade } from "./bodies.ts";
import { type Served, serveFetch } from "./serve_fetch.ts";

const gate = { now: new FairGate({ limit: 1 }) };
let made = new HandMade();
let ran: string[] = [];
let served: Served | undefined;

function handle(request: Request): Response {
  const { pathname } = new URL(request.url);
  ran.push(pathname);
  return pathname === "/stream" ? new Response(made.stream) : new Response(`text of ${pathname}`);
}

const doors: Readonly<Record<string, () => (request: Request) => Promise<Response>>> = {
  admit: () => admit(handle, { gate: gate.now }),
  fairAdmission: () => {
    const app = new Hono().use(fairAdmission({ gate: gate.now })).all("/*", (c) => handle(c.req.raw));
    return async (request) => await app.fetch(request);
  },
};

afterEach(async () => {
  await served?.stop();
});

for (const [name, door] of Object.entries(doors)) {
  describe(`${name} behind the runtime's own server`, () => {
    const start = () => {
      gate.now = new FairGate({ limit: 1 });
      made = new HandMade();
      ran = [];
      served = serveFetch(door());
      return served.url;
    };

    test("leaves a text its length and its type", async () => {
      const answer = await fetch(`${start()}/text`);
      expect([answer.headers.get("content-length"), answer.headers.get("content-type")?.toLowerCase()])
        .toEqual(["13", "text/plain;charset=utf-8"]);
      expect([await answer.text(), gate.now.used]).toEqual(["text of /text", 0]);
    });

    test("holds the permit while a body is on its way", async () => {
      const url = start();
      // Bun sends the head along with the first chunk.
      made.give("one");
      const stream = await fetch(`${url}/stream`);
      const next = fetch(`${url}/next`);
      await waitFor(() => gate.now.queued === 1, { what: "the second request to wait" });
      expect(ran).toEqual(["/stream"]);
      made.end();
      expect(await stream.text()).toBe("one");
      const answer = await next;
      expect(await answer.text()).toBe("text of /next");
      expect(answer.headers.get("server-timing")).toMatch(/^adm;dur=\d+\.\d$/);
      expect([ran, gate.now.used]).toEqual([["/stream", "/next"], 0]);
    });

    test("hears a client leave while its body is on its way", async () => {
      const url = start();
      const client = new AbortController();
      made.give("one");
      const stream = await fetch(`${url}/stream`, { signal: client.signal });
      await stream.body!.getReader().read();
      expect(gate.now.used).toBe(1);
      client.abort();
      await waitFor(() => gate.now.used === 0, { what: "the permit" });
      expect(made.cancelled).toBeDefined();
    });

    test("hears a client leave the line, and never runs it", async () => {
      const url = start();
      const client = new AbortController();
      gate.now.tryEnter();
      const waits = fetch(`${url}/never`, { signal: client.signal }).catch(() => "left");
      await waitFor(() => gate.now.queued === 1, { what: "the request to wait" });
      client.abort();
      expect(await waits).toBe("left");
      await waitFor(() => gate.now.queued === 0, { what: "the line to be empty" });
      gate.now.leave();
      expect(await (await fetch(`${url}/after`)).text()).toBe("text of /after");
      expect(ran).toEqual(["/after"]);
    });
  });
}
