/** Files of the public roots, sent without PHP. @module */
import { ClosedPaths } from "../../core/contracts/closed_paths.ts";
import { Site } from "../../core/contracts/site.ts";
import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { settingsFor, staticTable } from "./config.ts";
import { denial } from "./deny.ts";
import { type HostFiles, hostFiles, MAX_WARNINGS, tableOf } from "./host_files.ts";
import { deniedFolders } from "./htaccess.ts";
import type { InternalFiles } from "./internal.ts";
import { nestedRoots } from "./nested_roots.ts";
import { notFound } from "./refusals.ts";

/** What Apache would keep to itself, and how to have the same here. */
function openFolders(table: string, patterns: readonly string[]): string {
  const shown = patterns.slice(0, MAX_WARNINGS).map((one) => JSON.stringify(one)).join(", ");
  const more = patterns.length > MAX_WARNINGS ? `, and ${patterns.length - MAX_WARNINGS} more` : "";
  return "Open to everybody: folders whose .htaccess denies all, which only Apache reads; close them by " +
    `${table}.deny = [${shown}]${more}`;
}

/** Tells how long a body is that is not streamed. */
function counted(x: Exchange, response: Response): Response {
  if (x.sent === undefined) x.bytes = x.method === "HEAD" ? 0 : Number(response.headers.get("content-length"));
  return response;
}

/** The file that the application's answer names, or else the answer. */
function sent(internal: InternalFiles, x: Exchange, given: Response): Response {
  if (!given.headers.has("x-accel-redirect") && !given.headers.has("x-sendfile")) return given;
  const said = new Headers(given.headers);
  // These are added to whatever goes out.
  for (const [name] of x.extra) said.delete(name);
  given.body?.cancel().catch(() => {});
  // It fails by that, and nobody else looks at it any more.
  x.sent?.catch(() => {});
  x.sent = undefined;
  x.bytes = -1;
  return counted(x, internal.answer(x, said, x)!);
}

export default definePlugin({
  name: "static",
  api: 1,
  config: staticTable,
  needs: [Site],
  provides: [ClosedPaths],
  setup(ctx) {
    const { config, baseDir, log } = ctx;
    const { virtualHosts } = ctx.use(Site);
    const unknown = Object.keys(config.hosts).find((key) =>
      virtualHosts.every(({ name }) => name !== key.toLowerCase())
    );
    if (unknown !== undefined) {
      const names = virtualHosts.slice(1).map(({ name }) => JSON.stringify(name)).join(", ") || "none";
      const text = `static.hosts.${
        JSON.stringify(unknown)
      }: expected a key of server.hosts, of which there are: ${names}`;
      throw new CoreError("CONFIG_STATIC", text);
    }
    const settings = virtualHosts.map(({ index, name }) => index === 0 ? config : settingsFor(name, config));
    const denied = settings.map(({ deny }) => denial(deny));
    const closed: ClosedPaths["has"] = (path, host) => denied[host.index]!(path);
    ctx.provide(ClosedPaths, { has: closed });
    const sites = virtualHosts.map((host) => hostFiles(host, settings[host.index]!, baseDir, log));
    const served = sites.filter((site) => site !== undefined);
    if (served.length === 0) return;
    // Without server.hosts there is nothing to choose.
    const only = sites.length === 1 ? sites[0] : undefined;

    const lookAround = async ({ host, folder }: HostFiles) => {
      const found = await deniedFolders(folder);
      const open = found.map((one) => one === "/" ? "/**" : `${one}/**`).filter((one) => !closed(one, host));
      if (open.length > 0) log("warn", openFolders(tableOf(host), open));
    };
    return {
      onListen() {
        for (const { inner, outer, path } of nestedRoots(virtualHosts, closed)) {
          const text =
            `${inner.key} is within ${outer.key}, whose hosts serve its files, too; move it, or close it there by ` +
            `${tableOf(outer)}.deny = [${JSON.stringify(`${path}/**`)}]`;
          log("warn", text);
        }
        // The start does not wait for it.
        for (const site of served) void lookAround(site);
      },
      onRequest(x, next) {
        const site = only ?? sites[x.virtualHost.index];
        if (site === undefined) return next();
        const { files, internal } = site;
        const response = internal?.has(x.path) ? notFound(x.method) : files.serve(x, x);
        if (response !== undefined) {
          x.handler = "static";
          return counted(x, response);
        }
        if (internal === undefined) return next();
        const answered = next();
        return answered instanceof Promise
          ? answered.then((one) => sent(internal, x, one))
          : sent(internal, x, answered);
      },
    };
  },
}) as AnyPlugin;
