// `npm run docs`: writes docs/configuration.md and docs/metrics.md from the code.
// `npm run docs -- --check` writes nothing and fails when they are out of date, or when a link in any page is broken.
import { brokenLinks } from "./links.mjs";
import { bun, npmPackages, run } from "./setup.mjs";

npmPackages();
const code = run(bun, ["run", "scripts/docs.ts", ...process.argv.slice(2)]);
const broken = brokenLinks();
for (const line of broken) console.error(line);
process.exit(code === 0 && broken.length === 0 ? 0 : 1);
