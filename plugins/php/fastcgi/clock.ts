/** Time as an argument, so that tests can own it. */
export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Runs `task` once after `ms`; returns a function that takes it back. */
  after(ms: number, task: () => void): () => void;
}

/** The real one. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};
