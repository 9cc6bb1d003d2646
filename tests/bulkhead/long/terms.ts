/** What the hosts of the long test and its judge agree on. */
export const prefix = "long:";
/** A stream to which the script writes what it does, in the order in which it does it. */
export const logName = "long:log";
export const leaseMs = 1000;
/** Names and limits. */
export const bulkheads: readonly (readonly [name: string, limit: number])[] = [["a", 3], ["b", 5], ["c/key", 2]];
