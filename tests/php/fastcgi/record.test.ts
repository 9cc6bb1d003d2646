import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";
import { RecordReader, writeHeader } from "../../../plugins/php/fastcgi/record.ts";
import { cut, join, record } from "./support.ts";

interface Seen {
  readonly type: number;
  readonly id: number;
  readonly content: number[];
}

/** Reads records, joining the pieces of one stream record: `lengths` says how long each is. */
function read(chunks: readonly Uint8Array[]): Seen[] {
  const seen: Seen[] = [];
  const reader = new RecordReader({
    onRecord: (type, id, content) => seen.push({ type, id, content: [...content] }),
  });
  for (const chunk of chunks) reader.push(chunk);
  expect(reader.fresh).toBe(true);
  return seen;
}

/** Neighbouring pieces of one stream become one. */
function joined(records: readonly Seen[]): Seen[] {
  const out: Seen[] = [];
  for (const { type, id, content } of records) {
    const last = out.at(-1);
    const stream = type >= 5 && type <= 8;
    if (stream && last?.type === type && last.id === id && content.length > 0 && last.content.length > 0) {
      last.content.push(...content);
    } else out.push({ type, id, content: [...content] });
  }
  return out;
}

const records = fc.array(
  fc.record({
    type: fc.integer({ min: 1, max: 11 }),
    id: fc.integer({ min: 0, max: 65_535 }),
    content: fc.uint8Array({ maxLength: 300 }),
    padding: fc.integer({ min: 0, max: 255 }),
  }),
  { maxLength: 8 },
);
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 });

test("the header's bytes are those of the specification", () => {
  const out = new Uint8Array(10).fill(0xff);
  expect(writeHeader(out, 1, 4, 0x1234, 0xabcd)).toBe(9);
  expect([...out]).toEqual([0xff, 1, 4, 0x12, 0x34, 0xab, 0xcd, 0, 0, 0xff]);
});

test("records come out as they went in, wherever the chunks are cut", () => {
  fc.assert(fc.property(records, cuts, (sent, places) => {
    const bytes = join(sent.map((one) => record(one.type, one.id, one.content, one.padding)));
    const expected = joined(sent.map((one) => ({ ...one, content: [...one.content] })));
    const plain = expected.map(({ type, id, content }) => ({ type, id, content }));
    expect(joined(read(cut(bytes, places)))).toEqual(plain);
    expect(joined(read([...bytes].map((byte) => new Uint8Array([byte]))))).toEqual(plain);
  }));
});

test("a record of a type that is no stream comes in one piece, however it was cut", () => {
  const content = new Uint8Array(65_535).map((_, i) => i);
  const seen = read(cut(record(10, 0, content, 7), [0.1, 0.2, 0.5, 0.9]));
  expect(seen.length).toBe(1);
  expect(seen[0]!.content).toEqual([...content]);
});

test("content inside one chunk is not copied", () => {
  const chunk = join([record(6, 1, new Uint8Array([1, 2])), record(3, 1, new Uint8Array(8))]);
  const buffers: ArrayBufferLike[] = [];
  new RecordReader({ onRecord: (_type, _id, content) => buffers.push(content.buffer) }).push(chunk);
  expect(buffers.length).toBe(2);
  expect(buffers.every((buffer) => buffer === chunk.buffer)).toBe(true);
});

test("what is not FastCGI is refused at its first byte, and for good", () => {
  for (const bytes of [[0x48], [2, 6, 0, 1, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0, 0, 0], [1, 12, 0, 1, 0, 0, 0, 0]]) {
    const reader = new RecordReader({ onRecord: () => {} });
    for (let i = 0; i < 2; i++) {
      let error: unknown;
      try {
        reader.push(new Uint8Array(bytes));
      } catch (thrown) {
        error = thrown;
      }
      expect(error instanceof CoreError && error.code).toBe("PHP_PROTOCOL");
      expect((error as CoreError).status).toBe(502);
    }
  }
});

test("random bytes are read or refused with a code", () => {
  fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 100 })), (chunks) => {
    const reader = new RecordReader({ onRecord: () => {} });
    try {
      reader.push(new Uint8Array([1, 6]));
      for (const chunk of chunks) reader.push(chunk);
    } catch (error) {
      expect((error as CoreError).code).toBe("PHP_PROTOCOL");
    }
  }));
});
