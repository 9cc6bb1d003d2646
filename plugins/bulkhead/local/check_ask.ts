import { badLimit, badTime, badWeight } from "../errors.ts";
import { checkName } from "../name.ts";
import type { BulkheadAsk } from "../store.ts";

/**
 * Checks what no server need be asked about.
 *
 * @throws CoreError `BULKHEAD_NAME`, `BULKHEAD_LIMIT`, `BULKHEAD_WEIGHT`, `BULKHEAD_TIME`
 */
export function checkAsk({ name, limit, weight, leaseMs, maxWaitMs, maxQueue = 0 }: BulkheadAsk): void {
  checkName(name);
  if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
  if (!Number.isSafeInteger(weight) || weight < 1) throw badWeight(name, weight, limit);
  if (!(leaseMs > 0)) throw badTime(name, "the lease", leaseMs);
  if (!(maxWaitMs >= 0)) throw badTime(name, "the longest wait", maxWaitMs);
  if (!(maxQueue >= 0)) throw badTime(name, "the line", maxQueue);
}
