/**
 * Makes of a task one that never runs twice at once: who asks during a run gets a whole one after it, together with all who
 * have asked meanwhile.
 */
export function oneAtATime<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined, next: Promise<T> | undefined;
  const run = (): Promise<T> => {
    const own: Promise<T> = running = task().finally(() => {
      if (running === own) running = undefined;
    });
    return own;
  };
  return () => {
    // Between the end of one run and the start of the next, the next is as good as running.
    if (next !== undefined) return next;
    if (running === undefined) return run();
    return next = running.then(() => {}, () => {}).then(() => {
      next = undefined;
      return run();
    });
  };
}
