/**
 * Applications that composer makes, once, in the system's temporary folder.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export type Made = { readonly dir: string } | { readonly absent: string };

function run(program: string, args: readonly string[], cwd: string): string | undefined {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", COMPOSER_ALLOW_SUPERUSER: "1" },
    timeout: 240_000,
    maxBuffer: 100 * 1024 * 1024,
  });
  if (error === undefined && status === 0) return undefined;
  return `${program} ${args[0]} ${error?.message ?? `ended with ${status}`}: ${
    `${stdout}${stderr}`.trim().slice(-500)
  }`;
}

const quiet = ["--no-interaction", "--no-progress", "--prefer-dist"];

/** Runs `steps` in a new folder, which becomes `fairlead-NAME` when all of them have gone well. */
function once(name: string, steps: (dir: string) => string | undefined): Made {
  const dir = join(tmpdir(), `fairlead-${name}`);
  if (existsSync(join(dir, "vendor/autoload.php"))) return { dir };
  const parent = mkdtempSync(`${dir}-`);
  const made = join(parent, "app");
  const absent = steps(made);
  if (absent === undefined) {
    // Some packages are packed for their owner's eyes only; PHP runs as another user when root runs us.
    spawnSync("chmod", ["-R", "a+rX", made]);
    renameSync(made, dir);
  }
  rmSync(parent, { recursive: true, force: true });
  return absent === undefined ? { dir } : { absent };
}

const here = fileURLToPath(new URL("./", import.meta.url));

/** The application in `symfony/`, with what it requires. */
export function symfony(): Made {
  const made = once("symfony-app", (dir) => {
    cpSync(join(here, "symfony"), dir, { recursive: true });
    return run("composer", ["update", ...quiet, "--no-dev", "--classmap-authoritative"], dir);
  });
  if ("dir" in made) {
    for (const part of ["src", "public"]) {
      cpSync(join(here, "symfony", part), join(made.dir, part), { recursive: true });
    }
  }
  return made;
}

/** A fresh Laravel, its routes those in `laravel/`. */
export function laravel(version: 11 | 12): Made {
  const made = once(
    `laravel-${version}`,
    (dir) =>
      run(
        "composer",
        ["create-project", ...quiet, "--no-install", "--no-scripts", `laravel/laravel:^${version}`, dir],
        tmpdir(),
      ) ??
        // Tools of its developers, which may want a newer PHP than the framework does.
        run("composer", ["remove", "--dev", "--no-update", "laravel/pint", "laravel/sail", "laravel/pail"], dir) ??
        run("composer", ["update", ...quiet, "--no-dev", "--no-scripts"], dir) ??
        run("cp", [".env.example", ".env"], dir) ??
        run("php", ["artisan", "key:generate"], dir) ??
        run("php", ["artisan", "package:discover"], dir) ??
        run("chmod", ["-R", "a+rwX", "storage", "bootstrap/cache", "database"], dir),
  );
  if ("dir" in made) {
    cpSync(join(here, "laravel"), made.dir, { recursive: true });
    cpSync(join(here, "common"), join(made.dir, "common"), { recursive: true });
  }
  return made;
}

/** PHPStan, with the interfaces that `php/` may be used with. */
export function phpstan(): Made {
  return once("phpstan", (dir) => {
    mkdirSync(dir);
    const needs = { "phpstan/phpstan": "^2", "psr/http-server-handler": "*", "psr/http-factory": "*", "psr/log": "^3" };
    writeFileSync(join(dir, "composer.json"), JSON.stringify({ require: needs }));
    return run("composer", ["update", ...quiet], dir);
  });
}
