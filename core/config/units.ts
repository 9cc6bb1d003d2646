import { z } from "zod";

const duration_ = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time span as people write it (`250ms`, `1.5s`, `2m`), or the number 0; parsed to milliseconds. */
export function duration(): z.ZodType<number, string | number> {
  return z.union([z.string(), z.number()]).transform((value, ctx) => {
    if (value === 0) return 0;
    const [, amount, unit] = (typeof value === "string" && duration_.exec(value)) || [];
    if (amount !== undefined && unit !== undefined) return Number(amount) * milliseconds[unit]!;
    ctx.addIssue({ code: "custom", message: `Expected a duration like "250ms", "10s" or 0, got ${String(value)}` });
    return z.NEVER;
  });
}
