import { describe, expect, test } from "bun:test";
import type { Backend } from "../../plugins/dbproxy/backend/backend.ts";
import { readFacts } from "../../plugins/dbproxy/backend/facts.ts";
import { ServerKnowledge } from "../../plugins/dbproxy/knowledge.ts";
import type { Greeting } from "../../plugins/dbproxy/wire/packets.ts";

const greeting = { version: "8.0.36" } as Greeting;

class World {
  now = 0;
  changes = 0;
  globals = ["", "", ""];
  roles: string[][] | undefined = [];
  views: string[][] | undefined = [["V"]];
  readonly knowledge = new ServerKnowledge(() => this.now, () => this.changes++);

  constructor() {
    this.knowledge.meet({ ...readFacts(greeting, []), roles: false });
  }

  ask(): Promise<void> {
    const err = { code: 3024, state: "HY000", message: "too slow" };
    const answer = (rows: string[][] | undefined) => rows === undefined ? { err } : { rows };
    const answers = [{ rows: [this.globals] }, answer(this.roles), answer(this.views)];
    return this.knowledge.ask({ ask: () => Promise.resolve(answers) } as unknown as Backend);
  }
}

describe("views", () => {
  test("are names that may run more, and so is everything while they are not known, or for long", async () => {
    const world = new World();
    const { knowledge } = world;
    expect([knowledge.due, knowledge.mayRunMore(["t"]), knowledge.mayRunMore([])]).toEqual([true, true, false]);
    await world.ask();
    expect([knowledge.due, knowledge.mayRunMore(["t"]), knowledge.mayRunMore(["t", "v"])]).toEqual([
      false,
      false,
      true,
    ]);
    world.now = 10_001;
    expect([knowledge.due, knowledge.mayRunMore(["t"])]).toEqual([true, true]);
  });

  test("that changed while they were asked for are not believed", async () => {
    const world = new World();
    const asked = world.ask();
    expect(world.knowledge.due).toBe(false);
    world.knowledge.forget();
    await asked;
    expect([world.knowledge.due, world.knowledge.mayRunMore(["t"])]).toEqual([true, true]);
  });

  test("that the server is too slow to tell, or are too many, are not asked for by each connection", async () => {
    for (const views of [undefined, Array.from({ length: 5001 }, (_, i) => [`v${i}`])]) {
      const world = new World();
      world.views = views;
      await world.ask();
      world.knowledge.forget();
      expect([world.knowledge.due, world.knowledge.mayRunMore(["t"])]).toEqual([false, true]);
      world.now = 60_000;
      expect(world.knowledge.due).toBe(true);
    }
  });
});

test("what a new session starts with, and whether there are roles, is learned again", async () => {
  const world = new World();
  await world.ask();
  expect([world.changes, world.knowledge.facts?.roles]).toEqual([0, false]);
  world.globals = ["ANSI_QUOTES", "SET @a=1", "latin1"];
  world.roles = [["1"]];
  await world.ask();
  const { sqlMode, initConnect, charset, roles } = world.knowledge.facts!;
  expect([world.changes, sqlMode, initConnect, charset, roles]).toEqual([1, "ANSI_QUOTES", "SET @a=1", "latin1", true]);
});
