import { setImmediate } from "node:timers";
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { admit } from "../../plugins/admission/admit.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { allowSlowTests } from "../support/wait.ts";
import { HandMade } from "./bodies.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** What may happen to one visitor, one thing after the other; what does not apply any more does nothing. */
const happenings = ["answer whole", "answer stream", "fail", "leave", "give", "end stream", "cancel", "read"] as const;

allowSlowTests(60_000);

const limit = 3;

interface Visitor {
  readonly weight: number;
  readonly client: AbortController;
  readonly handler: PromiseWithResolvers<Response>;
  readonly made: HandMade;
  answered: boolean;
  open: boolean;
  reader: { read(): Promise<{ done: boolean }>; cancel(reason: unknown): Promise<void> } | undefined;
}

/** Lets every microtask there is run, the long chains through streams too. */
const settle = async () => {
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
};

const script = fc.array(
  fc.oneof(
    fc.record({ what: fc.constant("come" as const), weight: fc.integer({ min: 1, max: limit }) }),
    fc.record({ what: fc.constantFrom(...happenings), who: fc.nat(11) }),
    fc.record({ what: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 80 }) }),
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

test("whatever happens to whom: order of arrival, never too many, and nothing left at the end", async () => {
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const clock = new VirtualClock();
      const gate = new FairGate({ limit, maxQueue: 6, grace: 100, clock });
      const visitors: Visitor[] = [];
      const ran: number[] = [];
      const fetch = admit((_: Request, index: number) => {
        ran.push(index);
        return visitors[index]!.handler.promise;
      }, { gate, clock, weight: (request) => Number(request.headers.get("weight")) });

      for (const step of steps) {
        if (step.what === "come") {
          const visitor: Visitor = {
            weight: step.weight,
            client: new AbortController(),
            handler: Promise.withResolvers(),
            made: new HandMade(),
            answered: false,
            open: false,
            reader: undefined,
          };
          const index = visitors.push(visitor) - 1;
          const { signal } = visitor.client;
          const request = new Request("http://site.test", { headers: { weight: String(step.weight) }, signal });
          fetch(request, index).then((r) => void (visitor.reader = r.body?.getReader()), () => {});
        } else if (step.what === "time") {
          clock.advance(step.ms);
        } else {
          const visitor = visitors[step.who];
          if (visitor !== undefined) happen(visitor, step.what);
        }
        await settle();
        expect(gate.used).toBeLessThan(limit + 1);
      }
      // Everyone ends what he has begun: the line empties, and what streams is read to its end.
      for (const visitor of visitors) {
        visitor.handler.resolve(new Response("late"));
        await settle();
        if (visitor.open) happen(visitor, "end stream");
        drain(visitor.reader);
        await settle();
      }
      clock.advance(1000);
      await settle();
      expect([gate.used, gate.queued, clock.live]).toEqual([0, 0, 0]);
      expect(ran).toEqual(ran.toSorted((a, b) => a - b));
      expect(gate.counts.overtakes).toBe(0);
    }),
    { numRuns: 60 },
  );
});

function happen(visitor: Visitor, what: typeof happenings[number]): void {
  if (!visitor.answered && ["answer whole", "answer stream", "fail"].includes(what)) {
    visitor.answered = true;
    visitor.open = what === "answer stream";
    // Nobody listens while it stands in line.
    visitor.handler.promise.catch(() => {});
    if (what === "fail") visitor.handler.reject(new Error("failed"));
    else visitor.handler.resolve(new Response(visitor.open ? visitor.made.stream : "whole"));
  }
  if (what === "leave") visitor.client.abort();
  if (what === "read") visitor.reader?.read().catch(() => {});
  if (what === "cancel") visitor.reader?.cancel("enough").catch(() => {});
  if (!visitor.open || visitor.made.cancelled !== undefined) return;
  if (what === "give") visitor.made.give("some");
  if (what === "end stream") {
    visitor.made.end();
    visitor.open = false;
  }
}

async function drain(reader: Visitor["reader"]): Promise<void> {
  try {
    while (reader !== undefined && !(await reader.read()).done);
  } catch {
    // Cut off, which is an end too.
  }
}
