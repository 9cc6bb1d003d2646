import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { LineWait } from "../../../plugins/php/worker/line_wait.ts";

test("a line that moves is no long wait, one that stands is", () => {
  let now = 0;
  const wait = new LineWait(() => now);
  // Ten wait at each look, and ten are let in between two.
  for (; now < 1000; now += 25) {
    expect(wait.look(10)).toBe(0);
    for (let i = 0; i < 10; i++) wait.letIn();
  }
  expect(wait.look(10)).toBe(0);
  now += 25;
  expect(wait.look(12)).toBe(25);
  now += 100;
  for (let i = 0; i < 9; i++) wait.letIn();
  expect(wait.look(3)).toBe(125);
  wait.letIn();
  expect(wait.look(2)).toBe(0);
  now += 50;
  expect(wait.look(0)).toBe(0);
});

test("it never says more than the oldest has waited", () => {
  fc.assert(fc.property(
    fc.array(fc.oneof(fc.constant("enter" as const), fc.constant("leave" as const), fc.nat(30)), {
      maxLength: 200,
      size: "max",
    }),
    (steps) => {
      let now = 0;
      const line: number[] = [];
      const wait = new LineWait(() => now);
      for (const step of steps) {
        if (step === "enter") line.push(now);
        else if (step === "leave") {
          if (line.length > 0) {
            line.shift();
            wait.letIn();
          }
        } else {
          now += step;
          expect(wait.look(line.length)).toBeLessThanOrEqual(line.length === 0 ? 0 : now - line[0]!);
        }
      }
    },
  ));
});
