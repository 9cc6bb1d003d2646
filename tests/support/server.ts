/**
 * Starts the server under test as its users do: a folder, a `fairlead.toml`, a process. Nothing of the server is
 * imported, so one suite runs on Bun, on Deno and on the compiled binary; and on nginx + php-fpm, to test the tests.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "smol-toml";
import { memoryKept } from "../../core/allocator.ts";
import { nginxCommand } from "./nginx.ts";
import { freePorts } from "./ports.ts";
import { descendantsOf, killRemaining, type Process } from "./proc.ts";
import { pause, waitFor, within } from "./wait.ts";

/** `nginx` and `careless` are no hosts of the server, but other servers in its place, to test the tests. */
export type HostName = "bun" | "deno" | "binary" | "nginx" | "careless";

/** Tables of a `fairlead.toml`. */
export type Config = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface StartOptions {
  readonly host: HostName;
  /**
   * An object is completed with free ports and written as TOML; a string is written as it stands, and must say where
   * to listen.
   */
  readonly config?: Config | string;
  /** The site's folder, where `fairlead.toml` is written; a temporary one, removed in the end, when absent. */
  readonly dir?: string;
  /** Variables to add to the environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Ms until `/readyz` must answer 200; 30 s when absent. */
  readonly readyTimeout?: number;
  /** What must answer 200; `/livez` for a server that is not to become ready, because what it needs is missing. */
  readonly probe?: "/readyz" | "/livez";
}

export interface Exit {
  /** The exit code, or null when a signal ended the process. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
}

export interface TestServer {
  readonly host: HostName;
  readonly url: string;
  readonly port: number;
  readonly adminUrl: string;
  readonly pid: number;
  readonly dir: string;
  /** What it wrote to stdout and stderr so far (the last MiB). */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** Settles when the process has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** Sends `signal` (SIGTERM when absent) and waits for the end, at most 60 s. */
  stop(signal?: NodeJS.Signals): Promise<Exit>;
  /** Values of `/metrics` by name with labels, `fairlead_php_busy{pool="php"}`. */
  metrics(): Promise<Map<string, number>>;
  [Symbol.asyncDispose](): Promise<void>;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

const commands: Readonly<Record<Exclude<HostName, "nginx" | "careless">, readonly string[]>> = {
  bun: [join(root, "node_modules/.bin/bun"), "--smol", "run", join(root, "cli/fairlead.ts")],
  deno: [join(root, "node_modules/.bin/deno"), "run", "-A", join(root, "cli/fairlead.ts")],
  binary: [join(root, "dist/fairlead")],
};

/** The program and first arguments that run the command line on a host. */
export function commandOf(host: HostName): readonly string[] {
  if (host === "nginx" || host === "careless") throw new Error(`${host} has no command line`);
  return commands[host];
}

/** The hosts to test on: the names in `FAIRLEAD_TEST_HOSTS` (`bun,deno,binary`), or `bun`. */
export function hosts(): HostName[] {
  const names = (process.env["FAIRLEAD_TEST_HOSTS"] ?? "bun").split(",").map((name) => name.trim()).filter(Boolean);
  for (const name of names) {
    if (!(name in commands) && name !== "nginx" && name !== "careless") {
      throw new Error(`FAIRLEAD_TEST_HOSTS names ${name}; expected bun, deno, binary, nginx or careless`);
    }
  }
  return names as HostName[];
}

/** {@linkcode hosts} without the binary, which is Bun, where it would only cost time. */
export function runtimes(): HostName[] {
  const all = hosts();
  return all.includes("bun") ? all.filter((host) => host !== "binary") : all;
}

/** Starts the server and waits until it is ready. When it does not get there, the error shows what it wrote. */
export async function startServer(options: StartOptions): Promise<TestServer> {
  const server = await launch(options);
  try {
    await ready(server, options.readyTimeout ?? 30_000, options.probe ?? "/readyz");
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw new Error(`${(error as Error).message}\n--- output of ${options.host} ---\n${server.output()}`);
  }
}

/** Runs a server that is expected to end by itself, because its configuration or its port is bad. */
export async function runToExit(options: StartOptions): Promise<Exit> {
  const server = await launch(options);
  try {
    return await within(options.readyTimeout ?? 15_000, "The end of a server that must not start", server.exited);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n--- output of ${options.host} ---\n${server.output()}`);
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

async function launch(options: StartOptions): Promise<TestServer> {
  const { host } = options;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), "fairlead-test-"));
  mkdirSync(join(dir, "public"), { recursive: true });
  // php-fpm's children run as another user when root starts them.
  chmodSync(dir, 0o755);
  const file = join(dir, "fairlead.toml");
  const text = typeof options.config === "string" ? options.config : stringify(await complete(options.config ?? {}));
  writeFileSync(file, text);
  const { port, adminPort } = portsOf(text);
  const [program, ...args] = commandFor(host, file, text);
  if (!existsSync(program!)) throw new Error(`Cannot start ${host}: no such file ${program}`);

  const child = spawn(program!, args, {
    cwd: dir,
    // Starting over for it takes a quarter of a second, and there are hundreds of starts.
    env: withoutAbsent({ ...memoryKept, ...cleanEnvironment(), ...options.env }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const server = supervise(child, host, dir, port, adminPort);
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
    },
  };
}

function commandFor(host: HostName, file: string, text: string): string[] {
  const { port, adminPort } = portsOf(text);
  switch (host) {
    case "nginx":
      return nginxCommand(parse(text) as Config, dirname(file), port, adminPort);
    case "careless": {
      const script = join(root, "tests/support/careless.ts");
      return [commands.bun[0]!, script, join(dirname(file), "public"), String(port), String(adminPort)];
    }
    default:
      return [...commands[host], "serve", "-c", file];
  }
}

function supervise(child: ChildProcess, host: HostName, dir: string, port: number, adminPort: number): TestServer {
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => output = (output + text).slice(-1_048_576));
  }
  let ended = false;
  let family: Process[] = [];
  const exited = new Promise<Exit>((resolve) => {
    child.on("error", (error) => output += `${error}\n`);
    child.on("exit", () => ended = true);
    // `close` comes when the pipes are closed too; a child that outlives the server may hold them.
    const finish = (code: number | null, signal: string | null) => {
      child.stdout!.destroy();
      child.stderr!.destroy();
      if (host === "nginx") killRemaining(family);
      resolve({ code, signal, output });
    };
    child.on("close", finish);
    child.on("exit", (code, signal) => setTimeout(() => finish(code, signal), 500));
  });
  const signal = (name: NodeJS.Signals) => {
    family = descendantsOf(child.pid!);
    child.kill(host === "nginx" && name === "SIGTERM" ? "SIGQUIT" : name);
  };
  return {
    host,
    url: `http://127.0.0.1:${port}`,
    port,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    pid: child.pid ?? -1,
    dir,
    output: () => output,
    signal,
    exited,
    async stop(name = "SIGTERM") {
      signal(name);
      return await within(60_000, `The end after ${name}`, exited);
    },
    async metrics() {
      const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
      if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
      return parseMetrics(await response.text());
    },
    async [Symbol.asyncDispose]() {
      if (!ended && child.pid !== undefined) {
        signal("SIGTERM");
        await Promise.race([exited, pause(5000)]);
        family.push(...descendantsOf(child.pid));
        if (!ended) child.kill("SIGKILL");
        await exited;
      }
      killRemaining(family);
    },
  };
}

async function ready(server: TestServer, timeout: number, probe: "/readyz" | "/livez"): Promise<void> {
  let over: Exit | undefined;
  void server.exited.then((exit) => over = exit);
  await waitFor(async () => {
    if (over) return true;
    const response = await fetch(`${server.adminUrl}${probe}`);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${probe} ${response.status} ${text.slice(0, 300)}`);
    return true;
  }, { what: `${server.host} to be ready on ${server.adminUrl}`, timeout });
  if (over) throw new Error(`${server.host} ended before it was ready, with ${over.code ?? over.signal}`);
  if (server.host === "nginx") return;
  const whoami = await (await fetch(`${server.adminUrl}/-/whoami`)).json() as { pid?: number };
  if (whoami.pid !== server.pid) {
    throw new Error(`${server.adminUrl} is served by pid ${whoami.pid}, not by the ${server.pid} started here`);
  }
}

async function complete(config: Config): Promise<Config> {
  const [port, adminPort] = await freePorts(2);
  return {
    ...config,
    server: { listen: [`127.0.0.1:${port}`], public: "./public", ...config["server"] },
    admin: { listen: `127.0.0.1:${adminPort}`, ...config["admin"] },
  };
}

/** The ports a configuration names; 0 when it cannot be read, which is then what is being tested. */
function portsOf(text: string): { port: number; adminPort: number } {
  try {
    const config = parse(text) as { server?: { listen?: string[] }; admin?: { listen?: string } };
    const portOf = (address: string | undefined) => Number(address?.split(":").at(-1) ?? 0);
    return { port: portOf(config.server?.listen?.[0]), adminPort: portOf(config.admin?.listen) };
  } catch {
    return { port: 0, adminPort: 0 };
  }
}

export function cleanEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name, value]) =>
    value !== undefined && !name.startsWith("FAIRLEAD_")
  );
  return Object.fromEntries(kept) as Record<string, string>;
}

function withoutAbsent(env: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

/** Reads the Prometheus text format into a map from `name{labels}` to the value. */
export function parseMetrics(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const matched = /^([a-zA-Z_:][\w:]*(?:\{.*\})?)\s+(\S+)/.exec(line);
    if (matched) values.set(matched[1]!, Number(matched[2]!.replace("Inf", "Infinity")));
  }
  return values;
}

/** The sum over all labels of one metric; undefined when there is no such metric. */
export function total(metrics: ReadonlyMap<string, number>, name: string): number | undefined {
  const found = [...metrics].filter(([key]) => key === name || key.startsWith(`${name}{`));
  return found.length === 0 ? undefined : found.reduce((sum, [, value]) => sum + value, 0);
}
