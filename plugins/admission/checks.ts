import { CoreError } from "../../core/error.ts";

/** `value`, when it is a whole number of at least 1; else an error that says what it is of. */
export function whole(what: string, value: number): number {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new CoreError("ADMISSION_NUMBER", `Expected ${what} to be a whole number of at least 1, got ${value}`);
}

/** Throws where no caller can mistake the error for its own. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
