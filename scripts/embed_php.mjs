// Writes plugins/php/php_files.ts: what runs inside PHP (php/), as text, so that the single binary has it too.
// `node scripts/embed_php.mjs [--check]`
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { generated } from "./generated.mjs";
import { root } from "./setup.mjs";

const folder = join(root, "php");
const target = join(root, "plugins/php/php_files.ts");

function* files(at) {
  for (const entry of readdirSync(at, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1)) {
    const path = join(at, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else if (/\.(php|txt)$/.test(entry.name)) yield path;
  }
}

const entries = [...files(join(folder, "runtime")), ...files(join(folder, "src"))]
  .map((path) => `  ${JSON.stringify(relative(folder, path))}:\n    ${JSON.stringify(readFileSync(path, "utf8"))},\n`);
const text = `// Written by scripts/embed_php.mjs from php/: do not edit.

/** What runs inside PHP, by its path in the folder \`php/\`. */
export const phpFiles: Readonly<Record<string, string>> = {
${entries.join("")}};
`;

generated(target, text, "node scripts/embed_php.mjs");
