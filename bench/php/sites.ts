/**
 * What is measured: the pages of the HTTP benchmark, and frameworks.
 *
 * @module
 */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeScripts } from "../http/pages.ts";

export type WorkerKind = "native" | "frankenphp" | "goridge";

export interface Site {
  readonly name: "scripts" | "symfony" | "laravel";
  readonly root: string;
  readonly publicDir: string;
  /** The worker scripts that the site has, relative to its root. */
  readonly workers: Readonly<Partial<Record<WorkerKind, string>>>;
  /** `bench/php/loops/NAME.php`. */
  readonly loop: string;
}

export interface Page {
  readonly name: string;
  readonly site: Site["name"];
  readonly path: string;
  readonly about: string;
}

export const PAGES: readonly Page[] = [
  { name: "tiny", site: "scripts", path: "/tiny.php", about: "five bytes" },
  { name: "half", site: "scripts", path: "/half.php", about: "about 0.5 ms of PHP: 400 md5, usort, htmlspecialchars" },
  { name: "symfony", site: "symfony", path: "/", about: "Symfony: a controller's page" },
  { name: "symfony-json", site: "symfony", path: "/json", about: "Symfony: a JSON response" },
  { name: "laravel", site: "laravel", path: "/", about: "Laravel's welcome page: session and view" },
  { name: "laravel-json", site: "laravel", path: "/api/json", about: "Laravel: a JSON route without a session" },
];

const here = fileURLToPath(new URL("./", import.meta.url));
const tests = fileURLToPath(new URL("../../tests/support/php_apps/", import.meta.url));

/** Writes the scripts, and the workers that print the same. */
export function scriptsSite(dir: string): Site {
  const root = join(dir, "scripts");
  const publicDir = join(root, "public");
  writeScripts(publicDir);
  // Files of the public root are looked for first; workers answer what is none.
  cpSync(join(here, "scripts"), root, { recursive: true });
  cpSync(join(tests, "common/Goridge.php"), join(root, "Goridge.php"));
  mkdirSync(join(root, "empty"), { recursive: true });
  writeFileSync(join(root, "empty/.keep"), "");
  const workers = { native: "native.php", frankenphp: "frankenphp.php", goridge: "goridge.php" };
  return { name: "scripts", root, publicDir, workers, loop: "scripts" };
}

/** An application's folder. `worker` is the script of a FrankenPHP-shaped worker in it. */
export function applicationSite(name: "symfony" | "laravel", root: string, octane: boolean): Site {
  const frankenphp = octane
    ? "vendor/laravel/octane/bin/frankenphp-worker.php"
    : name === "symfony"
    ? "public/index.php"
    : "worker-franken.php";
  const workers = { frankenphp, ...(octane ? { goridge: "vendor/bin/roadrunner-worker" } : {}) };
  return { name, root, publicDir: join(root, "public"), workers, loop: name };
}

/** What the applications read of their environment, as in production. */
export function environment({ name, root, publicDir }: Site): Record<string, string> {
  return {
    APP_ENV: name === "symfony" ? "prod" : "production",
    APP_DEBUG: "0",
    APP_BASE_PATH: root,
    APP_PUBLIC_PATH: publicDir,
    FRANKENPHP_LOOP_MAX: "0",
    LARAVEL_OCTANE: "1",
    MAX_REQUESTS: "1000000000",
  };
}
