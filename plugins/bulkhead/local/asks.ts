/**
 * Frames to the server: see PROTOCOL.md.
 *
 * @module
 */
import { broken, expectLength, frame, headerBytes, op } from "./frame.ts";
import type { Payload } from "./frame_reader.ts";

export const version = 1;
/** `FLBH` */
const magic = 0x48424c46;
/** Longest name of a bulkhead with its key. */
const longestName = 255;
const none = 0xffff_ffff;

/** What a peer says of itself. */
export interface Hello {
  readonly version: number;
  /** Whether the connection ends with the execution that opened it. */
  readonly scoped: boolean;
}

/** What is asked for; times are whole ms. */
export interface AcquireFrame {
  readonly weight: number;
  readonly limit: number;
  readonly leaseMs: number;
  readonly maxWaitMs: number;
  readonly maxQueue: number | undefined;
  /** 0 nobody, 1 the peer, others are its own. */
  readonly owner: number;
  readonly name: string;
}

export function writeHello({ version, scoped }: Hello): Uint8Array {
  const { bytes, view } = frame(op.hello, 0, 6);
  view.setUint32(headerBytes, magic, true);
  view.setUint8(headerBytes + 4, version);
  view.setUint8(headerBytes + 5, scoped ? 1 : 0);
  return bytes;
}

export function readHello(payload: Payload): Hello {
  expectLength("HELLO", payload, 6);
  expectMagic(payload);
  const flags = payload.u8(5);
  if (flags > 1) throw broken(`Expected the flags of HELLO to be 0 or 1, got ${flags}`);
  return { version: payload.u8(4), scoped: flags === 1 };
}

export function writeWelcome(): Uint8Array {
  const { bytes, view } = frame(op.welcome, 0, 5);
  view.setUint32(headerBytes, magic, true);
  view.setUint8(headerBytes + 4, version);
  return bytes;
}

/** Returns the server's version. */
export function readWelcome(payload: Payload): number {
  expectLength("WELCOME", payload, 5);
  expectMagic(payload);
  return payload.u8(4);
}

/** Numbers that the frame cannot hold are cut to the greatest that it can. */
export function writeAcquire(number: number, ask: AcquireFrame): Uint8Array {
  const { name } = ask;
  const { bytes, view } = frame(op.acquire, number, 24 + name.length);
  view.setUint32(8, upTo(ask.weight), true);
  view.setUint32(12, upTo(ask.limit), true);
  view.setUint32(16, upTo(ask.leaseMs), true);
  view.setUint32(20, upTo(ask.maxWaitMs), true);
  view.setUint32(24, ask.maxQueue === undefined ? none : upTo(ask.maxQueue), true);
  view.setUint32(28, ask.owner, true);
  putName(bytes, 32, name);
  return bytes;
}

export function readAcquire(payload: Payload): AcquireFrame {
  expectLength("ACQUIRE", payload, 25, 24 + longestName);
  const maxQueue = payload.u32(16);
  return {
    weight: payload.u32(0),
    limit: payload.u32(4),
    leaseMs: payload.u32(8),
    maxWaitMs: payload.u32(12),
    maxQueue: maxQueue === none ? undefined : maxQueue,
    owner: payload.u32(20),
    name: nameOf(payload, 24),
  };
}

/** @param answered whether RELEASED is wanted */
export function writeRelease(number: number, answered: boolean): Uint8Array {
  const { bytes, view } = frame(op.release, number, answered ? 1 : 0);
  if (answered) view.setUint8(headerBytes, 1);
  return bytes;
}

/** Whether RELEASED is wanted. */
export function readRelease(payload: Payload): boolean {
  expectLength("RELEASE", payload, 0, 1);
  if (payload.length === 0) return false;
  if (payload.u8(0) !== 1) throw broken(`Expected RELEASE to say 1 or nothing, got ${payload.u8(0)}`);
  return true;
}

export function writeCounts(number: number, name: string): Uint8Array {
  const { bytes } = frame(op.counts, number, name.length);
  putName(bytes, headerBytes, name);
  return bytes;
}

export function readCounts(payload: Payload): string {
  expectLength("COUNTS", payload, 1, longestName);
  return nameOf(payload, 0);
}

export function writeResize(number: number, limit: number, name: string): Uint8Array {
  const { bytes, view } = frame(op.resize, number, 4 + name.length);
  view.setUint32(headerBytes, upTo(limit), true);
  putName(bytes, headerBytes + 4, name);
  return bytes;
}

export function readResize(payload: Payload): { readonly limit: number; readonly name: string } {
  expectLength("RESIZE", payload, 5, 4 + longestName);
  return { limit: payload.u32(0), name: nameOf(payload, 4) };
}

function expectMagic(payload: Payload): void {
  if (payload.u32(0) !== magic) throw broken("Expected the greeting of a bulkheads' socket");
}

function upTo(value: number): number {
  return Math.min(none - 1, Math.ceil(value));
}

function putName(bytes: Uint8Array, at: number, name: string): void {
  for (let i = 0; i < name.length; i++) bytes[at + i] = name.charCodeAt(i);
}

/** The name that was read last: most ask for one again and again, and a string that is known is found faster. */
let lastName = "";

/** One character a byte: that a name has no others is the store's to check. */
function nameOf(payload: Payload, at: number): string {
  const length = payload.length - at;
  let same = length === lastName.length;
  for (let i = 0; same && i < length; i++) same = payload.u8(at + i) === lastName.charCodeAt(i);
  return same ? lastName : lastName = String.fromCharCode(...payload.tail(at));
}
