import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import type { Executions } from "../../../core/contracts/executions.ts";
import type { Places } from "../../../core/contracts/places.ts";
import type { ScriptSettings } from "../../../core/contracts/script_settings.ts";
import type { Log } from "../../../core/plugin.ts";
import type { BulkheadStore } from "../store.ts";
import { LocalServer } from "./local_server.ts";
import type { OwnerOf } from "./peer_process.ts";

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
}

/** The bulkheads' socket, as the server opens it and tells its scripts of it. */
export class Door {
  readonly #options: DoorOptions;
  #server: LocalServer | undefined;
  #folder: string | undefined;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /**
   * Listens, and tells scripts where (`FAIRLEAD_BULKHEAD_SOCKET`); before those start.
   *
   * @throws CoreError as {@linkcode LocalServer.listen}
   */
  async open(): Promise<void> {
    const { store, group, baseDir, executions, ownerOf, scripts, places, log } = this.#options;
    const path = this.#options.path === undefined ? this.#private() : resolve(baseDir, this.#options.path);
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
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #private(): string {
    const folder = this.#folder = mkdtempSync(join(tmpdir(), `fairlead-bulkhead-${process.pid}-`));
    // Scripts of a server that is root run as somebody else.
    chmodSync(folder, 0o711);
    return join(folder, "bulkhead.sock");
  }
}
