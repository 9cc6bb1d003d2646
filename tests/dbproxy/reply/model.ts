/**
 * Replies as values, and how a server puts them on the wire for a client of each kind.
 *
 * @module
 */
import * as fc from "fast-check";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import { STATUS } from "../../../plugins/dbproxy/wire/status.ts";

export interface Ok {
  readonly affected: number | bigint;
  readonly insertId: number | bigint;
  readonly status: number;
  readonly warnings: number;
  readonly info: string;
  readonly trackers: readonly (readonly [type: number, data: Uint8Array])[];
}
export interface Err {
  readonly code: number;
  readonly state: string;
  readonly message: string;
}
export type Result =
  | { readonly kind: "ok"; readonly ok: Ok }
  | { readonly kind: "err"; readonly err: Err }
  | { readonly kind: "cursor"; readonly columns: readonly Uint8Array[]; readonly ok: Ok }
  | {
    readonly kind: "set";
    readonly columns: readonly Uint8Array[];
    readonly rows: readonly Uint8Array[];
    readonly end: Ok | Err;
  };
export type Reply =
  | { readonly command: number; readonly shape: "results"; readonly results: readonly Result[] }
  | {
    readonly command: number;
    readonly shape: "prepared";
    readonly id: number;
    readonly parameters: readonly Uint8Array[];
    readonly columns: readonly Uint8Array[];
  }
  /** Rows or definitions without a count: FETCH, FIELD_LIST. */
  | { readonly command: number; readonly shape: "list"; readonly items: readonly Uint8Array[]; readonly end: Ok | Err }
  | { readonly command: number; readonly shape: "text"; readonly text: string }
  /** An OK with fe for a header. */
  | { readonly command: number; readonly shape: "end"; readonly end: Ok | Err };

export interface Mode {
  readonly deprecateEof: boolean;
  readonly sessionTrack: boolean;
  readonly trackers?: "all" | "none" | ((type: number) => boolean);
}
export const BACKEND: Mode = { deprecateEof: true, sessionTrack: true };

const utf8 = new TextEncoder();
const u16 = (n: number) => [n & 0xff, n >> 8];

export function concat(parts: readonly (Uint8Array | number[])[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function lenenc(n: number | bigint): number[] {
  if (n < 0xfb) return [Number(n)];
  const size = n < 0x10000 ? 2 : n < 0x1000000 ? 3 : 8;
  const first = size === 2 ? 0xfc : size === 3 ? 0xfd : 0xfe;
  return [first, ...Array.from({ length: size }, (_, i) => Number(BigInt(n) >> BigInt(8 * i) & 0xffn))];
}

export function lenencString(data: Uint8Array | string): Uint8Array {
  const bytes = typeof data === "string" ? utf8.encode(data) : data;
  return concat([lenenc(bytes.length), bytes]);
}

/** Frames of one packet. */
export function frames(payload: Uint8Array, seq: number): Uint8Array[] {
  const list: Uint8Array[] = [];
  for (let at = 0;; at += 0xffffff) {
    const part = payload.subarray(at, at + 0xffffff);
    list.push(new Uint8Array([part.length & 0xff, part.length >> 8 & 0xff, part.length >> 16, seq++ & 0xff]), part);
    if (part.length < 0xffffff) return list;
  }
}

function shownTrackers(ok: Ok, mode: Mode): Ok["trackers"] {
  if (!mode.sessionTrack || mode.trackers === "none") return [];
  const shown = mode.trackers ?? "all";
  return shown === "all" ? ok.trackers : ok.trackers.filter(([type]) => shown(type));
}

export function okPayload(header: number, ok: Ok, mode: Mode): Uint8Array {
  const trackers = shownTrackers(ok, mode);
  const status = trackers.length > 0 ? ok.status | STATUS.SESSION_STATE_CHANGED : ok.status;
  const parts: (Uint8Array | number[])[] = [
    [header],
    lenenc(ok.affected),
    lenenc(ok.insertId),
    u16(status),
    u16(ok.warnings),
  ];
  if (ok.info !== "" || trackers.length > 0) parts.push(lenencString(ok.info));
  if (trackers.length > 0) {
    parts.push(lenencString(concat(trackers.flatMap(([type, data]) => [[type], lenencString(data)]))));
  }
  return concat(parts);
}

export function errPayload(err: Err): Uint8Array {
  return concat([[0xff], u16(err.code), utf8.encode(`#${err.state}${err.message}`)]);
}

export const isErr = (end: Ok | Err): end is Err => "code" in end;

/** Where in the bytes a status stands that a proxy cannot know before the end of the result set is there. */
export interface Encoded {
  readonly bytes: Uint8Array;
  readonly unsure: readonly number[];
}

/** What a server sends a client of this kind; `status` is that of the session before. */
export function encode(reply: Reply, mode: Mode, status: number = STATUS.AUTOCOMMIT, firstSeq = 1): Encoded {
  const parts: Uint8Array[] = [];
  const unsure: number[] = [];
  let seq = firstSeq;
  let size = 0;
  const put = (payload: Uint8Array) => {
    const list = frames(payload, seq);
    seq += list.length / 2;
    for (const part of list) size += part.length;
    parts.push(...list);
  };
  const eof = (warnings: number, flags: number) => put(new Uint8Array([0xfe, ...u16(warnings), ...u16(flags)]));
  const middle = (flags: number) => {
    if (mode.deprecateEof) return;
    eof(0, flags);
    unsure.push(size - 2);
  };
  const end = (last: Ok | Err) => {
    if (isErr(last)) put(errPayload(last));
    else if (mode.deprecateEof) put(okPayload(0xfe, last, mode));
    else eof(last.warnings, last.status);
    if (!isErr(last)) status = last.status;
  };
  const lasting = () => status & ~STATUS.MORE_RESULTS & 0x2203;
  switch (reply.shape) {
    case "text":
      put(utf8.encode(reply.text));
      break;
    case "end":
      end(reply.end);
      break;
    case "list":
      for (const item of reply.items) put(item);
      end(reply.end);
      break;
    case "prepared": {
      const { parameters, columns } = reply;
      put(concat([[0, ...u16(reply.id), 0, 0], u16(columns.length), u16(parameters.length), [0, 0, 0]]));
      for (const list of [parameters, columns]) {
        for (const definition of list) put(definition);
        if (list.length > 0) middle(lasting());
      }
      break;
    }
    case "results":
      for (const result of reply.results) {
        if (result.kind === "ok") {
          put(okPayload(0, result.ok, mode));
          status = result.ok.status;
        } else if (result.kind === "err") put(errPayload(result.err));
        else {
          put(new Uint8Array(lenenc(result.columns.length)));
          for (const definition of result.columns) put(definition);
          if (result.kind === "cursor") end(result.ok);
          else {
            middle(isErr(result.end) ? lasting() : result.end.status & ~STATUS.LAST_ROW_SENT);
            for (const row of result.rows) put(row);
            end(result.end);
          }
        }
      }
  }
  return { bytes: concat(parts), unsure };
}

// Random replies.

const bytes = (max: number) => fc.uint8Array({ maxLength: max });
const status = fc.constantFrom(2, 0, 3, 1, 0x22, 0x202, 0x2003, 0x1002);
const ok: fc.Arbitrary<Ok> = fc.record({
  affected: fc.oneof(fc.nat(300), fc.nat(70_000), fc.bigInt(0n, 0xffffffffffffffffn)),
  insertId: fc.oneof(fc.constant(0), fc.nat(70_000), fc.bigInt(0x1000000n, 0xffffffffffffffffn)),
  status,
  warnings: fc.nat(65_535),
  info: fc.oneof(
    fc.constant(""),
    fc.constant("Rows matched: 1  Changed: 1  Warnings: 0"),
    fc.string({ maxLength: 300 }),
  ),
  trackers: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    fc.array(fc.tuple(fc.nat(6), fc.oneof(bytes(20), bytes(400))), { minLength: 1, maxLength: 4 }),
  ),
});
const endOk = ok.map((value) => ({ ...value, affected: 0, insertId: 0, info: "" }));
const err: fc.Arbitrary<Err> = fc.record({
  code: fc.integer({ min: 1000, max: 0xfffe }),
  state: fc.constantFrom("HY000", "42000", "08S01"),
  message: fc.string({ maxLength: 80 }),
});
const last = fc.oneof({ weight: 4, arbitrary: endOk }, err);
const definition = fc.tuple(bytes(8), bytes(40)).map(([name, rest]) =>
  concat([lenencString("def"), lenencString(name), rest])
);
const textRow = fc.array(fc.option(bytes(40)), { minLength: 1, maxLength: 4 }).map((values) =>
  concat(values.map((value) => value === null ? [0xfb] : lenencString(value)))
);
const binaryRow = bytes(40).map((rest) => concat([[0], rest]));
const definitions = fc.oneof(
  { weight: 20, arbitrary: fc.array(definition, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(251, 300).map((n) => Array<Uint8Array>(n).fill(lenencString("def"))) },
);
/** Mostly a few; sometimes so many that the sequence number wraps, or one that is larger than a socket's chunk. */
const rows = (row: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array[]> =>
  fc.oneof(
    { weight: 16, arbitrary: fc.array(row, { maxLength: 6 }) },
    { weight: 2, arbitrary: row.map((one) => Array<Uint8Array>(270).fill(one)) },
    { weight: 1, arbitrary: fc.tuple(row, row).map(([one, two]) => [one, concat([[0], new Uint8Array(9_000)]), two]) },
  );

const result = (row: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Result> =>
  fc.oneof(
    ok.map((value): Result => ({ kind: "ok", ok: value })),
    err.map((value): Result => ({ kind: "err", err: value })),
    fc.record({ columns: definitions, rows: rows(row), end: last }).map((value): Result => ({ kind: "set", ...value })),
  );
const more = (value: Ok): Ok => ({ ...value, status: value.status | STATUS.MORE_RESULTS });

/** Results in a row: all but the last say that more follow, and none behind an error. */
function chain(list: readonly Result[]): Result[] {
  const failed = list.findIndex((one) => one.kind === "err" || (one.kind === "set" && isErr(one.end)));
  const chained = failed < 0 ? list : list.slice(0, failed + 1);
  return chained.map((one, i) => {
    if (i === chained.length - 1) return one;
    if (one.kind === "ok") return { ...one, ok: more(one.ok) };
    return one.kind === "set" ? { ...one, end: more(one.end as Ok) } : one;
  });
}

const results = (command: number, row: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Reply> =>
  fc.array(result(row), { minLength: 1, maxLength: 4 }).map((list) => ({
    command,
    shape: "results",
    results: chain(list),
  }));
const single = (...commands: number[]): fc.Arbitrary<Reply> =>
  fc.tuple(fc.constantFrom(...commands), fc.oneof(ok, err)).map(([command, value]) => ({
    command,
    shape: "results",
    results: [isErr(value) ? { kind: "err", err: value } : { kind: "ok", ok: value }],
  }));

/** Any reply a server may send, of every shape. */
export const replies: fc.Arbitrary<Reply> = fc.oneof(
  results(COM.QUERY, textRow),
  results(COM.STMT_EXECUTE, binaryRow),
  results(COM.PROCESS_INFO, textRow),
  fc.record({ columns: definitions, ok: endOk }).map((value): Reply => ({
    command: COM.STMT_EXECUTE,
    shape: "results",
    results: [{
      kind: "cursor",
      ...value,
      ok: { ...value.ok, status: value.ok.status | STATUS.CURSOR_EXISTS },
    }],
  })),
  fc.record({
    command: fc.constant(COM.STMT_PREPARE),
    shape: fc.constant("prepared" as const),
    id: fc.nat(65_535),
    parameters: fc.array(definition, { maxLength: 3 }),
    columns: fc.array(definition, { maxLength: 3 }),
  }),
  fc.record({
    command: fc.constant(COM.STMT_FETCH),
    shape: fc.constant("list" as const),
    items: rows(binaryRow),
    end: last,
  }),
  fc.record({
    command: fc.constant(COM.FIELD_LIST),
    shape: fc.constant("list" as const),
    items: fc.array(definition, { maxLength: 5 }),
    end: last,
  }),
  fc.record({
    command: fc.constantFrom(COM.SET_OPTION, COM.DEBUG, COM.SHUTDOWN),
    shape: fc.constant("end" as const),
    end: last,
  }),
  single(COM.PING, COM.INIT_DB, COM.RESET_CONNECTION, COM.STMT_RESET, COM.PROCESS_KILL, COM.REFRESH, COM.STMT_PREPARE)
    .map((reply): Reply =>
      reply.command !== COM.STMT_PREPARE || reply.shape !== "results" || reply.results[0]!.kind === "err"
        ? reply
        : { ...reply, command: COM.PING }
    ),
  fc.string({ minLength: 1, maxLength: 200 }).filter((text) => text !== "").map((text): Reply => ({
    command: COM.STATISTICS,
    shape: "text",
    text,
  })),
);

export const modes: fc.Arbitrary<Mode> = fc.oneof(
  fc.record({ deprecateEof: fc.boolean(), sessionTrack: fc.boolean() }),
  fc.record({
    deprecateEof: fc.boolean(),
    sessionTrack: fc.constant(true),
    trackers: fc.oneof(
      fc.constantFrom("all" as const, "none" as const),
      fc.uniqueArray(fc.nat(6)).map((types) => (type: number) => types.includes(type)),
    ),
  }),
);
