/**
 * Replies to the proxy's own commands.
 *
 * @module
 */
import type { ErrPacket, OkPacket } from "../wire/packets.ts";

/** A whole reply. Of several results the last one's; `err` when the last one failed. */
export interface Collected {
  /** The OK, or the end of the result set. */
  readonly ok?: OkPacket;
  readonly err?: ErrPacket;
  /** Names of the columns of a text result. */
  readonly columns?: string[];
  readonly rows?: (string | null)[][];
}

export class ReplyCollector {
  /** Replies still expected. */
  get waiting(): number {
    return 0;
  }

  /** Expects the reply to a command, after those expected before. */
  expect(_command: number, _done: (reply: Collected) => void): void {}

  /**
   * Takes bytes of the backend. Returns how many were of the expected replies; the rest is someone else's.
   *
   * @throws CoreError `DB_PROTOCOL` when the stream makes no sense, or a reply is longer than 1 MiB
   */
  push(_chunk: Uint8Array): number {
    return 0;
  }
}
