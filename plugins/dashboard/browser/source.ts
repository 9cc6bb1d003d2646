import type { Answers } from "../page/answers.ts";

/** What is asked besides the metrics. */
const paths: Readonly<Record<keyof Answers, string>> = {
  ready: "readyz",
  whoami: "-/whoami",
  admission: "-/admission",
  bulkheads: "-/bulkheads",
  pools: "-/db/pool",
  queries: "-/db/queries?limit=5",
};

/** How long (ms) the server may take to answer. */
const patience = 5000;

/** Asks the admin listener. What is not there (404) is not asked for again until {@linkcode Source.forget}. */
export class Source {
  readonly #metricsPath: string;
  readonly #absent = new Set<string>();

  constructor(metricsPath: string) {
    this.#metricsPath = metricsPath;
  }

  /** The server has begun anew: it may have other plugins. */
  forget(): void {
    this.#absent.clear();
  }

  /** The text of the metrics; throws what is wrong. */
  async metrics(): Promise<string> {
    const response = await ask(this.#metricsPath, "text/plain; version=0.0.4");
    if (!response.ok) throw new Error(`/${this.#metricsPath.replace("./", "")} answered ${response.status}`);
    return await response.text();
  }

  async answers(): Promise<Answers> {
    const names = Object.keys(paths) as (keyof Answers)[];
    const found = await Promise.all(names.map(async (name) => [name, await this.#json(paths[name])] as const));
    return Object.fromEntries(found);
  }

  async #json(path: string): Promise<unknown> {
    if (this.#absent.has(path)) return undefined;
    try {
      const response = await ask(path, "application/json");
      if (response.status === 404) this.#absent.add(path);
      // Who is not ready says why with 503.
      return response.ok || response.status === 503 ? await response.json() : void await response.body?.cancel();
    } catch {
      // A panel without this answer shows what the metrics say; whether there is a server at all they say, too.
      return undefined;
    }
  }
}

async function ask(path: string, accept: string): Promise<Response> {
  return await fetch(path, { headers: { accept }, cache: "no-store", signal: AbortSignal.timeout(patience) });
}
