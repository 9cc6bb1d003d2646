/** A server over a store in this process, and clients that say what they like. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as answers from "../../../plugins/bulkhead/local/answers.ts";
import { type AcquireFrame, writeAcquire, writeHello } from "../../../plugins/bulkhead/local/asks.ts";
import { bare, longestFromServer, op } from "../../../plugins/bulkhead/local/frame.ts";
import { FrameReader } from "../../../plugins/bulkhead/local/frame_reader.ts";
import { LocalServer, type LocalServerOptions } from "../../../plugins/bulkhead/local/local_server.ts";
import { waitFor } from "../../support/wait.ts";
import { TinyStore } from "./tiny_store.ts";

export class Raw {
  readonly socket: Socket;
  /** What was answered, as `grant 1`, `deny 2 full`. */
  readonly heard: string[] = [];
  closed = false;

  constructor(path: string, hello: { scoped: boolean } | null) {
    const reader = new FrameReader(longestFromServer, (type, number, payload) => {
      if (type === op.grant) this.heard.push(`grant ${number}`);
      else if (type === op.deny) this.heard.push(`deny ${number} ${answers.readDeny(payload).reason}`);
      else if (type === op.lost) this.heard.push(`lost ${number}`);
      else if (type === op.released) this.heard.push(`released ${number} ${answers.readReleased(payload)}`);
      else if (type === op.counted) this.heard.push(`counted ${number} ${answers.readCounted(payload)?.active}`);
      else if (type === op.fault) this.heard.push(`fault ${number} ${answers.readFault(payload).code}`);
      else if (type !== op.welcome) this.heard.push(`? ${type}`);
    });
    this.socket = connect(path);
    this.socket.on("data", (chunk: Uint8Array) => reader.push(chunk));
    this.socket.on("error", () => {});
    this.socket.on("close", () => this.closed = true);
    if (hello !== null) this.socket.write(writeHello({ version: 1, ...hello }));
  }

  write(...frames: readonly Uint8Array[]): void {
    for (const bytes of frames) this.socket.write(bytes);
  }

  acquire(number: number, changes: Partial<AcquireFrame> = {}): void {
    this.write(writeAcquire(number, { ...asked, ...changes }));
  }

  release(number: number): void {
    this.write(bare(op.release, number));
  }

  async hears(word: string): Promise<void> {
    await waitFor(() => this.heard.includes(word), {
      what: `${word}; heard ${this.heard.join(", ")}`,
      every: 1,
      timeout: 4000,
    });
  }

  async ends(): Promise<void> {
    await waitFor(() => this.closed, { what: "the connection to close", every: 1, timeout: 4000 });
  }
}

export const asked: AcquireFrame = {
  weight: 1,
  limit: 1,
  leaseMs: 1000,
  maxWaitMs: 0,
  maxQueue: undefined,
  owner: 1,
  name: "b",
};

export class Served {
  readonly dir: string = mkdtempSync(join(tmpdir(), "fairlead-bulkhead-"));
  readonly path: string = join(this.dir, "b.sock");
  readonly store: TinyStore;
  readonly problems: string[] = [];
  readonly clients: Raw[] = [];
  server!: LocalServer;

  constructor(store: TinyStore) {
    this.store = store;
  }

  static async with<T>(
    use: (served: Served) => Promise<T>,
    options: Partial<LocalServerOptions> = {},
    store: TinyStore = new TinyStore(),
  ): Promise<T> {
    const served = new Served(store);
    try {
      served.server = await LocalServer.listen({
        path: served.path,
        store,
        onProblem: (error) => void served.problems.push(error.code),
        ...options,
      });
      return await use(served);
    } finally {
      for (const { socket } of served.clients) socket.destroy();
      served.server?.close();
      rmSync(served.dir, { recursive: true, force: true });
    }
  }

  client(hello: { scoped: boolean } | null = { scoped: false }): Raw {
    const raw = new Raw(this.path, hello);
    this.clients.push(raw);
    return raw;
  }

  async idle(): Promise<void> {
    await waitFor(() => this.store.idle, { what: "all permits to be back", every: 1, timeout: 4000 });
  }

  async queued(count: number): Promise<void> {
    await waitFor(() => this.store.counts("b")?.queued === count, {
      what: `${count} to wait`,
      every: 1,
      timeout: 4000,
    });
  }
}
