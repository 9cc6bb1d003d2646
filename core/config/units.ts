import * as z from "zod";

export type Duration = `${number}${"ms" | "s" | "m" | "h"}` | 0;
export type Size = `${number}${"B" | "KB" | "MB" | "GB"}` | number;

/** Reads what stands in the file (a string or a number) as a number. */
type Unit = z.ZodType<number, string | number>;

const milliseconds: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const bytes: Record<string, number> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

/** What a timer can hold (2^31 - 1 ms): a longer `setTimeout` would fire at once. */
const longest = 2 ** 31 - 1;

function amount(text: string, units: Record<string, number>): number {
  const [, digits, unit = ""] = /^([\d.]+)(\w*)$/.exec(text)!;
  return Number(digits) * (units[unit] ?? 1);
}

/**
 * A schema for a time: `"250ms"`, `"1.5s"`, `"2m"`, `"1h"` or 0 in the file, a number of milliseconds in the code. At
 * most 596h. The fallback is written as in the file, or given with `.prefault("10s")`; zod's `.default` takes the
 * output, so milliseconds.
 *
 * @example
 * ```ts
 * z.strictObject({ timeout: duration("30s"), grace: duration().optional() });
 * ```
 */
export function duration(): Unit;
export function duration(fallback: Duration): z.ZodPrefault<Unit>;
export function duration(fallback?: Duration): Unit | z.ZodPrefault<Unit> {
  const error = 'expected a duration such as "250ms", "1.5s" or "2m"';
  const schema = z.union([z.string().regex(/^(?:0|\d+(?:\.\d+)?(?:ms|s|m|h))$/, error), z.literal(0)], { error })
    .transform((value) => Math.round(amount(String(value), milliseconds) * 1000) / 1000)
    .refine((ms) => ms <= longest, "expected a duration of at most 596h")
    .meta({ title: "duration" });
  return fallback === undefined ? schema : schema.prefault(fallback);
}

/**
 * A schema for an amount of memory: `"512B"`, `"64KB"`, `"1.5MB"`, `"1GB"` (1 KB = 1024 B) or a whole number of bytes
 * in the file, a number of bytes in the code.
 *
 * @example
 * ```ts
 * z.strictObject({ max_body: size("8MB") });
 * ```
 */
export function size(): Unit;
export function size(fallback: Size): z.ZodPrefault<Unit>;
export function size(fallback?: Size): Unit | z.ZodPrefault<Unit> {
  const error = 'expected a size such as "512B", "64KB" or "10MB", or a number of bytes';
  const schema = z.union([z.string().regex(/^(?:\d+B|\d+(?:\.\d+)?[KMG]B)$/, error), z.int(error).min(0, error)], {
    error,
  })
    .transform((value) => Math.round(amount(String(value), bytes)))
    .refine(Number.isSafeInteger, "expected a size of at most 8388607GB")
    .meta({ title: "size" });
  return fallback === undefined ? schema : schema.prefault(fallback);
}
