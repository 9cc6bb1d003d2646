// PHP's own mysqli tests, directly and through the proxy: `node scripts/mysqli_suite.mjs [--direct] [-j N] [TEST.phpt ...]`;
// see mysqli_suite.ts. The exit code is 0 when no test's outcome differs.
import { bun, npmPackages, root, run, systemPackages, testNeeds } from "./setup.mjs";
import { join } from "node:path";

npmPackages();
systemPackages(testNeeds);
process.exit(run(bun, [join(root, "scripts/mysqli_suite.ts"), ...process.argv.slice(2)]));
