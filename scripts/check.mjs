// `npm run check`: types, lint, format, the architecture's borders, and whether the generated documentation is current.
import { deno, npmPackages, run } from "./setup.mjs";

npmPackages();
const steps = [
  ["types", "node_modules/.bin/tsc", ["-p", "."]],
  ["types of the page", "node_modules/.bin/tsc", ["-p", "plugins/dashboard/browser"]],
  ["lint", deno, ["lint", "--quiet"]],
  ["format", deno, ["fmt", "--check", "--quiet"]],
  ["imports", "node", ["scripts/boundaries.mjs"]],
  ["embedded PHP", "node", ["scripts/embed_php.mjs", "--check"]],
  ["embedded page", deno, ["run", "-A", "scripts/embed_page.mjs", "--check"]],
  ["docs", "node", ["scripts/docs.mjs", "--check"]],
];
let failed = 0;
for (const [name, command, args] of steps) {
  const ok = run(command, args) === 0;
  console.log(`${ok ? "ok  " : "FAIL"} ${name}`);
  if (!ok) failed++;
}
process.exit(failed === 0 ? 0 : 1);
