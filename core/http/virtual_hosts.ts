import { resolve } from "node:path";
import type { VirtualHost } from "../contracts/site.ts";
import { calledHost } from "./host.ts";

/** One entry of `server.hosts`, as far as the choice of a host needs it. */
export interface HostEntry {
  readonly public: string;
  readonly aliases?: readonly string[] | undefined;
}

const hostLabel = "[A-Za-z0-9_](?:[A-Za-z0-9_~-]*[A-Za-z0-9_~])?";
const hostForm = new RegExp(String.raw`^(?:(?:\*\.)?${hostLabel}(?:\.${hostLabel})*|\[[0-9A-Fa-f:.]+\])$`);

/** What a name of `server.hosts` must be like. */
export const hostNameRule =
  'expected a host without a port or a dot at its end, such as "shop.example", "*.shop.example" or "[::1]"';

/** Whether a text can be a name of an entry: a host, or `*.` and a host for all names below that one. */
export function isHostName(text: string): boolean {
  return text.length <= 253 && hostForm.test(text);
}

/**
 * Chooses the site that answers for a host: the entry with exactly this name, else that with the longest wildcard that the host is
 * below, else the first of all, which `server.public` is for.
 */
export class VirtualHosts {
  /** By {@linkcode VirtualHost.index}. */
  readonly all: readonly [VirtualHost, ...VirtualHost[]];
  readonly #rest: VirtualHost;
  readonly #exact = new Map<string, VirtualHost>();
  /** By what follows the asterisk: `.shop.example`. */
  readonly #wild = new Map<string, VirtualHost>();
  /** Characters of the longest of them. */
  #widest = 0;

  /** @param baseDir where relative public roots start */
  constructor(publicRoot: string | undefined, entries: Readonly<Record<string, HostEntry>>, baseDir: string) {
    const root = publicRoot === undefined ? undefined : resolve(baseDir, publicRoot);
    this.#rest = { index: 0, name: "", names: [], publicRoot: root, key: "server.public" };
    this.all = [
      this.#rest,
      ...Object.entries(entries).map(([key, { public: folder, aliases = [] }], i): VirtualHost => {
        const names = [key, ...aliases].map((name) => name.toLowerCase());
        return {
          index: i + 1,
          name: names[0]!,
          names,
          publicRoot: resolve(baseDir, folder),
          key: `server.hosts.${JSON.stringify(key)}.public`,
        };
      }),
    ];
    for (const host of this.all) {
      for (const name of host.names) {
        if (name.startsWith("*")) this.#wild.set(name.slice(1), host);
        else this.#exact.set(name, host);
      }
    }
    for (const rest of this.#wild.keys()) this.#widest = Math.max(this.#widest, rest.length);
  }

  /** @param host as a client named it: with a port perhaps, in any case; valid, or empty */
  of(host: string): VirtualHost {
    if (this.all.length === 1) return this.#rest;
    // Most come as they are written in the configuration, and need not be brought to that form.
    return this.#exact.get(host) ?? this.#byName(calledHost(host));
  }

  #byName(name: string): VirtualHost {
    const exact = this.#exact.get(name);
    if (exact !== undefined || this.#wild.size === 0) return exact ?? this.#rest;
    // A name may have more labels than any wildcard: none of those is looked at.
    const from = Math.max(1, name.length - this.#widest);
    for (let dot = name.indexOf(".", from); dot > 0; dot = name.indexOf(".", dot + 1)) {
      const found = this.#wild.get(name.slice(dot));
      if (found !== undefined) return found;
    }
    return this.#rest;
  }
}
