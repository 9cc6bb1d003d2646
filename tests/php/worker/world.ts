/** PHP workers made of fakes: the test decides which boot, answer and die. */
import type { CoreError } from "../../../core/error.ts";
import type { Exchange } from "../../../core/exchange.ts";
import type { ExecutionLease, ExecutionWaiter } from "../../../plugins/php/execution_pool.ts";
import type { Progress } from "../../../plugins/php/fastcgi/handler.ts";
import type { ReplySink } from "../../../plugins/php/reply_sink.ts";
import type { Script } from "../../../plugins/php/resolve.ts";
import type { Launch, Worker, WorkerEvents, WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import type { ProcessLook } from "../../../plugins/php/worker/inspect.ts";
import type { WorkerPoolOptions } from "../../../plugins/php/worker/options.ts";
import { WorkerPool } from "../../../plugins/php/worker/pool.ts";
import type { WorkerReport } from "../../../plugins/php/worker/report.ts";
import type { WorkerRestart } from "../../../plugins/php/worker/restarts.ts";
import { VirtualClock } from "../fastcgi/support.ts";

const encoder = new TextEncoder();

export class FakeWorker implements Worker {
  readonly pid: number;
  readonly version: string;
  readonly bornAt: number;
  readonly events: WorkerEvents;
  readonly world: World;
  booted = false;
  /** Between a request and the next ready. */
  request: WorkerRequest | undefined;
  sink: ReplySink | undefined;
  answered = false;
  sends = 0;
  cancels = 0;
  stops = 0;
  killed = false;
  killedAt: number = Infinity;
  paused = false;
  gone = false;
  /** It has said that it will end. */
  leaving = false;
  look: ProcessLook = { rss: 1000, stopped: false };
  /** What `send` throws once. */
  throws: Error | undefined;

  constructor(world: World, pid: number, version: string, events: WorkerEvents) {
    this.world = world;
    this.pid = pid;
    this.version = version;
    this.events = events;
    this.bornAt = world.clock.now();
  }

  send(request: WorkerRequest, sink: ReplySink): void {
    const error = this.throws;
    this.throws = undefined;
    if (error !== undefined) throw error;
    if (!this.booted || this.request !== undefined) throw new Error(`worker ${this.pid} is not ready`);
    if (this.gone) return;
    this.request = request;
    this.sink = sink;
    this.answered = false;
    this.sends++;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  cancel(): void {
    this.cancels++;
  }
  stop(): void {
    if (this.request !== undefined) throw new Error("stopped at work");
    this.stops++;
  }
  kill(): void {
    if (!this.killed) this.killedAt = this.world.clock.now();
    this.killed = true;
  }

  /** Boots, or is ready again. */
  ready(): void {
    this.booted = true;
    this.leaving = false;
    this.request = undefined;
    this.events.onReady();
  }
  /** Says that it will end. */
  ask(): void {
    this.leaving = true;
    this.events.onStopAsked();
  }
  /** Says a part of the answer: its request's own id. */
  print(): void {
    this.sink!.onStdout(encoder.encode(this.request!.x.id));
  }
  end(): void {
    this.answered = true;
    this.sink!.onEnd(0);
  }
  answer(): void {
    this.print();
    this.end();
    if (!this.gone && !this.killed) this.ready();
  }
  exit(code: number | null = 0, signal: string | null = null, ...lastWords: string[]): void {
    if (this.gone) return;
    this.gone = true;
    this.world.workers.delete(this);
    this.events.onExit({ code, signal, lastWords });
  }
}

/** A sink that keeps what it hears. */
export class Heard implements ReplySink {
  readonly id: string;
  text = "";
  finals = 0;
  error: CoreError | undefined;
  progress: Progress | undefined;
  /** Nobody may tell it anything any more. */
  deaf = false;
  onFinal: (() => void) | undefined;
  throws: Error | undefined;
  readonly #complain: (text: string) => void;
  constructor(id: string, complain: (text: string) => void) {
    this.id = id;
    this.#complain = complain;
  }
  #hear(): void {
    this.#mayHear();
    if (this.throws !== undefined) throw this.throws;
  }
  #mayHear(): void {
    if (this.deaf || this.finals > 0) this.#complain(`request ${this.id} hears something after its end`);
  }
  onHead(): void {
    this.#hear();
  }
  onBody(bytes: Uint8Array): void {
    this.onStdout(bytes);
  }
  onInformational(): void {
    this.#hear();
  }
  onStdout(bytes: Uint8Array): void {
    this.#hear();
    this.text += new TextDecoder().decode(bytes);
  }
  onStderr(): void {
    this.#hear();
  }
  onEnd(): void {
    this.#mayHear();
    this.finals++;
    this.onFinal?.();
  }
  onFail(error: CoreError, progress: Progress): void {
    this.#mayHear();
    this.finals++;
    this.error = error;
    this.progress = progress;
    this.onFinal?.();
  }
}

export class World {
  /** Requests that a worker is lent for while others can take them. */
  cap: number = Infinity;
  readonly clock: VirtualClock = new VirtualClock();
  /** Processes that exist. */
  readonly workers: Set<FakeWorker> = new Set();
  readonly all: FakeWorker[] = [];
  readonly crashes: WorkerReport[] = [];
  readonly restarts: WorkerRestart[] = [];
  readonly sizes: number[] = [];
  /** What sinks heard that they should not have: always empty. */
  readonly complaints: string[] = [];
  readonly pool: WorkerPool;
  /** Happens to each new worker. */
  onLaunch: ((worker: FakeWorker) => void) | undefined;
  #requests = 0;

  /** Whether one request more is too many for this worker, and others can take it, for all that have been lent and sent nothing. */
  isSpent(worker: FakeWorker, lent: ReadonlySet<number>): boolean {
    const { cap, pool } = this;
    const others = [...this.workers].filter((one) =>
      one !== worker && one.booted && !one.leaving && !one.gone && !one.killed && one.stops === 0 &&
      one.sends + Number(lent.has(one.pid)) < cap
    );
    return worker.sends >= cap && (cap === 1 || (others.length > 0 && pool.bootFailures === 0));
  }

  constructor(options: Partial<WorkerPoolOptions> & { readonly size: number }) {
    this.pool = new WorkerPool({
      launch: this.launch("old"),
      clock: this.clock,
      random: () => 0,
      onCrash: (report) => this.crashes.push(report),
      onRestart: (reason) => this.restarts.push(reason),
      onSize: (size) => this.sizes.push(size),
      ...options,
    });
  }

  launch(version: string): Launch {
    return (events) => {
      const worker = new FakeWorker(this, this.all.length + 1, version, events);
      this.all.push(worker);
      this.workers.add(worker);
      this.onLaunch?.(worker);
      return worker;
    };
  }

  get booting(): FakeWorker[] {
    return [...this.workers].filter((worker) => !worker.booted && !worker.killed);
  }
  get pids(): number[] {
    return [...this.workers].map((worker) => worker.pid);
  }
  of(pid: number): FakeWorker {
    return this.all[pid - 1]!;
  }

  /** Lets all that was told to end do so. */
  reap(): void {
    for (const worker of [...this.workers]) {
      if (worker.killed) worker.exit(null, "SIGKILL");
      else if (worker.stops > 0) worker.exit(0);
    }
  }
  /** Boots whoever boots and reaps whoever ends, until nobody does. */
  bringUp(): void {
    for (let round = 0; round < 1000; round++) {
      this.reap();
      const booting = this.booting;
      if (booting.length === 0 && ![...this.workers].some((one) => one.killed || one.stops > 0)) return;
      for (const worker of booting) if (!worker.gone && !worker.killed) worker.ready();
    }
    throw new Error("it does not come to rest");
  }

  request(deadline: number = this.clock.now() + 30_000): WorkerRequest {
    const id = `r${++this.#requests}`;
    const x = { id, target: `/${id}`, deadline, method: "GET" } as Partial<Exchange> as Exchange;
    return { x, script: {} as Script, body: undefined };
  }
  listen(request: WorkerRequest): Heard {
    return new Heard(request.x.id, (text) => this.complaints.push(text));
  }
  /** Sends a request. */
  send(lease: ExecutionLease<WorkerRequest>, deadline?: number): Heard {
    const request = this.request(deadline);
    const heard = this.listen(request);
    lease.send(request, heard);
    return heard;
  }
  /** One whole request on an idle worker; returns its pid. */
  serve(): number {
    const lease = this.pool.checkout()!;
    const heard = this.send(lease);
    heard.onFinal = () => lease.done();
    this.of(lease.pid).answer();
    if (heard.text !== heard.id) throw new Error(`${heard.id} was answered with ${heard.text}`);
    return lease.pid;
  }
}

export function worldOf(options: Partial<WorkerPoolOptions> & { readonly size: number }): World {
  const world = new World(options);
  world.pool.start();
  world.bringUp();
  return world;
}

export interface FakeWaiter extends ExecutionWaiter<WorkerRequest> {
  lease: ExecutionLease<WorkerRequest> | undefined;
  refused: CoreError | undefined;
}

export function waiter(): FakeWaiter {
  const made: FakeWaiter = {
    lease: undefined,
    refused: undefined,
    onLease: (lease) => void (made.lease = lease),
    onRefuse: (error) => void (made.refused = error),
  };
  return made;
}
