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
  readonly #giveBack: () => void;
  readonly #listeners: Set<() => void> = new Set();
  #released = false;
  lost = false;

  /** @param giveBack tells the server; called once, and not when the permits were lost before */
  constructor(name: string, weight: number, { fence, waitedMs, position }: GrantFrame, giveBack: () => void) {
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
    const own = () => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  release(): boolean {
    if (this.lost) return false;
    if (!this.#released) {
      this.#released = true;
      this.#listeners.clear();
      this.#giveBack();
    }
    return true;
  }

  /** The server says that they are somebody else's, or cannot be asked any more. */
  lose(): void {
    if (this.#released || this.lost) return;
    this.lost = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }
}
