import type { SqlMode } from "./statement.ts";

export interface Digest {
  /** 16 hex digits. */
  readonly hash: string;
  readonly text: string;
}

/** The normalised text. */
export function digestText(_sql: Uint8Array, _mode: SqlMode): string {
  throw new Error("not yet");
}

/** The normalised text and its hash; the text is made only the first time a hash is seen. */
export function digestOf(_sql: Uint8Array, _mode: SqlMode): Digest {
  throw new Error("not yet");
}
