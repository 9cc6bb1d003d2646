/**
 * How PHP is started for a worker script.
 *
 * @module
 */
import type { Ini } from "../fpm_config.ts";
import { iniSetting } from "../ini_file.ts";

/** A program, its arguments, and what its environment must have. */
export interface Command {
  readonly argv: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
}

/** For any process that lives long; the site's `ini` overrides each. */
const workerIni: Ini = {
  // It would end the process in the middle of a request, and counts from the start of the script.
  "max_execution_time": 0,
  "display_startup_errors": false,
  "log_errors": true,
  "expose_php": false,
  "html_errors": false,
  "opcache.enable": true,
  "opcache.enable_cli": true,
  // A buffer of PHP's own around a whole worker would keep all that it ever prints.
  "output_buffering": 0,
};

/** What a command sets whatever php.ini says: the site's settings of these names must be given to it. */
export const fixedSettings: ReadonlySet<string> = new Set([
  ...Object.keys(workerIni),
  "display_errors",
  "disable_functions",
]);

/** `php script`, for scripts that use the package `fairlead/worker`: all they print goes to the log. */
export function cliCommand(php: string, script: string, ini: Ini = {}): Command {
  // Errors are in the log already; on stdout they would be there twice.
  return { argv: [php, ...iniOptions({ ...workerIni, display_errors: false, ...ini }), "-f", script], env: {} };
}

/**
 * `php-cgi` with `runtime` in front of the script, for scripts that use `header()` and the superglobals.
 *
 * @param disabled functions that the runtime puts its own in place of, besides those that `ini` disables
 */
export function cgiCommand(
  phpCgi: string,
  runtime: string,
  script: string,
  ini: Ini = {},
  disabled: readonly string[] = [],
): Command {
  const off = [ini["disable_functions"], ...disabled].map((names) => String(names ?? "").trim()).filter(Boolean);
  const settings: Ini = {
    ...workerIni,
    display_errors: false,
    ...ini,
    auto_prepend_file: runtime,
    disable_functions: off.join(","),
  };
  return {
    argv: [phpCgi, ...iniOptions(settings)],
    env: {
      // What makes it a CGI program. It refuses to run without the status: cgi.force_redirect.
      GATEWAY_INTERFACE: "CGI/1.1",
      REDIRECT_STATUS: "200",
      REQUEST_METHOD: "GET",
      SCRIPT_FILENAME: script,
      SCRIPT_NAME: script,
    },
  };
}

function iniOptions(ini: Ini): string[] {
  return Object.entries(ini).flatMap(([name, value]) => ["-d", iniSetting(name, value)]);
}
