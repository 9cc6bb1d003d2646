import { type Clock, systemClock } from "../../../core/clock.ts";
import { FairGate } from "../../../plugins/admission/fair_gate.ts";
import { WaiterBase } from "../../../plugins/admission/queue_node.ts";
import type { Arm } from "./arm.ts";

/** As the server has it: a bounded line, and a grace window that a timer ends. */
const gateOf = (limit: number, clock: Clock = systemClock) =>
  new FairGate({ limit, maxQueue: 1e6, grace: 60_000, clock });

class Passer extends WaiterBase {
  readonly #gate: FairGate;
  readonly #task: () => void;

  constructor(gate: FairGate, task: () => void) {
    super();
    this.#gate = gate;
    this.#task = task;
  }

  onGrant(): void {
    this.#task();
    this.#gate.leave();
  }

  onRefuse(): void {
    throw new Error("Nobody was to be refused");
  }
}

/** The interface the server uses: callbacks, and one object for each wait. */
export function callbacks(limit: number, clock?: Clock): Arm {
  const gate = gateOf(limit, clock);
  let held = false;
  return {
    alone(times) {
      for (let i = 0; i < times; i++) {
        if (!gate.tryEnter()) throw new Error("There was a permit");
        gate.leave();
      }
    },
    submit(task) {
      // A permit would run the task before there is a line.
      if (!held) held = gate.tryEnter();
      gate.enter(new Passer(gate, task));
    },
    begin: () => gate.leave(),
    line(count) {
      if (!held) held = gate.tryEnter();
      return Array.from({ length: count }, () => {
        const waiter = new Passer(gate, () => {});
        gate.enter(waiter);
        return () => void gate.cancel(waiter);
      });
    },
  };
}

/** The same without the price of telling the time: what the difference is, the runtime's clock costs. */
export function stillClock(limit: number): Arm {
  return callbacks(limit, { now: () => 0, setTimer: () => () => {} });
}

/** A permit object without a promise. */
export function tryAcquire(limit: number): Arm {
  const gate = gateOf(limit);
  return {
    alone(times) {
      for (let i = 0; i < times; i++) gate.tryAcquire()!.release();
    },
  };
}

/** The interface for libraries. */
export function promises(limit: number): Arm {
  const gate = gateOf(limit);
  return {
    async alone(times) {
      for (let i = 0; i < times; i++) {
        const permit = await gate.acquire();
        permit.release();
      }
    },
    submit(task) {
      gate.acquire().then((permit) => {
        task();
        permit.release();
      });
    },
    async client(hold, running) {
      while (running()) {
        const permit = await gate.acquire();
        await hold();
        permit.release();
      }
    },
    line(count) {
      gate.tryEnter();
      return Array.from({ length: count }, () => {
        const leaving = new AbortController();
        gate.acquire({ signal: leaving.signal }).catch(() => {});
        return () => leaving.abort();
      });
    },
  };
}
