import limiter from "p-limit";
import type { Arm } from "./arm.ts";

const nothing = () => {};

export function pLimit(limit: number): Arm {
  const run = limiter(limit);
  return {
    async alone(times) {
      for (let i = 0; i < times; i++) await run(nothing);
    },
    submit: (task) => void run(task),
    async client(hold, running) {
      while (running()) await run(hold);
    },
  };
}
