// What the two commands need before they can run: npm packages, and the distribution's packages when we may install them.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
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
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const wanted = [".bin/bun", ".bin/deno", ...Object.keys({ ...dependencies, ...devDependencies })];
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

const missingOf = (needs) =>
  needs.filter((need) => !(need.present?.() ?? found(need.pattern))).flatMap((need) => need.packages);

const mayInstall = () => process.getuid?.() === 0 && found(/^apt-get$/);

/** Whether what is missing is nothing, or can be installed by {@link systemPackages}. */
export const canHave = (needs) => missingOf(needs).length === 0 || mayInstall();

/**
 * For a machine without PHP where we may install none: PHP as an npm package, 100 MB of it. Says what to install where that needs
 * libraries which the system does not have.
 */
export function embeddedPhp() {
  const name = "@platformatic/php-node";
  const loads = () => spawnSync(process.execPath, ["-e", `require(${JSON.stringify(name)})`], { cwd: root });
  if (loads().status === 0) return;
  console.error(`There is no PHP: installing ${name} ...`);
  run("npm", ["install", "--no-save", "--no-audit", "--no-fund", name]);
  const { status, stderr } = loads();
  if (status === 0) return;
  const why = /[^\n]*(?:cannot open shared object file|Cannot find module)[^\n]*/.exec(String(stderr))?.[0]?.trim();
  fail(
    "Please install php-fpm with your system's package manager, then run this again" +
      (why === undefined ? "" : ` (PHP from npm does not load here: ${why})`),
  );
}

/**
 * Installs Debian packages for the programs that are missing, when we are root; otherwise says in one sentence what to
 * install.
 * @param {readonly { pattern?: RegExp, present?: () => boolean, packages: readonly string[] }[]} needs
 */
export function systemPackages(needs) {
  const missing = missingOf(needs);
  if (missing.length === 0) return;
  if (!mayInstall()) {
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

/** The need of an extension of PHP. */
export const phpExtension = (name, packageName) => ({ present: () => phpHas(name), packages: [packageName] });

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
  // What Symfony and Laravel are made with, and what they need.
  { pattern: /^composer$/, packages: ["composer"] },
  { pattern: /^unzip$/, packages: ["unzip"] },
  { present: () => phpHas("mbstring"), packages: ["php-mbstring"] },
  { present: () => phpHas("dom"), packages: ["php-xml"] },
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
