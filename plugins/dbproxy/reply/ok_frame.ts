/**
 * OK packets where they lie: read without a copy, and shortened in place to what a client may see.
 *
 * @module
 */
import type { ErrPacket, OkPacket } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import type { ReplyClient, ShowsTracker } from "./observer.ts";

const text = new TextDecoder();

/** Where the number read last has ended; beyond the packet when it was cut off. */
let next = 0;

/** A length-encoded integer. NaN when there is none. */
function lenenc(bytes: Uint8Array, at: number): number | bigint {
  const first = bytes[at]!;
  if (first < 0xfb) {
    next = at + 1;
    return first;
  }
  const size = first === 0xfc ? 2 : first === 0xfd ? 3 : first === 0xfe ? 8 : 0;
  next = at + 1 + size;
  if (size === 0 || next > bytes.length) {
    next = Infinity;
    return NaN;
  }
  let low = 0;
  for (let i = Math.min(size, 4); i > 0; i--) low = low * 256 + bytes[at + i]!;
  if (size < 8) return low;
  let high = 0;
  for (let i = 8; i > 4; i--) high = high * 256 + bytes[at + i]!;
  return high < 0x200000 ? high * 0x100000000 + low : (BigInt(high) << 32n) | BigInt(low);
}

/** A length-encoded integer in [at, end): NaN when there is none, or it is cut off. */
export function readLenenc(bytes: Uint8Array, at: number, end: number): { value: number | bigint; next: number } {
  const value = lenenc(bytes, at);
  return next <= end ? { value, next } : { value: NaN, next };
}

/** Where the parts of the OK packet read last begin and end. */
let statusAt = 0;
let infoAt = 0;
let infoEnd = 0;
let blockAt = 0;

/** Reads the OK packet in [at, end): `00` or `fe`, from a server that speaks SESSION_TRACK. Undefined when it is none. */
export function readOk(bytes: Uint8Array, at: number, end: number): OkPacket | undefined {
  if (end - at < 7) return undefined;
  const affectedRows = lenenc(bytes, at + 1);
  if (next + 5 > end) return undefined;
  const insertId = lenenc(bytes, next);
  statusAt =
    infoAt =
    infoEnd =
    blockAt =
      next;
  if (statusAt + 4 > end) return undefined;
  const status = bytes[statusAt]! | bytes[statusAt + 1]! << 8;
  const warnings = bytes[statusAt + 2]! | bytes[statusAt + 3]! << 8;
  infoAt = infoEnd = blockAt = statusAt + 4;
  let info = "";
  let trackers: Uint8Array | undefined;
  if (infoAt < end) {
    const size = Number(lenenc(bytes, infoAt));
    infoEnd = next + size;
    if (!(infoEnd <= end)) return undefined;
    if (size > 0) info = text.decode(bytes.subarray(next, infoEnd));
    blockAt = infoEnd;
    if (status & STATUS.SESSION_STATE_CHANGED && infoEnd < end) {
      const length = Number(lenenc(bytes, infoEnd));
      blockAt = next;
      if (!(blockAt + length <= end)) return undefined;
      trackers = bytes.slice(blockAt, blockAt + length);
    }
  }
  return { affectedRows, insertId, status, warnings, info, trackers };
}

/**
 * Shortens the packet that `readOk` has just read to what the client may see. Returns its new end; the caller corrects the
 * header.
 */
export function trimOk(bytes: Uint8Array, end: number, ok: OkPacket, client: ReplyClient): number {
  const shown = client.sessionTrack ? client.trackers ?? "all" : "none";
  if (shown === "all" || (client.sessionTrack && ok.trackers === undefined)) return end;
  const kept = ok.trackers === undefined || shown === "none" ? nothing : filter(ok.trackers, shown);
  if (kept.length === 0) {
    bytes[statusAt + 1]! &= ~(STATUS.SESSION_STATE_CHANGED >> 8);
    return infoEnd - infoAt > 1 ? infoEnd : infoAt;
  }
  const at = putLength(bytes, infoEnd, kept.length);
  bytes.set(kept, at);
  return at + kept.length;
}

const nothing = new Uint8Array(0);

/** What is shown of a block of trackers. */
function filter(block: Uint8Array, shows: ShowsTracker): Uint8Array {
  const kept = new Uint8Array(block.length);
  let size = 0;
  visit(block, (type, start, end) => {
    const entry = block.subarray(start, end);
    if (!shows(type, entry)) return;
    kept.set(entry, size);
    size += entry.length;
  });
  return kept.subarray(0, size);
}

function visit(block: Uint8Array, each: (type: number, start: number, end: number) => void): void {
  for (let at = 0; at + 1 < block.length;) {
    const size = Number(lenenc(block, at + 1));
    const end = next + size;
    if (!(end <= block.length)) return;
    each(block[at]!, at, end);
    at = end;
  }
}

function putLength(bytes: Uint8Array, at: number, length: number): number {
  if (length < 0xfb) {
    bytes[at] = length;
    return at + 1;
  }
  const size = length < 0x10000 ? 2 : 3;
  bytes[at] = size === 2 ? 0xfc : 0xfd;
  for (let i = 1; i <= size; i++, length >>>= 8) bytes[at + i] = length & 0xff;
  return at + 1 + size;
}

/** The EOF packet that says what an OK packet says, for a client without DEPRECATE_EOF. Returns its end; `at` is its payload's start. */
export function putEofPayload(bytes: Uint8Array, at: number, ok: OkPacket): number {
  const status = ok.status & ~STATUS.SESSION_STATE_CHANGED;
  bytes[at] = 0xfe;
  bytes[at + 1] = ok.warnings & 0xff;
  bytes[at + 2] = ok.warnings >> 8;
  bytes[at + 3] = status & 0xff;
  bytes[at + 4] = status >> 8;
  return at + 5;
}

/** Reads the ERR packet in [at, end). Undefined when it is too short. */
export function readErr(bytes: Uint8Array, at: number, end: number): ErrPacket | undefined {
  if (end - at < 3) return undefined;
  const code = bytes[at + 1]! | bytes[at + 2]! << 8;
  const marked = end - at >= 9 && bytes[at + 3] === 0x23;
  const state = marked ? text.decode(bytes.subarray(at + 4, at + 9)) : "";
  return { code, state, message: text.decode(bytes.subarray(marked ? at + 9 : at + 3, end)) };
}
