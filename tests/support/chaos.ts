/**
 * A site of scripts that die, hang, stream and wait, and tests that each have it, and a server, to themselves.
 *
 * @module
 */
import { test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { openFiles } from "./php_apps/open_files.ts";
import { ask, RawClient, type RawResponse } from "./raw_http.ts";
import { type Config, type HostName, startServer, type TestServer, total } from "./server.ts";
import { pause, waitFor, within } from "./wait.ts";

/** Each script notes its start in `notes/NAME`, one byte a run. */
const note = (name: string) => `file_put_contents(__DIR__ . '/../notes/${name}', '.', FILE_APPEND);`;

const scripts: Readonly<Record<string, string>> = {
  "fast.php": `<?php ${note("fast")} echo 'fast';`,
  "work.php": "<?php usleep(20000); echo 'worked';",
  "slow.php": `<?php ${note("slow")} usleep((int) (1e6 * ($_GET['s'] ?? 1))); echo 'slow';`,
  "held.php": `<?php ${note("held")} while (!file_exists(__DIR__ . '/../notes/go')) usleep(10000); echo 'held';`,
  "waiter.php": `<?php ${note("waiter")} echo 'waiter';`,
  "hang.php": "<?php file_put_contents(__DIR__ . '/../notes/pid', getmypid()); sleep(30); echo 'never';",
  "endless.php": `<?php ${note("endless")} for (;;) { echo str_repeat('x', 10000); flush(); usleep(20000); }`,
  "upload.php": `<?php ${note("upload")} $n = 0; $h = hash_init('crc32b'); $f = fopen('php://input', 'rb');
    while (!feof($f)) { $b = fread($f, 65536); $n += strlen($b); hash_update($h, $b); } echo $n, ' ', hash_final($h);`,
  "download.php":
    "<?php $b = str_repeat('0123456789abcdef', 65536); for ($i = 0; $i < 256; $i++) { echo $b; flush(); }",
  "sse.php": `<?php header('Content-Type: text/event-stream'); header('X-Accel-Buffering: no');
    while (ob_get_level()) ob_end_flush();
    for ($i = 1; $i <= 5; $i++) { echo "data: $i\\n\\n"; flush(); usleep(150000); }`,
  "finish.php": `<?php ${note("finish")} echo 'early'; fastcgi_finish_request(); usleep(1000000); ${note("finished")}`,
  "headers.php": `<?php header('X-Big: ' . str_repeat('b', 20000));
    for ($i = 0; $i < 50; $i++) setcookie("c$i", "v$i"); header('Link: <a>'); header('Link: <b>', false); echo 'h';`,
  "die.php": "<?php posix_kill(getmypid(), 9);",
  "half.php": "<?php echo str_repeat('x', 200000); flush(); usleep(200000); posix_kill(getmypid(), 9);",
};

export class Site {
  readonly dir: string = mkdtempSync(join(tmpdir(), "fairlead-chaos-"));

  constructor() {
    mkdirSync(join(this.dir, "public"));
    mkdirSync(join(this.dir, "notes"));
    for (const [name, source] of Object.entries(scripts)) writeFileSync(join(this.dir, "public", name), source);
    // PHP runs as another user when root starts it.
    chmodSync(join(this.dir, "notes"), 0o777);
  }

  read(name: string): string {
    const path = join(this.dir, "notes", name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** How often a script was started. */
  runs(name: string): number {
    return this.read(name).length;
  }

  /** Lets `held.php` go on to its end. */
  release(): void {
    writeFileSync(join(this.dir, "notes", "go"), "");
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export const get = (path: string): string => `GET /${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;

export const request = (server: TestServer, path: string): Promise<RawResponse | undefined> =>
  ask(server.port, get(path), { timeout: 40_000 });

const gauges = [
  "fairlead_admission_in_use",
  "fairlead_admission_queued",
  "fairlead_http_requests_in_flight",
  "fairlead_php_busy",
];

/** Waits until nothing is counted as running or waiting any more; a gauge that drifted never comes to zero. */
export async function idle(server: TestServer): Promise<void> {
  if (server.host === "nginx") return;
  await waitFor(async () => {
    const metrics = await server.metrics();
    const values = gauges.map((name) => [name, total(metrics, name)]);
    if (values.every(([, value]) => value === 0)) return true;
    throw new Error(JSON.stringify(values));
  }, { what: "every gauge at zero", timeout: 3000 });
}

/** Waits until `count` requests stand in line. */
export async function queued(server: TestServer, count: number): Promise<void> {
  // nginx, which is here to test the tests, counts nothing that could be waited for.
  if (server.host === "nginx") return pause(300);
  await waitFor(async () => total(await server.metrics(), "fairlead_admission_queued") === count, {
    what: `${count} requests in line`,
    timeout: 5000,
  });
}

/** Those that have no name any more. */
export const namelessFiles = (pid: number): string[] => openFiles(pid).filter((path) => path.endsWith("(deleted)"));

/** Whether nobody listens on the port. */
export async function refuses(port: number): Promise<boolean> {
  try {
    (await RawClient.connect(port)).leave();
    return false;
  } catch {
    return true;
  }
}

/** Most scenarios wait more than they work: two of them at once, for they look at the time as well. */
const twoAtOnce = pLimit(2);

/** What one test does: a site and a server of its own, and nothing left running after it. */
type Body = (server: TestServer, site: Site) => Promise<void>;

/** How a test of one host is written. */
export interface Scenes {
  scenario(name: string, config: Config, body: Body): void;
  /** For what needs the machine to itself. */
  alone(name: string, config: Config, body: Body): void;
}

export function scenes(host: HostName): Scenes {
  const scene = (config: Config, body: Body) => async () => {
    const site = new Site();
    const server = await startServer({ host, dir: site.dir, config: { log: { access: "off" }, ...config } });
    try {
      await body(server, site);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n--- output of ${host} ---\n${server.output().slice(-4000)}`);
    } finally {
      await server[Symbol.asyncDispose]();
      site.remove();
    }
  };
  return {
    scenario: (name, ...how) =>
      test.concurrent(name, () => twoAtOnce(() => within(60_000, "The scenario", scene(...how)()))),
    alone: (name, ...how) => test(name, scene(...how)),
  };
}
