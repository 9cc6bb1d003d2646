import { Reader } from "./bytes.ts";
import { maxFrame } from "./frame.ts";

/**
 * The payload of one whole command given as its frames, headers included. A view of the bytes when it is one frame, else a
 * copy of the frames put together.
 *
 * @throws CoreError `DB_PROTOCOL` when the frames are not whole
 */
export function payloadOf(frames: Uint8Array): Uint8Array {
  const reader = new Reader(frames);
  const length = reader.u24();
  reader.u8();
  const first = reader.bytes(length);
  if (length < maxFrame) return first;
  const parts = [first];
  let total = length;
  for (let n = length; n === maxFrame;) {
    n = reader.u24();
    reader.u8();
    parts.push(reader.bytes(n));
    total += n;
  }
  const payload = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    payload.set(part, at);
    at += part.length;
  }
  return payload;
}
