/**
 * What php-fpm says on its stderr, as facts.
 *
 * @module
 */

export type FpmLevel = "debug" | "notice" | "warning" | "error" | "alert";

export type FpmLine =
  /** A line of the master's own. */
  | { readonly kind: "log"; readonly level: FpmLevel; readonly message: string }
  | { readonly kind: "child-started"; readonly pid: number }
  | {
    readonly kind: "child-exited";
    readonly pid: number;
    /** Exit code, or undefined when a signal ended it. */
    readonly code: number | undefined;
    /** `SIGKILL`, or undefined. */
    readonly signal: string | undefined;
    /** Seconds since it was started. */
    readonly afterS: number;
    /** `exited on signal 9 (SIGKILL) after 1.2 seconds from start`. */
    readonly message: string;
  }
  | {
    readonly kind: "child-output";
    readonly pid: number;
    readonly message: string;
    /** PHP's own error log, which the FastCGI connection of the request carries too; false for what the script wrote. */
    readonly php: boolean;
  };

const levels: Readonly<Record<string, FpmLevel>> = {
  DEBUG: "debug",
  NOTICE: "notice",
  WARNING: "warning",
  ERROR: "error",
  ALERT: "alert",
};

const prefix = /^\[\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\] (DEBUG|NOTICE|WARNING|ERROR|ALERT): (.*)$/s;
const fromPool = /^\[pool [^\]]+\] child (\d+)(?:, script .*?)? (started|said into std(?:err|out): |exited )(.*)$/s;
const ended = /^(?:with code (\d+)|on signal \d+ \((\w+)[^)]*\)).*? after ([\d.]+) seconds from start/s;
const phpMessage = /^(?:NOTICE: )?PHP message: /;
/** How PHP goes on in an error of several lines; anything else could be the script's own words. */
const phpContinues = /^(?:Stack trace:|#\d+ | {2}thrown in |Next )/;

/** Makes a parser of lines (without the line break). It keeps which child is in the middle of a PHP message. */
export function fpmLineParser(): (line: string) => FpmLine | undefined {
  const talking = new Set<number>();
  return (line) => {
    if (line === "") return undefined;
    const [, word, text] = prefix.exec(line) ?? [];
    if (word === undefined || text === undefined) {
      return { kind: "log", level: line.startsWith("ERROR: ") ? "error" : "notice", message: line };
    }
    const level = levels[word] ?? "notice";
    const [, id, what, rest] = fromPool.exec(text) ?? [];
    if (id === undefined || what === undefined || rest === undefined) return { kind: "log", level, message: text };
    const pid = Number(id);
    if (what === "started") {
      talking.delete(pid);
      return { kind: "child-started", pid };
    }
    if (what === "exited ") {
      talking.delete(pid);
      const [, code, signal, after] = ended.exec(rest) ?? [];
      return {
        kind: "child-exited",
        pid,
        code: code === undefined ? undefined : Number(code),
        signal,
        afterS: Number(after ?? NaN),
        message: `exited ${rest}`,
      };
    }
    const message = rest.replace(/^"|"(?:, pipe is closed)?$/g, "");
    const begins = phpMessage.test(message);
    const php = begins || (talking.has(pid) && phpContinues.test(message));
    if (php) talking.add(pid);
    else talking.delete(pid);
    return { kind: "child-output", pid, message: begins ? message.replace(phpMessage, "") : message, php };
  };
}

/** Cuts chunks of bytes into lines; a line longer than `limit` characters is cut there. */
export function lineSplitter(line: (text: string) => void, limit: number = 1 << 20): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  let rest = "";
  return (chunk) => {
    rest += decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = rest.indexOf("\n"); at >= 0; at = rest.indexOf("\n", from)) {
      line(rest.slice(from, at));
      from = at + 1;
    }
    rest = rest.slice(from);
    if (rest.length > limit) {
      line(rest);
      rest = "";
    }
  };
}
