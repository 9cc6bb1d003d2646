/**
 * Refuses to measure a server that is not the one that was started.
 *
 * @module
 */
import { realpathSync } from "node:fs";
import process from "node:process";
import type { Running } from "./arms/arm.ts";
import { FACTS_PATH } from "./pages.ts";
import { probe } from "./probe.ts";
import { executable, listeners, tree } from "./procfs.ts";

/** The processes of an arm, split into the server and PHP. */
export interface Processes {
  readonly server: readonly number[];
  readonly php: readonly number[];
  /** PHP processes whose parent is PHP too: the children that execute. */
  readonly phpChildren: readonly number[];
}

export function processes(arm: Running, phpFpm: string): Processes {
  const php = new Set<number>();
  const server: number[] = [];
  const children: number[] = [];
  for (const root of arm.roots) {
    for (const pid of tree(root)) {
      if (executable(pid) === phpFpm) php.add(pid);
      else server.push(pid);
    }
  }
  for (const pid of php) children.push(...tree(pid).slice(1).filter((child) => php.has(child)));
  return { server, php: [...php], phpChildren: [...new Set(children)] };
}

/**
 * Throws unless the listener on the arm's port is held by the arm's own processes and by nobody else, they run the
 * executable that was started, the server itself says the same pid, and exactly `children` PHP children stand ready.
 */
export async function checkIdentity(arm: Running, phpFpm: string, children: number): Promise<Processes> {
  const owners = listeners(arm.port);
  if (owners.length === 0) throw new Error(`Nobody listens on port ${arm.port}`);
  const own = processes(arm, phpFpm);
  for (const pid of owners) {
    if (!own.server.includes(pid)) {
      throw new Error(`Port ${arm.port} is also held by ${pid} (${executable(pid)}), which is not the server`);
    }
    const file = executable(pid);
    if (file !== arm.executable) throw new Error(`Process ${pid} runs ${file}, expected ${arm.executable}`);
  }
  if (!owners.includes(arm.pid)) {
    throw new Error(`Port ${arm.port} is not held by ${arm.pid}, which was started for it`);
  }
  if (own.phpChildren.length !== children) {
    throw new Error(`${own.phpChildren.length} PHP children stand ready, expected ${children}`);
  }
  if (arm.adminPort !== undefined) {
    const who = await (await fetch(`http://127.0.0.1:${arm.adminPort}/-/whoami`)).json() as { pid?: unknown };
    if (who.pid !== arm.pid) throw new Error(`/-/whoami says pid ${who.pid}, expected ${arm.pid}`);
  }
  return own;
}

export interface PhpFacts {
  readonly pid: number;
  readonly version: string;
  readonly sapi: string;
  readonly user: number;
  readonly opcache: boolean;
  readonly jit: boolean;
  readonly extensions: readonly string[];
  readonly ini: Readonly<Record<string, string | null>>;
}

/** Asks the PHP behind the arm for its settings, and checks that it is the arm's own PHP. */
export async function phpFacts(arm: Running, phpFpm: string): Promise<PhpFacts> {
  const answer = await probe({ port: arm.port, path: FACTS_PATH });
  const facts = JSON.parse(answer.body.toString()) as PhpFacts;
  if (!processes(arm, phpFpm).phpChildren.includes(facts.pid)) {
    throw new Error(`PHP ${facts.pid} answered, which is not a child of this arm`);
  }
  if (!facts.opcache) throw new Error("opcache is off");
  if (facts.jit) throw new Error("opcache.jit is on");
  return facts;
}

/** Settings of `b` that are not those of `a`, as `name: a -> b`. */
export function iniDifferences(a: PhpFacts, b: PhpFacts): string[] {
  const names = new Set([...Object.keys(a.ini), ...Object.keys(b.ini)]);
  const differ = [...names].filter((name) => a.ini[name] !== b.ini[name]).sort();
  return [
    ...differ.map((name) => `${name}: ${a.ini[name] ?? "(none)"} -> ${b.ini[name] ?? "(none)"}`),
    ...(a.version === b.version ? [] : [`PHP_VERSION: ${a.version} -> ${b.version}`]),
    ...(a.extensions.join() === b.extensions.join() ? [] : ["the loaded extensions differ"]),
  ];
}

/** The real file behind the first of these command names or paths that exists. */
export function resolveBinary(...names: readonly string[]): string {
  const path = (process.env["PATH"] ?? "").split(":");
  for (const file of names.flatMap((name) => name.includes("/") ? [name] : path.map((dir) => `${dir}/${name}`))) {
    try {
      return realpathSync(file);
    } catch {
      continue;
    }
  }
  throw new Error(`Cannot find ${names.join(" or ")}: not on PATH`);
}
