import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { ScriptSettings } from "../../../core/contracts/script_settings.ts";
import { claim, ourselves } from "../../../core/folder_owner.ts";
import { makePrivateFolder } from "../../../core/private_folder.ts";
import { Door } from "../../../plugins/bulkhead/local/door.ts";
import { TinyStore } from "./tiny_store.ts";

test("a socket of the server's own is in a private folder that goes with it, and with its successor when it was killed", async () => {
  const tempDir = mkdtempSync(join(tmpdir(), "fairlead-door-"));
  const told: string[] = [];
  const scripts: Pick<ScriptSettings, "add"> = {
    add: (_, { env }) => void told.push(env!["FAIRLEAD_BULKHEAD_SOCKET"]!),
  };
  const open = async () => {
    const door = new Door({
      store: new TinyStore(),
      path: undefined,
      group: undefined,
      baseDir: tempDir,
      executions: undefined,
      ownerOf: () => undefined,
      places: undefined,
      scripts: scripts as ScriptSettings,
      log: () => {},
      tempDir,
    });
    await door.open();
    return door;
  };
  try {
    const folder = { prefix: "fairlead-bulkhead", longest: "", mode: 0o711, code: "X", parent: tempDir };
    const { path: killed } = makePrivateFolder(folder);
    writeFileSync(join(killed, "bulkhead.sock"), "");
    claim(killed, { ...ourselves()!, pid: spawnSync("true").pid });
    const { path: elsewhere } = makePrivateFolder(folder);
    claim(elsewhere, { ...ourselves()!, pid: 1, space: "of another container" });

    const first = await open();
    expect([existsSync(killed), existsSync(elsewhere)]).toEqual([false, true]);
    const second = await open();
    const [one, other] = told.map((path) => dirname(path));
    expect(readdirSync(tempDir).map((name) => join(tempDir, name)).sort()).toEqual([one!, other!, elsewhere].sort());
    expect(statSync(one!).mode & 0o777).toBe(0o711);
    expect(one).toContain(`/fairlead-bulkhead-${process.pid}-`);
    first.close();
    second.close();
    expect(readdirSync(tempDir).map((name) => join(tempDir, name))).toEqual([elsewhere]);
  } finally {
    rmSync(tempDir, { recursive: true, force: true });
  }
});
