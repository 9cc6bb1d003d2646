import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AnyPlugin, PluginHooks } from "../../core/plugin.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../core/server.ts";
import { adminTable, logTable, serverTable } from "../../core/settings.ts";
import { anything } from "../../core/standard_schema.ts";
import * as z from "zod";

const dir = mkdtempSync(join(tmpdir(), "fairlead-server-"));
afterAll(() => rmSync(dir, { recursive: true }));

const plugin = (hooks: PluginHooks, name = "p"): AnyPlugin => ({ name, api: 1, config: anything, setup: () => hooks });

function options(plugins: readonly AnyPlugin[], server: Record<string, unknown> = {}): ServerOptions {
  return {
    server: z.parse(serverTable, { listen: ["127.0.0.1:0"], drain: "5s", ...server }),
    admin: z.parse(adminTable, { listen: "127.0.0.1:0" }),
    log: z.parse(logTable, { level: "error", access: "off" }),
    plugins,
    config: {},
    baseDir: dir,
    configHash: "",
  };
}

function adminUrl(server: RunningServer): string {
  if (server.admin?.kind !== "tcp") throw new Error("expected an admin address");
  return `http://127.0.0.1:${server.admin.port}`;
}

describe("a server from code", () => {
  test("stopping twice is one end", async () => {
    let closed = 0;
    const server = await startServer(options([plugin({ onClose: () => void closed++ })]));
    const [first, second] = await Promise.all([server.stop(), server.stop()]);
    expect([first, second, await server.stop()]).toEqual([[], [], []]);
    expect(closed).toBe(1);
  });

  test("a second stop may end the patience of the first", async () => {
    const answer = Promise.withResolvers<Response>();
    const server = await startServer(options([plugin({ onRequest: () => answer.promise })], { drain: "1h" }));
    const [at] = server.addresses;
    const asked = fetch(`http://127.0.0.1:${at?.kind === "tcp" ? at.port : 0}/`).catch(() => undefined);
    while (server.app.inFlight === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    const first = server.stop();
    await server.stop(AbortSignal.abort());
    expect((await first).map((e) => e.code)).toEqual(["DRAIN_TIMEOUT"]);
    answer.resolve(new Response());
    await asked;
  });

  test("a setting that cannot be read closes what plugins have set up", async () => {
    let closed = 0;
    const made = options([plugin({ onClose: () => void closed++ })]);
    const broken = { ...made, server: { ...made.server, listen: ["nowhere"] } };
    const error = await startServer(broken).catch((e) => e);
    expect([error.code, closed]).toEqual(["CONFIG_INVALID", 1]);
  });

  test("the admin listener answers a route that throws with 500, and nothing with 404", async () => {
    const server = await startServer(options([plugin({
      onAdmin: (app) =>
        void app.get("/broken", () => {
          throw new Error("broken");
        }),
    })]));
    const statuses = [];
    for (const path of ["/livez", "/readyz", "/broken", "/none"]) {
      const response = await fetch(adminUrl(server) + path);
      statuses.push(response.status);
      expect(await response.text()).not.toContain("broken");
    }
    expect(statuses).toEqual([200, 200, 500, 404]);
    await server.stop();
  });
});
