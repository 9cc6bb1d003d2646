import { CoreError } from "../../../core/error.ts";
import { newNonce } from "../auth/nonce.ts";
import type { Backend } from "../backend/backend.ts";
import type { ServerFacts } from "../backend/facts.ts";
import type { ByteSocket } from "../net/socket.ts";
import { startTlsServer } from "../net/tls.ts";
import { CAP } from "../wire/capabilities.ts";
import { compressed, zstdSupported } from "../wire/compressed.ts";
import { Conversation } from "../wire/conversation.ts";
import { encodeErr } from "../wire/err.ts";
import { accessDenied, badHandshake, insecureTransport } from "../wire/errors.ts";
import { encodeGreeting } from "../wire/greeting.ts";
import { decodeLogin, isSslRequest } from "../wire/login.ts";
import type { Greeting, Login } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import { changeUser } from "./change_user.ts";
import { dialogueFor, enter, type FrontOptions, okPacket, Refused } from "./entrance.ts";
import { errorFor } from "./error_for.ts";
import { wantOf } from "./host.ts";
import { Session } from "./session.ts";
import { Track } from "./track.ts";

/** What the proxy can do itself, or passes on; a server's greeting is cut to this. */
const able = CAP.CLIENT_MYSQL | CAP.FOUND_ROWS | CAP.LONG_FLAG | CAP.CONNECT_WITH_DB | CAP.NO_SCHEMA | CAP.ODBC |
  CAP.LOCAL_FILES | CAP.IGNORE_SPACE | CAP.PROTOCOL_41 | CAP.INTERACTIVE | CAP.IGNORE_SIGPIPE | CAP.TRANSACTIONS |
  CAP.SECURE_CONNECTION | CAP.MULTI_STATEMENTS | CAP.MULTI_RESULTS | CAP.PS_MULTI_RESULTS | CAP.PLUGIN_AUTH |
  CAP.CONNECT_ATTRS | CAP.PLUGIN_AUTH_LENENC | CAP.CAN_HANDLE_EXPIRED_PASSWORDS | CAP.SESSION_TRACK |
  CAP.DEPRECATE_EOF | CAP.QUERY_ATTRIBUTES | CAP.COMPRESS | (zstdSupported ? CAP.ZSTD_COMPRESSION : 0);

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

/** How a server names where a client is. */
function hostOf(socket: ByteSocket): string {
  return socket.remoteAddress === "" ? "localhost" : socket.remoteAddress;
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
