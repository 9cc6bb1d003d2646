/**
 * Fuzzes every decoder of the wire format for as long as told, from a seed that it prints. Fails on anything thrown that
 * is no CoreError, on an input that takes long, and on memory that grows.
 *
 * ```sh
 * bun tests/dbproxy/fuzz_wire.ts [inputs, default 1000000] [seed]
 * ```
 *
 * @module
 */
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import { CommandReader } from "../../plugins/dbproxy/wire/command_reader.ts";
import { inflate } from "../../plugins/dbproxy/wire/compression.ts";
import { decodeErr, encodeErr } from "../../plugins/dbproxy/wire/err.ts";
import { accessDenied } from "../../plugins/dbproxy/wire/errors.ts";
import { frame, PacketReader } from "../../plugins/dbproxy/wire/frame.ts";
import { decodeGreeting, encodeGreeting } from "../../plugins/dbproxy/wire/greeting.ts";
import { decodeChangeUser, decodeLogin, encodeChangeUser, encodeLogin } from "../../plugins/dbproxy/wire/login.ts";
import { decodeEof, decodeOk, encodeEof, encodeOk } from "../../plugins/dbproxy/wire/ok.ts";
import { decodeTrackers } from "../../plugins/dbproxy/wire/trackers.ts";

const inputs = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.argv[3] ?? Date.now() % 0x7fffffff);
const slowMs = 250;

let state = seed | 1;
/** A number below `n` (xorshift32). */
function below(n: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
}

const telling = [0x00, 0x01, 0x02, 0x11, 0x40, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];
const capabilities = 0xffffffff;
const nonce = new Uint8Array(20).fill(9);
const attributes = [["_client_name", "mysqlnd"], ["a", "b"]] as const;
const user = { user: "app", auth: nonce, database: "shop", charset: 45, plugin: "caching_sha2_password", attributes };
const trackers = new Uint8Array([
  0,
  4,
  1,
  97,
  1,
  98,
  1,
  3,
  2,
  100,
  98,
  2,
  2,
  1,
  49,
  5,
  3,
  2,
  84,
  95,
  3,
  4,
  0,
  2,
  103,
  49,
]);
const ok = encodeOk(
  { affectedRows: 300, insertId: 2n ** 60n, status: 2, warnings: 1, info: "i", trackers },
  capabilities,
);
const query = frame(0, new Uint8Array([3, 83, 69, 76]));

const targets: readonly (readonly [name: string, good: Uint8Array, decode: (bytes: Uint8Array) => unknown])[] = [
  [
    "greeting",
    encodeGreeting({
      version: "9.7.4",
      threadId: 1,
      nonce,
      capabilities: 0x81fff7fe,
      extended: 29,
      charset: 8,
      status: 2,
      plugin: "p",
    }),
    decodeGreeting,
  ],
  ["login", encodeLogin({ ...user, capabilities, extended: 0, maxPacket: 1 << 24, zstdLevel: 3 }), decodeLogin],
  ["change user", encodeChangeUser(user, capabilities), (bytes) => decodeChangeUser(bytes, below(2) * capabilities)],
  ["ok", ok, (bytes) => decodeOk(bytes, below(2) * capabilities)],
  ["eof", encodeEof(2, 1), decodeEof],
  ["err", encodeErr(accessDenied("u", "h", true)), decodeErr],
  ["trackers", trackers, decodeTrackers],
  ["packets", query, (bytes) => new PacketReader(4096, () => below(9) > 0).push(bytes)],
  ["commands", new Uint8Array([...query, ...query]), (bytes) => {
    const reader = new CommandReader({
      onCommand() {
        const next = below(8);
        if (next === 0) reader.infile(() => {});
        if (next === 1) reader.takePackets(() => below(2) === 0);
        reader.next();
      },
      onMore() {},
      onProblem() {},
    }, { headLimit: 1 + below(100) });
    const half = below(bytes.length + 1);
    reader.push(bytes.subarray(0, half));
    reader.push(bytes.subarray(half));
  }],
  ["inflate", new Uint8Array([0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0, 2, 0x4d, 1, 0x27]), (bytes) => {
    if (below(16) === 0) inflate(below(2) === 0 ? "zlib" : "zstd", bytes, below(0x1000000));
  }],
];

/** Noise, or a good packet with some bytes changed, some repeated, and its end cut off or grown. */
function input(good: Uint8Array): Uint8Array {
  const noise = below(4) === 0;
  const out = new Uint8Array(noise ? below(200) : below(5) === 0 ? below(good.length + 20) : good.length);
  if (noise) return out.map(() => below(2) === 0 ? below(256) : telling[below(telling.length)]!);
  out.set(good.subarray(0, out.length));
  for (let changes = 1 + below(5); changes > 0 && out.length > 0; changes--) {
    out[below(out.length)] = below(2) === 0 ? below(256) : telling[below(telling.length)]!;
  }
  return out;
}

console.log(`seed ${seed}, ${inputs} inputs`);
const counts = new Map<string, [good: number, refused: number]>(targets.map(([name]) => [name, [0, 0]]));
let heap = 0;
for (let i = 0; i < inputs; i++) {
  // Runtimes free what zlib holds only between turns of the event loop.
  if (i % 5000 === 0) await new Promise((resolve) => setTimeout(resolve));
  const [name, good, decode] = targets[i % targets.length]!;
  const bytes = input(good);
  const before = performance.now();
  try {
    decode(bytes);
    counts.get(name)![0]++;
  } catch (error) {
    if (!(error instanceof CoreError)) {
      console.error(`${name}: ${Buffer.from(bytes).toString("hex")}`);
      throw error;
    }
    counts.get(name)![1]++;
  }
  if (performance.now() - before > slowMs) console.error(`slow: ${name}: ${Buffer.from(bytes).toString("hex")}`);
  if (i === Math.floor(inputs / 4)) heap = process.memoryUsage().rss;
}
const grown = process.memoryUsage().rss - heap;
for (const [name, [good, refused]] of counts) console.log(`${name}: ${good} read, ${refused} refused`);
console.log(`memory grew by ${(grown / 1e6).toFixed(1)} MB over the last three quarters`);
if (grown > 200e6) process.exitCode = 1;
