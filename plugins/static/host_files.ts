/**
 * What is sent of one site.
 *
 * @module
 */
import { dirname, resolve } from "node:path";
import type { VirtualHost } from "../../core/contracts/site.ts";
import type { Log } from "../../core/plugin.ts";
import type { OwnSettings } from "./config.ts";
import { StaticFiles } from "./files.ts";
import { InternalFiles } from "./internal.ts";

/** Folders told of in the log before it is plain what is wrong. */
export const MAX_WARNINGS = 20;

/** The files of one site. */
export interface HostFiles {
  readonly host: VirtualHost;
  /** Absolute path of the public root. */
  readonly folder: string;
  readonly files: StaticFiles;
  /** Undefined where the application can name none. */
  readonly internal: InternalFiles | undefined;
}

/** `static`, or `static.hosts."shop.example"`: where the settings of a site stand. */
export function tableOf({ name }: VirtualHost): string {
  return name === "" ? "static" : `static.hosts.${JSON.stringify(name)}`;
}

/** Has the files of a site served by its settings; undefined for one without a public root. */
export function hostFiles(
  host: VirtualHost,
  { index, cache, precompressed, deny, ...own }: OwnSettings,
  baseDir: string,
  log: Log,
): HostFiles | undefined {
  if (host.publicRoot === undefined) return undefined;
  const table = tableOf(host);
  const warned = new Set<string>();
  const onEscape = (path: string, real: string) => {
    const folder = dirname(real);
    if (warned.size >= MAX_WARNINGS || warned.has(folder)) return;
    warned.add(folder);
    log("warn", `Not sent: a link leads out of the public root into ${folder}; name it in ${table}.follow if it may`, {
      path,
    });
  };
  const onMissing = (value: string) =>
    log(
      "warn",
      `The application names a file to send that is in no folder of ${table}.internal, or cannot be had`,
      { value },
    );
  const follow = own.follow.map((folder) => resolve(baseDir, folder));
  const folders = Object.fromEntries(
    Object.entries(own.internal).map(([prefix, path]) => [prefix, resolve(baseDir, path)]),
  );
  return {
    host,
    folder: host.publicRoot,
    files: new StaticFiles({ root: host.publicRoot, index, cache, precompressed, deny, follow, onEscape }),
    internal: Object.keys(folders).length === 0 ? undefined : new InternalFiles({ folders, onEscape, onMissing }),
  };
}
