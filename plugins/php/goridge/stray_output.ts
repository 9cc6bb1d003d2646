import { Buffer } from "node:buffer";
import type { Clock } from "../fastcgi/clock.ts";
import { lineSplitter } from "../fpm_log.ts";
import type { WorkerEvents } from "../worker/handle.ts";
import { desync, printed } from "./stray.ts";

/** How long (ms) the rest of it is waited for, and the end of a process that says why it ends. */
const waitMs = 100;
/** Bytes of it that are kept. */
const kept = 4096;
const lineEnd = new Uint8Array([10]);

/** Collects what a worker printed in place of a frame, and tells it as lines and as the error it is. */
export class StrayOutput {
  readonly #events: WorkerEvents;
  readonly #untimed: () => void;
  #bytes: Uint8Array[] = [];
  #length = 0;
  #told = false;

  constructor(clock: Clock, events: WorkerEvents) {
    this.#events = events;
    this.#untimed = clock.after(waitMs, () => this.tell());
  }

  push(bytes: Uint8Array): void {
    if (this.#told) return;
    const part = bytes.subarray(0, kept - this.#length);
    this.#bytes.push(part);
    this.#length += part.byteLength;
    if (this.#length >= kept) this.tell();
  }

  /** Tells it now: there will be no more. */
  tell(): void {
    if (this.#told) return;
    this.#told = true;
    this.#untimed();
    const all = Buffer.concat(this.#bytes), line = lineSplitter((text) => this.#events.onLine(text));
    line(printed(all));
    line(lineEnd);
    this.#events.onBroken(desync(all));
  }
}
