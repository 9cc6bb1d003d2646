import { describe, expect, test } from "bun:test";
import type { CoreError } from "../../../core/error.ts";
import { type BeginOptions, type ReplyClient, ReplyRelay } from "../../../plugins/dbproxy/reply/relay.ts";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import { concat, frames } from "./model.ts";

const CLASSIC = { deprecateEof: false, sessionTrack: false };
const MODERN = { deprecateEof: true, sessionTrack: true };

function start(client: ReplyClient, command: number, options: BeginOptions = {}) {
  const log: string[] = [];
  const written: Uint8Array[] = [];
  const relay = new ReplyRelay(client, (bytes) => written.push(bytes), {
    onOk: (ok) => log.push(`ok ${ok.status.toString(16)}`),
    onErr: (err) => log.push(`err ${err.code} ${err.state} ${err.message}`),
    onPrepared: (id, columns, parameters) => log.push(`prepared ${id} ${columns} ${parameters}`),
    onInfile: () => log.push("infile"),
    onEnd: () => log.push("end"),
    onBroken: (error: CoreError) => log.push(`broken ${error.message}`),
  });
  relay.begin(command, options);
  return { relay, log, written, hex: () => hex(concat(written)) };
}

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (text: string) => Uint8Array.from(text.replace(/ /g, "").match(/../g)!, (byte) => parseInt(byte, 16));

describe("the first EOF of a result set", () => {
  const head = "01000001 01 02000002 0161";
  const row = "02000003 0131";

  test("says of more results what the caller knows, when the end is not in yet", () => {
    const { relay, hex } = start(CLASSIC, COM.QUERY, { results: 2 });
    relay.push(bytes(head + row));
    expect(hex()).toBe(`${head}05000003fe00000a0002000004 0131`.replace(/ /g, ""));
    relay.push(bytes("07000004 fe0000 0a000000"));
    relay.push(bytes("01000005 01 02000006 0161 02000007 0131 07000008 fe0000 02000000"));
    expect(hex().slice(-88)).toBe(
      "05000005fe00000a00 01000006 01 02000007 0161 05000008fe00000200 02000009 0131 0500000afe00000200".replace(
        / /g,
        "",
      ),
    );
  });

  test("says what the end says, when that is in", () => {
    const { relay, hex, written } = start(CLASSIC, COM.QUERY);
    relay.push(bytes(`${head}${row}07000004 fe0000 22000300`));
    expect(hex()).toBe(`${head}05000003fe00002200 02000004 0131 05000005 fe03002200`.replace(/ /g, ""));
    expect(written.length).toBe(1);
  });

  test("is the only one when a cursor was opened, but not when a text result has that bit", () => {
    const cursor = start(CLASSIC, COM.STMT_EXECUTE);
    cursor.relay.push(bytes(`${head}07000003 fe0000 42000000`));
    expect(cursor.hex()).toBe(`${head}05000003fe00004200`.replace(/ /g, ""));
    const query = start(CLASSIC, COM.QUERY);
    query.relay.push(bytes(`${head}07000003 fe0000 42000000`));
    expect(query.hex()).toBe(`${head}05000003fe0000420005000004fe00004200`.replace(/ /g, ""));
  });
});

describe("an error in the middle", () => {
  test("of rows ends the reply, behind the EOF that was due", () => {
    const { relay, log, hex } = start(CLASSIC, COM.QUERY);
    relay.push(bytes("01000001 01 02000002 0161 0a000003 ff2505 23 3730313030 78"));
    expect(hex()).toBe("010000010102000002016105000003fe000002000a000004ff2505233730313030" + "78");
    expect(log).toEqual(["err 1317 70100 x", "end"]);
  });

  test("is rewritten to the client's number when the server counts from 0 before it hangs up", () => {
    const { relay, log, hex } = start(CLASSIC, COM.QUERY);
    relay.push(bytes("0a000000 ffbf0f 23 4859303030 78"));
    expect(hex()).toBe("0a000001ffbf0f23485930303078");
    expect(log).toEqual(["err 4031 HY000 x", "end"]);
  });
});

describe("what a client did not ask for", () => {
  test("progress reports are left out and closed up", () => {
    const { relay, log, hex } = start(MODERN, COM.QUERY);
    relay.push(bytes("0a000001 ffffff 01 01 02 100000 00"));
    relay.push(bytes("07000002 00 00 00 0200 0000"));
    expect(hex()).toBe("0700000100000002000000");
    expect(log).toEqual(["ok 2", "end"]);
  });

  test("a request for a file is hidden, and the answer follows on", () => {
    const { relay, log, hex } = start(MODERN, COM.QUERY);
    relay.push(bytes("02000001 fb 61"));
    expect(log).toEqual(["infile"]);
    expect(relay.backendSeq).toBe(2);
    relay.infileSent();
    relay.push(bytes("07000003 00 00 00 0200 0000"));
    expect(hex()).toBe("0700000100000002000000");
    expect(log).toEqual(["infile", "ok 2", "end"]);
  });
});

describe("a local file", () => {
  test("is asked for once, and its answer carries the client's number", () => {
    const { relay, log, hex } = start(CLASSIC, COM.QUERY, { allowInfile: true });
    relay.push(bytes("01000001 01 02000002 0161 07000003 fe0000 0a000000 02000004 fb 61"));
    expect(hex()).toBe("010000010102000002016105000003fe00000a0005000004fe00000a0002000005fb61");
    expect(log).toEqual(["ok a", "infile"]);
    expect([relay.nextSeq, relay.backendSeq, relay.shift]).toEqual([6, 5, 1]);
    relay.infileSent(8);
    relay.push(bytes("07000008 00 02 00 0200 0000"));
    expect(hex().slice(-22)).toBe("0700000900020002000000");
    expect(log).toEqual(["ok a", "infile", "ok 2", "end"]);
  });

  test("may be refused by the server before all of it was sent", () => {
    const { relay, log } = start(CLASSIC, COM.QUERY, { allowInfile: true });
    expect(relay.push(bytes("02000001 fb 61 0a000005 ff2505 23 3730313030 78"))).toBe(20);
    expect(log).toEqual(["infile", "err 1317 70100 x", "end"]);
  });
});

describe("a command", () => {
  test("without a reply leaves the relay inactive", () => {
    for (const command of [COM.STMT_CLOSE, COM.STMT_SEND_LONG_DATA, COM.QUIT]) {
      const { relay, log } = start(CLASSIC, command);
      expect(relay.active).toBe(false);
      expect(relay.push(bytes("07000001 00 00 00 0200 0000"))).toBe(0);
      expect(log).toEqual([]);
    }
  });

  test("is told where an error of the proxy's own may go", () => {
    const { relay } = start(CLASSIC, COM.QUERY);
    relay.push(bytes("01000001 01 02000002 0161 02000003"));
    expect([relay.whole, relay.nextSeq]).toEqual([true, 3]);
    relay.push(bytes("01"));
    expect([relay.whole, relay.nextSeq]).toEqual([false, 5]);
    relay.push(bytes("31"));
    expect([relay.whole, relay.nextSeq]).toEqual([true, 5]);
  });
});

describe("packets of 16 MiB and more", () => {
  const MAX = 0xffffff;
  const big = new Uint8Array(2 * MAX + 100).fill(0xfe);

  /** A row of so many bytes: a first column of 16 MiB and more begins with fe as the end of rows does. */
  const row = (size: number) => big.subarray(0, size);
  const cases: [name: string, payload: Uint8Array, header: number][] = [
    ["just below a whole frame", row(MAX - 1), 0x03],
    ["of a whole frame, so with an empty one behind it", row(MAX), 0xfe],
    ["of one byte more", row(MAX + 1), 0xfe],
    ["of two whole frames", row(2 * MAX), 0xfe],
    ["with a second frame that begins as an error does", row(MAX + 9), 0xfe],
  ];
  for (const [name, payload, first] of cases) {
    test(`pass ${name}`, () => {
      payload[0] = first;
      if (payload.length > MAX) payload[MAX] = 0xff;
      const { relay, log, written } = start(CLASSIC, COM.QUERY);
      const parts = frames(payload, 3);
      const stream = [bytes("01000001 01 02000002 0161"), ...parts, bytes("00000000")];
      const seq = 3 + parts.length / 2;
      stream[stream.length - 1] = bytes(`070000${hex(Uint8Array.of(seq))} fe0000 02000000`);
      let sent = 0;
      for (const part of stream) {
        for (let at = 0; at < part.length; at += 1 << 22) {
          const piece = part.subarray(at, at + (1 << 22));
          sent += piece.length;
          expect(relay.push(piece.length < 16 ? piece.slice() : piece)).toBe(piece.length);
        }
      }
      expect(log).toEqual(["ok 2", "end"]);
      expect(relay.rows).toBe(1);
      expect(written.reduce((sum, part) => sum + part.length, 0)).toBe(sent + 9 - 2);
      payload[0] = 0xfe;
    });
  }

  test("and an end or an OK of a whole frame makes no sense", () => {
    const { relay, log } = start(CLASSIC, COM.PING);
    relay.push(bytes("ffffff01 00"));
    expect(log).toEqual([
      "broken The database sent a packet of 16777215 bytes that begins with 0 in reply to command 14",
    ]);
  });
});
