import { connect, type Socket } from "node:net";
import process from "node:process";
import { CoreError } from "../error.ts";
import type { HealthBoard } from "../health.ts";
import { hear, say, type Welcome, type Word } from "./channel.ts";
import { untilReady } from "./until_ready.ts";

/** The environment variable that tells a successor where its predecessor waits for it. */
export const variable = "FAIRLEAD_HANDOVER";

/** The server that this one is to replace, as this one sees it. */
export class Predecessor {
  readonly held: Welcome;
  /** Resolves when it listens no more, or is gone. */
  readonly left: Promise<void>;
  readonly #socket: Socket;
  #told = false;

  private constructor(socket: Socket, held: Welcome) {
    this.#socket = socket;
    this.held = held;
    socket.on("error", () => {});
    this.left = new Promise((resolve) => socket.once("close", () => resolve()));
  }

  /**
   * Meets the server that has started this process to replace it; undefined when there is none. What it said by the environment is
   * taken out of that.
   *
   * @throws CoreError `HANDOVER_LOST`
   */
  static async meet(env: Record<string, string | undefined> = process.env): Promise<Predecessor | undefined> {
    const path = env[variable];
    delete env[variable];
    if (path === undefined) return undefined;
    return await new Promise((resolve, reject) => {
      const socket = connect(path);
      const lost = () => reject(new CoreError("HANDOVER_LOST", "The server that this one was to replace is gone"));
      socket.once("error", lost);
      socket.once("close", lost);
      hear<Welcome>(socket, (welcome) => resolve(new Predecessor(socket, welcome)));
    });
  }

  /** Resolves when all parts are ready, but for those that are not in the server before either. @throws CoreError `HANDOVER_NOT_READY` */
  async whenReady(health: HealthBoard, stop?: AbortSignal): Promise<void> {
    await untilReady(() => health.look().parts, this.held.unready, { stop });
  }

  /** This server serves: the other one may leave. */
  serving(): void {
    this.#tell({ serving: process.pid });
  }

  /** This server will not serve; resolves when the other one has taken back what it shared. The first word counts. */
  async failed(error: unknown): Promise<void> {
    if (this.#told) return;
    const text = error instanceof CoreError ? `${error.message} [${error.code}]` : String(error);
    this.#tell({ failed: text });
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([this.left, new Promise<void>((resolve) => timer = setTimeout(resolve, 1000))]);
    clearTimeout(timer);
  }

  #tell(word: Word): void {
    if (this.#told) return;
    this.#told = true;
    say(this.#socket, word);
  }
}
