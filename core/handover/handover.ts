import { readFileSync } from "node:fs";
import process from "node:process";
import { CoreError } from "../error.ts";
import type { HealthBoard } from "../health.ts";
import type { Log } from "../plugin.ts";
import { notifyManager } from "./notify.ts";
import { ownCommand } from "./own_command.ts";
import type { OwnPlaces } from "./places.ts";
import type { Predecessor } from "./predecessor.ts";
import { startSuccessor, type Successor } from "./successor.ts";

export interface HandoverParts {
  readonly places: OwnPlaces;
  readonly health: HealthBoard;
  readonly log: Log;
  /** The server that this one replaces. */
  readonly predecessor: Predecessor | undefined;
  /** {@linkcode startSuccessor} when absent. */
  readonly start?: typeof startSuccessor;
}

/**
 * How long (ms) a server that was replaced still listens: for those whose connection was being made in the moment of the change, and
 * those who have one that is idle and are about to use it.
 */
const lateComers = 5000;

/** Replaces a running server by one that is started anew, and leaves when that one serves. */
export class Handover {
  readonly #parts: HandoverParts;
  readonly #replaced = Promise.withResolvers<void>();
  /** Settles when no other server listens where this one does. */
  #alone: Promise<void>;
  #busy = false;
  #stopping = false;
  #starting: Successor | undefined;
  #passed: Successor | undefined;

  constructor(parts: HandoverParts) {
    this.#parts = parts;
    this.#alone = parts.predecessor?.left.then(() => parts.places.own()) ?? Promise.resolve();
  }

  /** Resolves when a successor serves: stop then. */
  get replaced(): Promise<void> {
    return this.#replaced.promise;
  }

  get passed(): boolean {
    return this.#passed !== undefined;
  }

  /**
   * Starts this program anew, and resolves with its pid when that one serves in place of this one. When it does not come to that,
   * nothing has happened.
   *
   * @throws CoreError `RESTART_PROCESS_ONE`, `RESTART_UNSUPPORTED`, `RESTART_BUSY`; `HANDOVER_FAILED` with what was wrong
   */
  async restart(): Promise<number> {
    const { log } = this.#parts;
    log("info", "restarting: starting a server to take over");
    try {
      const pid = await this.#restart();
      log("info", "another server has taken over", { pid });
      this.#replaced.resolve();
      return pid;
    } catch (error) {
      log("error", "the restart failed; this server goes on", { error });
      throw error;
    }
  }

  /** This server stops: a successor that does not serve yet is ended. */
  giveUp(): void {
    this.#stopping = true;
    this.#starting?.stop();
  }

  /** After a restart: listens for those who come late, then no more; resolves when nothing is under way, or patience ends. */
  async leave(inFlight: () => number, patience: AbortSignal): Promise<void> {
    await pause(lateComers, patience);
    await this.#parts.places.pass();
    this.#passed?.release();
    while (inFlight() > 0 && !patience.aborted) await pause(20, patience);
  }

  async #restart(): Promise<number> {
    if (this.#parts.predecessor === undefined && endsItsContainer()) {
      const text =
        "The container ends with this process, and a successor with it; start another container, then stop this one";
      throw new CoreError("RESTART_PROCESS_ONE", text);
    }
    if (this.#busy || this.passed) throw new CoreError("RESTART_BUSY", "A restart is under way");
    // A successor would race it for the addresses that it does not have yet.
    if (this.#parts.health.hold === "starting") throw new CoreError("RESTART_BUSY", "This server is starting");
    this.#busy = true;
    const microseconds = process.hrtime.bigint() / 1000n;
    notifyManager(`RELOADING=1\nMONOTONIC_USEC=${microseconds}`);
    try {
      await this.#alone;
      if (this.#stopping) throw new CoreError("RESTART_BUSY", "This server is stopping");
      return await this.#start();
    } catch (error) {
      notifyManager("READY=1");
      throw error;
    } finally {
      this.#busy = false;
    }
  }

  async #start(): Promise<number> {
    const { places, health, start = startSuccessor } = this.#parts;
    const { parts } = health.look();
    const unready = Object.keys(parts).filter((part) => parts[part] !== "ready");
    try {
      const held = places.share();
      if (held === undefined) {
        const text = "A restart needs Linux and calls of its C library (on Deno -A); stop the server and start it anew";
        throw new CoreError("RESTART_UNSUPPORTED", text);
      }
      const successor = this.#starting = await start(ownCommand(), { ...held, unready });
      if (this.#stopping) successor.stop();
      // Even one that has failed may listen until it has ended.
      this.#alone = successor.ended;
      const pid = await successor.serving;
      places.give();
      this.#passed = successor;
      notifyManager(`MAINPID=${pid}\nREADY=1`);
      return pid;
    } catch (error) {
      places.keep();
      this.#starting?.release();
      throw error;
    } finally {
      this.#starting = undefined;
    }
  }
}

/** Whether this is process 1, or the one that an init as `tini` was started for, and ends with. */
function endsItsContainer(): boolean {
  if (process.pid === 1) return true;
  if (process.ppid !== 1) return false;
  try {
    return !/^(?:systemd|init)$/.test(readFileSync("/proc/1/comm", "utf8").trim());
  } catch {
    return false;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
