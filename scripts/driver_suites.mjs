// The own tests of drivers of other languages, directly and through the proxy: `node scripts/driver_suites.mjs [DRIVER ...]`; see
// driver_suites.ts. Drivers that are not installed are left out, and said so. The exit code is 0 when no test's outcome differs.
import { bun, npmPackages, root, run, systemPackages, testNeeds } from "./setup.mjs";
import { join } from "node:path";

npmPackages();
systemPackages(testNeeds);
process.exit(run(bun, [join(root, "scripts/driver_suites.ts"), ...process.argv.slice(2)]));
