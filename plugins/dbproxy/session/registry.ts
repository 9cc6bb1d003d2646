import type { Session } from "./session.ts";

/**
 * The sessions by the connection ids they were greeted with. Ids are the proxy's own: a session has no connection of its
 * own when it is greeted. They start high, where no server's have come yet, so that both kinds can be told apart.
 */
export class SessionRegistry {
  readonly #sessions = new Map<number, Session>();
  #next: number;

  constructor(first = 0x4000_0000) {
    this.#next = first;
  }

  get size(): number {
    return this.#sessions.size;
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.#sessions.values();
  }

  /** A new id. */
  nextId(): number {
    for (;;) {
      const id = this.#next;
      this.#next = id >= 0x7fff_ffff ? 0x4000_0000 : id + 1;
      if (!this.#sessions.has(id)) return id;
    }
  }

  add(session: Session): void {
    this.#sessions.set(session.id, session);
  }

  delete(session: Session): void {
    if (this.#sessions.get(session.id) === session) this.#sessions.delete(session.id);
  }

  /** Whom an id means: the session greeted with it, or else the one that now runs on the server's connection of that id. */
  find(id: number): Session | undefined {
    const greeted = this.#sessions.get(id);
    if (greeted !== undefined) return greeted;
    for (const session of this.#sessions.values()) if (session.backendId === id) return session;
    return undefined;
  }
}
