import type { CoreError } from "../../../core/error.ts";
import { coded } from "../fastcgi/errors.ts";
import type { Progress } from "../fastcgi/handler.ts";
import type { ResponseHead } from "../fastcgi/head.ts";
import type { ReplySink } from "../reply_sink.ts";

/** Who has set a guard. */
export interface GuardOwner {
  /** The sink threw, and was told that the request failed; the rest of the answer is for nobody. */
  onThrow(): void;
}

/**
 * Stands between a worker and the sink of one request. Once the request has ended, in whatever way, nothing passes any more:
 * what a worker says late reaches nobody.
 */
export class Guard implements ReplySink {
  #sink: ReplySink | undefined;
  readonly #owner: GuardOwner;
  /** Whether any part of the answer has come. */
  heard = false;

  constructor(sink: ReplySink, owner: GuardOwner) {
    this.#sink = sink;
    this.#owner = owner;
  }

  /** The sink has been told the end, or does not want to hear it. */
  get over(): boolean {
    return this.#sink === undefined;
  }

  /** Nobody wants to hear the rest. */
  cut(): void {
    this.#sink = undefined;
  }

  onHead(head: ResponseHead): void {
    this.heard = true;
    try {
      this.#sink?.onHead(head);
    } catch (error) {
      this.#threw(error);
    }
  }

  onBody(bytes: Uint8Array): void {
    this.heard = true;
    try {
      this.#sink?.onBody(bytes);
    } catch (error) {
      this.#threw(error);
    }
  }

  onInformational(head: ResponseHead): void {
    this.heard = true;
    try {
      this.#sink?.onInformational(head);
    } catch (error) {
      this.#threw(error);
    }
  }

  onStdout(bytes: Uint8Array): void {
    this.heard = true;
    try {
      this.#sink?.onStdout(bytes);
    } catch (error) {
      this.#threw(error);
    }
  }

  onStderr(bytes: Uint8Array): void {
    try {
      this.#sink?.onStderr(bytes);
    } catch (error) {
      this.#threw(error);
    }
  }

  onEnd(appStatus: number): void {
    this.heard = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.onEnd(appStatus);
  }

  onFail(error: CoreError, progress: Progress): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.onFail(error, progress);
  }

  #threw(error: unknown): void {
    this.onFail(coded(error), "touched");
    this.#owner.onThrow();
  }
}
