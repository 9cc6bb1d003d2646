/**
 * A server process that tests start, kill, freeze and start again.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { type ChildProcess, spawn } from "node:child_process";
import { connect } from "node:net";
import process from "node:process";
import { waitFor, within } from "./wait.ts";

export interface DaemonOptions {
  /** As the errors shall call it. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The loopback port on which it says the first word once it can take a login. */
  readonly port: number;
}

export class Daemon {
  readonly #options: DaemonOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #output = "";

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  /** Of the running process; -1 when there is none. */
  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** What it wrote so far, over all its lives (the last 100 kB). */
  output(): string {
    return this.#output;
  }

  /** Starts it and waits until it greets. */
  async start(): Promise<void> {
    const { name, program, args, port } = this.#options;
    if (this.#child) throw new Error(`${name} runs already`);
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on("data", (bytes: Uint8Array) => {
        this.#output = (this.#output + new TextDecoder().decode(bytes)).slice(-100_000);
      });
    }
    this.#exited = new Promise((done) =>
      child.once("exit", () => {
        if (this.#child === child) this.#child = undefined;
        done();
      })
    );
    try {
      await waitFor(() => this.#child ? greets(port) : true, { what: `${name} to greet`, timeout: 120_000 });
      if (!this.#child) throw new Error(`${name} ended at once`);
    } catch (error) {
      await this.end("SIGKILL");
      throw new Error(`${(error as Error).message}\n--- output of ${program} ---\n${this.#output}`);
    }
  }

  /** Ends it: SIGTERM, and SIGKILL when that takes more than 30 s; or SIGKILL at once. */
  async end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    this.#signal("SIGCONT");
    this.#signal(signal);
    await within(30_000, `The end of ${this.#options.name}`, this.#exited).catch(() => this.#signal("SIGKILL"));
    await this.#exited;
  }

  /** SIGSTOP: the system still accepts connections for it, but nothing answers. Returns when every thread has stopped. */
  freeze(): void {
    this.#signal("SIGSTOP");
    const tasks = `/proc/${this.#child?.pid}/task`;
    const stopped = (task: string) => {
      try {
        return / [TtXZ] /.test(readFileSync(`${tasks}/${task}/stat`, "latin1").replace(/^.*\)/, ""));
      } catch {
        return true;
      }
    };
    while (!readdirSync(tasks).every(stopped));
  }

  thaw(): void {
    this.#signal("SIGCONT");
  }

  /** Not the child's own `kill`: on Deno that sends one signal only, whichever it was. */
  #signal(name: NodeJS.Signals): void {
    if (this.#child?.pid !== undefined) process.kill(this.#child.pid, name);
  }
}

function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("data", () => settle(true));
    for (const event of ["error", "close"]) socket.once(event, () => settle(false));
  });
}
