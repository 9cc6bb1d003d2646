import type { Gate } from "../../core/contracts/gates.ts";
import { CoreError } from "../../core/error.ts";
import type { Account } from "./backend/account.ts";
import { Backend, type BackendOwner } from "./backend/backend.ts";
import { changeUser } from "./backend/change_user.ts";
import { factQueries, greetingWith, readFacts, type ServerFacts } from "./backend/facts.ts";
import { flagsOf, kindOf } from "./backend/kind.ts";
import { login, ServerRefused } from "./backend/login.ts";
import { forgetFound } from "./backend/steps.ts";
import { ControlConnection } from "./control.ts";
import { ServerKnowledge, staleAfter } from "./knowledge.ts";
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
import { distance, otherSchema, plan, reachable, renewedSchema } from "./state/plan.ts";
import type { Step } from "./state/plan.ts";
import type { Settings } from "./state/settings.ts";
import { CAP } from "./wire/capabilities.ts";

/** The collation utf8mb4_general_ci, which every server has. */
const defaultCharset = 45;

/** What a database's connections are used for, and how. Times in ms. */
export interface UpstreamOptions {
  readonly account: Account;
  readonly schema: string | undefined;
  /** Of sessions whose client names none; the server's when undefined. */
  readonly charset: string | undefined;
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
  /** When each checkout began that waits, in their order. */
  readonly #waits = new Set<{ readonly at: number }>();
  /** How many KILLs are on their way to each backend. */
  readonly #kills = new Map<number, number>();
  readonly #knowledge: ServerKnowledge;
  readonly #control: ControlConnection;
  /** What was renewed before this moment may be out of date. */
  #changed = -Infinity;
  /** What was read of global settings before a change of them is over at once: the graph's clock is set forward. */
  #ahead = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    const { clock } = options;
    this.now = () => clock.now();
    this.schemas = new SchemaMemory(this.now);
    this.#knowledge = new ServerKnowledge(this.now, () => this.#globalsChange());
    this.#roots = new SettingsGraph({
      replayable: (name) => isReplayable(name, this.#knowledge.facts?.server ?? "mysql"),
      now: () => this.now() + this.#ahead,
      globalsKeep: staleAfter,
    });
    this.graph = options.learn && options.strategy !== "never" ? this.#roots : undefined;
    this.#control = new ControlConnection({
      dial: (signal) => this.#connect({ flags: 0, charset: this.facts.greeting.charset, schema: undefined }, signal),
      clock,
      timeoutMs: options.account.timeoutMs,
    });
    this.#pool = new Pool<Backend, Want>({
      gate: options.gate,
      dial: (kind, want, signal) => this.#dial(kind, want, signal),
      clean: (backend) => this.#clean(backend),
      check: (backend) => backend.ping(),
      close: (backend, reason) => backend.close(reason !== "lost" && reason !== "client_left"),
      score: (backend, want) => {
        // What was promised, and is there, is waited for; nobody else gets it.
        const foreign = want.promised?.promised === true ? backend !== want.promised : backend.promised;
        if (foreign || this.#undoes(backend, want)) return Infinity;
        if (backend.promised) return 0;
        return distance(backend.state, want) + (this.#outdated(backend) ? 0.5 : 0);
      },
      kindOf: (want) => want.kind,
      promised: (want) => want.promised?.promised === true ? want.promised : undefined,
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
    const { facts } = this.#knowledge;
    if (facts === undefined) throw new CoreError("DB_UNREACHABLE", "The database has not been reached yet");
    return facts;
  }

  get reached(): boolean {
    return this.#knowledge.facts !== undefined;
  }

  get version(): string | undefined {
    return this.#knowledge.facts?.greeting.version;
  }

  stats(): PoolStats {
    return this.#pool.stats();
  }

  /** Resolves when the server has been reached once: it takes a checkout, so its errors are the checkout's. */
  meet(): Promise<void> {
    if (this.#knowledge.facts !== undefined) return Promise.resolve();
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
    return this.#roots.root(charset === 0 && this.reached ? this.facts.greeting.charset : charset);
  }

  mayRunMore(tables: readonly string[]): boolean {
    return this.#knowledge.mayRunMore(tables);
  }

  checkout(want: Want, waiter: CheckoutWaiter<Backend>): Checkout {
    const since = { at: this.now() };
    const waits = this.#waits;
    waits.add(since);
    const checkout = this.#pool.checkout(want, {
      ...waiter,
      onBackend: (backend, waited) => {
        waits.delete(since);
        if (this.#options.strategy !== "never" && this.#outdated(backend)) {
          const { state } = backend;
          // Chosen again, a schema has the collation that it was given since.
          backend.state = { ...state, dirty: "admin", schema: state.schema === undefined ? undefined : renewedSchema };
        }
        waiter.onBackend(backend, waited);
      },
      onRefuse: (error) => {
        waits.delete(since);
        waiter.onRefuse(error);
      },
    });
    return {
      cancel() {
        waits.delete(since);
        checkout.cancel();
      },
    };
  }

  /** How long (ms) the first in line has waited. */
  get oldestWaitMs(): number {
    for (const { at } of this.#waits) return this.now() - at;
    return 0;
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
    const { root } = settings;
    backend.kind = want.kind;
    backend.state = {
      settings: root,
      dirty: undefined,
      schema,
      multiStatements: backend.state.multiStatements,
      used: false,
    };
    backend.role = "no";
    backend.renewed = at;
    await backend.prepare([
      // It leaves what a reset leaves.
      ...(this.facts.server === "mysql" ? [{ kind: "query", text: forgetFound } as const] : []),
      ...this.#beginning(root.charset),
      ...plan(backend.state, want),
    ]);
    backend.state = { ...backend.state, settings, multiStatements: want.multiStatements };
    if (schema !== undefined) this.schemas.remember(schema);
  }

  async kill(backendId: number, query: boolean): Promise<void> {
    const kills = this.#kills;
    kills.set(backendId, (kills.get(backendId) ?? 0) + 1);
    try {
      await this.#control.run(async (control) => {
        const [reply] = await control.ask([`KILL ${query ? "QUERY " : ""}${backendId}`]);
        if (reply?.err !== undefined) throw new ServerRefused(reply.err);
      });
    } finally {
      const left = kills.get(backendId)! - 1;
      if (left === 0) kills.delete(backendId);
      else kills.set(backendId, left);
    }
  }

  catalogueChanges(): void {
    this.schemas.forget();
    this.#knowledge.forget();
    this.#globalsChange();
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
    this.#control.close();
  }

  /** What PHP's driver asks for when it is told nothing. */
  #usual(): Want {
    const { schema } = this.#options;
    return {
      kind: kindOf(CAP.LOCAL_FILES, schema),
      settings: this.#roots.root(this.#knowledge.facts?.greeting.charset ?? defaultCharset),
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
    const { charset } = want.settings;
    // What the server runs for each new session comes after the login, and may choose another charset.
    const names = this.facts.initConnect === "" || charset > 0xff;
    await whileWanted(
      backend,
      signal,
      () => backend.prepare(names ? this.#beginning(charset) : [{ kind: "trackers" }]),
    );
    return backend;
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
    const known = this.#knowledge.facts;
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
    await whileWanted(backend, signal, async () => {
      const facts = readFacts(logged.greeting, await backend.ask(factQueries));
      backend.facts = this.#options.charset === undefined ? facts : greetingWith(facts, this.#options.charset);
    });
    // Several first connections may have asked at the same time.
    if (this.#knowledge.facts?.greeting.version === logged.greeting.version) return backend;
    // Another version: what was learned of the last one may be wrong.
    this.#roots.forget();
    this.#knowledge.meet(backend.facts);
    this.#options.events.met(backend.facts);
    return backend;
  }

  /** What a new session needs before a client may have it. */
  #beginning(charset: number): readonly Step[] {
    return [{ kind: "names", charset }, { kind: "trackers" }];
  }

  /** Global settings may be others than they were when sessions began. */
  #globalsChange(): void {
    this.#changed = this.now();
    this.#ahead += staleAfter;
  }

  #outdated(backend: Backend): boolean {
    return backend.renewed <= this.#changed;
  }

  /** Whether making the backend what is wanted would undo what the server has run for its new session. */
  #undoes(backend: Backend, want: Want): boolean {
    if (this.facts.initConnect === "" || !reachable(backend.state, want)) return false;
    return this.#outdated(backend) ||
      plan(backend.state, want).some(({ kind }) => kind === "reset" || kind === "names");
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
    const used = state.used && this.facts.initConnect !== "";
    const reset = used || strategy === "always" || state.dirty !== undefined || this.#knowledge.due ||
      this.#outdated(backend) ||
      this.now() - backend.renewed > staleAfter;
    if (!reset) {
      events.reset("skipped");
      return true;
    }
    // No reset takes a role back, and no server tells of every one that was taken. No command runs an init_connect again.
    const { roles, initConnect } = this.facts;
    if (role === "yes" || (role === "maybe" && roles) || initConnect !== "") {
      this.#askApart();
      events.reset("failed");
      return Promise.resolve(false);
    }
    return this.#renew(backend);
  }

  /** Brings what is known of the server up to date where no backend may be asked. */
  #askApart(): void {
    const knowledge = this.#knowledge;
    if (!knowledge.due) return;
    // What cannot be asked stays unknown, which is safe.
    this.#control.run(async (control) => knowledge.due ? await knowledge.ask(control) : undefined).catch(() => {});
  }

  async #renew(backend: Backend): Promise<boolean> {
    const { events } = this.#options;
    const { schema, settings: { root } } = backend.state;
    let at: number;
    try {
      if (this.#knowledge.due) {
        await backend.prepare([{ kind: "reset" }]);
        await this.#knowledge.ask(backend);
        if (this.facts.initConnect !== "") {
          events.reset("failed");
          return false;
        }
      }
      at = this.now();
      const old = this.#outdated(backend) || at - backend.renewed > staleAfter;
      await backend.prepare([
        { kind: "reset" },
        ...this.#beginning(root.charset),
        // A reset does not choose the schema again, whose collation may be another by now.
        ...(old && schema !== undefined ? [{ kind: "schema", name: otherSchema } as const] : []),
        // Nor is it certain to be the one that was chosen: the session may have turned off what tells of another.
        ...(schema !== undefined ? [{ kind: "schema", name: schema } as const] : []),
      ]);
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
}

/** Runs a step of opening a connection; closes that when it fails, or is not wanted any more. */
async function whileWanted(
  backend: Backend,
  signal: AbortSignal | undefined,
  step: () => Promise<void>,
): Promise<void> {
  const close = () => backend.close(false);
  signal?.addEventListener("abort", close, { once: true });
  try {
    if (signal?.aborted === true) close();
    await step();
  } catch (cause) {
    close();
    throw cause;
  } finally {
    signal?.removeEventListener("abort", close);
  }
}
