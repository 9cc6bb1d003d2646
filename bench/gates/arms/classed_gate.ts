import { createGate } from "../../../plugins/admission/create_gate.ts";
import { classes } from "../../../plugins/admission/classes.ts";
import type { FairGate } from "../../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../../plugins/admission/gate_options.ts";
import { WaiterBase } from "../../../plugins/admission/queue_node.ts";
import type { Criticality } from "../../../core/contracts/gates.ts";
import type { Arm } from "./arm.ts";

/** Keys that clients come with, in turn but for a step that has them come in another order each time. */
const keys: readonly string[] = Array.from({ length: 10_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
const step = 7919;

/** As the server has it where rules tell requests apart: the waiter is the holder of its permit as well. */
class Passer extends WaiterBase {
  readonly criticality?: Criticality;
  readonly key?: string;
  readonly #gate: FairGate;
  readonly #task: () => void;

  constructor(gate: FairGate, task: () => void, criticality: Criticality | undefined, key: string | undefined) {
    super();
    if (criticality !== undefined) this.criticality = criticality;
    if (key !== undefined) this.key = key;
    this.#gate = gate;
    this.#task = task;
  }

  onGrant(): void {
    this.#task();
    this.#gate.leave(this);
  }

  onRefuse(): void {
    throw new Error("Nobody was to be refused");
  }
}

const nothing = () => {};

function arm(limit: number, options: Partial<GateOptions>, classed: boolean): Arm {
  const gate = createGate({ limit, maxQueue: 1e6, grace: 60_000, ...options });
  let at = 0;
  const passer = (task: () => void) => {
    at = (at + step) % keys.length;
    return new Passer(gate, task, classed ? classes[at & 3] : undefined, options.keys ? keys[at] : undefined);
  };
  let held = false;
  return {
    alone(times) {
      for (let i = 0; i < times; i++) {
        const waiter = passer(nothing);
        if (gate.enter(waiter) !== "granted") throw new Error("There was a permit");
        gate.leave(waiter);
      }
    },
    submit(task) {
      if (!held) held = gate.tryEnter();
      gate.enter(passer(task));
    },
    begin: () => gate.leave(),
    line(count) {
      if (!held) held = gate.tryEnter();
      return Array.from({ length: count }, () => {
        const waiter = passer(nothing);
        gate.enter(waiter);
        return () => void gate.cancel(waiter);
      });
    },
  };
}

export const oneClass = (limit: number): Arm => arm(limit, { shares: {} }, false);
export const fourClasses = (limit: number): Arm => arm(limit, { shares: {} }, true);
export const manyKeys = (limit: number): Arm => arm(limit, { keys: true }, false);
