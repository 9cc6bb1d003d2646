/**
 * One pool of the configuration: which requests it takes, and what runs them.
 *
 * @module
 */
import { resolve } from "node:path";
import { CoreError } from "../../core/error.ts";
import type { ClosedPaths } from "../../core/contracts/closed_paths.ts";
import type { Gates } from "../../core/contracts/gates.ts";
import type { ScriptSettings } from "../../core/contracts/script_settings.ts";
import type { Site, VirtualHost } from "../../core/contracts/site.ts";
import type { Exchange } from "../../core/exchange.ts";
import { answer } from "../../core/http/answers.ts";
import type { Awaitable, Execution, Log } from "../../core/plugin.ts";
import { chooseConcurrency } from "./concurrency.ts";
import { engineOf, type PoolSettings } from "./config.ts";
import { diskFs, folderIdentity } from "./disk_fs.ts";
import { findEmbedded } from "./embed/launcher.ts";
import type { Engine } from "./engine.ts";
import { FpmPool } from "./fpm_pool.ts";
import type { PhpCounts } from "./metrics.ts";
import { oneAtATime } from "../../core/one_at_a_time.ts";
import { closedTo, realFolder } from "./readable.ts";
import { makeResolver, type Resolver, type Script } from "./resolve.ts";
import { rememberResolutions } from "./resolve_cache.ts";
import { isRoot, poolUser, userIds } from "./runtime_dir.ts";
import { WorkerEngine } from "./worker_engine.ts";

export interface LaneOptions {
  /** `php`, or `php:NAME`: of the gate, and in metrics. */
  readonly name: string;
  readonly settings: PoolSettings;
  readonly matches: (x: Exchange) => boolean;
  readonly site: Site;
  /** The sites whose scripts it runs, as far as that can be told beforehand. */
  readonly hosts: readonly VirtualHost[];
  readonly closed: ClosedPaths | undefined;
  readonly count: PhpCounts;
  readonly log: Log;
  readonly gates: Gates | undefined;
  readonly told: ScriptSettings | undefined;
}

/** A pool of PHP processes and the requests it takes. */
export class PhpLane {
  readonly name: string;
  readonly matches: (x: Exchange) => boolean;
  readonly #options: LaneOptions;
  /** By site; undefined for one without a public root, and for workers. */
  readonly #resolvers: readonly (Resolver | undefined)[];
  /** What every request of workers is told of its script, by site. */
  #scripts: readonly Script[] | undefined;
  engine: Engine | undefined;

  get settings(): PoolSettings {
    return this.#options.settings;
  }

  constructor(options: LaneOptions) {
    const { name, matches, settings, site } = options;
    this.#options = options;
    this.name = name;
    this.matches = matches;
    const resolves = engineOf(settings) !== "worker";
    this.#resolvers = site.virtualHosts.map((host) => resolves ? resolverOf(host, options) : undefined);
  }

  async start(): Promise<void> {
    const { name, site, count, log, gates } = this.#options;
    const given = this.#options.settings;
    const settings: PoolSettings = { ...given, ...this.#options.told?.read(given) };
    const chosen = settings.concurrency > 0 ? undefined : chooseConcurrency();
    const size = chosen?.children ?? settings.concurrency;
    if (chosen !== undefined) log("info", name === "php" ? chosen.reason : `${name}: ${chosen.reason}`);
    const { software } = site;
    const kind = engineOf(settings);
    const worker = () => {
      const { baseDir, maxBody } = site;
      const gate = () => gates?.find(name);
      const options = { settings, lane: name, workers: size, baseDir, software, maxBody, count, log, gate };
      return WorkerEngine.start(options, kind !== "worker");
    };
    if (kind === "fpm") {
      if (settings.fastcgi === undefined) {
        for (const host of this.#options.hosts) {
          const warning = unreadable(host, settings.user);
          if (warning !== undefined) log("warn", warning);
        }
      }
      const engine = { settings, children: size, log };
      try {
        this.engine = await FpmPool.start({ engine, lane: name, software, count, log });
      } catch (error) {
        if (!canEmbed(settings, error) || findEmbedded(site.baseDir) === undefined) throw error;
        this.engine = await worker();
      }
    } else {
      if (kind === "worker") this.#scripts = workerScripts(settings, site);
      this.engine = await worker();
    }
    gates?.open(name, size);
  }

  resolve(x: Exchange): Awaitable<Execution | Response | void> {
    const { timeout } = this.#options.settings;
    // A deadline that the client named may be earlier.
    if (timeout > 0) x.deadline = Math.min(x.deadline, x.started + timeout);
    // Without server.hosts there is nothing to choose.
    const at = this.#resolvers.length === 1 ? 0 : x.virtualHost.index;
    const script = this.#scripts?.[at];
    if (script !== undefined) return this.engine!.execution(x, script);
    const found = this.#resolvers[at]?.(x.path, x.query);
    switch (found?.kind) {
      case "script":
        return this.engine!.execution(x, found);
      case "redirect":
        return new Response(null, {
          status: x.method === "GET" || x.method === "HEAD" ? 301 : 308,
          headers: { location: found.location },
        });
      case "forbidden":
        return answer(403);
      case "not-found":
        return answer(404);
    }
  }

  /** Takes new code: on demand, and when files change. */
  readonly reload: () => Promise<void> = oneAtATime(async () => {
    await this.engine?.reload();
    if (this.#scripts !== undefined) this.#scripts = workerScripts(this.#options.settings, this.#options.site);
  });
}

/** Whether what `auto` tries first is not there, and nothing said that it should be. */
function canEmbed({ engine, binary, fastcgi }: PoolSettings, error: unknown): boolean {
  const absent = error instanceof CoreError && error.code === "PHP_NOT_FOUND";
  return absent && engine === "auto" && binary === undefined && fastcgi === undefined;
}

/** What finds the scripts of one site, and remembers them apart from those of any other. */
function resolverOf(host: VirtualHost, { settings, closed, site }: LaneOptions): Resolver | undefined {
  const { publicRoot } = host;
  if (publicRoot === undefined) return undefined;
  return rememberResolutions(
    makeResolver({
      publicRoot,
      index: settings.index,
      frontController: settings.front_controller,
      allow: settings.allow,
      deny: settings.deny,
      follow: settings.follow.map((folder) => resolve(site.baseDir, folder)),
      closed: closed && ((path) => closed.has(path, host)),
    }, diskFs),
    { identity: () => folderIdentity(publicRoot), now: () => performance.now() },
  );
}

/** The front controller of each site, as frameworks look for it to tell their base path: whatever the worker script is called. */
function workerScripts({ front_controller, root }: PoolSettings, { virtualHosts, baseDir }: Site): readonly Script[] {
  const name = typeof front_controller === "string" ? front_controller : "/index.php";
  return virtualHosts.map(({ publicRoot }) => {
    const folder = publicRoot ?? resolve(baseDir, root ?? ".");
    const documentRoot = realFolder(folder) ?? folder;
    return {
      kind: "script",
      scriptFilename: documentRoot + name,
      scriptName: name,
      pathInfo: "",
      documentUri: name,
      documentRoot,
    };
  });
}

/** Why PHP will find no script, when that can be told beforehand. */
function unreadable({ publicRoot, key }: VirtualHost, user: string = poolUser().user): string | undefined {
  if (publicRoot === undefined) return undefined;
  const folder = realFolder(publicRoot);
  if (folder === undefined) return `${key} is no folder: ${publicRoot}`;
  const ids = isRoot() ? userIds(user) : undefined;
  const closed = ids === undefined ? undefined : closedTo(ids, folder);
  if (closed === undefined) return undefined;
  return `PHP runs as ${user}, who may not enter ${closed}: every page will be "File not found"; ` +
    `open that folder to it, or set php.user`;
}
