/**
 * A client that asks for much and takes its time: what the server holds for it meanwhile is what it should not hold.
 *
 * @module
 */
import { residentBytes } from "./proc.ts";
import { RawClient } from "./raw_http.ts";
import type { TestServer } from "./server.ts";
import { pause, within } from "./wait.ts";

/** What a slow reader has found, in bytes. */
export interface SlowRead {
  readonly received: number;
  /** By how much the server's resident memory has grown at most. */
  readonly growth: number;
}

/** Asks (the request must close its connection), reads nothing for `looks` tenths of a second, then all that comes. */
export async function readSlowly(server: TestServer, request: string, looks: number): Promise<SlowRead> {
  const before = residentBytes(server.pid);
  const client = await RawClient.connect(server.port);
  client.socket.removeAllListeners("data");
  client.socket.pause();
  await client.send(request);
  let peak = 0, received = 0;
  const look = () => void (peak = Math.max(peak, residentBytes(server.pid)));
  // A server that does not wait for its reader holds it all by the end of this.
  for (; looks > 0; looks--) {
    await pause(100);
    look();
  }
  const ended = new Promise<void>((done) => client.socket.once("close", () => done()));
  client.socket.on("data", (bytes: Uint8Array) => {
    received += bytes.length;
    if (received % 7 === 0) look();
  });
  client.socket.resume();
  await within(60_000, "The download", ended);
  return { received, growth: peak - before };
}
