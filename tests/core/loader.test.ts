import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadPlugin } from "../../core/loader.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-loader-"));
const source = `export default {
  name: "its own name",
  api: 1,
  config: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  setup() {},
};
`;

function install(name: string, exports: unknown): void {
  const folder = join(dir, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0", type: "module", exports }));
  writeFileSync(join(folder, "plugin.js"), source);
}

beforeAll(() => {
  writeFileSync(join(dir, "geo.js"), source);
  writeFileSync(join(dir, "none.js"), "export default {};\n");
  install("plain", "./plugin.js");
  install("@some/scoped", { ".": "./plugin.js" });
  install("import-only", { ".": { import: "./plugin.js" } });
});

afterAll(() => rmSync(dir, { recursive: true }));

describe("a third-party plugin", () => {
  test("is a file beside the configuration, or a package found from its folder, and has the table's name", async () => {
    for (const use of ["./geo.js", "npm:plain", "npm:plain@1", "npm:@some/scoped", "npm:@some/scoped@^1.0.0"]) {
      const plugin = await loadPlugin("geo", use, dir);
      expect([use, plugin.name, typeof plugin.setup]).toEqual([use, "geo", "function"]);
    }
  });

  test("may be a package that can only be imported, where the runtime looks for it from here", async () => {
    const found = await loadPlugin("geo", "npm:import-only", dir).catch((e) => e.code);
    expect("Deno" in globalThis ? found : found.name).toBe("Deno" in globalThis ? "PLUGIN_NOT_LOADED" : "geo");
  });

  test("that is not there, or is none, is an error that says so", async () => {
    const missing = await loadPlugin("geo", "npm:not-installed", dir).catch((e) => e);
    expect([missing.code, missing.message.startsWith("Cannot load plugins.geo")]).toEqual([
      "PLUGIN_NOT_LOADED",
      true,
    ]);
    expect((await loadPlugin("geo", "./none.js", dir).catch((e) => e)).code).toBe("PLUGIN_INVALID");
  });
});
