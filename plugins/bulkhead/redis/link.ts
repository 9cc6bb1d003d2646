import type { Clock } from "../../../core/clock.ts";
import type { Dial, Wire } from "./dial.ts";

/** A command found no connection, or lost it before its answer came: it may have been carried out or not. */
export class LinkDown extends Error {
  override readonly name = "LinkDown";
  constructor(cause: unknown) {
    super("Not connected to Redis", { cause });
  }
}

export interface LinkOptions<Script extends string> {
  readonly dial: Dial;
  readonly channel: string;
  /** The scripts' texts. */
  readonly scripts: Readonly<Record<Script, string>>;
  readonly clock: Clock;
  /** Ms without an answer after which the connection is given up. */
  readonly commandTimeout: number;
  /** A number from 0 to below 1, to spread hosts that dial again. */
  readonly random: () => number;
  /** Connected, the first time or again. What is sent within this call goes before everything else. */
  readonly onUp: () => void;
  readonly onDown: (cause: unknown) => void;
  /** An attempt to connect has failed; there will be others. */
  readonly onRefused: (cause: unknown) => void;
  readonly onMessage: (text: string) => void;
}

interface Call {
  readonly seq: number;
  readonly script: string;
  readonly rest: readonly string[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** No answer is called late before it has taken so long, in ms: a server forks, a client collects its garbage. */
const leastPatience = 50;

/** As long as that (ms), or twice a quick answer's time, is waited for one that changes nothing any more. */
const leastHaste = 5;

/** What a server says that cannot serve now; another, or the same a little later, can. */
const unfit = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|NOAUTH|WRONGPASS|NOPERM|NOREPLICAS|MOVED|UNBLOCKED)/;

/** The way to Redis: scripts are run in the order asked, also when Redis has forgotten them, and it dials again for ever. */
export class RedisLink<Script extends string> {
  readonly #options: LinkOptions<Script>;
  readonly #shas = new Map<string, string>();
  #wire: Wire | undefined;
  #cause: unknown = new Error("No connection has been made yet");
  #closed = false;
  #first = true;
  #attempts = 0;
  #redial: (() => void) | undefined;
  #seq = 0;
  #inFlight = 0;
  #heardAt = 0;
  /** How quick answers have been, in ms. */
  #quick = 0;
  #watch: (() => void) | undefined;
  /** Calls that met a server without the scripts, and those that came after: sent again in order when all are back. */
  #parked: Call[] | undefined;
  /** Commands sent so far. */
  commands = 0;

  constructor(options: LinkOptions<Script>) {
    this.#options = options;
  }

  get up(): boolean {
    return this.#wire !== undefined;
  }

  /** Why it is not up; or, where it seems to be, that no answer comes. */
  get cause(): unknown {
    if (this.#wire === undefined) return this.#cause;
    const silent = Math.round(this.#options.clock.now() - this.#heardAt);
    return new Error(`No answer from Redis for ${silent} ms`);
  }

  /** Whether the first attempt to connect has not ended yet. */
  get first(): boolean {
    return this.#first;
  }

  /**
   * How long (ms) an answer may take before a caller whose time is over waits for it no more: three times what the quick ones took
   * lately. It falls with one quick answer and rises slowly, so a server that stood still does not raise it.
   */
  get patience(): number {
    return Math.min(Math.max(3 * this.#quick, leastPatience), this.#options.commandTimeout);
  }

  /** How long (ms) is waited for the answer to what is done anyway: giving back. */
  get haste(): number {
    return Math.min(Math.max(2 * this.#quick, leastHaste), this.patience);
  }

  /** Dials; resolves when the first attempt has ended, well or not. */
  async start(): Promise<void> {
    const { dial, channel, scripts } = this.#options;
    let wire: Wire | undefined;
    try {
      // A connection can end before it is handed over.
      let over: { readonly cause: unknown } | undefined;
      wire = await dial(
        channel,
        (text) => this.#options.onMessage(text),
        (cause) => {
          over = { cause };
          if (wire !== undefined) this.#drop(wire, cause);
        },
      );
      for (const [name, text] of Object.entries<string>(scripts)) {
        this.#shas.set(name, String(await this.#inTime(wire.send(["SCRIPT", "LOAD", text]))));
      }
      if (over !== undefined) throw over.cause;
      if (this.#closed) return wire.destroy();
    } catch (error) {
      wire?.destroy();
      this.#cause = error;
      this.#first = false;
      if (!this.#closed) this.#options.onRefused(error);
      return this.#again();
    }
    this.#wire = wire;
    this.#first = false;
    this.#attempts = 0;
    this.#inFlight = 0;
    this.#options.onUp();
  }

  /**
   * Runs a script.
   *
   * @throws LinkDown
   */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const rest = [String(keys.length), ...keys, ...args];
      const call = { seq: this.#seq++, script, rest, resolve, reject };
      if (this.#wire === undefined) reject(new LinkDown(this.#cause));
      else if (this.#parked !== undefined) this.#parked.push(call);
      else this.#send(this.#wire, call);
    });
  }

  close(): void {
    this.#closed = true;
    this.#redial?.();
    if (this.#wire !== undefined) this.#drop(this.#wire, new Error("Closed"));
  }

  /** What is awaited before the connection is watched. */
  async #inTime<T>(answer: Promise<T>): Promise<T> {
    const { clock, commandTimeout } = this.#options;
    const sent = clock.now();
    let off!: () => void;
    const late = new Promise<never>((_, reject) => {
      off = clock.setTimer(commandTimeout, () => reject(new Error(`No answer from Redis for ${commandTimeout} ms`)));
    });
    try {
      const reply = await Promise.race([answer, late]);
      this.#took(clock.now() - sent);
      return reply;
    } finally {
      off();
    }
  }

  #took(ms: number): void {
    this.#quick = this.#quick === 0 ? ms : Math.min(ms, this.#quick * 1.05 + 0.01);
  }

  #send(wire: Wire, call: Call): void {
    this.commands++;
    const sent = this.#options.clock.now();
    if (this.#inFlight++ === 0) this.#heardAt = sent;
    this.#watch ??= this.#options.clock.setTimer(this.#options.commandTimeout, () => this.#look());
    wire.send(["EVALSHA", this.#shas.get(call.script)!, ...call.rest]).then(
      (reply) => {
        this.#took(this.#options.clock.now() - sent);
        this.#answered(wire);
        call.resolve(reply);
      },
      (error) => this.#failed(wire, call, error),
    );
  }

  #failed(wire: Wire, call: Call, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (wire !== this.#wire) return call.reject(new LinkDown(this.#cause));
    if (message.startsWith("NOSCRIPT")) {
      (this.#parked ??= []).push(call);
      return this.#answered(wire);
    }
    // An answer of the server's ends in a word of capitals; anything else is the connection's end.
    if (unfit.test(message) || !/^[A-Z]+ /.test(message)) {
      this.#drop(wire, error);
      return call.reject(new LinkDown(error));
    }
    this.#answered(wire);
    call.reject(error);
  }

  #answered(wire: Wire): void {
    if (wire !== this.#wire) return;
    this.#inFlight--;
    this.#heardAt = this.#options.clock.now();
    if (this.#inFlight > 0 || this.#parked === undefined) return;
    const calls = this.#parked.sort((a, b) => a.seq - b.seq);
    this.#parked = undefined;
    // On one connection these are carried out before what follows them.
    for (const text of Object.values<string>(this.#options.scripts)) {
      wire.send(["SCRIPT", "LOAD", text]).catch((error) => this.#drop(wire, error));
    }
    for (const call of calls) this.#send(wire, call);
  }

  #look(): void {
    this.#watch = undefined;
    const wire = this.#wire;
    if (wire === undefined || this.#inFlight === 0) return;
    const { clock, commandTimeout } = this.#options;
    const left = this.#heardAt + commandTimeout - clock.now();
    if (left <= 0) return this.#drop(wire, new Error(`No answer from Redis for ${commandTimeout} ms`));
    this.#watch = clock.setTimer(left, () => this.#look());
  }

  #drop(wire: Wire, cause: unknown): void {
    if (wire !== this.#wire) return;
    this.#wire = undefined;
    this.#cause = cause;
    this.#watch?.();
    this.#watch = undefined;
    const parked = this.#parked ?? [];
    this.#parked = undefined;
    wire.destroy();
    for (const call of parked) call.reject(new LinkDown(cause));
    this.#options.onDown(cause);
    this.#again();
  }

  #again(): void {
    if (this.#closed) return;
    const wait = Math.min(25 * 2 ** this.#attempts++, 1000) * (0.5 + this.#options.random());
    this.#redial = this.#options.clock.setTimer(wait, () => void this.start());
  }
}
