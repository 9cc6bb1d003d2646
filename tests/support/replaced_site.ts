/**
 * A server that others replace while it runs: whichever serves now is found by its admin listener, and all write into one file.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { stringify } from "smol-toml";
import { memoryKept } from "../../core/allocator.ts";
import { freePorts } from "./ports.ts";
import { alive, descendantsOf, killRemaining, type Process } from "./proc.ts";
import { cleanEnvironment, commandOf, type Config, type HostName } from "./server.ts";
import { waitFor, within } from "./wait.ts";

/** Asks on a connection of its own: one that was kept leads to the server before, as long as that is there. */
export function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => text += chunk);
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.on("error", reject);
  });
}

export interface Outcome {
  readonly code: number;
  /** Of stdout and stderr. */
  readonly output: string;
}

export interface SiteOptions {
  readonly host: HostName;
  /** The program to run in place of the host's. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What there is besides `fairlead.toml`, by its name in the folder. */
  readonly files?: Readonly<Record<string, string>>;
  readonly config?: Config;
}

export class ReplacedSite {
  readonly dir: string = mkdtempSync(join(tmpdir(), "fairlead-replaced-"));
  readonly port: number;
  readonly adminPort: number;
  readonly #options: SiteOptions;
  readonly #seen = new Set<number>();
  #first: ChildProcess | undefined;
  /** How the first server ended. */
  exited: Promise<number | string | null> = Promise.resolve(null);

  private constructor(options: SiteOptions, [port, adminPort]: readonly number[]) {
    this.#options = options;
    this.port = port!;
    this.adminPort = adminPort!;
  }

  /** Writes the files and starts the first server; resolves when it is ready. */
  static async start(options: SiteOptions): Promise<ReplacedSite> {
    const site = new ReplacedSite(options, await freePorts(2));
    chmodSync(site.dir, 0o755);
    mkdirSync(join(site.dir, "public"));
    for (const [name, text] of Object.entries(options.files ?? {})) writeFileSync(join(site.dir, name), text);
    site.configure(options.config ?? {});
    const log = openSync(join(site.dir, "log"), "a");
    const [program, ...args] = site.#command("serve", "-c", site.file);
    const child = site.#first = spawn(program!, args, {
      cwd: site.dir,
      env: { ...memoryKept, ...cleanEnvironment(), ...options.env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    site.#seen.add(child.pid!);
    site.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
    let over = false;
    void site.exited.then(() => over = true);
    try {
      const ready = () => over || ask(`${site.adminUrl}/readyz`).then(({ status }) => status === 200);
      await waitFor(ready, { what: "the server", timeout: 30_000 });
      if (over) throw new Error("it ended");
    } catch (error) {
      await site[Symbol.asyncDispose]();
      throw new Error(`${(error as Error).message}\n${site.log()}`);
    }
    return site;
  }

  get file(): string {
    return join(this.dir, "fairlead.toml");
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.adminPort}`;
  }

  get firstPid(): number {
    return this.#first!.pid!;
  }

  /** Writes the configuration, completed with where to listen. */
  configure(config: Config): void {
    const listen = [`127.0.0.1:${this.port}`];
    const text = stringify({
      ...config,
      server: { listen, public: "./public", ...config["server"] },
      admin: { listen: `127.0.0.1:${this.adminPort}`, ...config["admin"] },
      log: { access: "off", ...config["log"] },
    });
    writeFileSync(this.file, text);
  }

  /** All that the servers wrote so far. */
  log(): string {
    return readFileSync(join(this.dir, "log"), "utf8");
  }

  /** Of the server that serves now. */
  async pid(): Promise<number> {
    const { pid } = JSON.parse((await ask(`${this.adminUrl}/-/whoami`)).text) as { pid: number };
    this.#seen.add(pid);
    return pid;
  }

  /** Runs `fairlead restart`. */
  restart(...args: readonly string[]): Promise<Outcome> {
    return this.run("restart", ...(args.length > 0 ? args : ["-c", this.file]));
  }

  async run(...words: readonly string[]): Promise<Outcome> {
    const [program, ...args] = this.#command(...words);
    const outcome = await new Promise<Outcome>((resolve) => {
      execFile(program!, args, { cwd: this.dir, env: cleanEnvironment() }, (error, stdout, stderr) => {
        const code = error === null ? 0 : Number((error as { code?: unknown }).code);
        resolve({ code, output: `${stdout}${stderr}` });
      });
    });
    await this.pid().catch(() => {});
    return outcome;
  }

  /** Restarts, and throws when that fails; returns the pid of the server that serves then. */
  async replace(): Promise<number> {
    const { code, output } = await this.restart();
    if (code !== 0) throw new Error(`restart: ${output}\n${this.log()}`);
    return await this.pid();
  }

  /** Sends SIGTERM to the server that serves, and waits until it has gone. */
  async stop(): Promise<void> {
    const pid = await this.pid();
    process.kill(pid, "SIGTERM");
    await waitFor(() => !alive(pid), { what: "the end", timeout: 30_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pid().catch(() => {});
    const all = [...this.#seen].flatMap((pid): Process[] => descendantsOf(pid));
    for (const pid of this.#seen) {
      try {
        if (alive(pid)) process.kill(pid, "SIGTERM");
      } catch { /* gone meanwhile */ }
    }
    const gone = () => [...this.#seen].every((pid) => !alive(pid));
    await waitFor(gone, { what: "the end of all", timeout: 10_000 }).catch(() => {
      for (const pid of this.#seen) if (alive(pid)) process.kill(pid, "SIGKILL");
    });
    killRemaining(all);
    await within(5000, "the end of the first", this.exited).catch(() => {});
    rmSync(this.dir, { recursive: true, force: true });
  }

  #command(...words: readonly string[]): readonly string[] {
    return [...(this.#options.command ?? commandOf(this.#options.host)), ...words];
  }
}
