/**
 * What the small packets of the protocol mean, decoded. The codecs are in the files named beside each type; this module
 * holds types only, so that everything may import it.
 *
 * @module
 */

/** The server's first packet (HandshakeV10). Codec: `greeting.ts`. */
export interface Greeting {
  /** As on the wire, so with MariaDB's `5.5.5-` where the server sends it. */
  readonly version: string;
  readonly threadId: number;
  /** 20 bytes. */
  readonly nonce: Uint8Array;
  readonly capabilities: number;
  /** MariaDB's extended capabilities; 0 on MySQL. */
  readonly extended: number;
  /** Collation id, 0 to 255. */
  readonly charset: number;
  readonly status: number;
  readonly plugin: string;
}

/** The client's answer (HandshakeResponse41). Codec: `login.ts`. */
export interface Login {
  readonly capabilities: number;
  readonly extended: number;
  readonly maxPacket: number;
  readonly charset: number;
  readonly user: string;
  readonly auth: Uint8Array;
  /** Undefined when the client names none. */
  readonly database: string | undefined;
  /** The plugin its `auth` is for; empty when it does not say. */
  readonly plugin: string;
  /** Connection attributes in their order. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly zstdLevel: number;
}

/** COM_CHANGE_USER. Codec: `login.ts`. */
export interface ChangeUser {
  readonly user: string;
  readonly auth: Uint8Array;
  readonly database: string | undefined;
  /** Collation id, 16 bits here; 0 when absent. */
  readonly charset: number;
  readonly plugin: string;
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

/** An OK packet, or the OK that ends a result set. Codec: `ok.ts`. */
export interface OkPacket {
  readonly affectedRows: number | bigint;
  readonly insertId: number | bigint;
  readonly status: number;
  readonly warnings: number;
  readonly info: string;
  /** The raw block of session trackers, or undefined. Decoded by `trackers.ts`. */
  readonly trackers: Uint8Array | undefined;
}

/** An error packet. Codec: `err.ts`. */
export interface ErrPacket {
  readonly code: number;
  /** Five characters; empty before the handshake is done. */
  readonly state: string;
  readonly message: string;
}

/** What a block of session trackers says. Codec: `trackers.ts`. */
export interface Trackers {
  /** System variables in their order of appearance. */
  readonly variables: readonly (readonly [name: string, value: string])[];
  readonly schema: string | undefined;
  /** The state-change bit: something of the session was touched. */
  readonly stateChanged: boolean;
  /** Transaction characteristics (a SQL text), when reported. */
  readonly characteristics: string | undefined;
  /** Eight characters of transaction state, when reported. */
  readonly transaction: string | undefined;
  readonly gtids: string | undefined;
}
