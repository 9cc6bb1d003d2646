import { join, resolve } from "node:path";
import type { Executions } from "../../../core/contracts/executions.ts";
import type { Places } from "../../../core/contracts/places.ts";
import type { ScriptSettings } from "../../../core/contracts/script_settings.ts";
import type { Log } from "../../../core/plugin.ts";
import { makePrivateFolder, type PrivateFolder, removeStaleFolders } from "../../../core/private_folder.ts";
import type { BulkheadStore } from "../store.ts";
import { LocalServer } from "./local_server.ts";
import type { OwnerOf } from "./peer_process.ts";

/** Folders of sockets that only the server's own scripts are told of. */
const prefix = "fairlead-bulkhead", socket = "bulkhead.sock";

export interface DoorOptions {
  readonly store: BulkheadStore;
  /** Of the socket, from `baseDir` on; one in a private folder when absent, which only the server's own scripts are told of. */
  readonly path: string | undefined;
  readonly group: string | undefined;
  readonly baseDir: string;
  readonly executions: Executions | undefined;
  readonly ownerOf: OwnerOf;
  readonly scripts: ScriptSettings | undefined;
  readonly places: Places | undefined;
  readonly log: Log;
  /** Where private folders are made; the system's folder for temporary files when absent. */
  readonly tempDir?: string | undefined;
}

/** The bulkheads' socket, as the server opens it and tells its scripts of it. */
export class Door {
  readonly #options: DoorOptions;
  #server: LocalServer | undefined;
  #folder: PrivateFolder | undefined;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /**
   * Listens, and tells scripts where (`FAIRLEAD_BULKHEAD_SOCKET`); before those start. Folders of servers that were killed go.
   *
   * @throws CoreError `BULKHEAD_FOLDER`, and as {@linkcode LocalServer.listen}
   */
  async open(): Promise<void> {
    const { store, group, baseDir, executions, ownerOf, scripts, places, log } = this.#options;
    const path = this.#options.path === undefined ? await this.#private() : resolve(baseDir, this.#options.path);
    const onProblem = (error: Error, pid: number | undefined) =>
      log("warn", `A client of the bulkheads' socket was cut off or failed: ${error.message}`, { pid });
    try {
      this.#server = await LocalServer.listen({ path, store, group, executions, ownerOf, places, onProblem });
    } catch (error) {
      this.close();
      throw error;
    }
    scripts?.add("bulkhead", { env: { FAIRLEAD_BULKHEAD_SOCKET: path } });
  }

  /** Closes all connections: their permits go back. */
  close(): void {
    this.#server?.close();
    this.#folder?.remove();
  }

  async #private(): Promise<string> {
    const parent = this.#options.tempDir;
    await removeStaleFolders({ prefix, socket, parent });
    // Scripts of a server that is root run as somebody else.
    this.#folder = makePrivateFolder({ prefix, longest: socket, mode: 0o711, code: "BULKHEAD_FOLDER", parent });
    return join(this.#folder.path, socket);
  }
}
