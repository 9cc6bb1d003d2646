import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Look } from "../../../plugins/php/find.ts";
import { disabledByIni, findPhp } from "../../../plugins/php/native/find_php.ts";

function machine(files: Readonly<Record<string, string>>, osRelease = ""): Look {
  return {
    dirs: ["/usr/local/bin", "/usr/bin"],
    list: (dir) =>
      Object.keys(files).filter((file) => file.startsWith(`${dir}/`)).map((file) => file.slice(dir.length + 1)),
    executable: (path) => path in files,
    version: (path) =>
      files[path] === "" ? Promise.reject(new Error("Exec format error")) : Promise.resolve(files[path]!),
    osRelease: () => osRelease,
  };
}

const cli = (version: string) => `PHP ${version} (cli) (built: today) (NTS)\nCopyright`;
const cgi = (version: string) => `PHP ${version} (cgi-fcgi) (built: today)\nCopyright`;
const failure = (found: Promise<unknown>) => found.then(() => "found", (error) => `${error.code}: ${error.message}`);

describe("the search for PHP", () => {
  test("takes the system's choice, then the newest", async () => {
    const files = {
      "/usr/bin/php": cli("8.2.1"),
      "/usr/bin/php8.4": cli("8.4.0"),
      "/usr/bin/php-cgi8.1": cgi("8.1.2"),
      "/usr/bin/php-cgi84": cgi("8.4.0"),
      "/usr/bin/phpize": "",
      "/usr/bin/php-fpm8.4": "",
    };
    expect(await findPhp("cli", undefined, machine(files))).toEqual({
      path: "/usr/bin/php",
      version: "8.2.1",
      versionId: 80201,
    });
    expect((await findPhp("cgi", undefined, machine(files))).path).toBe("/usr/bin/php-cgi84");
    expect((await findPhp("cli", "php8.4", machine(files))).path).toBe("/usr/bin/php8.4");
    expect((await findPhp("cli", "/usr/bin/php8.4", machine(files))).versionId).toBe(80400);
  });

  test("passes over what does not run or is too old, unless it was asked for", async () => {
    const files = {
      "/usr/local/bin/php": "",
      "/usr/bin/php": cli("8.0.30"),
      "/usr/bin/php8.3": cli("8.3.0-dev"),
      "/usr/bin/odd": "nothing",
    };
    expect((await findPhp("cli", undefined, machine(files))).path).toBe("/usr/bin/php8.3");
    expect(await failure(findPhp("cli", "/usr/bin/php", machine(files)))).toContain(
      "PHP_UNUSABLE: Cannot use /usr/bin/php",
    );
    expect(await failure(findPhp("cli", "/usr/bin/php", machine(files)))).toContain("8.0.30, and workers need 8.1");
    expect(await failure(findPhp("cli", "php", machine(files)))).toContain("Exec format error");
    expect(await failure(findPhp("cli", "odd", machine(files)))).toContain("does not print a PHP version");
    expect(await failure(findPhp("cgi", "php8.3", machine(files)))).toContain("it is PHP's cli, and php-cgi is needed");
  });

  test("names the package to install", async () => {
    const advice: readonly (readonly [string, string, string])[] = [
      ["ID=debian", "apt install php-cli", "apt install php-cgi"],
      ["ID=ubuntu\nID_LIKE=debian", "apt install php-cli", "apt install php-cgi"],
      ["ID=alpine", "apk add php84", "apk add php84-cgi"],
      ['ID="rocky"\nID_LIKE="rhel centos fedora"', "dnf install php-cli", "dnf install php-cli"],
      ["ID=arch", "pacman -S php", "pacman -S php-cgi"],
      ['ID="opensuse-leap"', "php8-cli", "php8-fastcgi"],
      ["", "your system's package for php", "your system's package for php-cgi"],
    ];
    for (const [os, php, phpCgi] of advice) {
      expect(await failure(findPhp("cli", undefined, machine({}, os)))).toContain(php);
      expect(await failure(findPhp("cgi", undefined, machine({}, os)))).toContain(phpCgi);
    }
    expect(await failure(findPhp("cli", "php9", machine({})))).toContain(
      "PHP_NOT_FOUND: Cannot start PHP workers: no program php9",
    );
  });

  test("knows what php.ini disables", async () => {
    const { path } = await findPhp("cgi");
    const dir = mkdtempSync(join(tmpdir(), "fairlead-ini-"));
    try {
      writeFileSync(join(dir, "php.ini"), "disable_functions = exec, shell_exec,system\n");
      const env = { PHPRC: dir, PHP_INI_SCAN_DIR: "" };
      expect(await disabledByIni(path, env)).toEqual(["exec", "shell_exec", "system"]);
      writeFileSync(join(dir, "php.ini"), "");
      expect(await disabledByIni(path, env)).toEqual([]);
      expect(await disabledByIni("/nowhere", env)).toEqual([]);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("finds the one of this machine", async () => {
    expect((await findPhp("cli")).versionId).toBeGreaterThanOrEqual(80_100);
  });
});
