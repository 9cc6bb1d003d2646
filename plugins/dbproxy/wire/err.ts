import { CoreError } from "../../../core/error.ts";
import { Reader, Writer } from "./bytes.ts";
import type { ErrPacket } from "./packets.ts";

/** `ff code:u16 ['#' state[5]] message`. Before the handshake is done there is no state in it. */
export function encodeErr(err: ErrPacket, beforeHandshake = false): Uint8Array {
  const out = new Writer(16 + err.message.length).u8(0xff).u16(err.code);
  if (!beforeHandshake) out.text("#").text(/^[\x20-\x7e]{5}$/.test(err.state) ? err.state : "HY000");
  return out.text(err.message).take();
}

/**
 * Reads an error packet, with a state or without.
 *
 * @throws CoreError `DB_PROTOCOL`
 */
export function decodeErr(payload: Uint8Array): ErrPacket {
  const reader = new Reader(payload);
  if (reader.u8() !== 0xff) throw new CoreError("DB_PROTOCOL", "An error packet begins with ff");
  const code = reader.u16();
  if (payload[3] !== 0x23 || reader.left < 6) return { code, state: "", message: reader.restText() };
  reader.u8();
  return { code, state: reader.text(5), message: reader.restText() };
}
