/** Throws where nobody is in the way: the runtime tells of it. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
