import { expect, test } from "bun:test";
import { concat } from "../../../plugins/dbproxy/wire/concat.ts";

test("chunks are put together in their order, and one alone is not copied", () => {
  const one = Uint8Array.of(1, 2);
  expect(concat([one])).toBe(one);
  const parts = [one, new Uint8Array(), Uint8Array.of(3)];
  expect([concat(parts), concat(parts, 3), concat([])]).toEqual([
    Uint8Array.of(1, 2, 3),
    Uint8Array.of(1, 2, 3),
    new Uint8Array(),
  ]);
});
