import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { configure } from "../../cli/prepare.ts";
import type { AnyPlugin, PluginHooks } from "../../core/plugin.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../core/server.ts";
import { adminTable, logTable, serverTable } from "../../core/settings.ts";
import { anything } from "../../core/standard_schema.ts";
import * as z from "zod";
import { ask } from "../support/raw_http.ts";
import { waitFor } from "../support/wait.ts";

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

describe("options from code", () => {
  test("are the tables of the file, with its defaults, checked by the same rules", async () => {
    const extra: AnyPlugin = { ...plugin({}, "geo"), config: z.strictObject({ most: z.int().default(3) }) };
    const made = await configure({ server: { listen: ["127.0.0.1:0"], max_body: "1KB" } }, { plugins: [extra] });
    expect([made.server.max_body, made.server.timeout, made.baseDir]).toEqual([1024, 60_000, process.cwd()]);
    expect(made.config["geo"]).toEqual({ most: 3 });
    const named = await configure({ plugins: { geo: { most: 4 } } }, { plugins: [extra], baseDir: dir });
    expect([named.config["geo"], named.baseDir]).toEqual([{ most: 4 }, dir]);
  });

  test("a limit of no time is refused", async () => {
    const error = await configure({ server: { timeout: "0ms", keep_alive: 0, drain: 0 } }).catch((e) => e);
    expect(error.message).toContain("2 problems");
    expect(error.message).toContain('server.timeout: expected a duration above 0, such as "30s", got "0ms"');
  });

  test("what is wrong is told by key, and a name that is taken is refused", async () => {
    const wrong = await configure({ server: { max_boby: "1KB" } }).catch((e) => e);
    expect(wrong.message).toContain('server.max_boby: unknown key; did you mean "max_body"?');
    const taken = await configure({}, { plugins: [plugin({}, "server")] }).catch((e) => e);
    expect([taken.code, taken.message]).toEqual([
      "CONFIG_INVALID",
      "plugins.server: Fairlead has a table of that name; use another",
    ]);
  });
});

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
    await waitFor(() => server.app.inFlight === 1, { what: "the request to be there", every: 1 });
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

  test("the admin listener is for no web page: not by a name of its own, and not to change something", async () => {
    let runs = 0;
    const server = await startServer(options([plugin({
      onAdmin: (app) => void app.post("/act", (c) => c.text(`${++runs}`)),
    })]));
    const port = server.admin?.kind === "tcp" ? server.admin.port : 0;
    const sent = async (line: string, ...headers: readonly string[]) =>
      (await ask(port, [`${line} HTTP/1.1`, ...headers, "Content-Length: 0", "", ""].join("\r\n")))?.status;
    expect([
      await sent("GET /livez", `Host: localhost:${port}`),
      await sent("GET /livez", `Host: evil.example:${port}`),
      await sent("POST /act", `Host: evil.example:${port}`),
      await sent("POST /act", `Host: 127.0.0.1:${port}`, "Origin: http://evil.example"),
      runs,
      await sent("POST /act", `Host: 127.0.0.1:${port}`),
    ]).toEqual([200, 421, 421, 403, 0, 200]);
    await server.stop();
  });

  test("routes are found without a Host, as HTTP/1.0 may come", async () => {
    const server = await startServer(options([plugin({
      onRoutes: (app) => void app.get("/there", (c) => c.text("there")),
      onAdmin: (app) => void app.get("/there", (c) => c.text("admin")),
    })]));
    for (const [at, text] of [[server.addresses[0], "there"], [server.admin, "admin"]] as const) {
      const answer = await ask(at?.kind === "tcp" ? at.port : 0, "GET /there HTTP/1.0\r\n\r\n");
      expect([answer?.status, answer?.text()]).toEqual([200, text]);
    }
    await server.stop();
  });

  test("routes are found by whatever host is valid, though no URL can have it", async () => {
    const server = await startServer(options([plugin({
      onRoutes: (app) => void app.get("/a b", (c) => c.text("there")),
      onAdmin: (app) => void app.get("/a b", (c) => c.text("admin")),
    })]));
    const text = async (at: RunningServer["admin"], host: string) =>
      (await ask(at?.kind === "tcp" ? at.port : 0, `GET /a%20b HTTP/1.1\r\nHost: ${host}\r\n\r\n`))?.text();
    for (const host of ["1.2.3.999", "[::1.2]", "xn--a", "a.0x"]) {
      expect([host, await text(server.addresses[0], host)]).toEqual([host, "there"]);
    }
    expect(await text(server.admin, "[1.2.3.4]")).toBe("admin");
    await server.stop();
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
