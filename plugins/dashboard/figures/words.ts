import type { Quantile } from "./distribution.ts";
import type { Reason } from "./lanes.ts";
import type { Growth, Quantiles } from "./span.ts";
import { showCount, showRate, showSeconds, unknown } from "./units.ts";

/** A quantile with its unit. Where buckets say only on which side it lies, so does this. */
export function showQuantile(found: Quantile | undefined): string {
  if (found === undefined) return unknown;
  if (found.upper === Infinity) return `> ${showSeconds(found.lower)}`;
  return found.lower <= 0 ? `≤ ${showSeconds(found.upper)}` : showSeconds(found.value);
}

/** The median and the tail: `1.20 ms / 8.00 ms / 120 ms`. */
export function showQuantiles({ p50, p90, p99 }: Quantiles): string {
  return [p50, p90, p99].map(showQuantile).join(" / ");
}

/** `12 (0.5/s)`. */
export function showGrowth({ total, perSecond }: Growth): string {
  return perSecond === undefined || perSecond === 0 ? showCount(total) : `${showCount(total)} (${showRate(perSecond)})`;
}

/** `12 timeout, 3 full`, the most frequent first; `none` where there are none. */
export function showReasons(reasons: readonly Reason[]): string {
  const sorted = reasons.toSorted((a, b) => b.total - a.total);
  return sorted.map(({ label, total }) => `${showCount(total)} ${words(label)}`).join(", ") || "none";
}

/** The value of a label as words. */
export function words(label: string): string {
  return label.replaceAll("_", " ");
}

/** What the values of `outcome` and `reason` mean, where their words alone do not say it. */
const meanings: Readonly<Record<string, string>> = {
  shed_full: "line full",
  shed_grace: "waited for all of grace",
  shed_predicted: "would have waited in vain",
  shed_class: "class shed while overloaded",
  shed_evicted: "made room for a higher class",
  shed_codel: "line stood for too long",
  key_cap: "its key had its share",
  deadline: "its deadline passed in line",
  drained: "server drains",
};

/** What a reason to turn somebody away means. */
export function meaning(label: string): string {
  return Object.hasOwn(meanings, label) ? meanings[label]! : words(label);
}
