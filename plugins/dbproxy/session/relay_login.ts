import type { Account } from "../backend/account.ts";
import { type LoggedIn, type LoginWish, openLogin } from "../backend/login.ts";
import { isLoopback } from "../config_keys.ts";
import { encodeLogin } from "../wire/login.ts";
import type { Login } from "../wire/packets.ts";
import { askFirst, relayDialogue } from "./relay_dialogue.ts";
import type { Talk } from "./talk.ts";

/**
 * Without TLS where none is asked for and nobody else can listen: then a password that the client encrypts with the server's own
 * key, which it knows, can be passed on.
 */
function inPlain(account: Account): Account {
  const { place, tls } = account;
  const local = place.kind === "tcp" && isLoopback(place.host);
  return local && tls.mode === "preferred" ? { ...account, tls: { mode: "disabled" } } : account;
}

/**
 * Logs a client in as a user whom only the server knows: a connection is opened for it alone, and the server's questions are
 * passed on with its own nonce.
 *
 * @param greeted the nonce of the proxy's own greeting
 * @throws ServerRefused with the server's own words; CoreError as {@linkcode openLogin}
 */
export async function relayLogin(
  talk: Talk,
  login: Login,
  account: Account,
  wish: LoginWish,
  greeted: Uint8Array,
): Promise<LoggedIn> {
  const opened = await openLogin(talk.socket.encrypted ? account : inPlain(account), wish);
  const { greeting, capabilities, talk: server } = opened;
  try {
    const auth = await askFirst(talk, greeting);
    server.write(encodeLogin({
      capabilities,
      extended: 0,
      maxPacket: 0x40000000,
      charset: wish.charset,
      user: login.user,
      auth,
      database: wish.schema,
      plugin: greeting.plugin,
      attributes: login.attributes,
      zstdLevel: 0,
    }));
    await relayDialogue(talk, server, greeting, greeted);
    opened.done();
    return { socket: server.socket, greeting, capabilities, leftover: server.leave() };
  } catch (cause) {
    opened.fail();
    throw cause;
  }
}
