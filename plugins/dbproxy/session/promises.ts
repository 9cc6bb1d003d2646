import type { Backend } from "../backend/backend.ts";
import { reachable } from "../state/plan.ts";
import type { Want } from "./host.ts";

/** Where idle backends come from. */
export interface PromisePool {
  /** Last used first; `room`: more may be opened beside all there are. */
  idle(): { readonly backends: readonly Backend[]; readonly room: boolean };
  /** Opens one in advance, if it can. */
  spare(want: Want): void;
  /** A backend may serve anybody again. */
  reconsider(): void;
  discard(backend: Backend, reason: string): void;
}

const mostTrust = 8;
/** With so many of them idle, none is opened in advance. */
const enough = 3;

/**
 * True connection ids for clients that do not need a connection yet: one is greeted with the id of an idle backend, which is
 * promised to it. Until it leaves, that backend serves nobody else, so an id never means two sessions; where the backend is
 * closed before it is needed, the id means nobody.
 *
 * What the client will need is not known when it is greeted: what the last one needed is the guess. Nothing is promised where
 * that would take the last one from the others. As with a server, of two clients that are there the later one has the higher id.
 */
export class Promises {
  readonly #pool: PromisePool;
  #last: Want | undefined;
  /** The backend that was promised last and is free again: who connects anew expects another id than the one before. */
  #had: Backend | undefined;
  /** How good the guess has been: above 0 when two of three were right. */
  #trust = mostTrust / 2;

  constructor(pool: PromisePool) {
    this.#pool = pool;
  }

  /** A client logged in that will need this. */
  saw(want: Want): void {
    const right = this.#last === undefined || this.#last.kind === want.kind;
    this.#trust = right ? Math.min(this.#trust + 1, mostTrust) : Math.max(this.#trust - 2, 0);
    this.#last = want;
  }

  /** Promises a backend whose id is above the one given, where one can be spared: the lowest, for the next may want one, too. */
  make(above: number): Backend | undefined {
    const want = this.#last;
    if (want === undefined || this.#trust === 0) return undefined;
    const { backends, room } = this.#pool.idle();
    let free = 0, fits = 0;
    let found: Backend | undefined;
    for (const backend of backends) {
      if (backend.promised || backend.kind !== want.kind || !reachable(backend.state, want)) continue;
      free++;
      if (backend === this.#had || backend.id <= above) continue;
      fits++;
      if (found === undefined || backend.id < found.id) found = backend;
    }
    if (fits < 2 && free < enough) this.#pool.spare(want);
    if (found === undefined || (free < 2 && !room)) return undefined;
    found.promised = true;
    return found;
  }

  /** Its client has left. */
  end(backend: Backend): void {
    if (!backend.promised) return;
    this.#had = backend;
    backend.promised = false;
    this.#pool.reconsider();
  }

  /** As {@linkcode Promises.end}, and its id is to be found no more. */
  void(backend: Backend): void {
    this.#pool.discard(backend, "promised");
  }
}
