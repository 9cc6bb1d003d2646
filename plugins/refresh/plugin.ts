/** Browsers load a page again when what it was made of changes. For development. @module */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { systemClock } from "../../core/clock.ts";
import { Peers } from "../../core/contracts/peers.ts";
import { Reloads } from "../../core/contracts/reloads.ts";
import { ScriptSettings } from "../../core/contracts/script_settings.ts";
import { Site } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { thenable } from "../../core/hooks.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { type FolderWatch, watchFolders } from "../../core/watch/watch_folders.ts";
import { append } from "./append.ts";
import { Audience } from "./audience.ts";
import { Changes } from "./changes.ts";
import { client } from "./client.ts";
import { Herald } from "./herald.ts";
import { isNear } from "./near.ts";
import { asksForPage, eventsPath, isPage, scriptPath, scriptTag } from "./pages.ts";

const config = z.strictObject({
  enabled: z.boolean().default(false)
    .describe("For development: browsers load pages again when files change, and when workers have taken new code."),
  watch: z.array(z.string()).default([]).describe(
    'What to watch beside the public root, such as ["templates/**", "src/**/*.php"], relative to this file. What [php] watches ' +
      "need not be named.",
  ),
  anyone: z.boolean().default(false)
    .describe("Also for clients that are neither on this machine nor in a private network."),
});

/** What pages are made of. Applications write other files into the public root, too. */
const shown = "**/*.{html,htm,css,js,mjs,wasm,php,phtml,twig,latte,svg,png,jpg,jpeg,gif,webp,avif,ico,woff2}";
/** Folders that applications fill. */
const filled = ["cache", "uploads"];
const mostBrowsers = 64;

export default definePlugin({
  name: "refresh",
  api: 1,
  config,
  needs: [Site, Reloads],
  wants: [Peers, ScriptSettings],
  setup(ctx) {
    const { enabled, watch, anyone } = ctx.config;
    if (!enabled) return;
    const { virtualHosts, baseDir } = ctx.use(Site);
    const roots = [...new Set(virtualHosts.map(({ publicRoot }) => publicRoot).filter((root) => root !== undefined))];
    const reloads = ctx.use(Reloads);
    const peers = ctx.find(Peers);
    // Else php-fpm shows what it compiled up to 2 s before.
    ctx.find(ScriptSettings)?.add(ctx.name, {
      ini: { "opcache.validate_timestamps": true, "opcache.revalidate_freq": 0 },
    });

    const changes = new Changes(randomUUID());
    const audience = new Audience(mostBrowsers, systemClock);
    const herald = new Herald({
      reloads,
      roots,
      clock: systemClock,
      tell(change) {
        ctx.log("info", `browsers are told: ${change.kind}`, { browsers: audience.size });
        audience.tell(changes.add(change));
      },
    });
    reloads.onReloaded((result) => herald.reloaded(result));
    let watched: readonly FolderWatch[] = [];

    const serves = (x: Exchange) => anyone || isNear(x, (address) => peers?.trusts(address) ?? false);
    const own = (x: Exchange): Response | undefined => {
      if (x.method !== "GET" || (x.path !== scriptPath && x.path !== eventsPath)) return undefined;
      x.handler = ctx.name;
      if (x.path === eventsPath) return events(x, audience, changes);
      return new Response(client, { headers: { ...plainly, "content-type": "text/javascript; charset=utf-8" } });
    };

    return {
      onListen() {
        const each = {
          ignore: filled,
          onChange: (paths: readonly string[]) => herald.filesChanged(paths),
          onNotice: (text: string) => ctx.log("warn", text),
        };
        watched = [
          ...roots.map((root) => watchFolders({ ...each, root, patterns: [shown] })),
          ...(watch.length === 0 ? [] : [watchFolders({ ...each, root: baseDir, patterns: watch })]),
        ];
        ctx.log("warn", "for development: pages get a script that loads them again when files change", {
          files: watched.reduce((sum, { files }) => sum + files, 0),
          for: anyone ? "anyone" : "this machine and private networks",
        });
      },

      onRequest: {
        order: "pre",
        handler(x, next) {
          if (!serves(x)) return next();
          const response = own(x);
          if (response !== undefined) return response;
          const page = asksForPage(x);
          // The browser may know the page from before, without the script.
          if (page) { for (const name of ["if-none-match", "if-modified-since"]) x.headers.delete(name); }
          const { at } = changes;
          const send = (response: Response) => page && isPage(response) ? withScript(x, response, at) : fresh(response);
          const answer = next();
          return thenable(answer) ? (answer as Promise<Response>).then(send) : send(answer as Response);
        },
      },

      onDrain: () => audience.close(),

      onClose() {
        for (const each of watched) each.close();
        herald.close();
        audience.close();
      },
    };
  },
}) as AnyPlugin;

const plainly = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function events(x: Exchange, audience: Audience, changes: Changes): Response {
  const { headers } = x;
  // No other site shall learn what is worked on here.
  const from = headers.get("sec-fetch-site");
  if (headers.has("origin") || (from !== null && from !== "same-origin" && from !== "none")) {
    return new Response("403 Forbidden\n", { status: 403, headers: { ...plainly, "content-type": "text/plain" } });
  }
  const at = new URLSearchParams(x.query).get("at") ?? changes.at;
  const stream = audience.join(changes.since(at), (left) => x.onGone(left));
  if (stream === undefined) {
    const headers = { ...plainly, "content-type": "text/plain", "retry-after": "5" };
    return new Response("503 Service Unavailable\n", { status: 503, headers });
  }
  // It counts as answered when the head has gone, so that nothing waits for it; and its connection ends with it.
  const head = { "content-type": "text/event-stream", "x-accel-buffering": "no", connection: "close" };
  return new Response(stream, { headers: { ...plainly, ...head } });
}

function withScript(x: Exchange, response: Response, at: string): Response {
  const text = new TextEncoder();
  const tag = scriptTag(at, response.headers.get("content-security-policy"));
  // Else the browser would tell of an empty answer, by a page that cannot be loaded again by us.
  const alone = response.status < 400 ? "" : `<p>${response.status}, and no page: the log may say why</p>`;
  return append(x, response, text.encode(tag), text.encode(alone + tag));
}

/** Without a word on it, browsers show what they have for a time that they guess. */
function fresh(response: Response): Response {
  const { headers } = response;
  if (headers.has("cache-control") || !(headers.has("etag") || headers.has("last-modified"))) return response;
  try {
    headers.set("cache-control", "no-cache");
  } catch {
    // Those of a response that was fetched cannot be changed; its sender has said all.
  }
  return response;
}
