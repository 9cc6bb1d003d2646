/**
 * Frames of the bulkheads' socket, as PROTOCOL.md has them.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { Payload } from "./frame_reader.ts";

export const headerBytes = 8;
/** Longest payload of a frame to the server, and of one from it. */
export const longestToServer = 320, longestFromServer = 600;

/** Types of frames. */
export const op = {
  hello: 1,
  acquire: 2,
  release: 3,
  cancel: 4,
  counts: 5,
  resize: 6,
  welcome: 65,
  grant: 66,
  deny: 67,
  counted: 68,
  lost: 69,
  fault: 70,
  released: 71,
} as const;

/** What the other side sent makes no sense. */
export function broken(text: string): CoreError {
  return new CoreError("BULKHEAD_PROTOCOL", text);
}

/** Called for each frame; what `payload` says is only there until it returns. */
export type OnFrame = (type: number, number: number, payload: Payload) => void;

/** A frame to be filled in: its header is written, its payload begins at {@linkcode headerBytes}. */
export function frame(type: number, number: number, length: number): { bytes: Uint8Array; view: DataView } {
  const bytes = new Uint8Array(headerBytes + length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, length, true);
  view.setUint8(2, type);
  view.setUint32(4, number, true);
  return { bytes, view };
}

/** A frame without a payload. */
export function bare(type: number, number: number): Uint8Array {
  return frame(type, number, 0).bytes;
}

/** @throws CoreError `BULKHEAD_PROTOCOL` */
export function expectLength(what: string, { length }: Payload, least: number, most: number = least): void {
  if (length >= least && length <= most) return;
  const expected = least === most ? `${least}` : `${least} to ${most}`;
  throw broken(`Expected ${what} to have ${expected} bytes, got ${length}`);
}
