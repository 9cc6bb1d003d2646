/**
 * A database and every proxy before it, up side by side: an idle server costs nothing, and starting one costs time.
 *
 * @module
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Database } from "../../tests/support/database.ts";
import { RawClient } from "../../tests/support/raw_client.ts";
import { launch, type Started, until } from "../support/process.ts";
import { executable } from "../support/procfs.ts";
import { type ArmProcess, type Door, type ProxyArm, withDoors } from "./arms/arm.ts";
import { direct } from "./arms/direct.ts";
import { Watch } from "./counters.ts";
import { WHO } from "./identity.ts";
import { fileURLToPath } from "node:url";

export interface FieldOptions {
  readonly arms: readonly ProxyArm[];
  readonly fairlead: string;
  readonly toml: string;
  /** Delay (ms) of a second set of proxies that reach the database over a slow link; 0 starts none. */
  readonly delayMs: number;
  readonly keep: boolean;
  say(text: string): void;
}

/** Options of both servers, beside those of the tests: the memory experiment opens 2,000 connections directly. */
export const DATABASE_OPTIONS: readonly string[] = ["max_connections=2200", "thread_cache_size=100", "back_log=1000"];

export class Field {
  readonly database: Database;
  readonly watch: Watch;
  /** What the database answers to `WHO`. */
  readonly who: string;
  readonly processes: ArmProcess[] = [];
  /** The same arms, whose database is behind the delaying link. */
  readonly delayed: ArmProcess[] = [];
  readonly version: string;
  #relay: Started | undefined;
  readonly #o: FieldOptions;
  readonly #dir = mkdtempSync(join(tmpdir(), "fairlead-bench-db-"));

  private constructor(o: FieldOptions, database: Database, watch: Watch, who: string) {
    this.#o = o;
    this.database = database;
    this.watch = watch;
    this.who = who;
    this.version = who.split(" ", 1)[0]!;
  }

  /** Takes the database over: it ends with the field. */
  static async start(database: Database, o: FieldOptions): Promise<Field> {
    let field: Field | undefined;
    try {
      await fill(database);
      const watch = await Watch.open(database);
      await using client = await RawClient.login(database, { viaSocket: true });
      field = new Field(o, database, watch, await client.one(WHO) ?? "");
      await field.#open();
      return field;
    } catch (error) {
      await (field ? field.stop() : database.stop());
      throw error;
    }
  }

  /** Processes that only carry bytes. */
  get others(): number[] {
    return this.#relay === undefined ? [] : [this.#relay.pid];
  }

  find(doors: readonly ArmProcess[], name: string): Door | undefined {
    return doors.flatMap((arm) => arm.doors).find((door) => door.name === name);
  }

  /** Another process of an arm, as fresh as can be. */
  async fresh(arm: ProxyArm, upstream: Database | { readonly port: number } = this.database): Promise<ArmProcess> {
    const dir = mkdtempSync(join(this.#dir, `${arm.name}-`));
    const { host, port, socket, user, password } = { ...this.database, port: upstream.port };
    return await arm.start({
      dir,
      upstream: { host, port, socket, user, password },
      fairleadRoot: this.#o.fairlead,
      toml: this.#o.toml,
    });
  }

  /** Those that can stand before this database. */
  get arms(): ProxyArm[] {
    return this.#o.arms.filter((arm) => arm.absent(this.database.kind) === undefined);
  }

  async #open(): Promise<void> {
    chmodSync(this.#dir, 0o755);
    const { arms } = this;
    for (const arm of this.#o.arms) {
      if (!arms.includes(arm)) this.#o.say(`without ${arm.name}: ${arm.absent(this.database.kind)}`);
    }
    this.processes.push(direct(this.database));
    for (const arm of arms) this.processes.push(await this.fresh(arm));
    if (this.#o.delayMs > 0) await this.#openDelayed(arms);
    for (const one of [...this.processes, ...this.delayed]) {
      this.#o.say(`${this.database.kind} ${one.arm}: pid ${one.pid}, ${one.executable}`);
    }
  }

  async #openDelayed(arms: readonly ProxyArm[]): Promise<void> {
    const script = fileURLToPath(new URL("./delaying_relay.ts", import.meta.url));
    const runtime = join(this.#o.fairlead, "node_modules/.bin/bun");
    const relay = launch({
      command: [runtime, "run", script, String(this.database.port), String(this.#o.delayMs)],
      logFile: join(this.#dir, "relay.out"),
    });
    this.#relay = relay;
    await until("the delaying relay is ready", relay, () => Promise.resolve(/^\d+\n/.test(relay.log())));
    const port = Number(relay.log());
    const place = { ...placeOf(this.database), port };
    this.delayed.push(withDoors(
      // Its listener is the relay's.
      { ...direct(this.database), pid: relay.pid, executable: realExecutable(relay.pid) },
      [{ name: "direct tcp", via: "tcp", place }],
    ));
    for (const arm of arms) {
      if (arm.name !== "router") this.delayed.push(await this.fresh(arm, { port }));
    }
  }

  async stop(): Promise<void> {
    for (const one of [...this.processes, ...this.delayed]) await one.stop();
    await this.#relay?.stop();
    this.watch.close();
    await this.database.stop();
    if (this.#o.keep) this.#o.say(`configuration and logs: ${this.#dir}`);
    else rmSync(this.#dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

function placeOf({ host, port, socket, user, password }: Database) {
  return { host, port, socket, user, password };
}

function realExecutable(pid: number): string {
  const file = executable(pid);
  if (file === undefined) throw new Error(`Process ${pid} is gone`);
  return file;
}

/** 10,000 rows with a key and a text. */
async function fill(database: Database): Promise<void> {
  const rows = Array.from({ length: 10_000 }, (_, i) => `(${i + 1},'value of the row ${i + 1}')`);
  await database.admin(
    "USE test",
    "CREATE TABLE items (id INT PRIMARY KEY, value VARCHAR(100) NOT NULL)",
    `INSERT INTO items VALUES ${rows.join(",")}`,
    "ANALYZE TABLE items",
  );
}
