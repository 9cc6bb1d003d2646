import type { Session } from "./session.ts";

/** The first of the proxy's own ids. */
const first = 0x4000_0000;

/**
 * The sessions, and whom a connection id means. A session is greeted with the id of the backend that it was promised, or else
 * with one of the proxy's own; those start high, where no server's have come yet.
 */
export class SessionRegistry {
  readonly #sessions = new Set<Session>();
  readonly #greeted = new Map<number, Session>();
  #next = first;
  /** Sessions with an id of the proxy's own. */
  #own = 0;
  #emptied = Promise.withResolvers<void>();

  /** Resolves when there is none, at once where there is none now. */
  async empty(): Promise<void> {
    if (this.#sessions.size > 0) await this.#emptied.promise;
  }

  get size(): number {
    return this.#sessions.size;
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.#sessions.values();
  }

  /** The highest id that any of them was greeted with: above a server's, as soon as one is the proxy's own. */
  get highest(): number {
    if (this.#own > 0) return this.#next;
    let highest = 0;
    for (const id of this.#greeted.keys()) if (id > highest) highest = id;
    return highest;
  }

  /** A new id of the proxy's own. */
  nextId(): number {
    for (;;) {
      const id = this.#next;
      this.#next = id >= 0x7fff_ffff ? first : id + 1;
      if (!this.#greeted.has(id)) return id;
    }
  }

  add(session: Session): void {
    this.#sessions.add(session);
    if (session.id >= first) this.#own++;
    this.#greeted.set(session.id, session);
  }

  delete(session: Session): void {
    if (this.#sessions.delete(session) && session.id >= first) this.#own--;
    // A server that was started again counts from the beginning: the id may be another's by now.
    if (this.#greeted.get(session.id) === session) this.#greeted.delete(session.id);
    if (this.#sessions.size > 0) return;
    this.#emptied.resolve();
    this.#emptied = Promise.withResolvers();
  }

  /**
   * The session that was greeted with the id, or has the server's connection of that id. An id of a connection that was never
   * the session's own and is closed counts as long as the session has another one: the server has not begun to count anew.
   */
  find(id: number): Session | undefined {
    const greeted = this.#greeted.get(id);
    if (greeted !== undefined && (id >= first || (greeted.promised ?? greeted.backend) !== undefined)) return greeted;
    for (const session of this.#sessions) if (session.backendId === id) return session;
    return undefined;
  }
}
