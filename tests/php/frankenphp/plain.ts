/**
 * One request to a plain php-cgi: what the runtime is compared with.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { type Ask, scriptPath } from "./host.ts";

export interface Part {
  readonly name: string;
  /** One character a byte. */
  readonly value: string;
  /** For a file. */
  readonly filename?: string;
  readonly mime?: string;
}

/** The body, and its type, that a browser would send. */
export function multipart(parts: readonly Part[]): { readonly type: string; readonly body: string } {
  const body = parts.map(({ name, value, filename, mime }) => {
    const file = filename === undefined ? "" : `; filename="${filename}"`;
    const type = mime === undefined ? "" : `\r\nContent-Type: ${mime}`;
    return `--cut\r\nContent-Disposition: form-data; name="${name}"${file}${type}\r\n\r\n${value}\r\n`;
  });
  return { type: "multipart/form-data; boundary=cut", body: `${body.join("")}--cut--\r\n` };
}

export function askPlain(ask: Ask, ini: Readonly<Record<string, string>> = {}): Promise<string> {
  const body = Buffer.from(ask.body ?? "", "latin1");
  const options = { html_errors: "0", error_log: "/dev/null", request_order: "GP", ...ini };
  const child = spawn("php-cgi", [
    "-n",
    ...Object.entries(options).flatMap(([name, value]) => ["-d", `${name}=${value}`]),
  ], {
    env: {
      PATH: process.env.PATH ?? "",
      REDIRECT_STATUS: "200",
      GATEWAY_INTERFACE: "CGI/1.1",
      SCRIPT_FILENAME: scriptPath("plain.php"),
      REQUEST_METHOD: ask.method ?? "GET",
      QUERY_STRING: ask.query ?? "",
      CONTENT_LENGTH: String(body.length),
      CONTENT_TYPE: ask.headers?.["content-type"] ?? "",
      ...(ask.headers?.cookie === undefined ? {} : { HTTP_COOKIE: ask.headers.cookie }),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(body);
  const chunks: Uint8Array[] = [];
  child.stdout.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  return new Promise((done) => {
    child.on("close", () => {
      const text = Buffer.concat(chunks).toString("latin1");
      done(text.slice(text.indexOf("\r\n\r\n") + 4));
    });
  });
}
