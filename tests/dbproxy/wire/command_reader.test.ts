import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";
import { CommandReader, type CommandSink } from "../../../plugins/dbproxy/wire/command_reader.ts";
import { frame, maxFrame } from "../../../plugins/dbproxy/wire/frame.ts";
import { bytes, cut, cuts, hex, same, singles } from "./support.ts";

/** Notes all deliveries as texts; calls `then` after each, which may go on with the reader. */
class Notes implements CommandSink {
  readonly lines: string[] = [];
  readonly frames: Uint8Array[] = [];
  then: (line: string) => void = () => {};

  #note(line: string): void {
    this.lines.push(line);
    this.then(line);
  }

  onCommand(command: number, frames: Uint8Array, whole: boolean): void {
    this.frames.push(frames);
    this.#note(`${command} ${frames.length}${whole ? "" : " ..."}`);
  }

  onMore(frames: Uint8Array, last: boolean): void {
    this.frames.push(frames);
    this.#note(`+${frames.length}${last ? "" : " ..."}`);
  }

  onProblem(error: CoreError): void {
    this.#note(error.code);
  }
}

const ping = hex("01 00 00 00 0e");
const query = hex("09 00 00 00 03 'SELECT 1'");
const both = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

describe("commands", () => {
  test("one that came in one chunk is that chunk, not a copy", () => {
    const notes = new Notes(), reader = new CommandReader(notes);
    reader.push(query);
    expect(notes.lines).toEqual(["3 13"]);
    expect(notes.frames[0] === query).toBe(true);
  });

  test("pipelined ones wait for next(), each for its own", () => {
    const notes = new Notes(), reader = new CommandReader(notes);
    const chunk = both(ping, query, ping);
    reader.push(chunk);
    reader.push(query);
    expect(notes.lines).toEqual(["14 5"]);
    expect(reader.held).toBe(13 + 5 + 13);
    reader.next();
    expect(notes.lines).toEqual(["14 5", "3 13"]);
    expect(notes.frames[1]!.buffer).toBe(chunk.buffer);
    notes.then = () => reader.next();
    reader.next();
    expect(notes.lines).toEqual(["14 5", "3 13", "14 5", "3 13"]);
    expect(reader.held).toBe(0);
  });

  test("an empty packet is command -1", () => {
    const notes = new Notes(), reader = new CommandReader(notes);
    notes.then = () => reader.next();
    reader.push(both(hex("00 00 00 00"), ping));
    expect(notes.lines).toEqual(["-1 4", "14 5"]);
  });

  test("a number other than 0 is a problem, and nothing comes after it", () => {
    const notes = new Notes(), reader = new CommandReader(notes);
    notes.then = () => reader.next();
    reader.push(both(ping, hex("01 00 00 01 0e"), ping));
    reader.push(ping);
    expect(notes.lines).toEqual(["14 5", "DB_SEQUENCE"]);
    expect(reader.held).toBe(0);
  });

  test("one longer than allowed is a problem by its header, also when it is whole", () => {
    for (const rest of ["", "03 'SELECT 1'"]) {
      const notes = new Notes(), reader = new CommandReader(notes, { maxPacket: 8 });
      reader.push(hex(`09 00 00 00 ${rest}`));
      expect(notes.lines).toEqual(["DB_PACKET_TOO_LARGE"]);
    }
    const notes = new Notes();
    new CommandReader(notes, { maxPacket: 9 }).push(query);
    expect(notes.lines).toEqual(["3 13"]);
  });

  test("one that has not come whole is gathered, and over the limit handed on in parts", () => {
    const wire = frame(0, new Uint8Array(100).fill(3));
    const notes = new Notes(), reader = new CommandReader(notes, { headLimit: 50 });
    reader.push(wire.slice(0, 30));
    expect(notes.lines).toEqual([]);
    expect(reader.held).toBe(0);
    reader.push(wire.slice(30, 60));
    expect(notes.lines).toEqual(["3 60 ..."]);
    reader.push(wire.slice(60, 103));
    reader.push(both(wire.slice(103), ping));
    expect(notes.lines).toEqual(["3 60 ...", "+43 ...", "+1"]);
    expect(reader.held).toBe(5);
    expect(same(both(...notes.frames), wire)).toBe(true);
    reader.next();
    expect(notes.lines.at(-1)).toBe("14 5");
  });

  test("next() in the middle of a command counts for the one after it", () => {
    const wire = frame(0, new Uint8Array(100).fill(3));
    const notes = new Notes(), reader = new CommandReader(notes, { headLimit: 10 });
    reader.push(wire.slice(0, 60));
    reader.next();
    reader.push(both(wire.slice(60), ping));
    expect(notes.lines).toEqual(["3 60 ...", "+44", "14 5"]);
  });

  test("hold() stops the rest of a command too", () => {
    const wire = frame(0, new Uint8Array(100).fill(3));
    const notes = new Notes(), reader = new CommandReader(notes, { headLimit: 10 });
    notes.then = () => reader.hold();
    reader.push(wire.slice(0, 60));
    reader.push(wire.slice(60, 80));
    reader.push(wire.slice(80));
    expect(notes.lines).toEqual(["3 60 ..."]);
    expect(reader.held).toBe(44);
    reader.release();
    expect(notes.lines).toEqual(["3 60 ...", "+20 ..."]);
    reader.release();
    expect(notes.lines).toEqual(["3 60 ...", "+20 ...", "+24"]);
  });

  test("split at 16 MiB: streamed, and its last frame may be empty", () => {
    const payload = new Uint8Array(maxFrame).fill(0xff);
    payload[0] = 3;
    const wire = frame(0, payload);
    const notes = new Notes(), reader = new CommandReader(notes);
    const at = [65536, 1 << 20, maxFrame + 4, maxFrame + 6];
    for (const [i, from] of [0, ...at].entries()) reader.push(wire.subarray(from, at[i]));
    expect(notes.lines).toEqual(["3 65536 ...", "+983040 ...", "+15728643 ...", "+2 ...", "+2"]);
    reader.next();
    reader.push(wire);
    expect(notes.lines.at(-1)).toBe(`3 ${maxFrame + 8}`);
    expect(same(notes.frames.at(-1)!, wire)).toBe(true);
    reader.next();
    reader.push(wire.subarray(0, maxFrame + 4));
    reader.push(hex("00 00 00 02"));
    expect(notes.lines.slice(-2)).toEqual([`3 ${maxFrame + 4} ...`, "DB_SEQUENCE"]);
  });

  test("any chunking gives the same commands and the same bytes", () => {
    const commands = fc.array(fc.oneof(bytes(5), bytes(400)), { maxLength: 8 });
    fc.assert(
      fc.property(commands, cuts, fc.constantFrom(1, 20, 65536), fc.boolean(), (payloads, points, headLimit, eager) => {
        const wire = both(...payloads.map((payload) => frame(0, payload)));
        const expected = payloads.map((payload) => payload[0] ?? -1);
        for (const chunks of [cut(wire, points), singles(wire)]) {
          const notes = new Notes(), reader = new CommandReader(notes, { headLimit });
          if (eager) notes.then = () => reader.next();
          for (const chunk of chunks) reader.push(chunk);
          for (let left = payloads.length; left > 0; left--) reader.next();
          expect(reader.held).toBe(0);
          expect(same(both(...notes.frames), wire)).toBe(true);
          const heads = notes.lines.filter((line) => !line.startsWith("+"));
          expect(heads.map((line) => parseInt(line))).toEqual(expected);
          if (headLimit === 65536) expect(heads.length).toBe(notes.lines.length);
          const ends = notes.lines.filter((line) => !line.endsWith("..."));
          expect(ends.length).toBe(payloads.length);
        }
      }),
    );
  });

  test("single bytes that wait take no more than their bytes", () => {
    const notes = new Notes(), reader = new CommandReader(notes);
    const wire = both(ping, ...Array.from({ length: 2000 }, () => ping));
    for (const chunk of singles(wire)) reader.push(chunk);
    expect(reader.held).toBe(10000);
    notes.then = () => reader.next();
    reader.next();
    expect(notes.lines.length).toBe(2001);
    expect(reader.held).toBe(0);
  });
});

describe("what is no command", () => {
  test("a dialogue's packets, until told to stop", () => {
    const change = hex("02 00 00 00 11 00");
    for (const singly of [false, true]) {
      const notes = new Notes(), reader = new CommandReader(notes);
      const packets: string[] = [];
      notes.then = (line) => {
        if (!line.startsWith("17 ")) return;
        reader.takePackets((payload, seq) => {
          packets.push(`${payload.length} ${seq}`);
          return payload.length !== 0;
        });
      };
      const wire = both(change, hex("03 00 00 02 'abc' 00 00 00 04"), ping);
      for (const chunk of singly ? singles(wire) : [wire]) reader.push(chunk);
      expect(packets).toEqual(["3 2", "0 4"]);
      expect(notes.lines).toEqual(["17 6"]);
      expect(reader.held).toBe(5);
      reader.next();
      expect(notes.lines).toEqual(["17 6", "14 5"]);
    }
  });

  test("a dialogue's error, thrown or of its packets, is a problem", () => {
    for (const wire of [hex("01 00 00 02 00"), hex("01 00 01 02")]) {
      const notes = new Notes(), reader = new CommandReader(notes);
      reader.push(hex("02 00 00 00 11 00"));
      reader.takePackets(() => {
        throw new CoreError("DB_PACKET_TOO_LARGE", "no");
      });
      reader.push(wire);
      expect(notes.lines).toEqual(["17 6", "DB_PACKET_TOO_LARGE"]);
    }
  });

  test("a file's packets pass raw up to the empty one, in any chunking", () => {
    const file = fc.array(bytes(60, 1), { maxLength: 5 });
    fc.assert(fc.property(file, fc.nat(255), cuts, fc.boolean(), (parts, seq, points, early) => {
      const raw = both(...[...parts, hex("")].map((part, i) => frame(seq + i, part)));
      const wire = both(query, raw, ping);
      for (const chunks of [cut(wire, points), singles(wire)]) {
        const notes = new Notes(), reader = new CommandReader(notes);
        const data: Uint8Array[] = [];
        let ends = 0;
        const start = () =>
          reader.infile((frames, last) => {
            expect(ends).toBe(0);
            data.push(frames);
            if (last) ends++;
          });
        if (early) notes.then = (line) => line.startsWith("3 ") && start();
        for (const chunk of chunks) reader.push(chunk);
        if (!early) start();
        expect(ends).toBe(1);
        expect(same(both(...data), raw)).toBe(true);
        expect([notes.lines, reader.held]).toEqual([["3 13"], 5]);
        reader.next();
        expect(notes.lines).toEqual(["3 13", "14 5"]);
      }
    }));
  });

  test("the empty frame behind a full one does not end a file", () => {
    const notes = new Notes(), reader = new CommandReader(notes);
    reader.push(query);
    const ends: boolean[] = [];
    reader.infile((_, last) => {
      ends.push(last);
    });
    reader.push(frame(2, new Uint8Array(maxFrame)));
    expect(ends).toEqual([false]);
    reader.push(hex("00 00 00 04"));
    expect(ends).toEqual([false, true]);
  });
});
