import { expect, test } from "bun:test";
import { ReloadBoard } from "../../core/reload_board.ts";

const board = () => {
  const lines: string[] = [];
  return { lines, reloads: new ReloadBoard((_level, text) => void lines.push(text)) };
};

test("every part is reloaded, and what is wrong with one does not keep the others", async () => {
  const { lines, reloads } = board();
  reloads.register("good", () => Promise.resolve());
  reloads.register("bad", () => Promise.reject(new Error("no such script")));
  expect(await reloads.run()).toEqual({ good: undefined, bad: "no such script" });
  expect(lines).toEqual(["reload of bad failed: no such script"]);
});

test("who asks during a reload gets a whole one after it, together with others who do", async () => {
  const { lines, reloads } = board();
  const steps: (() => void)[] = [];
  let begun = 0;
  reloads.register("slow", () => {
    begun++;
    return new Promise((resolve) => steps.push(resolve));
  });
  const first = reloads.run();
  const [second, third] = [reloads.run(), reloads.run()];
  expect([begun, second === third, first === second]).toEqual([1, true, false]);
  steps.shift()!();
  await first;
  while (steps.length === 0) await Promise.resolve();
  expect(begun).toBe(2);
  steps.shift()!();
  expect(await second).toEqual({ slow: undefined });
  const fourth = reloads.run();
  expect(begun).toBe(3);
  steps.shift()!();
  await fourth;
  expect(lines).toEqual(["reloaded", "reloaded", "reloaded"]);
});
