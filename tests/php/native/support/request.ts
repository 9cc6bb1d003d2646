import type { Exchange } from "../../../../core/exchange.ts";
import type { Script } from "../../../../plugins/php/resolve.ts";
import type { RequestBody } from "../../../../plugins/php/worker/body.ts";
import type { WorkerRequest } from "../../../../plugins/php/worker/handle.ts";
import { exchangeOf } from "../../support/exchange.ts";

export const script: Script = {
  kind: "script",
  scriptFilename: "/srv/app/public/index.php",
  scriptName: "/index.php",
  pathInfo: "",
  documentUri: "/index.php",
  documentRoot: "/srv/app/public",
};

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  readonly deadline?: number;
  readonly script?: Script;
}

/** `GET /a?b=c`, with what else is asked for. */
export function ask(line = "GET /", more: Ask = {}): WorkerRequest {
  const fields = Object.entries({ host: "example.org", ...more.headers }).map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  const x = exchangeOf(`${line} HTTP/1.1\r\n${fields.join("")}\r\n`, { localPort: 8080 });
  const own = { id: "req-1", deadline: more.deadline ?? performance.now() + 30_000 };
  return { x: Object.assign(x, own) as Exchange, script: more.script ?? script, body: more.body };
}

export function bytesBody(bytes: Uint8Array | string): RequestBody {
  return { kind: "bytes", bytes: typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes };
}
