import Queue from "p-queue";
import type { Arm } from "./arm.ts";

const nothing = () => {};

export function pQueue(limit: number): Arm {
  const queue = new Queue({ concurrency: limit });
  return {
    async alone(times) {
      for (let i = 0; i < times; i++) await queue.add(nothing);
    },
    submit: (task) => void queue.add(task),
    async client(hold, running) {
      while (running()) await queue.add(hold);
    },
  };
}
