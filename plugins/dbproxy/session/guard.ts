import type {
  CappedStatement,
  SessionCaps,
  StatementAnswer,
  StatementPermit,
  StatementRefusal,
} from "../../../core/contracts/statement_caps.ts";
import { CoreError } from "../../../core/error.ts";
import { thenable } from "../../../core/hooks.ts";
import type { Awaitable } from "../../../core/plugin.ts";
import type { Digest } from "../sql/digest.ts";
import { COM } from "../wire/commands.ts";
import type { SessionHost } from "./host.ts";
import { neverCapped } from "./never_capped.ts";
import type { Running } from "./running.ts";
import type { Track } from "./track.ts";

/** Whose statements are guarded. */
export interface Guarded {
  readonly id: number;
  readonly user: string;
  readonly track: Track;
  readonly host: SessionHost;
  readonly dedicated: boolean;
  /** The connection it holds. */
  readonly backend: object | undefined;
  close(): void;
}

/** Why a statement does not run: no permit, or a KILL QUERY while it waited for one. */
export type Stopped = StatementRefusal | "killed";

/** A wait for a permit. */
interface Wait {
  /** Told once how it ended, unless the session has left; `undefined`: with a permit. */
  readonly end: (stopped: Stopped | undefined) => void;
  /** It keeps one of the pool's connections meanwhile. */
  readonly holding: boolean;
}

/**
 * Holds one session's statements to the caps on them: at most one permit, from before a statement runs to its end. It is itself who is
 * named as the permit's owner.
 */
export class Guard implements CappedStatement {
  readonly db: string;
  readonly user: string;
  readonly connection: number;
  readonly #session: Guarded;
  readonly #caps: SessionCaps;
  readonly #running: Running;
  #permit: StatementPermit | undefined;
  #wait: Wait | undefined;
  /** Ends the waits; one for all of them until it is used. */
  #aborter: AbortController | undefined;

  constructor(session: Guarded, running: Running, caps: SessionCaps, db: string) {
    this.#session = session;
    this.#running = running;
    this.#caps = caps;
    this.db = db;
    this.user = session.user;
    this.connection = session.id;
  }

  /** One for the session, if there are caps on its user's statements. */
  static of(session: Guarded, running: Running): Guard | undefined {
    const { caps } = session.host;
    const own = caps?.own.of(session.user);
    return own === undefined ? undefined : new Guard(session, running, own, caps!.db);
  }

  get waiting(): boolean {
    return this.#wait !== undefined;
  }

  get schema(): string | undefined {
    return this.#session.track.schema;
  }

  get digest(): Digest | undefined {
    const running = this.#running;
    const { sql } = running;
    const { host, track } = this.#session;
    return running.digest ??= sql === undefined ? undefined : host.analyser.digest(sql, track.mode);
  }

  /**
   * Asks for leave to run the command at hand: undefined when it has it, or a refusal, within the call; `"waits"` when `end` is called
   * later.
   */
  ask(end: Wait["end"]): Stopped | "waits" | undefined {
    const { command } = this.#running;
    // What else there is costs the server next to nothing, or is a part of what these have begun.
    if (command !== COM.QUERY && command !== COM.STMT_EXECUTE) return undefined;
    const cap = this.#caps.of(this);
    if (cap === undefined || neverCapped(this.digest?.text ?? "?")) return undefined;
    const { dedicated, host } = this.#session;
    const holding = !dedicated && this.#session.backend !== undefined;
    const places = host.caps!;
    const patient = !holding || places.waiting < places.most;
    const answer = cap.enter(this, { owner: this, patient, signal: (this.#aborter ??= new AbortController()).signal });
    if (!thenable(answer)) return this.#take(answer as StatementAnswer);
    const wait: Wait = { end, holding };
    this.#begin(wait, answer);
    return "waits";
  }

  /** The statement is over, or it will not run: the permit goes back, the wait for it ends untold. */
  leave(): void {
    const permit = this.#permit;
    this.#permit = undefined;
    permit?.release();
    if (this.#wait === undefined) return;
    this.#end(this.#wait);
    this.#aborter!.abort();
    this.#aborter = undefined;
  }

  /** KILL QUERY: a wait ends, and is told so. False when there is none. */
  interrupt(): boolean {
    const wait = this.#wait;
    if (wait === undefined) return false;
    this.leave();
    wait.end("killed");
    return true;
  }

  #begin(wait: Wait, answer: Awaitable<StatementAnswer>): void {
    this.#wait = wait;
    if (wait.holding) this.#session.host.caps!.waiting++;
    void Promise.resolve(answer).then((settled) => {
      // It came too late.
      if (this.#wait !== wait) return settled.granted ? settled.release() : undefined;
      this.#end(wait);
      wait.end(this.#take(settled));
    }).catch((cause) => {
      // As with what its client sends: it ends this session at most.
      this.#session.host.problem(new CoreError("DB_SESSION", String(cause), { cause }));
      this.#session.close();
    });
  }

  #end({ holding }: Wait): void {
    this.#wait = undefined;
    if (holding) this.#session.host.caps!.waiting--;
  }

  #take(answer: StatementAnswer): StatementRefusal | undefined {
    if (!answer.granted) return answer;
    this.#permit = answer;
    return undefined;
  }
}
