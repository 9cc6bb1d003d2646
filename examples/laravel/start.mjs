// `node examples/laravel/start.mjs [--laravel VERSION]`: makes a new Laravel with Octane in examples/laravel/site, the first time,
// and serves it.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { composer, phpForFrameworks, serveExample } from "../serve.mjs";

const folder = dirname(fileURLToPath(import.meta.url));
const site = join(folder, "site");
const at = process.argv.indexOf("--laravel");
const version = at > 0 ? process.argv[at + 1] : undefined;

phpForFrameworks(["php-sqlite3"]);
if (!existsSync(join(site, "vendor/laravel/octane"))) {
  // Half of one is none.
  rmSync(site, { recursive: true, force: true });
  const laravel = version === undefined ? "laravel/laravel" : `laravel/laravel:^${version}`;
  composer(["create-project", "--no-dev", laravel, site]);
  const env = join(site, ".env");
  // Without a database to begin with.
  const text = readFileSync(env, "utf8")
    .replace(/^SESSION_DRIVER=.*$/m, "SESSION_DRIVER=file")
    .replace(/^CACHE_STORE=.*$/m, "CACHE_STORE=file")
    .replace(/^QUEUE_CONNECTION=.*$/m, "QUEUE_CONNECTION=sync")
    .replace(/^APP_URL=.*$/m, "APP_URL=http://127.0.0.1:8082");
  writeFileSync(env, text);
  composer(["require", "--with-all-dependencies", "laravel/octane"], site);
}
serveExample(folder, { readable: site, writable: [join(site, "storage"), join(site, "bootstrap/cache")] });
