import type { Log } from "../core/plugin.ts";
import { FairGate } from "../plugins/admission/fair_gate.ts";
import { systemClock } from "../core/clock.ts";
import { dbSettings, dbTable } from "../plugins/dbproxy/config.ts";
import { MysqlProxy } from "../plugins/dbproxy/proxy.ts";
import type { DigestTable } from "../plugins/dbproxy/stats/digests.ts";
import { dbMetrics } from "../plugins/dbproxy/stats/metrics.ts";
import type { PoolReport } from "../plugins/dbproxy/stats/report.ts";
import type { Place } from "../plugins/dbproxy/net/socket.ts";
import { type Meter, noMeter } from "../core/contracts/meter.ts";
import { CoreError } from "../core/error.ts";

/** The keys of `[db.mysql]`, as in the configuration file: `{ url: "mysql://...", listen: "127.0.0.1:3306" }`. */
export type MysqlProxyTable = Readonly<Record<string, unknown>> & { readonly url: string };

/** What a proxy without a server around it may be given. */
export interface MysqlProxyOptions {
  /** Lines for the log; nothing is written when absent. */
  readonly log?: Log;
  readonly meter?: Meter;
  /** Where relative paths start; the working directory when absent. */
  readonly baseDir?: string;
}

/** A running proxy. */
export interface RunningMysqlProxy {
  /** Where it listens, with the ports the system chose. */
  readonly places: readonly Place[];
  readonly digests: DigestTable;
  pool(): PoolReport;
  /** Lets sessions end for at most `patienceMs` (0 when absent), then closes everything. */
  stop(patienceMs?: number): Promise<void>;
}

/**
 * Starts the MySQL proxy alone.
 *
 * @throws CoreError `CONFIG_INVALID` for a table that is wrong, `ADDRESS_TAKEN` and its kin for an address
 *
 * @example
 * ```ts
 * const proxy = await createMysqlProxy({ url: "mysql://app:secret@db.internal/app", listen: "127.0.0.1:3306" });
 * ```
 */
export async function createMysqlProxy(
  table: MysqlProxyTable,
  options: MysqlProxyOptions = {},
): Promise<RunningMysqlProxy> {
  const result = await dbTable["~standard"].validate({ mysql: table });
  if (result.issues !== undefined) {
    const text = result.issues.map(({ path, message }) => `${(path ?? []).slice(1).map(String).join(".")}: ${message}`);
    throw new CoreError("CONFIG_INVALID", text.join("; "));
  }
  const settings = dbSettings(result.value, { baseDir: options.baseDir ?? "." }).databases[0]!;
  const proxies: MysqlProxy[] = [];
  const proxy = new MysqlProxy(settings, {
    gate: new FairGate({
      name: `db:${settings.name}`,
      limit: settings.maxConnections,
      maxQueue: settings.maxQueue,
      grace: settings.poolTimeout,
    }),
    log: options.log ?? (() => {}),
    counts: dbMetrics(options.meter ?? noMeter, () => proxies)(settings.name),
    clock: systemClock,
    random: Math.random,
  });
  proxies.push(proxy);
  const places = await proxy.listen();
  return {
    places,
    digests: proxy.digests,
    pool: () => proxy.pool(),
    async stop(patienceMs = 0) {
      if (patienceMs > 0) await proxy.drain(AbortSignal.timeout(patienceMs));
      await proxy.close();
    },
  };
}
