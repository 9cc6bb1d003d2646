import { describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { send } from "../../../bench/support/arrivals.ts";
import {
  capacity,
  mix,
  openFigures,
  openGates,
  type OpenSample,
  wasted,
} from "../../../bench/fairness/open_figures.ts";

const alone = { fast: 5, slow: 500 };

describe("the mix", () => {
  test("is 95 to 5, at the rate that was asked for, and the same again", () => {
    const arrivals = mix(1000, 20, 3);
    const slow = arrivals.filter(({ path }) => path.startsWith("/slow.php")).length;
    expect(Math.abs(arrivals.length / 20_000 - 1)).toBeLessThan(0.03);
    expect(Math.abs(slow / arrivals.length - 0.05)).toBeLessThan(0.01);
    expect(mix(1000, 20, 3)).toEqual(arrivals);
    expect(arrivals[7]?.path.endsWith("?i=7")).toBe(true);
  });

  test("capacity is slots over the mean service", () => {
    expect(capacity(alone, 2)).toBeCloseTo(2000 / 29.75, 9);
  });
});

describe("figures of open arrivals", () => {
  const arrivals = [
    { at: 0, path: "/fast.php?i=0" },
    { at: 10, path: "/slow.php?i=1" },
    { at: 20, path: "/fast.php?i=2" },
    { at: 30, path: "/fast.php?i=3" },
    { at: 990, path: "/fast.php?i=4" },
    { at: 995, path: "/fast.php?i=5" },
    { at: 996, path: "/fast.php?i=6" },
  ];
  const outcomes = [
    { status: 200, took: 6 },
    { status: 200, took: 505 },
    { status: 503, took: 2 },
    { status: 0, took: 400 },
    { status: 200, took: 11 },
    { status: -1, took: 1 },
    { status: 429, took: 9 },
  ];

  test("count each request once, and work only while requests still came", () => {
    const found = openFigures(arrivals, outcomes, alone, { slots: 1, seconds: 1 });
    const { sent, good, refused, left, failed } = found;
    expect([sent, good, refused, left, failed]).toEqual([7, 3, 2, 1, 1]);
    expect([found.goodput, found.useful]).toEqual([2, 0.505]);
    expect([found.fastP99, found.slowP99, found.refusalP99, found.fastGood]).toEqual([11, 505, 9, 2]);
    expect(found.quick).toBe(1);
  });

  test("an execution is wasted when it began after the client had left", () => {
    // The clock says 5000 at arrival 0; client 3 left at 5430.
    const log = (start: number) => `0 5001.000\n-1 4000.000\n3 ${start.toFixed(3)}\n`;
    expect(wasted(log(5400), 5000, arrivals, outcomes)).toBe(0);
    expect(wasted(log(5445), 5000, arrivals, outcomes)).toBe(0);
    expect(wasted(log(5451), 5000, arrivals, outcomes)).toBe(1);
  });

  test("gates ask for goodput at twice the capacity, quick refusals and no waste", () => {
    const sample: OpenSample = {
      ...openFigures(arrivals, outcomes, alone, { slots: 1, seconds: 1 }),
      arm: "fifo",
      round: 0,
      share: 2,
      rate: 67,
      failed: 0,
      unloadedFastP99: 5,
      wasted: 0,
      lateP99: 0,
    };
    expect(openGates(sample, false).filter(({ holds }) => !holds).map(({ name }) => name))
      .toEqual(["useful share of PHP's time at 2 of the capacity"]);
    const missed = (goodput: number) =>
      openGates({ ...sample, goodput, wasted: 1 }, true).filter(({ holds }) => !holds).map(({ name }) => name);
    const always = [
      "executions for clients that left at 2 of the capacity",
      "P99 of the fast page / unloaded at 2 of the capacity",
    ];
    expect(missed(33.5)).toEqual(always);
    expect(missed(31)).toEqual([always[0]!, "good answers / capacity at 2 of the capacity", always[1]!]);
  });
});

test("open arrivals are sent whether or not others are answered, and leave at their deadline", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/never") return;
    response.statusCode = request.url === "/refused" ? 503 : 200;
    response.end("done");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    const paths = ["/", "/never", "/refused", "/never", "/"];
    const arrivals = paths.map((path, i) => ({ at: i * 2, path }));
    const { outcomes, late } = await send((server.address() as AddressInfo).port, arrivals, 300);
    expect(outcomes.map(({ status }) => status)).toEqual([200, 0, 503, 0, 200]);
    expect(outcomes[1]!.took).toBeGreaterThanOrEqual(299);
    expect([late.length, late.every((ms) => ms >= 0)]).toEqual([5, true]);
  } finally {
    await new Promise<void>((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  }
});
