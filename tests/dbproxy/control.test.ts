import { expect, test } from "bun:test";
import { turns } from "../support/wait.ts";
import type { Backend } from "../../plugins/dbproxy/backend/backend.ts";
import { ControlConnection } from "../../plugins/dbproxy/control.ts";
import { CoreError } from "../../core/error.ts";

class World {
  now = 0;
  opened = 0;
  readonly closed: boolean[] = [];
  readonly timers = new Set<() => void>();
  /** Ends what runs on the connection. */
  lose: (error: Error) => void = () => {};
  readonly control = new ControlConnection({
    dial: () => {
      this.opened++;
      return Promise.resolve(this.#backend());
    },
    clock: {
      now: () => this.now,
      setTimer: (_ms, fire) => {
        this.timers.add(fire);
        return () => this.timers.delete(fire);
      },
    },
    timeoutMs: 100,
  });

  #backend(): Backend {
    return {
      close: (polite: boolean) => {
        this.closed.push(polite);
        this.lose(new CoreError("DB_CLOSED", "closed"));
      },
    } as unknown as Backend;
  }

  hang = () => new Promise<void>((_, reject) => this.lose = reject);
}

const codeOf = (promise: Promise<void>) => promise.then(() => "done", (error: CoreError) => error.code);

test("all that is to be said goes over one connection, in turn, which ends with the last word", async () => {
  const world = new World();
  const order: number[] = [];
  const results = await Promise.all(
    [1, 2, 3].map((n) =>
      codeOf(world.control.run(() => {
        order.push(n);
        if (n === 2) throw Object.assign(new CoreError("DB_REFUSED", "no such thread"), { packet: {} });
        return Promise.resolve();
      }))
    ),
  );
  await turns(1);
  expect([order, results, world.opened, world.closed, world.timers.size])
    .toEqual([[1, 2, 3], ["done", "DB_REFUSED", "done"], 1, [true], 0]);
});

test("a server that says nothing is given up at the deadline, and who waited behind it has his own", async () => {
  const world = new World();
  const first = codeOf(world.control.run(world.hang));
  world.now = 50;
  const second = codeOf(world.control.run(() => Promise.resolve()));
  await turns(1);
  world.now = 100;
  for (const fire of [...world.timers]) fire();
  expect([await first, await second, world.opened]).toEqual(["DB_TIMEOUT", "done", 2]);
});

test("closing ends what runs and refuses what waits", async () => {
  const world = new World();
  const results = [world.hang, () => Promise.resolve()].map((work) => codeOf(world.control.run(work)));
  await turns(1);
  world.control.close();
  expect(await Promise.all([...results, codeOf(world.control.run(world.hang))]))
    .toEqual(["DB_CLOSED", "DB_CLOSED", "DB_CLOSED"]);
  expect([world.closed[0], world.timers.size]).toEqual([false, 0]);
});
