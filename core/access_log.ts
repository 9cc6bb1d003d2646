import type { Exchange, Outcome } from "./exchange.ts";
import type { LineSink } from "./line_sink.ts";

/**
 * Makes the access log's writer: the combined log format plus milliseconds, handler and request id, or one JSON object
 * a line. Whatever a client sent is escaped, so that no request can forge a line.
 */
export function createAccessLog(format: "text" | "json", sink: LineSink): (x: Exchange, o: Outcome) => void {
  return format === "json"
    ? (x, o) => sink.write(jsonLine(x, o, new Date().toISOString()))
    : (x, o) => sink.write(textLine(x, o, commonTime(Date.now())));
}

function jsonLine(x: Exchange, o: Outcome, time: string): string {
  return `{"time":"${time}","id":"${x.id}","client":"${x.client.address}","method":${JSON.stringify(x.method)},` +
    `"host":${JSON.stringify(x.host)},"target":${JSON.stringify(x.target)},"protocol":"${x.protocol}",` +
    `"status":${o.status},"bytes":${o.bytes},"ms":${o.ms.toFixed(3)},"handler":${JSON.stringify(x.handler)},` +
    `"referer":${JSON.stringify(x.headers.get("referer") ?? "")},` +
    `"agent":${JSON.stringify(x.headers.get("user-agent") ?? "")}` +
    `${o.error === undefined ? "" : `,"error":${JSON.stringify(String(o.error))}`}}\n`;
}

function textLine(x: Exchange, o: Outcome, time: string): string {
  const referer = escape(x.headers.get("referer") ?? "-"), agent = escape(x.headers.get("user-agent") ?? "-");
  return `${x.client.address || "-"} - - [${time}] "${escape(x.method)} ${
    escape(x.target)
  } ${x.protocol}" ${o.status} ` +
    `${o.bytes < 0 ? "-" : o.bytes} "${referer}" "${agent}" ${o.ms.toFixed(1)}ms ${x.handler} ${x.id}\n`;
}

// deno-lint-ignore no-control-regex -- control characters are what is looked for
const unsafe = /["\\\u0000-\u001f\u007f]/g;

function escape(text: string): string {
  return text.replace(unsafe, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
let second = -1, rendered = "";

/** `29/Nov/2026:21:30:00 +0000`, rendered once a second. */
function commonTime(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s !== second) {
    const d = new Date(ms), two = (n: number) => String(n).padStart(2, "0");
    rendered = `${two(d.getUTCDate())}/${months[d.getUTCMonth()]}/${d.getUTCFullYear()}:${two(d.getUTCHours())}:` +
      `${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} +0000`;
    second = s;
  }
  return rendered;
}
