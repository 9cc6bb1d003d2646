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

/**
 * True connection ids for clients that do not need a connection yet: one is greeted with the id of an idle backend, which is
 * promised to it. Until it leaves, that backend serves nobody else, so an id never means two sessions; where the backend is
 * closed before it is needed, the id means nobody.
 *
 * What the client will need is not known when it is greeted: what the last one needed is the guess. Nothing is promised where
 * that would take the last one from the others.
 */
export class Promises {
  readonly #pool: PromisePool;
  #last: Want | undefined;
  /** The backend that a session had last: who connects again expects another id than the one before. */
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

  /** Promises a backend, where one can be spared. */
  make(): Backend | undefined {
    const want = this.#last;
    if (want === undefined || this.#trust === 0) return undefined;
    const { backends, room } = this.#pool.idle();
    const fit = backends.filter((backend) =>
      !backend.promised && backend !== this.#had && backend.kind === want.kind && reachable(backend.state, want)
    );
    const [found] = fit;
    if (found !== undefined && (room || fit.length > 1)) found.promised = true;
    if (fit.length < 2) this.#pool.spare(want);
    return found?.promised ? found : undefined;
  }

  /** A session gives its backend back. */
  had(backend: Backend): void {
    this.#had = backend;
  }

  /** Its client has left. */
  end(backend: Backend): void {
    if (!backend.promised) return;
    backend.promised = false;
    this.#pool.reconsider();
  }

  /** As {@linkcode Promises.end}, and its id is to be found no more. */
  void(backend: Backend): void {
    this.#pool.discard(backend, "promised");
  }
}
