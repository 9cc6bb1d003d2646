/**
 * Fair admission: whoever executes work opens a gate for its lane, and every exchange bound for that lane passes it.
 *
 * @module
 */
import { z } from "zod";
import { duration } from "../../core/config/units.ts";
import { Gates } from "../../core/contracts/gates.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { BargingGate } from "./barging_gate.ts";
import { type Clock, systemClock } from "./clock.ts";
import { FairGate } from "./fair_gate.ts";
import { NamedGates } from "./gates.ts";
import { Lane } from "./lane.ts";
import { admissionMeter } from "./metrics.ts";

const config = z.strictObject({
  discipline: z.enum(["fifo", "barge"]).default("fifo")
    .describe("fifo serves in order of arrival; barge lets newcomers race with who waits, to show what that costs."),
  max_queue: z.int().min(0).default(1000).describe("Requests that may wait (503 above)."),
  grace: duration("10s").describe("How long a request may wait (503 after); 0 lets none wait."),
});

const disciplines = { fifo: FairGate, barge: BargingGate } as const;

/** The admission plugin on a given clock, which must be the one `Exchange.deadline` is told on. */
export function admission(clock: Clock = systemClock, random: () => number = Math.random): AnyPlugin {
  return definePlugin({
    name: "admission",
    api: 1,
    config,
    provides: [Gates],
    wants: [Meter],
    setup(ctx) {
      const { discipline, max_queue: maxQueue, grace } = ctx.config;
      const gates: NamedGates = new NamedGates((name, limit, terms) => {
        const overtakes = meter.overtakes(name);
        return new disciplines[discipline]({
          name,
          limit,
          maxQueue: terms.maxQueue ?? maxQueue,
          grace: terms.grace ?? grace,
          clock,
          random,
          onOvertake: () => overtakes.inc(),
          onError: (error) => ctx.log("error", "A waiter's callback failed", { lane: name, error }),
        });
      });
      const meter = admissionMeter(ctx.find(Meter) ?? noMeter, gates);
      const lanes = new Map<string, Lane>();
      const open = (name: string): Lane | undefined => {
        const gate = gates.find(name);
        if (gate === undefined) return undefined;
        const lane = new Lane(gate, meter.lane(name));
        lanes.set(name, lane);
        return lane;
      };
      ctx.provide(Gates, gates);

      return {
        onAdmit: (x, execution) => (lanes.get(execution.lane) ?? open(execution.lane))?.admit(x),
        async onDrain(deadline) {
          const late = Promise.withResolvers<void>();
          const giveUp = () => late.resolve();
          deadline.addEventListener("abort", giveUp);
          if (deadline.aborted) giveUp();
          await Promise.race([gates.drain(), late.promise]);
          deadline.removeEventListener("abort", giveUp);
        },
        onClose: () => gates.close(),
      };
    },
  }) as AnyPlugin;
}

export default admission() as AnyPlugin;
