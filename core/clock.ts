/** Time as whoever waits sees it, so that tests can hold it in their hands. */
export interface Clock {
  /** Milliseconds that never step back. */
  now(): number;
  /** Runs `fire` once, `ms` from now; 0 means after whatever I/O is already waiting. Returns a function that calls it off. */
  setTimer(ms: number, fire: () => void): () => void;
}

/** The longest delay `setTimeout` keeps; a longer one would fire at once. */
const longest = 2 ** 31 - 1;

/**
 * `performance.now` and the runtime's global timers, so that a gate runs wherever there are web APIs. A timer does not keep
 * the process alive where there is a process (Bun, Deno, Node), and 0 ms is a turn of the event loop where there is
 * `setImmediate`.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(ms, fire) {
    if (ms <= 0 && typeof setImmediate === "function") {
      const handle = setImmediate(fire);
      return () => clearImmediate(handle);
    }
    const handle: { unref?(): void } | number = setTimeout(fire, Math.min(Math.max(Math.ceil(ms), 0), longest));
    if (typeof handle === "object") handle.unref?.();
    return () => clearTimeout(handle as number);
  },
};
