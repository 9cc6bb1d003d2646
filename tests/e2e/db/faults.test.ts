/**
 * What networks and servers do to connections: cut them anywhere, delay them, answer nonsense or nothing, die under load.
 * Clients get an error or the end in time, and afterwards the proxy is as it was.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { type CuttingRelay, type Harm, seeded, startCuttingRelay } from "../../support/cutting_relay.ts";
import type { Database, Place } from "../../support/database.ts";
import { servers } from "../../support/db_matrix.ts";
import { proxyAbsent, startProxy, type TestProxy } from "../../support/db_proxy.ts";
import { look, session } from "../../support/db_sessions.ts";
import { MysqlError, type RawClient } from "../../support/raw_client.ts";
import { type HostName, runtimes } from "../../support/server.ts";
import { allowSlowTests, pause, waitFor, within } from "../../support/wait.ts";

allowSlowTests(120_000);

const size = 6;
const settings = { pool_timeout: "3s", connect_timeout: "1s" };
/** Rounds of each kind of harm, and how many clients there are at once. */
const [rounds, lanes] = [Number(process.env["TEST_FAULT_ROUNDS"] ?? 30), 6];
const seed = Number(process.env["TEST_FAULT_SEED"] ?? 20_260_101);

const init = [
  "CREATE TABLE test.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "CREATE TABLE test.kept (id INT PRIMARY KEY, a VARCHAR(40)) ENGINE=InnoDB",
  "INSERT INTO test.kept VALUES (1, 'one'), (2, 'two')",
];

/** How a session went: what it saw is right, or it was told, or its connection ended within a reply, or between two. */
type End = "served" | "told" | "cut" | "dropped";

/** One session that uses much of the protocol, about 3 kB up and 25 kB down. What it sees must be right as far as it gets. */
async function story(place: Place, number: number, intact = true): Promise<End> {
  let client: RawClient | undefined;
  const work = async (): Promise<End> => {
    client = await session(place);
    await client.run("SET NAMES utf8mb4", "SET SESSION sql_mode='ANSI_QUOTES'", `SET @mine=${number}`);
    const seen: unknown[] = [await client.one("SELECT a FROM kept WHERE id=2")];
    const statement = await client.prepare("SELECT ? AS a, REPEAT('x', 20000) AS b, @mine AS c");
    const [rows] = await client.execute(statement.id, [`value ${number}`]);
    if (rows?.kind !== "rows") {
      throw rows?.kind === "error" ? new MysqlError(rows.code, rows.state, rows.message) : rows;
    }
    seen.push(rows.rows[0]!.map((value) => value?.length), String(rows.rows[0]![0]));
    await client.run("BEGIN", `INSERT INTO t(a) VALUES ('left by ${number}')`, "ROLLBACK");
    seen.push(await client.one("SELECT @mine"));
    await client.quit();
    const right = ["two", [`value ${number}`.length, 20_000, String(number).length], `value ${number}`, String(number)];
    if (intact && JSON.stringify(seen) !== JSON.stringify(right)) {
      throw new Wrong(`Session ${number} saw ${JSON.stringify(seen)}`);
    }
    return "served";
  };
  try {
    return await within(10_000, `Session ${number}`, work());
  } catch (error) {
    if (error instanceof MysqlError) return "told";
    if (process.env["TEST_FAULT_REPORT"] === "2") console.log(number, error);
    if (error instanceof Wrong || /took longer/.test(String(error))) throw error;
    return client && client.stream.unread > 0 ? "cut" : "dropped";
  } finally {
    client?.destroy();
  }
}
class Wrong extends Error {}

const none: Readonly<Record<End, number>> = { served: 0, told: 0, cut: 0, dropped: 0 };

async function many(count: number, place: Place, intact = true): Promise<Record<End, number>> {
  const ends: Record<End, number> = { ...none };
  let next = 0;
  await Promise.all(Array.from({ length: lanes }, async () => {
    while (next < count) ends[await story(place, next++, intact)]++;
  }));
  return ends;
}

interface Pool {
  readonly clients: Record<string, number>;
  readonly backends: Record<string, number>;
  readonly oldest_wait_ms: number;
}

async function poolOf(proxy: TestProxy): Promise<Pool> {
  const answer = await fetch(`${proxy.server.adminUrl}/-/db/pool`);
  return (await answer.json() as { databases: [Pool] }).databases[0];
}

/** Waits until nobody is there and nothing is lent. */
async function quiet(proxy: TestProxy): Promise<void> {
  await waitFor(async () => {
    const { clients, backends } = await poolOf(proxy);
    const busy = { ...clients, ...backends, idle: clients["idle"]! };
    if (Object.values(busy).some((count) => count > 0)) throw new Error(JSON.stringify({ clients, backends }));
    return true;
  }, { what: "the pool to be at rest", timeout: 8000 });
}

/** Lends every backend there may be at once, so every permit must be back; then the descriptors of the proxy at rest. */
async function footprint(proxy: TestProxy): Promise<number> {
  const held = await Promise.all(Array.from({ length: size }, () => session(proxy)));
  await Promise.all(held.map((client) => client.run("SET @mine=1")));
  expect((await poolOf(proxy)).backends["used"]).toBe(size);
  for (const client of held) await client.quit();
  await quiet(proxy);
  return readdirSync(`/proc/${proxy.server.pid}/fd`).length;
}

/** Within `patience` ms every new session is served, nobody waits, nothing is left open. */
async function recovered(proxy: TestProxy, before: number, patience = 1000): Promise<void> {
  await waitFor(() => look(proxy, "SELECT 1").then((value) => value === "1", () => false), {
    what: "a session",
    timeout: patience,
  });
  for (let index = 0; index < size * 2; index++) expect(await story(proxy, index)).toBe("served");
  await quiet(proxy);
  expect(await footprint(proxy)).toBeLessThanOrEqual(before + 1);
}

/** The nth harm of a kind: mostly within the login and the first commands, sometimes later. */
function harms(how: Harm["how"], salt: number): () => Harm {
  const random = seeded(seed + salt);
  return () => {
    const direction = random() < 0.5 ? "up" : "down";
    const reach = random() < 0.6 ? 400 : direction === "up" ? 3000 : 25_000;
    return { how, direction, afterBytes: Math.floor(random() * reach), delayMs: 5 + Math.floor(random() * 20) };
  };
}

const absent = proxyAbsent();
for (const server of servers) {
  for (const host of runtimes()) {
    const title = `faults before ${server.title}, on ${host}`;
    const missing = server.absent ?? absent;
    if (missing) describe(title, () => test.skip(`not here: ${missing}`, () => {}));
    else describe(title, () => faults(server, host));
  }
}

function faults(server: (typeof servers)[number], host: HostName): void {
  let database: Database, relay: CuttingRelay, proxy: TestProxy;
  beforeAll(async () => {
    database = await server.start({ init });
    relay = await startCuttingRelay(database);
    proxy = await startProxy({ upstream: { ...database, port: relay.port }, host, size, settings });
    await footprint(proxy);
  });
  afterAll(async () => {
    await proxy?.stop();
    await relay?.stop();
    await database?.stop();
  });

  /** Nobody's transaction is open, and nothing of any was kept. */
  const clean = async () => {
    await waitFor(async () => (await database.admin("SELECT trx_id FROM information_schema.innodb_trx")).length === 0, {
      what: "transactions to end",
    });
    expect(await database.admin("SELECT COUNT(*) FROM test.t")).toEqual([["0"]]);
  };

  for (const [salt, how] of (["close", "reset", "garbage", "delay"] as const).entries()) {
    test(`connections to the server: ${how} at any byte`, async () => {
      const before = await footprint(proxy);
      const [draw, earlier] = [harms(how, salt), relay.harmed];
      relay.fate = draw;
      relay.cut();
      const ends = await many(rounds, proxy, how !== "garbage");
      relay.fate = () => undefined;
      // What is to be harmed later is no matter of what follows.
      relay.cut();
      // Who can be told is told.
      if (how !== "garbage") expect(ends.dropped).toBe(0);
      expect(relay.harmed).toBeGreaterThan(earlier);
      if (how === "delay") expect(ends).toEqual({ ...none, served: rounds });
      if (process.env["TEST_FAULT_REPORT"]) console.log(title(), how, ends, relay.harmed - earlier);
      await recovered(proxy, before);
      await clean();
    });

    test(`connections of clients: ${how} at any byte`, async () => {
      const before = await footprint(proxy);
      await using near = await startCuttingRelay(proxy);
      near.fate = harms(how, salt + 100);
      const ends = await many(rounds * 2, { ...proxy, port: near.port }, how !== "garbage");
      expect(near.harmed).toBeGreaterThan(0);
      if (how === "delay") expect(ends).toEqual({ ...none, served: rounds * 2 });
      if (process.env["TEST_FAULT_REPORT"]) console.log(title(), "client", how, ends, near.harmed);
      await near.stop();
      await recovered(proxy, before);
      await clean();
    });
  }
  const title = () => `${server.title} ${host}`;

  test("a database killed under the load of fifty clients", async () => {
    await using direct = await startProxy({ upstream: database, host, size, settings });
    await footprint(direct);
    const before = await footprint(direct);
    let over = false, number = 0;
    const seen: { from: number; end: End }[] = [];
    const load = Array.from({ length: 50 }, async () => {
      while (!over) {
        const from = performance.now();
        seen.push({ from, end: await story(direct, number++) });
        if (seen.at(-1)!.end !== "served") await pause(20);
      }
    });
    const failed = Promise.race([
      Promise.all(load).then(() => {}),
      new Promise<void>((_, no) => load.forEach((one) => one.catch(no))),
    ]);
    await waitFor(() => seen.length > 100, { what: "some sessions" });
    const killed = performance.now();
    await database.kill();
    await waitFor(() => seen.filter(({ from, end }) => from > killed && end !== "served").length > 100, {
      what: "sessions that find no database",
    });
    const dead = performance.now();
    await database.start();
    const back = performance.now();
    const ofLater = () => seen.filter(({ from }) => from > back + 1000);
    await waitFor(() => ofLater().length > 10, { what: "sessions a second after its return" });
    over = true;
    await failed;
    const late = ofLater();
    expect(late.filter(({ end }) => end !== "served")).toEqual([]);
    // Who came when it was known to be dead was told so in the protocol.
    const between = seen.filter(({ from }) => from > killed + 200 && from < dead);
    expect(between.filter(({ end }) => end !== "told")).toEqual([]);
    if (process.env["TEST_FAULT_REPORT"]) {
      const first = seen.find(({ from, end }) => from > back && end === "served");
      console.log(
        title(),
        "killed:",
        count(seen),
        "late:",
        count(late),
        "between:",
        count(between),
        "first served after",
        first && first.from - back,
      );
    }
    await recovered(direct, before);
    await clean();
  });

  const count = (seen: { end: End }[]) =>
    seen.reduce((sums, { end }) => ({ ...sums, [end]: sums[end] + 1 }), { ...none } as Record<End, number>);

  let greeting: Buffer;
  const odd: Record<string, (socket: Socket) => void> = {
    "says nothing": () => {},
    "greets and then says nothing": (socket) => void socket.write(greeting),
    "greets and then refuses": (socket) => {
      socket.write(greeting);
      socket.once("data", () => socket.end(refusal));
    },
    "hangs up": (socket) => void socket.end(),
    "speaks another protocol": (socket) => void socket.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "sends an empty packet": (socket) => void socket.write(Buffer.from("00000000", "hex")),
    "begins a packet of 16 MiB": (socket) => void socket.write(Buffer.from("ffffff00", "hex")),
  };
  for (const [what, answer] of Object.entries(odd)) {
    test(`a server that ${what} for a while`, async () => {
      greeting = await greetingOf(database);
      const [before, earlier] = [await footprint(proxy), relay.met];
      relay.instead = answer;
      relay.cut();
      const ends = await Promise.all(Array.from({ length: 15 }, (_, index) => story(proxy, index)));
      relay.instead = undefined;
      relay.cut();
      expect(ends.filter((end) => end !== "told")).toEqual([]);
      expect(relay.met).toBeGreaterThan(earlier);
      await recovered(proxy, before, 1500);
    });
  }

  /** The proxy with a server that was never there: a client is told in time, and nothing is kept. */
  const hopeless = async (upstream: Place) => {
    await using lost = await startProxy({ upstream, host, size, settings, hopeless: true });
    const open = () => readdirSync(`/proc/${lost.server.pid}/fd`).length;
    expect(await story(lost, 0)).toBe("told");
    await quiet(lost);
    const before = open();
    const ends = await Promise.all(Array.from({ length: 15 }, (_, index) => story(lost, index)));
    expect(ends.filter((end) => end !== "told")).toEqual([]);
    await quiet(lost);
    // It tries on by itself.
    await waitFor(() => open() <= before + 1, { what: `no more than ${before + 1} descriptors` });
  };

  test("a server that has never done anything but hang up", async () => {
    await using other = await startCuttingRelay(database);
    other.instead = (socket) => void socket.end();
    await hopeless({ ...database, port: other.port });
  });

  test("an address that swallows everything", async () => {
    await using hole = await blackHole();
    await hopeless({ ...database, port: hole.port });
  });
}

/** Error 1040, as its second packet. */
const refusal = Buffer.from("\x1d\0\0\x02\xff\x10\x04#08004Too many connections", "latin1");

async function greetingOf(place: Place): Promise<Buffer> {
  const socket = connect({ host: place.host, port: place.port });
  try {
    return await new Promise((resolve, reject) => socket.once("data", resolve).once("error", reject));
  } finally {
    socket.destroy();
  }
}

/** An address whose listener never accepts, and whose queue is full: the system answers no connection request. */
async function blackHole() {
  const script = `$s = stream_socket_server('tcp://127.0.0.1:0', $e, $m, STREAM_SERVER_BIND | STREAM_SERVER_LISTEN,
    stream_context_create(['socket' => ['backlog' => 1]]));
    echo stream_socket_get_name($s, false), "\\n"; sleep(600);`;
  const child = spawn("php", ["-r", script], { stdio: ["ignore", "pipe", "ignore"] });
  const line = await new Promise<string>((resolve) => child.stdout.once("data", (bytes) => resolve(String(bytes))));
  const port = Number(line.trim().split(":").at(-1));
  const fillers: Socket[] = [];
  const filled = async () => {
    const socket = connect({ host: "127.0.0.1", port });
    fillers.push(socket);
    socket.on("error", () => {});
    return await Promise.race([
      new Promise<boolean>((done) => socket.once("connect", () => done(false))),
      pause(300).then(() => true),
    ]);
  };
  await waitFor(filled, { what: "the queue to be full", every: 1 });
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of fillers) socket.destroy();
      process.kill(child.pid!, "SIGKILL");
      await new Promise((done) => child.once("close", done));
    },
  };
}
