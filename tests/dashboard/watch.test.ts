import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Frame } from "../../plugins/dashboard/figures/frame.ts";
import { History } from "../../plugins/dashboard/figures/history.ts";
import { Watch } from "../../plugins/dashboard/figures/watch.ts";

/** A scrape of a server that began at `start` and has answered and let in so many. */
function scrape({ start = 1000, ok = 0, failed = 0, fast = 0, slow = 0 }): string {
  return `process_start_time_seconds ${start}
fairlead_http_requests_total{method="GET",status="200",handler="php"} ${ok}
fairlead_http_requests_total{method="GET",status="503",handler="core"} ${failed}
fairlead_admission_wait_seconds_bucket{lane="php",class="critical",le="0.001"} ${fast}
fairlead_admission_wait_seconds_bucket{lane="php",class="critical",le="0.002"} ${fast + slow}
fairlead_admission_wait_seconds_bucket{lane="php",class="critical",le="+Inf"} ${fast + slow}
fairlead_admission_wait_seconds_count{lane="php",class="critical"} ${fast + slow}
`;
}

const perSecond = ({ history }: Watch) =>
  history.series(({ traffic }) => traffic.all.perSecond).map(([, value]) => value);
const p99 = (frame: Frame | undefined) => frame?.waiting.p99?.value;

describe("Watch", () => {
  test("rates are of the time between two looks, quantiles of the last ten seconds", () => {
    const watch = new Watch();
    expect(watch.take(0, scrape({ ok: 1000, fast: 500 }))).toBe("first");
    expect(watch.history.last!.traffic.all).toEqual({ total: 1000, increase: 0, perSecond: undefined });
    expect(p99(watch.history.last)).toBeUndefined();
    expect(watch.take(2000, scrape({ ok: 1100, failed: 10, fast: 500, slow: 100 }))).toBe("next");
    const { byStatus, all } = watch.history.last!.traffic;
    expect(all).toEqual({ total: 1110, increase: 110, perSecond: 55 });
    expect([byStatus["2xx"].perSecond, byStatus["5xx"].perSecond]).toEqual([50, 5]);
    expect(p99(watch.history.last)).toBe(0.00199);
    for (let at = 4000; at <= 14_000; at += 2000) {
      watch.take(at, scrape({ ok: 1100, failed: 10, fast: 500, slow: 100 }));
    }
    expect(p99(watch.history.last)).toBeUndefined();
    expect(watch.history.total(({ traffic }) => traffic.all.increase)).toBe(110);
  });

  test("a counter that appears began at 0", () => {
    const watch = new Watch();
    watch.take(0, "process_start_time_seconds 1\n");
    watch.take(2000, 'process_start_time_seconds 1\nfairlead_http_requests_total{status="404"} 8\n');
    expect(watch.history.last!.traffic.byStatus["4xx"]).toEqual({ total: 8, increase: 8, perSecond: 4 });
  });

  for (
    const [how, next] of [["has another start", { start: 2000, ok: 5000 }], ["has fallen counters", { ok: 3 }]] as const
  ) {
    test(`a server that ${how} is another: its numbers are not compared with the old ones`, () => {
      const watch = new Watch();
      watch.take(0, scrape({ ok: 4000, fast: 100 }));
      watch.take(2000, scrape({ ok: 4100, fast: 150 }));
      expect(watch.take(4000, scrape(next))).toBe("restarted");
      expect(watch.restartedAt).toBe(4000);
      expect(p99(watch.history.last)).toBeUndefined();
      watch.take(6000, scrape({ ...next, ok: next.ok + 20 }));
      expect(perSecond(watch)).toEqual([undefined, 50, undefined, undefined, 10]);
      expect(watch.history.total(({ traffic }) => traffic.all.increase)).toBe(120);
    });
  }

  test("a silence leaves a hole, and a long one is not averaged over", () => {
    const watch = new Watch();
    watch.take(0, scrape({ ok: 100 }));
    watch.miss(2000);
    expect(watch.history.last).toBeUndefined();
    watch.take(4000, scrape({ ok: 140 }));
    expect(perSecond(watch)).toEqual([undefined, undefined, 10]);
    expect(watch.take(64_000, scrape({ ok: 9000 }))).toBe("late");
    expect(perSecond(watch)).toEqual([undefined, undefined, 10, undefined, undefined]);
  });

  test("no series of scrapes makes a rate below 0", () => {
    const one = fc.record({
      start: fc.constantFrom(1, 2),
      ok: fc.nat(1000),
      failed: fc.nat(10),
      fast: fc.nat(50),
      slow: fc.nat(50),
    });
    fc.assert(fc.property(fc.array(fc.tuple(fc.nat(20_000), one)), (scrapes) => {
      const watch = new Watch();
      let at = 0;
      for (const [pause, numbers] of scrapes) watch.take(at += pause, scrape(numbers));
      for (const { frame } of watch.history.moments) {
        if (frame === undefined) continue;
        const { traffic, waiting } = frame;
        for (const { perSecond, increase } of [traffic.all, ...Object.values(traffic.byStatus)]) {
          expect(increase).toBeGreaterThanOrEqual(0);
          expect(perSecond === undefined || (perSecond >= 0 && Number.isFinite(perSecond))).toBe(true);
        }
        const { p50, p99 } = waiting;
        expect(p50 === undefined || p50.value <= p99!.value).toBe(true);
      }
    }));
  });
});

describe("History", () => {
  test("keeps what is no older than its span", () => {
    const history = new History<number>(100);
    for (let at = 0; at <= 500; at += 20) history.push(at, at);
    expect(history.moments.map(({ at }) => at)).toEqual([400, 420, 440, 460, 480, 500]);
    history.push(520, undefined);
    expect(history.last).toBeUndefined();
    expect(history.series((n) => n).slice(-2)).toEqual([[500, 500], [520, undefined]]);
    expect(history.total((n) => n)).toBe(420 + 440 + 460 + 480 + 500);
  });
});
