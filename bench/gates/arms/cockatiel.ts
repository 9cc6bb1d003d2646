import { bulkhead } from "cockatiel";
import type { Arm } from "./arm.ts";

const nothing = () => {};

export function cockatiel(limit: number): Arm {
  const policy = bulkhead(limit, Infinity);
  return {
    async alone(times) {
      for (let i = 0; i < times; i++) await policy.execute(nothing);
    },
    submit: (task) => void policy.execute(task),
    async client(hold, running) {
      while (running()) await policy.execute(hold);
    },
  };
}
