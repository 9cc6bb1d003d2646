import { frames } from "../wire/frame.ts";
import type { Session } from "./session.ts";

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
  readonly #session: Session;
  #seq = 1;

  constructor(session: Session) {
    this.#session = session;
  }

  get socket(): Talk["socket"] {
    return this.#session.connection;
  }

  async read(): Promise<Uint8Array> {
    const { payload, seq } = await this.#session.packet();
    this.#seq = (seq + 1) & 255;
    return payload;
  }

  write(...payloads: readonly Uint8Array[]): void {
    if (payloads.length === 0) return;
    this.#session.say(frames(this.#seq, payloads));
    this.#seq = (this.#seq + payloads.length) & 255;
  }
}
