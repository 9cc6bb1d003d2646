import { Limits } from "../../plugins/bulkhead/limits.ts";
import { conformance } from "./conformance.ts";
import { testMemory } from "./memory.ts";

conformance(
  "memory",
  async ({ limits = {} }) => {
    const configured = Object.entries(limits).map(([name, maxConcurrent]) => [name, { maxConcurrent }] as const);
    const memory = testMemory({ limits: new Limits(configured) });
    return {
      ...memory,
      other: memory.store,
      now: () => memory.clock.time,
      vanish: async (owner) => memory.store.gone(owner),
      close: async () => memory.store.close(),
    };
  },
  { vanishMs: 0, deadlocks: true, slackMs: 0 },
);
