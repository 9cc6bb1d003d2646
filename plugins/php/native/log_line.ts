import { malformed } from "./frame.ts";

/** A message of the application for the server's log. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  /** A JSON object, or empty. */
  readonly context: string;
}

const levels = ["debug", "info", "warn", "error"] as const;

/** Reads the payload of a LOG frame. */
export function readLogLine(payload: Uint8Array): LogLine {
  const level = levels[payload[0] ?? 255];
  if (level === undefined) throw malformed("a log message without a level");
  const text = new TextDecoder().decode(payload.subarray(1));
  const end = text.indexOf("\0");
  return end < 0
    ? { level, message: text, context: "" }
    : { level, message: text.slice(0, end), context: text.slice(end + 1) };
}
