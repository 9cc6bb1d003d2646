import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { Watch, type Watched } from "../../plugins/php/watch.ts";
import { VirtualClock } from "./fastcgi/support.ts";

test("looks at all that runs, each once a look, with one timer and none when nothing runs", () => {
  const step = fc.record({ kind: fc.constantFrom("add", "delete", "advance"), at: fc.nat(20), ends: fc.boolean() });
  fc.assert(fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
    const clock = new VirtualClock();
    const watch = new Watch(clock, 10);
    const live: (Watched & { looks: number })[] = [];
    const drop = (item: Watched) => {
      watch.delete(item);
      live.splice(live.findIndex((one) => one === item), 1);
    };
    for (const { kind, at, ends } of steps) {
      if (kind === "add") {
        const item = {
          place: -1,
          looks: 0,
          look() {
            item.looks++;
            if (ends) drop(item);
          },
        };
        watch.add(item);
        live.push(item);
      } else if (kind === "delete") {
        const item = live[at % (live.length || 1)];
        if (item !== undefined) {
          drop(item);
          watch.delete(item);
        }
      } else {
        const before = live.map((item) => [item, item.looks] as const);
        clock.advance(clock.next ?? 0);
        for (const [item, looks] of before) expect(item.looks).toBe(looks + 1);
      }
      expect(clock.pending).toBeLessThanOrEqual(1);
      if (live.length > 0) expect(clock.pending).toBe(1);
    }
  }));
});
