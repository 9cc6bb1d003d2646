/** Files of the public root, sent without PHP. @module */
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { ClosedPaths } from "../../core/contracts/closed_paths.ts";
import { Site } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { denial } from "./deny.ts";
import { deniedFolders } from "./htaccess.ts";
import { StaticFiles } from "./files.ts";
import { InternalFiles } from "./internal.ts";
import { notFound } from "./refusals.ts";

const pattern = z.string().regex(/^\//, "must start with /, like /build/**");
const fileName = z.string().regex(/^[^./\\][^/\\]*$/, "must be the name of a file, like index.html");

const config = z.strictObject({
  index: z.array(fileName).default(["index.php", "index.html"])
    .describe("What stands for a folder: the first that exists. One that ends in .php leaves the folder to PHP"),
  cache: z.array(z.strictObject({
    match: pattern.describe("Paths: * within a segment, ** across segments"),
    value: z.string().regex(/^[\x20-\x7e]+$/, "must be a header value").describe("The value of Cache-Control"),
  })).default([]).describe("Cache-Control by path; the first match counts, and none is sent when nothing matches"),
  precompressed: z.boolean().default(true)
    .describe("Send app.js.br, app.js.zst or app.js.gz in the place of app.js to clients that take it"),
  deny: z.array(pattern).default([])
    .describe('Paths that nobody gets, be it a file or a script, such as ["/data/**", "/vendor/**"] (403)'),
  internal: z.record(
    z.string().regex(/^\/(?:.+\/)$/s, 'expected a path that begins and ends with /, such as "/protected/"'),
    z.string().min(1),
  )
    .default({}).describe(
      "Folders whose files only go out when the application answers with X-Accel-Redirect or X-Sendfile, by the path that stands " +
        'for them there: { "/protected/" = "./storage" }',
    ),
  follow: z.array(z.string().min(1)).default([])
    .describe("Folders outside the public root that symbolic links in it may lead into"),
});

/** Folders told of in the log before it is plain what is wrong. */
const MAX_WARNINGS = 20;

/** What Apache would keep to itself, and how to have the same here. */
function openFolders(patterns: readonly string[]): string {
  const shown = patterns.slice(0, MAX_WARNINGS).map((one) => JSON.stringify(one)).join(", ");
  const more = patterns.length > MAX_WARNINGS ? `, and ${patterns.length - MAX_WARNINGS} more` : "";
  return "Open to everybody: folders whose .htaccess denies all, which only Apache reads; close them by " +
    `static.deny = [${shown}]${more}`;
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
  config,
  needs: [Site],
  provides: [ClosedPaths],
  setup(ctx) {
    const denied = denial(ctx.config.deny);
    ctx.provide(ClosedPaths, { has: denied });
    const root = ctx.use(Site).publicRoot;
    if (root === undefined) return;
    const { index, cache, deny, precompressed } = ctx.config;
    const follow = ctx.config.follow.map((folder) => resolve(ctx.baseDir, folder));
    const warned = new Set<string>();
    const onEscape = (path: string, real: string) => {
      const folder = dirname(real);
      if (warned.size >= MAX_WARNINGS || warned.has(folder)) return;
      warned.add(folder);
      ctx.log("warn", `Not sent: a link leads out of the public root into ${folder}; name it in follow if it may`, {
        path,
      });
    };
    const folder = resolve(ctx.baseDir, root);
    const files = new StaticFiles({ root: folder, index, cache, precompressed, deny, follow, onEscape });
    const onMissing = (value: string) =>
      ctx.log(
        "warn",
        "The application names a file to send that is in no folder of static.internal, or cannot be had",
        { value },
      );
    const folders = Object.fromEntries(
      Object.entries(ctx.config.internal).map(([prefix, path]) => [prefix, resolve(ctx.baseDir, path)]),
    );
    const internal = Object.keys(folders).length === 0
      ? undefined
      : new InternalFiles({ folders, onEscape, onMissing });
    return {
      onListen() {
        // The start does not wait for it.
        void deniedFolders(folder).then((found) => {
          const open = found.map((one) => one === "/" ? "/**" : `${one}/**`).filter((one) => !denied(one));
          if (open.length > 0) ctx.log("warn", openFolders(open));
        });
      },
      onRequest(x, next) {
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
