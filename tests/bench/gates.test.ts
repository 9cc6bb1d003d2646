import { describe, expect, test } from "bun:test";
import { ARMS } from "../../bench/gates/arms/all.ts";
import { EXPERIMENTS } from "../../bench/gates/experiments.ts";
import { parseOptions } from "../../bench/gates/options.ts";
import { report, type Sample, summarize, verdicts } from "../../bench/gates/summary.ts";
import { waitFor } from "../support/wait.ts";

describe("every arm", () => {
  for (const [name, load] of Object.entries(ARMS)) {
    test(`${name}: lets two in at most, serves a line in order, and goes on after being alone`, async () => {
      const make = await load();
      await make(1).alone(3);
      const { submit, begin } = make(1);
      if (submit !== undefined) {
        const served: number[] = [];
        for (let i = 0; i < 20; i++) submit(() => served.push(i));
        begin?.();
        await waitFor(() => served.length === 20, { what: "the line to be served", every: 1 });
        // Classes take their turns by share, so those who came to one class stay in order and not all.
        const inOrder = name.includes("four classes") ? served.toSorted((a, b) => a - b) : served;
        expect(inOrder).toEqual(Array.from({ length: 20 }, (_, i) => i));
      }
      const { client } = make(2);
      if (client !== undefined) {
        let [inside, most, passed] = [0, 0, 0];
        const hold = async () => {
          most = Math.max(most, ++inside);
          await Promise.resolve();
          inside--;
          passed++;
        };
        await Promise.all(Array.from({ length: 10 }, () => client(hold, () => passed < 100)));
        expect(most).toBe(2);
        expect(passed).toBeGreaterThan(99);
      }
    });

    test(`${name}: can be measured in every experiment it can do`, async () => {
      const make = await load();
      for (const experiment of EXPERIMENTS.filter((one) => one.can(make(1)))) {
        const { wall, cpu } = await experiment.run(make, experiment.depths[0]!, 5);
        expect(wall).toBeGreaterThan(0);
        expect(cpu).toBeGreaterThan(-1);
      }
    });
  }
});

describe("the report", () => {
  const sample = (arm: string, round: number, cpu: number | null, depth = 1): Sample => ({
    runtime: "bun",
    experiment: "standing line",
    depth,
    arm,
    round,
    cost: cpu === null ? null : { cpu, wall: cpu * 2 },
  });
  const samples = [
    sample("FairGate, callbacks", 0, 900),
    sample("FairGate, callbacks", 1, 100),
    sample("FairGate, callbacks", 2, 200),
    sample("FairGate, callbacks", 0, 251, 1000),
    sample("p-limit", 0, 7.25),
    sample("p-limit", 1, 8.25),
    sample("clock", 0, null),
  ];

  test("has medians over the rounds, and nothing of arms that cannot do it", () => {
    expect(
      summarize(samples).map(({ arm, depth, cpu, least, most, wall, rounds }) => [
        arm,
        depth,
        cpu,
        least,
        most,
        wall,
        rounds,
      ]),
    ).toEqual([
      ["FairGate, callbacks", 1, 200, 100, 900, 400, 3],
      ["FairGate, callbacks", 1000, 251, 251, 251, 502, 1],
      ["p-limit", 1, 7.75, 7.25, 8.25, 15.5, 2],
    ]);
    expect(report(samples, () => "what").split("\n")).toEqual([
      "### standing line: what",
      "",
      "| ns of CPU time | bun, 1 | bun, 1,000 |",
      "| --- | ---: | ---: |",
      "| FairGate, callbacks | 200 (100-900) | 251 (251-251) |",
      "| p-limit | 7.8 (7.3-8.3) |  |",
    ]);
  });

  test("tells which aims were met", () => {
    expect(verdicts(samples)).toEqual([
      "met: FairGate, callbacks: standing line, depth 1, bun: 200 ns, at most 250 wanted",
      "MISSED: FairGate, callbacks: standing line, depth 1000, bun: 251 ns, at most 250 wanted",
    ]);
  });

  test("is of what the command line asks for", () => {
    expect(parseOptions(["--help"])).toBe(undefined);
    const o = parseOptions(["--arms", "p-limit;async-mutex", "--depths", "1,1000", "--quick"])!;
    expect([o.arms, o.depths, o.rounds, o.ms, o.runtimes])
      .toEqual([["p-limit", "async-mutex"], [1, 1000], 1, 300, ["bun", "deno"]]);
    expect(() => parseOptions(["--arms", "p-limits"])).toThrow('Unknown arm "p-limits"');
    expect(() => parseOptions(["--rounds", "0"])).toThrow("Expected --rounds to be a whole number");
  });
});
