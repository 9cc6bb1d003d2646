/** When a worker is done with what it ran, as the executor tells others. */
import { describe, expect, test } from "bun:test";
import { CoreError } from "../../../core/error.ts";
import { type ExecutionEnd, PhpExecutor } from "../../../plugins/php/executor.ts";
import type { WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import type { WorkerPoolOptions } from "../../../plugins/php/worker/options.ts";
import { TestExchange } from "../../support/exchange.ts";
import { type FakeWorker, World } from "./world.ts";

/** The whole response. The worker is not ready yet. */
function respond(worker: FakeWorker): void {
  worker.sink!.onStdout(new TextEncoder().encode("\r\nfine"));
  worker.end();
}

class Bench {
  readonly world: World;
  readonly executor: PhpExecutor<WorkerRequest>;
  readonly ends: ExecutionEnd[] = [];

  constructor(options: Partial<WorkerPoolOptions> = {}) {
    this.world = new World({ size: 1, onFreed: (pid) => this.executor.freed(pid), ...options });
    this.executor = new PhpExecutor({
      pool: this.world.pool,
      clock: this.world.clock,
      onStderr: () => {},
      onEnd: (end) => void this.ends.push(end),
    });
    this.world.pool.start();
    this.world.bringUp();
  }

  /** Has a worker run a request; the one it runs on, and how often its end has been told. */
  run(deadline = 60_000) {
    const x = new TestExchange("/");
    Object.defineProperty(x, "deadline", { value: deadline });
    this.executor.run(x, { ...this.world.request(), x }, undefined).catch(() => {});
    const pid = [...this.executor.pids()].find((one) => this.executor.byPid(one)!.id === x.id)!;
    const told = { ends: 0 };
    this.executor.whenEnded(pid, () => void told.ends++);
    return { x, pid, told, worker: this.world.of(pid) };
  }
}

describe("a worker", () => {
  test("is done with a request when it is ready again, and until then it is told what it runs", () => {
    const bench = new Bench();
    const { x, pid, told, worker } = bench.run();
    respond(worker);
    // The client has its response; what the script does now is still its work.
    expect([bench.ends, told.ends, bench.executor.byPid(pid)?.id]).toEqual([["ok"], 0, x.id]);
    const late = { ends: 0 };
    bench.executor.whenEnded(pid, () => void late.ends++);
    worker.ready();
    expect([told.ends, late.ends, bench.executor.byPid(pid)]).toEqual([1, 1, undefined]);
    expect(bench.executor.whenEnded(pid, () => {})).toBeUndefined();
    const next = bench.run();
    respond(next.worker);
    next.worker.ready();
    expect([next.pid, next.told.ends, told.ends, late.ends]).toEqual([pid, 1, 1, 1]);
  });

  test("is done before whoever waits has it", () => {
    const order: string[] = [];
    const bench = new Bench();
    const first = bench.run();
    bench.executor.whenEnded(first.pid, () => void order.push("ended"));
    const x = new TestExchange("/second");
    const send = first.worker.send.bind(first.worker);
    first.worker.send = (request, sink) => (order.push("sent"), send(request, sink));
    bench.executor.run(x, { ...bench.world.request(), x }, undefined).catch(() => {});
    respond(first.worker);
    first.worker.ready();
    expect(order).toEqual(["ended", "sent"]);
  });

  test("that exits or is killed is done when it is gone", () => {
    for (const how of ["exits", "exits behind its response", "is killed", "is ended at its deadline"]) {
      const bench = new Bench();
      const { x, pid, told, worker } = bench.run(2000);
      if (how === "exits behind its response") {
        respond(worker);
      }
      if (how === "is ended at its deadline") {
        bench.world.clock.advance(2025);
        expect([how, worker.killed, told.ends, bench.executor.byPid(pid)?.id]).toEqual([how, true, 0, x.id]);
      }
      if (how.startsWith("exits")) worker.exit(0);
      else worker.exit(null, "SIGKILL");
      expect([how, told.ends, bench.executor.whenEnded(pid, () => {})]).toEqual([how, 1, undefined]);
      bench.world.bringUp();
      const next = bench.run(60_000);
      expect([how, next.told.ends, told.ends]).toEqual([how, 0, 1]);
    }
  });

  test("whose client has left is done when it is ready again", () => {
    const bench = new Bench();
    const { x, told, worker } = bench.run();
    x.leave();
    bench.world.clock.advance(25);
    expect([bench.ends, told.ends, worker.cancels]).toEqual([["left"], 0, 1]);
    worker.end();
    worker.ready();
    expect(told.ends).toBe(1);
  });

  test("for one request is done when it has ended", () => {
    const bench = new Bench({ maxRequests: 1, jitter: 0 });
    const { told, worker } = bench.run();
    respond(worker);
    expect(told.ends).toBe(0);
    worker.exit(0);
    expect(told.ends).toBe(1);
  });

  test("leaves nothing behind of a request that it was not sent", () => {
    const bench = new Bench();
    const [worker] = [...bench.world.workers];
    worker!.throws = new CoreError("PHP_PARAMS_TOO_LARGE", "too large", { status: 431 });
    const x = new TestExchange("/");
    bench.executor.run(x, { ...bench.world.request(), x }, undefined).catch(() => {});
    expect([bench.ends, [...bench.executor.pids()]]).toEqual([["error"], []]);
    worker!.exit(null, "SIGKILL");
    expect([...bench.executor.pids()]).toEqual([]);
  });
});
