import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { frame } from "../../../plugins/dbproxy/wire/frame.ts";
import { Renumber } from "../../../plugins/dbproxy/session/renumber.ts";

test("the number of each frame is lowered and nothing else, wherever the bytes are cut", () => {
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.uint8Array({ maxLength: 20 }), fc.nat(255))),
    fc.integer({ min: 1, max: 255 }),
    fc.array(fc.integer({ min: 1, max: 9 })),
    (packets, shift, cuts) => {
      const bytes = Uint8Array.from(packets.flatMap(([payload, seq]) => [...frame(seq, payload)]));
      const wanted = packets.flatMap(([payload, seq]) => [...frame(seq - shift & 255, payload)]);
      const renumber = new Renumber(shift);
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const end = Math.min(bytes.length, at + (cuts[i] ?? bytes.length));
        renumber.pass(bytes.subarray(at, end));
        at = end;
      }
      expect([...bytes]).toEqual(wanted);
    },
  ));
});
