import { Semaphore } from "async-mutex";
import type { Arm } from "./arm.ts";

export function asyncMutex(limit: number): Arm {
  const semaphore = new Semaphore(limit);
  return {
    async alone(times) {
      for (let i = 0; i < times; i++) {
        const [, release] = await semaphore.acquire();
        release();
      }
    },
    submit(task) {
      semaphore.acquire().then(([, release]) => {
        task();
        release();
      });
    },
    async client(hold, running) {
      while (running()) {
        const [, release] = await semaphore.acquire();
        await hold();
        release();
      }
    },
  };
}
