import { frame } from "../wire/frame.ts";
import { encodeErr } from "../wire/err.ts";
import { encodeEof, encodeOk } from "../wire/ok.ts";
import type { ErrPacket } from "../wire/packets.ts";
import { CAP } from "../wire/capabilities.ts";

const cachedOk = new Map<number, Uint8Array>();

/** An OK without news, ready to send as the answer to a command. */
export function plainOk(status: number, capabilities: number, warnings = 0): Uint8Array {
  const key = (warnings * 0x10000 + status) * 2 + ((capabilities & CAP.SESSION_TRACK) === 0 ? 0 : 1);
  let bytes = cachedOk.get(key);
  if (bytes === undefined) {
    const ok = { affectedRows: 0, insertId: 0, status, warnings, info: "", trackers: undefined };
    bytes = frame(1, encodeOk(ok, capabilities));
    if (cachedOk.size < 256) cachedOk.set(key, bytes);
  }
  return bytes;
}

/** What COM_SET_OPTION is answered with. */
export function plainEof(status: number, capabilities: number): Uint8Array {
  if ((capabilities & CAP.DEPRECATE_EOF) === 0) return frame(1, encodeEof(status, 0));
  const ok = { affectedRows: 0, insertId: 0, status, warnings: 0, info: "", trackers: undefined };
  return frame(1, encodeOk(ok, capabilities, 0xfe));
}

/** An error as the answer to a command. */
export function errorAnswer(packet: ErrPacket, seq = 1): Uint8Array {
  return frame(seq, encodeErr(packet));
}
