import { FairGate } from "../../../plugins/admission/fair_gate.ts";
import { CoreError } from "../../../core/error.ts";
import type { Checkout, PoolOptions } from "../../../plugins/dbproxy/pool/options.ts";
import { Pool } from "../../../plugins/dbproxy/pool/pool.ts";
import { VirtualClock } from "../../admission/virtual_clock.ts";

export class FakeBackend {
  readonly kind: string;
  readonly id: number;
  /** Whom it is lent to. */
  client: Client | undefined = undefined;
  closed: string | undefined = undefined;
  /** Distance from any want; set by tests. */
  score: number = 0;

  constructor(kind: string, id: number) {
    this.kind = kind;
    this.id = id;
  }
}

/** Something the pool waits for until the test says how it ends. */
export class Pending<T> {
  readonly promise: Promise<T>;
  readonly backend: FakeBackend;
  aborted: boolean = false;
  settled: boolean = false;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;

  constructor(backend: FakeBackend) {
    let resolve!: (value: T) => void;
    let reject!: (error: unknown) => void;
    this.promise = new Promise((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.promise.catch(() => {});
    this.#resolve = resolve;
    this.#reject = reject;
    this.backend = backend;
  }

  resolve(value: T): Promise<void> {
    this.settled = true;
    this.#resolve(value);
    return flush();
  }

  reject(error: unknown): Promise<void> {
    this.settled = true;
    this.#reject(error);
    return flush();
  }
}

/** One who wants a backend. */
export class Client {
  readonly id: number;
  readonly kind: string;
  readonly deadline?: number;
  checkout: Checkout | undefined = undefined;
  backend: FakeBackend | undefined = undefined;
  error: CoreError | undefined = undefined;
  waited = -1;
  cancelled = false;
  told: () => void = () => {};
  readonly #world: World;

  constructor(world: World, id: number, kind: string, deadline?: number) {
    this.#world = world;
    this.id = id;
    this.kind = kind;
    if (deadline !== undefined) this.deadline = deadline;
  }

  get waiting(): boolean {
    return this.backend === undefined && this.error === undefined && !this.cancelled;
  }

  onBackend(backend: FakeBackend, waited: number): void {
    this.#world.onLent(this, backend);
    this.waited = waited;
    this.told();
  }

  onRefuse(error: CoreError): void {
    if (!this.waiting) throw new Error(`Client ${this.id} was told twice`);
    this.error = error;
    this.told();
  }

  cancel(): void {
    this.cancelled = true;
    this.checkout?.cancel();
  }
}

export type WorldOptions = Partial<PoolOptions<FakeBackend, string>> & { readonly maxQueue?: number };

/** A pool with an upstream that the test holds in its hands. A want is the name of its kind. */
export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly gate: FairGate;
  readonly pool: Pool<FakeBackend, string>;
  readonly max: number;
  readonly clients: Client[] = [];
  readonly dials: Pending<FakeBackend>[] = [];
  readonly checks: Pending<boolean>[] = [];
  readonly cleans: Pending<boolean>[] = [];
  readonly open: Set<FakeBackend> = new Set();
  readonly events: string[] = [];
  /** Whether release cleans at once. */
  clean: boolean = true;
  #ids = 0;

  constructor({ maxQueue, ...options }: WorldOptions = {}) {
    const { clock } = this;
    this.max = options.maxConnections ?? 2;
    this.gate = new FairGate({
      limit: this.max,
      clock,
      random: () => 0,
      ...(maxQueue === undefined ? {} : { maxQueue }),
    });
    this.pool = new Pool<FakeBackend, string>({
      gate: this.gate,
      dial: (kind, _want, signal) => {
        const dial = new Pending<FakeBackend>(new FakeBackend(kind, this.#ids++));
        signal.addEventListener("abort", () => dial.aborted = true);
        this.dials.push(dial);
        if (this.existing > this.max) throw new Error(`${this.existing} connections where ${this.max} may be`);
        return dial.promise;
      },
      check: (backend) => this.#pending(this.checks, backend),
      clean: (backend) => this.clean ? true : this.#pending(this.cleans, backend),
      close: (backend, reason) => {
        if (backend.closed !== undefined) throw new Error(`Backend ${backend.id} was closed twice`);
        backend.closed = reason;
        this.open.delete(backend);
      },
      score: (backend) => backend.score,
      kindOf: (want) => want,
      maxConnections: this.max,
      dialRate: Infinity,
      clock,
      random: () => 0,
      onEvent: {
        dialFailed: (error, failure) => this.events.push(`dial failed ${failure} ${error.code}`),
        closed: (reason) => this.events.push(`closed ${reason}`),
        refused: (code) => this.events.push(`refused ${code}`),
        breaker: (open) => this.events.push(open ? "breaker open" : "breaker closed"),
      },
      ...options,
    });
  }

  get existing(): number {
    return this.open.size + this.dials.filter((dial) => !dial.settled && !dial.aborted).length;
  }

  ask(kind: string = "a", deadline?: number, told: (client: Client) => void = () => {}): Client {
    const client = new Client(this, this.clients.length, kind, deadline);
    client.told = () => told(client);
    this.clients.push(client);
    client.checkout = this.pool.checkout(kind, client);
    return client;
  }

  release(client: Client): void {
    const backend = client.backend!;
    backend.client = undefined;
    this.pool.release(backend);
  }

  discard(client: Client): void {
    const backend = client.backend!;
    backend.client = undefined;
    this.pool.discard(backend, "broken");
  }

  /** The oldest dial that goes on succeeds. */
  async connect(dial: Pending<FakeBackend> = this.dialing[0]!): Promise<FakeBackend> {
    if (!dial.aborted) this.open.add(dial.backend);
    await dial.resolve(dial.backend);
    return dial.backend;
  }

  get dialing(): Pending<FakeBackend>[] {
    return this.dials.filter((dial) => !dial.settled && !dial.aborted);
  }

  get checking(): Pending<boolean>[] {
    return this.checks.filter((check) => !check.settled);
  }

  get cleaning(): Pending<boolean>[] {
    return this.cleans.filter((clean) => !clean.settled);
  }

  /** A client with a backend of its own. */
  async lend(kind: string = "a"): Promise<Client> {
    const client = this.ask(kind);
    if (client.waiting) await this.connect();
    return client;
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await flush();
  }

  onLent(client: Client, backend: FakeBackend): void {
    if (!client.waiting) throw new Error(`Client ${client.id} was told twice`);
    if (backend.kind !== client.kind) throw new Error(`Client ${client.id} was given another kind`);
    if (backend.closed !== undefined) throw new Error(`Client ${client.id} was given a closed backend`);
    if (backend.client !== undefined) throw new Error(`Backend ${backend.id} was lent twice`);
    const older = this.clients.find((other) => other.waiting && other.kind === client.kind && other.id < client.id);
    if (older !== undefined) throw new Error(`Client ${client.id} passed ${older.id}`);
    backend.client = client;
    client.backend = backend;
  }

  /** What holds whenever nothing is about to happen. */
  check(): void {
    const { gate, pool, max } = this;
    const { used, cleaning, idle, checking, dialing, waiting } = pool.stats();
    const seeking = waiting - gate.queued;
    const lent = [...this.open].filter(({ client }) => client !== undefined).length;
    const line = this.clients.filter((client) => client.waiting);
    const say = (what: string) => `${what}: ${JSON.stringify(pool.stats())}, gate ${gate.used}+${gate.queued}`;
    if (gate.used !== used + cleaning + seeking) throw new Error(say("A permit leaked"));
    if (used !== lent || waiting !== line.length) throw new Error(say(`${lent} are lent and ${line.length} wait`));
    if (this.existing > max) throw new Error(say(`${this.existing} connections`));
    if (used + cleaning + idle + checking !== this.open.size) throw new Error(say(`${this.open.size} are open`));
    if (dialing !== this.dialing.length) throw new Error(say(`${this.dialing.length} dials go on`));
    if (gate.queued > 0 && gate.used < gate.limit) throw new Error(say("Somebody waits for a free permit"));
    const busy = new Set([...this.checking, ...this.cleaning].map(({ backend }) => backend));
    for (const { id, kind } of line.slice(0, seeking)) {
      const seekers = line.slice(0, seeking).filter((client) => client.kind === kind).length;
      const soon = [...busy].filter((backend) => backend.kind === kind && this.open.has(backend)).length;
      const free = [...this.open].some((backend) =>
        backend.kind === kind && backend.client === undefined && !busy.has(backend) && backend.score < Infinity
      );
      if (free && seekers > soon) throw new Error(say(`Client ${id} seeks what is idle`));
    }
  }

  #pending(list: Pending<boolean>[], backend: FakeBackend): Promise<boolean> {
    const pending = new Pending<boolean>(backend);
    list.push(pending);
    return pending.promise;
  }
}

export const unreachable: CoreError = new CoreError(
  "DB_CONNECT",
  "Cannot connect to 127.0.0.1:3306: connection refused",
);

/** Lets everything that has been decided be told. */
export async function flush(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}
