/**
 * Who a reply is relayed to, and who looks on.
 *
 * @module
 */
import type { CoreError } from "../../../core/error.ts";
import type { ErrPacket, OkPacket } from "../wire/packets.ts";

/** What the client of a relayed reply has negotiated. Read anew at every packet it matters to, so a getter may follow the session. */
export interface ReplyClient {
  readonly deprecateEof: boolean;
  readonly sessionTrack: boolean;
  /**
   * Which trackers a client with `sessionTrack` is shown: the proxy switches some on for itself. `all` when absent.
   * A block with nothing left in it goes as if the server had not changed anything.
   */
  readonly trackers?: "all" | "none" | ShowsTracker;
}

/** Whether the client is shown an entry of a block of trackers, type and length included. Asked once of each, in order. */
export type ShowsTracker = (type: number, entry: Uint8Array) => boolean;

/** Told what passes. Called from within `push`; `onEnd`, `onInfile` and `onBroken` after everything before them was written. */
export interface ReplyObserver {
  /** Every OK and every end of a result set, in order, as the server sent it. It may be kept. */
  onOk(ok: OkPacket): void;
  onErr(err: ErrPacket): void;
  onPrepared(id: number, columns: number, parameters: number): void;
  /**
   * The server asked for a local file. The client's packets go to the server now, each sequence number less the relay's
   * `shift`; call `infileSent` after the empty one. Where `allowInfile` was not set the client was told nothing: send the
   * server an empty packet with the relay's `backendSeq` in its place, then call `infileSent`.
   */
  onInfile(): void;
  /** The whole reply is passed on; the next may begin at once. */
  onEnd(): void;
  /** The stream makes no sense any more: the backend must be closed. The relay swallows what still comes. */
  onBroken(error: CoreError): void;
}

export interface BeginOptions {
  /** The client has negotiated LOCAL_FILES; false when absent. */
  readonly allowInfile?: boolean;
  /** The sequence number the reply starts with, one more than that of the request's last frame; 1 when absent. */
  readonly seq?: number;
  /**
   * How many results the text will bring as far as one can tell, Infinity for a CALL; 1 when absent. Only shown to classic
   * clients, in the first EOF of a result set whose end is not in yet.
   */
  readonly results?: number;
}
