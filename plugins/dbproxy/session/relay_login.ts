import { CoreError } from "../../../core/error.ts";
import { decryptPassword, encryptPassword, rsaKeys } from "../auth/rsa.ts";
import type { Account } from "../backend/account.ts";
import { type LoggedIn, type LoginWish, openLogin, ServerRefused } from "../backend/login.ts";
import { authSwitch, readAuthSwitch } from "../auth/auth_packets.ts";
import { decodeErr } from "../wire/err.ts";
import type { Conversation } from "../wire/conversation.ts";
import { encodeLogin } from "../wire/login.ts";
import type { Login } from "../wire/packets.ts";

/**
 * Logs a client in as a user whom only the server knows: a connection is opened for it alone, and the server's questions are
 * passed on with its own nonce. A password in clear is only ever asked of a client whose connection is secure; where one
 * side is secure and the other is not, the proxy does the RSA of the side that needs it.
 *
 * @param greeted the nonce of the proxy's own greeting
 * @throws ServerRefused with the server's own words; CoreError as {@linkcode openLogin}
 */
export async function relayLogin(
  talk: Conversation,
  login: Login,
  account: Account,
  wish: LoginWish,
  greeted: Uint8Array,
): Promise<LoggedIn> {
  const opened = await openLogin(account, wish);
  const { greeting, capabilities, talk: server } = opened;
  try {
    const ask = async (payload: Uint8Array) => {
      talk.write(payload);
      return await talk.read();
    };
    const auth = await ask(authSwitch(greeting.plugin, greeting.nonce));
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
    let { plugin, nonce } = greeting;
    for (;;) {
      const said = await server.read();
      if (said[0] === 0x00) {
        opened.done();
        return { socket: server.socket, greeting, capabilities, leftover: server.leave() };
      }
      if (said[0] === 0xff) throw new ServerRefused(decodeErr(said));
      if (said[0] === 0xfe && said.byteLength > 1) {
        ({ plugin, nonce } = readAuthSwitch(said));
      }
      if (said[0] === 0x01 && said[1] === 0x03 && said.byteLength === 2) {
        talk.write(said);
        continue;
      }
      const full = said[0] === 0x01 && said[1] === 0x04 && said.byteLength === 2 && plugin === "caching_sha2_password";
      if (full && talk.socket.secure !== server.socket.secure) {
        server.write(
          talk.socket.secure
            ? await encryptFor(server, nonce, await ask(said))
            : await decryptFrom(talk, [nonce, greeted], await ask(said)),
        );
      } else server.write(await ask(said));
    }
  } catch (cause) {
    opened.fail();
    throw cause;
  }
}

/** The client sent its password in clear: the server gets it encrypted. */
async function encryptFor(server: Conversation, nonce: Uint8Array, clear: Uint8Array): Promise<Uint8Array> {
  server.write(Uint8Array.of(0x02));
  const key = await server.read();
  if (key[0] !== 0x01) throw new CoreError("DB_PROTOCOL", "The database sent no RSA key");
  const password = new TextDecoder().decode(clear.subarray(0, clear.at(-1) === 0 ? -1 : undefined));
  return encryptPassword(password, nonce, new TextDecoder().decode(key.subarray(1)));
}

/** Bytes of what an RSA key of 2048 bits encrypts to; a password in clear is shorter. */
const shortestBlock = 256;

/** The client asks for a key: it gets ours, and the server the password over its secure connection. */
async function decryptFrom(
  talk: Conversation,
  nonces: readonly Uint8Array[],
  asked: Uint8Array,
): Promise<Uint8Array> {
  let block = asked;
  if (asked.byteLength === 1 && asked[0] === 0x02) {
    const { publicPem } = rsaKeys();
    const packet = new Uint8Array(publicPem.byteLength + 1);
    packet[0] = 0x01;
    packet.set(publicPem, 1);
    talk.write(packet);
    block = await talk.read();
  }
  // MariaDB's program sends it in clear to 127.0.0.1, without asking.
  if (block.byteLength < shortestBlock && block.at(-1) === 0) return block;
  // MariaDB's library mixes in the nonce of the greeting, whatever came after it.
  let password: Uint8Array | undefined;
  for (const nonce of nonces) password ??= decryptPassword(block, nonce, rsaKeys());
  if (password === undefined) throw new CoreError("DB_PROTOCOL", "The client's password could not be decrypted");
  const clear = new Uint8Array(password.byteLength + 1);
  clear.set(password);
  return clear;
}
