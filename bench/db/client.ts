/**
 * Runs `client.php` for one window.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Door } from "./arms/arm.ts";

export type Api = "mysqli" | "pdo";
export type Shape = "read-only" | "wordpress";
export type Query = "key" | "rows";

/** What a client shall do; `warmup` times of it are not timed. */
export type Job =
  & { readonly warmup: number }
  & (
    | {
      readonly kind: "sessions";
      readonly api: Api;
      readonly shape: Shape;
      readonly count: number;
      readonly seconds?: number;
    }
    | { readonly kind: "queries"; readonly query: Query; readonly count: number }
    | { readonly kind: "queries"; readonly query: Query; readonly seconds: number }
    | { readonly kind: "bulk"; readonly rows: number; readonly pauseUs: number; readonly count: number }
  );

export interface Timed {
  /** Answers that were not what they must be. */
  readonly errors: number;
  /** Nanoseconds of each piece of work. */
  readonly times: readonly number[];
}

const script = fileURLToPath(new URL("./client.php", import.meta.url));

/** JIT off, so that PHP itself is the same in the first thousand pieces of work and in the last. */
const command = ["php", "-d", "opcache.enable_cli=0", "-d", "display_errors=stderr", "-d", "memory_limit=1G", script];

export class Client {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = "";

  private constructor(door: Door, job: Job) {
    const { host, port, socket, user, password } = door.place;
    const all = { ...job, via: door.via, host, port, socket, user, password };
    const [program, ...args] = command;
    this.#child = spawn(program!, args, {
      env: { ...process.env, BENCH_JOB: JSON.stringify(all) },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.on("error", (error) => this.#errors += error.message);
    this.#child.stdin!.on("error", () => {});
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => this.#errors += text);
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  /** Starts one and waits until it has warmed up. */
  static async ready(door: Door, job: Job): Promise<Client> {
    const client = new Client(door, job);
    try {
      const line = await client.#line();
      if (line !== "ready") throw new Error(`PHP said ${line}, expected "ready"`);
      return client;
    } catch (error) {
      client.end();
      throw new Error(`The client at ${door.name}: ${(error as Error).message}`);
    }
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  async #line(): Promise<string> {
    const { done, value } = await this.#lines.next();
    if (!done) return value;
    throw new Error(`PHP has ended: ${this.#errors.slice(0, 2000)}`);
  }

  /** Works, and stays. */
  async work(): Promise<Timed> {
    this.#child.stdin!.write("go\n");
    return JSON.parse(await this.#line()) as Timed;
  }

  end(): void {
    this.#child.stdin!.end();
    this.#child.kill();
  }
}
