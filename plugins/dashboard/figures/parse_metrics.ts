import { Metrics, type Sample } from "./metrics.ts";

const nameAt = /[a-zA-Z_:][a-zA-Z0-9_:]*/y;
const labelAt = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(,?)/sy;
const endAt = /[ \t]*\}/y;
const valueAt = /[ \t]+(NaN|[+-]?Inf|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:[ \t]+-?\d+)?[ \t]*$/y;

/**
 * Reads the Prometheus text format 0.0.4. A line that is none of its own is left out and counted: a page that shows the rest
 * is worth more than none.
 */
export function parseMetrics(text: string): Metrics {
  const samples = new Map<string, Sample[]>();
  let unread = 0;
  for (const line of text.split("\n")) {
    if (/^[ \t\r]*(?:#|$)/.test(line)) continue;
    const read = readSample(line.endsWith("\r") ? line.slice(0, -1) : line);
    if (read === undefined) {
      unread++;
      continue;
    }
    const known = samples.get(read.name);
    if (known === undefined) samples.set(read.name, [read.sample]);
    else known.push(read.sample);
  }
  return new Metrics(samples, unread);
}

function readSample(line: string): { readonly name: string; readonly sample: Sample } | undefined {
  const name = match(nameAt, line, /^[ \t]*/.exec(line)![0].length);
  if (name === undefined) return undefined;
  let at = name.end + (/^[ \t]*(?=\{)/.exec(line.slice(name.end))?.[0].length ?? 0);
  const labels = new Map<string, string>();
  if (line[at] === "{") {
    at++;
    for (let more = true; more;) {
      const pair = match(labelAt, line, at);
      if (pair === undefined) break;
      const [, label, value, comma] = pair.found;
      if (labels.has(label!)) return undefined;
      labels.set(label!, unescape(value!));
      at = pair.end;
      more = comma === ",";
    }
    const end = match(endAt, line, at);
    if (end === undefined) return undefined;
    at = end.end;
  }
  const value = match(valueAt, line, at);
  return value &&
    { name: name.found[0], sample: { labels, value: Number(value.found[1]!.replace("Inf", "Infinity")) } };
}

function match(pattern: RegExp, text: string, at: number): { found: RegExpExecArray; end: number } | undefined {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  return found === null ? undefined : { found, end: pattern.lastIndex };
}

function unescape(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\([\\"n])/g, (_, char: string) => char === "n" ? "\n" : char);
}
