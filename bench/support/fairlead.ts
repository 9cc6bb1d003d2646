/**
 * Starts the Fairlead that is measured.
 *
 * @module
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch, until } from "./process.ts";

/** What starts a Fairlead in its folder, without the command and its configuration: `[bun, "run", "mod.ts"]`. */
export type Runtime = (root: string) => readonly [string, ...string[]];

const bun = (root: string) => join(root, "node_modules/.bin/bun");
const deno = (root: string) => join(root, "node_modules/.bin/deno");

/** As `npm start` runs it. */
export const BUN: Runtime = (root) => [bun(root), "--smol", "run", "mod.ts"];
export const BUN_NOT_SMOL: Runtime = (root) => [bun(root), "run", "mod.ts"];
export const DENO: Runtime = (root) => [deno(root), "run", "-A", "mod.ts"];
/** As `npm start` runs it on Deno. */
export const DENO_SMALL: Runtime = (root) => [deno(root), "run", "-A", "--v8-flags=--max-semi-space-size=1", "mod.ts"];
export const BINARY: Runtime = (root) => [join(root, "dist/fairlead")];

export interface FairleadOptions {
  readonly name: string;
  readonly runtime: Runtime;
  /** Where `mod.ts`, `node_modules` and `dist` of the Fairlead under test are. */
  readonly root: string;
  /** For configuration and log. */
  readonly dir: string;
  readonly toml: string;
  /** Of `[admin]` in `toml`. */
  readonly adminPort: number;
  readonly env?: Readonly<Record<string, string>>;
}

export interface StartedFairlead {
  readonly adminPort: number;
  readonly pid: number;
  readonly executable: string;
  readonly command: readonly string[];
  readonly config: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Resolves once it is ready. */
export async function startFairlead(o: FairleadOptions): Promise<StartedFairlead> {
  mkdirSync(o.dir, { recursive: true });
  const file = join(o.dir, "fairlead.toml");
  writeFileSync(file, o.toml);
  const [program, ...rest] = o.runtime(o.root);
  const server = launch({
    command: [program, ...rest, "serve", "-c", file],
    logFile: join(o.dir, "fairlead.out"),
    cwd: o.root,
    ...(o.env === undefined ? {} : { env: o.env }),
  });
  try {
    await until(`${o.name} is ready`, server, async () => {
      return (await fetch(`http://127.0.0.1:${o.adminPort}/readyz`)).status === 200;
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    adminPort: o.adminPort,
    pid: server.pid,
    executable: realpathSync(program),
    command: server.command,
    config: { "fairlead.toml": o.toml },
    stop: () => server.stop(),
  };
}
