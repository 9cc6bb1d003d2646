import { afterAll, beforeAll, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import process from "node:process";
import { greeting } from "../../../plugins/php/fastcgi/greet.ts";
import { encodeParams, type Pair } from "../../../plugins/php/fastcgi/params.ts";
import { ChildPool } from "../../../plugins/php/fastcgi/pool.ts";
import type { Lease } from "../../../plugins/php/fastcgi/lease.ts";
import type { FcgiRequest } from "../../../plugins/php/fastcgi/request.ts";
import { connect, type FcgiSocket } from "../../../plugins/php/fastcgi/socket.ts";
import { type Fpm, processState, startFpm } from "./fpm.ts";
import { Answer, encodeHeaderParams } from "./support.ts";

let fpm: Fpm;
let pool: ChildPool;
const scripts = new Map<string, string>();
const sockets: { written: number }[] = [];

function params(code: string, ...more: readonly Pair[]): Uint8Array {
  let file = scripts.get(code);
  if (file === undefined) scripts.set(code, file = fpm.script(code));
  return encodeParams([["REQUEST_METHOD", "GET"], ["SCRIPT_FILENAME", file], ...more]);
}

const post = [["REQUEST_METHOD", "POST"], ["CONTENT_TYPE", "application/octet-stream"]] as const;

/** Counts what is written. */
function counted(socket: FcgiSocket): FcgiSocket {
  const count = { written: 0 };
  sockets.push(count);
  const write = socket.write.bind(socket);
  socket.write = (bytes) => {
    count.written += bytes.byteLength;
    return write(bytes);
  };
  return socket;
}

function lend(): Promise<Lease> {
  return new Promise((onLease, onRefuse) => pool.wait({ onLease, onRefuse }));
}

async function run(request: FcgiRequest): Promise<Answer> {
  const lease = await lend();
  const answer = new Answer();
  lease.send(request, answer);
  await answer.over;
  lease.done();
  return answer;
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 99_991) yield bytes.subarray(at, at + 99_991);
}

async function until(what: string, done: () => boolean): Promise<number> {
  const start = performance.now();
  while (!done()) {
    if (performance.now() - start > 10_000) throw new Error(`Waited 10 s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return performance.now() - start;
}

beforeAll(async () => {
  fpm = await startFpm(2);
  pool = new ChildPool({
    size: 2,
    connect: async (signal) => counted(await connect(fpm.address, signal)),
    greet: greeting([params("echo getmypid();")]),
    killChild: (pid) => process.kill(pid, "SIGKILL"),
  });
  pool.start();
  await until("two children", () => pool.alive === 2);
});

afterAll(async () => {
  await pool.close(false);
  await fpm.stop();
});

test("a connection stays with one child", async () => {
  const lease = await lend();
  for (let i = 0; i < 3; i++) {
    const answer = new Answer();
    lease.send({ params: [params("echo getmypid();")] }, answer);
    await answer.over;
    expect(answer.body).toBe(String(lease.pid));
    expect(answer.appStatus).toBe(0);
  }
  const other = await lend();
  expect(other.pid === lease.pid).toBe(false);
  lease.done();
  other.done();
  const rested = await lend();
  expect(rested.pid).toBe(lease.pid);
  rested.done();
});

test("a pair of 60 KB arrives, the largest that fits too, one byte more is refused unwritten", async () => {
  const fits = 65_535 - "NAME".length - 5;
  for (const length of [60_000, fits]) {
    const answer = await run({
      params: [params("echo strlen($_SERVER['NAME']);"), encodeParams([["NAME", "x".repeat(length)]])],
    });
    expect(answer.body).toBe(String(length));
  }
  const before = sockets.map((socket) => socket.written);
  for (const length of [fits + 1, 70_000]) {
    const answer = await run({ params: [params("echo 1;"), encodeParams([["NAME", "x".repeat(length)]])] });
    expect(answer.error?.code).toBe("PHP_PARAMS_TOO_LARGE");
    expect(answer.error?.status).toBe(431);
    expect(answer.progress).toBe("unsent");
  }
  expect(sockets.map((socket) => socket.written)).toEqual(before);
  expect(pool.alive).toBe(2);
});

test("many pairs take several records", async () => {
  const many = Array.from({ length: 40 }, (_, i): Pair => [`P${i}`, String(i).repeat(5000)]);
  const code =
    'for ($i = 0, $ok = 0; $i < 40; $i++) $ok += $_SERVER["P$i"] === str_repeat((string) $i, 5000); echo $ok;';
  expect((await run({ params: [params(code), encodeParams(many)] })).body).toBe("40");
});

test("header bytes arrive as they were, text as UTF-8, and a later pair wins", async () => {
  const answer = await run({
    params: [
      params("echo bin2hex($_SERVER['HTTP_X']), ' ', bin2hex($_SERVER['TEXT']), ' ', $_SERVER['TWICE'];"),
      encodeHeaderParams([["HTTP_X", "\xe9\x80"]]),
      encodeParams([["TEXT", "é€"], ["TWICE", "first"]]),
      encodeParams([["TWICE", "second"]]),
    ],
  });
  expect(answer.body).toBe("e980 c3a9e282ac second");
});

test("5 MB go up, from memory and as a stream", async () => {
  const bytes = new Uint8Array(5_000_000).map((_, i) => i * 7 >> 3);
  const request = [params("echo strlen($b = file_get_contents('php://input')), ' ', md5($b);", ...post)];
  const memory = await run({ params: request, body: bytes });
  const generator = await run({ params: request, body: { length: bytes.length, stream: pieces(bytes) } });
  const web = await run({ params: request, body: { length: bytes.length, stream: new Blob([bytes]).stream() } });
  expect(memory.body.slice(0, 8)).toBe("5000000 ");
  expect(generator.body).toBe(memory.body);
  expect(web.body).toBe(memory.body);
});

test("a body PHP does not read, or refuses, leaves the child good for the next request", async () => {
  for (const length of [10, 3_000_000, 9_000_000]) {
    const restarts = { ...pool.restarts };
    const answer = await run({ params: [params("echo 'ok';", ...post)], body: new Uint8Array(length) });
    expect(answer.body).toBe("ok");
    for (let i = 0; i < 3; i++) expect((await run({ params: [params("echo 'next';")] })).body).toBe("next");
    expect(pool.restarts).toEqual(restarts);
  }
});

test("a short body fails, its script never runs, and the child is replaced", async () => {
  for (const type of ["application/json", "application/x-www-form-urlencoded"]) {
    const trace = `${fpm.dir}/trace`;
    const killed = pool.restarts.killed;
    const answer = await run({
      params: [params("touch(__DIR__ . '/trace');", ["REQUEST_METHOD", "POST"], ["CONTENT_TYPE", type])],
      body: { length: 200_000, stream: pieces(new Uint8Array(100_000)) },
    });
    expect(answer.error?.code).toBe("PHP_BODY_SHORT");
    expect(answer.error?.status).toBe(400);
    expect(pool.restarts.killed).toBe(killed + 1);
    expect(await until("a new child", () => pool.alive === 2) < 1000).toBe(true);
    expect(existsSync(trace)).toBe(false);
  }
});

test("events arrive one by one", async () => {
  const code =
    "while (ob_get_level()) ob_end_flush(); for ($i = 0; $i < 3; $i++) { echo \"data: $i\\n\\n\"; flush(); while (!file_exists($_SERVER['GO'] . $i)) usleep(1000); }";
  const lease = await lend();
  const answer = new Answer();
  const go = `${fpm.dir}/go`;
  lease.send({ params: [params(code, ["GO", go])] }, answer);
  for (let i = 0; i < 3; i++) {
    await until(`event ${i}`, () => answer.stdout.includes(`data: ${i}\n\n`));
    expect(answer.stdout.includes(`data: ${i + 1}`)).toBe(false);
    writeFileSync(go + i, "");
  }
  await answer.over;
  lease.done();
  expect(answer.finals).toBe(1);
});

test("20 MB come down through a reader that pauses, and PHP waits for it", async () => {
  const lease = await lend();
  const answer = new Answer();
  let bytes = 0;
  let pauses = 0;
  const sum = createHash("md5");
  let head = true;
  answer.onChunk = (chunk) => {
    answer.chunks.length = 0;
    const body = head ? chunk.subarray(Buffer.from(chunk).indexOf("\r\n\r\n") + 4) : chunk;
    head = false;
    bytes += body.byteLength;
    sum.update(body);
    if (bytes < pauses * 2_000_000) return;
    pauses++;
    lease.pause();
  };
  const done = `${fpm.dir}/downloaded`;
  const code = "for ($i = 0; $i < 20; $i++) echo str_repeat(chr(65 + $i), 1000000); touch($_SERVER['DONE']);";
  lease.send({ params: [params(code, ["DONE", done])] }, answer);
  for (let seen = 0; answer.finals === 0;) {
    await until("a pause", () => pauses > seen || answer.finals > 0);
    seen = pauses;
    // While nobody reads, PHP cannot get further than the buffers between: it comes to rest in a write.
    await until("PHP to sleep", () => processState(lease.pid) === "S");
    if (bytes < 15_000_000) expect(existsSync(done)).toBe(false);
    expect(bytes < pauses * 2_000_000 + 500_000).toBe(true);
    lease.resume();
  }
  lease.done();
  expect(bytes).toBe(20_000_000);
  expect(pauses >= 10).toBe(true);
  const expected = createHash("md5");
  for (let i = 0; i < 20; i++) expected.update(String.fromCharCode(65 + i).repeat(1_000_000));
  expect(sum.digest("hex")).toBe(expected.digest("hex"));
});

test("what PHP logs is kept apart from what it prints", async () => {
  const answer = await run({ params: [params("error_log('secret'); echo 'page';")] });
  expect(answer.body).toBe("page");
  expect(answer.stderr.includes("secret")).toBe(true);
});

test("exit and a fatal error are answers, not lost children", async () => {
  expect((await run({ params: [params("echo 'bye'; exit(7);")] })).body).toBe("bye");
  const fatal = await run({ params: [params("nothing();")] });
  expect(fatal.stdout.startsWith("Status: 500 Internal Server Error\r\n")).toBe(true);
  expect(fatal.stderr.includes("nothing()")).toBe(true);
  expect(pool.alive).toBe(2);
});

test("after fastcgi_finish_request the next request on that child waits", async () => {
  const lease = await lend();
  const go = `${fpm.dir}/finish`;
  const code =
    "echo 'early'; fastcgi_finish_request(); while (!file_exists($_SERVER['GO'])) usleep(1000); touch($_SERVER['GO'] . '.seen');";
  const first = new Answer();
  lease.send({ params: [params(code, ["GO", go])] }, first);
  await first.over;
  expect(first.body).toBe("early");
  const second = new Answer();
  lease.send({ params: [params("echo (int) file_exists($_SERVER['GO']);", ["GO", `${go}.seen`])] }, second);
  expect(second.finals).toBe(0);
  writeFileSync(go, "");
  await second.over;
  lease.done();
  expect(second.body).toBe("1");
});

test("a child killed in a request fails it with PHP_CHILD_DIED, and the pool is whole within a second", async () => {
  const died = pool.restarts.died;
  const lease = await lend();
  const answer = new Answer();
  answer.onChunk = () => process.kill(lease.pid, "SIGKILL");
  lease.send({ params: [params("while (ob_get_level()) ob_end_flush(); echo 'x'; flush(); sleep(30);")] }, answer);
  await answer.over;
  expect(answer.error?.code).toBe("PHP_CHILD_DIED");
  expect(answer.error?.status).toBe(502);
  expect(answer.progress).toBe("touched");
  expect(lease.alive).toBe(false);
  let free = false;
  lease.done(() => free = true);
  expect(free).toBe(false);
  expect(await until("a new child", () => pool.alive === 2) < 1000).toBe(true);
  expect(free).toBe(true);
  expect(pool.restarts.died).toBe(died + 1);
  expect((await run({ params: [params("echo 'whole';")] })).body).toBe("whole");
});

test("a child killed while idle is noticed and replaced", async () => {
  const died = pool.restarts.died;
  const lease = await lend();
  lease.done();
  process.kill(lease.pid, "SIGKILL");
  await until("the loss", () => pool.restarts.died === died + 1);
  await until("a new child", () => pool.alive === 2);
});

test("kill ends a script that hangs, and frees its place only when a new child is up", async () => {
  const lease = await lend();
  const answer = new Answer();
  lease.send({ params: [params("while (true);")] }, answer);
  await until("PHP to spin", () => processState(lease.pid) === "R");
  let free = false;
  lease.kill("timeout", () => free = true);
  expect(free).toBe(false);
  await until("a new child", () => pool.alive === 2);
  expect(free).toBe(true);
  expect(answer.finals).toBe(0);
  expect(pool.restarts.timeout).toBe(1);
  await until("the process to end", () => [undefined, "Z"].includes(processState(lease.pid)));
});

test("requests keep their order of arrival when every child is lent", async () => {
  const order: number[] = [];
  await Promise.all(Array.from({ length: 20 }, async (_, i) => {
    const lease = await lend();
    order.push(i);
    const answer = new Answer();
    lease.send({ params: [params("echo 1;")] }, answer);
    await answer.over;
    lease.done();
  }));
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test("connecting to nothing says so", async () => {
  const error = await connect({ path: `${fpm.dir}/nothing.sock` }).catch((reason) => reason);
  expect(error.code).toBe("PHP_CONNECT");
  expect(error.status).toBe(502);
});
