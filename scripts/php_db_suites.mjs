// PHP's own tests of mysqli and PDO, directly and through the proxy: `node scripts/php_db_suites.mjs [--direct] [-j N] [TEST ...]`;
// see php_db_suites.ts. The exit code is 0 when no test's outcome differs.
import { bun, npmPackages, root, run, systemPackages, testNeeds } from "./setup.mjs";
import { join } from "node:path";

npmPackages();
systemPackages(testNeeds);
process.exit(run(bun, [join(root, "scripts/php_db_suites.ts"), ...process.argv.slice(2)]));
