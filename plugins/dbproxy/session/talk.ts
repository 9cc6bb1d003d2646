import { CoreError } from "../../../core/error.ts";
import type { ByteSocket } from "../net/socket.ts";
import type { CommandReader } from "../wire/command_reader.ts";
import { frames } from "../wire/frame.ts";

/** A client with whom packets are exchanged that are no commands. */
export interface Talk {
  /** What its connection is like: whether a secret may come as it is, and over TLS. */
  readonly socket: { readonly secure: boolean; readonly encrypted: boolean };
  read(): Promise<Uint8Array>;
  /** Sends packets in one write. */
  write(...payloads: readonly Uint8Array[]): void;
}

/** The dialogue within a session that begins with a command; a handshake is a `Conversation`. */
export class SessionTalk implements Talk {
  readonly socket: ByteSocket;
  readonly #reader: CommandReader;
  #seq = 1;
  #over = false;
  /** Fails whoever reads. */
  #unheard: ((error: CoreError) => void) | undefined;

  constructor(socket: ByteSocket, reader: CommandReader) {
    this.socket = socket;
    this.#reader = reader;
  }

  /** @throws CoreError `DB_CLOSED` when the client leaves */
  read(): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#over) return reject(new CoreError("DB_CLOSED", "The client has left"));
      this.#unheard = reject;
      this.#reader.takePackets((payload, seq) => {
        this.#unheard = undefined;
        this.#seq = (seq + 1) & 255;
        resolve(payload.slice());
        return false;
      });
    });
  }

  write(...payloads: readonly Uint8Array[]): void {
    if (payloads.length === 0) return;
    if (!this.#over) this.socket.write(frames(this.#seq, payloads));
    this.#seq = (this.#seq + payloads.length) & 255;
  }

  /** The client has left. */
  leave(): void {
    this.#over = true;
    this.#unheard?.(new CoreError("DB_CLOSED", "The client left in the middle of a dialogue"));
  }
}
