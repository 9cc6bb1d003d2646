import process from "node:process";
import type { Places } from "../../../core/contracts/places.ts";
import type { CoreError } from "../../../core/error.ts";
import type { BulkheadStore } from "../store.ts";
import { broken } from "./frame.ts";
import { writeFault } from "./answers.ts";
import { listen, type Listening, type Peer, type PeerHandler } from "./listen.ts";
import type { KnownExecutions, OwnerOf } from "./peer_process.ts";
import { Session } from "./session.ts";
import type { SessionHost } from "./session_host.ts";

export interface LocalServerOptions {
  /** Of the socket. */
  readonly path: string;
  /** What keeps the permits: this server's memory, or Redis behind it. */
  readonly store: BulkheadStore;
  /** With it, what a PHP process holds comes back when its request ends, although its connection stays. */
  readonly executions?: KnownExecutions | undefined;
  /** Who owns what an execution asks for, where that is not the execution itself. */
  readonly ownerOf?: OwnerOf | undefined;
  /** Of the socket; 0o660 when absent. */
  readonly mode?: number;
  /** Who may use the socket besides the server's own user; `www-data` when absent and the server is root. */
  readonly group?: string | undefined;
  /** Where the name is taken; when absent it must be free. */
  readonly places?: Places | undefined;
  /** Most connections; 4096 when absent. */
  readonly maxConnections?: number;
  /** Most asks of one connection that wait or hold permits; 1024 when absent. */
  readonly maxOpen?: number;
  /** How long (ms) a peer may take to greet; 5 s when absent. */
  readonly helloMs?: number;
  /** How often (ms) it is looked whether processes that hold or wait still live; 1 s when absent. */
  readonly lookMs?: number;
  /** A peer broke the protocol, or the store failed it. Must not throw. */
  onProblem?(error: CoreError, pid: number | undefined): void;
}

/**
 * Lets processes of this machine use a store of bulkheads over a unix socket (PROTOCOL.md). A permit is its holder's for as long as
 * its connection is open, and its request runs: it comes back within milliseconds however either ends, also by SIGKILL.
 *
 * @example
 * ```ts
 * const server = await LocalServer.listen({ path: "/run/fairlead/bulkhead.sock", store: new MemoryStore() });
 * process.env.FAIRLEAD_BULKHEAD_SOCKET = server.path;
 * ```
 */
export class LocalServer {
  readonly path: string;
  readonly #sessions = new Set<Session>();
  readonly #maxConnections: number;
  readonly #host: SessionHost;
  readonly #lookMs: number;
  #listening: Listening | undefined;
  #looking: ReturnType<typeof setInterval> | undefined;

  private constructor(options: LocalServerOptions) {
    this.path = options.path;
    this.#maxConnections = options.maxConnections ?? 4096;
    this.#lookMs = options.lookMs ?? 1000;
    this.#host = {
      store: options.store,
      executions: options.executions,
      ownerOf: options.ownerOf,
      helloMs: options.helloMs ?? 5000,
      maxOpen: options.maxOpen ?? 1024,
      maxUnread: 1_048_576,
      onProblem: (error, pid) => options.onProblem?.(error, pid),
      onClosed: (session) => void this.#sessions.delete(session),
    };
  }

  /**
   * Begins to listen. A socket of that name that nobody serves is replaced.
   *
   * @throws CoreError `ADDRESS_TAKEN`, `ADDRESS_DENIED`, `ADDRESS_FAILED`, `BULKHEAD_SOCKET_GROUP`
   */
  static async listen(options: LocalServerOptions): Promise<LocalServer> {
    const server = new LocalServer(options);
    const { path, mode = 0o660, group, places } = options;
    const listening = server.#listening = await listen({ path, mode, group, places }, (peer) => server.#opened(peer));
    places?.onPassed(() => listening.close());
    server.#looking = setInterval(() => server.#look(), server.#lookMs);
    server.#looking.unref();
    return server;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** Asks that wait or hold permits, of all connections. */
  get open(): number {
    let open = 0;
    for (const session of this.#sessions) open += session.open;
    return open;
  }

  /** Stops listening and closes all connections: what they hold goes back. The store is left to whoever owns it. */
  close(): void {
    this.#listening?.close();
    clearInterval(this.#looking);
    for (const session of [...this.#sessions]) session.destroy();
  }

  /** A connection tells the end of its process at once, unless another process has it too. */
  #look(): void {
    for (const session of [...this.#sessions]) if (session.open > 0) session.look(isAlive);
  }

  #opened(peer: Peer): PeerHandler {
    if (this.#sessions.size >= this.#maxConnections) {
      const error = broken(`Expected at most ${this.#maxConnections} connections`);
      this.#host.onProblem(error, undefined);
      peer.write(writeFault(0, error));
      peer.end();
      return { onData: () => {}, onClose: () => {} };
    }
    const session = new Session(this.#host, peer);
    this.#sessions.add(session);
    return session;
  }
}

/** Also when it is none of ours. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: string }).code !== "ESRCH";
  }
}
