import type { Log } from "./plugin.ts";
import type { LineSink } from "./line_sink.ts";

const levels = { debug: 0, info: 1, warn: 2, error: 3 } as const;

/** How much a line matters. */
export type Level = keyof typeof levels;

/** Settings of a log. */
export interface LogOptions {
  readonly level: Level;
  readonly format: "text" | "json";
  readonly sink: LineSink;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/**
 * Makes the server's log. A text line reads `TIME LEVEL [plugin] message key=value ...`, a JSON line has `time`,
 * `level`, `message` and the fields. Errors among the fields are written with their code, message, stack and cause.
 */
export function createLog({ level, format, sink, now = Date.now }: LogOptions): Log {
  const least = levels[level];
  const render = format === "json" ? jsonLine : textLine;
  return (at, message, fields = {}) => {
    if (levels[at] >= least) sink.write(render(new Date(now()).toISOString(), at, message, fields));
  };
}

type Fields = Readonly<Record<string, unknown>>;

function jsonLine(time: string, level: Level, message: string, fields: Fields): string {
  return `${JSON.stringify({ time, level, message, ...fields }, (_key, value) => plain(value))}\n`;
}

function textLine(time: string, level: Level, message: string, fields: Fields): string {
  let line = `${time} ${level.toUpperCase().padEnd(5)}`;
  if (fields.plugin !== undefined) line += ` [${fields.plugin}]`;
  line += ` ${oneLine(message)}`;
  for (const [key, value] of Object.entries(fields)) {
    if (key === "plugin" || value === undefined) continue;
    const v = plain(value);
    const text = typeof v === "object" && v !== null ? JSON.stringify(v, (_k, inner) => plain(inner)) : String(v);
    line += ` ${key}=${/^[^\s"=]+$/.test(text) || text.startsWith("{") ? text : JSON.stringify(text)}`;
  }
  return `${line}\n`;
}

/** Text from outside must not be able to write a second log line. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  return text.replace(/[\u0000-\u001f\u007f]/g, (c) => c === "\t" ? " " : c === "\n" ? " ⏎ " : "");
}

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { code, message, stack, cause } = value as Error & { code?: unknown };
  return { ...(code === undefined ? {} : { code }), message, stack, ...(cause === undefined ? {} : { cause }) };
}
