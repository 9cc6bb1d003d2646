import { clearTimeout, setTimeout } from "node:timers";
import type { Clock } from "./pool/options.ts";

/** The longest delay `setTimeout` keeps; a longer one would fire at once. */
const longest = 2 ** 31 - 1;

/** `performance.now` and the runtime's timers. A timer does not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(ms, fire) {
    const handle = setTimeout(fire, Math.min(Math.ceil(ms), longest));
    handle.unref();
    return () => clearTimeout(handle);
  },
};
