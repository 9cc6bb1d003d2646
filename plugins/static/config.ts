import { z } from "zod";
import type { CacheRule } from "./cache_rules.ts";

/** What holds for one site. */
export interface OwnSettings {
  readonly index: readonly string[];
  readonly cache: readonly CacheRule[];
  readonly precompressed: boolean;
  readonly deny: readonly string[];
  /** Folders by prefix. */
  readonly internal: Readonly<Record<string, string>>;
  readonly follow: readonly string[];
}

/** The `[static]` table. */
export interface StaticSettings extends OwnSettings {
  /** By the key of the site in `server.hosts`. */
  readonly hosts: Readonly<
    Record<string, Omit<OwnSettings, "index" | "precompressed"> & { readonly index?: readonly string[] | undefined }>
  >;
}

const pattern = z.string().regex(/^\//, "must start with /, like /build/**");
const fileName = z.string().regex(/^[^./\\][^/\\]*$/, "must be the name of a file, like index.html");

/** What a site may have of its own. */
const own = {
  index: z.array(fileName)
    .describe("What stands for a folder: the first that exists. One that ends in .php leaves the folder to PHP"),
  cache: z.array(z.strictObject({
    match: pattern.describe("Paths: * within a segment, ** across segments"),
    value: z.string().regex(/^[\x20-\x7e]+$/, "must be a header value").describe("The value of Cache-Control"),
  })).default([]).describe("Cache-Control by path; the first match counts, and none is sent when nothing matches"),
  deny: z.array(pattern).default([])
    .describe('Paths that nobody gets, be it a file or a script, such as ["/data/**", "/vendor/**"] (403)'),
  internal: z.record(
    z.string().regex(/^\/(?:.+\/)$/s, 'expected a path that begins and ends with /, such as "/protected/"'),
    z.string().min(1),
  ).default({}).describe(
    "Folders whose files only go out when the application answers with X-Accel-Redirect or X-Sendfile, by the path that stands " +
      'for them there: { "/protected/" = "./storage" }. Of server.public; each of server.hosts has its own',
  ),
  follow: z.array(z.string().min(1)).default([]).describe(
    "Folders outside the public root that symbolic links in it may lead into. Of server.public; each of server.hosts has its own",
  ),
};

/** The schema of `[static]`. */
export const staticTable: z.ZodType<StaticSettings> = z.strictObject({
  ...own,
  index: own.index.default(["index.php", "index.html"]),
  precompressed: z.boolean().default(true)
    .describe("Send app.js.br, app.js.zst or app.js.gz in the place of app.js to clients that take it"),
  hosts: z.record(
    z.string(),
    z.strictObject({
      index: own.index.optional().describe("In the place of static.index"),
      cache: own.cache.describe("Rules that come before those of static.cache"),
      deny: own.deny.describe("Paths that nobody gets, besides those of static.deny"),
      internal: own.internal.describe("As static.internal, which is not for this host"),
      follow: own.follow.describe("As static.follow, which is not for this host"),
    }),
  ).refine((hosts) => new Set(Object.keys(hosts).map((key) => key.toLowerCase())).size === Object.keys(hosts).length, {
    error: "expected each host once, in capital letters or not",
  }).default({}).describe("What a site of server.hosts has of its own, by its key there"),
});

/**
 * What holds for a site of `server.hosts`. Folders are one site's alone: what its application may send, and where its links may
 * lead, is nobody else's.
 */
export function settingsFor(name: string, { hosts, ...shared }: StaticSettings): OwnSettings {
  const given = Object.entries(hosts).find(([key]) => key.toLowerCase() === name)?.[1];
  return {
    precompressed: shared.precompressed,
    index: given?.index ?? shared.index,
    cache: [...given?.cache ?? [], ...shared.cache],
    deny: [...given?.deny ?? [], ...shared.deny],
    internal: given?.internal ?? {},
    follow: given?.follow ?? [],
  };
}
