import type { ClientDialogue } from "./dialogue.ts";

/** What a client must know to log in. */
export interface ClientDialogueOptions {
  readonly user: string;
  readonly password: string;
  /** The plugin that the greeting names. */
  readonly plugin: string;
  /** The nonce of the greeting, 20 bytes. */
  readonly nonce: Uint8Array;
  /** TLS or a unix socket: the password itself may be sent. */
  readonly secure: boolean;
  /** The server's RSA key as PEM, when it is known beforehand: it is not asked for then. */
  readonly serverKey?: string;
  /** Whether the server may be asked for its RSA key over a plain connection. Default true. */
  readonly allowKeyRetrieval?: boolean;
}

/** The client's side of a login to a backend. */
export function clientDialogue(_options: ClientDialogueOptions): ClientDialogue {
  throw new Error("not yet");
}
