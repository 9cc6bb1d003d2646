import { linkSync, lstatSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Places, Stoppable, Taken } from "../contracts/places.ts";
import { CoreError } from "../error.ts";
import type { Address } from "../http/address.ts";
import { clearSocket } from "../http/clear_socket.ts";
import { portTaken } from "../http/port_taken.ts";
import type { Awaitable } from "../plugin.ts";
import { type ListeningSockets, listeningSockets } from "./listening_sockets.ts";

/** What a server listens on that another is to replace. */
export interface Held {
  readonly ports: readonly number[];
  readonly paths: readonly string[];
}

/** On a shared address the socket of the server that was there, and the one of its successor. */
const former = 0, latter = 1;

/**
 * The core's own {@linkcode Places}. On a TCP address two servers share SO_REUSEPORT while one follows the other, and only then; all
 * connections go to the newer one from the moment in which it listens. A unix socket is bound under another name, and then renamed
 * over the one that is served.
 */
export class OwnPlaces implements Places {
  readonly #held: Held;
  readonly #sockets: () => ListeningSockets | undefined;
  readonly #stops: (() => Awaitable<void>)[] = [];
  /** Unix sockets, by name. */
  readonly #paths = new Map<string, Inode>();
  /** Second names of them, while a successor may take the first: by those they can be had back. */
  readonly #spares = new Map<string, string>();

  /** @param held what may be taken although it is served */
  constructor(held: Held = { ports: [], paths: [] }, sockets: () => ListeningSockets | undefined = listeningSockets) {
    this.#held = held;
    this.#sockets = sockets;
  }

  async take<T extends Stoppable>(
    at: Address,
    open: (at: Address, shared: boolean) => Awaitable<T>,
    dress: (path: string) => void = () => {},
  ): Promise<Taken<T>> {
    try {
      return at.kind === "tcp" ? await this.#takePort(at, open) : await this.#takePath(at.path, open, dress);
    } catch (cause) {
      throw cause instanceof CoreError ? cause : portTaken(at, cause);
    }
  }

  onPassed(stop: () => Awaitable<void>): void {
    this.#stops.push(stop);
  }

  /** Calls all that {@linkcode Places.onPassed} was told. */
  async pass(): Promise<void> {
    await Promise.allSettled(this.#stops.map(async (stop) => await stop()));
  }

  /** Lets a successor listen here. Undefined where that cannot be. */
  share(): Held | undefined {
    const sockets = this.#sockets();
    if (sockets === undefined) return undefined;
    sockets.keepToOurselves();
    const list = sockets.list();
    for (const { fd } of list) sockets.share(fd, true);
    for (const [path, inode] of this.#paths) {
      if (!isAt(path, inode)) continue;
      const spare = besides(path);
      linkSync(path, spare);
      this.#spares.set(path, spare);
    }
    // A name that is somebody else's by now is not for a successor to take.
    return { ports: list.map(({ port }) => port), paths: [...this.#spares.keys()] };
  }

  /** There is no successor after all: whatever it has taken is ours again. */
  keep(): void {
    const sockets = this.#sockets();
    for (const { fd } of sockets?.list() ?? []) if (!sockets!.steer(fd, former)) sockets!.share(fd, false);
    for (const [path, spare] of this.#spares) {
      renameSync(spare, path);
      // It is still there where both were names of the same.
      rmSync(spare, { force: true });
    }
    this.#spares.clear();
  }

  /** The successor has taken all. */
  give(): void {
    for (const spare of this.#spares.values()) rmSync(spare, { force: true });
    this.#spares.clear();
  }

  /** The server before this one has left: nobody shall get a share of what comes here before he has replaced this one, too. */
  own(): void {
    const sockets = this.#sockets();
    for (const { fd, port } of sockets?.list() ?? []) if (this.#held.ports.includes(port)) sockets!.steer(fd, former);
  }

  async #takePort<T extends Stoppable>(
    at: Extract<Address, { kind: "tcp" }>,
    open: (at: Address, shared: boolean) => Awaitable<T>,
  ): Promise<Taken<T>> {
    const shared = this.#held.ports.includes(at.port);
    const bound = await open(at, shared);
    const sockets = shared ? this.#sockets() : undefined;
    for (const { fd, port } of sockets?.list() ?? []) if (port === at.port) sockets!.steer(fd, latter);
    return { bound, leave: () => {} };
  }

  async #takePath<T extends Stoppable>(
    path: string,
    open: (at: Address, shared: boolean) => Awaitable<T>,
    dress: (path: string) => void,
  ): Promise<Taken<T>> {
    const held = this.#held.paths.includes(path);
    if (!held) await clearSocket(path);
    const first = besides(path);
    const bound = await open({ kind: "unix", path: first }, false);
    try {
      dress(first);
      if (!held) linkOrRename(first, path);
      else renameSync(first, path);
    } catch (error) {
      rmSync(first, { force: true });
      await bound.stop(true);
      throw error;
    }
    const inode = inodeOf(path);
    this.#paths.set(path, inode);
    return {
      bound,
      leave: () => {
        if (isAt(path, inode)) rmSync(path, { force: true });
        this.#paths.delete(path);
      },
    };
  }
}

interface Inode {
  readonly dev: number;
  readonly ino: number;
}

function inodeOf(path: string): Inode {
  const { dev, ino } = lstatSync(path);
  return { dev, ino };
}

function isAt(path: string, { dev, ino }: Inode): boolean {
  const now = lstatSync(path, { throwIfNoEntry: false });
  return now?.ino === ino && now.dev === dev;
}

/** Another name in the same folder, short: that of a socket has no room for more. */
function besides(path: string): string {
  return join(dirname(path), `.${crypto.randomUUID().slice(0, 5)}`);
}

/** A name that somebody has taken meanwhile stays his. */
function linkOrRename(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (cause) {
    if ((cause as { code?: string }).code === "EEXIST") throw Object.assign(cause as Error, { code: "EADDRINUSE" });
    // A file system without second names.
    return renameSync(from, to);
  }
  rmSync(from);
}
