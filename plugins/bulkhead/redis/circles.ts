import { closesCircle, type Place } from "../deadlock.ts";
import type { Lane } from "./lane.ts";
import type { RedisGrant } from "./grant.ts";
import type { Waiting } from "./waiting.ts";

/**
 * A lane as the search for circles sees it. A host knows what its own owners hold and wait for; permits of other hosts count as free
 * and their waiters as nobody, so no circle is found that is none. One that leads through another host is not found: its waits end
 * with their time.
 */
export class LanePlace implements Place {
  readonly #lane: Lane;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  get free(): number {
    return this.#lane.limit - this.#lane.heldWeight;
  }

  get held(): Iterable<RedisGrant> {
    return this.#lane.held.values();
  }

  /** Those of whom Redis has said that they wait, in order. */
  get line(): Iterable<Waiting> {
    return [...this.#lane.waiters.values()].filter(({ stands }) => stands);
  }
}

/**
 * `one` stands in line from now on, unless that would close a circle of waits: then true. Redis says of one after the other that they
 * wait, so whoever is the last in a circle sees the others.
 */
export function closesLaneCircle(lane: Lane, one: Waiting): boolean {
  if (one.stands) return false;
  const { owners } = lane.host;
  const owner = owners.of(one.ask.owner);
  if (owner !== undefined) {
    if (closesCircle(owner, lane.place, one.weight)) return true;
    one.owner = owner;
    owners.waits(owner, one);
  }
  one.stands = true;
  return false;
}
