/**
 * Authentication as pure state machines: packets' payloads in, payloads out. No socket, no packet header, no clock.
 *
 * @module
 */

/** The client's side of a login: answers what the server asks. */
export interface ClientDialogue {
  /** The `auth` field of the login packet, for the plugin and nonce of the greeting. */
  first(): { readonly plugin: string; readonly auth: Uint8Array };
  /**
   * The server's next packet of the authentication phase, not OK and not ERR (`fe` auth switch, `01` more data). Returns
   * what to send, or undefined when the server will say more by itself.
   *
   * @throws CoreError `DB_AUTH_UNSUPPORTED` (plugin unknown, or a secret would go in clear), `DB_PROTOCOL`
   */
  next(payload: Uint8Array): Uint8Array | undefined;
}

/** What is kept of a user's password: the password itself, or hashes that suffice to verify one. */
export interface Secret {
  readonly password?: string;
  /** `SHA1(SHA1(password))`, 20 bytes: what `mysql.user` holds for mysql_native_password. */
  readonly native?: Uint8Array;
}

/** The server's side of one login. */
export interface ServerDialogue {
  /** What the client sent with its login; returns what to send next, or a verdict. */
  start(login: { readonly plugin: string; readonly auth: Uint8Array }): ServerStep;
  /** The client's next packet. */
  next(payload: Uint8Array): ServerStep;
}

/** `send`: payloads to send, in order, then wait for the client. `accepted` and `refused` end it; `send` then goes before OK or ERR. */
export type ServerStep =
  | { readonly kind: "wait"; readonly send: readonly Uint8Array[] }
  | { readonly kind: "accepted"; readonly send: readonly Uint8Array[] }
  | { readonly kind: "refused"; readonly send: readonly Uint8Array[] };
