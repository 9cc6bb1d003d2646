/**
 * A folder with one of the applications in this one, and Fairlead in front of it. The application is the same through every
 * door: php-fpm, and each kind of worker.
 *
 * @module
 */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { commandOf, descendantsOf } from "../proc.ts";
import { type Config, type HostName, startServer, type TestServer, total } from "../server.ts";
import { ask, type ReadOptions } from "../raw_http.ts";
import { waitFor } from "../wait.ts";

const here = fileURLToPath(new URL("./", import.meta.url));

/** What runs the application: php-fpm, or a worker that speaks this; `fork` is a FrankenPHP-shaped worker, forked. */
export type Door = "fpm" | "frankenphp" | "native" | "goridge" | "fork";

export const workerDoors: readonly Door[] = ["frankenphp", "native", "goridge", "fork"];

export interface Site {
  readonly dir: string;
  /** Writes a file of the site; its folder may be new. */
  write(name: string, text: string): void;
  /** The contents of a file; empty when there is none. */
  read(name: string): string;
  remove(): void;
}

/** Copies an application into a folder that the PHP user can enter; `storage` in it is for anybody to write. */
export function makeSite(app?: "parity" | "lab"): Site {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-php-site-"));
  chmodSync(dir, 0o755);
  if (app !== undefined) {
    cpSync(join(here, app), dir, { recursive: true });
    cpSync(join(here, "common"), join(dir, "common"), { recursive: true });
  }
  mkdirSync(join(dir, "public"), { recursive: true });
  mkdirSync(join(dir, "storage"));
  chmodSync(join(dir, "storage"), 0o777);
  return {
    dir,
    write(name, text) {
      mkdirSync(dirname(join(dir, name)), { recursive: true });
      writeFileSync(join(dir, name), text);
    },
    read(name) {
      try {
        return readFileSync(join(dir, name), "utf8");
      } catch {
        return "";
      }
    },
    remove: () => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }),
  };
}

const scripts: Readonly<Record<Exclude<Door, "fpm">, string>> = {
  frankenphp: "worker-franken.php",
  native: "worker-native.php",
  goridge: "worker-goridge.php",
  fork: "worker-franken.php",
};

/** The `[php]` table for a door; `more` is added to it. */
export function phpTable(
  door: Door,
  site: Site,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { ini, ...rest } = more;
  return {
    ...(door === "fpm" ? { engine: "fpm" } : {
      engine: "worker",
      script: scripts[door],
      ...(door === "fork" ? { isolation: "fork" } : {}),
    }),
    ini: {
      "session.save_path": join(site.dir, "storage"),
      "session.cache_limiter": "",
      upload_max_filesize: "16M",
      post_max_size: "32M",
      ...ini as Record<string, unknown> | undefined,
    },
    ...rest,
  };
}

export interface OpenOptions {
  readonly host: HostName;
  readonly site: Site;
  readonly php: Readonly<Record<string, unknown>>;
  readonly config?: Config;
  readonly probe?: "/readyz" | "/livez";
}

/** Starts the server on a site. */
export function open({ host, site, php, config, probe }: OpenOptions): Promise<TestServer> {
  return startServer({
    host,
    dir: site.dir,
    config: { log: { access: "off" }, ...config, php: { ...config?.["php"], ...php } },
    ...(probe === undefined ? {} : { probe }),
  });
}

/** Runs `body` with a server, shows what the server wrote when it fails, and leaves nothing behind. */
export async function withServer<T>(
  options: OpenOptions,
  body: (server: TestServer) => Promise<T>,
): Promise<T> {
  const server = await open(options);
  try {
    return await body(server);
  } catch (error) {
    throw new Error(
      `${(error as Error).stack ?? error}\n--- output of ${options.host} ---\n${server.output().slice(-4000)}`,
    );
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

export interface Row {
  readonly pid: number;
  readonly state: string;
  readonly requests?: number;
  readonly rss?: number;
  readonly target?: string;
}

/** The processes as the admin listener lists them. */
export async function rows(server: TestServer): Promise<Row[]> {
  const response = await fetch(`${server.adminUrl}/-/php`, { headers: { connection: "close" } });
  const { pools } = await response.json() as {
    readonly pools?: Readonly<Record<string, { readonly processes?: Row[] }>>;
  };
  return Object.values(pools ?? {}).flatMap((pool) => pool.processes ?? []);
}

/** Pids of the PHP processes below a server, those that have ended and were not collected left out. */
export function phpProcesses(server: TestServer): number[] {
  return descendantsOf(server.pid).filter(({ pid, state }) => state !== "Z" && /\bphp/.test(commandOf(pid)))
    .map(({ pid }) => pid);
}

/** Processes below a server that have ended and that nobody has collected. */
export function zombies(server: TestServer): number[] {
  return descendantsOf(server.pid).filter(({ state }) => state === "Z").map(({ pid }) => pid);
}

const gauges = [
  "fairlead_admission_in_use",
  "fairlead_admission_queued",
  "fairlead_http_requests_in_flight",
  "fairlead_php_busy",
  "fairlead_php_waiting",
];

/** Waits until nothing is counted as running or waiting any more; a gauge that drifted never comes to zero. */
export async function idle(server: TestServer, timeout = 5000): Promise<void> {
  await waitFor(async () => {
    const metrics = await server.metrics();
    const values = gauges.map((name) => [name, total(metrics, name)]);
    if (values.every(([, value]) => value === 0)) return true;
    throw new Error(JSON.stringify(values));
  }, { what: "every gauge at zero", timeout });
}

/** What a page says, asked on a connection of its own that is closed. */
export async function page(port: number, path: string, more: ReadOptions = {}): Promise<string> {
  const response = await ask(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, more);
  return response?.text() ?? "";
}

/** Waits until `count` workers stand ready; where they are forked, spares come on top. */
export async function whole(server: TestServer, count: number, timeout = 5000): Promise<void> {
  await waitFor(async () => {
    const alive = total(await server.metrics(), "fairlead_php_alive");
    if (alive !== undefined && alive >= count && alive <= count * 2) return true;
    throw new Error(`${alive} alive`);
  }, { what: `${count} workers`, timeout });
}

/** A counter's value, 0 while it has not been seen. */
export async function counter(server: TestServer, name: string, ...labels: readonly string[]): Promise<number> {
  let sum = 0;
  for (const [key, value] of await server.metrics()) {
    if (key.startsWith(name) && labels.every((label) => key.includes(label))) sum += value;
  }
  return sum;
}

/** Sends a signal to a process that may be gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
