import type { Arm } from "./arm.ts";

/** Not a gate: two readings of the clock, which is what a wait costs at least, as it is told how long it was. */
export function clock(): Arm {
  let sink = 0;
  return {
    alone(times) {
      for (let i = 0; i < times; i++) sink += performance.now() - performance.now();
      if (Number.isNaN(sink)) throw new Error("The clock tells no time");
    },
  };
}
