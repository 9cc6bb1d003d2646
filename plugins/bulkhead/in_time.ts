import type { Clock } from "../../core/clock.ts";

/**
 * Runs `then` in `ms`, counted in two halves: of a time in which the process was stopped or busy only one counts, so what came
 * meanwhile is heard first. Returns what calls it off.
 */
export function patientTimer(clock: Clock, ms: number, then: () => void): () => void {
  let off = clock.setTimer(ms / 2, () => off = clock.setTimer(ms / 2, then));
  return () => off();
}

/**
 * What `answer` comes to, or `otherwise` where it takes longer than `ms`: for what goes on behind the back of whoever asked. What it
 * comes to later is nobody's.
 */
export function inTime<T>(clock: Clock, ms: number, answer: Promise<T>, otherwise: T): Promise<T> {
  return new Promise((resolve, reject) => {
    const off = patientTimer(clock, ms, () => resolve(otherwise));
    answer.finally(off).then(resolve, reject);
  });
}
