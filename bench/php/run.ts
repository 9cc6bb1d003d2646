/**
 * Compares ways to run PHP on the same machine, in the same run: php-fpm, each kind of worker, forks, and a loop inside PHP. Every
 * round measures all of them one right after the other.
 *
 * @module
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { symfony } from "../../tests/support/php_apps/composer.ts";
import type { Running } from "../http/arms/arm.ts";
import { resolveBinary } from "../http/identity.ts";
import { machine } from "../http/machine.ts";
import { PHP_INI } from "../http/pages.ts";
import { drained } from "../http/probe.ts";
import { median, order, type Sample } from "../http/summary.ts";
import { calmLimit, quiet } from "../http/window.ts";
import { runWrk } from "../http/wrk.ts";
import type { Arm } from "./arms.ts";
import { ceiling } from "./ceiling.ts";
import { capacityOf, openLoop } from "./open_loop.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import { markdown } from "./report.ts";
import type { CeilingSample, OpenSample, Report } from "./report_types.ts";
import { applicationSite, type Page, scriptsSite, type Site } from "./sites.ts";
import { checkIdentity, measure } from "./window.ts";

const say = (text: string) => process.stderr.write(`${text}\n`);

class Run {
  readonly #o: Options;
  readonly #dir = mkdtempSync(join(tmpdir(), "fairlead-bench-php-"));
  readonly #ini = join(this.#dir, "php.ini");
  readonly #phpFpm = resolveBinary("php-fpm8.2", "php-fpm8.3", "php-fpm8.4", "php-fpm8.5", "php-fpm");
  readonly #sites = new Map<Site["name"], Site>();
  readonly #running = new Map<string, Running>();
  readonly #samples: Sample[] = [];
  readonly #ceilings: CeilingSample[] = [];
  readonly #open: OpenSample[] = [];

  constructor(o: Options) {
    this.#o = o;
    if (!o.keep) {
      process.on("exit", () => rmSync(this.#dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
    }
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
        bodyDifferences: this.#bodyDifferences(),
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
    chmodSync(this.#dir, 0o755);
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
        await checkIdentity(running);
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
    for (let attempt = 0;; attempt++) {
      await quiet(o.maxForeign, o.patience);
      const calmMs = await calmLimit({ port: running.port, path: page.path });
      const { path } = page;
      const { seconds, warmup, maxForeign } = o;
      const result = await measure(running, { path, clients, seconds, warmup, calmMs, maxForeign });
      const { throughput, p50, p99, faults } = result;
      say(
        `round ${round + 1}  ${page.name} c=${clients} ${arm.name}: ${throughput.toFixed(0)}/s, p50 ${
          p50.toFixed(2)
        }, ` +
          `p99 ${p99.toFixed(2)} ms${faults.length > 0 ? `  NOT TRUSTED: ${faults.join("; ")}` : ""}`,
      );
      if (faults.length > 0 && attempt < o.retries) continue;
      this.#samples.push({ arm: arm.name, page: page.name, clients, round, ...result });
      return;
    }
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
    await checkIdentity(running);
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

  #bodyDifferences(): string[] {
    const seen = new Map<string, Map<string, string>>();
    for (const { page, sha256, arm } of this.#samples) {
      seen.set(page, (seen.get(page) ?? new Map<string, string>()).set(sha256, arm));
    }
    return [...seen].filter(([page, hashes]) => hashes.size > 1 && page !== "laravel")
      .map(([page, hashes]) =>
        `${page}: ${[...hashes].map(([hash, arm]) => `${arm} ${hash.slice(0, 12)}`).join(", ")}`
      );
  }
}

async function main(): Promise<number> {
  const o = parseOptions(process.argv.slice(2));
  if (o === "help") {
    process.stdout.write(USAGE);
    return 0;
  }
  const report = await new Run(o).all();
  if (o.json !== undefined) writeFileSync(o.json, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(markdown(report));
  for (const difference of report.bodyDifferences) say(`The arms did not send the same page: ${difference}`);
  const trusted = median(report.samples.map(({ faults }) => faults.length === 0 ? 1 : 0)) > 0;
  return report.bodyDifferences.length > 0 || !trusted ? 1 : 0;
}

main().then((code) => process.exit(code), (error: unknown) => {
  say(error instanceof Error ? error.stack ?? error.message : String(error));
  process.exit(1);
});
