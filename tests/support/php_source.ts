/**
 * PHP's own test suites, from the distribution's source package of the installed PHP.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { debianSource, type Source } from "./debian_source.ts";

/**
 * The source, which holds `run-tests.php` and the tests that concern a database: that of the installed PHP, or the newest of
 * its branch when its very own is not to be had. Throws a sentence that says why there is none.
 */
export function phpSource(): PhpSource {
  const installed = execFileSync("php", ["-r", "echo PHP_VERSION;"], { encoding: "utf8" });
  const branch = installed.split(".").slice(0, 2).join(".");
  return debianSource({
    name: `php${branch}`,
    binary: `php${branch}-cli`,
    prefix: "php-",
    branch: `${branch}.`,
    wanted: ["run-tests.php", "ext/mysqli/tests", "ext/pdo/tests", "ext/pdo_mysql/tests"],
  });
}

export type PhpSource = Source;
