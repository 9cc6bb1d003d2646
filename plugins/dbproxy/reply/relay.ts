/**
 * The relay of a backend's replies to its client.
 *
 * @module
 */
import type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";

export type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";

export class ReplyRelay {
  constructor(_client: ReplyClient, _write: (bytes: Uint8Array) => void, _observer: ReplyObserver) {}

  /** Rows of the current or last reply. */
  get rows(): number {
    return 0;
  }

  /** Bytes of the current or last reply that the client was sent. */
  get bytes(): number {
    return 0;
  }

  /** The sequence number of the next packet for the client: what an error packet of the proxy's own must carry. */
  get nextSeq(): number {
    return 0;
  }

  /** How far the client's sequence numbers are ahead of the backend's, modulo 256. */
  get shift(): number {
    return 0;
  }

  /** A reply is awaited or under way. */
  get active(): boolean {
    return false;
  }

  /** What the client was sent ends with a whole packet, so that an error packet may follow. */
  get whole(): boolean {
    return true;
  }

  /** Expects the reply to a command. One that has none (CLOSE, SEND_LONG_DATA, QUIT) leaves the relay inactive, without `onEnd`. */
  begin(_command: number, _options: BeginOptions = {}): void {}

  /** Takes bytes of the backend, changes them in place and passes them on. Returns how many were of this reply. */
  push(_chunk: Uint8Array): number {
    return 0;
  }

  /** The client has sent its file: the server's answer comes next. */
  infileSent(): void {}
}
