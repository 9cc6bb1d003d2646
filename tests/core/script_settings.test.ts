import { describe, expect, test } from "bun:test";
import { createApp } from "../../core/app.ts";
import { ScriptSettings, type ScriptValues } from "../../core/contracts/script_settings.ts";
import type { AnyPlugin } from "../../core/plugin.ts";
import { ScriptBoard } from "../../core/script_settings.ts";
import { anything } from "../../core/standard_schema.ts";

function board() {
  const lines: unknown[][] = [];
  return { board: new ScriptBoard((...line) => void lines.push(line)), lines };
}

const none: ScriptValues = { env: {}, ini: {} };

describe("ScriptBoard", () => {
  test("gives back all that was added", () => {
    const { board: b, lines } = board();
    b.add("x", { env: { A: "1" }, ini: { "a.b": "2" } });
    b.add("y", { env: { B: "3" } });
    expect(b.read({ env: { C: "4" }, ini: { "c.d": true } })).toEqual({
      env: { A: "1", B: "3", C: "4" },
      ini: { "a.b": "2", "c.d": true },
    });
    expect(lines).toEqual([]);
  });

  test("leaves an addition out altogether when the user has set one of its names, without a word", () => {
    const { board: b, lines } = board();
    b.add("x", { env: { HOST: "a", PORT: "1" } });
    b.add("x", { env: { USER: "u" }, unless: ["HOST", "USER"] });
    b.add("x", { env: { NAME: "n" }, unless: [] });
    b.add("x", { ini: { "default.port": "1" } });
    const own = { env: { HOST: "mine" }, ini: { "default.port": 2 } };
    expect(b.read(own)).toEqual({ env: { HOST: "mine", NAME: "n" }, ini: { "default.port": 2 } });
    expect(lines).toEqual([]);
  });

  test("keeps who came first, whole, and says so once", () => {
    const { board: b, lines } = board();
    b.add("x", { env: { HOST: "a", PORT: "1" } });
    b.add("y", { env: { PORT: "2", OTHER: "o" } });
    b.add("z", { env: { HOST: "a", THIRD: "t" } });
    expect(b.read(none).env).toEqual({ HOST: "a", PORT: "1", THIRD: "t" });
    expect(lines).toEqual([
      ["warn", "scripts are not told PORT, OTHER: PORT is set by another plugin", { plugin: "y", other: "x" }],
    ]);
  });

  test("does not take the names of objects for names that were set", () => {
    const { board: b } = board();
    b.add("x", { env: { toString: "a", constructor: "b" } });
    expect(b.read(none).env).toEqual({ toString: "a", constructor: "b" });
  });

  test("refuses what comes too late", () => {
    const { board: b } = board();
    b.read(none);
    let error: unknown;
    try {
      b.add("late", { env: { A: "1" } });
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ code: "SCRIPT_SETTINGS_LATE", plugin: "late" });
  });
});

describe("the core's script settings", () => {
  test("pass from an onListen of order pre to whoever runs scripts, whatever the order of the plugins", async () => {
    let read: ScriptValues | undefined;
    const runner: AnyPlugin = {
      name: "runner",
      api: 1,
      config: anything,
      wants: [ScriptSettings],
      setup: (ctx) => ({ onListen: () => void (read = ctx.find(ScriptSettings)?.read(none)) }),
    };
    const proxy: AnyPlugin = {
      name: "proxy",
      api: 1,
      config: anything,
      wants: [ScriptSettings],
      setup: (ctx) => ({
        onListen: {
          order: "pre",
          handler: async () => {
            const port = await Promise.resolve("4711");
            ctx.find(ScriptSettings)?.add(ctx.name, { env: { PORT: port } });
          },
        },
      }),
    };
    const app = await createApp({ plugins: [runner, proxy], config: {}, baseDir: "/", log() {} });
    await app.listen();
    await app.close();
    expect(read).toEqual({ env: { PORT: "4711" }, ini: {} });
  });
});
