/**
 * A relay between two ends of a connection that harms it at a byte it is told.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, createServer, type Server, type Socket } from "node:net";

/** What happens to one connection; nothing does when it is undefined. */
export interface Harm {
  /** Counted from its beginning; if no more bytes come it stays whole. */
  readonly afterBytes: number;
  /** Of the bytes that come from who connected, or of those that go to them. */
  readonly direction: "up" | "down";
  /**
   * `close`: both ends get a FIN; `reset`: both get an RST; `garbage`: other bytes in place of those that were sent, and
   * then the end; `delay`: each later chunk comes so many ms late; `silence`: nothing passes any more, either way.
   */
  readonly how: "close" | "reset" | "garbage" | "delay" | "silence";
  readonly delayMs?: number;
}

export interface CuttingRelay {
  readonly host: "127.0.0.1";
  readonly port: number;
  /** Asked for each new connection. */
  fate: () => Harm | undefined;
  /** Answers new connections in the target's place. */
  instead: ((socket: Socket) => void) | undefined;
  /** New connections so far. */
  readonly met: number;
  /** Connections that were harmed so far. */
  readonly harmed: number;
  /** Ends every connection there is. */
  cut(): void;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export { seeded } from "./seeded.ts";

export async function startCuttingRelay(target: { host: string; port: number }): Promise<CuttingRelay> {
  const sockets = new Set<Socket>();
  let [met, harmed] = [0, 0];
  const keep = (socket: Socket) => {
    sockets.add(socket.setNoDelay(true));
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
    return socket;
  };
  const server: Server = createServer((client) => {
    met++;
    if (relay.instead) return void relay.instead(keep(client).resume());
    const far = connect({ host: target.host, port: target.port });
    const [near, harm] = [keep(client), relay.fate()];
    const pass = (from: Socket, to: Socket, direction: Harm["direction"]) => {
      const harmer = harm?.direction === direction ? harmerOf(harm, to, () => harmed++, [near, far]) : undefined;
      from.on("data", harmer ?? ((bytes: Buffer) => void to.write(bytes)));
      from.on("end", () => to.end()).on("close", () => to.destroy());
    };
    pass(near, keep(far), "up");
    pass(far, near, "down");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = async () => {
    cut();
    await new Promise((done) => server.close(done));
  };
  const relay: CuttingRelay = {
    host: "127.0.0.1",
    port: (server.address() as { port: number }).port,
    fate: () => undefined,
    instead: undefined,
    get met() {
      return met;
    },
    get harmed() {
      return harmed;
    },
    cut,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return relay;
}

function harmerOf(harm: Harm, to: Socket, count: () => void, both: readonly Socket[]): (bytes: Buffer) => void {
  let [left, late] = [harm.afterBytes, Promise.resolve()];
  let done = false;
  return (bytes) => {
    const whole = bytes.subarray(0, left);
    left -= whole.length;
    if (whole.length > 0) to.write(whole);
    const rest = bytes.subarray(whole.length);
    if (rest.length === 0) return;
    if (!done) count();
    const first = !done;
    done = true;
    switch (harm.how) {
      case "delay":
        late = late.then(() => new Promise((pass) => setTimeout(pass, harm.delayMs ?? 20))).then(() =>
          void to.write(rest)
        );
        return;
      case "silence":
        for (const socket of both) socket.pause();
        return;
      case "garbage":
        // Whatever it seems to announce, nothing follows: who waits for more is told so.
        if (first) {
          to.write(Buffer.from(rest.map((byte, at) => byte ^ (at * 37 + 91))), () => both.forEach((one) => one.end()));
        }
        return;
      case "close":
        for (const socket of both) socket.end();
        for (const socket of both) socket.pause();
        return;
      case "reset":
        for (const socket of both) socket.resetAndDestroy();
    }
  };
}
