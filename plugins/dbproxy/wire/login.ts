import { CoreError } from "../../../core/error.ts";
import { Reader, Writer } from "./bytes.ts";
import { CAP } from "./capabilities.ts";
import { COM } from "./commands.ts";
import type { ChangeUser, Login } from "./packets.ts";

type Attributes = Login["attributes"];

/** Bytes of connection attributes that are read, as the servers do; the rest is dropped. */
const maxAttributes = 65536;

/**
 * A collation id where the protocol has one byte for it.
 *
 * @throws CoreError `DB_CHARSET`
 */
export function charsetByte(id: number): number {
  if (id >= 0 && id <= 255) return id;
  const what = `Collation ${id} does not fit the one byte that a login has for it`;
  throw new CoreError("DB_CHARSET", `${what}; log in with a collation of its charset up to 255, then SET NAMES`);
}

/**
 * The client's login, HandshakeResponse41. Which fields are in it is said by its capabilities.
 *
 * @throws CoreError `DB_CHARSET`, `DB_PROTOCOL` (a NUL in a name; `auth` too long for its field)
 */
export function encodeLogin(login: Login): Uint8Array {
  const { capabilities } = login;
  const out = new Writer(256).bytes(encodeSslRequest(login)).nulText(login.user);
  if ((capabilities & CAP.PLUGIN_AUTH_LENENC) !== 0) out.lenencBytes(login.auth);
  else writeAuth(out, login.auth, capabilities);
  if ((capabilities & CAP.CONNECT_WITH_DB) !== 0) out.nulText(login.database ?? "");
  if ((capabilities & CAP.PLUGIN_AUTH) !== 0) out.nulText(login.plugin);
  if ((capabilities & CAP.CONNECT_ATTRS) !== 0) writeAttributes(out, login.attributes);
  if ((capabilities & CAP.ZSTD_COMPRESSION) !== 0) out.u8(login.zstdLevel);
  return out.take();
}

/** The head of a login, which alone asks for TLS when SSL is among its capabilities. */
export function encodeSslRequest(
  login: Pick<Login, "capabilities" | "maxPacket" | "charset" | "extended">,
): Uint8Array {
  const out = new Writer(32).u32(login.capabilities).u32(login.maxPacket).u8(charsetByte(login.charset)).zero(19);
  return out.u32((login.capabilities & CAP.CLIENT_MYSQL) === 0 ? login.extended : 0).take();
}

/** The first packet of a client asks for TLS, and is not a login. */
export const isSslRequest = (payload: Uint8Array): boolean =>
  payload.length === 32 && (payload[1]! & CAP.SSL >>> 8) !== 0 && (payload[1]! & CAP.PROTOCOL_41 >>> 8) !== 0;

/**
 * Reads a login as the servers do, who are lenient at its end: a database, plugin or attributes that the capabilities
 * promise may be missing, and an empty database is none.
 *
 * @throws CoreError `DB_PROTOCOL`
 */
export function decodeLogin(payload: Uint8Array): Login {
  const reader = new Reader(payload);
  const capabilities = reader.u32();
  if ((capabilities & CAP.PROTOCOL_41) === 0) {
    throw new CoreError("DB_PROTOCOL", "The client is older than MySQL 4.1: it does not speak protocol 41");
  }
  const maxPacket = reader.u32(), charset = reader.u8();
  reader.bytes(19);
  const last = reader.u32();
  const user = reader.nulText();
  const auth = (capabilities & CAP.PLUGIN_AUTH_LENENC) !== 0 ? reader.lenencBytes() : readAuth(reader, capabilities);
  const database = (capabilities & CAP.CONNECT_WITH_DB) !== 0 ? reader.lenientText() : "";
  const plugin = (capabilities & CAP.PLUGIN_AUTH) !== 0 ? reader.lenientText() : "";
  const attributes = (capabilities & CAP.CONNECT_ATTRS) !== 0 ? readAttributes(reader) : [];
  const zstd = (capabilities & CAP.ZSTD_COMPRESSION) !== 0;
  return {
    capabilities,
    extended: (capabilities & CAP.CLIENT_MYSQL) === 0 ? last : 0,
    maxPacket,
    charset,
    user,
    auth,
    database: database === "" ? undefined : database,
    plugin,
    attributes,
    zstdLevel: zstd ? reader.left > 0 ? reader.u8() : 3 : 0,
  };
}

/**
 * COM_CHANGE_USER, its command byte included.
 *
 * @throws CoreError `DB_CHARSET` (over 65535), `DB_PROTOCOL`
 */
export function encodeChangeUser(change: ChangeUser, capabilities: number): Uint8Array {
  if (!(change.charset >= 0 && change.charset <= 0xffff)) {
    throw new CoreError("DB_CHARSET", `Collation ${change.charset} does not fit two bytes`);
  }
  const out = new Writer(256).u8(COM.CHANGE_USER).nulText(change.user);
  writeAuth(out, change.auth, capabilities);
  out.nulText(change.database ?? "").u16(change.charset);
  if ((capabilities & CAP.PLUGIN_AUTH) !== 0) out.nulText(change.plugin);
  if ((capabilities & CAP.CONNECT_ATTRS) !== 0) writeAttributes(out, change.attributes);
  return out.take();
}

/**
 * Reads a COM_CHANGE_USER, its command byte included. What follows the database may be missing.
 *
 * @param capabilities what the client logged in with
 * @throws CoreError `DB_PROTOCOL`
 */
export function decodeChangeUser(payload: Uint8Array, capabilities: number): ChangeUser {
  const reader = new Reader(payload);
  if (reader.u8() !== COM.CHANGE_USER) throw new CoreError("DB_PROTOCOL", "COM_CHANGE_USER begins with 11");
  const user = reader.nulText();
  const auth = readAuth(reader, capabilities);
  const database = reader.lenientText();
  const charset = reader.left >= 2 ? reader.u16() : 0;
  const plugin = (capabilities & CAP.PLUGIN_AUTH) !== 0 ? reader.lenientText() : "";
  const attributes = (capabilities & CAP.CONNECT_ATTRS) !== 0 ? readAttributes(reader) : [];
  return { user, auth, database: database === "" ? undefined : database, charset, plugin, attributes };
}

function writeAuth(out: Writer, auth: Uint8Array, capabilities: number): void {
  if ((capabilities & CAP.SECURE_CONNECTION) !== 0) out.u8(auth.length).bytes(auth);
  else if (!auth.includes(0)) out.bytes(auth).u8(0);
  else throw new CoreError("DB_PROTOCOL", "An answer with a NUL byte cannot be sent without SECURE_CONNECTION");
}

const readAuth = (reader: Reader, capabilities: number): Uint8Array =>
  (capabilities & CAP.SECURE_CONNECTION) !== 0 ? reader.bytes(reader.u8()) : reader.nulBytes();

function writeAttributes(out: Writer, attributes: Attributes): void {
  const pairs = new Writer(128);
  for (const [name, value] of attributes) pairs.lenencText(name).lenencText(value);
  out.lenencBytes(pairs.take());
}

/** Attributes only describe the client: what is malformed in them ends their list and not the login. */
function readAttributes(reader: Reader): Attributes {
  const attributes: (readonly [string, string])[] = [];
  if (reader.left === 0) return attributes;
  try {
    const length = Math.min(Number(reader.lenenc()), reader.left);
    const pairs = new Reader(reader.bytes(length).subarray(0, maxAttributes));
    while (pairs.left > 0) attributes.push([pairs.lenencText(), pairs.lenencText()]);
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
  }
  return attributes;
}
