import type { Frame } from "../figures/frame.ts";
import { inLine, overtakesOf, turnedAway } from "../figures/totals.ts";
import { showBytes, showCount, showPercent, showRate, showSeconds } from "../figures/units.ts";
import { showQuantile } from "../figures/words.ts";
import { type ElementNode, h } from "./node.ts";
import { tile } from "./parts.ts";
import type { View } from "./view.ts";

/** The numbers that tell whether to look closer. */
export function glance({ history }: View, frame: Frame): ElementNode {
  const { traffic, host } = frame;
  const refused = turnedAway(frame);
  const refusedLately = history.total((past) => turnedAway(past).increase);
  const overtakes = overtakesOf(frame).total;
  const { count: queued, oldest } = inLine(frame);
  const share = traffic.all.perSecond ? (traffic.byStatus["5xx"].perSecond ?? 0) / traffic.all.perSecond : undefined;
  const failing = traffic.byStatus["5xx"].perSecond ?? 0;
  const lag = host.lagMax ?? 0;
  return h(
    "dl",
    { class: "tiles" },
    tile("Requests", showRate(traffic.all.perSecond), `${showCount(traffic.inFlight)} in flight`),
    tile(
      "Status 5xx",
      showRate(traffic.byStatus["5xx"].perSecond),
      `${showPercent(share)} of all requests`,
      failing > 0 ? "warn" : "",
    ),
    tile(
      "Waiting, p99",
      showQuantile(frame.waiting.p99),
      "in line, of the last 10 s",
      (frame.waiting.p99?.value ?? 0) > 1 ? "warn" : "",
    ),
    tile("Executing, p99", showQuantile(frame.execution.p99), "in PHP, without the wait"),
    tile("In line now", showCount(queued), queued === 0 ? "nobody waits" : `the oldest for ${showSeconds(oldest)}`),
    tile(
      "Turned away",
      showRate(refused.perSecond),
      `${showCount(refusedLately)} in 5 min`,
      refusedLately > 0 ? "warn" : "",
    ),
    tile("Overtakes", showCount(overtakes), "grants past an older waiter", overtakes > 0 ? "bad" : ""),
    tile(
      "CPU",
      showPercent(host.cpu.perSecond),
      "of one CPU, without PHP",
      (host.cpu.perSecond ?? 0) > 0.9 ? "warn" : "",
    ),
    tile("Memory", showBytes(host.resident), "resident, without PHP"),
    tile("Event-loop lag", showSeconds(host.lagMax), "longest of the last minute", lag > 0.25 ? "warn" : ""),
  );
}
