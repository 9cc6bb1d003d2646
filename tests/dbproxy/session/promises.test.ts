import { describe, expect, test } from "bun:test";
import type { Backend } from "../../../plugins/dbproxy/backend/backend.ts";
import type { Want } from "../../../plugins/dbproxy/session/host.ts";
import { Promises } from "../../../plugins/dbproxy/session/promises.ts";
import { SessionRegistry } from "../../../plugins/dbproxy/session/registry.ts";
import type { Session } from "../../../plugins/dbproxy/session/session.ts";

const want = (kind: string) => ({ kind, schema: undefined }) as unknown as Want;

class World {
  readonly backends: Backend[];
  room = true;
  readonly log: string[] = [];
  readonly promises = new Promises({
    idle: () => ({ backends: this.backends, room: this.room }),
    spare: ({ kind }) => this.log.push(`spare ${kind}`),
    reconsider: () => this.log.push("reconsider"),
    discard: ({ id }, reason) => this.log.push(`discard ${id} ${reason}`),
  });

  constructor(...kinds: string[]) {
    this.backends = kinds.map((kind, id) =>
      ({ id, kind, promised: false, state: { schema: undefined } }) as unknown as Backend
    );
  }

  /** The id of the backend that the next client is promised. */
  next(above = -1): number | undefined {
    return this.promises.make(above)?.id;
  }
}

describe("a promise", () => {
  test("is of the idle backend with the lowest id, of the kind that the last client needed, and of each only once", () => {
    const world = new World("b", "a", "a");
    expect(world.next()).toBe(undefined);
    world.promises.saw(want("a"));
    expect([world.next(), world.next(), world.next()]).toEqual([1, 2, undefined]);
    world.promises.end(world.backends[1]!);
    world.promises.end(world.backends[2]!);
    expect([world.next(), world.log.at(-1)]).toEqual([1, "spare a"]);
    expect(world.log).toContain("reconsider");
  });

  test("is not of the backend that was promised last: who connects again expects another id", () => {
    const world = new World("a", "a", "a");
    world.promises.saw(want("a"));
    const ids = Array.from({ length: 4 }, () => {
      const made = world.promises.make(-1)!;
      world.promises.end(made);
      return made.id;
    });
    expect(ids).toEqual([0, 1, 0, 1]);
  });

  test("is of an id above all that others were greeted with", () => {
    const world = new World("a", "a", "a");
    world.promises.saw(want("a"));
    expect([world.next(1), world.next(2)]).toEqual([2, undefined]);
  });

  test("has one opened in advance where it leaves none, unless enough are idle", () => {
    const world = new World("a", "a", "a", "a");
    world.promises.saw(want("a"));
    for (let i = 0; i < 3; i++) world.next();
    expect(world.log).toEqual([]);
    world.next();
    expect(world.log).toEqual(["spare a"]);
    const enough = new World("a", "a", "a");
    enough.promises.saw(want("a"));
    expect([enough.next(5), enough.log]).toEqual([undefined, []]);
  });

  test("never takes the last one where no more may be opened", () => {
    const world = new World("a", "a");
    world.room = false;
    world.promises.saw(want("a"));
    expect([world.next(), world.next()]).toEqual([0, undefined]);
  });

  test("is made as long as the guess is right two times of three", () => {
    const world = new World("a", "a", "b", "b");
    const run = (kinds: string) => {
      for (const kind of kinds) world.promises.saw(want(kind));
      const made = world.promises.make(-1);
      if (made) world.promises.end(made);
      return made !== undefined;
    };
    expect(run("aaaaaaaaab")).toBe(true);
    expect(run("abab")).toBe(false);
    expect(run("ab")).toBe(false);
    expect(run("b")).toBe(true);
  });

  test("of a session that was killed ends with its backend, once for all", () => {
    const world = new World("a");
    world.promises.saw(want("a"));
    const made = world.promises.make(-1)!;
    world.promises.void(made);
    expect(world.log).toEqual(["spare a", "discard 0 promised"]);
  });
});

describe("an id", () => {
  const session = (id: number, has: { promised?: number; backend?: number }) =>
    ({
      id,
      promised: has.promised === undefined ? undefined : { id: has.promised },
      backend: has.backend === undefined ? undefined : { id: has.backend },
      backendId: has.backend,
    }) as unknown as Session;

  test("means whom it was told, as long as that can be no other", () => {
    const sessions = new SessionRegistry();
    const own = session(sessions.nextId(), {});
    const promised = session(7, { promised: 7 });
    const elsewhere = session(8, { backend: 12 });
    const voided = session(9, {});
    for (const one of [promised, elsewhere, voided]) sessions.add(one);
    expect(sessions.highest).toBe(9);
    sessions.add(own);
    expect(sessions.highest).toBeGreaterThan(own.id);
    expect([own.id, 7, 8, 12, 9, 10].map((id) => sessions.find(id)))
      .toEqual([own, promised, elsewhere, elsewhere, undefined, undefined]);
    expect(own.id).toBeGreaterThanOrEqual(0x4000_0000);
    sessions.delete(own);
    expect(sessions.highest).toBe(9);
  });

  test("that a restarted server gives again means its connection's session, and the other stays known", () => {
    const sessions = new SessionRegistry();
    const old = session(9, {});
    const now = session(9, { promised: 9 });
    sessions.add(old);
    sessions.add(now);
    expect([sessions.find(9), sessions.size]).toEqual([now, 2]);
    sessions.delete(old);
    expect([sessions.find(9), sessions.size]).toEqual([now, 1]);
    sessions.delete(now);
    expect([sessions.find(9), sessions.size]).toEqual([undefined, 0]);
  });
});
