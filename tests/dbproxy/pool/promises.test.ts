import { expect, test } from "bun:test";
import { FairGate } from "../../../plugins/admission/fair_gate.ts";
import type { Backend } from "../../../plugins/dbproxy/backend/backend.ts";
import { Pool } from "../../../plugins/dbproxy/pool/pool.ts";
import type { Want } from "../../../plugins/dbproxy/session/host.ts";
import { Promises } from "../../../plugins/dbproxy/session/promises.ts";
import { VirtualClock } from "../../admission/virtual_clock.ts";
import { flush } from "./world.ts";

const want = { kind: "a", schema: undefined } as unknown as Want;

/** The real pool and the real promises; of a backend only what those two look at. */
async function world(connections: number) {
  const clock = new VirtualClock();
  let ids = 0;
  const pool = new Pool<Backend, Want>({
    gate: new FairGate({ limit: 5, clock, random: () => 0 }),
    dial: (kind) =>
      Promise.resolve(
        { id: ids++, kind, promised: false, state: { schema: undefined } } as unknown as Backend,
      ),
    clean: () => true,
    check: () => Promise.resolve(true),
    close: () => {},
    score: (backend, { promised }) => {
      if (promised?.promised === true) return backend === promised ? 0 : Infinity;
      return backend.promised ? Infinity : 0;
    },
    promised: ({ promised }) => promised?.promised === true ? promised : undefined,
    kindOf: ({ kind }) => kind,
    maxConnections: 5,
    clock,
    random: () => 0,
  });
  const promises = new Promises(pool);
  const take = async (what: Want = want): Promise<Backend> => {
    let taken: Backend | undefined;
    pool.checkout(what, { onBackend: (backend) => void (taken = backend), onRefuse: () => {} });
    for (let i = 0; i < 3; i++) await flush();
    return taken!;
  };
  promises.saw(want);
  const open: Backend[] = [];
  for (let i = 0; i < connections; i++) open.push(await take());
  return { clock, pool, promises, take, open };
}

test("a promise is kept when another backend comes back later, and after a time of silence", async () => {
  for (const silence of [0, 600]) {
    const { clock, pool, promises, take, open } = await world(3);
    const [a, b, c] = open as [Backend, Backend, Backend];
    pool.release(a);
    pool.release(b);
    const promised = promises.make(0)!;
    expect([a, b]).toContain(promised);
    pool.release(c);
    clock.advance(silence);
    expect([silence, (await take()).id]).not.toEqual([silence, promised.id]);
    expect([silence, (await take({ ...want, promised })).id]).toEqual([silence, promised.id]);
  }
});

test("a promise that has ended leaves its backend to whoever seeks", async () => {
  const { pool, promises, take, open } = await world(2);
  for (const backend of open) pool.release(backend);
  const promised = promises.make(0)!;
  promises.end(promised);
  expect([await take(), await take()]).toContain(promised);
});
