import { Reader } from "./bytes.ts";

/** Bytes of a value whose type (the low byte of `enum_field_types`) says how long it is. */
const fixed: Readonly<Record<number, number>> = { 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 8: 8 };
/** DATE, DATETIME, TIMESTAMP and TIME: one byte tells the length. */
const times: ReadonlySet<number> = new Set([7, 10, 11, 12]);
/** Decimals, strings and blobs: the length is length-encoded. */
const texts: ReadonlySet<number> = new Set([0x00, 0x0f, 0xf6, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);

/**
 * The text of a COM_QUERY of a client with CLIENT_QUERY_ATTRIBUTES: what stands behind the attributes, of whatever is there of
 * it. Undefined where they are not as the server demands them, or end beyond these bytes.
 *
 * See "COM_QUERY" in MySQL's description of its protocol.
 *
 * @param payload what follows the command's byte, all of one frame
 */
export function behindAttributes(payload: Uint8Array): Uint8Array | undefined {
  // No attributes, one set of them.
  if (payload[0] === 0 && payload[1] === 1) return payload.subarray(2);
  try {
    const reader = new Reader(payload);
    const count = Number(reader.lenenc());
    if (reader.lenenc() !== 1) return undefined;
    if (count === 0) return reader.rest();
    const nulls = reader.bytes(count + 7 >> 3);
    if (reader.u8() !== 1) return undefined;
    const types: number[] = [];
    for (let i = 0; i < count; i++) {
      types.push(reader.u16() & 0xff);
      reader.lenencBytes();
    }
    for (const [i, type] of types.entries()) {
      if ((nulls[i >> 3]! >> (i & 7) & 1) === 1) continue;
      if (type in fixed) reader.bytes(fixed[type]!);
      else if (times.has(type)) reader.bytes(reader.u8());
      else if (texts.has(type)) reader.lenencBytes();
      else return undefined;
    }
    return reader.rest();
  } catch {
    return undefined;
  }
}
