import type { Executions } from "../../core/contracts/executions.ts";
import type { Gate } from "../../core/contracts/gates.ts";
import type { DatabaseCaps } from "../../core/contracts/statement_caps.ts";
import { CoreError } from "../../core/error.ts";
import type { Account } from "./backend/account.ts";
import type { Backend, BackendOwner } from "./backend/backend.ts";
import type { ServerFacts } from "./backend/facts.ts";
import { kindOf } from "./backend/kind.ts";
import { ServerRefused } from "./backend/login.ts";
import { ControlConnection } from "./control.ts";
import { defaultCharset, Dialer } from "./dialer.ts";
import { ServerKnowledge, staleAfter } from "./knowledge.ts";
import type { Checkout, CheckoutWaiter, Clock, PoolEvents, PoolStats } from "./pool/options.ts";
import { Pool } from "./pool/pool.ts";
import type { Client, Executed, HostCaps, SessionHost, Want } from "./session/host.ts";
import { Renewal } from "./renewal.ts";
import { deadlineOf } from "./requester.ts";
import { Promises } from "./session/promises.ts";
import { SchemaMemory } from "./session/schemas.ts";
import { SessionRegistry } from "./session/registry.ts";
import { Analyser } from "./sql/analyser.ts";
import type { Digest } from "./sql/digest.ts";
import type { Residue } from "./sql/statement.ts";
import { isReplayable } from "./sql/variables.ts";
import { SettingsGraph } from "./state/graph.ts";
import { distance, renewedSchema } from "./state/plan.ts";
import type { Settings } from "./state/settings.ts";
import { CAP } from "./wire/capabilities.ts";

/** What a database's connections are used for, and how. Times in ms. */
export interface UpstreamOptions {
  /** Of the database. */
  readonly name: string;
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
  /** Tells how long a client may wait for a connection. Nobody knows when absent. */
  readonly executions?: Executions | undefined;
  /** Caps on statements, if there are any. */
  readonly caps?: DatabaseCaps | undefined;
}

/** What happens, for metrics and the log. Must not throw. */
export interface UpstreamEvents {
  readonly pool: PoolEvents;
  executed(client: Client, what: Executed, digest: Digest | undefined): void;
  /** As {@linkcode SessionHost.asksWho}. */
  asksWho(ms: number): boolean;
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
  readonly caps: HostCaps | undefined;
  readonly #roots: SettingsGraph;
  readonly #options: UpstreamOptions;
  readonly #pool: Pool<Backend, Want>;
  /** When each checkout began that waits, in their order. */
  readonly #waits = new Set<{ readonly at: number }>();
  /** How many KILLs are on their way to each backend. */
  readonly #kills = new Map<number, number>();
  readonly #knowledge: ServerKnowledge;
  readonly #control: ControlConnection;
  readonly #dialer: Dialer;
  readonly #renewal: Renewal;
  /** What was read of global settings before a change of them is over at once: the graph's clock is set forward. */
  #ahead = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    const { clock } = options;
    this.now = () => clock.now();
    this.schemas = new SchemaMemory(this.now);
    this.caps = options.caps && {
      db: options.name,
      own: options.caps,
      most: Math.floor(options.maxConnections / 2),
      waiting: 0,
    };
    this.#knowledge = new ServerKnowledge(this.now, () => this.#globalsChange());
    this.#roots = new SettingsGraph({
      replayable: (name) => isReplayable(name, this.#knowledge.facts?.server ?? "mysql"),
      now: () => this.now() + this.#ahead,
      globalsKeep: staleAfter,
    });
    this.graph = options.learn && options.strategy !== "never" ? this.#roots : undefined;
    this.#control = new ControlConnection({
      dial: (signal) =>
        this.#dialer.connect({ flags: 0, charset: this.facts.greeting.charset, schema: undefined }, signal),
      clock,
      timeoutMs: options.account.timeoutMs,
    });
    this.#dialer = new Dialer({
      account: options.account,
      charset: options.charset,
      knowledge: this.#knowledge,
      graph: this.#roots,
      owner: this,
      now: this.now,
      met: (facts) => options.events.met(facts),
    });
    const renewal = this.#renewal = new Renewal({
      account: options.account,
      strategy: options.strategy,
      knowledge: this.#knowledge,
      control: this.#control,
      now: this.now,
      killed: (backend) => this.#kills.has(backend.id),
      reset: (result) => options.events.reset(result),
      problem: (error) => options.events.problem(error),
    });
    this.#pool = new Pool<Backend, Want>({
      gate: options.gate,
      dial: (kind, want, signal) => this.#dialer.dial(kind, want, signal),
      clean: (backend) => renewal.clean(backend),
      check: (backend) => backend.ping(),
      close: (backend, reason) => backend.close(reason !== "lost" && reason !== "client_left"),
      score: (backend, want) => {
        // What was promised, and is there, is waited for; nobody else gets it.
        const foreign = want.promised?.promised === true ? backend !== want.promised : backend.promised;
        if (foreign || renewal.undoes(backend, want)) return Infinity;
        if (backend.promised) return 0;
        return distance(backend.state, want) + (renewal.outdated(backend) ? 0.5 : 0);
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

  deadlineOf(client: Client): number | undefined {
    const { executions } = this.#options;
    return executions === undefined ? undefined : deadlineOf(client, executions);
  }

  checkout(want: Want, waiter: CheckoutWaiter<Backend>): Checkout {
    const since = { at: this.now() };
    const waits = this.#waits;
    waits.add(since);
    const checkout = this.#pool.checkout(want, {
      get deadline() {
        return waiter.deadline;
      },
      onBackend: (backend, waited) => {
        waits.delete(since);
        if (this.#options.strategy !== "never" && this.#renewal.outdated(backend)) {
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
    await this.#renewal.changeUser(backend, want);
    if (want.schema !== undefined) this.schemas.remember(want.schema);
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
    const digest = what.digest ?? (sql === undefined ? undefined : this.analyser.digest(sql, mode));
    this.#options.events.executed(client, what, digest);
  }

  asksWho(ms: number): boolean {
    return this.#options.events.asksWho(ms);
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

  /** Global settings may be others than they were when sessions began. */
  #globalsChange(): void {
    this.#renewal.globalsChange();
    this.#ahead += staleAfter;
  }
}
