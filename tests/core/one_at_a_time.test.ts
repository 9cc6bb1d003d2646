import { expect, test } from "bun:test";
import { oneAtATime } from "../../core/one_at_a_time.ts";

test("a task never runs twice at once, and who asks meanwhile shares the run after it", async () => {
  const ends: PromiseWithResolvers<number>[] = [];
  const run = oneAtATime(() => {
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return end.promise;
  });
  const first = run();
  const [second, third] = [run(), run()];
  expect([ends.length, second === third]).toEqual([1, true]);
  ends[0]!.reject(new Error("no"));
  await expect(first).rejects.toThrow("no");
  while (ends.length < 2) await Promise.resolve();
  const fourth = run();
  ends[1]!.resolve(2);
  expect([await second, await third]).toEqual([2, 2]);
  while (ends.length < 3) await Promise.resolve();
  ends[2]!.resolve(3);
  expect(await fourth).toBe(3);
  const fifth = run();
  expect(ends.length).toBe(4);
  ends[3]!.resolve(4);
  expect(await fifth).toBe(4);
});
