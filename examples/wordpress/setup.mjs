#!/usr/bin/env node
/**
 * Makes a WordPress site in ./site from the distribution's own packages (Debian, Ubuntu), without installing them.
 *
 *     node setup.mjs --db-host 127.0.0.1 --db-user wordpress --db-password secret
 *
 * Every option may come from the environment instead: DB_HOST, DB_PORT, DB_NAME, DB_USER, DB_PASSWORD, ...
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));

const usage = `node setup.mjs [options]

  --db-host HOST      DB_HOST       where MySQL or MariaDB listens (127.0.0.1)
  --db-port PORT      DB_PORT       3306
  --db-name NAME      DB_NAME       wordpress; created when it is missing and the user may
  --db-user USER      DB_USER       wordpress
  --db-password WORD  DB_PASSWORD   empty
  --url URL           WP_URL        the site's one address; without it, the address of each request
  --user USER         PHP_USER      who PHP runs as, to own the uploads (www-data); only root can give files away
  --dir DIR           SITE_DIR      where to build (./site, beside this file)
  --cache DIR         CACHE_DIR     where downloaded packages are kept (DIR/packages)
  --online            WP_ONLINE=1   let WordPress reach the internet, for plugins and updates
`;

function settings() {
  const text = (fallback) => ({ type: "string", default: fallback });
  const env = process.env;
  const { values } = parseArgs({
    options: {
      "db-host": text(env.DB_HOST ?? "127.0.0.1"),
      "db-port": text(env.DB_PORT ?? "3306"),
      "db-name": text(env.DB_NAME ?? "wordpress"),
      "db-user": text(env.DB_USER ?? "wordpress"),
      "db-password": text(env.DB_PASSWORD ?? ""),
      "url": text(env.WP_URL ?? ""),
      "user": text(env.PHP_USER ?? "www-data"),
      "dir": text(env.SITE_DIR ?? join(here, "site")),
      "cache": text(env.CACHE_DIR ?? ""),
      "online": { type: "boolean", default: env.WP_ONLINE === "1" },
      "help": { type: "boolean", short: "h", default: false },
    },
  });
  return values;
}

/** Runs a program; its own words are the error. */
function run(program, args, options = {}) {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], ...options });
  } catch (error) {
    if (error.code === "ENOENT") throw new Error(`Cannot run ${program}: no such program`);
    throw new Error(`${program} ${args[0]} failed: ${String(error.stderr || error.message).trim()}`);
  }
}

/** Downloads a package into `cache` unless it is there, and returns its path. */
function download(name, cache) {
  const held = () => readdirSync(cache).find((file) => file.startsWith(`${name}_`) && file.endsWith(".deb"));
  if (!held()) {
    try {
      // As root, apt would fetch as a user who may not write here.
      const sandbox = process.getuid() === 0 ? ["-o", "APT::Sandbox::User=root"] : [];
      run("apt-get", ["download", "-qq", ...sandbox, name], { cwd: cache });
    } catch (error) {
      throw new Error(`Cannot download the package ${name}; is "apt-get update" due?\n${error.message}`);
    }
  }
  return join(cache, held());
}

/** WordPress itself, its default theme, and the libraries its package shares with others. */
function unpack(cache, into) {
  const wordpress = download("wordpress", cache);
  const related = run("dpkg-deb", ["-f", wordpress, "Depends", "Recommends"]).match(
    /\b(libjs-[\w.+-]+|php-getid3|wordpress-theme-[\w-]+)/g,
  ) ?? [];
  for (const file of [wordpress, ...related.map((name) => download(name, cache))]) {
    run("dpkg-deb", ["-x", file, into]);
  }
}

/** Follows a link as if `root` were `/`; undefined when it leads to nothing that the packages hold. */
function follow(path, root) {
  for (let hops = 0; hops < 10; hops++) {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return existsSync(path) ? path : undefined;
    const target = readlinkSync(path);
    path = target.startsWith("/") ? join(root, target) : resolve(dirname(path), target);
  }
  return undefined;
}

/** Copies a tree as plain files: what was a link into another package becomes the file itself. */
function copyTree(from, to, root) {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const target = join(to, entry.name);
    let source = join(from, entry.name);
    if (entry.isSymbolicLink()) {
      const link = readlinkSync(source);
      source = follow(source, root) ??
        (link.startsWith("/etc/ssl/") && existsSync(link) ? realpathSync(link) : undefined);
      if (source === undefined) {
        console.warn(`Left out ${target}: it links to ${link}, which no package here holds`);
        continue;
      }
    }
    if (lstatSync(source).isDirectory()) copyTree(source, target, root);
    else copyFileSync(source, target);
  }
}

const php = (text) => `'${String(text).replace(/[\\']/g, "\\$&")}'`;

function wpConfig(options) {
  const salts = ["AUTH", "SECURE_AUTH", "LOGGED_IN", "NONCE"].flatMap((name) => [`${name}_KEY`, `${name}_SALT`])
    .map((name) => `define(${php(name)}, ${php(randomBytes(48).toString("base64"))});`).join("\n");
  const address = options.url
    ? `define('WP_HOME', ${php(options.url.replace(/\/+$/, ""))});`
    : `// The address is the one each visitor used. A public site should have one: setup.mjs --url https://example.com
$fairlead_host = $_SERVER['HTTP_HOST'] ?? 'localhost';
if (!preg_match('/^[a-z0-9.:\\[\\]-]+$/i', $fairlead_host)) {
    http_response_code(400);
    exit('Bad host');
}
define('WP_HOME', (empty($_SERVER['HTTPS']) ? 'http://' : 'https://') . $fairlead_host);`;
  return `<?php
define('DB_NAME', ${php(options["db-name"])});
define('DB_USER', ${php(options["db-user"])});
define('DB_PASSWORD', ${php(options["db-password"])});
define('DB_HOST', ${php(`${options["db-host"]}:${options["db-port"]}`)});
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';

${salts}

${address}
define('WP_SITEURL', WP_HOME);

define('FS_METHOD', 'direct');
define('DISALLOW_FILE_EDIT', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_HTTP_BLOCK_EXTERNAL', ${options.online ? "false" : "true"});
// Timed tasks: call wp-cron.php once a minute from cron, instead of from visitors' requests.
define('DISABLE_WP_CRON', true);
define('WP_DEBUG', false);

if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/public/');
}
require_once ABSPATH . 'wp-settings.php';
`;
}

/** Creates the database with whichever client is installed; false when none could. */
function createDatabase(options) {
  const sql = `CREATE DATABASE IF NOT EXISTS \`${options["db-name"].replaceAll("`", "``")}\` CHARACTER SET utf8mb4`;
  const code = "mysqli_report(3); " +
    "$c = new mysqli(getenv('H'), getenv('U'), getenv('MYSQL_PWD'), null, (int) getenv('P')); $c->query(getenv('Q'));";
  const env = {
    ...process.env,
    H: options["db-host"],
    P: options["db-port"],
    U: options["db-user"],
    MYSQL_PWD: options["db-password"],
    Q: sql,
  };
  const client = ["-h", options["db-host"], "-P", options["db-port"], "-u", options["db-user"], "-e", sql];
  const reasons = [];
  for (const [program, args] of [["php", ["-r", code]], ["mariadb", client], ["mysql", client]]) {
    try {
      run(program, args, { env });
      return true;
    } catch (error) {
      reasons.push(error.message);
    }
  }
  console.warn(`Could not create the database; run this yourself:\n    ${sql};\n  ${reasons.join("\n  ")}`);
  return false;
}

/** Lets PHP read the configuration and write uploads. */
function giveToPhp(user, config, uploads) {
  mkdirSync(uploads, { recursive: true });
  chmodSync(config, 0o640);
  if (process.getuid() !== 0) return;
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(run("id", [flag, user])));
  chownSync(config, 0, gid);
  chownSync(uploads, uid, gid);
}

function main() {
  const options = settings();
  if (options.help) return void process.stdout.write(usage);
  const site = resolve(options.dir);
  const publicRoot = join(site, "public");
  const cache = resolve(options.cache || join(site, "packages"));
  const unpacked = join(site, ".unpacked");
  mkdirSync(cache, { recursive: true });
  if (!existsSync(join(publicRoot, "wp-load.php"))) {
    rmSync(unpacked, { recursive: true, force: true });
    mkdirSync(unpacked, { recursive: true });
    unpack(cache, unpacked);
    copyTree(join(unpacked, "usr/share/wordpress"), publicRoot, unpacked);
    // The package's own configuration looks for files in /etc.
    rmSync(join(publicRoot, "wp-config.php"), { force: true });
    rmSync(join(publicRoot, ".htaccess"), { force: true });
    rmSync(unpacked, { recursive: true, force: true });
  }
  // WordPress looks for it one folder above itself too: there, no server setting can ever show it.
  const config = join(site, "wp-config.php");
  if (!existsSync(config)) writeFileSync(config, wpConfig(options), { mode: 0o640 });
  giveToPhp(options.user, config, join(publicRoot, "wp-content/uploads"));
  const made = createDatabase(options);
  const version = /\$wp_version = '([^']+)'/.exec(readFileSync(join(publicRoot, "wp-includes/version.php"), "utf8"))
    ?.[1];
  console.log(`WordPress ${version} is in ${publicRoot}${made ? `; its database is ${options["db-name"]}` : ""}`);
}

try {
  main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
