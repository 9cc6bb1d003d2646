import { expect, test } from "bun:test";
import type { Executions, RunningExecution } from "../../../core/contracts/executions.ts";
import { noMeter } from "../../../core/contracts/meter.ts";
import { dbSettings, dbTable } from "../../../plugins/dbproxy/config.ts";
import { Recorder } from "../../../plugins/dbproxy/recorder.ts";
import { deadlineOf } from "../../../plugins/dbproxy/requester.ts";
import type { Executed } from "../../../plugins/dbproxy/session/host.ts";
import type { SqlMode } from "../../../plugins/dbproxy/sql/statement.ts";
import { dbMetrics } from "../../../plugins/dbproxy/stats/metrics.ts";

/** A recorder with `slow_query` at 100 ms, at 10,000 ms on the clock. */
async function recorder(running: Readonly<Record<number, RunningExecution>>) {
  const table = await dbTable["~standard"].validate({
    mysql: { url: "mysql://app@127.0.0.1/shop", listen: "127.0.0.1:3307", slow_query: "100ms" },
  });
  if (table.issues !== undefined) throw new Error(JSON.stringify(table.issues));
  const ids: unknown[] = [];
  const asked: number[][] = [];
  const executions: Executions = {
    byPid: (pid) => running[pid],
    whenEnded: () => undefined,
    pids: () => Object.keys(running).map(Number),
  };
  const parts = {
    log: (_level: unknown, _message: string, fields?: Readonly<Record<string, unknown>>) => void ids.push(fields?.id),
    counts: dbMetrics(noMeter, () => [])("db"),
    executions,
    now: () => 10_000,
  };
  const made = new Recorder(dbSettings(table.value, { baseDir: "." }).databases[0]!, parts);
  const execute = (ms: number, pid: number | undefined, hash: string = "a") => {
    const client = {
      user: "app",
      peerPid(candidates: Iterable<number>) {
        asked.push([...candidates]);
        return pid;
      },
    };
    const what: Executed = {
      command: 3,
      sql: new Uint8Array(),
      mode: {} as SqlMode,
      schema: "shop",
      ms,
      rows: 1,
      bytes: 60,
      error: 0,
    };
    made.executed(client, what, { hash, text: `SELECT ${hash}` });
  };
  return { made, execute, ids, asked };
}

const one: RunningExecution = { id: "one", target: "/one", started: 9_000, deadline: 60_000 };

test("a slow statement's line and its digest name the request, which is looked up once", async () => {
  const { made, execute, ids, asked } = await recorder({ 5: one });
  execute(200, 5);
  expect([ids, asked]).toEqual([["one"], [[5]]]);
  expect(made.digests.top({ by: "max", limit: 1 })[0]?.slowest_request).toBe("one");
  made.close();
});

test("nothing is looked up for a statement that is not slow, nor for one that nobody will read of", async () => {
  const { made, execute, ids, asked } = await recorder({ 5: one });
  for (let i = 0; i < 50; i++) execute(99.9, 5);
  expect(asked.length).toBe(0);
  execute(900, 5);
  for (let i = 0; i < 500; i++) execute(800 - i, 5);
  expect([ids.length, asked.length]).toEqual([10, 10]);
  execute(901, 5);
  expect([ids.length, asked.length]).toEqual([10, 11]);
  made.close();
});

test("a process that runs nothing, is none of ours, or was at work for another then names nobody", async () => {
  const { made, execute, ids } = await recorder({ 5: one });
  execute(200, 6);
  execute(200, undefined);
  execute(1001, 5);
  execute(1000, 5);
  expect(ids).toEqual([undefined, undefined, undefined, "one"]);
  expect(made.digests.top({ by: "max", limit: 1 })[0]?.slowest_request).toBeUndefined();
  made.close();
});

test("a client's deadline is its request's, where the system knows its process without a search", () => {
  const asked: number[][] = [];
  const client = (pid: number | undefined) => ({
    user: "app",
    peerPid(candidates: Iterable<number>) {
      asked.push([...candidates]);
      return pid;
    },
  });
  const executions: Executions = {
    byPid: (pid) => pid === 5 ? one : undefined,
    whenEnded: () => undefined,
    pids: () => [5],
  };
  expect([5, 6, undefined].map((pid) => deadlineOf(client(pid), executions))).toEqual([60_000, undefined, undefined]);
  expect(asked).toEqual([[], [], []]);
});
