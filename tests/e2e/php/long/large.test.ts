/**
 * Bodies far larger than memory should be, up and down through workers of each protocol: neither the server nor PHP grows with
 * them.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { type Door, makeSite, phpProcesses, phpTable, withServer } from "../../../support/php_apps/site.ts";
import { hosts } from "../../../support/server.ts";
import { allowSlowTests, within } from "../../../support/wait.ts";

allowSlowTests(600_000);

/** MiB of each body; 2048 when the variable is not set. */
const megabytes = Number(process.env["FAIRLEAD_LARGE_MB"] ?? 2048);
const block = 65_536;
const blocks = megabytes * 16;
/** Of the server, and of a worker, beyond what they have when nothing goes on. */
const growth = 160 * 2 ** 20;

/** Blocks that begin with their number. */
const lab = `<?php
namespace Large;

const BLOCK = ${block};

function block(int $i): string
{
    return sprintf('%012d', $i) . str_repeat('x', BLOCK - 12);
}

/** How many blocks are right. */
function count($stream): string
{
    for ($i = 0; ($bytes = stream_get_contents($stream, BLOCK)) !== '' && $bytes !== false; $i++) {
        if (strlen($bytes) !== BLOCK || (int) substr($bytes, 0, 12) !== $i) {
            return "wrong at $i";
        }
    }
    return (string) $i;
}

function blocks(): iterable
{
    for ($i = 0; $i < ${blocks}; $i++) {
        yield block($i);
    }
}
`;

const scripts: Readonly<Record<"frankenphp" | "native" | "goridge", string>> = {
  frankenphp: `<?php
require __DIR__ . '/large.php';
while (frankenphp_handle_request(static function (): void {
    switch ($_SERVER['REQUEST_URI']) {
        case '/raw': echo Large\\count(fopen('php://input', 'rb')); break;
        case '/form': echo Large\\count(fopen($_FILES['f']['tmp_name'], 'rb')); break;
        case '/down': foreach (Large\\blocks() as $block) { echo $block; } break;
    }
})) {}
`,
  native: `<?php
require getenv('FAIRLEAD_PHP') . '/src/autoload.php';
require __DIR__ . '/large.php';
Fairlead\\Worker::create()->serve(static fn (Fairlead\\Request $request) => new Fairlead\\Response(200, [], match ($request->path) {
    '/raw' => Large\\count($request->bodyStream()),
    '/form' => Large\\count($request->files()['f']->stream()),
    '/down' => Large\\blocks(),
}));
`,
  goridge: `<?php
require __DIR__ . '/common/Goridge.php';
require __DIR__ . '/large.php';
$host = new Common\\Goridge();
while (($request = $host->next()) !== null) {
    [$context] = $request;
    if (str_ends_with($context['uri'], '/down')) {
        $host->stream(200, [], Large\\blocks());
        continue;
    }
    $host->respond(200, [], Large\\count(fopen($context['uploads']['f']['tmpName'], 'rb')));
}
`,
};

const encoder = new TextEncoder();

/** Sends a request, whose body is `before`, all blocks and `after`, and returns the body of the response. */
async function send(port: number, path: string, type: string, before: string, after: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const answer = read(socket);
  const length = before.length + blocks * block + after.length;
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${before}`,
  );
  for (let i = 0; i < blocks; i++) {
    const bytes = new Uint8Array(block).fill(120);
    bytes.set(encoder.encode(String(i).padStart(12, "0")));
    if (!socket.write(bytes)) await new Promise((done) => socket.once("drain", done));
  }
  socket.write(after);
  return await answer;
}

async function read(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (bytes: Uint8Array) => text += new TextDecoder().decode(bytes));
  await new Promise((done, fail) => socket.once("close", done).once("error", fail));
  return text.slice(text.indexOf("\r\n\r\n") + 4);
}

/** Reads the blocks of a response, without keeping them; returns how many were right. */
async function receive(port: number, path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  let at = 0, right = 0;
  let head = "";
  for await (const bytes of response.body!) {
    for (let i = 0; i < bytes.length;) {
      const within = at % block;
      if (within < 12) {
        head += String.fromCharCode(bytes[i]!);
        if (within === 11) {
          if (Number(head) === (at - 11) / block) right++;
          head = "";
        }
        i++;
        at++;
      } else {
        const rest = Math.min(block - within, bytes.length - i);
        i += rest;
        at += rest;
      }
    }
  }
  return at === blocks * block ? right : -at;
}

function rss(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

for (const host of hosts()) {
  describe(`large bodies on ${host}`, () => {
    for (const door of ["frankenphp", "native", "goridge"] as const satisfies readonly Door[]) {
      test(`${megabytes} MB up and down (${door})`, async () => {
        const site = makeSite("lab");
        site.write("large.php", lab);
        site.write("large-worker.php", scripts[door]);
        const php = {
          ...phpTable(door, site, {
            concurrency: 1,
            ini: { upload_max_filesize: "8G", post_max_size: "8G", memory_limit: "64M" },
          }),
          script: "large-worker.php",
          protocol: door,
        };
        const config = { server: { max_body: "8GB", timeout: "10m" } };
        try {
          await withServer({ host, site, php, config }, async (server) => {
            const pids = () => [server.pid, ...phpProcesses(server)];
            const base = new Map(pids().map((pid) => [pid, rss(pid)]));
            const most = new Map<number, number>();
            const timer = setInterval(() => {
              for (const pid of pids()) most.set(pid, Math.max(most.get(pid) ?? 0, rss(pid)));
            }, 100);
            const step = async (name: string, work: Promise<string | number>) => {
              most.clear();
              const began = performance.now();
              expect(String(await within(500_000, name, work))).toBe(String(blocks));
              const grown = pids().map((pid) => (most.get(pid) ?? 0) - (base.get(pid) ?? 0));
              const told = grown.map((bytes) => Math.round(bytes / 2 ** 20)).join(", ");
              console.log(
                `${host} ${door} ${name}: ${((performance.now() - began) / 1000).toFixed(1)} s, grown by ${told} MB`,
              );
              for (const bytes of grown) expect(bytes).toBeLessThan(growth);
            };
            try {
              // A Goridge worker is given a whole body as one string: files alone go past it.
              if (door !== "goridge") await step("up", send(server.port, "/raw", "application/octet-stream", "", ""));
              const part = 'Content-Disposition: form-data; name="f"; filename="f"\r\nContent-Type: a/b\r\n\r\n';
              await step(
                "form up",
                send(server.port, "/form", "multipart/form-data; boundary=cut", `--cut\r\n${part}`, "\r\n--cut--\r\n"),
              );
              await step("down", receive(server.port, "/down"));
            } finally {
              clearInterval(timer);
            }
          });
        } finally {
          site.remove();
        }
      });
    }
  });
}
