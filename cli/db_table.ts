/** What `/-/db/queries` says of one database. */
export interface Queries {
  readonly name: string;
  readonly since: string;
  readonly digests: number;
  readonly total: Row;
  readonly queries: readonly Row[];
}

/** What `/-/db/pool` says of one database. */
export interface Pool {
  readonly name: string;
  readonly server: string;
  readonly version?: string;
  readonly up: boolean;
  readonly limit: number;
  readonly clients: Readonly<Record<string, number>>;
  readonly backends: Readonly<Record<string, number>>;
  readonly oldest_wait_ms: number;
}

interface Row {
  readonly text: string;
  readonly schema: string;
  readonly count: number;
  readonly errors: number;
  readonly rows: number;
  readonly time: number;
  readonly mean: number;
  readonly p95: number;
  readonly max: number;
}

/** One database, with what was seen of it a while before. */
export interface View {
  readonly pool: Pool;
  readonly queries: Queries;
  /** Statements a second since the last look; undefined at the first. */
  readonly perSecond?: number | undefined;
}

/** Draws a database as lines of at most `width` characters. */
export function drawDatabase({ pool, queries, perSecond }: View, width: number): string[] {
  const { clients, backends, limit } = pool;
  const states = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([state, count]) => `${count} ${state}`).join(", ");
  const open = Object.values(backends).reduce((sum, count) => sum + count, 0);
  const pace = perSecond === undefined ? "" : `, ${short(perSecond)} a second`;
  const wait = pool.oldest_wait_ms > 0 ? `, the first in line for ${time(pool.oldest_wait_ms)}` : "";
  const version = pool.version === undefined ? "" : ` (${pool.version})`;
  return [
    `${pool.name}: ${pool.server}${version} is ${pool.up ? "up" : "DOWN"}`,
    `  clients      ${states(clients)}${wait}`,
    `  connections  ${open} of ${limit}: ${states(backends)}`,
    `  statements   ${short(queries.total.count)}${pace}, ${
      short(queries.total.errors)
    } errors, since ${queries.since}`,
    "",
    ["count", "errors", "rows", "total", "mean", "p95", "max"].map((name) => name.padStart(8)).join("") + "  statement",
    ...queries.queries.map(drawRow),
  ].map((line) => cut(plain(line), width));
}

function drawRow({ text, schema, count, errors, rows, time: total, mean, p95, max }: Row): string {
  const cells = [short(count), short(errors), short(rows), time(total), time(mean), time(p95), time(max)];
  return `${cells.map((cell) => cell.padStart(8)).join("")}  ${schema === "" ? "" : `${schema}: `}${text}`;
}

/** A statement can hold any byte: none may reach a terminal as a command. */
export function plain(text: string): string {
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/** At most `width` characters. */
export function cut(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join("")}…`;
}

/** `950`, `12.3k`, `4.56M`: at most three digits that count. */
export function short(n: number): string {
  const [divisor, unit] = n >= 999.5e9
    ? [1e12, "T"] as const
    : n >= 999.5e6
    ? [1e9, "G"] as const
    : n >= 999.5e3
    ? [1e6, "M"] as const
    : n >= 1000
    ? [1e3, "k"] as const
    : [1, ""] as const;
  return unit === "" && Number.isInteger(n) ? String(n) : digits(n / divisor) + unit;
}

/** A time in ms as `85us`, `1.25ms`, `3.4s`, `12m`, `5h`. */
export function time(ms: number): string {
  if (ms === 0) return "0";
  if (ms < 0.9995) return `${digits(ms * 1000)}us`;
  if (ms < 999.5) return `${digits(ms)}ms`;
  if (ms < 99_950) return `${digits(ms / 1000)}s`;
  return ms < 5_970_000 ? `${Math.round(ms / 60_000)}m` : `${digits(ms / 3_600_000)}h`;
}

function digits(n: number): string {
  return n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2);
}
