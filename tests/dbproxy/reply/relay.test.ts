import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CoreError } from "../../../core/error.ts";
import { ReplyRelay } from "../../../plugins/dbproxy/reply/relay.ts";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import type { ErrPacket, OkPacket } from "../../../plugins/dbproxy/wire/packets.ts";
import { BACKEND, concat, encode, isErr, type Mode, modes, type Ok, replies, type Reply } from "./model.ts";

/** A relay with everything it says and writes. */
function harness(mode: Mode) {
  const written: Uint8Array[] = [];
  const oks: OkPacket[] = [];
  const errs: ErrPacket[] = [];
  const prepared: number[][] = [];
  const broken: CoreError[] = [];
  const seen = { ends: 0, infiles: 0 };
  const relay = new ReplyRelay(mode, (bytes) => written.push(bytes), {
    onOk: (ok) => oks.push(ok),
    onErr: (err) => errs.push(err),
    onPrepared: (...facts) => prepared.push(facts),
    onInfile: () => seen.infiles++,
    onEnd: () => seen.ends++,
    onBroken: (error) => broken.push(error),
  });
  return { relay, written, oks, errs, prepared, broken, seen, bytes: () => concat(written) };
}

/** Pushes copies of the pieces that `sizes` cut, over and over. Returns how much was taken. */
function pushInPieces(relay: ReplyRelay, bytes: Uint8Array, sizes: readonly number[]): number {
  let taken = 0;
  for (let at = 0, i = 0; at < bytes.length && relay.active; i++) {
    const size = sizes[i % sizes.length]!;
    const used = relay.push(bytes.slice(at, at + size));
    taken += used;
    at += size;
  }
  return taken;
}

function masked(bytes: Uint8Array, unsure: readonly number[]): Uint8Array {
  const copy = bytes.slice();
  for (const at of unsure) copy[at] = copy[at + 1] = 0;
  return copy;
}

/** As `toEqual`, without its time for long ones. */
function expectSame(got: Uint8Array, due: Uint8Array): void {
  let at = 0;
  while (at < due.length && got[at] === due[at]) at++;
  if (at < due.length || got.length !== due.length) expect(got).toEqual(due);
}

/** Every OK that a reply holds, and its rows. */
function contents(reply: Reply): { oks: Ok[]; rows: number } {
  if (reply.shape === "end" || reply.shape === "list") {
    return {
      oks: isErr(reply.end) ? [] : [reply.end],
      rows: reply.shape === "list" && reply.command === COM.STMT_FETCH ? reply.items.length : 0,
    };
  }
  if (reply.shape !== "results") return { oks: [], rows: 0 };
  const oks = reply.results.flatMap((one) =>
    one.kind === "ok" || one.kind === "cursor" ? [one.ok] : one.kind === "set" && !isErr(one.end) ? [one.end] : []
  );
  return { oks, rows: reply.results.reduce((sum, one) => sum + (one.kind === "set" ? one.rows.length : 0), 0) };
}

const sizes = fc.oneof(
  fc.constant([1]),
  fc.constant([1 << 30]),
  fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 }),
  fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 20 }),
);

describe("a relayed reply", () => {
  test("is what the server would have sent this client, however it was cut", () => {
    fc.assert(
      fc.property(replies, modes, sizes, fc.constantFrom(1, 2, 250), (reply, mode, cuts, seq) => {
        const { relay, written, oks, errs, prepared, broken, seen, bytes } = harness(mode);
        const from = encode(reply, BACKEND, undefined, seq).bytes;
        const due = encode(reply, mode, undefined, seq);
        relay.begin(reply.command, { seq });
        expect(pushInPieces(relay, from, cuts)).toBe(from.length);
        expect(broken).toEqual([]);
        expect(seen).toEqual({ ends: 1, infiles: 0 });
        expect(relay.active).toBe(false);
        expect(relay.whole).toBe(true);
        const whole = cuts[0]! >= from.length;
        expectSame(masked(bytes(), whole ? [] : due.unsure), masked(due.bytes, whole ? [] : due.unsure));
        expect(relay.bytes).toBe(due.bytes.length);
        const { oks: hoped, rows } = contents(reply);
        expect(relay.rows).toBe(rows);
        expect(oks.map(({ affectedRows, insertId, warnings, info }) => ({ affectedRows, insertId, warnings, info })))
          .toEqual(hoped.map(({ affected, insertId, warnings, info }) => ({
            affectedRows: typeof affected === "bigint" && affected <= 0x1fffffffffffffn ? Number(affected) : affected,
            insertId: typeof insertId === "bigint" && insertId <= 0x1fffffffffffffn ? Number(insertId) : insertId,
            warnings,
            info,
          })));
        expect(oks.map((ok) => ok.status & ~0x4000)).toEqual(hoped.map((ok) => ok.status));
        expect(oks.map((ok) => ok.trackers !== undefined)).toEqual(hoped.map((ok) => ok.trackers.length > 0));
        expect(errs.length).toBe(bytesHaveErr(reply) ? 1 : 0);
        expect(prepared.length).toBe(reply.shape === "prepared" ? 1 : 0);
        if (whole && due.bytes.length <= 16_384) expect(written.length).toBe(1);
      }),
      { numRuns: 300 },
    );
  });

  test("ends where the next one begins, with many in one stream", () => {
    fc.assert(
      fc.property(fc.array(replies, { minLength: 2, maxLength: 6 }), modes, sizes, (list, mode, cuts) => {
        const { relay, bytes, seen, broken } = harness(mode);
        const from = concat(list.map((reply) => encode(reply, BACKEND).bytes));
        let status = 2;
        const due = list.map((reply) => {
          const encoded = encode(reply, mode, status);
          status = contents(reply).oks.at(-1)?.status ?? status;
          return encoded;
        });
        let next = 0;
        let at = 0;
        for (let i = 0; at < from.length; i++) {
          const chunk = from.slice(at, at + cuts[i % cuts.length]!);
          for (let used = 0; used < chunk.length;) {
            if (!relay.active) relay.begin(list[next++]!.command);
            const taken = relay.push(chunk.subarray(used));
            if (taken === 0) throw new Error("Took nothing");
            used += taken;
          }
          at += chunk.length;
        }
        expect(broken).toEqual([]);
        expect(seen.ends).toBe(list.length);
        let start = 0;
        const unsure = due.flatMap((one) => {
          const places = one.unsure.map((place) => place + start);
          start += one.bytes.length;
          return places;
        });
        const all = cuts[0]! > from.length ? [] : unsure;
        expectSame(masked(bytes(), all), masked(concat(due.map((one) => one.bytes)), all));
      }),
      { numRuns: 100 },
    );
  });
});

function bytesHaveErr(reply: Reply): boolean {
  if (reply.shape === "end" || reply.shape === "list") return isErr(reply.end);
  return reply.shape === "results" &&
    reply.results.some((one) => one.kind === "err" || (one.kind === "set" && isErr(one.end)));
}

describe("bytes that make no sense", () => {
  const commands = fc.constantFrom<number>(...Object.values(COM));

  test("random ones never throw, never hang and never come out multiplied", () => {
    fc.assert(
      fc.property(commands, modes, fc.uint8Array({ maxLength: 300 }), sizes, (command, mode, noise, cuts) => {
        checkSane(command, mode, noise, cuts);
      }),
      { numRuns: 3_000 },
    );
  });

  test("nor do replies with a few bytes changed", () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(replies, modes, changes, sizes, (reply, mode, list, cuts) => {
        const bytes = encode(reply, BACKEND).bytes;
        for (const [at, value] of list) bytes[at % bytes.length] = value;
        checkSane(reply.command, mode, bytes, cuts);
      }),
      { numRuns: 300 },
    );
  });

  /** At most one EOF for every 4 bytes of header may be added, and the stream must end, wait or be given up. */
  function checkSane(command: number, mode: Mode, bytes: Uint8Array, cuts: readonly number[]): void {
    const { relay, written, broken, seen } = harness(mode);
    relay.begin(command, { allowInfile: true });
    let out = 0;
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const chunk = bytes.slice(at, at + cuts[i % cuts.length]!);
      const used = relay.push(chunk);
      if (!(used >= 0 && used <= chunk.length)) throw new Error(`Took ${used} bytes of ${chunk.length}`);
      at += chunk.length;
    }
    for (const part of written) out += part.length;
    expect(out <= bytes.length + 9 * (1 + bytes.length / 20)).toBe(true);
    expect(broken.length + seen.ends <= 1).toBe(true);
    for (const error of broken) expect(error.code).toBe("DB_PROTOCOL");
  }

  test("a packet with a wrong number breaks the stream, and what was right before it has passed", () => {
    const { relay, broken, bytes } = harness(BACKEND);
    relay.begin(COM.QUERY);
    const good = new Uint8Array([1, 0, 0, 1, 1, 4, 0, 0, 2, 3, 0x64, 0x65, 0x66]);
    expect(relay.push(concat([good, [2, 0, 0, 4, 1, 0x61]]))).toBe(19);
    expect(broken.map((error) => error.message)).toEqual([
      "The database sent packet number 4 where 3 was due in reply to command 3",
    ]);
    expect(bytes()).toEqual(good);
    expect(relay.push(new Uint8Array(10))).toBe(10);
    expect(relay.active).toBe(false);
  });
});
