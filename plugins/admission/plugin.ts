/**
 * Fair admission: whoever executes work opens a gate for its lane, and every exchange bound for that lane passes it.
 *
 * @module
 */
import { Gates, type GateTerms } from "../../core/contracts/gates.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { Peers } from "../../core/contracts/peers.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import type { FairGate } from "./fair_gate.ts";
import { adminRoutes } from "./admin_routes.ts";
import { NamedGates } from "./gates.ts";
import { GateMaker } from "./gate_maker.ts";
import { Lanes } from "./lanes.ts";
import { admissionMeter } from "./metrics.ts";
import { deadlineReader } from "./deadline_reader.ts";
import { RefusalLog } from "./refusal_log.ts";
import { SelfCalls, selfVariable } from "./self_calls.ts";
import { SessionLines } from "./session_lines.ts";
import { admissionTable, differences } from "./settings.ts";
import { SizedGates } from "./sized_gate.ts";

/** Requests of one session that may wait for another of it: more than browsers have open at a time. */
const sessionQueue = 100;

/** The admission plugin on a given clock, which must be the one `Exchange.deadline` is told on. */
export function admission(
  clock: Clock = systemClock,
  random: () => number = Math.random,
  wall: () => number = Date.now,
): AnyPlugin {
  return definePlugin({
    name: "admission",
    api: 1,
    config: admissionTable,
    provides: [Gates],
    wants: [Meter, Peers, ScriptSettings],
    setup(ctx) {
      const settings = ctx.config;
      const { reserve, adaptive, serialize, grace, max_queue: maxQueue } = settings;
      const told = differences(settings);
      const onError = (lane: string) => (error: unknown) =>
        ctx.log("error", "A waiter's callback failed", { lane, error });

      const refusals = new RefusalLog(ctx.log, clock);
      const onRefused = (lane: string) => refusals.of(lane);
      const maker = new GateMaker(settings, {
        clock,
        random,
        onError,
        onRefused,
        onOvertake: (name) => meter.overtakes(name),
      });
      const named: NamedGates = new NamedGates((name, limit, terms: GateTerms): FairGate =>
        maker.make(name, limit, terms)
      );
      const sized = reserve > 0 || adaptive !== "off" ? new SizedGates(named, reserve) : undefined;
      ctx.provide(Gates, sized ?? named);

      const sessions = serialize === undefined ? undefined : new SessionLines({
        maxQueue,
        keyQueue: settings.key_queue || sessionQueue,
        grace,
        clock,
        onRefused: onRefused("session"),
        onError: onError("session"),
      });
      const self = reserve > 0 || sessions !== undefined ? new SelfCalls(crypto.randomUUID()) : undefined;
      if (self !== undefined) ctx.find(ScriptSettings)?.add(ctx.name, { env: { [selfVariable]: self.word } });

      const meter = admissionMeter(ctx.find(Meter) ?? noMeter, {
        gates: named,
        now: () => clock.now(),
        sessions,
        steered: () => lanes.steered(),
        ...told,
      });
      const deadlines = deadlineReader(settings.deadlines, ctx.find(Peers), { clock, wall });
      const lanes: Lanes = new Lanes(settings, {
        ...{ named, sized, sessions, self, clock, random },
        patience: deadlines.patience,
        meter: (name) => meter.lane(name),
      });

      return {
        ...(deadlines.bringForward === undefined ? {} : {
          onRequest: { order: "pre", handler: deadlines.bringForward },
        }),
        onAdmin: (app) => adminRoutes(app, named, sessions),
        onAdmit: (x, execution) => lanes.find(execution.lane)?.admit(x),
        ...(adaptive === "off" ? {} : { onResponse: lanes.answered }),
        async onDrain(deadline) {
          const late = Promise.withResolvers<void>();
          const giveUp = () => late.resolve();
          deadline.addEventListener("abort", giveUp);
          if (deadline.aborted) giveUp();
          sessions?.close();
          await Promise.race([named.drain(), late.promise]);
          deadline.removeEventListener("abort", giveUp);
        },
        onClose() {
          sessions?.close();
          named.close();
          refusals.close();
        },
      };
    },
  }) as AnyPlugin;
}

export default admission() as AnyPlugin;
