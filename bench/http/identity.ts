/**
 * Who is who in an arm with php-fpm, and whether every arm's PHP is set up alike.
 *
 * @module
 */
import type { Running } from "./arms/arm.ts";
import { FACTS_PATH } from "./pages.ts";
import { checkOwner } from "../support/ownership.ts";
import { probe } from "../support/probe.ts";
import { executable, listeners, tree } from "../support/procfs.ts";

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

/** Throws unless the arm's port is held by its own server and nobody else, and exactly `children` PHP children stand ready. */
export async function checkIdentity(arm: Running, phpFpm: string, children: number): Promise<Processes> {
  const own = processes(arm, phpFpm);
  await checkOwner(`port ${arm.port}`, listeners(arm.port), arm, own.server);
  if (own.phpChildren.length !== children) {
    throw new Error(`${own.phpChildren.length} PHP children stand ready, expected ${children}`);
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
