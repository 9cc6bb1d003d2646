/**
 * A server with every fault the hostile battery looks for, to test the battery: `FAIRLEAD_TEST_HOSTS=careless` must fail
 * nearly all of it. It decodes twice, follows everything, runs PHP in whatever has `.php` behind it, believes the first
 * length it finds, and has no limits. It listens on the loopback address only.
 *
 *     bun tests/support/careless.ts PUBLIC_ROOT PORT ADMIN_PORT
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { dirname, resolve } from "node:path";
import process from "node:process";

const [root = ".", port = "0", adminPort = "0"] = process.argv.slice(2);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function runPhp(file: string, method: string, target: string, headers: readonly string[], body: Buffer): string {
  const [path = "", query = ""] = target.split("?");
  const variables = headers.map((line) => line.split(":")).map(([name = "", ...rest]) =>
    [`HTTP_${name.trim().toUpperCase().replace(/-/g, "_")}`, rest.join(":").trim().slice(0, 100_000)] as const
  );
  const { stdout } = spawnSync("php-cgi", ["-d", "cgi.force_redirect=0"], {
    input: body,
    env: {
      ...Object.fromEntries(variables),
      PATH: process.env["PATH"] ?? "",
      REQUEST_METHOD: method,
      REQUEST_URI: target,
      QUERY_STRING: query,
      SCRIPT_NAME: path,
      SCRIPT_FILENAME: file,
      CONTENT_LENGTH: String(body.length),
      CONTENT_TYPE: "application/octet-stream",
      REDIRECT_STATUS: "200",
      REMOTE_ADDR: variables.find(([name]) => name === "HTTP_X_FORWARDED_FOR")?.[1] ?? "127.0.0.1",
    },
  });
  return (stdout ?? Buffer.alloc(0)).toString("latin1");
}

function answer(method: string, target: string, headers: readonly string[], body: Buffer): string {
  const path = decode(decode(target.replace(/^http:\/\/[^/]*/, "").split("?")[0]!)).replaceAll("\\", "/");
  const [upToNul = ""] = path.replaceAll("\u{fffd}", ".").split("\0");
  const tidy = upToNul.replace(/(::\$DATA|[ .\t]+)$/, "");
  // The longest part of the path that is a file, whatever follows it.
  let file = resolve(root, `./${tidy}`);
  while (!existsSync(file) && file.length > 1) file = dirname(file);
  const source = `${resolve(root)}/`;
  if (statSync(file).isDirectory()) {
    if (file + "/" === source) file = `${source}index.php`;
    else return `HTTP/1.1 200 OK\r\n\r\nIndex of ${tidy} ${readdirSync(file)}`;
  }
  if (!/\.php/i.test(path)) return `HTTP/1.1 200 OK\r\n\r\n${readFileSync(file, "latin1")}`;
  return `HTTP/1.1 200 OK\r\n${runPhp(file, method, target, headers, body)}`;
}

createServer((socket) => {
  let received = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    received = Buffer.concat([received, bytes as Buffer]);
    for (let end = received.indexOf("\r\n\r\n"); end >= 0; end = received.indexOf("\r\n\r\n")) {
      const [line = "", ...headers] = received.subarray(0, end).toString("latin1").split("\r\n");
      const length = parseInt(/^content-length *: *\+?(\d+)/im.exec(headers.join("\n"))?.[1] ?? "0");
      const body = received.subarray(end + 4, end + 4 + length);
      received = received.subarray(end + 4 + length);
      const [method = "", ...target] = line.replace(/ HTTP.*$/, "").split(" ");
      const [head = "", ...rest] = answer(method, target.join(" "), headers, body).split("\r\n\r\n");
      const text = rest.join("\r\n\r\n");
      socket.write(Buffer.from(`${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`, "latin1"));
    }
  });
}).listen(Number(port), "127.0.0.1");

createHttpServer((_, response) => response.end(JSON.stringify({ pid: process.pid }))).listen(
  Number(adminPort),
  "127.0.0.1",
);
process.on("SIGTERM", () => process.exit(0));
