import type { Dial, Wire } from "../../../plugins/bulkhead/redis/dial.ts";

/** A command that was sent, to be answered by hand. */
export interface Sent {
  /** The operation and its arguments, without the host: `acquire h.0 1 ...` is `["acquire", "h.0", "1", ...]`. */
  readonly words: readonly string[];
  answer(reply: unknown): void;
  fail(message: string): void;
}

/** A connection to a Redis that is played by the test. Scripts load at once unless `mute`. */
export class FakeWire {
  readonly sent: Sent[] = [];
  /** Connections made so far. */
  dials = 0;
  /** It takes connections and never answers. */
  mute = false;
  message: (text: string) => void = () => {};
  #end: (cause: unknown) => void = () => {};
  #reject = new Set<() => void>();

  readonly dial: Dial = (_channel, onMessage, onEnd) => {
    this.dials++;
    this.message = onMessage;
    this.#end = onEnd;
    const wire: Wire = {
      send: (args) => {
        if (args[0] === "SCRIPT") return this.mute ? new Promise(() => {}) : Promise.resolve("sha");
        return new Promise((resolve, reject) => {
          const [op = "", , ...rest] = args.slice(3 + Number(args[2]));
          this.#reject.add(() => reject(new Error("gone")));
          this.sent.push({ words: [op, ...rest], answer: resolve, fail: (text) => reject(new Error(text)) });
        });
      },
      destroy: () => {
        for (const end of this.#reject) end();
        this.#reject.clear();
      },
    };
    return Promise.resolve(wire);
  };

  /** Ends the connection. */
  drop(): void {
    this.#end(new Error("gone"));
  }

  /** Those of one operation that were sent, oldest first. */
  of(op: string): readonly Sent[] {
    return this.sent.filter(({ words }) => words[0] === op);
  }
}
