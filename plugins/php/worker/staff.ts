import type { Clock } from "../../../core/clock.ts";
import type { Generation } from "./boots.ts";
import { Member } from "./member.ts";
import type { MemberOwner } from "./member_owner.ts";
import type { WorkerPoolOptions } from "./options.ts";

/** The processes of a pool, from the launch of each to its end, and how many there should be. */
export class Staff implements Iterable<Member> {
  readonly #options: WorkerPoolOptions;
  readonly #owner: MemberOwner;
  readonly #clock: Clock;
  readonly #members = new Set<Member>();
  readonly #surge: number;
  readonly spares: number;
  /** Workers wanted, without spares. */
  wanted: number;

  constructor(options: WorkerPoolOptions, owner: MemberOwner, clock: Clock) {
    this.#options = options;
    this.#owner = owner;
    this.#clock = clock;
    this.wanted = Math.max(1, options.size);
    this.spares = options.spares ?? 0;
    this.#surge = Math.max(options.surge ?? 0, this.spares + 1);
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members.values();
  }

  get size(): number {
    return this.#members.size;
  }

  count(has: (member: Member) => boolean): number {
    let count = 0;
    for (const member of this.#members) if (has(member)) count++;
    return count;
  }

  /** Workers that can be lent, now or after what they do. */
  get usable(): number {
    return this.count((member) => member.usable);
  }

  /** Usable workers beyond those that are wanted; negative when some are missing. */
  get surplus(): number {
    return this.usable - this.wanted - this.spares;
  }

  /** Whether a worker in service is to be replaced. */
  get anyDue(): boolean {
    return this.count((member) => member.usable && member.due !== undefined) > 0;
  }

  booting(generation: Generation): number {
    return this.count((member) => member.state === "booting" && member.generation === generation);
  }

  remove(member: Member): void {
    this.#members.delete(member);
  }

  /**
   * Launches workers, as many as may be at once.
   *
   * @returns when to try again, if it is too early
   */
  begin(generation: Generation, wanted: number): number | undefined {
    if (wanted <= 0) return undefined;
    const { boots } = generation;
    const now = this.#clock.now();
    if (now < boots.notBefore) return boots.notBefore;
    const booting = this.booting(generation);
    const unproved = booting +
      this.count((member) => member.serving && !member.proven && member.generation === generation);
    const places = this.wanted + this.#surge - this.#members.size;
    for (let n = Math.min(wanted, places, boots.room(now, booting, unproved)); n > 0; n--) {
      const member = new Member(generation, this.#options, this.#owner, this.#clock);
      this.#members.add(member);
      member.boot();
    }
    return undefined;
  }
}
