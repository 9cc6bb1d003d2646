import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { BackendState } from "../../../plugins/dbproxy/state/backend_state.ts";
import { SettingsGraph } from "../../../plugins/dbproxy/state/graph.ts";
import { distance, otherSchema, plan, reachable, renewedSchema } from "../../../plugins/dbproxy/state/plan.ts";
import type { Settings } from "../../../plugins/dbproxy/state/settings.ts";
import { ModelSession, setTexts, textsByName } from "./model_session.ts";

interface Life {
  readonly charset: number;
  readonly texts: readonly number[];
  readonly schema: string | undefined;
  readonly multi: boolean;
  readonly dirty: boolean;
  readonly used: boolean;
}

const life: fc.Arbitrary<Life> = fc.record({
  charset: fc.constantFrom(8, 45, 46),
  texts: fc.array(fc.nat(setTexts.length - 1), { maxLength: 6 }),
  schema: fc.constantFrom(undefined, "app", "other"),
  multi: fc.boolean(),
  dirty: fc.boolean(),
  used: fc.boolean(),
});

/** Lives a session and learns from it what was not known. */
function live(graph: SettingsGraph, { charset, texts, schema, multi }: Life): [ModelSession, Settings] {
  const session = new ModelSession(textsByName, charset, schema, multi);
  let settings = graph.root(charset);
  for (const n of texts) {
    const { text, assignments } = setTexts[n]!;
    const { ok, trackers } = session.query(text);
    const to = graph.learn(settings, text, assignments, ok, trackers);
    if (to === undefined) throw new Error(`Expected to learn ${text}`);
    expect(graph.follow(settings, text)).toEqual({ to, status: ok.status & 0x202, warnings: 0 });
    settings = to;
  }
  return [session, settings];
}

describe("a plan", () => {
  test("leads from any state to any other, and never takes longer than a reset and everything", () => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 4 }), life, life, fc.boolean(), (before, from, to, fresh) => {
        const graph = new SettingsGraph();
        for (const other of before) live(graph, other);
        const [backend, had] = live(graph, from);
        const [wanted, wants] = live(graph, to);
        backend.residue = from.dirty;
        backend.used = from.used;
        const have: BackendState = {
          settings: had,
          dirty: from.dirty ? "user_variable" : undefined,
          schema: backend.schema,
          multiStatements: backend.multi,
          used: from.used,
        };
        const want = { settings: wants, schema: to.schema, multiStatements: to.multi, fresh };
        if (from.schema !== undefined && to.schema === undefined) {
          expect([reachable(have, want), distance(have, want)]).toEqual([false, Infinity]);
          expect(() => plan(have, want)).toThrow("default schema");
          return;
        }
        const steps = plan(have, want);
        for (const step of steps) backend.apply(step);
        expect(backend.seen).toEqual(wanted.seen);
        if (fresh) expect(backend.used).toBe(false);
        const options = Number(from.schema !== to.schema) + Number(from.multi !== to.multi);
        expect(steps.length).toBeLessThanOrEqual(3 + wants.path.length + options);
        // The way to a state is that of who came there first; a later, shorter one to a state before it does not shorten it.
        const lived = [...before, from, to].reduce((sum, { texts }) => sum + texts.length, 0);
        expect(wants.path.length).toBeLessThanOrEqual(lived);
        expect(distance(have, want)).toBe(steps.length);
        const resets = steps.filter(({ kind }) => kind === "reset").length;
        if (!from.dirty && !(fresh && from.used) && had === wants) expect(resets).toBe(0);
        if (from.dirty || (fresh && from.used)) expect(resets).toBe(1);
      }),
      { numRuns: 600 },
    );
  });

  test("is the whole path from a new session, always", () => {
    fc.assert(
      fc.property(fc.array(life, { maxLength: 6 }), life, (before, last) => {
        const graph = new SettingsGraph();
        for (const other of before) live(graph, other);
        const [wanted, wants] = live(graph, last);
        const session = new ModelSession(textsByName, wants.charset, last.schema, last.multi);
        for (const text of wants.path) session.query(text);
        expect(session.seen).toEqual(wanted.seen);
      }),
      { numRuns: 300 },
    );
  });

  const graph = new SettingsGraph();
  const state = (settings: Settings): BackendState => ({
    settings,
    dirty: undefined,
    schema: "app",
    multiStatements: true,
    used: true,
  });
  const want = (settings: Settings) => ({ settings, schema: "app", multiStatements: true, fresh: false });
  const reach = (charset: number, ...texts: number[]) =>
    live(graph, { charset, texts, schema: "app", multi: true, dirty: false, used: false })[1];
  const texts = (settings: Settings, to: Settings) =>
    plan(state(settings), want(to)).map((step) => (step.kind === "query" ? step.text : step.kind));

  test("is nothing where the same settings were reached another way", () => {
    const wordpress = reach(45, 0, 4);
    expect(reach(45, 4, 7, 8, 1, 4) === wordpress).toBe(false);
    expect(reach(45, 4, 1)).toBe(wordpress);
    expect(plan(state(wordpress), want(reach(45, 1, 4)))).toEqual([]);
    expect(distance(state(wordpress), want(wordpress))).toBe(0);
  });

  test("is what is missing where the backend is on the way", () => {
    expect(texts(graph.root(45), reach(45, 0, 4))).toEqual(["SET NAMES utf8mb4", "SET SESSION sql_mode = 'ANSI'"]);
    expect(texts(reach(45, 0), reach(45, 0, 4))).toEqual(["SET SESSION sql_mode = 'ANSI'"]);
    expect(texts(reach(45, 4), reach(45, 0, 4))).toEqual(["SET NAMES utf8mb4"]);
  });

  test("sets again what differs, without a reset", () => {
    expect(texts(reach(45, 0, 7, 4), reach(45, 0, 8, 4))).toEqual(["SET SESSION time_zone = '+01:00'"]);
    expect(texts(graph.root(45), graph.root(46))).toEqual(["names"]);
    expect(texts(reach(45, 3), reach(8, 3))).toEqual([]);
  });

  test("takes along what a text must be read after", () => {
    const modes = ["SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'", "SET SESSION sql_mode = 'a\\b'"];
    expect(texts(graph.root(45), reach(45, 5, 6))).toEqual(modes);
    expect(texts(reach(45, 5), reach(45, 5, 6))).toEqual(modes.slice(1));
    expect(texts(reach(45, 4), reach(45, 5, 6))).toEqual(modes);
  });

  test("resets where something was set that the wanted session has not set", () => {
    expect(texts(reach(45, 0, 4), reach(45, 0))).toEqual(["reset", "names", "trackers", "SET NAMES utf8mb4"]);
    expect(texts(reach(45, 0), graph.root(45))).toEqual(["names"]);
  });

  test("puts the options last, and resets only for what needs it", () => {
    const root = graph.root(45);
    expect(plan({ ...state(root), multiStatements: false }, { ...want(root), schema: "other" })).toEqual([
      { kind: "multi", on: true },
      { kind: "schema", name: "other" },
    ]);
    expect(plan({ ...state(root), used: false }, { ...want(root), fresh: true })).toEqual([]);
    expect(plan(state(root), { ...want(root), fresh: true })).toEqual([
      { kind: "reset" },
      { kind: "names", charset: 45 },
      { kind: "trackers" },
    ]);
  });

  test("trusts nothing that was forgotten", () => {
    const own = new SettingsGraph();
    const old = own.root(45);
    own.forget();
    expect(plan(state(old), want(own.root(45)))).toHaveLength(3);
    expect(plan(state(old), want(old))).toEqual([]);
    expect(plan(state(new SettingsGraph().root(45)), want(own.root(45)))).toHaveLength(3);
  });
});

test("a schema that may be another by now is chosen again, by way of one that is always there", () => {
  const settings = new SettingsGraph().root(45);
  const have: BackendState = { settings, dirty: undefined, schema: renewedSchema, multiStatements: false, used: false };
  const want = { settings, schema: "app", multiStatements: false, fresh: true };
  expect(plan(have, want)).toEqual([{ kind: "schema", name: otherSchema }, { kind: "schema", name: "app" }]);
  expect([reachable(have, want), reachable(have, { ...want, schema: undefined })]).toEqual([true, false]);
});
