/**
 * A link with delay: passes on TCP connections, and every byte arrives `delayMs` later than it came, in both directions.
 *
 * Timers of the runtimes are only exact to a millisecond, so it spins while something is on its way: it takes a core. A
 * TCP handshake over such a link takes a round trip, and its last packet half of one, which a relay on the loopback
 * cannot delay: instead it connects to the database three delays after it was connected to.
 *
 * `bun bench/db/delaying_relay.ts PORT-OF-THE-DATABASE MILLISECONDS` prints its own port.
 *
 * @module
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import process from "node:process";

/** Does things a fixed time after they were asked for, in their order. */
export class DelayLine {
  readonly #delayMs: number;
  readonly #waiting: { readonly due: number; readonly act: () => void }[] = [];
  #spinning = false;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  send(act: () => void): void {
    this.#waiting.push({ due: performance.now() + this.#delayMs, act });
    if (this.#spinning) return;
    this.#spinning = true;
    setImmediate(this.#spin);
  }

  readonly #spin = (): void => {
    const now = performance.now();
    while ((this.#waiting[0]?.due ?? Infinity) <= now) this.#waiting.shift()!.act();
    if (this.#waiting.length > 0) setImmediate(this.#spin);
    else this.#spinning = false;
  };
}

function oneWay(from: Socket, to: Socket, line: DelayLine): void {
  from.on("data", (bytes) => line.send(() => void to.write(bytes)));
  from.on("end", () => line.send(() => void to.end()));
  from.on("error", () => line.send(() => void to.destroy()));
}

/** Listens on a free loopback port, in front of another one. */
export function startRelay(port: number, delayMs: number): Promise<Server> {
  const bytes = new DelayLine(delayMs);
  const handshakes = new DelayLine(delayMs * 3);
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (near) => {
    handshakes.send(() => {
      const far = connect({ host: "127.0.0.1", port, noDelay: true, allowHalfOpen: true });
      oneWay(near, far, bytes);
      oneWay(far, near, bytes);
      near.resume();
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

export function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The relay does not listen");
  return address.port;
}

if (import.meta.main) {
  const [port, delayMs] = process.argv.slice(2).map(Number);
  if (!port || !delayMs) throw new Error("usage: bun bench/db/delaying_relay.ts PORT MILLISECONDS");
  process.stdout.write(`${portOf(await startRelay(port, delayMs))}\n`);
}
