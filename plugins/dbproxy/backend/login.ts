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

/**
 * Connects and logs in.
 *
 * @throws ServerRefused what the server says no with; CoreError `DB_CONNECT`, `DB_TLS`, `DB_TIMEOUT`, `DB_CLOSED`,
 * `DB_PROTOCOL`, `DB_AUTH_UNSUPPORTED`
 */
export async function login(account: Account, wish: LoginWish, signal?: AbortSignal): Promise<LoggedIn> {
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
  try {
    const greeting = decodeGreeting(await talk.read());
    if ("code" in greeting) throw new ServerRefused(greeting);
    const { mode } = account.tls;
    const tls = mode !== "disabled" && !(mode === "preferred" && talk.socket.secure);
    const canTls = (greeting.capabilities & CAP.SSL) !== 0;
    if (tls && !canTls && mode !== "preferred") {
      throw new CoreError("DB_TLS", `tls is "${mode}" but the database does not offer TLS`);
    }
    const capabilities = (always | wish.flags | (wish.schema === undefined ? 0 : CAP.CONNECT_WITH_DB) |
      (tls && canTls ? CAP.SSL : 0)) & (greeting.capabilities | CAP.CLIENT_MYSQL);
    const base = { capabilities, extended: 0, maxPacket: 0x40000000, charset: wish.charset };
    if ((capabilities & CAP.SSL) !== 0) {
      talk.write(encodeSslRequest(base));
      const { seq } = talk;
      talk = new Conversation(await startTlsClient(talk.socket, tlsOptions(account)));
      talk.seq = seq;
    }
    const dialogue = clientDialogue({
      user: account.user,
      password: account.password,
      plugin: greeting.plugin,
      nonce: greeting.nonce,
      secure: talk.socket.secure,
    });
    const first = dialogue.first();
    const packet: Login = {
      ...base,
      user: account.user,
      auth: first.auth,
      database: wish.schema,
      plugin: first.plugin,
      attributes: [["_client_name", "fairlead"], ["program_name", "fairlead"]],
      zstdLevel: 0,
    };
    talk.write(encodeLogin(packet));
    for (;;) {
      const answer = await talk.read();
      if (answer[0] === 0x00) return { socket: talk.socket, greeting, capabilities, leftover: talk.leave() };
      if (answer[0] === 0xff) throw new ServerRefused(decodeErr(answer));
      const next = dialogue.next(answer);
      if (next !== undefined) talk.write(next);
    }
  } catch (cause) {
    talk.socket.destroy();
    throw cause;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", given);
  }
}

function tlsOptions(account: Account): Parameters<typeof startTlsClient>[1] {
  const { mode, ca, cert, key } = account.tls;
  return {
    mode,
    timeoutMs: account.timeoutMs,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(account.place.kind === "tcp" ? { servername: account.place.host } : {}),
  };
}
