// Writes plugins/dashboard/page_files.ts: what the browser gets of plugins/dashboard/, as text, so that the single binary has it
// too. Of TypeScript only the types are taken out, so that lines and columns are those of the sources.
// `node_modules/.bin/deno run -A scripts/embed_page.mjs [--check]`; Deno, because it has node's `stripTypeScriptTypes`.
import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { generated } from "./generated.mjs";
import { root } from "./setup.mjs";

const folder = join(root, "plugins/dashboard");
const target = join(folder, "page_files.ts");

const names = ["browser", "figures", "page"].flatMap((room) =>
  readdirSync(join(folder, room)).map((name) => `${room}/${name}`)
)
  .filter((name) => /\.(ts|css|html)$/.test(name)).sort();

const entries = names.flatMap((name) => {
  const source = readFileSync(join(folder, name), "utf8");
  // What were types are now blanks at the ends of lines.
  const served = name.endsWith(".ts") ? stripTypeScriptTypes(source).replace(/[ \t]+$/gm, "") : source;
  const onlyTypes = /^(\s|\/\*[\s\S]*?\*\/|\/\/.*)*$/.test(served);
  return onlyTypes ? [] : [`  ${JSON.stringify(name)}:\n    ${JSON.stringify(served)},\n`];
});
const text = `// Written by scripts/embed_page.mjs from plugins/dashboard/: do not edit.

/** What the browser gets, by its path in the folder \`plugins/dashboard/\`. */
export const pageFiles: Readonly<Record<string, string>> = {
${entries.join("")}};
`;

generated(target, text, "node_modules/.bin/deno run -A scripts/embed_page.mjs");
