import { CoreError } from "../../../core/error.ts";
import type { Secret, ServerDialogue } from "../auth/dialogue.ts";
import { newNonce } from "../auth/nonce.ts";
import { rsaKeys } from "../auth/rsa.ts";
import { serverDialogue, type Sha2Cache, trustDialogue } from "../auth/server_dialogue.ts";
import type { Backend } from "../backend/backend.ts";
import type { ServerFacts } from "../backend/facts.ts";
import type { ByteSocket } from "../net/socket.ts";
import { startTlsServer, type TlsServerContext } from "../net/tls.ts";
import { plan } from "../state/plan.ts";
import { CAP } from "../wire/capabilities.ts";
import { compressed, zstdSupported } from "../wire/compressed.ts";
import { Conversation } from "../wire/conversation.ts";
import { encodeErr } from "../wire/err.ts";
import { accessDenied, badHandshake, insecureTransport } from "../wire/errors.ts";
import { encodeGreeting } from "../wire/greeting.ts";
import { decodeLogin, isSslRequest } from "../wire/login.ts";
import { encodeOk } from "../wire/ok.ts";
import type { ErrPacket, Greeting, Login } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import { changeUser } from "./change_user.ts";
import { errorFor } from "./error_for.ts";
import { type SessionHost, wantOf, withPromised } from "./host.ts";
import { Session } from "./session.ts";
import type { Talk } from "./talk.ts";
import { Track } from "./track.ts";

/** What the proxy can do itself, or passes on; a server's greeting is cut to this. */
const able = CAP.CLIENT_MYSQL | CAP.FOUND_ROWS | CAP.LONG_FLAG | CAP.CONNECT_WITH_DB | CAP.NO_SCHEMA | CAP.ODBC |
  CAP.LOCAL_FILES | CAP.IGNORE_SPACE | CAP.PROTOCOL_41 | CAP.INTERACTIVE | CAP.IGNORE_SIGPIPE | CAP.TRANSACTIONS |
  CAP.SECURE_CONNECTION | CAP.MULTI_STATEMENTS | CAP.MULTI_RESULTS | CAP.PS_MULTI_RESULTS | CAP.PLUGIN_AUTH |
  CAP.CONNECT_ATTRS | CAP.PLUGIN_AUTH_LENENC | CAP.CAN_HANDLE_EXPIRED_PASSWORDS | CAP.SESSION_TRACK |
  CAP.DEPRECATE_EOF | CAP.QUERY_ATTRIBUTES | CAP.COMPRESS | (zstdSupported ? CAP.ZSTD_COMPRESSION : 0);

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

/** Greets a client, logs it in and makes it a session. Never rejects. */
export async function welcome(socket: ByteSocket, options: FrontOptions): Promise<void> {
  let talk = new Conversation(socket);
  let promised: Backend | undefined;
  const timer = setTimeout(() => {
    talk.abort(new CoreError("DB_LOGIN_TIMEOUT", `The client did not log in within ${options.timeoutMs} ms`));
  }, options.timeoutMs);
  try {
    const meeting = options.meet();
    if (meeting !== undefined) await meeting;
    const { host } = options;
    const { facts } = host;
    promised = host.promises.make(host.sessions.highest);
    const id = promised?.id ?? host.sessions.nextId();
    const greeting = greetingFor(facts, id, options.tls !== undefined);
    talk.write(encodeGreeting(greeting));
    let payload = await talk.read();
    if (isSslRequest(payload)) {
      if (options.tls === undefined) throw new Refused(badHandshake());
      const { seq } = talk;
      const secured = await startTlsServer(talk.socket, talk.leave(), options.tls, { timeoutMs: options.timeoutMs });
      talk = new Conversation(secured);
      talk.seq = seq;
      payload = await talk.read();
    }
    const login = readLogin(payload);
    if (options.tlsRequired && !talk.socket.secure) throw new Refused(insecureTransport());
    const capabilities = login.capabilities & greeting.capabilities;
    const known = options.auth === "trust" || options.users.has(login.user);
    const relayed = known || options.relay === undefined ? undefined : await options.relay(talk, login, greeting.nonce);
    let farewell: readonly Uint8Array[] = [];
    if (relayed === undefined) farewell = await authenticate(talk, login, greeting, options);
    const track = new Track(
      facts,
      host.root(login.charset),
      (capabilities & CAP.CONNECT_WITH_DB) === 0 ? undefined : login.database,
      (capabilities & CAP.MULTI_STATEMENTS) !== 0,
    );
    let backend = relayed?.backend;
    try {
      backend ??= await enter(host, capabilities, track, promised, talk);
    } catch (cause) {
      // The password was right.
      talk.write(...farewell);
      throw cause;
    }
    clearTimeout(timer);
    if (relayed === undefined) host.promises.saw(wantOf(track, capabilities, true));
    else if (promised !== undefined) {
      host.promises.void(promised);
      promised = undefined;
    }
    talk.write(...farewell, okPacket(track.status, capabilities));
    const session = new Session(relayed?.host ?? host, {
      id,
      user: login.user,
      capabilities,
      ...compressedIf(talk.socket, capabilities, login.zstdLevel),
      track,
      backend,
      promised,
      dedicated: relayed !== undefined,
      changeUser: (self, client, changed) => void changeUser(self, client, changed, { ...options, greeting }),
    });
    // While its schema was looked for, it may have left.
    if (talk.over) return session.close();
    const rest = talk.leave();
    if (rest.byteLength > 0) session.onData(rest);
  } catch (cause) {
    clearTimeout(timer);
    if (promised !== undefined) options.host.promises.end(promised);
    if ((cause as CoreError).code === "DB_CLOSED") return talk.socket.destroy();
    options.turnedAway(talk.socket, cause as CoreError);
    const packet = cause instanceof Refused ? cause.packet : errorFor(cause);
    // Before the greeting there is no SQLSTATE.
    talk.write(encodeErr(packet, talk.seq === 0));
    talk.socket.end();
  }
}

/** A client that is told no. */
export class Refused extends CoreError {
  readonly packet: ErrPacket;

  constructor(packet: ErrPacket) {
    super("DB_CLIENT_REFUSED", packet.message);
    this.packet = packet;
  }
}

function greetingFor(facts: ServerFacts, threadId: number, tls: boolean): Greeting {
  const { greeting } = facts;
  return {
    ...greeting,
    threadId,
    nonce: newNonce(),
    capabilities: (greeting.capabilities & able) | (tls ? CAP.SSL : 0),
    extended: 0,
    status: greeting.status & ~STATUS.SESSION_STATE_CHANGED,
    plugin: greeting.plugin === "mysql_native_password" ? greeting.plugin : "caching_sha2_password",
  };
}

function readLogin(payload: Uint8Array): Login {
  let login: Login;
  try {
    login = decodeLogin(payload);
  } catch {
    throw new Refused(badHandshake());
  }
  if ((login.capabilities & CAP.PROTOCOL_41) === 0) throw new Refused(badHandshake());
  return login;
}

/** Checks who it is. Returns what must be sent before the OK. */
async function authenticate(
  talk: Conversation,
  login: Login,
  greeting: Greeting,
  options: FrontOptions,
): Promise<readonly Uint8Array[]> {
  const dialogue = dialogueFor(login.user, greeting.plugin, greeting.nonce, talk.socket.secure, options);
  const plugin = login.plugin === "" ? "mysql_native_password" : login.plugin;
  let step = dialogue.start({ plugin, auth: login.auth });
  while (step.kind === "wait") {
    talk.write(...step.send);
    step = dialogue.next(await talk.read());
  }
  if (step.kind === "accepted") return step.send;
  options.authFailed(plugin);
  talk.write(...step.send);
  throw new Refused(accessDenied(login.user, hostOf(talk.socket), login.auth.byteLength > 0));
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

/** How a server names where a client is. */
export function hostOf(socket: ByteSocket): string {
  return socket.remoteAddress === "" ? "localhost" : socket.remoteAddress;
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

/** Wraps the connection in the compression that was negotiated, if any. */
function compressedIf(
  socket: ByteSocket,
  capabilities: number,
  level: number,
): { readonly socket: ByteSocket; readonly restart?: () => void } {
  const zlib = (capabilities & CAP.COMPRESS) !== 0;
  if (!zlib && (capabilities & CAP.ZSTD_COMPRESSION) === 0) return { socket };
  const wrapped = zlib ? compressed(socket, "zlib") : compressed(socket, "zstd", level);
  return { socket: wrapped, restart: () => wrapped.restart() };
}
