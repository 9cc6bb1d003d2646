// What the examples that composer makes have in common.
import { spawn } from "node:child_process";
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { closed } from "../scripts/readable.mjs";
import { bun, fail, npmPackages, phpExtension, root, run, systemPackages } from "../scripts/setup.mjs";

/** PHP as frameworks need it, and composer. */
export function phpForFrameworks(more = []) {
  npmPackages();
  const extensions = ["mbstring", "xml", "curl", "intl", "zip"].map((name) => phpExtension(name, `php-${name}`));
  systemPackages([
    { pattern: /^php(\d+\.\d+)?$/, packages: ["php-cli"] },
    { pattern: /^php-cgi(\d+\.\d+)?$/, packages: ["php-cgi"] },
    { pattern: /^composer$/, packages: ["composer"] },
    ...extensions,
    ...more.map((name) => phpExtension(name.replace(/^php-/, "").replace(/^sqlite3$/, "pdo_sqlite"), name)),
  ]);
}

/** Runs composer, in `folder`, with its output shown. */
export function composer(args, folder = root) {
  const env = { ...process.env, COMPOSER_ALLOW_SUPERUSER: "1" };
  if (run("composer", [...args, "--no-interaction", "--no-progress"], { cwd: folder, env }) !== 0) {
    fail(`composer ${args[0]} failed; see its message above`);
  }
}

/** Serves `fairlead.toml` of an example until a signal ends it. As root, PHP runs as another user, who must get in. */
export function serveExample(folder, { readable, writable }) {
  if (process.getuid?.() === 0) {
    for (const path of writable) openFor(path, 0o777, 0o666);
    openFor(readable, 0o555, 0o444);
    const barrier = closed(join(readable, "public"));
    if (barrier !== undefined) {
      fail(
        `PHP does not run as root and may not enter ${barrier}: put the project elsewhere, or do not start it as root`,
      );
    }
  }
  const args = ["--smol", "run", "cli/fairlead.ts", "serve", "-c", join(folder, "fairlead.toml")];
  const server = spawn(bun, args, { cwd: root, stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
  server.on("exit", (code) => process.exit(code ?? 1));
}

function openFor(path, folders, files) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  const mode = stat.isDirectory() ? folders : files;
  if ((stat.mode & mode) !== mode) chmodSync(path, (stat.mode | mode) & 0o777);
  if (stat.isDirectory()) { for (const name of readdirSync(path)) openFor(join(path, name), folders, files); }
}
