import { describe, expect, test } from "bun:test";
import { Child, type ChildOptions } from "../../../plugins/php/fork/child.ts";
import type { Ended } from "../../../plugins/php/fork/ended.ts";
import type { LinkEvents } from "../../../plugins/php/fork/link.ts";
import type { WorkerExit, WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import { waitFor } from "../../support/wait.ts";

const token = "t".repeat(32);
const failed: Ended = { token, pid: 7, code: 255, signal: null, message: "" };

/** A child whose process, parent and connection are the test's to move. */
function birth(more: Partial<ChildOptions> = {}) {
  const world = { alive: true, woken: 0, calls: [] as string[], exits: [] as WorkerExit[] };
  let link!: LinkEvents;
  const child = new Child({
    token,
    who: { pid: 7, parent: 1, group: 7, started: "1", state: "S" },
    open: (events) => {
      link = events;
      return {
        send() {},
        pause: () => void world.calls.push("pause"),
        resume: () => void world.calls.push("resume"),
        cancel() {},
        stop() {},
        destroy: () => void world.calls.push("destroy"),
      };
    },
    system: { alive: () => world.alive, kill: () => true, killRest: () => void world.calls.push("kill rest") },
    lastWords: () => [],
    onLine() {},
    wakeParent: () => void world.woken++,
    onOver() {},
    ...more,
  });
  child.adopt({ onBroken() {}, onLine() {}, onExit: (exit) => void world.exits.push(exit) });
  return { child, world, link };
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

describe("the end of a forked child", () => {
  test("is what its parent says, however long after its connection it ends", async () => {
    const { child, world, link } = birth();
    link.onClosed();
    // Taking PHP apart takes its time.
    await pause(250);
    world.alive = false;
    await waitFor(() => world.woken > 0, { what: "the host to see that it is gone" });
    expect(world.exits).toEqual([]);
    child.ended(failed);
    expect(world.exits.map(({ code }) => code)).toEqual([255]);
  });

  test("is what its parent says, even if that one overslept it: it is woken", async () => {
    const { child, world, link } = birth({ wakeParent: () => setTimeout(() => child.ended(failed), 300) });
    world.alive = false;
    link.onClosed();
    await waitFor(() => world.exits.length > 0, { what: "the exit" });
    expect(world.exits.map(({ code }) => code)).toEqual([255]);
  });

  test("is told without a word of its parent when that one is gone too", async () => {
    const { child, world, link } = birth();
    child.orphaned();
    world.alive = false;
    link.onClosed();
    await waitFor(() => world.exits.length > 0, { what: "the exit" });
    expect(world.exits.map(({ code }) => code)).toEqual([null]);
    expect(world.woken).toBe(0);
  });

  test("leaves time for the rest of an answer that was paused until just now", async () => {
    const { child, world, link } = birth();
    child.send({} as WorkerRequest, {} as never);
    child.pause();
    child.ended({ ...failed, code: 0 });
    // Between two looks at it, the second of which is 100 ms behind this.
    await pause(400);
    child.resume();
    await pause(300);
    expect(world.calls).toEqual(["pause", "resume"]);
    link.onAnswered();
    expect(world.exits.map(({ code }) => code)).toEqual([0]);
    expect(world.calls).not.toContain("kill rest");
  });
});
