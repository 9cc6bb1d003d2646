import { CoreError } from "../../../core/error.ts";
import type { Backend, BackendUser } from "../backend/backend.ts";
import { kindOf } from "../backend/kind.ts";
import type { Checkout } from "../pool/options.ts";
import { plan, type Step } from "../state/plan.ts";
import { type Client, type SessionHost, wantOf, withPromised } from "./host.ts";
import type { Track } from "./track.ts";

/** How long (ms) a query of a client that has left may take to end once it is killed. */
const lastWords = 2000;

/** Whose hold it is. */
export interface Holder extends BackendUser, Client {
  readonly capabilities: number;
  readonly track: Track;
  /** The backend it was lent is taken back: nothing of it runs there any more, or nobody will hear of it. */
  onFree(): void;
}

/** What the session does when its client leaves. `unending`: what no kill can end, a command that came in part or a dialogue. */
export type Doing = "nothing" | "running" | "unending";

/** The backend of one session: the one it was promised, asked for, lent, given back. */
export class Hold {
  readonly #holder: Holder;
  #host: SessionHost;
  readonly #promised: Backend | undefined;
  #backend: Backend | undefined;
  #checkout: Checkout | undefined;
  /** Something of the session's own has run on it. */
  #ran = false;
  /** The client has left. */
  #left = false;
  /** Something still runs for a client that has left. */
  #running = false;
  #lastTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(holder: Holder, host: SessionHost, promised: Backend | undefined) {
    this.#holder = holder;
    this.#host = host;
    this.#promised = promised;
  }

  get backend(): Backend | undefined {
    return this.#backend;
  }

  /** It stands in line. */
  get waiting(): boolean {
    return this.#checkout !== undefined;
  }

  /** The backend whose id the client was greeted with, as long as that is there for it. */
  get promised(): Backend | undefined {
    return this.#promised?.promised === true ? this.#promised : undefined;
  }

  /**
   * Asks for a backend. `ready` is told the steps that must go out before the command, in one write with it; it may be called
   * at once. Those that can fail have been taken by then: in another schema a command would do harm.
   *
   * @param fresh nothing of an earlier session may be seen: see `WantedState`
   */
  take(
    fresh: boolean,
    ready: (backend: Backend, steps: readonly Step[]) => void,
    refused: (error: CoreError) => void,
  ): void {
    const { track, capabilities } = this.#holder;
    const want = withPromised(wantOf(track, capabilities, fresh), this.promised);
    // What is free is given at once, before `checkout` returns.
    let settled = false;
    const settle = () => {
      settled = true;
      this.#checkout = undefined;
    };
    const holder = this.#holder, host = this.#host;
    const checkout = host.checkout(want, {
      get deadline() {
        return host.deadlineOf(holder);
      },
      onBackend: (backend) => {
        settle();
        const steps = plan(backend.state, want);
        this.#lend(backend);
        const all = fresh && track.warned !== undefined
          ? [...steps, { kind: "query", text: track.warned } as const]
          : steps;
        if (!steps.some((step) => step.kind === "schema")) return ready(backend, all);
        backend.prepare(all).then(
          () => {
            if (this.#backend !== backend) return;
            // Nobody waits for the command any more: it is not run.
            if (this.#left) this.over();
            else ready(backend, []);
          },
          (error) => this.#backend === backend && refused(error),
        );
      },
      onRefuse: (error) => {
        settle();
        refused(error);
      },
    });
    if (!settled) this.#checkout = checkout;
  }

  /** A command goes to the backend. */
  use(): void {
    this.#ran = true;
  }

  /** Takes a backend that was needed to let the client in. */
  adopt(backend: Backend | undefined): void {
    if (backend === undefined) return;
    if (this.#left) this.#host.discard(backend, "client_left");
    else this.#lend(backend);
  }

  /** What follows is a new session. */
  begin(): void {
    this.#ran = false;
  }

  /** Goes on with a connection of its own, and who keeps that. */
  move(host: SessionHost, backend: Backend): void {
    // The client may still name it by its id.
    const { promised } = this;
    if (promised !== undefined) {
      if (promised === this.#backend) this.drop("promised");
      else this.#host.promises.void(promised);
    }
    this.#giveBack();
    this.#host = host;
    this.adopt(backend);
  }

  /** The client has left: what runs is killed, what it has is cleaned and given back. */
  leave(doing: Doing): void {
    this.#left = true;
    this.#checkout?.cancel();
    this.#checkout = undefined;
    if (this.#promised !== undefined && this.#promised !== this.#backend) this.#host.promises.end(this.#promised);
    const backend = this.#backend;
    if (backend === undefined) return;
    if (doing === "nothing") return this.#giveBack();
    if (doing === "unending") return this.drop("client_left");
    void this.#abandon(backend);
  }

  /** What ran when the client left is over. */
  over(): void {
    this.#running = false;
    if (this.#lastTimer === undefined) return;
    clearTimeout(this.#lastTimer);
    this.#giveBack();
  }

  /** The backend must not be used again. */
  drop(reason: string): void {
    const backend = this.#reclaim();
    if (backend !== undefined) this.#host.discard(backend, reason);
  }

  #lend(backend: Backend): void {
    this.#backend = backend;
    backend.lend(this.#holder);
  }

  #reclaim(): Backend | undefined {
    const backend = this.#backend;
    this.#backend = undefined;
    if (backend === undefined) return undefined;
    backend.reclaim();
    this.#holder.onFree();
    return backend;
  }

  #giveBack(): void {
    const backend = this.#reclaim();
    if (backend === undefined) return;
    const { track, capabilities } = this.#holder;
    this.#host.promises.end(backend);
    // It may have got a default schema, which nothing takes away.
    backend.kind = kindOf(capabilities, track.schema);
    backend.state = {
      settings: track.settings,
      dirty: this.#ran ? track.dirty : undefined,
      schema: track.schema,
      multiStatements: track.multiStatements,
      used: this.#ran || backend.state.used,
    };
    if (track.schema !== undefined) this.#host.schemas.remember(track.schema);
    if (track.dirty !== undefined) this.#host.pinned(track.dirty);
    this.#host.release(backend);
  }

  /** What runs for nobody is killed. Its connection is given back only when both are over, or the kill would hit a stranger. */
  async #abandon(backend: Backend): Promise<void> {
    this.#running = true;
    this.#holder.track.soil("opaque");
    backend.resume();
    const timer = setTimeout(() => this.drop("client_left"), lastWords);
    try {
      await this.#host.kill(backend.id, true);
    } catch {
      this.drop("client_left");
    }
    clearTimeout(timer);
    if (this.#backend !== backend) return;
    if (!this.#running) this.#giveBack();
    else this.#lastTimer = setTimeout(() => this.drop("client_left"), lastWords);
  }
}
