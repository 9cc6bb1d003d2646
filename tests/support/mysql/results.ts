/**
 * The packets of a reply, decoded for assertions.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { Cursor } from "./bytes.ts";

export interface Column {
  readonly schema: string;
  readonly table: string;
  readonly name: string;
  readonly charset: number;
  readonly type: number;
  readonly flags: number;
}

export type Result =
  | {
    readonly kind: "ok";
    readonly affected: number;
    readonly insertId: number;
    readonly status: number;
    readonly warnings: number;
    readonly info: string;
    /** The raw block of session trackers. */
    readonly trackers: Buffer | undefined;
  }
  | { readonly kind: "error"; readonly code: number; readonly state: string; readonly message: string }
  | {
    readonly kind: "rows";
    readonly columns: readonly Column[];
    readonly rows: readonly (Buffer | null)[][];
    readonly status: number;
    readonly warnings: number;
  };

const SESSION_TRACK = 0x800000;
const STATE_CHANGED = 0x4000;

export function decodeOk(payload: Buffer, flags: number): Result & { kind: "ok" } {
  const cursor = new Cursor(payload, 1);
  const affected = cursor.lenenc()!;
  const insertId = cursor.lenenc()!;
  const status = cursor.uint(2);
  const warnings = cursor.uint(2);
  const lengthed = (flags & SESSION_TRACK) !== 0;
  const info = cursor.left === 0 ? "" : cursor.text();
  const trackers = lengthed && status & STATE_CHANGED && cursor.left > 0 ? cursor.string() ?? undefined : undefined;
  return { kind: "ok", affected, insertId, status, warnings, info, trackers };
}

export function decodeErr(payload: Buffer): Result & { kind: "error" } {
  const stated = payload[3] === 0x23;
  return {
    kind: "error",
    code: payload.readUInt16LE(1),
    state: stated ? payload.subarray(4, 9).toString() : "",
    message: payload.subarray(stated ? 9 : 3).toString(),
  };
}

export function decodeColumn(payload: Buffer): Column {
  const cursor = new Cursor(payload);
  cursor.string();
  const [schema, table] = [cursor.text(), cursor.text()];
  cursor.string();
  const name = cursor.text();
  cursor.string();
  cursor.lenenc();
  const charset = cursor.uint(2);
  cursor.uint(4);
  const type = cursor.uint(1);
  return { schema, table, name, charset, type, flags: cursor.uint(2) };
}

export function decodeTextRow(payload: Buffer, columns: number): (Buffer | null)[] {
  const cursor = new Cursor(payload);
  const row = Array.from({ length: columns }, () => cursor.string());
  if (cursor.left > 0) throw new Error(`${cursor.left} bytes are left after a row of ${columns} columns`);
  return row;
}

const sizes: Readonly<Record<number, number>> = { 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 8: 8, 9: 4, 13: 2 };

/** Integers come as their decimal text; dates and times as the bytes they are sent in. */
export function decodeBinaryRow(payload: Buffer, columns: readonly Column[]): (Buffer | null)[] {
  if (payload[0] !== 0) throw new Error(`A binary row starts with ${payload[0]}`);
  const bitmap = (columns.length + 9) >> 3;
  const cursor = new Cursor(payload, 1 + bitmap);
  const row = columns.map(({ type, flags }, index) => {
    const bit = index + 2;
    if (payload[1 + (bit >> 3)]! & (1 << (bit & 7))) return null;
    const size = sizes[type];
    if (size !== undefined) return number(cursor.take(size), type, (flags & 0x20) !== 0);
    if (type === 7 || type === 10 || type === 11 || type === 12) return cursor.take(cursor.uint(1));
    return cursor.string();
  });
  if (cursor.left > 0) throw new Error(`${cursor.left} bytes are left after a binary row`);
  return row;
}

function number(bytes: Buffer, type: number, unsigned: boolean): Buffer {
  const text = type === 4
    ? bytes.readFloatLE()
    : type === 5
    ? bytes.readDoubleLE()
    : type === 8
    ? (unsigned ? bytes.readBigUInt64LE() : bytes.readBigInt64LE())
    : unsigned
    ? bytes.readUIntLE(0, bytes.length)
    : bytes.readIntLE(0, bytes.length);
  return Buffer.from(String(text));
}
