import type { Node } from "./queue_node.ts";

/**
 * The waiters of several lines, each in order of arrival, as one such line. Of each line no more is read than is asked for, and one;
 * the waiter it gives may leave.
 */
export function* merged(lines: readonly Iterable<Node>[]): Generator<Node> {
  const ends = lines.map((line) => {
    const rest = line[Symbol.iterator]();
    return { rest, head: rest.next().value as Node | undefined };
  });
  for (;;) {
    let first: (typeof ends)[number] | undefined;
    for (const end of ends) {
      if (end.head !== undefined && (first === undefined || end.head.seq < first.head!.seq)) first = end;
    }
    if (first === undefined) return;
    yield first.head!;
    first.head = first.rest.next().value;
  }
}
