import type { Secret, ServerDialogue } from "./dialogue.ts";
import type { RsaKeys } from "./rsa.ts";
import type { Sha2Cache } from "./sha2_cache.ts";

export { Sha2Cache } from "./sha2_cache.ts";

/** What a server must know to check a login. */
export interface ServerDialogueOptions {
  readonly user: string;
  /** Undefined for a user that does not exist: it goes through the same packets and is refused. */
  readonly secret: Secret | undefined;
  /** The plugin that the greeting offered. */
  readonly plugin: string;
  /** The nonce of the greeting, 20 bytes. */
  readonly nonce: Uint8Array;
  /** TLS or a unix socket: the password itself may come. */
  readonly secure: boolean;
  /** Called when a client asks for the RSA key. */
  readonly keys: () => RsaKeys;
  readonly cache: Sha2Cache;
}

/** The server's side of a login that is checked. */
export function serverDialogue(_options: ServerDialogueOptions): ServerDialogue {
  throw new Error("not yet");
}

/** The server's side of a login that is accepted whatever the client knows. */
export function trustDialogue(): ServerDialogue {
  throw new Error("not yet");
}
