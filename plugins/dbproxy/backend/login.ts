import { CoreError } from "../../../core/error.ts";
import { clientDialogue } from "../auth/client_dialogue.ts";
import { connect } from "../net/connect.ts";
import type { ByteSocket } from "../net/socket.ts";
import { startTlsClient } from "../net/tls.ts";
import { CAP } from "../wire/capabilities.ts";
import { Conversation } from "../wire/conversation.ts";
import { decodeErr } from "../wire/err.ts";
import { decodeGreeting } from "../wire/greeting.ts";
import { encodeLogin, encodeSslRequest } from "../wire/login.ts";
import type { ErrPacket, Greeting, Login } from "../wire/packets.ts";
import type { Account } from "./account.ts";

/** What every backend is asked for, besides the flags of its kind. */
const always = CAP.CLIENT_MYSQL | CAP.LONG_FLAG | CAP.PROTOCOL_41 | CAP.TRANSACTIONS | CAP.SECURE_CONNECTION |
  CAP.MULTI_RESULTS | CAP.PLUGIN_AUTH | CAP.CONNECT_ATTRS | CAP.PLUGIN_AUTH_LENENC | CAP.SESSION_TRACK |
  CAP.DEPRECATE_EOF;

/** What the proxy says of itself. */
export const ownAttributes: Login["attributes"] = [["_client_name", "fairlead"], ["program_name", "fairlead"]];

/** What the proxy says it takes at most, in bytes: as much as servers can be set to. */
const longestPacket = 0x40000000;

/** What a connection should be like from its first moment. */
export interface LoginWish {
  /** Flags of the kind, and MULTI_STATEMENTS. */
  readonly flags: number;
  readonly charset: number;
  readonly schema: string | undefined;
}

/** A connection that is logged in. */
export interface LoggedIn {
  readonly socket: ByteSocket;
  readonly greeting: Greeting;
  readonly capabilities: number;
  /** What came behind the server's OK; normally nothing. */
  readonly leftover: Uint8Array;
}

/** An error packet as an error. `final` tells that trying again will not help. */
export class ServerRefused extends CoreError {
  readonly packet: ErrPacket;
  readonly final: boolean;

  constructor(packet: ErrPacket) {
    super("DB_REFUSED", `The database refused the proxy: ${packet.message} (${packet.code})`);
    this.packet = packet;
    this.final = finalErrors.has(packet.code);
  }
}

/** Access denied, unknown database, unknown plugin and their kin: the configuration is wrong, not the moment. */
const finalErrors: ReadonlySet<number> = new Set([1044, 1045, 1049, 1130, 1251, 1524, 1698, 1862, 3118, 4151]);

/** A connection that the server has greeted, in TLS where that is wanted; the login comes next. */
export interface OpenedLogin {
  readonly talk: Conversation;
  readonly greeting: Greeting;
  readonly capabilities: number;
  /** The login went well. */
  done(): void;
  /** It did not: closes the connection. */
  fail(): void;
}

/**
 * Connects and logs in.
 *
 * @throws ServerRefused what the server says no with; CoreError `DB_CONNECT`, `DB_TLS`, `DB_TIMEOUT`, `DB_CLOSED`,
 * `DB_PROTOCOL`, `DB_AUTH_UNSUPPORTED`
 */
export async function login(account: Account, wish: LoginWish, signal?: AbortSignal): Promise<LoggedIn> {
  const opened = await openLogin(account, wish, signal);
  const { talk, greeting, capabilities } = opened;
  try {
    const { user, password } = account;
    const { plugin, nonce } = greeting;
    const { secure, encrypted } = talk.socket;
    const dialogue = clientDialogue({ user, password, plugin, nonce, secure, encrypted });
    const first = dialogue.first();
    talk.write(encodeLogin({
      capabilities,
      extended: 0,
      maxPacket: longestPacket,
      charset: wish.charset,
      user,
      auth: first.auth,
      database: wish.schema,
      plugin: first.plugin,
      attributes: ownAttributes,
      zstdLevel: 0,
    }));
    for (;;) {
      const answer = await talk.read();
      if (answer[0] === 0x00) break;
      if (answer[0] === 0xff) throw new ServerRefused(decodeErr(answer));
      const next = dialogue.next(answer);
      if (next !== undefined) talk.write(next);
    }
    opened.done();
    return { socket: talk.socket, greeting, capabilities, leftover: talk.leave() };
  } catch (cause) {
    opened.fail();
    throw cause;
  }
}

/** Connects and reads the greeting; see {@linkcode login}. The timeout runs until `done` or `fail`. */
export async function openLogin(account: Account, wish: LoginWish, signal?: AbortSignal): Promise<OpenedLogin> {
  const { timeoutMs } = account;
  const socket = await connect(account.place, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
  let talk = new Conversation(socket);
  const late = () => {
    const text = `The database did not finish the handshake within ${timeoutMs} ms`;
    talk.abort(new CoreError("DB_TIMEOUT", text));
  };
  const timer = setTimeout(late, timeoutMs);
  const given = () => talk.abort(new CoreError("DB_CANCELLED", "The connection is not wanted any more"));
  signal?.addEventListener("abort", given, { once: true });
  const done = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", given);
  };
  const fail = () => {
    done();
    talk.socket.destroy();
  };
  try {
    const greeting = decodeGreeting(await talk.read());
    if ("code" in greeting) throw new ServerRefused(greeting);
    const tls = wantsTls(account, talk.socket, greeting);
    const capabilities = (always | wish.flags | (wish.schema === undefined ? 0 : CAP.CONNECT_WITH_DB) |
      (tls ? CAP.SSL : 0)) & (greeting.capabilities | CAP.CLIENT_MYSQL);
    if (tls) {
      talk.write(encodeSslRequest({ capabilities, extended: 0, maxPacket: longestPacket, charset: wish.charset }));
      const { seq } = talk;
      talk = new Conversation(await startTlsClient(talk.socket, tlsOptions(account)));
      talk.seq = seq;
    }
    return { talk, greeting, capabilities, done, fail };
  } catch (cause) {
    fail();
    throw cause;
  }
}

function wantsTls(account: Account, socket: ByteSocket, greeting: Greeting): boolean {
  const { mode } = account.tls;
  if (mode === "disabled" || (mode === "preferred" && socket.secure)) return false;
  if ((greeting.capabilities & CAP.SSL) !== 0) return true;
  if (mode === "preferred") return false;
  throw new CoreError("DB_TLS", `tls is "${mode}" but the database does not offer TLS`);
}

function tlsOptions(account: Account): Parameters<typeof startTlsClient>[1] {
  const { mode, ca, cert, key, serverName } = account.tls;
  const name = serverName ?? (account.place.kind === "tcp" ? account.place.host : undefined);
  return {
    mode,
    timeoutMs: account.timeoutMs,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(name === undefined ? {} : { servername: name }),
  };
}
