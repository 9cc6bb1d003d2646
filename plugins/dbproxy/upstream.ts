import type { Gate } from "../../core/contracts/gates.ts";
import { CoreError } from "../../core/error.ts";
import type { Account } from "./backend/account.ts";
import { Backend, type BackendOwner } from "./backend/backend.ts";
import { changeUser } from "./backend/change_user.ts";
import { factQueries, readFacts, type ServerFacts, viewsQuery } from "./backend/facts.ts";
import { flagsOf, kindOf } from "./backend/kind.ts";
import { login, ServerRefused } from "./backend/login.ts";
import type { Checkout, CheckoutWaiter, Clock, PoolEvents, PoolStats } from "./pool/options.ts";
import { Pool } from "./pool/pool.ts";
import type { Client, Executed, SessionHost, Want } from "./session/host.ts";
import { Promises } from "./session/promises.ts";
import { SchemaMemory } from "./session/schemas.ts";
import { SessionRegistry } from "./session/registry.ts";
import { Analyser } from "./sql/analyser.ts";
import type { Digest } from "./sql/digest.ts";
import type { Residue } from "./sql/statement.ts";
import { isReplayable } from "./sql/variables.ts";
import { SettingsGraph } from "./state/graph.ts";
import { distance, otherSchema, plan, renewedSchema } from "./state/plan.ts";
import type { Step } from "./state/plan.ts";
import type { Settings } from "./state/settings.ts";
import { CAP } from "./wire/capabilities.ts";

/** How long (ms) a connection may go without a reset: so late a new session sees global settings that an administrator changed. */
const staleAfter = 10_000;

/** The collation utf8mb4_general_ci, which every server has. */
const defaultCharset = 45;

/** What a database's connections are used for, and how. Times in ms. */
export interface UpstreamOptions {
  readonly account: Account;
  readonly schema: string | undefined;
  readonly gate: Gate;
  readonly strategy: "smart" | "always" | "never";
  readonly learn: boolean;
  readonly minConnections: number;
  readonly maxConnections: number;
  readonly poolTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: UpstreamEvents;
}

/** What happens, for metrics and the log. Must not throw. */
export interface UpstreamEvents {
  readonly pool: PoolEvents;
  executed(client: Client, what: Executed, digest: Digest | undefined): void;
  answered(kind: "set" | "read" | "use" | "ping"): void;
  pinned(residue: Residue): void;
  /** `done`: reset; `skipped`: nothing could differ; `failed`: closed. */
  reset(result: "done" | "skipped" | "failed"): void;
  problem(error: CoreError): void;
  /** The server was reached for the first time, or is another one now. */
  met(facts: ServerFacts): void;
}

/** One database: its facts, its pool of connections, and what its sessions share. */
export class Upstream implements SessionHost, BackendOwner {
  readonly analyser: Analyser = new Analyser();
  readonly sessions: SessionRegistry = new SessionRegistry();
  readonly schemas: SchemaMemory;
  readonly promises: Promises;
  readonly now: () => number;
  readonly graph: SettingsGraph | undefined;
  readonly #roots: SettingsGraph;
  readonly #options: UpstreamOptions;
  readonly #pool: Pool<Backend, Want>;
  /** How many KILLs are on their way to each backend. */
  readonly #kills = new Map<number, number>();
  #facts: ServerFacts | undefined;
  #views: ReadonlySet<string> | undefined;
  #viewsAsked = -Infinity;
  /** What was renewed before this moment may be out of date. */
  #changed = -Infinity;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    const { clock } = options;
    this.now = () => clock.now();
    this.schemas = new SchemaMemory(this.now);
    this.#roots = new SettingsGraph({
      replayable: (name) => isReplayable(name, this.#facts?.server ?? "mysql"),
      now: this.now,
      globalsKeep: staleAfter,
    });
    this.graph = options.learn && options.strategy !== "never" ? this.#roots : undefined;
    this.#pool = new Pool<Backend, Want>({
      gate: options.gate,
      dial: (kind, want, signal) => this.#dial(kind, want, signal),
      clean: (backend) => this.#clean(backend),
      check: (backend) => backend.ping(),
      close: (backend, reason) => backend.close(reason !== "lost" && reason !== "client_left"),
      score: (backend, want) => {
        // What was promised, and is there, is waited for; nobody else gets it.
        if (want.promised?.promised === true) return backend === want.promised ? 0 : Infinity;
        if (backend.promised) return Infinity;
        return distance(backend.state, want) + (this.#outdated(backend) ? 0.5 : 0);
      },
      kindOf: (want) => want.kind,
      maxConnections: options.maxConnections,
      minConnections: options.minConnections,
      warm: this.#usual(),
      idleTimeoutMs: options.idleTimeoutMs,
      maxLifetimeMs: options.maxLifetimeMs,
      connectTimeoutMs: options.account.timeoutMs,
      poolTimeoutMs: options.poolTimeoutMs,
      onEvent: options.events.pool,
      clock,
      random: options.random,
    });
    this.promises = new Promises(this.#pool);
  }

  /** What is known of the server; throws before it was ever reached. */
  get facts(): ServerFacts {
    if (this.#facts === undefined) throw new CoreError("DB_UNREACHABLE", "The database has not been reached yet");
    return this.#facts;
  }

  get reached(): boolean {
    return this.#facts !== undefined;
  }

  get version(): string | undefined {
    return this.#facts?.greeting.version;
  }

  stats(): PoolStats {
    return this.#pool.stats();
  }

  /** Resolves when the server has been reached once: it takes a checkout, so its errors are the checkout's. */
  meet(): Promise<void> {
    if (this.#facts !== undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#pool.checkout(this.#usual(), {
        onBackend: (backend) => {
          this.#pool.release(backend);
          resolve();
        },
        onRefuse: reject,
      });
    });
  }

  root(charset: number): Settings {
    return this.#roots.root(charset);
  }

  mayRunMore(tables: readonly string[]): boolean {
    if (tables.length === 0) return false;
    const views = this.#views;
    if (views === undefined) return true;
    for (const name of tables) if (views.has(name)) return true;
    return false;
  }

  checkout(want: Want, waiter: CheckoutWaiter<Backend>): Checkout {
    return this.#pool.checkout(want, {
      ...waiter,
      onBackend: (backend, waited) => {
        if (this.#options.strategy !== "never" && this.#outdated(backend)) {
          const { state } = backend;
          // Chosen again, a schema has the collation that it was given since.
          backend.state = { ...state, dirty: "admin", schema: state.schema === undefined ? undefined : renewedSchema };
        }
        waiter.onBackend(backend, waited);
      },
    });
  }

  release(backend: Backend): void {
    this.#pool.release(backend);
  }

  discard(backend: Backend, reason: string): void {
    this.#pool.discard(backend, reason);
  }

  async changeUser(backend: Backend, want: Want): Promise<void> {
    const { schema, settings } = want;
    const at = this.now();
    await changeUser(backend, this.#options.account, { charset: settings.charset, schema });
    backend.kind = want.kind;
    backend.state = { ...backend.state, settings: settings.root, dirty: undefined, schema, used: false };
    backend.renewed = at;
    await backend.prepare(this.#beginning(backend));
    await backend.prepare(plan(backend.state, want));
    backend.state = { ...backend.state, ...want };
    if (schema !== undefined) this.schemas.remember(schema);
  }

  async kill(backendId: number, query: boolean): Promise<void> {
    const kills = this.#kills;
    kills.set(backendId, (kills.get(backendId) ?? 0) + 1);
    try {
      await this.#kill(backendId, query);
    } finally {
      const left = kills.get(backendId)! - 1;
      if (left === 0) kills.delete(backendId);
      else kills.set(backendId, left);
    }
  }

  async #kill(backendId: number, query: boolean): Promise<void> {
    const control = await this.#connect({ flags: 0, charset: this.facts.greeting.charset, schema: undefined });
    try {
      const [reply] = await control.ask([`KILL ${query ? "QUERY " : ""}${backendId}`]);
      if (reply?.err !== undefined) throw new ServerRefused(reply.err);
    } finally {
      control.close(true);
    }
  }

  catalogueChanges(): void {
    this.schemas.forget();
    this.#changed = this.now();
    this.#views = undefined;
    this.#viewsAsked = -Infinity;
  }

  executed(client: Client, what: Executed): void {
    const { sql, mode } = what;
    this.#options.events.executed(client, what, sql === undefined ? undefined : this.analyser.digest(sql, mode));
  }

  answered(kind: "set" | "read" | "use" | "ping"): void {
    this.#options.events.answered(kind);
  }

  pinned(residue: Residue): void {
    this.#options.events.pinned(residue);
  }

  problem(error: CoreError): void {
    this.#options.events.problem(error);
  }

  onStray(backend: Backend, reason: "closed" | "spoke"): void {
    this.#pool.lost(backend, reason);
  }

  /** Closes sessions as they become idle; resolves when all connections are closed. */
  async drain(): Promise<void> {
    await this.#pool.drain();
  }

  close(): void {
    for (const session of [...this.sessions]) session.close();
    this.#pool.close();
  }

  /** What PHP's driver asks for when it is told nothing. */
  #usual(): Want {
    const { schema } = this.#options;
    return {
      kind: kindOf(CAP.LOCAL_FILES, schema),
      settings: this.#roots.root(this.#facts?.greeting.charset ?? defaultCharset),
      schema,
      multiStatements: true,
      fresh: false,
    };
  }

  async #dial(kind: string, want: Want, signal: AbortSignal): Promise<Backend> {
    const backend = await this.#connect(
      {
        flags: flagsOf(kind) | (want.multiStatements ? CAP.MULTI_STATEMENTS : 0),
        charset: want.settings.charset,
        schema: want.schema,
      },
      signal,
    );
    try {
      await backend.prepare(this.#beginning(backend));
      if (this.#views === undefined) await this.#askViews(backend);
      return backend;
    } catch (cause) {
      backend.close(false);
      throw cause;
    }
  }

  async #connect(
    wish: { readonly flags: number; readonly charset: number; readonly schema: string | undefined },
    signal?: AbortSignal,
  ): Promise<Backend> {
    // A login has one byte for the collation; what does not fit is set afterwards.
    const charset = wish.charset > 0xff ? defaultCharset : wish.charset;
    const logged = await login(this.#options.account, { ...wish, charset }, signal).catch((cause: CoreError) => {
      if (cause.code !== "DB_CLOSED") throw cause;
      // To a session that code says that its client has left, who then is told nothing.
      throw new CoreError("DB_LOST", "The database closed the connection during its handshake", { cause });
    });
    const known = this.#facts;
    const same = known !== undefined && known.greeting.version === logged.greeting.version;
    const backend = new Backend(logged, {
      kind: kindOf(wish.flags, wish.schema),
      facts: same ? known : readFacts(logged.greeting, []),
      state: {
        settings: this.#roots.root(wish.charset),
        dirty: undefined,
        schema: wish.schema,
        multiStatements: (wish.flags & CAP.MULTI_STATEMENTS) !== 0,
        used: false,
      },
      renewed: this.now(),
      owner: this,
    });
    if (same) return backend;
    try {
      backend.facts = readFacts(logged.greeting, await backend.ask(factQueries));
    } catch (cause) {
      backend.close(false);
      throw cause;
    }
    // Several first connections may have asked at the same time.
    if (this.#facts?.greeting.version === logged.greeting.version) return backend;
    // Another version: what was learned of the last one may be wrong.
    this.#roots.forget();
    this.#facts = backend.facts;
    this.#options.events.met(backend.facts);
    return backend;
  }

  /** What a new connection needs before a client may have it. */
  #beginning(backend: Backend): readonly Step[] {
    return [{ kind: "names", charset: backend.state.settings.charset }, { kind: "trackers" }];
  }

  #outdated(backend: Backend): boolean {
    return backend.renewed <= this.#changed;
  }

  /** At the end of a session: brings its backend back to the beginning, if it is not there. */
  #clean(backend: Backend): Promise<boolean> | true {
    const { strategy, events } = this.#options;
    const { state, role, doom } = backend;
    // A KILL that is on its way would hit whoever has the backend next.
    if (doom !== undefined || this.#kills.has(backend.id)) return Promise.resolve(false);
    if (strategy === "never") {
      backend.state = { ...state, dirty: undefined, used: false };
      return true;
    }
    const views = this.#views === undefined || this.now() - this.#viewsAsked > staleAfter;
    const reset = strategy === "always" || state.dirty !== undefined || this.#outdated(backend) ||
      this.now() - backend.renewed > staleAfter;
    if (!reset) {
      events.reset("skipped");
      return views ? this.#askViews(backend).then(() => true, () => false) : true;
    }
    // No reset takes a role back, and no server tells of every one that was taken.
    if (role === "yes" || (role === "maybe" && backend.facts.roles)) {
      events.reset("failed");
      return Promise.resolve(false);
    }
    return this.#renew(backend, views);
  }

  async #renew(backend: Backend, views: boolean): Promise<boolean> {
    const { events } = this.#options;
    const { schema, settings: { root } } = backend.state;
    const { initConnect } = backend.facts;
    const at = this.now();
    // A reset does not choose the schema again, whose collation may be another by now.
    const old = this.#outdated(backend) || at - backend.renewed > staleAfter;
    // Nor is it certain to be the one that was chosen: the session may have turned off what tells of another.
    const names = schema === undefined ? [] : old ? [otherSchema, schema] : [schema];
    try {
      await backend.prepare([
        { kind: "reset" },
        { kind: "names", charset: root.charset },
        { kind: "trackers" },
        ...names.map((name) => ({ kind: "schema", name }) as const),
        ...(initConnect === "" ? [] : [{ kind: "query", text: initConnect } as const]),
      ]);
      if (views) await this.#askViews(backend);
    } catch (error) {
      events.problem(error as CoreError);
      events.reset("failed");
      return false;
    }
    backend.state = { ...backend.state, settings: root, dirty: undefined, used: false };
    backend.renewed = at;
    events.reset("done");
    return true;
  }

  async #askViews(backend: Backend): Promise<void> {
    const asked = this.#viewsAsked = this.now();
    const [answer] = await backend.ask([viewsQuery]);
    // Something changed while it was asked: the answer may be old.
    if (this.#viewsAsked !== asked || answer?.rows === undefined) return;
    this.#views = new Set(answer.rows.map(([name]) => (name ?? "").toLowerCase()));
  }
}
