import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp } from "../../core/app.ts";
import { Health } from "../../core/contracts/health.ts";
import { Site } from "../../core/contracts/site.ts";
import { HealthBoard } from "../../core/health.ts";
import { VirtualHosts } from "../../core/http/virtual_hosts.ts";
import type { AnyPlugin } from "../../core/plugin.ts";
import { anything } from "../../core/standard_schema.ts";
import { phpTable } from "../../plugins/php/config.ts";
import php from "../../plugins/php/plugin.ts";
import { TestExchange } from "../support/exchange.ts";

/** Turns everyone away, as a gate does whose line is full. */
const shut: AnyPlugin = {
  name: "shut",
  api: 1,
  config: anything,
  setup: () => ({ onAdmit: () => new Response(null, { status: 503 }) }),
};

/** Descriptors of this process that lead to spooled bodies. */
function spooledBodies(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return /\/body-[^/]*$/.test(readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, ""));
    } catch {
      return false;
    }
  }).length;
}

describe("the php plugin in front of a gate that is shut", () => {
  let app: App, publicRoot: string;

  beforeAll(async () => {
    publicRoot = mkdtempSync(join(tmpdir(), "fairlead-php-plugin-"));
    writeFileSync(join(publicRoot, "index.php"), "<?php");
    const virtualHosts = new VirtualHosts(publicRoot, {}, "/").all;
    const limits = { timeoutMs: 60_000, maxBody: 1_000_000 };
    const site: Site = { baseDir: publicRoot, virtualHosts, ...limits, software: "Fairlead" };
    app = await createApp({
      plugins: [php, shut],
      config: { php: phpTable.parse({ fastcgi: `unix:${publicRoot}/none.sock`, concurrency: 1 }) },
      baseDir: publicRoot,
      log() {},
      offers: [[Health, new HealthBoard()], [Site, site]],
    });
    await app.listen();
  });

  afterAll(async () => {
    await app.close();
    rmSync(publicRoot, { recursive: true });
  });

  test("a request that is turned away after its body was spooled leaves no file open", async () => {
    const before = spooledBodies();
    for (let i = 0; i < 3; i++) {
      const x = new TestExchange("/index.php", { method: "POST", body: "b".repeat(300_000) });
      expect((await app.handle(x)).status).toBe(503);
    }
    // Closing takes a turn or two of the event loop.
    for (let turn = 0; turn < 100 && spooledBodies() > before; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(spooledBodies()).toBe(before);
  });
});

test("a worker script of [php] is for the hosts that no entry of server.hosts names", async () => {
  const virtualHosts = new VirtualHosts("/none", {
    "shop.example": { public: "/none" },
    "blog.example": { public: "/none" },
  }, "/");
  const site: Site = {
    baseDir: "/none",
    virtualHosts: virtualHosts.all,
    timeoutMs: 60_000,
    maxBody: 1000,
    software: "Fairlead",
  };
  const logged: string[] = [];
  const pools = { blog: { match: { host: ["blog.example"] }, script: "b.php", timeout: "2s" } };
  const app = await createApp({
    plugins: [php],
    config: { php: phpTable.parse({ script: "w.php", timeout: "1s", pools }) },
    baseDir: "/none",
    log: (level, message) => void logged.push(`${level} ${message}`),
    offers: [[Health, new HealthBoard()], [Site, site]],
  });
  /** The time limit tells which pool took it. */
  const taken = async (host: string) => {
    const x = new TestExchange("/", { headers: { host }, intake: { virtualHosts } });
    await app.handle(x);
    return Math.round(x.deadline - x.started);
  };
  expect([await taken("shop.example"), await taken("blog.example"), await taken("other.example")])
    .toEqual([60_000, 2000, 1000]);
  expect(logged.filter((line) => line.startsWith("info"))).toEqual([
    'info no PHP for shop.example: php.script is for server.public; a pool with match.host = ["shop.example"] would give it some',
  ]);
  await app.close();
});
