/**
 * A private Redis, or a Valkey in a chroot: own port and folder, nothing written to disk, gone in the end.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../support/ports.ts";
import { waitFor } from "../../support/wait.ts";

export type ServerKind = "redis" | "valkey";

const valkeyRoot = process.env["TEST_VALKEY"] ?? "";

/** The servers that are here, and why the others are not, as a test's name shall say it. */
export function serverAbsent(kind: ServerKind): string | undefined {
  if (kind === "redis") {
    try {
      execFileSync("redis-server", ["--version"], { stdio: "pipe" });
      return undefined;
    } catch {
      return "no redis-server in PATH";
    }
  }
  if (!existsSync(join(valkeyRoot, "usr/bin/valkey-server"))) {
    return "no Valkey: TEST_VALKEY names a Debian tree with one";
  }
  return process.getuid?.() === 0 ? undefined : "Valkey runs in a chroot, which needs root";
}

export class RedisServer {
  readonly kind: ServerKind;
  readonly port: number;
  readonly #args: readonly string[];
  readonly #dir = mkdtempSync(join(tmpdir(), "fairlead-redis-"));
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();

  private constructor(kind: ServerKind, port: number, args: readonly string[]) {
    this.kind = kind;
    this.port = port;
    this.#args = args;
  }

  /** Starts one; `args` are added to its command line. */
  static async start(kind: ServerKind = "redis", args: readonly string[] = []): Promise<RedisServer> {
    const server = new RedisServer(kind, await freePort(), args);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const options = ["--port", String(this.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    const common = { cwd: this.#dir, stdio: "ignore" } as const;
    const child = this.kind === "redis"
      ? spawn("redis-server", [...options, ...this.#args], common)
      : spawn("chroot", [valkeyRoot, "valkey-server", ...options, ...this.#args], common);
    this.#child = child;
    this.#exited = new Promise((done) => child.once("exit", done));
    const up = { what: `${this.kind} to listen`, every: 10, timeout: 60_000 };
    await waitFor(() => child.exitCode !== null || answers(this.port), up);
    if (child.exitCode !== null) throw new Error(`${this.kind} ended at once`);
  }

  /** Not by the child's own `kill`: on Deno that sends one signal only, whichever it was. */
  signal(name: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    const { pid, exitCode, signalCode } = this.#child ?? {};
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(pid, name);
  }

  /** Kills it, data and all, and waits for its end. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** Resident bytes of the server process. */
  rss(): number {
    const status = readFileSync(`/proc/${this.#child?.pid}/status`, "latin1");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (ok: boolean) => {
      socket.destroy();
      resolve(ok);
    };
    socket.once("error", () => end(false));
    socket.once("data", (bytes) => end(String(bytes).startsWith("+PONG")));
    socket.once("connect", () => socket.write("PING\r\n"));
  });
}
