/**
 * Frames from the server: see PROTOCOL.md.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { BulkheadCounts, BulkheadDenial, BulkheadDenialReason, BulkheadGrant } from "../store.ts";
import { broken, expectLength, frame, headerBytes, longestFromServer, op, tail } from "./frame.ts";

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

export function writeGrant(number: number, { fence, waitedMs, position }: GrantFrame): Uint8Array {
  const { bytes, view } = frame(op.grant, number, 20);
  view.setUint32(headerBytes, fence % twoTo32, true);
  view.setUint32(headerBytes + 4, Math.floor(fence / twoTo32), true);
  view.setFloat64(headerBytes + 8, waitedMs, true);
  view.setUint32(headerBytes + 16, position, true);
  return bytes;
}

export function readGrant(payload: DataView): GrantFrame {
  expectLength("GRANT", payload, 20);
  const fence = payload.getUint32(0, true) + payload.getUint32(4, true) * twoTo32;
  if (!Number.isSafeInteger(fence)) throw broken("Expected a fence below 2^53");
  return { fence, waitedMs: payload.getFloat64(8, true), position: payload.getUint32(16, true) };
}

export function writeDeny(number: number, { reason, waitedMs, retryAfterMs }: DenyFrame): Uint8Array {
  const { bytes, view } = frame(op.deny, number, 13);
  view.setUint8(headerBytes, reasons.indexOf(reason) + 1);
  view.setFloat64(headerBytes + 1, waitedMs, true);
  view.setUint32(headerBytes + 9, Math.min(twoTo32 - 1, Math.ceil(retryAfterMs)), true);
  return bytes;
}

export function readDeny(payload: DataView): DenyFrame {
  expectLength("DENY", payload, 13);
  const reason = reasons[payload.getUint8(0) - 1];
  if (reason === undefined) throw broken(`Expected a reason from 1 to ${reasons.length}, got ${payload.getUint8(0)}`);
  return { reason, waitedMs: payload.getFloat64(1, true), retryAfterMs: payload.getUint32(9, true) };
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

export function readCounted(payload: DataView): BulkheadCounts | undefined {
  expectLength("COUNTED", payload, 25);
  if (payload.getUint8(0) === 0) return undefined;
  return {
    limit: payload.getUint32(1, true),
    active: payload.getUint32(5, true),
    holders: payload.getUint32(9, true),
    queued: payload.getUint32(13, true),
    oldestWaitMs: payload.getFloat64(17, true),
  };
}

export function writeReleased(number: number, inTime: boolean): Uint8Array {
  const { bytes, view } = frame(op.released, number, 1);
  view.setUint8(headerBytes, inTime ? 1 : 0);
  return bytes;
}

export function readReleased(payload: DataView): boolean {
  expectLength("RELEASED", payload, 1);
  return payload.getUint8(0) === 1;
}

const encoder = new TextEncoder(), decoder = new TextDecoder();

/** A message that is too long for a frame is cut. */
export function writeFault(number: number, { code, message }: CoreError): Uint8Array {
  const text = encoder.encode(`${code}\0${message}`).subarray(0, longestFromServer);
  const { bytes } = frame(op.fault, number, text.length);
  bytes.set(text, headerBytes);
  return bytes;
}

export function readFault(payload: DataView): CoreError {
  const [code, message] = decoder.decode(tail(payload, 0)).split("\0", 2);
  if (!code || message === undefined) throw broken("Expected a code and a message in FAULT");
  return new CoreError(code, message);
}
