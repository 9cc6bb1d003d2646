// What the two commands need before they can run: npm packages, and the distribution's packages when we may install them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const bun = join(root, "node_modules/.bin/bun");
export const deno = join(root, "node_modules/.bin/deno");

/** Runs a command with its output shown; returns its exit code. */
export function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: root, stdio: "inherit", ...options }).status ?? 1;
}

/** Installs the npm packages when they are not there yet. */
export function npmPackages() {
  const wanted = [".bin/bun", ".bin/deno", "hono", "zod", "smol-toml", "fast-check"];
  if (wanted.every((name) => existsSync(join(root, "node_modules", name)))) return;
  console.error("Installing npm packages ...");
  const code = run("npm", [existsSync(join(root, "package-lock.json")) ? "ci" : "install", "--no-audit", "--no-fund"]);
  if (code !== 0) fail("npm could not install the packages; see its message above");
}

/** Whether a program is in PATH or where Debian keeps servers; `pattern` is matched against file names. */
export function found(pattern) {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/usr/local/sbin"];
  return folders.some((folder) => {
    try {
      return readdirSync(folder).some((name) => pattern.test(name));
    } catch {
      return false;
    }
  });
}

/**
 * Installs Debian packages for the programs that are missing, when we are root; otherwise says in one sentence what to
 * install.
 * @param {readonly { pattern?: RegExp, present?: () => boolean, packages: readonly string[] }[]} needs
 */
export function systemPackages(needs) {
  const missing = needs.filter((need) => !(need.present?.() ?? found(need.pattern))).flatMap((need) => need.packages);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !found(/^apt-get$/)) {
    fail(`Please install ${missing.join(", ")} with your system's package manager, then run this again`);
  }
  console.error(`Installing ${missing.join(", ")} ...`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const quiet = { env, stdio: ["ignore", "ignore", "inherit"] };
  // Installing must not start services on the machine's own ports: the tests bring up their own.
  const install = () => run("apt-get", ["install", "-y", "--no-install-recommends", ...missing], quiet);
  if (run("apt-get", ["update"], quiet) !== 0 || install() !== 0) {
    fail(`apt-get could not install ${missing.join(", ")}; see its message above`);
  }
}

function phpHas(extension) {
  return spawnSync("php", ["-r", `exit(extension_loaded('${extension}') ? 0 : 1);`]).status === 0;
}

export const phpNeeds = [
  { pattern: /^php-fpm(\d+\.\d+)?$/, packages: ["php-fpm"] },
];

export const testNeeds = [
  ...phpNeeds,
  { pattern: /^php(\d+\.\d+)?$/, packages: ["php-cli"] },
  { pattern: /^php-cgi(\d+\.\d+)?$/, packages: ["php-cgi"] },
  { present: () => phpHas("mysqli"), packages: ["php-mysql"] },
  // WordPress takes no images without it since 6.8.
  { present: () => phpHas("gd"), packages: ["php-gd"] },
  { pattern: /^mariadbd$/, packages: ["mariadb-server"] },
  { pattern: /^redis-server$/, packages: ["redis-server"] },
  { pattern: /^nginx$/, packages: ["nginx"] },
  { pattern: /^openssl$/, packages: ["openssl"] },
  { pattern: /^curl$/, packages: ["curl"] },
  { pattern: /^setpriv$/, packages: ["util-linux"] },
];

export function fail(sentence) {
  console.error(`fairlead: ${sentence}`);
  process.exit(1);
}
