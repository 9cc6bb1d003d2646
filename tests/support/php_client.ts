/**
 * PHP as a client: a script that is given a place, and whose value comes back.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Place } from "./database.ts";
import { within } from "./wait.ts";

/** Every connection goes to the schema `test` with utf8mb4, by TCP or by the unix socket. */
const prelude = `<?php
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
error_reporting(E_ALL);
set_error_handler(function (int $level, string $text) { throw new ErrorException($text, 0, $level); });
$place = json_decode(getenv('PLACE'), true);
function my(array $change = [], int $flags = 0, array $options = []): mysqli {
  global $place;
  $p = $change + $place + ['db' => 'test'];
  $link = mysqli_init();
  foreach ($options as $name => $value) $link->options($name, $value);
  $link->real_connect($p['via'] === 'socket' ? 'localhost' : $p['host'], $p['user'], $p['password'], $p['db'], $p['port'], $p['socket'], $flags);
  return $link;
}
function pdo(array $options = [], array $change = []): PDO {
  global $place;
  $p = $change + $place + ['db' => 'test', 'charset' => 'utf8mb4'];
  $where = $p['via'] === 'socket' ? "unix_socket={$p['socket']}" : "host={$p['host']};port={$p['port']}";
  return new PDO("mysql:$where" . ($p['db'] === '' ? '' : ";dbname={$p['db']}") . ($p['charset'] === '' ? '' : ";charset={$p['charset']}"), $p['user'], $p['password'], $options);
}
function one($link, string $sql) {
  $result = $link->query($sql);
  return $link instanceof PDO ? $result->fetchColumn() : $result->fetch_row()[0];
}
/** The code and text of what is thrown. */
function thrown(callable $work): ?array {
  try { $work(); return null; }
  catch (PDOException $e) { return [$e->errorInfo[1] ?? $e->getCode(), $e->getMessage()]; }
  catch (Throwable $e) { return [$e->getCode(), $e->getMessage()]; }
}
$value = (function () use ($place) {
`;
const closing = `
})();
echo "\\n", json_encode($value, JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR);
`;

export interface PhpOptions {
  readonly viaSocket?: boolean;
  /** Settings of php.ini. */
  readonly ini?: Readonly<Record<string, string>>;
  /** Ms it may take; 30 s when absent. */
  readonly timeout?: number;
}

/**
 * Runs the body of a function in the PHP CLI and returns its value. It has `$place`, `my()` (mysqli), `pdo()`, `one($link,
 * $sql)` and `thrown($work)`; a warning is an exception, and an exception fails the test.
 */
export async function php(place: Place, body: string, options: PhpOptions = {}): Promise<unknown> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-php-"));
  const file = join(dir, "script.php");
  writeFileSync(file, `${prelude}${body}${closing}`);
  const { host, port, socket, user, password } = place;
  const via = options.viaSocket ? "socket" : "tcp";
  const ini = { display_errors: "stderr", log_errors: "0", memory_limit: "1G", ...options.ini };
  const child = spawn("php", [...Object.entries(ini).flatMap(([name, value]) => ["-d", `${name}=${value}`]), file], {
    cwd: dir,
    env: { ...process.env, PLACE: JSON.stringify({ host, port, socket, user, password, via }) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout!.setEncoding("utf8").on("data", (text: string) => output += text);
  child.stderr!.setEncoding("utf8").on("data", (text: string) => errors += text);
  try {
    const code = await within(
      options.timeout ?? 30_000,
      "The PHP script",
      new Promise((resolve, reject) => child.once("close", resolve).once("error", reject)),
    );
    if (code !== 0) throw new Error(`PHP ended with ${code}: ${errors}${output}`);
    return JSON.parse(output.slice(output.lastIndexOf("\n") + 1));
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
