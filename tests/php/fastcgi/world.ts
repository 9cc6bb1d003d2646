/** A php-fpm made of fakes: the test decides who connects, who answers and who dies. */
import type { RestartReason } from "../../../plugins/php/fastcgi/child.ts";
import { greeting } from "../../../plugins/php/fastcgi/greet.ts";
import { ChildPool, type PoolOptions } from "../../../plugins/php/fastcgi/pool.ts";
import type { FcgiSocket } from "../../../plugins/php/fastcgi/socket.ts";
import { FakeSocket, settle, VirtualClock } from "./support.ts";

interface Attempt {
  readonly accept: () => void;
  readonly refuse: (error: Error) => void;
}

export class World {
  readonly clock: VirtualClock = new VirtualClock();
  /** Connects that have neither succeeded nor failed. */
  readonly attempts: Set<Attempt> = new Set();
  /** Open sockets, and the pid of the child behind each; 0 until it was greeted. */
  readonly sockets: Map<FakeSocket, number> = new Map();
  readonly killed: { readonly pid: number; readonly reason: RestartReason }[] = [];
  readonly pool: ChildPool;
  /** The most connections there were beyond the pool's size at the moment of a connect. */
  excess = 0;
  connects = 0;
  /** Whether every killed child still had its connection. */
  killedFirst = true;
  #pid = 100;

  constructor(options: Partial<PoolOptions> & { readonly size: number }) {
    this.pool = new ChildPool({
      connect: (signal) => this.#connect(signal),
      greet: greeting([]),
      killChild: (pid, reason) => {
        this.killed.push({ pid, reason });
        if (![...this.sockets.values()].includes(pid)) this.killedFirst = false;
      },
      clock: this.clock,
      random: () => 0,
      ...options,
    });
  }

  /** Connections open or on their way. */
  get open(): number {
    return this.attempts.size + this.sockets.size;
  }
  /** Sockets whose greeting waits for an answer. */
  get ungreeted(): FakeSocket[] {
    return [...this.sockets].filter(([, pid]) => pid === 0).map(([socket]) => socket);
  }
  /** Sockets of children. */
  get children(): FakeSocket[] {
    return [...this.sockets].filter(([, pid]) => pid > 0).map(([socket]) => socket);
  }
  socketOf(pid: number): FakeSocket {
    return [...this.sockets].find(([, of]) => of === pid)![0];
  }

  greet(socket: FakeSocket): number {
    const pid = ++this.#pid;
    this.sockets.set(socket, pid);
    socket.answer(`Content-type: text/html\r\n\r\n${pid}`);
    return pid;
  }

  /** Connects and greets whoever is on the way, until all are there. */
  async bringUp(): Promise<void> {
    await settle();
    while (this.attempts.size + this.ungreeted.length > 0 || this.clock.pending > 0) {
      for (const attempt of this.attempts) attempt.accept();
      await settle();
      for (const socket of this.ungreeted) this.greet(socket);
      await settle();
      if (this.attempts.size + this.ungreeted.length === 0 && this.clock.next !== undefined) {
        this.clock.advance(this.clock.next);
      }
    }
  }

  #connect(signal: AbortSignal): Promise<FcgiSocket> {
    this.connects++;
    return new Promise((resolve, reject) => {
      const attempt: Attempt = {
        accept: () => {
          this.attempts.delete(attempt);
          const socket = new FakeSocket();
          socket.onDestroy = () => void this.sockets.delete(socket);
          this.sockets.set(socket, 0);
          resolve(socket);
        },
        refuse: (error) => {
          this.attempts.delete(attempt);
          reject(error);
        },
      };
      this.attempts.add(attempt);
      signal.addEventListener("abort", () => attempt.refuse(new Error("aborted")));
      this.excess = Math.max(this.excess, this.open - this.pool.size);
    });
  }
}

export async function worldOf(options: Partial<PoolOptions> & { readonly size: number }): Promise<World> {
  const world = new World(options);
  world.pool.start();
  await world.bringUp();
  return world;
}
