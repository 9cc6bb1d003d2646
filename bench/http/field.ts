/**
 * The servers of one run, all up side by side: an idle server costs nothing, and starting one costs time.
 *
 * @module
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { phpFpm } from "../support/binary.ts";
import { workFolder } from "../support/folder.ts";
import type { Arm, Running } from "./arms/arm.ts";
import { type PhpFacts, phpFacts } from "./identity.ts";
import { PHP_INI, type SiteName, writeScripts } from "./pages.ts";

export interface FieldOptions {
  readonly arms: readonly Arm[];
  readonly sites: readonly SiteName[];
  readonly children: number;
  readonly phpFpm: string | undefined;
  readonly wordpress: string | undefined;
  readonly fairlead: string;
  readonly toml: string;
  readonly keep: boolean;
  /** More scripts for the site `scripts`, by name. */
  readonly scripts?: Readonly<Record<string, string>>;
  say(text: string): void;
}

export class Field {
  /** The real file of the php-fpm that every arm runs. */
  readonly phpFpm: string;
  /** By `<arm>-<site>`. */
  readonly running: Map<string, Running> = new Map();
  /** By arm; known of arms that serve the scripts. */
  readonly facts: Map<string, PhpFacts> = new Map();
  readonly #o: FieldOptions;
  readonly #dir: string;

  constructor(o: FieldOptions) {
    this.#o = o;
    this.#dir = workFolder("bench", o.keep);
    this.phpFpm = phpFpm(o.phpFpm);
  }

  get(arm: Arm, site: SiteName): Running {
    const found = this.running.get(`${arm.name}-${site}`);
    if (found === undefined) throw new Error(`${arm.name} does not serve ${site}`);
    return found;
  }

  async start(): Promise<void> {
    const scripts = join(this.#dir, "scripts");
    const ini = join(this.#dir, "php.ini");
    writeScripts(scripts);
    for (const [name, text] of Object.entries(this.#o.scripts ?? {})) writeFileSync(join(scripts, name), text);
    writeFileSync(ini, PHP_INI);
    for (const site of this.#o.sites) {
      for (const arm of this.#o.arms) {
        const id = `${arm.name}-${site}`;
        const running = await arm.start({
          site,
          publicDir: site === "wordpress" ? this.#o.wordpress ?? "" : scripts,
          dir: join(this.#dir, id),
          children: this.#o.children,
          phpFpm: this.phpFpm,
          env: { PHPRC: ini },
          fairleadRoot: this.#o.fairlead,
          fairleadToml: this.#o.toml,
        });
        this.running.set(id, running);
        if (site === "scripts") this.facts.set(arm.name, await phpFacts(running, this.phpFpm));
        this.#o.say(`${id}: pid ${running.pid}, ${running.executable}, port ${running.port}`);
      }
    }
  }

  async stop(): Promise<void> {
    for (const running of this.running.values()) await running.stop();
    if (this.#o.keep) this.#o.say(`configuration and logs: ${this.#dir}`);
  }
}
