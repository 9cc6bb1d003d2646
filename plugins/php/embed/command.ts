import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { memoryKept } from "../../../core/allocator.ts";
import type { Command } from "../native/command.ts";

/** The verb by which the single binary becomes a process with PHP in it. */
export const embedVerb = "php-embed";

/** How a process with PHP in it is started: by the runtime that we run on ourselves. */
export function embedCommand(phpNode: string): Command {
  const env = { FAIRLEAD_PHP_NODE: phpNode, ...memoryKept };
  const main = new URL("./main.ts", import.meta.url);
  const onDisk = main.protocol === "file:" && existsSync(main);
  if (!onDisk) return { argv: [process.execPath, embedVerb], env };
  const options = "Deno" in globalThis ? ["run", "-A", "--no-check", "--quiet"] : ["--smol", "run"];
  return { argv: [process.execPath, ...options, fileURLToPath(main)], env };
}
