import process from "node:process";

/** Time on the wall, and CPU time of all threads of this process (the collector's and the compiler's too), in ns. */
export interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

/** Adds up what the pieces of work between `start` and `stop` cost. */
export class Stopwatch {
  #wall = 0;
  #cpu = 0;
  #startedAt = 0;
  #startedCpu = 0;

  start(): void {
    this.#startedCpu = cpuNs();
    this.#startedAt = performance.now();
  }

  stop(): void {
    this.#wall += (performance.now() - this.#startedAt) * 1e6;
    this.#cpu += cpuNs() - this.#startedCpu;
  }

  per(operations: number): Cost {
    return { wall: this.#wall / operations, cpu: this.#cpu / operations };
  }
}

function cpuNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}
