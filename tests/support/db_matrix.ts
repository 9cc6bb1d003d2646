/**
 * Runs the same cases on every server, direct and through the proxy.
 *
 * @module
 */
import { afterAll, beforeAll, describe, test } from "bun:test";
import process from "node:process";
import type { Database, DatabaseOptions, Place } from "./database.ts";
import { proxyAbsent, type ProxyOptions, startProxy, type Strategy, type TestProxy } from "./db_proxy.ts";
import { hasMariaDb, startMariaDb } from "./mariadb.ts";
import { mysql9Absent, startMysql9 } from "./mysql9.ts";
import { type HostName, hosts } from "./server.ts";

export type Kind = Database["kind"];

export interface ServerKind {
  readonly kind: Kind;
  readonly title: string;
  /** Why it cannot run here. */
  readonly absent: string | undefined;
  start(options?: DatabaseOptions): Promise<Database>;
}

export const servers: readonly ServerKind[] = [
  {
    kind: "mariadb",
    title: "MariaDB",
    absent: hasMariaDb() ? undefined : "no MariaDB: install mariadb-server",
    start: startMariaDb,
  },
  { kind: "mysql", title: "MySQL 9", absent: mysql9Absent(), start: startMysql9 },
];

export interface Way {
  /** `direct`, or the proxy's strategy and host. */
  readonly name: string;
  readonly kind: Kind;
  readonly proxied: boolean;
  readonly strategy: Strategy | undefined;
  /** The server itself: to look at it, to kill it. Only within tests and hooks. */
  readonly database: Database;
  /** Where clients log in. Only within tests and hooks. */
  readonly place: Place;
  /** Only within tests and hooks, and only when proxied. */
  readonly proxy: TestProxy;
}

export interface MatrixOptions {
  readonly database?: DatabaseOptions | ((kind: Kind) => DatabaseOptions);
  /** Of the proxy, whatever is not said by the matrix. */
  readonly proxy?: Partial<ProxyOptions> | ((kind: Kind) => Partial<ProxyOptions>);
  /** `smart` alone when absent. */
  readonly strategies?: readonly Strategy[];
  readonly kinds?: readonly Kind[];
  /** Hosts for the proxy; all of {@linkcode hosts} when absent. */
  readonly hosts?: readonly HostName[];
}

/** Declares the cases once for each server and each way to it; what cannot run here is declared as skipped, with its reason. */
export function forEachServer(topic: string, options: MatrixOptions, cases: (way: Way) => void): void {
  for (const server of servers.filter((one) => options.kinds?.includes(one.kind) ?? true)) {
    const title = `${topic} on ${server.title}`;
    if (server.absent) {
      describe(title, () => test.skip(`not here: ${server.absent}`, () => {}));
      continue;
    }
    describe(title, () => {
      let database: Database;
      beforeAll(async () => {
        database = await server.start(given(options.database, server.kind));
      });
      afterAll(async () => {
        await database?.stop();
      });
      // That the cases hold for the server itself need not be seen each time: FAIRLEAD_TEST_DIRECT=0 leaves it out.
      const direct = process.env["FAIRLEAD_TEST_DIRECT"] !== "0";
      (direct ? describe : absentSuite)("direct", () =>
        cases({
          name: "direct",
          kind: server.kind,
          proxied: false,
          strategy: undefined,
          get database() {
            return database;
          },
          get place() {
            return database;
          },
          get proxy(): TestProxy {
            throw new Error("There is no proxy on the direct way");
          },
        }));
      const absent = proxyAbsent();
      if (absent) return void test.skip(`through the proxy: ${absent}`, () => {});
      for (const host of (options.hosts ?? hosts())) {
        for (const strategy of options.strategies ?? ["smart"]) {
          proxied(server, options, host, strategy, () => database, cases);
        }
      }
    });
  }
}

/** No suite at all: a skipped one would be counted. */
const absentSuite = (_name: string, _cases: () => void): void => {};

function proxied(
  server: ServerKind,
  options: MatrixOptions,
  host: HostName,
  strategy: Strategy,
  database: () => Database,
  cases: (way: Way) => void,
): void {
  const name = `${strategy} proxy on ${host}`;
  describe(name, () => {
    let proxy: TestProxy;
    beforeAll(async () => {
      proxy = await startProxy({ upstream: database(), strategy, host, ...given(options.proxy, server.kind) });
    });
    afterAll(async () => {
      await proxy?.stop();
    });
    cases({
      name,
      kind: server.kind,
      proxied: true,
      strategy,
      get database() {
        return database();
      },
      get place() {
        return proxy;
      },
      get proxy() {
        return proxy;
      },
    });
  });
}

function given<T extends object>(value: T | ((kind: Kind) => T) | undefined, kind: Kind): T {
  return (typeof value === "function" ? value(kind) : value) ?? {} as T;
}
