import { noLimit } from "./errors.ts";
import type { Limits, Terms } from "./limits.ts";
import type { BulkheadAsk } from "./store.ts";

/** What an entry of the configuration that caps something comes to. */
export interface Settled {
  readonly limit: number;
  readonly terms: Terms;
  /** The bulkhead whose permits its holders take, too. */
  readonly around: Pick<BulkheadAsk, "name" | "limit"> | undefined;
}

/**
 * The terms of an entry, those of `limits` where it does not say.
 *
 * @throws CoreError `BULKHEAD_UNKNOWN` for a bulkhead without a limit
 */
export function settled(
  entry: { readonly name: string; readonly within?: string | undefined },
  own: Terms,
  limits: Limits,
): Settled {
  const terms: Terms = { ...limits.of(entry.name), ...given(own) };
  if (terms.maxConcurrent === undefined) throw noLimit(entry.name);
  return {
    limit: terms.maxConcurrent,
    terms,
    around: entry.within === undefined ? undefined : aroundOf(entry.within, limits),
  };
}

function aroundOf(name: string, limits: Limits): Pick<BulkheadAsk, "name" | "limit"> {
  const limit = limits.of(name)?.maxConcurrent;
  if (limit === undefined) throw noLimit(name);
  return { name, limit };
}

/** `terms` without those that nobody gave. */
function given<T extends object>(terms: T): Partial<T> {
  return Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined)) as Partial<T>;
}
