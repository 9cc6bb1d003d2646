// Laravel's migrations, its own tests and a session of Eloquent, directly and through the proxy:
// `node scripts/laravel_migrations.mjs [--server mariadb|mysql] [--host bun|deno|binary] [--strategy smart|always]`;
// see laravel_migrations.ts. The exit code is 0 when nothing differs.
import { bun, npmPackages, root, run, systemPackages, testNeeds } from "./setup.mjs";
import { join } from "node:path";

npmPackages();
systemPackages([...testNeeds, { pattern: /^composer$/, packages: ["composer"] }]);
process.exit(run(bun, [join(root, "scripts/laravel_migrations.ts"), ...process.argv.slice(2)]));
