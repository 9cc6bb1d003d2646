import { expect, test } from "bun:test";
import { Turns } from "../../plugins/compress/turns.ts";
import { turns } from "../support/wait.ts";

test("so many work at a time, the others in order of arrival, whether those before them fail or not", async () => {
  const line = new Turns(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const done = [0, 1, 2, 3, 4].map((n) =>
    line.run(() => {
      begun.push(n);
      return new Promise<number>((resolve, reject) =>
        ends[n] = () => n % 2 === 0 ? resolve(n) : reject(new Error(`${n}`))
      );
    }).catch((error: Error) => error.message)
  );
  await turns();
  expect(begun).toEqual([0, 1]);
  ends[1]!();
  await turns();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]!();
  ends[2]!();
  await turns();
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  ends[3]!();
  ends[4]!();
  expect(await Promise.all(done)).toEqual([0, "1", 2, "3", 4]);
});
