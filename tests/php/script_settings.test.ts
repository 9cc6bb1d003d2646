import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../../core/app.ts";
import { Health } from "../../core/contracts/health.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { Site } from "../../core/contracts/site.ts";
import { HealthBoard } from "../../core/health.ts";
import type { AnyPlugin } from "../../core/plugin.ts";
import { anything } from "../../core/standard_schema.ts";
import { phpTable } from "../../plugins/php/config.ts";
import php from "../../plugins/php/plugin.ts";
import { TestExchange } from "../support/exchange.ts";
import { allowSlowTests } from "../support/wait.ts";
import { type Fpm, startFpm } from "./fastcgi/fpm.ts";

allowSlowTests(30_000);

/** Says what a script finds of the variables and settings. */
const probe = `<?php
$names = ["DB_HOST", "DB_PASSWORD", "OWN_NAME", "CITY", "NOT_SET", "SERVER_SOFTWARE"];
$env = [];
foreach ($names as $name) $env[$name] = [getenv($name), $_SERVER[$name] ?? null];
$ini = array_map(fn ($name) => ini_get($name), ["mysqli.default_socket", "pdo_mysql.default_socket"]);
function asked(callable $connect): string {
  try { $connect(); return "connected"; } catch (Throwable $error) { return $error->getMessage(); }
}
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
echo json_encode([
  "env" => $env,
  "ini" => $ini,
  "mysqli" => asked(fn () => mysqli_connect("localhost", "a", "b")),
  "pdo" => asked(fn () => new PDO("mysql:host=localhost", "a", "b")),
]);
`;

let dir: string, socket: string, listener: Server;
/** A server that refuses everybody with a text of its own, as a database does before its greeting. */
const refusal = "This is the proxy";

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "fairlead-told-"));
  chmodSync(dir, 0o755);
  writeFileSync(join(dir, "index.php"), probe);
  socket = join(dir, "mysql.sock");
  const text = new TextEncoder().encode(refusal);
  const packet = Uint8Array.of(text.length + 3, 0, 0, 0, 0xff, 0x10, 0x04, ...text);
  listener = createServer((client) => {
    client.on("error", () => {});
    client.end(packet);
  });
  await new Promise<void>((resolve) => listener.listen(socket, resolve));
  chmodSync(socket, 0o777);
});

afterAll(async () => {
  await new Promise((resolve) => listener.close(resolve));
  rmSync(dir, { recursive: true });
});

/** A plugin that comes after `php`, and knows what to tell only when it listens. */
const teller: AnyPlugin = {
  name: "teller",
  api: 1,
  config: anything,
  wants: [ScriptSettings],
  setup: (ctx) => ({
    onListen: {
      order: "pre",
      handler: () => {
        const settings = ctx.find(ScriptSettings)!;
        settings.add("teller", { env: { DB_HOST: "localhost", DB_PASSWORD: "" } });
        settings.add("teller", { env: { OWN_NAME: "not this" } });
        settings.add("teller", { env: { CITY: "Zürich $HOME '\"" } });
        for (const name of ["mysqli.default_socket", "pdo_mysql.default_socket"]) {
          settings.add("teller", { ini: { [name]: socket } });
        }
      },
    },
  }),
};

/** What the probe prints. */
interface Found {
  readonly env: Record<string, unknown>;
  readonly ini: readonly unknown[];
  readonly mysqli?: string;
  readonly pdo?: string;
}

/** What a script finds when PHP is configured so. */
async function found(settings: Record<string, unknown>): Promise<Found> {
  const site: Site = {
    baseDir: dir,
    virtualHosts: new VirtualHosts(dir, {}, "/").all,
    timeoutMs: 20_000,
    maxBody: 1_000_000,
    software: "Fairlead/test",
  };
  const app = await createApp({
    plugins: [php, teller],
    config: { php: phpTable.parse({ concurrency: 1, env: { OWN_NAME: "mine" }, ...settings }) },
    baseDir: dir,
    log() {},
    offers: [[Health, new HealthBoard()], [Site, site]],
  });
  try {
    await app.listen();
    const response = await app.handle(new TestExchange("/index.php"));
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining("{")]);
    return JSON.parse(text) as Found;
  } finally {
    await app.close();
  }
}

const env = {
  DB_HOST: ["localhost", "localhost"],
  DB_PASSWORD: ["", ""],
  OWN_NAME: ["mine", "mine"],
  CITY: ["Zürich $HOME '\"", "Zürich $HOME '\""],
  NOT_SET: [false, null],
};

describe("what plugins tell scripts", () => {
  test("is in the environment and php.ini of our own php-fpm, below what the user set", async () => {
    const { env: seen, ini, mysqli, pdo } = await found({ ini: { "memory_limit": "64M" } });
    expect(seen).toMatchObject(env);
    expect(ini).toEqual([socket, socket]);
    expect(mysqli).toContain(refusal);
    expect(pdo).toContain(refusal);
  });

  test("gives way to the user's php.ini", async () => {
    const { ini } = await found({ ini: { "mysqli.default_socket": "/own.sock" } });
    expect(ini).toEqual(["/own.sock", socket]);
  });

  describe("with a php-fpm of somebody else", () => {
    let fpm: Fpm;
    beforeAll(async () => fpm = await startFpm(1));
    afterAll(() => fpm.stop());

    test("comes with each request, and cannot take the place of a real variable", async () => {
      writeFileSync(
        join(dir, "index.php"),
        probe.replace(/^mysqli_report.*$/m, "").replace(/^ {2}"(mysqli|pdo)".*$/gm, ""),
      );
      const { env: seen, ini } = await found({
        fastcgi: `unix:${join(fpm.dir, "fpm.sock")}`,
        env: { OWN_NAME: "mine", SERVER_SOFTWARE: "forged" },
      });
      expect(seen).toMatchObject({ ...env, SERVER_SOFTWARE: ["Fairlead/test", "Fairlead/test"] });
      expect(ini).not.toEqual([socket, socket]);
    });
  });
});
