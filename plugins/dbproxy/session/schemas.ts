/** How long (ms) a schema counts as existing since it was last used with success. */
const trusted = 10_000;

/** Schemas that this account could use lately: a session may name one without asking the server. */
export class SchemaMemory {
  readonly #seen = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  known(name: string): boolean {
    const at = this.#seen.get(name);
    return at !== undefined && this.#now() - at < trusted;
  }

  remember(name: string): void {
    this.#seen.delete(name);
    this.#seen.set(name, this.#now());
    if (this.#seen.size > 1000) this.#seen.delete(this.#seen.keys().next().value!);
  }

  /** A schema may have been dropped. */
  forget(): void {
    this.#seen.clear();
  }
}
