/**
 * What a login and a change of the user have in common.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { Secret, ServerDialogue } from "../auth/dialogue.ts";
import { rsaKeys } from "../auth/rsa.ts";
import { serverDialogue, type Sha2Cache, trustDialogue } from "../auth/server_dialogue.ts";
import type { Backend } from "../backend/backend.ts";
import type { ByteSocket } from "../net/socket.ts";
import type { TlsServerContext } from "../net/tls.ts";
import { plan } from "../state/plan.ts";
import { encodeOk } from "../wire/ok.ts";
import type { ErrPacket, Login } from "../wire/packets.ts";
import { type SessionHost, wantOf, withPromised } from "./host.ts";
import type { Talk } from "./talk.ts";
import type { Track } from "./track.ts";

/** Who may come in, and how. Times in ms. */
export interface FrontOptions {
  readonly host: SessionHost;
  readonly auth: "trust" | "users";
  readonly users: ReadonlyMap<string, Secret>;
  readonly cache: Sha2Cache;
  readonly tls: TlsServerContext | undefined;
  readonly tlsRequired: boolean;
  /** From the connection to the login. */
  readonly timeoutMs: number;
  /** Waits until the server is known, if it is not. */
  meet(): Promise<void> | undefined;
  /** Logs in a user the proxy does not know, at the server itself; undefined when such users are refused. */
  readonly relay?: ((talk: Talk, login: Login, nonce: Uint8Array) => Promise<Relayed>) | undefined;
  authFailed(plugin: string): void;
  /** A client was not let in. */
  turnedAway(client: ByteSocket, error: CoreError): void;
}

/** A connection to the server for one client alone. */
export interface Relayed {
  readonly host: SessionHost;
  readonly backend: Backend;
}

/** A client that is told no. */
export class Refused extends CoreError {
  readonly packet: ErrPacket;

  constructor(packet: ErrPacket) {
    super("DB_CLIENT_REFUSED", packet.message);
    this.packet = packet;
  }
}

/** The server's side of a login. */
export function dialogueFor(
  user: string,
  plugin: string,
  nonce: Uint8Array,
  secure: boolean,
  options: FrontOptions,
): ServerDialogue {
  if (options.auth === "trust") return trustDialogue();
  const { cache } = options;
  return serverDialogue({ user, secret: options.users.get(user), plugin, nonce, secure, keys: () => rsaKeys(), cache });
}

/** A client that may leave while others work for it. */
export interface Leaver {
  onLeave: (() => void) | undefined;
}

/**
 * Makes sure that the client's default schema is there, as its login would. Returns the backend that was needed to ask;
 * none when the schema was used lately.
 *
 * @throws CoreError `DB_CLOSED` when the client leaves before it has a backend
 */
export async function enter(
  host: SessionHost,
  capabilities: number,
  track: Track,
  promised: Backend | undefined,
  client: Leaver,
): Promise<Backend | undefined> {
  const { schema } = track;
  if (schema === undefined || host.schemas.known(schema)) return undefined;
  const want = withPromised(wantOf(track, capabilities, true), promised);
  const backend = await new Promise<Backend>((resolve, reject) => {
    const checkout = host.checkout(want, { onBackend: resolve, onRefuse: reject });
    // Who has left stands in no line.
    client.onLeave = () => {
      checkout.cancel();
      reject(new CoreError("DB_CLOSED", "The client left while its schema was looked for"));
    };
  }).finally(() => client.onLeave = undefined);
  try {
    // Chosen again even where it is chosen: it may have been dropped.
    const steps = plan(backend.state, want);
    await backend.prepare(
      steps.some(({ kind }) => kind === "schema") ? steps : [...steps, { kind: "schema", name: schema }],
    );
  } catch (cause) {
    host.discard(backend, "unprepared");
    throw cause;
  }
  host.schemas.remember(schema);
  return backend;
}

export function okPacket(status: number, capabilities: number): Uint8Array {
  return encodeOk({ affectedRows: 0, insertId: 0, status, warnings: 0, info: "", trackers: undefined }, capabilities);
}
