/**
 * The adaptive limit on real processes: a page whose requests wait for each other's lock, and the same page without it.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtimes, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(180_000);

/** Processes, and clients that always want one. */
const ceiling = 12, clients = 18;

// With the lock n at once take n times as long, and nothing more gets done than by one.
const page = `<?php
if (file_exists(__DIR__ . '/../locked')) {
  $lock = fopen(__FILE__, 'r');
  flock($lock, LOCK_EX);
  usleep(30000);
} else usleep(10000);
echo 'done';`;

/** A server with the page, and as many clients as wanted, each of which asks again as soon as it was answered. */
class World implements AsyncDisposable {
  readonly server: TestServer;
  readonly lock: string;
  /** Answers other than 200. */
  bad = 0;
  readonly #dir: string;
  #wanted = 0;
  #running: Promise<void>[] = [];

  private constructor(dir: string, server: TestServer) {
    this.#dir = dir;
    this.server = server;
    this.lock = join(dir, "locked");
  }

  static async start(host: Parameters<typeof startServer>[0]["host"], adaptive: "on" | "shadow"): Promise<World> {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-adaptive-"));
    mkdirSync(join(dir, "public"));
    writeFileSync(join(dir, "public/page.php"), page);
    writeFileSync(join(dir, "locked"), "");
    const config = {
      log: { access: "off" },
      admission: { adaptive, grace: "60s" },
      php: { concurrency: ceiling, front_controller: false },
    };
    return new World(dir, await startServer({ host, dir, config }));
  }

  demand(count: number): void {
    this.#wanted = count;
    for (let i = this.#running.length; i < count; i++) this.#running.push(this.#client(i));
  }

  async metric(name: string): Promise<number | undefined> {
    return (await this.server.metrics()).get(`fairlead_admission_${name}{lane="php"}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wanted = 0;
    await Promise.all(this.#running);
    await this.server[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #client(i: number): Promise<void> {
    while (i < this.#wanted) {
      const response = await fetch(`${this.server.url}/page.php`);
      if (response.status !== 200 || await response.text() !== "done") this.bad++;
    }
  }
}

const slow = { timeout: 60_000, every: 100 };

for (const host of runtimes().slice(0, 1).filter((name) => name !== "nginx" && name !== "careless")) {
  describe(`the adaptive limit on ${host}`, () => {
    // Each with a server of its own, which has little to do.
    test.concurrent("falls while requests only wait for each other, and rises when they do not", async () => {
      await using world = await World.start(host, "on");
      world.demand(1);
      const alone = await waitFor(() => world.metric("baseline_seconds"), { ...slow, what: "the baseline" });
      expect(alone).toBeGreaterThanOrEqual(0.03);
      expect(await world.metric("limit")).toBe(ceiling);

      world.demand(clients);
      await waitFor(async () => (await world.metric("limit"))! <= ceiling / 2, { ...slow, what: "a lower limit" });
      // What it holds back is not at work.
      await waitFor(async () => (await world.metric("in_use"))! <= ceiling / 2, { ...slow, what: "fewer at work" });
      expect(await world.metric("adaptive_limit")).toBeLessThanOrEqual(ceiling / 2);
      expect(await world.metric("queued")).toBeGreaterThan(0);

      rmSync(world.lock);
      await waitFor(async () => (await world.metric("limit"))! >= ceiling * 0.75, { ...slow, what: "a higher limit" });
      await waitFor(async () => (await world.metric("in_use"))! > ceiling / 2, { ...slow, what: "more at work" });
      expect([world.bad, existsSync(world.lock)]).toEqual([0, false]);
    });

    test.concurrent("in the shadow tells what it would do, and does nothing", async () => {
      await using world = await World.start(host, "shadow");
      world.demand(1);
      await waitFor(() => world.metric("baseline_seconds"), { ...slow, what: "the baseline" });
      world.demand(clients);
      let looks = 0, full = 0, changed = 0;
      await waitFor(async () => {
        looks++;
        if (await world.metric("limit") !== ceiling) changed++;
        if (await world.metric("in_use") === ceiling) full++;
        return (await world.metric("adaptive_limit"))! <= ceiling / 2;
      }, { ...slow, what: "lower advice" });
      expect(full).toBeGreaterThan(looks / 2);
      expect([changed, world.bad]).toEqual([0, 0]);
    });
  });
}
