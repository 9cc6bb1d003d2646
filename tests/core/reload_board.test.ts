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

test("a part is reloaded alone, and listeners hear of all of them when the last has ended", async () => {
  const { lines, reloads } = board();
  const heard: unknown[] = [];
  const slow = Promise.withResolvers<void>();
  reloads.register("slow", () => slow.promise);
  reloads.register("quick", () => Promise.reject(new Error("no")));
  reloads.onReloaded(() => {
    throw new Error("careless");
  });
  reloads.onReloaded((result) => heard.push(result));
  expect(reloads.running).toBe(false);
  const first = reloads.one("slow");
  expect(await reloads.one("quick")).toEqual({ quick: "no" });
  expect([reloads.running, heard]).toEqual([true, []]);
  slow.resolve();
  expect(await first).toEqual({ slow: undefined });
  expect([reloads.running, heard]).toEqual([false, [{ slow: undefined, quick: "no" }]]);
  expect(lines).toEqual(["reload of quick failed: no", "reloaded", "a listener for reloads failed"]);
  await reloads.one("quick");
  expect(heard.slice(1)).toEqual([{ quick: "no" }]);
});

test("parts say which files they watch by themselves", () => {
  const { reloads } = board();
  reloads.register("all", () => Promise.resolve());
  expect(reloads.watched("/a.php")).toBe(false);
  reloads.register("php", () => Promise.resolve(), (path) => path.endsWith(".php"));
  expect([reloads.watched("/a.php"), reloads.watched("/a.css")]).toEqual([true, false]);
});
