import { describe, expect, test } from "bun:test";
import type { Assignment } from "../../../plugins/dbproxy/sql/statement.ts";
import { SettingsGraph } from "../../../plugins/dbproxy/state/graph.ts";
import type { Settings } from "../../../plugins/dbproxy/state/settings.ts";
import type { OkPacket, Trackers } from "../../../plugins/dbproxy/wire/packets.ts";
import { STATUS } from "../../../plugins/dbproxy/wire/status.ts";
import { report } from "./model_session.ts";

const ok: OkPacket = {
  affectedRows: 0,
  insertId: 0,
  status: STATUS.AUTOCOMMIT | STATUS.SESSION_STATE_CHANGED,
  warnings: 0,
  info: "",
  trackers: new Uint8Array(),
};
const charsets = (name: string): [string, string][] =>
  ["client", "connection", "results"].map((part) => [`character_set_${part}`, name]);
const setNames: Assignment[] = [{ name: "names", value: "utf8mb4" }];
const setMode: Assignment[] = [{ name: "sql_mode", value: "ANSI" }];
const modeText = "SET SESSION sql_mode='ANSI'";
const namesText = "SET NAMES utf8mb4";

function learnMode(
  graph: SettingsGraph,
  from: Settings,
  more: Partial<OkPacket> = {},
  trackers: Partial<Trackers> = {},
) {
  return graph.learn(from, modeText, setMode, { ...ok, ...more }, report([["sql_mode", "ANSI,X"]], trackers));
}

describe("what is learned of a SET", () => {
  test("SET NAMES gives three charsets, and the collation that its text or its charset implies", () => {
    const graph = new SettingsGraph();
    const root = graph.root(8);
    const plain = graph.learn(root, namesText, setNames, ok, report(charsets("utf8mb4")))!;
    expect(Object.fromEntries(plain.values)).toEqual({
      character_set_client: "utf8mb4",
      character_set_connection: "utf8mb4",
      character_set_results: "utf8mb4",
      collation_connection: "names:utf8mb4",
    });
    const collated: Assignment[] = [{ name: "names", value: "utf8mb4", collation: "UTF8MB4_BIN" }];
    const binary = graph.learn(root, `${namesText} COLLATE UTF8MB4_BIN`, collated, ok, report(charsets("utf8mb4")))!;
    expect(binary.values.get("collation_connection")).toBe("utf8mb4_bin");
    expect(binary).not.toBe(plain);
    expect([plain.path, plain.root, plain.charset, graph.size]).toEqual([[namesText], root, 8, 2]);
  });

  test("the transition has the status of rest, without the bit that announces trackers", () => {
    const graph = new SettingsGraph();
    const root = graph.root(8);
    const to = learnMode(graph, root, { status: ok.status | STATUS.ANSI_QUOTES });
    expect(graph.follow(root, modeText)).toEqual({
      to: to!,
      status: STATUS.AUTOCOMMIT | STATUS.ANSI_QUOTES,
      warnings: 0,
    });
    expect(graph.follow(root, `${modeText} `)).toBe(undefined);
    expect(graph.follow(graph.root(45), modeText)).toBe(undefined);
  });

  test("its warnings are part of it, and must be the same the next time", () => {
    const graph = new SettingsGraph();
    const root = graph.root(8);
    const to = learnMode(graph, root, { warnings: 1 })!;
    expect(graph.follow(root, modeText)).toEqual({ to, status: STATUS.AUTOCOMMIT, warnings: 1 });
    expect(learnMode(graph, root, { warnings: 1 })).toBe(to);
    expect(learnMode(graph, root)).toBe(undefined);
    expect(graph.follow(root, modeText)).toBe(undefined);
  });

  test("nothing, where anything is left unexplained", () => {
    const root = (graph: SettingsGraph) => graph.root(8);
    const unlearned: [why: string, learn: (graph: SettingsGraph) => unknown][] = [
      ["an info", (g) => learnMode(g, root(g), { info: "x" })],
      ["rows", (g) => learnMode(g, root(g), { affectedRows: 1 })],
      ["an insert id", (g) => learnMode(g, root(g), { insertId: 1n })],
      ["a transaction", (g) => learnMode(g, root(g), { status: ok.status | STATUS.IN_TRANS })],
      ["more results", (g) => learnMode(g, root(g), { status: ok.status | STATUS.MORE_RESULTS })],
      ["no change", (g) => learnMode(g, root(g), {}, { stateChanged: false })],
      ["a schema", (g) => learnMode(g, root(g), {}, { schema: "" })],
      ["transaction characteristics", (g) => learnMode(g, root(g), {}, { characteristics: "" })],
      ["transaction state", (g) => learnMode(g, root(g), {}, { transaction: "________" })],
      ["gtids", (g) => learnMode(g, root(g), {}, { gtids: "x" })],
      [
        "a variable nobody set",
        (g) => learnMode(g, root(g), {}, { variables: [["sql_mode", "ANSI"], ["time_zone", "x"]] }),
      ],
      ["a variable that was set and not reported", (g) => learnMode(g, root(g), {}, { variables: [] })],
      ["no assignments", (g) => g.learn(root(g), modeText, [], ok, report([]))],
      [
        "a charset of three not reported",
        (g) => g.learn(root(g), namesText, setNames, ok, report(charsets("utf8mb4").slice(1))),
      ],
      [
        "SET CHARACTER SET",
        (g) =>
          g.learn(
            root(g),
            "SET CHARACTER SET utf8mb4",
            [{ name: "character_set", value: "utf8mb4" }],
            ok,
            report(charsets("utf8mb4")),
          ),
      ],
      [
        "DEFAULT",
        (g) =>
          g.learn(
            root(g),
            "SET sql_mode=DEFAULT",
            [{ name: "sql_mode", value: "DEFAULT" }],
            ok,
            report([["sql_mode", ""]]),
          ),
      ],
      ["a long text", (g) => g.learn(root(g), modeText + " ".repeat(2_000), setMode, ok, report([["sql_mode", ""]]))],
      ["the next transaction's isolation", (g) =>
        g.learn(
          root(g),
          "SET @@transaction_isolation='SERIALIZABLE'",
          [{ name: "transaction_isolation", value: "SERIALIZABLE" }],
          ok,
          report([["transaction_isolation", "SERIALIZABLE"]]),
        )],
    ];
    for (const [why, learn] of unlearned) {
      const graph = new SettingsGraph();
      expect([why, learn(graph), graph.size, graph.follow(graph.root(8), modeText)]).toEqual([
        why,
        undefined,
        0,
        undefined,
      ]);
    }
    expect(learnMode(new SettingsGraph(), new SettingsGraph().root(8))).toBe(undefined);
  });

  test("nothing of variables that are stale, transient, or not to be replayed", () => {
    const learn = (graph: SettingsGraph, name: string) =>
      graph.learn(graph.root(8), `SET SESSION ${name}=1`, [{ name, value: "1" }], ok, report([[name, "1"]]));
    for (
      const name of [
        "timestamp",
        "insert_id",
        "pseudo_thread_id",
        "session_track_schema",
        "optimizer_switch",
        "debug_sync",
        "rand_seed1",
        "default_collation_for_utf8mb4",
        "gtid_next",
        "sql_log_bin",
        "collation_connection",
      ]
    ) expect([name, learn(new SettingsGraph(), name)]).toEqual([name, undefined]);
    const picky = new SettingsGraph({
      replayable: (name) => name !== "wait_timeout" && name !== "character_set_results",
    });
    expect(learn(picky, "wait_timeout")).toBe(undefined);
    expect(learn(picky, "net_read_timeout")?.values.get("net_read_timeout")).toBe("1");
    expect(learn(picky, "transaction_isolation")?.path).toEqual(["SET SESSION transaction_isolation=1"]);
    expect(picky.learn(picky.root(8), namesText, setNames, ok, report(charsets("utf8mb4")))).toBe(undefined);
  });

  test("the charset's own collation is another one than that of SET NAMES", () => {
    const graph = new SettingsGraph();
    const set: Assignment[] = [{ name: "character_set_connection", value: "latin1" }];
    const text = "SET character_set_connection=latin1";
    const to = graph.learn(graph.root(8), text, set, ok, report([["character_set_connection", "latin1"]]))!;
    expect(to.values.get("collation_connection")).toBe("character_set_connection:latin1");
  });
});

describe("a path", () => {
  const learn = (graph: SettingsGraph, from: Settings, text: string, name: string, value: string) =>
    graph.learn(from, text, [{ name, value }], ok, report([[name, value]]))!;

  test("loses what a later text sets again", () => {
    const graph = new SettingsGraph();
    const a = learn(graph, graph.root(8), "SET a=1", "a", "1");
    const b = learn(graph, a, "SET b=1", "b", "1");
    const c = learn(graph, b, "SET a=2", "a", "2");
    expect(c.path).toEqual(["SET b=1", "SET a=2"]);
    expect(learn(graph, c, "SET a=1", "a", "1")).toBe(b);
    expect(learn(graph, b, "SET a=1", "a", "1")).toBe(b);
  });

  test("keeps it where a text after it is read differently in some sql_mode", () => {
    const graph = new SettingsGraph();
    const a = learn(graph, graph.root(8), "SET a=1", "a", "1");
    for (const text of [`SET a="2"`, "SET a='\\2'", "SET a='é'"]) {
      const to = learn(graph, a, text, "a", `of ${text}`);
      expect(to.path).toEqual(["SET a=1", text]);
    }
  });

  test("becomes the shorter one that is found later", () => {
    const graph = new SettingsGraph();
    const a = learn(graph, graph.root(8), "SET a=1", "a", "1");
    const b = learn(graph, a, "SET b='\\1'", "b", "1");
    expect(b.path).toEqual(["SET a=1", "SET b='\\1'"]);
    const both: Assignment[] = [{ name: "a", value: "1" }, { name: "b", value: "1" }];
    expect(graph.learn(graph.root(8), "SET a=1, b=1", both, ok, report([["a", "1"], ["b", "1"]]))).toBe(b);
    expect(b.path).toEqual(["SET a=1, b=1"]);
  });
});

describe("a graph", () => {
  test("begins anew when it is full, and knows what comes then", () => {
    const graph = new SettingsGraph({ maxNodes: 1 });
    const old = graph.root(8);
    const learnNames = (text: string) => graph.learn(graph.root(8), text, setNames, ok, report(charsets("utf8mb4")));
    learnMode(graph, old);
    expect([learnNames(namesText), graph.size, graph.follow(old, modeText)]).toEqual([undefined, 0, undefined]);
    const texts = Array.from({ length: 30 }, (_, i) => `${namesText} /* ${i} */`);
    const learned = texts.map((text) => learnNames(text) !== undefined);
    // Edges have a limit of their own: four for each node.
    expect(learned).toEqual(texts.map((_, i) => i % 5 !== 4));
    expect([graph.size, texts.filter((text) => graph.follow(graph.root(8), text)).length]).toEqual([0, 0]);
    for (let i = 0; i < 9; i++) {
      graph.learnReading(learnMode(graph, graph.root(8))!, `SELECT @@sql_mode x${i}`, ["sql_mode"], Uint8Array.of(1));
    }
    const mode = graph.follow(graph.root(8), modeText)!.to;
    expect([3, 6, 7, 8].map((i) => graph.reading(mode, `SELECT @@sql_mode x${i}`) !== undefined))
      .toEqual([false, false, false, true]);
  });

  test("of a text that is no key, or to an empty reply, there is nothing to know", () => {
    const graph = new SettingsGraph();
    const root = graph.root(8);
    expect(graph.learn(root, "", setMode, ok, report([["sql_mode", "ANSI,X"]]))).toBe(undefined);
    const mode = learnMode(graph, root)!;
    graph.learnReading(mode, "", ["sql_mode"], Uint8Array.of(1));
    graph.learnReading(mode, "SELECT @@sql_mode", ["sql_mode"], new Uint8Array());
    expect([graph.follow(root, ""), graph.reading(mode, ""), graph.reading(mode, "SELECT @@sql_mode")])
      .toEqual([undefined, undefined, undefined]);
    expect(graph.size).toBe(1);
  });

  test("forgets everything when the server contradicts it, and never believes that text again", () => {
    for (
      const contradict of [
        (g: SettingsGraph, from: Settings) => g.learn(from, modeText, setMode, ok, report([["sql_mode", "other"]])),
        (g: SettingsGraph, from: Settings) => learnMode(g, from, { status: ok.status | STATUS.ANSI_QUOTES }),
        (g: SettingsGraph, from: Settings) => learnMode(g, from, { warnings: 1 }),
      ]
    ) {
      const graph = new SettingsGraph();
      const root = graph.root(8);
      const names = graph.learn(root, namesText, setNames, ok, report(charsets("utf8mb4")))!;
      learnMode(graph, names);
      expect(contradict(graph, names)).toBe(undefined);
      expect([graph.size, graph.follow(root, namesText), graph.follow(names, modeText)]).toEqual([
        0,
        undefined,
        undefined,
      ]);
      expect(graph.root(8)).not.toBe(root);
      expect(learnMode(graph, root)).toBe(undefined);
      expect(learnMode(graph, graph.root(8))).toBe(undefined);
      expect(graph.learn(graph.root(8), namesText, setNames, ok, report(charsets("utf8mb4")))).not.toBe(undefined);
    }
  });

  test("begins anew when told to", () => {
    const graph = new SettingsGraph();
    const root = graph.root(8);
    const mode = learnMode(graph, root)!;
    graph.learnReading(mode, "SELECT @@sql_mode", ["sql_mode"], Uint8Array.of(1));
    graph.forget();
    expect([graph.size, graph.follow(root, modeText), graph.reading(mode, "SELECT @@sql_mode")]).toEqual([
      0,
      undefined,
      undefined,
    ]);
    expect(learnMode(graph, root)).toBe(undefined);
    expect(learnMode(graph, graph.root(8))).not.toBe(mode);
  });
});

describe("a reading", () => {
  const text = "SELECT @@SESSION.sql_mode";
  const reply = Uint8Array.of(1, 2, 3);

  test("is remembered where the session itself has set all it reads", () => {
    const graph = new SettingsGraph();
    const mode = learnMode(graph, graph.root(8))!;
    const buffer = reply.slice();
    graph.learnReading(mode, text, ["sql_mode"], buffer);
    buffer.fill(0);
    expect(graph.reading(mode, text)).toEqual(reply);
    expect([graph.reading(graph.root(8), text), graph.reading(mode, `${text} `)]).toEqual([undefined, undefined]);
    graph.learnReading(graph.root(8), text, ["sql_mode"], reply);
    graph.learnReading(mode, "SELECT @@sql_mode, @@time_zone", ["sql_mode", "time_zone"], reply);
    graph.learnReading(mode, "SELECT 1", [], reply);
    graph.learnReading(mode, `${text} AS long`, ["sql_mode"], new Uint8Array(5_000));
    expect([
      graph.reading(graph.root(8), text),
      graph.reading(mode, "SELECT @@sql_mode, @@time_zone"),
      graph.reading(mode, "SELECT 1"),
      graph.reading(mode, `${text} AS long`),
    ]).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("that is answered in two ways is never believed again", () => {
    const graph = new SettingsGraph();
    const mode = learnMode(graph, graph.root(8))!;
    graph.learnReading(mode, text, ["sql_mode"], reply);
    graph.learnReading(mode, text, ["sql_mode"], reply.slice());
    expect(graph.reading(mode, text)).toEqual(reply);
    graph.learnReading(mode, text, ["sql_mode"], Uint8Array.of(1, 2, 4));
    graph.learnReading(mode, text, ["sql_mode"], reply);
    expect(graph.reading(mode, text)).toBe(undefined);
  });
});
