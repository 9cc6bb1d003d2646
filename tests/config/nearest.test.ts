import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { nearest } from "../../core/config/nearest.ts";

describe("nearest", () => {
  test("finds what was meant", () => {
    const keys = ["max_queue", "timeout", "workers", "php"];
    const meant = {
      max_que: "max_queue",
      "max-queue": "max_queue",
      maxQueue: "max_queue",
      tiemout: "timeout",
      phpp: "php",
    };
    for (const [word, key] of Object.entries(meant)) expect([word, nearest(word, keys)]).toEqual([word, key]);
  });

  test("says nothing when nothing is close", () => {
    for (const word of ["x", "ph9q", "listen", ""]) {
      expect([word, nearest(word, ["max_queue", "php"])]).toEqual([word, undefined]);
    }
  });

  test("takes the closest of several, the first of equals", () => {
    expect(nearest("worker", ["workers_", "worker2s", "workers"])).toBe("workers_");
    expect(nearest("retires", ["rewires", "retries"])).toBe("rewires");
  });

  test("one slip in a word of five letters or more is found", () => {
    const word = fc.stringMatching(/^[a-z]{5,12}$/);
    fc.assert(fc.property(word, fc.nat(11), fc.constantFrom("drop", "double", "swap", "change"), (word, n, slip) => {
      const at = n % (word.length - 1);
      const [head, a, b, tail] = [word.slice(0, at), word[at]!, word[at + 1]!, word.slice(at + 2)];
      const slips = { drop: [b], double: [a, a, b], swap: [b, a], change: ["#", b] };
      expect(nearest(head + slips[slip].join("") + tail, [word])).toBe(word);
    }));
  });
});
