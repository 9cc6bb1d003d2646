/** Something a browser is told. */
export type Change =
  | { readonly kind: "reload" }
  /** Paths of stylesheets, as URLs have them, decoded. */
  | { readonly kind: "css"; readonly paths: readonly string[] }
  /** New code was refused; what answers is what answered before. */
  | { readonly kind: "failed"; readonly text: string };

/** What has changed since the server started, so that a page learns of what it has missed. */
export class Changes {
  readonly #start: string;
  readonly #keep: number;
  readonly #last: Change[] = [];
  #count = 0;

  /**
   * @param start names this start of the server: letters, digits and `-`
   * @param keep how many are remembered
   */
  constructor(start: string, keep = 50) {
    this.#start = start;
    this.#keep = keep;
  }

  /** Names the state of now: what was made from it has seen all changes. */
  get at(): string {
    return this.#id(this.#count);
  }

  /** Adds a change; its event is for those who are there. */
  add(change: Change): string {
    this.#count++;
    if (this.#last.push(change) > this.#keep) this.#last.shift();
    return event(this.at, change);
  }

  /** The events that who has seen `at` has missed: a reload alone where that is not known any more. */
  since(at: string): string {
    const [start, count = ""] = at.split(".");
    const missed = this.#count - Number(count);
    if (start !== this.#start || !/^\d+$/.test(count) || missed < 0 || missed > this.#last.length) {
      return event(this.at, { kind: "reload" });
    }
    const changes = missed === 0 ? [] : this.#last.slice(-missed);
    return changes.map((change, i) => event(this.#id(Number(count) + i + 1), change)).join("");
  }

  #id(count: number): string {
    return `${this.#start}.${count}`;
  }
}

/** One server-sent event. JSON has no line breaks, which would end the field. */
function event(id: string, change: Change): string {
  const data = change.kind === "css" ? change.paths : change.kind === "failed" ? change.text : "";
  return `id: ${id}\nevent: ${change.kind}\ndata: ${JSON.stringify(data)}\n\n`;
}
