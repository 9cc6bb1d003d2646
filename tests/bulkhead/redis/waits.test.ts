import { describe, expect, test } from "bun:test";
import { allowSlowTests } from "../../support/wait.ts";
import { closedLoop, percentile } from "./closed_loop.ts";

allowSlowTests(60_000);

describe("waits for permits from Redis", () => {
  test("of 20 clients for 5 permits are nearly the same: nobody is let in at once, nobody waits for two rounds", async () => {
    const turns = (await closedLoop(20, 5, 10, 30)).slice(40, -40);
    const waits = turns.map(({ asked, from }) => from - asked);
    // 20 clients in front of 5 permits stand in line for three holds of at least 10 ms, less the moment at which one came back.
    expect(percentile(waits, 0.01)).toBeGreaterThan(15);
    // Two rounds later everyone has been in twice: so it was in order, however slow the machine is.
    for (let i = 0; i + 40 < turns.length; i++) expect(turns[i]!.fence).toBeLessThan(turns[i + 40]!.fence);
  });
});
