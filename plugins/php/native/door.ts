/**
 * Where PHP processes connect: one unix socket, which only the user they run as may use, and which hands each connection to
 * whoever awaits its token.
 *
 * @module
 */
import { chmodSync, chownSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { CoreError } from "../../../core/error.ts";
import { type Clock, systemClock } from "../fastcgi/clock.ts";
import type { Arrival } from "./arrival.ts";
import { type FolderKind, makePrivateFolder } from "../private_folder.ts";
import { Hall } from "./hall.ts";
import { requestEncoder } from "./request.ts";
import { listenForStreams, type StreamListener } from "./stream_listen.ts";

export interface DoorOptions {
  /** `name/version`, for SERVER_SOFTWARE. */
  readonly software: string;
  /** Who may connect, when we are root; else only processes of our own user can. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The folder to make the private folder in. */
  readonly tempDir?: string | undefined;
  /** How long (ms) a connection may wait with its hello; 5000 when absent. */
  readonly helloMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

export interface Door {
  /** Path of the socket: `FAIRLEAD_SOCKET`. */
  readonly path: string;
  /**
   * Awaits the hello of one process. The connection is closed when `onHello` does not take it.
   *
   * @param onRefuse told instead, once, when the process with this token speaks otherwise than it should
   * @returns ends the waiting: a hello with this token is refused from now on
   */
  expect(token: string, onHello: (arrival: Arrival) => void, onRefuse?: (error: CoreError) => void): () => void;
  /** Removes the socket. Connections that were taken go on. */
  close(): void;
}

/** Folders of workers. */
export const workerFolders: FolderKind = { prefix: "fairlead-workers", socket: "w.sock", longest: "w.sock" };

/** Opens a door. @throws CoreError `PHP_START` */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { user, clock = systemClock, helloMs = 5000 } = options;
  const asRoot = process.getuid?.() === 0 && user !== undefined;
  const folder = makePrivateFolder(workerFolders, asRoot, options.tempDir);
  const path = join(folder.path, workerFolders.socket);
  const hall = new Hall(requestEncoder(options.software), clock, helloMs);
  let server: StreamListener | undefined;
  try {
    server = await listenForStreams(path, (socket) => hall.enter(socket));
    // Connecting needs the right to write.
    chmodSync(path, 0o600);
    if (asRoot) chownSync(path, user.uid, user.gid);
  } catch (cause) {
    server?.close();
    folder.remove();
    throw new CoreError("PHP_START", `Cannot listen for PHP workers on ${path}: ${String(cause)}`, { cause });
  }
  const listener = server;
  return {
    path,
    expect: (token, onHello, onRefuse) => hall.expect(token, { onHello, onRefuse }),
    close() {
      listener.close();
      hall.close();
      folder.remove();
    },
  };
}
