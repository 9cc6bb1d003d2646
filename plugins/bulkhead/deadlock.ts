/**
 * Owners that wait for each other in a circle.
 *
 * @module
 */

/** One who holds and waits, doing one thing at a time. */
export interface Party {
  readonly holds: readonly Holding[];
  /** More than one wait: it does several things at a time, so nothing is said of it. */
  readonly waits: readonly Standing[];
}

/** Permits that are out. Those without an owner are taken to come back. */
export interface Holding {
  readonly owner: Party | undefined;
  readonly weight: number;
  readonly place: Place;
}

/** A place in a line. */
export interface Standing {
  readonly owner: Party | undefined;
  readonly weight: number;
  readonly place: Place;
}

/** A bulkhead with its line. */
export interface Place {
  /** Permits that nobody holds; negative after a shrink. */
  readonly free: number;
  readonly held: Iterable<Holding>;
  /** In order of arrival, which is the order of grants. */
  readonly line: Iterable<Standing>;
}

/**
 * Whether `owner`, once in line at `place` for `weight` permits, would wait for ever because of what it holds itself: those
 * whose permits it needs wait, each for the next, for permits of `owner`. To ask again beyond the limit is the shortest circle.
 *
 * The reduction of resource graphs with several units a resource (Holt, "Some Deadlock Properties of Computer Systems", 1972):
 * who does not wait will end and give everything back, then so will who gets enough from that, in order of the lines. Who is
 * left is stuck. `owner` closes a circle when it is left, and would not be if it gave back what it holds.
 *
 * The common case, that no holder of `place` waits for anything, costs a look at each of them.
 */
export function closesCircle(owner: Party, place: Place, weight: number): boolean {
  if (owner.holds.length === 0 || owner.waits.length > 0) return false;
  let waits = false;
  for (const holding of place.held) waits ||= holding.owner === owner || holding.owner?.waits.length === 1;
  return waits && !reaches(owner, place, weight, false) && reaches(owner, place, weight, true);
}

/** What the reduction knows of a place: permits that are or will be free, and who is to come. */
interface Reduced {
  free: number;
  readonly line: readonly Standing[];
  next: number;
}

/** Whether the line at `place` gets to `owner`; `gaveUp`: when it gives back what it holds first. */
function reaches(owner: Party, place: Place, weight: number, gaveUp: boolean): boolean {
  const asked: Standing = { owner, weight, place };
  const known = new Map<Place, Reduced>();
  const unseen: Place[] = [];
  const moved: Place[] = [];
  const stuck = (party: Party) => party === owner ? !gaveUp : party.waits.length === 1;

  const look = (at: Place): Reduced => {
    let reduced = known.get(at);
    if (reduced === undefined) {
      reduced = { free: at.free, line: at === place ? [...at.line, asked] : [...at.line], next: 0 };
      known.set(at, reduced);
      unseen.push(at);
    }
    return reduced;
  };

  look(place);
  for (let at = unseen.pop(); at !== undefined; at = unseen.pop()) {
    const reduced = known.get(at)!;
    moved.push(at);
    for (const holding of at.held) {
      if (holding.owner === undefined || !stuck(holding.owner)) reduced.free += holding.weight;
      else if (holding.owner !== owner) look(holding.owner.waits[0]!.place);
    }
  }
  for (let at = moved.pop(); at !== undefined; at = moved.pop()) {
    const reduced = known.get(at)!;
    for (let head = reduced.line[reduced.next]; head !== undefined; head = reduced.line[reduced.next]) {
      if (head.weight > reduced.free) break;
      if (head === asked) return true;
      reduced.next++;
      // It ends, and what it got comes back; so does what it held elsewhere.
      if (head.owner === undefined || !stuck(head.owner)) continue;
      for (const holding of head.owner.holds) {
        const there = known.get(holding.place);
        if (there === undefined) continue;
        there.free += holding.weight;
        moved.push(holding.place);
      }
    }
  }
  return false;
}
