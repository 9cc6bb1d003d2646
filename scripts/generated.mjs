import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";

/** Writes a file that is made of others; with `--check` fails where it is not what they say, and tells `command`, which writes it. */
export function generated(target, text, command) {
  if (!process.argv.includes("--check")) return writeFileSync(target, text);
  let current = "";
  try {
    current = readFileSync(target, "utf8");
  } catch {
    // Not written yet: not current.
  }
  if (current === text) return;
  console.error(`${target} is not what it is made of says: run ${command}`);
  process.exit(1);
}
