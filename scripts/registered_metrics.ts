import { tmpdir } from "node:os";
import { configure } from "../cli/prepare.ts";
import { createApp } from "../core/app.ts";
import { Health } from "../core/contracts/health.ts";
import { Meter } from "../core/contracts/meter.ts";
import { Reloads } from "../core/contracts/reloads.ts";
import { Site } from "../core/contracts/site.ts";
import { HealthBoard } from "../core/health.ts";
import { VirtualHosts } from "../core/http/virtual_hosts.ts";
import { type AnyPlugin, definePlugin } from "../core/plugin.ts";
import { ReloadBoard } from "../core/reload_board.ts";
import { anything } from "../core/standard_schema.ts";
import type { Registry } from "../plugins/metrics/registry.ts";

/** A server with everything in it that has metrics; the rest is as it is when nothing is said. */
const tables = {
  compress: { enabled: true },
  site: { access: [{ match: "/**", allow: ["all"] }], redirects: [{ from: "/old", to: "/new" }] },
  db: { mysql: { url: "mysql://app@127.0.0.1/app", listen: "127.0.0.1:3306" } },
};

/**
 * Every metric there can be: the registry once all built-in plugins have been set up. Nothing listens, and no PHP and no database
 * is needed.
 */
export async function registeredMetrics(): Promise<Registry> {
  const { plugins, config } = await configure(tables, { baseDir: tmpdir() });
  const found = Promise.withResolvers<Registry>();
  const reader = definePlugin({
    name: "docs",
    api: 1,
    config: anything,
    needs: [Meter],
    setup: (ctx) => found.resolve(ctx.use(Meter) as Registry),
  });
  const site: Site = {
    baseDir: tmpdir(),
    virtualHosts: new VirtualHosts(tmpdir(), {}, "/").all,
    timeoutMs: 60_000,
    maxBody: 10_000_000,
    software: "Fairlead",
  };
  const app = await createApp({
    plugins: [...plugins, reader as AnyPlugin],
    config,
    baseDir: tmpdir(),
    log() {},
    offers: [[Health, new HealthBoard()], [Reloads, new ReloadBoard(() => {})], [Site, site]],
  });
  await app.close();
  return await found.promise;
}
