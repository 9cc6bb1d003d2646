import { CoreError } from "../../../core/error.ts";
import { Reader, Writer } from "./bytes.ts";
import { CAP } from "./capabilities.ts";
import type { OkPacket } from "./packets.ts";
import { STATUS } from "./status.ts";

/**
 * Reads an OK packet, or the OK with header `fe` that ends a result set under DEPRECATE_EOF.
 *
 * @throws CoreError `DB_PROTOCOL`
 */
export function decodeOk(payload: Uint8Array, capabilities: number): OkPacket {
  const reader = new Reader(payload);
  const header = reader.u8();
  if (header !== 0x00 && header !== 0xfe) throw new CoreError("DB_PROTOCOL", "An OK packet begins with 00 or fe");
  const affectedRows = reader.lenenc(), insertId = reader.lenenc();
  const status = reader.u16(), warnings = reader.u16();
  let info = "";
  let trackers: Uint8Array | undefined;
  if ((capabilities & CAP.SESSION_TRACK) !== 0) {
    if (reader.left > 0) info = reader.lenencText();
    if ((status & STATUS.SESSION_STATE_CHANGED) !== 0 && reader.left > 0) trackers = reader.lenencBytes();
  } else if (reader.left > 0) {
    info = plainInfo(payload.subarray(payload.length - reader.left));
  }
  return { affectedRows, insertId, status, warnings, info, trackers };
}

/** The servers write a length before the text; their documentation says the text fills the packet. */
function plainInfo(bytes: Uint8Array): string {
  const first = bytes[0]!;
  const prefixed = first < 0xfb ? bytes.length - 1 >= first : first < 0xff;
  try {
    if (prefixed) return new Reader(bytes).lenencText();
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
  }
  return new Reader(bytes).restText();
}

/**
 * An OK packet for a client of these capabilities: without SESSION_TRACK neither the trackers nor their status bit are in
 * it; with it the bit says whether `trackers` is there.
 */
export function encodeOk(ok: OkPacket, capabilities: number, header: 0x00 | 0xfe = 0x00): Uint8Array {
  const trackers = (capabilities & CAP.SESSION_TRACK) !== 0 ? ok.trackers : undefined;
  const plain = ok.status & ~STATUS.SESSION_STATE_CHANGED;
  const status = trackers === undefined ? plain : plain | STATUS.SESSION_STATE_CHANGED;
  const out = new Writer(32 + ok.info.length + (trackers?.length ?? 0));
  out.u8(header).lenenc(ok.affectedRows).lenenc(ok.insertId).u16(status).u16(ok.warnings);
  if (ok.info !== "" || trackers !== undefined) out.lenencText(ok.info);
  if (trackers !== undefined) out.lenencBytes(trackers);
  return out.take();
}

/** The classic end marker, five bytes. Its fields are in the other order than those of OK. */
export const encodeEof = (status: number, warnings: number): Uint8Array =>
  new Writer(5).u8(0xfe).u16(warnings).u16(status & ~STATUS.SESSION_STATE_CHANGED).take();

/** @throws CoreError `DB_PROTOCOL` */
export function decodeEof(payload: Uint8Array): { readonly status: number; readonly warnings: number } {
  const reader = new Reader(payload);
  if (payload.length >= 9 || reader.u8() !== 0xfe) {
    throw new CoreError("DB_PROTOCOL", "An EOF packet begins with fe and is shorter than 9 bytes");
  }
  const warnings = reader.u16();
  return { status: reader.u16(), warnings };
}
