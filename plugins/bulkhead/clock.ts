import { clearTimeout, setTimeout } from "node:timers";

/** Time as a store sees it, so that tests can hold it in their hands. */
export interface Clock {
  /** Milliseconds that never step back. */
  now(): number;
  /** Runs `fire` once, `ms` from now. Returns a function that calls it off. */
  setTimer(ms: number, fire: () => void): () => void;
}

/** The longest delay `setTimeout` keeps; a longer one would fire at once. */
const longest = 2 ** 31 - 1;

/** `performance.now` and the runtime's timers. A timer does not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(ms, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(Math.ceil(ms), 0), longest));
    handle.unref();
    return () => clearTimeout(handle);
  },
};
