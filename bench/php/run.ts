/**
 * Compares ways to run PHP on the same machine, in the same run: php-fpm, each kind of worker, forks, and a loop inside PHP. Every
 * round measures all of them one right after the other.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { symfony } from "../../tests/support/php_apps/composer.ts";
import type { Running } from "../http/arms/arm.ts";
import { PHP_INI } from "../http/pages.ts";
import { differentBodies, type Sample } from "../http/summary.ts";
import { calmLimit, measure } from "../http/window.ts";
import { runWrk } from "../http/wrk.ts";
import { phpFpm } from "../support/binary.ts";
import { workFolder } from "../support/folder.ts";
import { machine } from "../support/machine.ts";
import { benchmark, say, writeJson } from "../support/main.ts";
import { drained } from "../support/probe.ts";
import { order } from "../support/rounds.ts";
import { median } from "../support/statistics.ts";
import { distrust, quiet, trusted } from "../support/trust.ts";
import type { Arm } from "./arms.ts";
import { ceiling } from "./ceiling.ts";
import { checkFamily } from "./family.ts";
import { capacityOf, openLoop } from "./open_loop.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import { markdown } from "./report.ts";
import type { CeilingSample, OpenSample, Report } from "./report_types.ts";
import { applicationSite, type Page, scriptsSite, type Site } from "./sites.ts";

class Run {
  readonly #o: Options;
  readonly #dir: string;
  readonly #ini: string;
  readonly #phpFpm = phpFpm();
  readonly #sites = new Map<Site["name"], Site>();
  readonly #running = new Map<string, Running>();
  readonly #samples: Sample[] = [];
  readonly #ceilings: CeilingSample[] = [];
  readonly #open: OpenSample[] = [];

  constructor(o: Options) {
    this.#o = o;
    this.#dir = workFolder("bench-php", o.keep);
    this.#ini = join(this.#dir, "php.ini");
  }

  async all(): Promise<Report> {
    const o = this.#o;
    const startedAt = new Date().toISOString();
    try {
      await this.#start();
      for (let round = 0; round < o.rounds; round++) await this.#round(round);
      return {
        format: 1,
        startedAt,
        machine: machine(this.#phpFpm, o.fairlead),
        children: o.children,
        rounds: o.rounds,
        seconds: o.seconds,
        grace: o.grace,
        deadline: o.deadline,
        control: o.arms[0]!.name,
        pages: o.pages,
        arms: o.arms.map(({ name, about }) => ({ name, about })),
        config: Object.fromEntries([...this.#running].map(([id, { config }]) => [id, config])),
        // Laravel's page has a token in it.
        bodyDifferences: differentBodies(this.#samples.filter(({ page }) => page !== "laravel")),
        samples: this.#samples,
        ceilings: this.#ceilings,
        open: this.#open,
      };
    } finally {
      for (const running of this.#running.values()) await running.stop();
      if (o.keep) say(`configuration and logs: ${this.#dir}`);
    }
  }

  #site(name: Site["name"]): Site {
    const o = this.#o;
    if (name === "scripts") return scriptsSite(this.#dir);
    if (name === "laravel") return applicationSite("laravel", o.laravel!, o.octane);
    const made = o.symfony === undefined ? symfony() : { dir: o.symfony };
    if ("absent" in made) throw new Error(`Symfony's pages need an application: ${made.absent}`);
    return applicationSite("symfony", made.dir, false);
  }

  #arms(page: Page): Arm[] {
    return this.#o.arms.filter((arm) => arm.serves(this.#sites.get(page.site)!));
  }

  async #start(): Promise<void> {
    const o = this.#o;
    writeFileSync(this.#ini, PHP_INI);
    const [phpFpm, ini] = [this.#phpFpm, this.#ini];
    for (const page of o.pages) {
      const known = this.#sites.get(page.site);
      if (known !== undefined) continue;
      const site = this.#site(page.site);
      this.#sites.set(page.site, site);
      for (const arm of this.#arms(page)) {
        const id = `${arm.name}-${site.name}`;
        const dir = join(this.#dir, id);
        const running = await arm.start({
          site,
          dir,
          children: o.children,
          phpFpm,
          ini,
          fairleadRoot: o.fairlead,
          grace: Math.max(o.grace, 1),
        });
        this.#running.set(id, running);
        await checkFamily(running);
        say(`${id}: pid ${running.pid}, ${running.executable}, port ${running.port}`);
        const url = `http://127.0.0.1:${running.port}${page.path}`;
        if (o.prewarm > 0) await runWrk({ url, connections: 8, seconds: o.prewarm });
      }
    }
  }

  async #round(round: number): Promise<void> {
    const o = this.#o;
    for (const page of o.pages) {
      await quiet(o.maxForeign, o.patience);
      const site = this.#sites.get(page.site)!;
      try {
        const { throughput } = await ceiling({ site, page, processes: o.children, seconds: o.seconds, ini: this.#ini });
        this.#ceilings.push({ page: page.name, round, throughput });
        say(`round ${round + 1}  ${page.name} loop inside PHP: ${throughput.toFixed(0)}/s`);
      } catch (error) {
        // An application without a worker of ours, such as one with Octane, has no loop of ours either.
        say(`no loop for ${page.name}: ${(error as Error).message.slice(0, 300)}`);
      }
      for (const clients of o.clients) {
        for (const arm of order(this.#arms(page), round)) await this.#closed(arm, page, clients, round);
      }
      if (!o.openPages.includes(page)) continue;
      for (const share of o.open) {
        for (const arm of order(this.#arms(page), round)) await this.#opened(arm, page, share, round);
      }
    }
  }

  async #closed(arm: Arm, page: Page, clients: number, round: number): Promise<void> {
    const o = this.#o;
    const running = this.#running.get(`${arm.name}-${page.site}`)!;
    const target = { port: running.port, path: page.path };
    const result = await trusted(o, async () => {
      const found = await measure({
        target,
        clients,
        seconds: o.seconds,
        warmup: o.warmup,
        calmMs: await calmLimit(target),
        maxForeign: o.maxForeign,
        slack: { bytes: 64, share: 0.02 },
        check: () => checkFamily(running),
      });
      const { throughput, p50, p99, faults } = found;
      say(
        `round ${round + 1}  ${page.name} c=${clients} ${arm.name}: ${throughput.toFixed(0)}/s, ` +
          `p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)} ms${distrust(faults)}`,
      );
      return found;
    });
    this.#samples.push({ arm: arm.name, page: page.name, clients, round, ...result });
  }

  async #opened(arm: Arm, page: Page, share: number, round: number): Promise<void> {
    const o = this.#o;
    const running = this.#running.get(`${arm.name}-${page.site}`)!;
    const target = { port: running.port, path: page.path };
    await quiet(o.maxForeign, o.patience);
    let capacity: number;
    try {
      capacity = await capacityOf({ ...target, clients: 32, seconds: o.seconds });
    } catch (error) {
      // It refuses some of 32 clients already: there is no capacity to take shares of.
      say(
        `round ${round + 1}  ${page.name} open x${share} ${arm.name}: not measured, ${(error as Error).message}`,
      );
      return;
    }
    await drained(target, await calmLimit(target));
    await checkFamily(running);
    const result = await openLoop({
      port: running.port,
      path: page.path,
      rate: capacity * share,
      seconds: o.seconds,
      deadline: o.deadline,
      workers: o.children,
      capacity,
      grace: o.grace,
      seed: 1 + round,
    });
    this.#open.push({ arm: arm.name, page: page.name, round, share, capacity, ...result });
    const { goodput, refused, left, failed, p99, idealP99, lateP99 } = result;
    say(
      `round ${round + 1}  ${page.name} open x${share} ${arm.name}: ${result.rate.toFixed(0)}/s sent, ${
        goodput.toFixed(0)
      }/s good, ` +
        `refused ${refused}, left ${left}, failed ${failed}, p99 ${p99.toFixed(1)} ms (ideal ${
          idealP99.toFixed(1)
        }), late ${lateP99.toFixed(1)} ms`,
    );
  }
}

async function run(o: Options): Promise<number> {
  const report = await new Run(o).all();
  writeJson(o.json, report, 2);
  process.stdout.write(markdown(report));
  for (const difference of report.bodyDifferences) say(`The arms did not send the same page: ${difference}`);
  const trustworthy = median(report.samples.map(({ faults }) => faults.length === 0 ? 1 : 0)) > 0;
  return report.bodyDifferences.length > 0 || !trustworthy ? 1 : 0;
}

benchmark(USAGE, parseOptions, run);
