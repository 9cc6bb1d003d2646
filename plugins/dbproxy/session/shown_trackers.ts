import type { ShowsTracker } from "../reply/observer.ts";
import { TRACKER } from "../wire/trackers.ts";

/**
 * What a server reports to a client that has not asked for more: variables, the schema, and on MySQL, where transactions are
 * not tracked, still that one was begun or ended in so many words (measured on 9.7). All else was switched on by the proxy.
 */
export function usualTrackers(server: "mysql" | "mariadb"): ShowsTracker {
  let begun = false;
  return (type, entry) => {
    if (type === TRACKER.SYSTEM_VARIABLES || type === TRACKER.SCHEMA) return true;
    if (type !== TRACKER.TRANSACTION_STATE || server !== "mysql") return false;
    const was = begun;
    begun = entry[stateAt] === begunByWord;
    return begun !== was;
  };
}

/** Behind the type and two lengths: the first letter says who began the transaction. */
const stateAt = 3;
const begunByWord = "T".charCodeAt(0);
