// Fails when an import breaks the architecture: core/ knows no plugin, a plugin knows itself and core/, no module waits for one that
// waits for it, and the entries for edge runtimes reach nothing but web APIs.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { circles, importsOf, withoutComments } from "./imports.mjs";

const top = dirname(dirname(fileURLToPath(import.meta.url)));

/** Every TypeScript file under a folder. */
function* sources(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name === "node_modules") continue;
    if (statSync(path).isDirectory()) yield* sources(path);
    else if (/\.[cm]?ts$/.test(name)) yield path;
  }
}

/**
 * What is wrong with one import, or undefined. Paths are relative to the project, with forward slashes; `entries` are those
 * that the package exports.
 */
export function verdict(file, target, packages, entries) {
  const room = file.split("/");
  if (!target.startsWith(".")) {
    if (/^(node:|bun:test$)/.test(target)) return undefined;
    const name = target.split("/").slice(0, target.startsWith("@") ? 2 : 1).join("/");
    return packages.has(name) ? undefined : `imports "${target}", which is neither node: nor a declared dependency`;
  }
  const to = relative(top, resolve(top, dirname(file), target)).split("/");
  if (!/\.[a-z]+$/.test(target)) return `imports "${target}" without its file extension`;
  if (room[0] === "core" && to[0] !== "core") return `the core imports ${to.join("/")}`;
  if (room[0] === "plugins" && to[0] === "plugins" && to[1] !== room[1]) {
    return `plugin ${room[1]} imports plugin ${to[1]}`;
  }
  if (room[0] === "plugins" && !["plugins", "core"].includes(to[0])) return `plugin ${room[1]} imports ${to.join("/")}`;
  if (room[0] === "examples" && to[0] !== "examples" && !entries.has(to.join("/"))) {
    return `an example imports ${to.join("/")}, which package.json does not export`;
  }
  return undefined;
}

/** All broken imports of the project, as lines. */
export function brokenImports(folder = top) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const run = new Set(Object.keys(manifest.dependencies));
  const all = new Set([...run, ...Object.keys(manifest.devDependencies)]);
  const entries = new Set(Object.values(manifest.exports).map((path) => path.slice("./".length)));
  const out = [];
  const texts = new Map();
  for (const room of ["core", "plugins", "cli", "tests", "bench", "examples"]) {
    for (const path of sources(join(folder, room))) {
      const file = relative(folder, path).split("\\").join("/");
      const text = readFileSync(path, "utf8");
      texts.set(file, text);
      const packages = room === "tests" || room === "bench" ? all : run;
      for (const { target } of importsOf(text)) {
        const wrong = verdict(file, target, packages, entries);
        if (wrong !== undefined) out.push(`${file}: ${wrong}`);
      }
    }
  }
  return [...out, ...circles(texts).map((files) => `${files.join(" -> ")} -> ${files[0]}: a circle of imports`)];
}

/** What only some runtimes have; type-only imports are erased and may reach anything. */
const hostOnly = /(?<![.\w"'`])(?:Bun|Deno|process|Buffer|require|__dirname)\b(?=[.([])|\bimport\.meta\b/;

/**
 * What keeps an entry from running where there are only web APIs: `node:` modules, packages or globals of a runtime anywhere
 * in its graph, as lines.
 */
export function unportable(entry, folder = top) {
  const out = [];
  const seen = new Set([entry]);
  for (const file of seen) {
    const text = readFileSync(join(folder, file), "utf8");
    for (const { target, kind } of importsOf(text)) {
      if (kind === "type") continue;
      if (target.startsWith(".")) {
        seen.add(relative(folder, resolve(folder, dirname(file), target)).split("\\").join("/"));
      } else out.push(`${file}: imports "${target}", which edge runtimes need not have`);
    }
    const found = hostOnly.exec(withoutComments(text));
    if (found !== null) out.push(`${file}: uses ${found[0]}, which edge runtimes need not have`);
  }
  return out;
}

/** Entries of the package that must run everywhere. */
const portable = ["plugins/admission/mod.ts"];

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const broken = [...brokenImports(), ...portable.flatMap((entry) => unportable(entry))];
  for (const line of broken) console.error(line);
  if (broken.length > 0) process.exit(1);
  console.log("imports keep to their rooms");
}
