import { CoreError } from "../../../core/error.ts";

/** Where one host's store keeps everything when nothing else is said. */
export const defaultPrefix = "fairlead:bulkhead:";

/**
 * Checks the beginning of every key. Braces would move the hash tag, and a quote could leave the script's text.
 *
 * @throws CoreError `BULKHEAD_PREFIX`
 */
export function checkPrefix(prefix: string): string {
  if (/^[A-Za-z0-9_.:/-]{1,64}$/.test(prefix)) return prefix;
  throw new CoreError(
    "BULKHEAD_PREFIX",
    `Expected the prefix of the bulkheads' keys to be 1 to 64 of A-Z a-z 0-9 _ . : / -, got ${JSON.stringify(prefix)}`,
  );
}

/**
 * The keys of one bulkhead, in the order in which the scripts take them. The name is their hash tag, so in a cluster all are in
 * one slot:
 *
 * - `m`: hash; limit, permits out, last ticket and fence, clock, epoch
 * - `h`: sorted set; holder to the moment its lease ends
 * - `q`: sorted set; waiter to its ticket
 * - `d`: sorted set; waiter to the moment it is given up (its deadline, or its host's silence)
 * - `w`: hash; holder or waiter to `weight lease fence 0` or `weight lease deadline since`
 * - `a`: sorted set; host to the moment it no more counts as using this bulkhead
 */
export function keysOf(prefix: string, name: string): readonly string[] {
  return ["m", "h", "q", "d", "w", "a"].map((part) => `${prefix}{${name}}:${part}`);
}

/** Where a host hears that permits have been given to its waiters. One for all bulkheads. */
export function channelOf(prefix: string, host: string): string {
  return `${prefix}host:${host}`;
}
