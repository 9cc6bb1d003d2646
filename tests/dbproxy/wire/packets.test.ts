import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CAP } from "../../../plugins/dbproxy/wire/capabilities.ts";
import { decodeErr, encodeErr } from "../../../plugins/dbproxy/wire/err.ts";
import * as errors from "../../../plugins/dbproxy/wire/errors.ts";
import { decodeEof, decodeOk, encodeEof, encodeOk } from "../../../plugins/dbproxy/wire/ok.ts";
import { decodeTrackers, emptyTrackers } from "../../../plugins/dbproxy/wire/trackers.ts";
import { Writer } from "../../../plugins/dbproxy/wire/bytes.ts";
import { CoreError } from "../../../core/error.ts";
import { bit, bytes, codeOf, hex, name, u16, u32, u64 } from "./support.ts";

const tracking = CAP.PROTOCOL_41 | CAP.SESSION_TRACK;
const plain = CAP.PROTOCOL_41;
const text = (s: string) => hex(`'${s}'`);

describe("OK and EOF", () => {
  test("a login's OK with its schema", () => {
    const packet = hex("00 00 00 02 40 00 00 00 04 01 02 01 61");
    const ok = decodeOk(packet, tracking);
    expect(ok).toEqual({
      affectedRows: 0,
      insertId: 0,
      status: 0x4002,
      warnings: 0,
      info: "",
      trackers: hex("01 02 01 61"),
    });
    expect(encodeOk(ok, tracking)).toEqual(packet);
    expect(encodeOk(ok, plain)).toEqual(hex("00 00 00 02 00 00 00"));
    expect(decodeTrackers(ok.trackers!)).toEqual({ ...emptyTrackers, schema: "a" });
  });

  test("the ends of results", () => {
    expect(decodeOk(hex("fe 00 00 62 00 00 00"), tracking).status).toBe(0x62);
    expect(decodeEof(hex("fe 00 00 62 00"))).toEqual({ status: 0x62, warnings: 0 });
    expect(decodeEof(hex("fe 01 00 02 00"))).toEqual({ status: 2, warnings: 1 });
    expect(encodeEof(0x62, 3)).toEqual(hex("fe 03 00 62 00"));
    expect(encodeEof(0x4002, 0)).toEqual(hex("fe 00 00 02 00"));
    const end = { affectedRows: 0, insertId: 0, status: 2, warnings: 0, info: "", trackers: undefined };
    expect(encodeOk(end, tracking, 0xfe)).toEqual(hex("fe 00 00 02 00 00 00"));
    expect(codeOf(() => decodeEof(hex("fe 00 00 00 00 00 00 00 01")))).toBe("DB_PROTOCOL");
    expect(codeOf(() => decodeOk(hex("01 00 00 02 00 00 00"), plain))).toBe("DB_PROTOCOL");
  });

  test("info with its length, and without as documentation has it", () => {
    const head = "00 01 00 02 00 00 00";
    const info = "Rows matched: 1  Changed: 1  Warnings: 0";
    const sized = new Uint8Array([...hex(head), info.length, ...text(info)]);
    for (const caps of [plain, tracking]) expect(decodeOk(sized, caps).info).toBe(info);
    expect(decodeOk(new Uint8Array([...hex(head), ...text(info)]), plain).info).toBe(info);
  });

  test("the state bit may stand without a block", () => {
    expect(decodeOk(hex("00 00 00 02 40 00 00"), tracking).trackers).toBe(undefined);
    expect(decodeOk(hex("00 00 00 02 40 00 00 00 00"), tracking).trackers).toEqual(hex(""));
  });

  test("what is encoded is decoded", () => {
    const record = fc.record({
      affectedRows: u64,
      insertId: u64,
      status: u16,
      warnings: u16,
      info: name,
      trackers: fc.option(bytes(300), { nil: undefined }),
    });
    fc.assert(fc.property(record, fc.boolean(), fc.constantFrom(0x00 as const, 0xfe as const), (ok, track, header) => {
      const trackers = track ? ok.trackers : undefined;
      const packet = encodeOk(ok, track ? tracking : plain, header);
      expect(packet[0]).toBe(header);
      const status = bit(ok.status, 0x4000, trackers !== undefined);
      expect(decodeOk(packet, track ? tracking : plain)).toEqual({ ...ok, status, trackers });
    }));
    fc.assert(fc.property(u16, u16, (status, warnings) => {
      expect(decodeEof(encodeEof(status, warnings))).toEqual({ status: bit(status, 0x4000, false), warnings });
    }));
  });
});

describe("errors", () => {
  test("with a state, and before the handshake without", () => {
    expect(encodeErr(errors.tooManyConnections(), true)).toEqual(hex("ff 10 04 'Too many connections'"));
    expect(encodeErr(errors.tooManyConnections())).toEqual(hex("ff 10 04 '#08004Too many connections'"));
    expect(decodeErr(hex("ff 10 04 'Too many connections'"))).toEqual({
      code: 1040,
      state: "",
      message: "Too many connections",
    });
    expect(encodeErr(errors.insecureTransport()).subarray(0, 9)).toEqual(hex("ff 57 0c 23 48 59 30 30 30"));
    expect(decodeErr(hex("ff 01 00"))).toEqual({ code: 1, state: "", message: "" });
    expect(encodeErr({ code: 1, state: "", message: "x" })).toEqual(hex("ff 01 00 '#HY000x'"));
  });

  test("our own errors have the servers' codes and states", () => {
    const made = [
      errors.tooManyConnections(),
      errors.accessDenied("u", "h", true),
      errors.unknownCommand(),
      errors.shuttingDown(),
      errors.unknownThread(5),
      errors.notOwner(5n),
      errors.packetTooLarge(),
      errors.outOfOrder(),
    ];
    expect(made.map(({ code, state }) => `${code} ${state}`)).toEqual([
      "1040 08004",
      "1045 28000",
      "1047 08S01",
      "1053 08S01",
      "1094 HY000",
      "1095 HY000",
      "1153 08S01",
      "1156 08S01",
    ]);
    expect(errors.accessDenied("u", "h", false).message).toBe("Access denied for user 'u'@'h' (using password: NO)");
    const of = (code: string) => errors.errorOf(new CoreError(code, "m")).code;
    expect(["DB_PACKET_TOO_LARGE", "DB_SEQUENCE", "DB_PROTOCOL", "DB_X"].map(of)).toEqual([1153, 1156, 1047, 1105]);
  });

  test("what is encoded is decoded", () => {
    const state = fc.stringMatching(/^[0-9A-Z]{5}$/);
    fc.assert(fc.property(u16, state, name, (code, state, message) => {
      expect(decodeErr(encodeErr({ code, state, message }))).toEqual({ code, state, message });
    }));
  });
});

describe("trackers", () => {
  test("several entries, unknown types passed over", () => {
    const block = hex(
      "00 0f 0a 'autocommit' 03 'OFF' 63 02 ff ff 00 06 01 'a' 00 01 'b' 00 02 02 01 '1' 01 03 02 'db' 04 01 00 " +
        "05 09 08 'T_______' 03 04 00 02 'g1'",
    );
    expect(decodeTrackers(block)).toEqual({
      variables: [["autocommit", "OFF"], ["a", ""], ["b", ""]],
      stateChanged: true,
      schema: "db",
      characteristics: "",
      transaction: "T_______",
      gtids: "g1",
    });
    expect(decodeTrackers(hex(""))).toBe(emptyTrackers);
    expect(codeOf(() => decodeTrackers(hex("01 05 02 'db'")))).toBe("DB_PROTOCOL");
    expect(codeOf(() => decodeTrackers(hex("00 02 01 'a'")))).toBe("DB_PROTOCOL");
  });

  test("what is encoded is decoded", () => {
    const optional = fc.option(name, { nil: undefined });
    const record = fc.record({
      variables: fc.array(fc.tuple(name, name), { maxLength: 5 }),
      schema: optional,
      stateChanged: fc.boolean(),
      characteristics: optional,
      transaction: optional,
      gtids: optional,
    });
    fc.assert(fc.property(record, fc.nat(5), bytes(20), u32, (trackers, split, unknown, type) => {
      const block = new Writer();
      const entry = (type: number, write: (data: Writer) => void) => {
        const data = new Writer();
        write(data);
        block.u8(type).lenencBytes(data.take());
      };
      for (const part of [trackers.variables.slice(0, split), trackers.variables.slice(split)]) {
        if (part.length > 0) entry(0, (d) => part.forEach(([name, value]) => d.lenencText(name).lenencText(value)));
      }
      entry(6 + type % 200, (d) => d.bytes(unknown));
      if (trackers.schema !== undefined) entry(1, (d) => d.lenencText(trackers.schema!));
      if (trackers.stateChanged) entry(2, (d) => d.lenencText("1"));
      if (trackers.gtids !== undefined) entry(3, (d) => d.u8(0).lenencText(trackers.gtids!));
      if (trackers.characteristics !== undefined) entry(4, (d) => d.lenencText(trackers.characteristics!));
      if (trackers.transaction !== undefined) entry(5, (d) => d.lenencText(trackers.transaction!));
      expect(decodeTrackers(block.take())).toEqual(trackers);
    }));
  });
});
