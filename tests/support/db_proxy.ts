/**
 * The proxy before a database, started as its users start it: `serve` with a `[db.mysql]` table.
 *
 * @module
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Place } from "./database.ts";
import { freePort } from "./ports.ts";
import { type HostName, hosts, startServer, type TestServer } from "./server.ts";

export type Strategy = "smart" | "always" | "never";

export interface ProxyOptions {
  /** The server, and whom the proxy logs in as. */
  readonly upstream: Place;
  /** To the server over its unix socket. */
  readonly viaSocket?: boolean;
  /** `smart` when absent. */
  readonly strategy?: Strategy;
  /** Backends at most; 20 when absent. */
  readonly size?: number;
  /** The query part of its URL, such as `tls=required`. */
  readonly query?: string;
  /** More keys of `[db.mysql]`, or others in place of these. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The `[bulkhead]` table, if there is one. */
  readonly bulkhead?: Readonly<Record<string, unknown>>;
  /** The first of {@linkcode hosts} when absent. */
  readonly host?: HostName;
  /** The upstream is no server that could be reached: waits only until the proxy listens. */
  readonly hopeless?: boolean;
}

export interface TestProxy extends Place {
  readonly server: TestServer;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const plugin = fileURLToPath(new URL("../../plugins/dbproxy/plugin.ts", import.meta.url));

/** Why there is no proxy to test; undefined when there is one. */
export function proxyAbsent(): string | undefined {
  return existsSync(plugin) ? undefined : "plugins/dbproxy is not built yet";
}

/** Starts it; clients log in there with the upstream's own user and password. */
export async function startProxy(options: ProxyOptions): Promise<TestProxy> {
  const { upstream, strategy = "smart", size = 20, query = "", host = hosts()[0]! } = options;
  const dir = mkdtempSync(join(tmpdir(), "fairlead-db-"));
  const [port, socket] = [await freePort(), join(dir, "mysql.sock")];
  const { user, password } = upstream;
  const where = options.viaSocket
    ? `localhost/?socket=${encodeURIComponent(upstream.socket)}`
    : `${upstream.host}:${upstream.port}/`;
  const joined = query === "" ? "" : `${where.includes("?") ? "&" : "?"}${query}`;
  const server = await startServer({
    host,
    dir,
    probe: options.hopeless ? "/livez" : "/readyz",
    config: {
      log: { access: "off" },
      ...(options.bulkhead === undefined ? undefined : { bulkhead: options.bulkhead }),
      db: {
        mysql: {
          url: `mysql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${where}${joined}`,
          listen: `127.0.0.1:${port}`,
          socket,
          min_connections: 0,
          max_connections: size,
          reset_strategy: strategy,
          auth: "trust",
          ...options.settings,
        },
      },
    },
  });
  const stop = async () => {
    await server[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  };
  return { host: "127.0.0.1", port, socket, user, password, server, stop, [Symbol.asyncDispose]: stop };
}
