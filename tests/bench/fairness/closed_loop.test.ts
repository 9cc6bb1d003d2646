import { describe, expect, test } from "bun:test";
import { lead, machineClock } from "../../../bench/fairness/clock.ts";
import { type ClosedLoop, closedLoop } from "../../../bench/fairness/closed_loop.ts";
import { figures } from "../../../bench/fairness/figures.ts";
import { fairnessGates, harnessGates } from "../../../bench/fairness/gates.ts";
import { parseTold } from "../../../bench/fairness/pages.ts";
import { type Behaviour, toldServer } from "./told_server.ts";

const now = () => performance.now();

async function run(behaviour: Behaviour, answers = 300): Promise<ClosedLoop & { served: number }> {
  const server = await toldServer(behaviour);
  const load = { port: server.port, path: "/", clients: 12, warm: 36, warmMs: 0, answers, windowMs: 0, now };
  try {
    return { ...await closedLoop(load), served: server.served() };
  } finally {
    await server.close();
  }
}

describe("closedLoop", () => {
  test("keeps every answer of every client, and accounts for all of their time", async () => {
    const loop = await run({ slots: 2, serviceMs: 1 });
    expect([loop.answers.length, loop.wrong]).toEqual([loop.served, []]);
    const found = figures(loop, 12, 2);
    expect(found.answers).toBe(300);
    const evidence = { wrong: 0, sent: loop.answers.length, admitted: loop.served, strangers: 0 };
    expect(harnessGates(found, evidence).map(({ name }) => name)).toContain("accounted time / (clients x window)");
    expect(found.accounted).toBeGreaterThan(0.9);
    expect(found.accounted).toBeLessThanOrEqual(1);
    // A client's next sending never comes before its last answer.
    const last = new Map<number, number>();
    for (const { client, sent, answered, started, ended } of loop.answers) {
      expect(sent).toBeGreaterThanOrEqual(last.get(client) ?? 0);
      expect([sent <= started, started <= ended, ended <= answered + 0.001]).toEqual([true, true, true]);
      last.set(client, answered);
    }
  });

  test("a line in order is told from one that newcomers jump", async () => {
    // Loads of a machine stretch all times alike; the order of arrival is what these figures see.
    const fair = figures(await run({ slots: 2, serviceMs: 1 }), 12, 2);
    expect([fair.laps.early, fair.passed]).toEqual([0, 0]);
    expect(fair.jain).toBeGreaterThan(0.99);
    let turn = 0;
    const jumped = figures(
      await run({ slots: 2, serviceMs: 1, next: (length) => ++turn % 2 === 0 ? length - 1 : 0 }),
      12,
      2,
    );
    expect(jumped.passed).toBeGreaterThan(0.1);
    expect(fairnessGates(jumped, { p99: 1.05 }, 0).every(({ holds }) => holds)).toBe(false);
  });

  test("answers that are no 2xx or no page of ours are wrong, not fast", async () => {
    const loop = await run({ slots: 2, serviceMs: 1, status: (n) => n === 50 ? 503 : 200 });
    expect(loop.wrong.length).toBe(1);
    expect(loop.wrong[0]?.startsWith("503 ")).toBe(true);
    expect(loop.answers.length).toBe(loop.served - 1);
  });

  test("a server that refuses everything ends the run", async () => {
    const error = await run({ slots: 2, serviceMs: 0, status: () => 502 }).catch((caught: Error) => caught.message);
    expect(error).toContain("over 100 wrong answers, the first 502");
  });
});

describe("clocks", () => {
  test("brackets give the distance, and how sure it is", () => {
    // Ours is 1000 behind; requests take 0.3 to reach the page and 0.1 to come back, then 0.1 and 0.5.
    const found = lead([
      { sent: 10, started: 1010.3, ended: 1010.3, answered: 10.4 },
      { sent: 20, started: 1020.1, ended: 1020.1, answered: 20.6 },
    ]);
    expect(found.ms).toBeCloseTo(1000, 6);
    expect(found.within).toBeCloseTo(0.1, 6);
  });

  test("contradictions are refused", () => {
    const brackets = [{ sent: 0, started: 5, ended: 5, answered: 1 }, { sent: 0, started: 9, ended: 9, answered: 1 }];
    expect(() => lead(brackets)).toThrow("do not agree");
  });

  test("a page on our own clock is not ahead", async () => {
    const server = await toldServer({ slots: 1, serviceMs: 0 });
    try {
      const { now: machine, within } = await machineClock(server.port, 10);
      const [before, there, after] = [now(), machine(), now()];
      expect(there).toBeGreaterThanOrEqual(before - within - 0.001);
      expect(there).toBeLessThanOrEqual(after + within + 0.001);
    } finally {
      await server.close();
    }
  });
});

test("a page is read only when it is one", () => {
  expect(parseTold("12 3.0000 4.5000\n")).toEqual({ pid: 12, start: 3, end: 4.5 });
  for (const body of ["", "slept", "12 3.0000\n", "12 3.0000 4.5000", "x12 3.0000 4.5000\n"]) {
    expect(parseTold(body)).toBe(undefined);
  }
});
