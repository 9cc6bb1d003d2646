/**
 * The private php-fpm.conf of one pool, as text.
 *
 * @module
 */
import { CoreError } from "../../core/error.ts";

export type IniValue = string | number | boolean;
export type Ini = Readonly<Record<string, IniValue>>;

export interface FpmConfig {
  /** Name of the pool, as php-fpm prints it in its log. */
  readonly pool: string;
  /** Path of the unix socket. */
  readonly listen: string;
  readonly children: number;
  /** Given only when the master runs as root. */
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  /** As in php.ini: the application may change these with `ini_set`. */
  readonly ini?: Ini | undefined;
  /** As `php_admin_value`: nothing in the application can change these. */
  readonly adminIni?: Ini | undefined;
  /** Seconds after which php-fpm itself kills a request: a last safety, well above the server's own limit. 0 is off. */
  readonly terminateTimeoutS?: number | undefined;
  /** Logs what scripts write to php://stderr; without, as php-fpm's own default, it is lost. */
  readonly catchOutput?: boolean | undefined;
  /** Names of the variables that scripts may see of php-fpm's environment; all of them when absent. */
  readonly keptEnv?: readonly string[] | undefined;
  /** A second socket that answers `/status` while every child is busy (PHP 8.0 and later). */
  readonly statusListen?: string | undefined;
}

/** Production settings; the pool's own `ini` overrides each. Errors go to the log of the request, never to the page. */
const productionIni: Ini = {
  "display_errors": false,
  "display_startup_errors": false,
  "log_errors": true,
  "expose_php": false,
  "html_errors": false,
  "opcache.enable": true,
};

/** Settings the master reads once, before any pool exists: they work only on its command line. */
const startupOnly = /^(?:opcache\.|apc\.|ffi\.preload$|(?:zend_)?extension$|fastcgi\.logging$)/;

/**
 * Renders php-fpm.conf. A setting that php-fpm would understand as something else than its text is refused.
 *
 * @throws `PHP_CONFIG` naming the setting and what is wrong with it.
 */
export function renderFpmConfig(config: FpmConfig): string {
  if (!/^[A-Za-z0-9_-]+$/.test(config.pool) || config.pool === "global") {
    throw refused("the pool's name", `"${config.pool}" is not made of letters, digits, _ and -`);
  }
  const lines = [
    "[global]",
    "daemonize = no",
    // The log itself is written to stderr (option -O); this keeps php-fpm from making a file of its own.
    "error_log = /dev/null",
    "log_level = notice",
    "log_limit = 65535",
    // Without it a graceful end is none: children get SIGTERM right behind SIGQUIT. The deadline is the server's.
    "process_control_timeout = 86400s",
    `[${config.pool}]`,
    `listen = ${quoteIni(config.listen, "listen")}`,
    "listen.mode = 0600",
    "pm = static",
    `pm.max_children = ${whole(config.children, "children", 1)}`,
    // Recycling is the server's: it knows when a child is idle.
    "pm.max_requests = 0",
    `clear_env = ${config.keptEnv === undefined ? "no" : "yes"}`,
    // php-fpm takes the value from its own environment, so that no quoting can go wrong.
    ...(config.keptEnv ?? []).map((name) => `env[${variable(name)}] = $${name}`),
    // With "yes" every request wakes the master too, to flush a pipe: a tenth of the throughput of a short script.
    `catch_workers_output = ${config.catchOutput ? "yes" : "no"}`,
    // Decorated, every line names its child, and no script can forge a line of the master.
    "decorate_workers_output = yes",
    "security.limit_extensions = .php",
    `request_terminate_timeout = ${whole(config.terminateTimeoutS ?? 0, "terminateTimeoutS", 0)}s`,
  ];
  if (config.user !== undefined) lines.push(`user = ${quoteIni(config.user, "user")}`);
  if (config.group !== undefined) lines.push(`group = ${quoteIni(config.group, "group")}`);
  if (config.statusListen !== undefined) {
    lines.push(`pm.status_listen = ${quoteIni(config.statusListen, "statusListen")}`, "pm.status_path = /status");
  }
  const admin = config.adminIni ?? {};
  for (const [name, value] of Object.entries({ ...productionIni, ...config.ini })) {
    if (!startupOnly.test(name) && !Object.hasOwn(admin, name)) lines.push(setting("php_value", name, value));
  }
  for (const [name, value] of Object.entries(admin)) {
    if (!startupOnly.test(name)) lines.push(setting("php_admin_value", name, value));
  }
  return lines.join("\n") + "\n";
}

/** Command-line options (`-d name="value"`) for the settings that php-fpm reads before any pool exists. */
export function startupOptions(config: Pick<FpmConfig, "ini" | "adminIni">): string[] {
  const options: string[] = [];
  for (const [name, value] of Object.entries({ ...productionIni, ...config.ini, ...config.adminIni })) {
    if (startupOnly.test(name)) options.push("-d", `${checkedName(name)}=${quoteIni(iniText(value), name)}`);
  }
  return options;
}

function setting(kind: "php_value" | "php_admin_value", name: string, value: IniValue): string {
  const text = iniText(value);
  // php-fpm replaces this word by the pool's name after parsing, so that no quoting can protect it.
  if (text.includes("$pool")) throw refused(name, "php-fpm replaces $pool by the name of the pool");
  return `${kind}[${checkedName(name)}] = ${quoteIni(text, name)}`;
}

function checkedName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)) throw refused(`"${name}"`, "it is not the name of a PHP setting");
  return name;
}

function iniText(value: IniValue): string {
  return typeof value === "boolean" ? (value ? "1" : "0") : String(value);
}

/**
 * Quotes a value so that PHP's ini parser reads back exactly this text: single quotes take everything literally but
 * themselves, and pieces written side by side are one value.
 *
 * @throws `PHP_CONFIG` when the text has a line break or a NUL, which end a line whatever the quotes.
 */
export function quoteIni(text: string, name: string): string {
  if (/[\0\r\n]/.test(text)) throw refused(name, "its value has a line break or a NUL in it");
  if (text === "") return '""';
  return text.replace(/'+|[^']+/g, (part) => part.startsWith("'") ? `"${part}"` : `'${part}'`);
}

function whole(value: number, name: string, least: number): number {
  if (!Number.isSafeInteger(value) || value < least) {
    throw refused(name, `expected a whole number of at least ${least}, got ${value}`);
  }
  return value;
}

function refused(name: string, why: string): CoreError {
  return new CoreError("PHP_CONFIG", `Cannot configure PHP: ${name}: ${why}`);
}

function variable(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  throw new CoreError(
    "PHP_CONFIG",
    `Cannot configure PHP: expected an environment variable's name of letters, digits and _, got ${
      JSON.stringify(name)
    }`,
  );
}
