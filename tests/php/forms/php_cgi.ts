/**
 * A real PHP that tells what it made of a form.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { waitFor } from "../../support/wait.ts";
import { askFpm } from "../support/fcgi_once.ts";

/** Keys are integers, or `s` and the hex of a string; values likewise, arrays as pairs. What is in an upload stands for its path. */
const script = `<?php
function dump($value) {
  if (is_int($value)) return $value;
  if (is_string($value)) return 's' . bin2hex($value);
  $pairs = [];
  foreach ($value as $key => $item) $pairs[] = [dump($key), dump($item)];
  return $pairs;
}
function contents(&$files) {
  foreach ($files as &$file) {
    if (!is_array($file) || !isset($file['tmp_name'])) continue;
    $read = function (&$path) { if (is_string($path) && is_uploaded_file($path)) $path = bin2hex(file_get_contents($path)); };
    if (is_array($file['tmp_name'])) array_walk_recursive($file['tmp_name'], $read);
    else $read($file['tmp_name']);
  }
}
contents($_FILES);
echo json_encode(['post' => dump($_POST), 'files' => dump($_FILES)], 0, 4096);
`;

export interface Seen {
  readonly post: unknown;
  readonly files: unknown;
}

export interface PhpCgi {
  see(contentType: string, body: Uint8Array): Promise<Seen>;
  stop(): void;
}

/** Starts one `php-cgi` on a unix socket. */
export async function startPhpCgi(ini: Readonly<Record<string, string | number>>): Promise<PhpCgi> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-forms-"));
  const socket = join(dir, "s");
  writeFileSync(join(dir, "see.php"), script);
  const settings = { ...ini, display_errors: 0, log_errors: 0, upload_tmp_dir: dir, post_max_size: 0 };
  const child: ChildProcess = spawn(
    "php-cgi",
    ["-n", ...Object.entries(settings).flatMap(([name, value]) => ["-d", `${name}=${value}`]), "-b", socket],
    { stdio: "ignore", env: { PATH: process.env["PATH"] ?? "", PHP_FCGI_MAX_REQUESTS: "1000000" } },
  );
  const stop = () => {
    child.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await waitFor(() => existsSync(socket), { what: "php-cgi's socket" });
  } catch (error) {
    stop();
    throw error;
  }
  return {
    stop,
    async see(contentType, body) {
      const answer = await askFpm(socket, [
        ["SCRIPT_FILENAME", join(dir, "see.php")],
        ["SCRIPT_NAME", "/see.php"],
        ["REQUEST_METHOD", "POST"],
        ["QUERY_STRING", ""],
        ["CONTENT_TYPE", contentType],
        ["CONTENT_LENGTH", String(body.length)],
      ], body);
      return JSON.parse(answer.body) as Seen;
    },
  };
}
