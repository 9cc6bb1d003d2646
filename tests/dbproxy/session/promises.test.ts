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
  next(): number | undefined {
    return this.promises.make()?.id;
  }
}

describe("a promise", () => {
  test("is of the last used idle backend of the kind that the last client needed, and of each only once", () => {
    const world = new World("b", "a", "a");
    expect(world.next()).toBe(undefined);
    world.promises.saw(want("a"));
    expect([world.next(), world.next(), world.next()]).toEqual([1, 2, undefined]);
    world.promises.end(world.backends[1]!);
    expect([world.next(), world.log.at(-2)]).toEqual([1, "reconsider"]);
  });

  test("is not of the backend that the last session had: who connects again expects another id", () => {
    const world = new World("a", "a");
    world.promises.saw(want("a"));
    world.promises.had(world.backends[0]!);
    expect([world.next(), world.next()]).toEqual([1, undefined]);
    world.promises.had(world.backends[1]!);
    expect(world.next()).toBe(0);
  });

  test("has one opened in advance where it leaves none", () => {
    const world = new World("a", "a");
    world.promises.saw(want("a"));
    world.next();
    expect(world.log).toEqual([]);
    world.next();
    expect(world.log).toEqual(["spare a"]);
  });

  test("never takes the last one where no more may be opened", () => {
    const world = new World("a", "a");
    world.room = false;
    world.promises.saw(want("a"));
    expect([world.next(), world.next()]).toEqual([0, undefined]);
  });

  test("is made as long as the guess is right two times of three", () => {
    const world = new World("a", "b");
    const run = (kinds: string) => {
      for (const kind of kinds) world.promises.saw(want(kind));
      const made = world.promises.make();
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
    const made = world.promises.make()!;
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
    for (const one of [own, promised, elsewhere, voided]) sessions.add(one);
    expect([own.id, 7, 8, 12, 9, 10].map((id) => sessions.find(id)))
      .toEqual([own, promised, elsewhere, elsewhere, undefined, undefined]);
    expect(own.id).toBeGreaterThanOrEqual(0x4000_0000);
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
