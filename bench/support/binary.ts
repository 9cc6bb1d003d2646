/**
 * Finding programs, so that the file that runs can be compared with the file that was meant.
 *
 * @module
 */
import { realpathSync } from "node:fs";
import process from "node:process";

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

/** The php-fpm that all arms run: the one that was asked for, or the first on PATH. */
export function phpFpm(given?: string): string {
  if (given !== undefined) return resolveBinary(given);
  return resolveBinary("php-fpm8.2", "php-fpm8.3", "php-fpm8.4", "php-fpm8.5", "php-fpm");
}
