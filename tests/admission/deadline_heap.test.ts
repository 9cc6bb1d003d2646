import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DeadlineHeap } from "../../plugins/admission/deadline_heap.ts";
import { Node } from "../../plugins/admission/queue_node.ts";

describe("the heap of deadlines", () => {
  test("always knows the earliest, of equals the one who came first, whoever is added and removed", () => {
    const step = fc.record({ add: fc.boolean(), value: fc.nat(50), pick: fc.nat(1000) });
    fc.assert(fc.property(fc.array(step, { maxLength: 120, size: "max" }), (steps) => {
      const heap = new DeadlineHeap();
      const inside: Node[] = [];
      let seq = 0;
      for (const { add, value, pick } of steps) {
        if (add || inside.length === 0) {
          const node = Object.assign(new Node({}), { expires: value, seq: seq++ });
          heap.add(node);
          inside.push(node);
        } else {
          const [node] = inside.splice(pick % inside.length, 1);
          heap.remove(node!);
          heap.remove(node!);
          expect(node!.slot).toBe(-1);
        }
        const [first] = inside.toSorted((a, b) => a.expires - b.expires || a.seq - b.seq);
        expect(heap.first === first).toBe(true);
      }
      while (heap.first !== undefined) heap.remove(heap.first);
    }));
  });
});
