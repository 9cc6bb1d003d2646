/** A bulkheads' server, and real PHP processes that use it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { LocalServer, type LocalServerOptions } from "../../../../plugins/bulkhead/local/local_server.ts";
import { waitFor } from "../../../support/wait.ts";
import { TinyStore } from "../../../bulkhead/local/tiny_store.ts";

export const library: string = fileURLToPath(new URL("../../../../php/src/autoload.php", import.meta.url));
export const shapes: string = fileURLToPath(new URL("rasuvaeff.php", import.meta.url));

/** A PHP process: what it prints, line by line, and its end. */
export class Php {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string | null>;
  text = "";

  constructor(code: string, env: Readonly<Record<string, string>>) {
    const head =
      `require ${JSON.stringify(library)}; use Fairlead\\Bulkhead\\{Bulkhead, SharedBulkhead, KeyedBulkhead, ` +
      "Slot, BulkheadFullException, BulkheadUnavailableException};";
    const args = ["-d", "display_errors=stderr", "-d", "error_reporting=-1", "-r", `${head}\n${code}`];
    this.child = spawn("php", args, { env: { PATH: process.env["PATH"]!, ...env }, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stdout!.setEncoding("utf8").on("data", (part: string) => this.text += part);
    this.child.stderr!.setEncoding("utf8").on("data", (part: string) => this.text += part);
    this.ended = new Promise((resolve) => this.child.on("close", (code, signal) => resolve(code ?? signal)));
  }

  /** Waits until it has printed this. */
  async says(word: string): Promise<void> {
    await waitFor(() => this.text.includes(word), { what: `PHP to say ${word}; it said: ${this.text}`, every: 1 });
  }

  /** Lets it go on: it waits in `fgets(STDIN)`. */
  go(): void {
    this.child.stdin!.write("\n");
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }
}

export class World {
  readonly dir: string = mkdtempSync(join(tmpdir(), "fairlead-bulkhead-"));
  readonly path: string = join(this.dir, "b.sock");
  readonly store: TinyStore;
  readonly problems: string[] = [];
  readonly all: Php[] = [];
  server: LocalServer | undefined;

  constructor(store: TinyStore = new TinyStore()) {
    this.store = store;
  }

  static async open(options: Partial<LocalServerOptions> = {}, store?: TinyStore): Promise<World> {
    const world = new World(store);
    await world.listen(options);
    return world;
  }

  async listen(options: Partial<LocalServerOptions> = {}): Promise<void> {
    this.server = await LocalServer.listen({
      path: this.path,
      store: this.store,
      onProblem: (error) => void this.problems.push(error.message),
      ...options,
    });
  }

  start(code: string, env: Readonly<Record<string, string>> = {}): Php {
    const php = new Php(code, { FAIRLEAD_BULKHEAD_SOCKET: this.path, ...env });
    this.all.push(php);
    return php;
  }

  /** What a script prints, as JSON. */
  async run(code: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const php = this.start(code, env);
    const end = await php.ended;
    if (end !== 0) throw new Error(`PHP ended with ${end}: ${php.text}`);
    try {
      return JSON.parse(php.text);
    } catch {
      throw new Error(`Expected JSON from PHP, got: ${php.text}`);
    }
  }

  async idle(): Promise<void> {
    await waitFor(() => this.store.idle, { what: "all permits to be back", every: 1 });
  }

  async close(): Promise<void> {
    for (const php of this.all) php.kill();
    await Promise.all(this.all.map((php) => php.ended));
    this.server?.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
