/**
 * Who is who in an arm whose PHP may be workers of any kind.
 *
 * @module
 */
import { basename } from "node:path";
import type { Running } from "../http/arms/arm.ts";
import { checkOwner } from "../support/ownership.ts";
import { executable, listeners, tree } from "../support/procfs.ts";

export interface Family {
  readonly server: readonly number[];
  readonly php: readonly number[];
}

const isPhp = (pid: number) => basename(executable(pid) ?? "").startsWith("php");

/** Throws unless the arm's port is held by its own server, and by nobody else. */
export async function checkFamily(arm: Running): Promise<Family> {
  const all = arm.roots.flatMap(tree);
  const server = all.filter((pid) => !isPhp(pid));
  await checkOwner(`port ${arm.port}`, listeners(arm.port), arm, server);
  return { server, php: all.filter(isPhp) };
}
