/**
 * Frames from the server: see PROTOCOL.md.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { BulkheadCounts, BulkheadDenial, BulkheadDenialReason, BulkheadGrant } from "../store.ts";
import { broken, expectLength, frame, headerBytes, longestFromServer, op } from "./frame.ts";
import type { Payload } from "./frame_reader.ts";

/** Their numbers are their places, from 1 on. */
const reasons: readonly BulkheadDenialReason[] = [
  "full",
  "queue_full",
  "timeout",
  "cancelled",
  "deadlock",
  "draining",
  "unavailable",
];

/** What is said of permits that were granted. */
export type GrantFrame = Pick<BulkheadGrant, "fence" | "waitedMs" | "position">;
export type DenyFrame = Pick<BulkheadDenial, "reason" | "waitedMs" | "retryAfterMs">;

const twoTo32 = 0x1_0000_0000;

const grant = frame(op.grant, 0, 20);

/** The bytes are those of the next grant, too: they are to be sent, or copied, before that. */
export function writeGrant(number: number, { fence, waitedMs, position }: GrantFrame): Uint8Array {
  const { bytes, view } = grant;
  view.setUint32(4, number, true);
  view.setUint32(headerBytes, fence % twoTo32, true);
  view.setUint32(headerBytes + 4, Math.floor(fence / twoTo32), true);
  view.setFloat64(headerBytes + 8, waitedMs, true);
  view.setUint32(headerBytes + 16, position, true);
  return bytes;
}

export function readGrant(payload: Payload): GrantFrame {
  expectLength("GRANT", payload, 20);
  const fence = payload.u32(0) + payload.u32(4) * twoTo32;
  if (!Number.isSafeInteger(fence)) throw broken("Expected a fence below 2^53");
  return { fence, waitedMs: payload.f64(8), position: payload.u32(16) };
}

export function writeDeny(number: number, { reason, waitedMs, retryAfterMs }: DenyFrame): Uint8Array {
  const { bytes, view } = frame(op.deny, number, 13);
  view.setUint8(headerBytes, reasons.indexOf(reason) + 1);
  view.setFloat64(headerBytes + 1, waitedMs, true);
  view.setUint32(headerBytes + 9, Math.min(twoTo32 - 1, Math.ceil(retryAfterMs)), true);
  return bytes;
}

export function readDeny(payload: Payload): DenyFrame {
  expectLength("DENY", payload, 13);
  const reason = reasons[payload.u8(0) - 1];
  if (reason === undefined) throw broken(`Expected a reason from 1 to ${reasons.length}, got ${payload.u8(0)}`);
  return { reason, waitedMs: payload.f64(1), retryAfterMs: payload.u32(9) };
}

export function writeCounted(number: number, counts: BulkheadCounts | undefined): Uint8Array {
  const { bytes, view } = frame(op.counted, number, 25);
  if (counts === undefined) return bytes;
  view.setUint8(headerBytes, 1);
  view.setUint32(headerBytes + 1, counts.limit, true);
  view.setUint32(headerBytes + 5, counts.active, true);
  view.setUint32(headerBytes + 9, counts.holders, true);
  view.setUint32(headerBytes + 13, counts.queued, true);
  view.setFloat64(headerBytes + 17, counts.oldestWaitMs, true);
  return bytes;
}

export function readCounted(payload: Payload): BulkheadCounts | undefined {
  expectLength("COUNTED", payload, 25);
  if (payload.u8(0) === 0) return undefined;
  return {
    limit: payload.u32(1),
    active: payload.u32(5),
    holders: payload.u32(9),
    queued: payload.u32(13),
    oldestWaitMs: payload.f64(17),
  };
}

export function writeReleased(number: number, inTime: boolean): Uint8Array {
  const { bytes, view } = frame(op.released, number, 1);
  view.setUint8(headerBytes, inTime ? 1 : 0);
  return bytes;
}

export function readReleased(payload: Payload): boolean {
  expectLength("RELEASED", payload, 1);
  return payload.u8(0) === 1;
}

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** A message that is too long for a frame is cut. */
export function writeFault(number: number, { code, message }: CoreError): Uint8Array {
  const text = encoder.encode(`${code}\0${message}`).subarray(0, longestFromServer);
  const { bytes } = frame(op.fault, number, text.length);
  bytes.set(text, headerBytes);
  return bytes;
}

export function readFault(payload: Payload): CoreError {
  const [code, message] = decoder.decode(payload.tail(0)).split("\0", 2);
  if (!code || message === undefined) throw broken("Expected a code and a message in FAULT");
  return new CoreError(code, message);
}
