/** A strict reader of the text formats, written from their rules and not from the code under test. */

export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ParsedSample[];
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
};

/** Reads an exposition; throws with the line that breaks a rule. */
export function parseExposition(text: string, open = false): Map<string, ParsedMetric> {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const lines = text.slice(0, -1).split("\n");
  if (open && lines.pop() !== "# EOF") throw new Error("no # EOF at the end");
  const metrics = new Map<string, ParsedMetric>();
  const seen = new Set<string>();
  let help: { name: string; text: string } | undefined;
  let current: ParsedMetric | undefined;
  for (const line of lines) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\n]*)$/.exec(line);
    if (comment?.[1] === "HELP") {
      help = { name: comment[2]!, text: unescape(comment[3]!, open ? 'n\\"' : "n\\", line) };
    } else if (comment?.[1] === "TYPE") {
      const [, , name = "", type = ""] = comment;
      if (help?.name !== name) throw new Error(`TYPE without its HELP: ${line}`);
      if (metrics.has(name) || SUFFIXES[type] === undefined) throw new Error(`bad TYPE: ${line}`);
      current = { name, type, help: help.text, samples: [] };
      metrics.set(name, current);
    } else {
      const sample = parseSample(line);
      const suffixes = current?.type === "counter" && open ? ["_total"] : SUFFIXES[current?.type ?? ""] ?? [];
      if (!suffixes.some((suffix) => `${current?.name}${suffix}` === sample.name)) {
        throw new Error(`a sample outside its metric: ${line}`);
      }
      const identity = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      if (seen.has(identity)) throw new Error(`twice the same sample: ${line}`);
      seen.add(identity);
      current!.samples.push(sample);
    }
  }
  for (const metric of metrics.values()) if (metric.type === "histogram") checkHistogram(metric);
  return metrics;
}

function parseSample(line: string): ParsedSample {
  const head = /^[a-zA-Z_:][a-zA-Z0-9_:]*/.exec(line);
  if (head === null) throw new Error(`not a sample: ${line}`);
  let at = head[0].length;
  const labels: Record<string, string> = Object.create(null);
  if (line[at] === "{") {
    at++;
    const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(,|\})/y;
    for (let last = ""; last !== "}";) {
      pair.lastIndex = at;
      const found = pair.exec(line);
      if (found === null) throw new Error(`bad labels: ${line}`);
      if (found[1]! in labels) throw new Error(`twice the same label: ${line}`);
      labels[found[1]!] = unescape(found[2]!, 'n\\"', line);
      last = found[3]!;
      at = pair.lastIndex;
    }
  }
  const value = /^ (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$/.exec(line.slice(at))?.[1];
  if (value === undefined) throw new Error(`bad value: ${line}`);
  return { name: head[0], labels, value: Number(value.replace("Inf", "Infinity")) };
}

function unescape(text: string, allowed: string, line: string): string {
  return text.replaceAll(/\\(.?)/gs, (_, char: string) => {
    if (char === "" || !allowed.includes(char)) throw new Error(`bad escape: ${line}`);
    return char === "n" ? "\n" : char;
  });
}

function checkHistogram({ name, samples }: ParsedMetric): void {
  const children = new Map<string, ParsedSample[]>();
  for (const sample of samples) {
    const { le: _, ...own } = sample.labels;
    const key = JSON.stringify(Object.entries(own).sort());
    children.set(key, [...children.get(key) ?? [], sample]);
  }
  for (const [key, own] of children) {
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map((bucket) => Number(bucket.labels["le"]?.replace("Inf", "Infinity")));
    const rising = (numbers: readonly number[], strictly: boolean) =>
      numbers.every((n, i) => i === 0 || (strictly ? n > numbers[i - 1]! : n >= numbers[i - 1]!));
    const counts = own.filter((sample) => sample.name === `${name}_count`);
    const sums = own.filter((sample) => sample.name === `${name}_sum`);
    if (!rising(bounds, true) || bounds.at(-1) !== Infinity) throw new Error(`bad bounds: ${name} ${key}`);
    if (!rising(buckets.map((bucket) => bucket.value), false)) throw new Error(`not cumulative: ${name} ${key}`);
    if (counts.length !== 1 || sums.length !== 1) throw new Error(`no sum or count: ${name} ${key}`);
    if (counts[0]!.value !== buckets.at(-1)!.value) throw new Error(`+Inf is not the count: ${name} ${key}`);
  }
}
