import { CoreError } from "../../../core/error.ts";

/** Who takes a client's commands. `frames` are bytes as they came, headers included, to be forwarded untouched. */
export interface CommandSink {
  /**
   * A command begins. `whole`: all of it is in `frames`; else it has only its beginning there and `onMore` brings the rest.
   * `command` is its first byte, -1 for an empty packet. Nothing of the next command comes before `next()`.
   */
  onCommand(command: number, frames: Uint8Array, whole: boolean): void;
  /** More of a command that was not whole, cut anywhere; `last`: it is complete. */
  onMore(frames: Uint8Array, last: boolean): void;
  /** What came is no command stream (`DB_SEQUENCE`, `DB_PACKET_TOO_LARGE`); nothing else comes any more. */
  onProblem(error: CoreError): void;
}

export interface CommandReaderOptions {
  /** Bytes of a command that are gathered before it is handed on in parts. Default 65536. */
  readonly headLimit?: number;
  /** The longest command, bytes of payload. Default 1 GiB, the most that servers can be set to. */
  readonly maxPacket?: number;
}

/** Cuts the bytes of a logged in client into commands, one at a time. */
export class CommandReader {
  constructor(sink: CommandSink, options: CommandReaderOptions = {}) {
    void sink, options;
  }

  /** Bytes that came and wait for `next()` or `release()`. */
  get held(): number {
    return 0;
  }

  /** Takes a chunk and keeps it. */
  push(chunk: Uint8Array): void {
    void chunk;
  }

  /** The session is ready for the next command. May be called from within `onCommand`. */
  next(): void {}

  /** Delivers nothing, not even `onMore`, until `release()`: where the bytes go to is congested or not there yet. */
  hold(): void {}

  release(): void {}

  /**
   * What follows the present command are packets and not commands (a dialogue of COM_CHANGE_USER), until `onPacket`
   * returns false; then commands come again, after `next()`. A CoreError thrown by it comes back as `onProblem`.
   */
  takePackets(onPacket: (payload: Uint8Array, seq: number) => boolean | void): void {
    void onPacket;
  }

  /** What follows are the packets of a file (LOCAL INFILE), up to and with the empty one; then commands, after `next()`. */
  infile(onData: (frames: Uint8Array, last: boolean) => void): void {
    void onData;
    throw new CoreError("DB_PROTOCOL", "not yet");
  }
}
