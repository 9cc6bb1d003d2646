import type { Clock } from "../../../core/clock.ts";
import type { BulkheadEvents } from "../store.ts";
import type { KnownOwners, Owner } from "../known_owners.ts";
import type { RedisGrant } from "./grant.ts";
import type { RedisLink } from "./link.ts";
import type { Waiting } from "./waiting.ts";

/** Someone who holds and waits on this host. */
export type RedisOwner = Owner<RedisGrant, Waiting>;

/**
 * What is done while Redis cannot be reached: nobody is let in (`closed`), everybody is (`open`), or each host lets in its share
 * of the limit (`degraded`).
 */
export type OutagePolicy = "closed" | "open" | "degraded";

/** What the lanes of one host have in common. */
export interface Host {
  readonly id: string;
  readonly link: RedisLink<"main" | "counts">;
  readonly clock: Clock;
  /** Who holds and waits on this host, whatever the bulkhead. */
  readonly owners: KnownOwners<RedisGrant, Waiting>;
  readonly policy: OutagePolicy;
  readonly events: BulkheadEvents;
  /** Longest time (ms) between two looks at who waits: what a lost message costs. */
  readonly tick: number;
  readonly onError: (error: unknown) => void;
  readonly random: () => number;
  /** Whether Redis has been away for longer than the grace, so that the policy counts. */
  readonly outage: boolean;
  /** Hosts that used the bulkhead that was counted last; at least 1. */
  readonly members: number;
  /** Hosts that there are at least. */
  readonly hosts: number;
  /** That so many hosts were counted. */
  counted(members: number): void;
  /** A lane has nobody left. */
  emptied(): void;
  /** An id that no other ask of any host has. */
  nextId(): string;
}
