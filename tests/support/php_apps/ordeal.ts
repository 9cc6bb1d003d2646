/**
 * One torment from beginning to end, for the short tests and the long ones.
 *
 * @module
 */
import { expect } from "bun:test";
import type { HostName } from "../server.ts";
import { openFiles } from "./open_files.ts";
import {
  counter,
  type Door,
  idle,
  makeSite,
  page,
  phpProcesses,
  phpTable,
  whole,
  withServer,
  zombies,
} from "./site.ts";
import { seeded } from "../seeded.ts";
import { settled, type Toll, type Torment, torment } from "./torment.ts";

export interface Ordeal {
  readonly host: HostName;
  readonly door: Door;
  readonly seconds: number;
  readonly clients: number;
  readonly torments: readonly Torment[];
  readonly every: number;
  readonly seed: number;
}

const workers = 4;

/** Torments a server; checks that it has lost nothing but what was broken, and stands as in the beginning. */
export async function ordeal({ host, door, ...how }: Ordeal): Promise<Toll> {
  const site = makeSite("lab");
  try {
    return await withServer({
      host,
      site,
      php: phpTable(door, site, { concurrency: workers, boot_timeout: "3s", ini: { memory_limit: "64M" } }),
      config: { server: { timeout: "8s" }, admission: { max_queue: 500, grace: "20s" }, log: { access: "off" } },
    }, async (server) => {
      await whole(server, workers);
      for (let i = 0; i < 20; i++) await page(server.port, "/fast");
      await idle(server);
      const processes = () => phpProcesses(server).length;
      const before = { files: openFiles(server.pid).length, processes: processes() };
      const toll = await torment({ server, ...how, random: seeded(how.seed) });
      expect(toll.strange).toEqual([]);
      const failed = `${toll.failures.length} failed, ${JSON.stringify(tally(toll.failures))}, of ${
        JSON.stringify(toll.done)
      }`;
      expect(toll.failures.length <= toll.excused ? "" : failed).toBe("");
      expect(toll.served).toBeGreaterThan(how.seconds * 5);
      await idle(server, 10_000);
      // A stopped worker that nobody has asked anything since is found when it is asked.
      if (how.torments.includes("stop")) await flush(server.port);
      await idle(server, 10_000);
      await whole(server, workers, 10_000);
      await settled(server, before, processes, door === "fork" ? 4 : 0);
      expect(zombies(server)).toEqual([]);
      for (let i = 0; i < 20; i++) expect(await page(server.port, "/fast")).toBe("fast");
      expect(await counter(server, "fairlead_http_requests_in_flight")).toBe(0);
      return toll;
    });
  } finally {
    site.remove();
  }
}

/** Has every worker answer, or be found unable to. */
async function flush(port: number): Promise<void> {
  await Promise.all(Array.from({ length: workers * 4 }, () => page(port, "/sleep?ms=50")));
}

function tally(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
