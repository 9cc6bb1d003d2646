import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Guard, type Guarded, type Stopped } from "../../../plugins/dbproxy/session/guard.ts";
import type { HostCaps, SessionHost } from "../../../plugins/dbproxy/session/host.ts";
import type { Query } from "../../../plugins/dbproxy/session/query.ts";
import { Running } from "../../../plugins/dbproxy/session/running.ts";
import { Analyser } from "../../../plugins/dbproxy/sql/analyser.ts";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import { ticks } from "../../bulkhead/memory.ts";
import { start } from "../../bulkhead/started.ts";

const mode = {
  ansiQuotes: false,
  noBackslashEscapes: false,
  ignoreSpace: false,
  server: "mysql",
  version: 90000,
  unsafeCharset: false,
} as const;
const maxWait = 100;

/** One session: what its statements have come to. */
class Client implements Guarded {
  readonly id: number;
  readonly host: SessionHost;
  readonly backend: object | undefined;
  readonly #log: string[];
  readonly user = "anna";
  readonly dedicated = false;
  readonly track = { mode, schema: "shop" } as unknown as Guarded["track"];
  readonly running: Running = new Running();
  readonly guard: Guard | undefined;
  state: "idle" | "waits" | "runs" | "closed" = "idle";
  last: Stopped | undefined;

  constructor(
    id: number,
    host: SessionHost,
    backend: object | undefined,
    log: string[],
  ) {
    this.id = id;
    this.host = host;
    this.backend = backend;
    this.#log = log;
    this.guard = Guard.of(this, this.running);
  }

  run(sql: string, command: number = COM.QUERY): void {
    this.running.begin(command, true);
    this.running.query = { sql: new TextEncoder().encode(sql) } as unknown as Query;
    const asked = this.guard?.ask((stopped) => this.#then(stopped));
    if (asked === "waits") this.state = "waits";
    else this.#then(asked);
  }

  /** The reply has ended, or the backend has. */
  end(): void {
    this.guard?.leave();
    this.state = "idle";
  }

  close(): void {
    this.guard?.leave();
    this.state = "closed";
  }

  #then(stopped: Stopped | undefined): void {
    this.last = stopped;
    this.state = stopped === undefined ? "runs" : "idle";
    if (stopped === undefined) this.#log.push(`${this.id}`);
  }
}

async function world(table: object, most = Infinity) {
  const started = await start({ statements: [{ name: "a", user: "anna", max_wait: `${maxWait}ms`, ...table }] });
  const caps: HostCaps = { db: "mysql", own: started.statements.serve(["mysql"]).get("mysql")!, most, waiting: 0 };
  const analyser = new Analyser();
  const problems: unknown[] = [];
  const host = { caps, analyser, problem: (error: unknown) => problems.push(error) } as unknown as SessionHost;
  const log: string[] = [];
  let ids = 0;
  const client = (backend?: object) => new Client(++ids, host, backend, log);
  const counts = async () => {
    // None before its first use.
    const { bulkheads } = await started.look() as { bulkheads: readonly { active: number; queued: number }[] };
    return bulkheads[0] ?? { active: 0, queued: 0 };
  };
  return { ...started, caps, client, counts, log, problems };
}

const code = (stopped: Stopped | undefined) => typeof stopped === "object" ? stopped.reason : stopped;

describe("a session's guard", () => {
  test("asks for queries and executions only, and never for what ends a transaction", async () => {
    const { client } = await world({ max_concurrent: 1 });
    client().run("SELECT 1");
    const other = client();
    for (const command of [COM.STMT_PREPARE, COM.STMT_FETCH, COM.PING, COM.INIT_DB, COM.STMT_CLOSE]) {
      other.run("SELECT 1", command);
      expect(other.state).toBe("runs");
    }
    other.run("COMMIT");
    expect(other.state).toBe("runs");
    other.run("SELECT 1", COM.STMT_EXECUTE);
    expect(other.state).toBe("waits");
  });

  test("is not there for a user without caps", async () => {
    const { client } = await world({ user: "bert", max_concurrent: 1 });
    expect(client().guard).toBe(undefined);
  });

  test("tells a wait's end: a permit, a refusal, a kill", async () => {
    const { client, advance } = await world({ max_concurrent: 1 });
    const [holder, next, killed, late] = [client(), client(), client(), client()];
    for (const one of [holder, next, killed, late]) one.run("SELECT 1");
    expect(killed.guard!.interrupt()).toBe(true);
    expect([killed.last, killed.guard!.interrupt()]).toEqual(["killed", false]);
    holder.end();
    await ticks();
    expect([next.state, late.state]).toEqual(["runs", "waits"]);
    await advance(maxWait);
    expect(code(late.last)).toBe("timeout");
    // And asks anew with nothing left of what was.
    next.end();
    killed.run("SELECT 1");
    expect(killed.state).toBe("runs");
  });

  test("keeps nobody waiting who has a connection, once as many do as may", async () => {
    const { client, caps } = await world({ max_concurrent: 1 }, 1);
    const [holder, first, second, without] = [client({}), client({}), client({}), client()];
    for (const one of [holder, first, second, without]) one.run("SELECT 1");
    expect([first.state, code(second.last), without.state, caps.waiting]).toEqual(["waits", "full", "waits", 1]);
    first.close();
    expect(caps.waiting).toBe(0);
    second.run("SELECT 1");
    expect([second.state, caps.waiting]).toEqual(["waits", 1]);
    holder.end();
    await ticks();
    // Who had none came first.
    expect([without.state, second.state]).toEqual(["runs", "waits"]);
  });

  test("random sessions: never more than the cap, in order of arrival, and nothing is left in the end", async () => {
    const step = fc.record({
      what: fc.constantFrom("run", "run", "run", "end", "end", "interrupt", "close", "time"),
      who: fc.nat(7),
      ms: fc.integer({ min: 1, max: 60 }),
      // Before what was begun has been told, or after it.
      settle: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 0, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        async (limit, most, steps) => {
          const { client, caps, counts, advance, log, problems } = await world({ max_concurrent: limit }, most);
          const make = (i: number) => client(i % 2 === 0 ? {} : undefined);
          const clients = Array.from({ length: 8 }, (_, i) => make(i));
          /** Ids of those in line, in order. */
          let line: string[] = [];
          const gone: Client[] = [];
          for (const { what, who, ms, settle } of steps) {
            const one = clients[who]!;
            const told = log.length;
            if (what === "run" && one.state === "idle") {
              one.run("SELECT 1");
              // What is granted or refused within the call has waited for nobody.
              if (one.guard!.waiting) line.push(String(one.id));
              else log.splice(told);
            } else if (what === "end" && one.state === "runs") one.end();
            else if (what === "interrupt" && one.state === "waits") {
              one.guard!.interrupt();
              expect(one.last).toBe("killed");
            } else if (what === "close") {
              one.close();
              gone.push(one);
              clients[who] = make(who);
            } else if (what === "time") await advance(ms);
            if (settle) await ticks();
            // Whoever got a permit meanwhile was the first of those that still waited.
            const still = (id: string) => [...clients].some((c) => String(c.id) === id && c.state === "waits");
            for (const id of log.splice(0)) {
              line = line.filter((other) => other === id || still(other));
              expect(line.shift()).toBe(id);
            }
            line = line.filter(still);
            const running = clients.filter(({ state }) => state === "runs").length;
            expect(running).toBeLessThanOrEqual(limit);
            const holding = clients.filter(({ state, backend }) => state === "waits" && backend !== undefined).length;
            expect(caps.waiting).toBe(holding);
            expect(holding).toBeLessThanOrEqual(most);
          }
          await ticks();
          const { active, queued } = await counts();
          expect(active).toBe(clients.filter(({ state }) => state === "runs").length);
          expect(queued).toBe(clients.filter(({ state }) => state === "waits").length);
          for (const one of clients) one.close();
          await ticks();
          expect(await counts()).toMatchObject({ active: 0, queued: 0 });
          expect([caps.waiting, problems, gone.filter(({ state }) => state !== "closed")]).toEqual([0, [], []]);
        },
      ),
      { numRuns: 200 },
    );
  });
});
