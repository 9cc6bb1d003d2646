import { DigestTable } from "../../../plugins/dbproxy/stats/digests.ts";
import type { DbReport, PoolReport } from "../../../plugins/dbproxy/stats/report.ts";

export const fakePool: PoolReport = {
  server: "db.internal:3306",
  version: "8.4.2",
  up: true,
  limit: 20,
  clients: { connecting: 0, idle: 5, waiting: 3, active: 12 },
  backends: { connecting: 1, idle: 2, used: 12, resetting: 1 },
  oldestWaitMs: 250,
};

/** Databases with these names, each with three digests. */
export function fakeReport(...names: readonly string[]): DbReport {
  const databases = names.map((name) => {
    const digests = new DigestTable({ capacity: 10 });
    const sample = { schema: name, rows: 1, bytes: 50, error: false };
    for (let i = 0; i < 3; i++) {
      const hash = `d${i}`;
      for (let n = 0; n <= i; n++) {
        digests.record({
          ...sample,
          hash,
          text: () => `SELECT ${hash}`,
          ms: 10 * (3 - i) ** 2,
        });
      }
    }
    return { name, digests, pool: () => fakePool };
  });
  return { databases: () => databases };
}
