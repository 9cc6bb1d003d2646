import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { adminAddress, askAdmin } from "../../../cli/admin_client.ts";
import { drawDatabase, type Pool, type Queries, short, time } from "../../../cli/db_table.ts";
import { configure } from "../../../cli/prepare.ts";
import { showAddress } from "../../../core/http/address.ts";
import { type AnyPlugin, definePlugin } from "../../../core/plugin.ts";
import { type RunningServer, startServer } from "../../../core/server.ts";
import { anything } from "../../../core/standard_schema.ts";
import { adminRoutes } from "../../../plugins/dbproxy/admin_routes.ts";
import { commandOf, hosts } from "../../support/server.ts";
import { allowSlowTests } from "../../support/wait.ts";
import { fakeReport } from "./fake_report.ts";

allowSlowTests(60_000);

const fakeDb: AnyPlugin = definePlugin({
  name: "fake-db",
  api: 1,
  config: anything,
  setup: () => ({ onAdmin: (app) => adminRoutes(app, fakeReport("shop", "blog")) }),
}) as AnyPlugin;

async function start(admin: string): Promise<RunningServer> {
  const log = { level: "error", access: "off" };
  return await startServer(
    await configure({ server: { listen: ["127.0.0.1:0"] }, admin: { listen: admin }, log }, { plugins: [fakeDb] }),
  );
}

/** The command line, as a process, beside the server in this one. */
function fairlead(args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const host = hosts()[0] ?? "bun";
  const [program, ...first] = commandOf(host === "nginx" || host === "careless" ? "bun" : host);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_")));
  return new Promise((resolve) => {
    const child = spawn(program!, [...first, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (text) => out += text);
    child.stderr.on("data", (text) => err += text);
    child.once("close", (code) => resolve({ code, out, err }));
  });
}

describe("fairlead db top", () => {
  let dir: string, server: RunningServer, admin: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "fairlead-top-"));
    server = await start("127.0.0.1:0");
    admin = showAddress(server.admin!);
  });

  afterAll(async () => {
    await server.stop();
    rmSync(dir, { recursive: true });
  });

  test("prints pools and top statements once when piped", async () => {
    const { code, out, err } = await fairlead(["db", "top", "--admin", `http://${admin}`, "--by", "count"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("shop: db.internal:3306 (8.4.2) is up\n");
    expect(out).toContain("  clients      0 connecting, 5 idle, 3 waiting, 12 active, the first in line for 250ms\n");
    expect(out).toContain("  connections  16 of 20: 1 connecting, 2 idle, 12 used, 1 resetting\n");
    expect(out.match(/SELECT d\d/g)?.slice(0, 3)).toEqual(["SELECT d2", "SELECT d1", "SELECT d0"]);
    expect(out).toContain("blog: SELECT d2");
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });

  test("finds the admin listener in the configuration", async () => {
    const file = join(dir, "fairlead.toml");
    writeFileSync(file, `[admin]\nlisten = "${admin}"\n`);
    const { code, out } = await fairlead(["db", "top", "-c", file, "--db", "blog", "--limit", "1"]);
    expect([code, out.match(/SELECT/g)?.length]).toEqual([0, 1]);
    expect(out).not.toContain("shop");
    writeFileSync(file, '[admin]\nlisten = ""\n');
    const off = await fairlead(["db", "top", "-c", file]);
    expect([off.code, off.err]).toEqual([
      1,
      "fairlead: The configuration switches the admin listener off; expected an address in admin.listen [ADMIN_OFF]\n",
    ]);
  });

  test("says what is wrong", async () => {
    const refused = await fairlead(["db", "top", "--admin", admin, "--by", "cost"]);
    expect([refused.code, refused.err]).toEqual([
      1,
      `fairlead: The server at ${admin} refused: expected by to be one of time, count, errors, rows, mean, max [ADMIN_REFUSED]\n`,
    ]);
    const usage = await fairlead(["db", "tpo"]);
    expect([usage.code, usage.err]).toEqual([2, expect.stringContaining("expected top [-c FILE | --admin ADDRESS]")]);
    const nobody = await fairlead(["db", "top", "--admin", `unix:${dir}/none.sock`]);
    expect([nobody.code, nobody.err]).toEqual([
      1,
      `fairlead: Cannot ask the server at unix:${dir}/none.sock: nothing listens there [ADMIN_UNREACHABLE]\n`,
    ]);
  });

  test("asks an admin listener on a unix socket too", async () => {
    const other = await start(`unix:${dir}/admin.sock`);
    try {
      const answer = await askAdmin(adminAddress(`unix:${dir}/admin.sock`), "/-/db/pool?db=shop");
      expect(answer).toMatchObject({ databases: [{ name: "shop" }] });
    } finally {
      await other.stop();
    }
  });
});

describe("the table of a database", () => {
  const row = { text: "SELECT ?", schema: "", count: 1, errors: 0, rows: 0, time: 0, mean: 0, p95: 0, max: 0 };
  const pool: Pool = {
    name: "shop",
    server: "db:3306",
    up: false,
    limit: 20,
    clients: { idle: 1 },
    backends: { idle: 2 },
    oldest_wait_ms: 0,
  };
  const queries: Queries = { name: "shop", since: "then", digests: 1, total: { ...row, count: 1500 }, queries: [row] };

  test("fits the width, and says how fast it goes", () => {
    const lines = drawDatabase({ pool, queries, perSecond: 12.34 }, 40);
    expect(lines.slice(0, 4)).toEqual([
      "shop: db:3306 is DOWN",
      "  clients      1 idle",
      "  connections  2 of 20: 2 idle",
      "  statements   1.50k, 12.3 a second, 0 …",
    ]);
    expect(lines.every((line) => [...line].length <= 40)).toBe(true);
  });

  test("lets no statement command the terminal", () => {
    const text = "SELECT `\x1b[2J\x07\u009b31m`\nFROM t";
    const lines = drawDatabase({ pool, queries: { ...queries, queries: [{ ...row, text }] } }, 200);
    expect(lines.at(-1)).toContain("SELECT ` [2J 31m` FROM t");
  });

  test("shortens numbers and times", () => {
    expect([0, 7, 999, 1000, 1234, 99_950, 999_499, 999_500, 1.5e9, 2e12].map(short)).toEqual([
      "0",
      "7",
      "999",
      "1.00k",
      "1.23k",
      "100k",
      "999k",
      "1.00M",
      "1.50G",
      "2.00T",
    ]);
    expect([0, 0.0125, 0.85, 1.25, 85.4, 999, 3400, 99_949, 120_000, 5.4e6, 1.8e7].map(time)).toEqual([
      "0",
      "12.5us",
      "850us",
      "1.25ms",
      "85.4ms",
      "999ms",
      "3.40s",
      "99.9s",
      "2m",
      "90m",
      "5.00h",
    ]);
  });
});
