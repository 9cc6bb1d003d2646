import { describe, expect, test } from "bun:test";
import { sum } from "../../../bench/fairness/counters.ts";
import type { Answer } from "../../../bench/fairness/closed_loop.ts";
import { cycles, type Figures, figures } from "../../../bench/fairness/figures.ts";
import { expectation, failure, fairnessGates, gate, harnessGates } from "../../../bench/fairness/gates.ts";
import { parseOptions } from "../../../bench/fairness/options.ts";
import { pooled, verdict } from "../../../bench/fairness/verdict.ts";
import type { Sample } from "../../../bench/fairness/window.ts";

/**
 * A closed queue of 10 clients and 2 slots of service 2, on paper: an answer a unit of time, so that N / X is 10.
 *
 * @param barge every so many-th answer the client that just came back goes first; the head goes to the back
 */
function onPaper(answers: number, barge = Infinity) {
  const out: Answer[] = [];
  const line = Array.from({ length: 10 }, (_, client) => ({ client, sent: 0 }));
  const running: { client: number; sent: number; started: number; pid: number }[] = [];
  for (let now = 0; out.length < answers; now++) {
    const pid = 1 + now % 2;
    const at = running.findIndex((one) => one.pid === pid);
    let back: { client: number; sent: number } | undefined;
    if (at >= 0) {
      const [done] = running.splice(at, 1);
      out.push({ ...done!, answered: now, ended: now });
      back = { client: done!.client, sent: now };
    }
    const jumps = back !== undefined && out.length % barge === 0;
    if (back !== undefined && !jumps) line.push(back);
    const next = jumps ? back! : line.shift()!;
    if (jumps) line.push(line.shift()!);
    running.push({ ...next, started: now, pid });
  }
  return { answers: out, opened: 100, closed: answers - 50, wrong: [], cpu: 0.1 };
}

const fair = figures(onPaper(1000), 10, 2);
const unfair = figures(onPaper(1000, 7), 10, 2);

describe("figures", () => {
  test("of a perfect queue are the ideal's", () => {
    expect([fair.throughput, fair.little, fair.mean, fair.accounted]).toEqual([1000, 10, 1, 1]);
    expect([fair.service, fair.variation, fair.busy]).toEqual([2, 0, 1]);
    expect(fair.measured).toEqual({ p50: 10, p90: 10, p99: 10, p999: 10 });
    expect(fair.ideal).toEqual(fair.measured);
    expect(fair.formula).toEqual(fair.measured);
    expect([fair.laps.lap, fair.laps.p99, fair.laps.early, fair.passed]).toEqual([8, 1, 0, 0]);
    expect([fair.waits[0], fair.waits.at(-1), fair.idealWaits[500]]).toEqual([1, 1, 1]);
  });

  test("of one with races keep the mean and lose the tail", () => {
    expect(unfair.accounted).toBe(1);
    expect(Math.abs(unfair.mean - 1)).toBeLessThan(0.02);
    expect(unfair.laps.early).toBeCloseTo(1 / 7, 2);
    expect(unfair.measured.p99).toBeGreaterThan(17);
    expect(unfair.passed).toBeGreaterThan(0.3);
  });

  test("services are times between starts of the same process, within the window", () => {
    const start = (pid: number, started: number) => ({ client: 0, sent: 0, answered: 0, ended: 0, pid, started });
    expect(cycles([start(1, 0), start(1, 5), start(2, 6), start(1, 9), start(2, 10), start(1, 30)], 1, 20)).toEqual([
      4,
      4,
    ]);
  });

  test("a window with fewer answers than clients says nothing", () => {
    expect(() => figures({ ...onPaper(1000), opened: 100, closed: 105 }, 10, 2)).toThrow("too few");
  });
});

describe("gates", () => {
  const names = (gates: readonly { readonly name: string; readonly holds: boolean }[]) =>
    gates.filter(({ holds }) => !holds).map(({ name }) => name);

  test("hold for the perfect queue and not for races", () => {
    expect(names(fairnessGates(fair, { p99: 1.05, p999: 1.15 }, 0))).toEqual([]);
    expect(names(fairnessGates(unfair, { p99: 1.05, p999: 1.15 }, 3))).toEqual(
      ["P99 / ideal", "P99.9 / ideal", "waits under half a service", "requests passed over", "overtakes"],
    );
  });

  test("of the harness see lost time, wrong answers, strangers and requests that nobody admitted", () => {
    const good = { wrong: 0, sent: 1000, admitted: 1000, strangers: 0 };
    expect(names(harnessGates(fair, good))).toEqual([]);
    expect(names(harnessGates(fair, { ...good, wrong: 1, strangers: 1, admitted: 999 })).length).toBe(3);
    expect(names(harnessGates({ ...fair, accounted: 0.98 }, good))).toEqual(["accounted time / (clients x window)"]);
  });

  test("say what was expected; what is not a number holds nothing", () => {
    expect(failure(gate("P99 / ideal", 1.3111111, { most: 1.05 }))).toBe("P99 / ideal is 1.311, expected at most 1.05");
    expect(expectation({ least: 2 })).toBe("at least 2");
    expect(expectation({ least: 0, most: 0 })).toBe("0");
    expect(expectation({ least: 0.99, most: 1.01 })).toBe("0.99 to 1.01");
    expect([gate("", NaN, { most: 1 }).holds, gate("", 1, { least: 1, most: 1 }).holds]).toEqual([false, true]);
  });

  test("over all windows take the median of what spreads, and the worst of what must be exact", () => {
    const window = (tail: number, overtakes: number) => [
      gate("tail", tail, { most: 1 }),
      gate("overtakes", overtakes, { least: 0, most: 0 }),
    ];
    expect(pooled([window(0.9, 0), window(0.8, 1), window(7, 0)]).map(({ value, holds }) => [value, holds]))
      .toEqual([[0.9, true], [1, false]]);
  });
});

describe("verdict", () => {
  const page = { name: "page", p99: 1.05, p999: 1.15 };
  const sample = (arm: string, of: Figures, more: Partial<Sample> = {}): Sample => ({
    ...of,
    arm,
    page: "page",
    round: 0,
    overtakes: 0,
    clockWithin: 0,
    generator: 0,
    foreign: 0,
    gates: fairnessGates(of, page, 0),
    faults: [],
    ...more,
  });

  test("believes a run whose barging arm fails", () => {
    const { broken, gates } = verdict([sample("fifo", fair), sample("barge", unfair)], [], [page]);
    expect(broken).toEqual([]);
    expect(gates.every(({ holds }) => holds)).toBe(false);
    const found = (name: string) => gates.find((one) => one.name === name);
    expect(found("req/s of fifo / barge")?.holds).toBe(true);
    expect(found("P99 of barge / fifo")?.value).toBeCloseTo(unfair.measured.p99 / 10, 9);
  });

  test("a barging arm that passes breaks the benchmark", () => {
    const { broken } = verdict([sample("fifo", fair), sample("barge", fair)], [], [page]);
    expect(broken).toEqual(["page: barge holds every gate, so that they tell nothing"]);
  });

  test("so does an arm without a window to trust, whatever its figures are", () => {
    const lost = sample("fifo", fair, { faults: ["wrong answers is 3, expected 0"] });
    const { broken, gates } = verdict([lost, sample("barge", unfair)], [], [page]);
    expect(broken).toEqual(["page, fifo: no window could be trusted: wrong answers is 3, expected 0"]);
    expect(gates).toEqual([]);
  });

  test("where no limit is set the control is the limit", () => {
    const slow = { ...fair, measured: { ...fair.measured, p99: 12 } };
    const samples = [sample("fifo", slow), sample("barge", unfair), sample("nginx", fair)];
    const { gates } = verdict(samples, [], [{ name: "page" }]);
    const control = gates.find(({ name }) => name === "P99 of fifo / nginx");
    expect([control?.value, control?.holds]).toEqual([1.2, false]);
  });
});

test("counters are added up by family and label", () => {
  const text = `# HELP a_total Words
a_total{lane="php",outcome="queued"} 5
a_total{lane="php",outcome="immediate"} 2
a_total{lane="php",outcome="shed_full"} 9
a_total_more{outcome="queued"} 100
b_total 3
`;
  expect(sum(text, "a_total", /outcome="(immediate|queued)"/)).toBe(7);
  expect([sum(text, "b_total"), sum(text, "c_total")]).toEqual([3, 0]);
});

test("options are checked", () => {
  expect(() => parseOptions(["--pages", "tiny"])).toThrow('Unknown page "tiny", expected one of sleep2, sleep20, cpu');
  expect(() => parseOptions(["--clients", "3"])).toThrow("expected at least twice the 2 children");
  expect(() => parseOptions(["--rounds", ""])).toThrow('--rounds is ""');
  const o = parseOptions(["--pages", "", "--open", "0.7,2", "--arms", "fifo"]);
  expect(o !== "help" && [o.pages, o.open, o.control]).toEqual([[], [0.7, 2], false]);
});
