import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { chmodSync, lstatSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import process from "node:process";
import { writeGrant } from "../../../plugins/bulkhead/local/answers.ts";
import {
  writeAcquire,
  writeCounts,
  writeHello,
  writeRelease,
  writeResize,
  writeWelcome,
} from "../../../plugins/bulkhead/local/asks.ts";
import { bare, frame, longestToServer, op } from "../../../plugins/bulkhead/local/frame.ts";
import { FrameReader } from "../../../plugins/bulkhead/local/frame_reader.ts";
import { LocalServer } from "../../../plugins/bulkhead/local/local_server.ts";
import { LocalStore } from "../../../plugins/bulkhead/local/local_store.ts";
import { allowSlowTests, turns, waitFor, within } from "../../support/wait.ts";
import { asked, Served } from "./raw.ts";
import { TinyStore } from "./tiny_store.ts";

allowSlowTests(30_000);

/** Executions as PHP's pools tell them, of processes that are all this one. */
class FakeExecutions {
  readonly listeners = new Map<number, Set<() => void>>();
  running = new Set<number>();

  whenEnded(pid: number, ended: () => void): (() => void) | undefined {
    if (!this.running.has(pid)) return undefined;
    const listeners = this.listeners.get(pid) ?? new Set();
    this.listeners.set(pid, listeners.add(ended));
    return () => void listeners.delete(ended);
  }

  end(pid: number): void {
    this.running.delete(pid);
    const listeners = this.listeners.get(pid) ?? new Set();
    this.listeners.delete(pid);
    for (const ended of listeners) ended();
  }
}

describe("a connection", () => {
  test("has its asks answered by their numbers, and its permits back when it closes", () =>
    Served.with(async (served) => {
      const [a, b] = [served.client(), served.client()];
      a.acquire(1, { limit: 2 });
      await a.hears("grant 1");
      b.acquire(7, { limit: 2 });
      await b.hears("grant 7");
      b.acquire(8, { limit: 2 });
      await b.hears("deny 8 full");
      b.acquire(8, { limit: 2, maxWaitMs: 60_000 });
      await served.queued(1);
      a.write(writeCounts(3, "b"), writeResize(4, 2, "b"), writeCounts(5, "unused"));
      for (const word of ["counted 3 2", "counted 4 2", "counted 5 undefined"]) await a.hears(word);
      a.socket.destroy();
      await b.hears("grant 8");
      b.release(7);
      b.write(writeRelease(8, true), writeRelease(9, true));
      await b.hears("released 8 true");
      await b.hears("released 9 false");
      expect([served.store.idle, served.problems]).toEqual([true, []]);
    }));

  test("is closed in the middle of a line, and the line goes on without it", () =>
    Served.with(async (served) => {
      const [holder, leaver, next] = [served.client(), served.client(), served.client()];
      holder.acquire(1);
      await holder.hears("grant 1");
      leaver.acquire(1, { maxWaitMs: 60_000 });
      await served.queued(1);
      next.acquire(1, { maxWaitMs: 60_000 });
      await served.queued(2);
      leaver.socket.destroy();
      await served.queued(1);
      // It holds, too, what it waits for: its wait must not get what it gives back.
      holder.acquire(2, { maxWaitMs: 60_000 });
      await served.queued(2);
      const grants = () => served.store.owners.length;
      const before = grants();
      holder.socket.destroy();
      await next.hears("grant 1");
      expect([served.store.counts("b")!.holders, grants() - before]).toEqual([1, 0]);
      next.socket.destroy();
      await served.idle();
    }));

  test("cancels a wait, and may release what crossed the cancel", () =>
    Served.with(async (served) => {
      const [a, b] = [served.client(), served.client()];
      a.acquire(1);
      await a.hears("grant 1");
      b.acquire(2, { maxWaitMs: 60_000 });
      await served.queued(1);
      b.write(bare(op.cancel, 2));
      await b.hears("deny 2 cancelled");
      a.write(bare(op.cancel, 1), bare(op.cancel, 99), bare(op.release, 1));
      await served.idle();
    }));

  test("is told what it lost", () =>
    Served.with(async (served) => {
      const a = served.client();
      a.acquire(1);
      await a.hears("grant 1");
      for (const grant of [...served.store.grants]) grant.lose();
      await a.hears("lost 1");
      a.write(writeRelease(1, true));
      await a.hears("released 1 false");
    }));

  test("may hold and wait for so much, and no more", () =>
    Served.with(async (served) => {
      const a = served.client();
      for (let i = 1; i <= 3; i++) a.acquire(i, { limit: 9 });
      await a.hears("deny 3 queue_full");
      a.release(1);
      a.acquire(4, { limit: 9 });
      await a.hears("grant 4");
    }, { maxOpen: 2 }));

  test("asks for owners of its own, the same object for the same number as long as it matters", () =>
    Served.with(async (served) => {
      const [a, b] = [served.client(), served.client()];
      for (const [i, owner] of [0, 1, 1, 7, 7, 8].entries()) a.acquire(i + 1, { limit: 9, owner });
      await a.hears("grant 6");
      b.acquire(1, { limit: 9, owner: 7 });
      await b.hears("grant 1");
      const [none, one, same, seven, again, eight, others] = served.store.owners;
      expect([none, one === same, seven === again]).toEqual([undefined, true, true]);
      expect(new Set([one, seven, eight, others]).size).toBe(4);
    }));

  test("has the errors of its questions, and goes on", () =>
    Served.with(async (served) => {
      const a = served.client();
      a.acquire(1, { name: "a b" });
      a.acquire(2, { weight: 2 });
      a.acquire(3, { limit: 0 });
      a.acquire(4);
      for (const word of ["fault 1 BULKHEAD_NAME", "fault 2 BULKHEAD_WEIGHT", "fault 3 BULKHEAD_LIMIT", "grant 4"]) {
        await a.hears(word);
      }
      expect(served.problems).toEqual([]);
    }));
});

describe("whoever breaks the rules", () => {
  const broken: readonly (readonly [string, () => readonly Uint8Array[]])[] = [
    ["the same number twice", () => [0, 1].map(() => writeAcquire(1, { ...asked, maxWaitMs: 60_000 }))],
    ["the number 0", () => [writeAcquire(0, asked)]],
    ["a second HELLO", () => [writeHello({ version: 1, scoped: false })]],
    ["a type of the server's", () => [bare(op.grant, 1)]],
    ["a type that is none", () => [bare(200, 1)]],
    ["a payload that is too short", () => [frame(op.acquire, 1, 5).bytes]],
    ["a payload that is too long", () => [frame(op.acquire, 1, 5000).bytes.subarray(0, 8)]],
    ["a name that is missing", () => [bare(op.counts, 1)]],
  ];
  for (const [what, frames] of broken) {
    test(`by ${what} is told and cut off, and has nothing any more; others notice nothing`, () =>
      Served.with(async (served) => {
        const [good, bad] = [served.client(), served.client()];
        good.acquire(1, { limit: 2 });
        await good.hears("grant 1");
        bad.acquire(50, { limit: 2 });
        await bad.hears("grant 50");
        bad.write(...frames());
        await bad.ends();
        expect(bad.heard.at(-1)).toBe("fault 0 BULKHEAD_PROTOCOL");
        expect([served.store.counts("b")!.active, served.problems]).toEqual([1, ["BULKHEAD_PROTOCOL"]]);
        good.acquire(2, { limit: 2 });
        await good.hears("grant 2");
      }));
  }

  test("by another greeting, or none, is cut off", () =>
    Served.with(async (served) => {
      const http = served.client(null);
      http.socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      const silent = served.client(null);
      const newer = served.client(null);
      newer.write(writeHello({ version: 2, scoped: false }));
      for (const one of [http, silent, newer]) await one.ends();
      expect(newer.heard).toEqual(["fault 0 BULKHEAD_PROTOCOL"]);
      expect(served.server.connections).toBe(0);
    }, { helloMs: 50 }));

  test("by not reading is cut off, and has nothing any more", () =>
    Served.with(async (served) => {
      const a = served.client();
      a.acquire(1);
      await a.hears("grant 1");
      a.socket.pause();
      const counts = writeCounts(2, "b");
      const many = new Uint8Array(counts.length * 20_000);
      for (let i = 0; i < 20_000; i++) many.set(counts, i * counts.length);
      for (let i = 0; i < 10; i++) a.write(many);
      await served.idle();
      expect(served.problems).toEqual(["BULKHEAD_PROTOCOL"]);
    }));

  test("in whatever way harms nobody", () =>
    Served.with(async (served) => {
      const good = served.client();
      let next = 0;
      const name = fc.constantFrom("b", "c", "a b", "x".repeat(255));
      const small = fc.integer({ min: 0, max: 5 });
      const ask = fc.record({
        weight: small,
        limit: small,
        leaseMs: small,
        maxWaitMs: fc.constantFrom(0, 1, 60_000),
        maxQueue: fc.option(small, { nil: undefined }),
        owner: small,
        name,
      });
      const piece = fc.oneof(
        { weight: 4, arbitrary: fc.tuple(small, ask).map(([n, asked]) => writeAcquire(n, asked)) },
        { weight: 2, arbitrary: small.map((n) => bare(op.release, n)) },
        { weight: 1, arbitrary: small.map((n) => bare(op.cancel, n)) },
        { weight: 1, arbitrary: fc.tuple(small, name).map(([n, of]) => writeCounts(n, of)) },
        { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }) },
      );
      await fc.assert(
        fc.asyncProperty(
          fc.array(piece, { maxLength: 30, size: "max" }),
          fc.boolean(),
          fc.boolean(),
          async (pieces, hello, slow) => {
            const bad = served.client(hello ? { scoped: slow } : null);
            for (const bytes of pieces) {
              bad.socket.write(bytes);
              if (slow) await turns(1);
            }
            // The server still answers others, at once.
            good.acquire(++next, { name: "good" });
            await good.hears(`grant ${next}`);
            good.release(next);
            bad.socket.destroy();
            await served.idle();
            expect(served.server.open).toBe(0);
          },
        ),
        { numRuns: 60 },
      );
      await waitFor(() => served.server.connections === 1, { what: "all others to be gone", every: 1 });
      expect(new Set(served.problems)).toEqual(new Set(["BULKHEAD_PROTOCOL"]));
    }));
});

describe("an execution", () => {
  const { pid } = process;

  test("gives back what it holds and leaves the line when it ends, although its connection stays", () =>
    Served.with(async (served) => {
      const executions = new FakeExecutions();
      await using(served, executions);
      const worker = served.client();
      // In its boot: that is the process's own.
      worker.acquire(1, { name: "boot" });
      await worker.hears("grant 1");
      executions.running.add(pid);
      worker.acquire(2);
      await worker.hears("grant 2");
      worker.acquire(3, { maxWaitMs: 60_000 });
      await served.queued(1);
      const [boot, first] = served.store.owners;
      executions.end(pid);
      for (const word of ["lost 2", "deny 3 cancelled"]) await worker.hears(word);
      expect([served.store.counts("b"), served.store.counts("boot")!.active]).toMatchObject([
        { active: 0, queued: 0 },
        1,
      ]);
      // What it does next is another's.
      executions.running.add(pid);
      worker.acquire(2);
      await waitFor(() => worker.heard.filter((word) => word === "grant 2").length === 2, {
        what: "a grant",
        every: 1,
      });
      const again = served.store.owners.at(-1);
      expect(new Set([boot, first, again]).size).toBe(3);
      worker.release(2);
      await waitFor(() => served.store.counts("b")!.active === 0, { what: "it to be back", every: 1 });
      executions.end(pid);
      expect(worker.heard.filter((word) => word.startsWith("lost"))).toEqual(["lost 2"]);
      worker.socket.destroy();
      await served.idle();
      expect(executions.listeners.size).toBe(0);
    }));

  test("has no grant of a store that answers after its end", async () => {
    const slow = new TinyStore(true);
    await Served.with(
      async (served) => {
        const executions = new FakeExecutions();
        await using(served, executions);
        executions.running.add(pid);
        const worker = served.client();
        worker.acquire(1);
        await waitFor(() => served.store.owners.length === 1, { what: "the ask", every: 0 });
        executions.end(pid);
        await worker.hears("deny 1 cancelled");
        await served.idle();
        await turns();
        expect(worker.heard).toEqual(["deny 1 cancelled"]);
      },
      {},
      slow,
    );
  });

  test("on a connection of its own has its lease when its response is over, and the rest of its time", () =>
    Served.with(async (served) => {
      const executions = new FakeExecutions();
      await using(served, executions);
      executions.running.add(pid);
      const [quick, slow] = [served.client({ scoped: true }), served.client({ scoped: true })];
      quick.acquire(1, { limit: 2, leaseMs: 60_000 });
      await quick.hears("grant 1");
      slow.acquire(1, { limit: 2, leaseMs: 40 });
      await slow.hears("grant 1");
      executions.end(pid);
      expect(served.store.counts("b")!.active).toBe(2);
      await slow.hears("lost 1");
      expect([quick.heard, served.store.counts("b")!.active]).toEqual([["grant 1"], 1]);
      quick.socket.destroy();
      await served.idle();
    }));

  /** Serves with executions that know this process. */
  async function using(served: Served, executions: FakeExecutions): Promise<void> {
    served.server.close();
    served.server = await LocalServer.listen({ path: served.path, store: served.store, executions });
  }
});

describe("the socket", () => {
  test("is for the server's user and a group; one that nobody serves is replaced, and any other is not", () =>
    Served.with(async ({ path, server, store, dir }) => {
      expect(lstatSync(path).mode & 0o777).toBe(0o660);
      const code = async (at: string) => {
        try {
          await LocalServer.listen({ path: at, store });
        } catch (error) {
          return (error as { code: string }).code;
        }
        return "listens";
      };
      expect(await code(path)).toBe("ADDRESS_TAKEN");
      writeFileSync(`${dir}/file`, "");
      chmodSync(`${dir}/file`, 0o600);
      expect(await code(`${dir}/file`)).toBe("ADDRESS_TAKEN");
      expect(lstatSync(path, { throwIfNoEntry: false })).toBeDefined();
      server.close();
      expect(lstatSync(path, { throwIfNoEntry: false })).toBeUndefined();
      const other = await LocalServer.listen({ path, store, mode: 0o600 });
      expect(lstatSync(path).mode & 0o777).toBe(0o600);
      other.close();
    }));

  test("has no more connections than it should", () =>
    Served.with(async (served) => {
      const first = served.client();
      first.acquire(1);
      await first.hears("grant 1");
      const second = served.client();
      await second.ends();
      expect(served.problems).toEqual(["BULKHEAD_PROTOCOL"]);
      first.release(1);
      await served.idle();
    }, { maxConnections: 1 }));
});

describe("the client", () => {
  const ask = { name: "b", limit: 1, weight: 1, leaseMs: 1000, maxWaitMs: 0 };

  test("without a server denies, or lets in, as it was told; a server that comes is used", () =>
    Served.with(async (served) => {
      served.server.close();
      const [closed, open] = [
        new LocalStore({ path: served.path }),
        new LocalStore({ path: served.path, onUnavailable: "open" }),
      ];
      const denied = await closed.acquire(ask);
      expect(denied).toMatchObject({ granted: false, reason: "unavailable" });
      expect((denied as { cause?: Error }).cause).toBeInstanceOf(Error);
      expect(await open.acquire(ask)).toMatchObject({ granted: true, fence: 0, lost: false });
      await expect(closed.counts("b")).rejects.toMatchObject({ code: "BULKHEAD_UNAVAILABLE" });
      const again = await LocalServer.listen({ path: served.path, store: served.store });
      const grant = await closed.acquire(ask);
      expect(grant).toMatchObject({ granted: true });
      expect((await closed.counts("b"))?.active).toBe(1);
      closed.close();
      again.close();
    }));

  test("loses what it held, and its places, with the server", () =>
    Served.with(async (served) => {
      const store = new LocalStore({ path: served.path });
      const grant = await store.acquire(ask);
      const waiting = store.acquire({ ...ask, maxWaitMs: 60_000 });
      await served.queued(1);
      let told = 0;
      if (!grant.granted) throw new Error("not granted");
      grant.onLost(() => told++);
      const never = grant.onLost(() => told = 99);
      never();
      served.server.close();
      expect(await waiting).toMatchObject({ granted: false, reason: "unavailable" });
      expect([grant.lost, told, await grant.release()]).toEqual([true, 1, false]);
      grant.onLost(() => told++);
      expect(told).toBe(2);
    }));

  test("gives back at once what crossed its cancel", () =>
    Served.with(
      async (served) => {
        const store = new LocalStore({ path: served.path });
        const aborter = new AbortController();
        const answer = store.acquire({ ...ask, signal: aborter.signal });
        aborter.abort();
        expect(await answer).toMatchObject({ granted: false, reason: "cancelled" });
        await served.idle();
        store.close();
      },
      {},
      new TinyStore(true),
    ));

  test("is not held up by a server that stands still: who gives back, who leaves, who closes, and in the end who asks", () =>
    Served.with(async (served) => {
      const path = `${served.dir}/still.sock`;
      const got: number[] = [];
      const peers: Socket[] = [];
      /** It grants the first ask, and says no more. */
      const still = createServer((socket) => {
        peers.push(socket);
        const reader = new FrameReader(longestToServer, (type, number) => {
          got.push(type);
          if (type === op.hello) socket.write(writeWelcome());
          if (type === op.acquire && number === 1) socket.write(writeGrant(1, { fence: 7, waitedMs: 0, position: 0 }));
        });
        socket.on("error", () => {}).on("data", (chunk: Uint8Array) => reader.push(chunk));
      });
      await new Promise<void>((up) => still.listen(path, up));
      const store = new LocalStore({ path, greetMs: 300 });
      const held = await store.acquire(ask);
      if (!held.granted) throw new Error("not granted");
      expect(await within(150, "the release", Promise.resolve(held.release()))).toBe(true);
      const aborter = new AbortController();
      const leaves = store.acquire({ ...ask, maxWaitMs: 60_000, signal: aborter.signal });
      aborter.abort();
      expect(await within(150, "the cancel", leaves)).toMatchObject({ reason: "cancelled" });
      const [late, counts] = [store.acquire(ask), store.counts("b")];
      const failed = expect(counts).rejects.toMatchObject({ code: "BULKHEAD_UNAVAILABLE" });
      expect(await within(2000, "an answer", late)).toMatchObject({ granted: false, reason: "unavailable" });
      await failed;
      // What it grants after all goes back, each once.
      for (const number of [2, 3]) peers[0]!.write(writeGrant(number, { fence: 8, waitedMs: 0, position: 0 }));
      const back = () => got.filter((type) => type === op.release).length;
      await waitFor(() => back() === 3, { what: "both to come back", every: 1 });
      const waits = store.acquire({ ...ask, maxWaitMs: 60_000 });
      store.close();
      expect(await within(150, "the end", waits)).toMatchObject({ granted: false, reason: "draining" });
      for (const peer of peers) peer.destroy();
      await new Promise((down) => still.close(down));
    }));

  test("takes an answer that nobody asked for, or that makes no sense, as the end of the connection", () =>
    Served.with(async (served) => {
      const path = `${served.dir}/liar.sock`;
      for (const lie of [bare(op.grant, 9), frame(op.grant, 1, 3).bytes, frame(op.fault, 0, 2000).bytes, bare(99, 1)]) {
        const liar = createServer((socket) => {
          socket.on("error", () => {});
          socket.once("data", () => {
            const { bytes, view } = frame(op.welcome, 0, 5);
            bytes.set(new TextEncoder().encode("FLBH"), 8);
            view.setUint8(12, 1);
            socket.write(bytes);
            socket.write(lie);
          });
        });
        await new Promise<void>((up) => liar.listen(path, up));
        const store = new LocalStore({ path });
        expect(await store.acquire(ask)).toMatchObject({ granted: false, reason: "unavailable" });
        await new Promise((down) => liar.close(down));
      }
    }));
});
