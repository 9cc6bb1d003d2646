import { ask, type RawResponse } from "../raw_http.ts";

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Ms on the clock of `performance.now()`. */
  readonly at: number;
  readonly ms: number;
}

export interface Load {
  /** What was answered so far. A connection that ended without an answer has status 0. */
  readonly answers: readonly Answer[];
  /** Lets the requests end, and no more begin. */
  stop(): Promise<readonly Answer[]>;
}

/** One request on a connection of its own. */
export function get(port: number, path: string, timeout = 20_000): Promise<RawResponse | undefined> {
  return ask(port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, { timeout });
}

/** `clients` that ask for the page, one request after the other. */
export function load(port: number, path: string, clients: number): Load {
  const answers: Answer[] = [];
  let running = true;
  const client = async () => {
    while (running) {
      const started = performance.now();
      const response = await get(port, path).catch(() => undefined);
      const at = performance.now();
      const whole = response?.complete === true;
      answers.push({ status: whole ? response.status : 0, text: response?.text() ?? "", at, ms: at - started });
    }
  };
  const all = Promise.all(Array.from({ length: clients }, client));
  return {
    answers,
    async stop() {
      running = false;
      await all;
      return answers;
    },
  };
}

/** How often each status came. */
export function statuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export const quantile = (values: readonly number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? NaN;
