import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createContext, Script } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { serveFetch } from "./serve_fetch.ts";
import worker from "../../examples/edge/worker.ts";

const top = fileURLToPath(new URL("../../", import.meta.url));
const run = promisify(execFile);

/** What the probe (`edge_probe.ts`) has to see, wherever it runs. */
const expected = {
  busy: { running: 4, waiting: 20 },
  refused: [503, "1", { error: "full" }],
  left: [499],
  afterLeaving: { running: 4, waiting: 1 },
  lines: [10, 10, 10, 10, 10],
  waited: true,
  end: { running: 0, waiting: 0 },
};

/** Globals of every runtime that follows the web (WinterTC's minimum common API), and nothing else. */
const webApis = [
  "AbortController",
  "AbortSignal",
  "DOMException",
  "Headers",
  "ReadableStream",
  "Request",
  "Response",
  "TextDecoder",
  "TextEncoder",
  "URL",
  "clearTimeout",
  "performance",
  "queueMicrotask",
  "setTimeout",
];

describe("the entry for edge runtimes", () => {
  let folder = "";
  let bundle = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "fairlead-edge-"));
    bundle = join(folder, "probe.js");
    const probe = join(top, "tests/admission/edge_probe.ts");
    const args = ["build", "--target", "browser", "--format", "iife", probe, "--outfile", bundle];
    await run(join(top, "node_modules/.bin/bun"), args);
  });

  afterAll(() => rm(folder, { recursive: true }));

  test("reaches no node: module, no package and no global of a runtime", async () => {
    const { unportable } = await import(new URL("../../scripts/boundaries.mjs", import.meta.url).href) as {
      unportable(entry: string): string[];
    };
    expect(unportable("plugins/admission/mod.ts")).toEqual([]);
    // The check can fail: for node: modules, for packages, and for globals.
    expect(unportable("mod.ts").join("\n")).toContain("node:");
    expect(unportable("plugins/admission/plugin.ts")).toContain(
      'plugins/admission/settings.ts: imports "zod", which edge runtimes need not have',
    );
    expect(unportable("core/http/bun.ts").join("\n")).toContain("uses process");
  });

  test("runs where there are only web APIs", async () => {
    const printed = Promise.withResolvers<string>();
    const globals = Object.fromEntries(webApis.map((name) => [name, Reflect.get(globalThis, name)]));
    const context = createContext({ ...globals, console: { log: printed.resolve } });
    new Script(await readFile(bundle, "utf8")).runInContext(context);
    expect(JSON.parse(await printed.promise)).toEqual(expected);
  });

  test("runs on Deno without any permission", async () => {
    const args = ["run", "--no-prompt", "--no-config", "--no-remote", bundle];
    const { stdout } = await run(join(top, "node_modules/.bin/deno"), args, { cwd: folder });
    expect(JSON.parse(stdout)).toEqual(expected);
  });

  test("runs in Node", async () => {
    const { stdout } = await run("node", [bundle]);
    expect(JSON.parse(stdout)).toEqual(expected);
  });
});

test("the example serves on this runtime's own server", async () => {
  const served = serveFetch((request) => worker.fetch(request));
  try {
    expect(await (await fetch(`${served.url}/report`)).text()).toMatch(/^line 1\n[^]*line 10\n$/);
    expect((await fetch(`${served.url}/else`)).status).toBe(404);
    expect(await (await fetch(`${served.url}/health`)).json()).toEqual({ running: 0, waiting: 0 });
  } finally {
    await served.stop();
  }
});
