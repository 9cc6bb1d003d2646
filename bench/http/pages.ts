/**
 * The pages that are measured, and the folder they are served from.
 *
 * @module
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export type SiteName = "scripts" | "wordpress";

export interface Page {
  readonly name: string;
  readonly site: SiteName;
  readonly path: string;
  /** What the report says about it. */
  readonly about: string;
}

export const PAGES: readonly Page[] = [
  { name: "tiny", site: "scripts", path: "/tiny.php", about: '`<?php echo "hello";`' },
  { name: "half", site: "scripts", path: "/half.php", about: "about 0.5 ms of PHP: 400 md5, usort, htmlspecialchars" },
  { name: "sleep", site: "scripts", path: "/sleep.php", about: "`usleep(2000)`: a page that waits for something" },
  { name: "wordpress", site: "wordpress", path: "/", about: "WordPress' front page, anonymous, no page cache" },
];

/** About 0.5 ms of PHP, whose result is `$work`. */
export const HALF_WORK = `$keys = [];
for ($i = 0; $i < 400; $i++) {
    $keys[] = md5("row-$i");
}
usort($keys, static fn (string $a, string $b): int => strcmp($a, $b));
$work = htmlspecialchars(implode(' & ', $keys));`;

/** Tells which PHP answers and with which settings, so that the arms can be proven equal. */
const FACTS = `<?php
header('Content-Type: application/json');
$ini = [];
foreach (ini_get_all(null, false) as $name => $value) {
    $ini[$name] = $value;
}
$opcache = opcache_get_status(false);
echo json_encode([
    'pid' => getmypid(),
    'version' => PHP_VERSION,
    'sapi' => PHP_SAPI,
    'binary' => PHP_BINARY,
    'user' => posix_geteuid(),
    'opcache' => $opcache['opcache_enabled'] ?? false,
    'jit' => $opcache['jit']['on'] ?? false,
    'extensions' => get_loaded_extensions(),
    'ini' => $ini,
]);
`;

export const FACTS_PATH = "/_facts.php";
/** Holds a PHP child long enough for a queue to be built and weighed. */
export const HOLD_PATH = "/hold.php";

/** Writes the scripts into `dir`. */
export function writeScripts(dir: string): void {
  mkdirSync(dir, { recursive: true });
  const files = {
    "tiny.php": `<?php echo "hello";\n`,
    "half.php": `<?php\n${HALF_WORK}\necho "<p>$work</p>\\n";\n`,
    "sleep.php": `<?php usleep(2000); echo "slept";\n`,
    [HOLD_PATH.slice(1)]: `<?php sleep(25); echo "held";\n`,
    [FACTS_PATH.slice(1)]: FACTS,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
}

/** The settings every PHP of a run gets, through PHPRC, on top of the distribution's. */
export const PHP_INI = `[PHP]
memory_limit = 256M
max_execution_time = 60
display_errors = 0
log_errors = 1
expose_php = 0
output_buffering = 4096
realpath_cache_size = 4M
realpath_cache_ttl = 600

[opcache]
opcache.enable = 1
opcache.memory_consumption = 128
opcache.interned_strings_buffer = 16
opcache.max_accelerated_files = 10000
opcache.validate_timestamps = 1
opcache.revalidate_freq = 2
opcache.jit = off
opcache.jit_buffer_size = 0
`;
