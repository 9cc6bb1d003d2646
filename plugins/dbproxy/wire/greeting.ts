import { CoreError } from "../../../core/error.ts";
import { Reader, Writer } from "./bytes.ts";
import { CAP } from "./capabilities.ts";
import { decodeErr } from "./err.ts";
import { charsetByte } from "./login.ts";
import type { ErrPacket, Greeting } from "./packets.ts";

/**
 * The server's first packet, HandshakeV10.
 *
 * @throws CoreError `DB_PROTOCOL` (a nonce that is not 20 bytes without NUL), `DB_CHARSET` (a collation id over 255)
 */
export function encodeGreeting(greeting: Greeting): Uint8Array {
  const { nonce, capabilities } = greeting;
  if (nonce.length !== 20 || nonce.includes(0)) {
    throw new CoreError("DB_PROTOCOL", "A greeting's nonce is 20 bytes without a zero byte");
  }
  const out = new Writer(128).u8(10).nulText(greeting.version).u32(greeting.threadId);
  out.bytes(nonce.subarray(0, 8)).u8(0).u16(capabilities & 0xffff).u8(charsetByte(greeting.charset));
  out.u16(greeting.status).u16(capabilities >>> 16).u8((capabilities & CAP.PLUGIN_AUTH) !== 0 ? 21 : 0).zero(6);
  out.u32((capabilities & CAP.CLIENT_MYSQL) === 0 ? greeting.extended : 0).bytes(nonce.subarray(8)).u8(0);
  if ((capabilities & CAP.PLUGIN_AUTH) !== 0) out.nulText(greeting.plugin);
  return out.take();
}

/**
 * Reads a server's first packet, which may also be an error (too many connections, host blocked), then without a state.
 * A server that names no plugin means mysql_native_password.
 *
 * @throws CoreError `DB_PROTOCOL`
 */
export function decodeGreeting(payload: Uint8Array): Greeting | ErrPacket {
  const reader = new Reader(payload);
  const protocol = reader.u8();
  if (protocol === 0xff) return decodeErr(payload);
  if (protocol !== 10) {
    throw new CoreError("DB_PROTOCOL", `The server speaks protocol ${protocol}; version 10 (MySQL, MariaDB) is needed`);
  }
  const version = reader.nulText(), threadId = reader.u32();
  const first = reader.bytes(8);
  reader.u8();
  const low = reader.u16();
  const charset = reader.u8(), status = reader.u16();
  const capabilities = (low | reader.u16() << 16) >>> 0;
  if ((capabilities & CAP.PROTOCOL_41) === 0 || (capabilities & CAP.SECURE_CONNECTION) === 0) {
    throw new CoreError("DB_PROTOCOL", "The server is older than MySQL 4.1: it has no protocol 41");
  }
  const nonceLength = reader.u8();
  reader.bytes(6);
  const last = reader.u32();
  const second = reader.bytes(Math.min(Math.max(13, nonceLength - 8), Math.max(12, reader.left)));
  const nonce = new Uint8Array(20);
  nonce.set(first);
  nonce.set(second.subarray(0, 12), 8);
  return {
    version,
    threadId,
    nonce,
    capabilities,
    extended: (capabilities & CAP.CLIENT_MYSQL) === 0 ? last : 0,
    charset,
    status,
    plugin: (capabilities & CAP.PLUGIN_AUTH) !== 0 ? reader.lenientText() : "mysql_native_password",
  };
}
