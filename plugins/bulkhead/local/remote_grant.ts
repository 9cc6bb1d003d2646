import type { Awaitable } from "../../../core/plugin.ts";
import { LossListeners } from "../loss_listeners.ts";
import type { BulkheadGrant } from "../store.ts";
import type { GrantFrame } from "./answers.ts";

/** Permits that the server keeps for us. */
export class RemoteGrant implements BulkheadGrant {
  readonly granted = true;
  readonly name: string;
  readonly weight: number;
  readonly waitedMs: number;
  readonly position: number;
  readonly fence: number;
  readonly #giveBack: () => Promise<boolean>;
  readonly #listeners: LossListeners = new LossListeners();
  #released: Promise<boolean> | undefined;
  lost = false;

  /** @param giveBack tells the server, and whether it was in time; called once, and not when the permits were lost before */
  constructor(
    name: string,
    weight: number,
    { fence, waitedMs, position }: GrantFrame,
    giveBack: () => Promise<boolean>,
  ) {
    this.name = name;
    this.weight = weight;
    this.fence = fence;
    this.waitedMs = waitedMs;
    this.position = position;
    this.#giveBack = giveBack;
  }

  onLost(listener: () => void): () => void {
    if (this.lost) {
      listener();
      return () => {};
    }
    return this.#listeners.add(listener);
  }

  /** The permits are on their way back when it returns, and back when it resolves. */
  release(): Awaitable<boolean> {
    if (this.lost) return false;
    if (this.#released === undefined) {
      this.#listeners.clear();
      this.#released = this.#giveBack();
    }
    return this.#released;
  }

  /** The server says that they are somebody else's, or cannot be asked any more. `onError`: for what listeners throw. */
  lose(onError: (error: unknown) => void): void {
    if (this.#released !== undefined || this.lost) return;
    this.lost = true;
    this.#listeners.tell(onError);
  }
}
