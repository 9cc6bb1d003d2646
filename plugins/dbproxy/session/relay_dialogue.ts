import { CoreError } from "../../../core/error.ts";
import { authSwitch, readAuthSwitch, sha2Reply } from "../auth/auth_packets.ts";
import { decryptPassword, encryptPassword, rsaKeys } from "../auth/rsa.ts";
import { ServerRefused } from "../backend/login.ts";
import type { Conversation } from "../wire/conversation.ts";
import { decodeErr } from "../wire/err.ts";
import type { Greeting } from "../wire/packets.ts";
import type { Talk } from "./talk.ts";

/** The request for the RSA key in sha256_password. */
const sha256AskKey = 1;

/** The client's answer to the server's greeting, which it has not seen: its plugin's request with its nonce. */
export async function askFirst(talk: Talk, { plugin, nonce }: Greeting): Promise<Uint8Array> {
  talk.write(authSwitch(plugin, nonce));
  return await talk.read();
}

/**
 * Passes a server's questions on to a client, and the answers back, until the server's OK. A password in clear is only ever
 * asked of a client whose connection is secure; where one side is secure and the other is not, the proxy does the RSA of the
 * side that needs it.
 *
 * @param greeted the nonce of the proxy's own greeting
 * @throws ServerRefused with the server's own words
 */
export async function relayDialogue(
  talk: Talk,
  server: Conversation,
  greeting: Greeting,
  greeted: Uint8Array,
): Promise<void> {
  let { plugin, nonce } = greeting;
  const ask = async (payload: Uint8Array) => {
    talk.write(payload);
    return await talk.read();
  };
  for (;;) {
    const said = await server.read();
    if (said[0] === 0x00) return;
    if (said[0] === 0xff) throw new ServerRefused(decodeErr(said));
    if (said[0] === 0xfe && said.byteLength > 1) ({ plugin, nonce } = readAuthSwitch(said));
    const verdict = plugin === "caching_sha2_password" && said[0] === 0x01 && said.byteLength === 2;
    if (verdict && said[1] === sha2Reply.fastOk) {
      talk.write(said);
      continue;
    }
    let answer = await ask(said);
    if (verdict && said[1] === sha2Reply.full) {
      if (talk.socket.secure && !server.socket.secure) {
        answer = await encryptFor(server, nonce, answer, sha2Reply.askKey);
      } else if (!talk.socket.secure && server.socket.secure) {
        answer = await decryptFrom(talk, [nonce, greeted], answer, sha2Reply.askKey);
      }
    } else if (plugin === "sha256_password" && said[0] === 0xfe && answer.byteLength > 1) {
      // In clear over TLS, which the other side may not have.
      if (talk.socket.encrypted && !server.socket.encrypted) {
        answer = await encryptFor(server, nonce, answer, sha256AskKey);
      }
    } else if (plugin === "sha256_password" && said[0] === 0xfe && answer[0] === sha256AskKey) {
      if (server.socket.encrypted) answer = await decryptFrom(talk, [nonce, greeted], answer, sha256AskKey);
    }
    server.write(answer);
  }
}

/** The client sent its password in clear: the server gets it encrypted. */
async function encryptFor(
  server: Conversation,
  nonce: Uint8Array,
  clear: Uint8Array,
  askKey: number,
): Promise<Uint8Array> {
  server.write(Uint8Array.of(askKey));
  const key = await server.read();
  if (key[0] !== 0x01) throw new CoreError("DB_PROTOCOL", "The database sent no RSA key");
  const password = new TextDecoder().decode(clear.subarray(0, clear.at(-1) === 0 ? -1 : undefined));
  return encryptPassword(password, nonce, new TextDecoder().decode(key.subarray(1)));
}

/** Bytes of what an RSA key of 2048 bits encrypts to; a password in clear is shorter. */
const shortestBlock = 256;

/** The client asks for a key: it gets ours, and the server the password over its secure connection. */
async function decryptFrom(
  talk: Talk,
  nonces: readonly Uint8Array[],
  asked: Uint8Array,
  askKey: number,
): Promise<Uint8Array> {
  let block = asked;
  if (asked.byteLength === 1 && asked[0] === askKey) {
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
