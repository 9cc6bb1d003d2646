import { describe, expect, test } from "bun:test";
import { readFacts } from "../../../plugins/dbproxy/backend/facts.ts";
import { Track } from "../../../plugins/dbproxy/session/track.ts";
import { Analyser } from "../../../plugins/dbproxy/sql/analyser.ts";
import { SettingsGraph } from "../../../plugins/dbproxy/state/graph.ts";
import type { Greeting } from "../../../plugins/dbproxy/wire/packets.ts";

const greeting: Greeting = {
  version: "8.0.36",
  threadId: 1,
  nonce: new Uint8Array(20),
  capabilities: 0xffffffff,
  extended: 0,
  charset: 45,
  status: 2,
  plugin: "caching_sha2_password",
};

const newTrack = () => new Track(readFacts(greeting, []), new SettingsGraph().root(45), "app", false);

/** An OK with the schema tracker. */
function chose(schema: string) {
  const name = new TextEncoder().encode(schema);
  const trackers = Uint8Array.of(1, name.length + 1, name.length, ...name);
  return { affectedRows: 0n, insertId: 0n, status: 0x4002, warnings: 0, info: new Uint8Array(), trackers };
}

describe("a session's role", () => {
  for (const before of [undefined, "write", "user_variable", "opaque"] as const) {
    test(`counts as switched behind ${before ?? "nothing"}`, () => {
      const track = newTrack();
      if (before !== undefined) track.soil(before);
      track.soil("role");
      track.soil("call");
      expect([track.dirty, track.role]).toEqual([before ?? "role", "yes"]);
    });
  }

  test("may be another after what can run anything, and is its own after a write", () => {
    const track = newTrack();
    track.soil("write");
    expect(track.role).toBe("no");
    track.soil("call");
    expect([track.dirty, track.role]).toEqual(["write", "maybe"]);
  });

  test("may be another after several statements in one text", () => {
    const track = newTrack();
    const sql = new TextEncoder().encode("INSERT INTO t VALUES (1); SET ROLE admin");
    track.ok(chose("app") as never, new Analyser().analyse(sql, track.mode), undefined, undefined);
    expect(track.role).toBe("maybe");
  });
});

test("the default schema is lost when the server says there is none, and known again when one is chosen", () => {
  const track = newTrack();
  track.ok(chose("") as never, undefined, undefined, undefined);
  expect([track.schema, track.schemaLost]).toEqual(["app", true]);
  track.ok(chose("other") as never, undefined, undefined, undefined);
  expect([track.schema, track.schemaLost]).toEqual(["other", false]);
});
