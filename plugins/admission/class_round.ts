import type { ClassLine } from "./class_line.ts";

/**
 * Which class is next: self-clocked fair queuing (Golestani, INFOCOM 1994). Each class runs on its own virtual clock, what it was
 * charged over its share; the one whose next waiter would move it least far goes first, and a class that was idle starts where
 * the others are.
 */
export class ClassRound {
  readonly classes: readonly ClassLine[];
  /** Virtual time: where the class was that was served last. */
  served = 0;

  constructor(classes: readonly ClassLine[]) {
    this.classes = classes;
  }

  /** The class with the next turn; undefined when nobody may be let in. */
  elect(): ClassLine | undefined {
    const classes = this.classes;
    let first: ClassLine | undefined;
    for (let place = 0; place < classes.length; place++) {
      const each = classes[place]!;
      if (each.next !== undefined && (first === undefined || each.finish < first.finish)) first = each;
    }
    return first;
  }

  /** `queue` is served and charged `cost`. */
  charge(queue: ClassLine, cost: number): void {
    if (queue.started > this.served) this.served = queue.started;
    queue.started += cost / queue.share;
  }

  /** Somebody of `queue`, of which nobody was, is next. */
  resume(queue: ClassLine): void {
    if (queue.started < this.served) queue.started = this.served;
  }
}
