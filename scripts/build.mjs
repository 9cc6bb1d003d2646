// `npm run build`: makes the single binary dist/fairlead.
import { mkdirSync } from "node:fs";
import { bun, fail, npmPackages, root, run } from "./setup.mjs";

npmPackages();
mkdirSync(new URL("../dist", import.meta.url), { recursive: true });
const code = run(bun, [
  "build",
  "--compile",
  "--minify-syntax",
  "--minify-whitespace",
  "--sourcemap",
  "--format=esm",
  // A bunfig.toml or .env in the folder of a web site must never run in the server or change it.
  "--no-compile-autoload-bunfig",
  "--no-compile-autoload-dotenv",
  // Lets a plugin loaded from disk find its own npm packages.
  "--compile-autoload-package-json",
  // Small, frequent collections, as with `bun --smol`: a small heap is worth the little CPU time.
  "--compile-exec-argv=--smol",
  "cli/fairlead.ts",
  "--outfile",
  "dist/fairlead",
], { cwd: root });
if (code !== 0) fail("bun could not build dist/fairlead; see its message above");
