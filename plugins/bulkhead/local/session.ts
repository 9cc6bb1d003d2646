import type { Executions } from "../../../core/contracts/executions.ts";
import { CoreError } from "../../../core/error.ts";
import { unixPeerPid } from "../../../core/libc.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadGrant, BulkheadStore } from "../store.ts";
import { writeCounted, writeDeny, writeFault, writeGrant, writeReleased } from "./answers.ts";
import {
  type AcquireFrame,
  readAcquire,
  readCounts,
  readHello,
  readRelease,
  readResize,
  version,
  writeWelcome,
} from "./asks.ts";
import { Entry } from "./entry.ts";
import { bare, broken, expectLength, FrameReader, longestToServer, op } from "./frame.ts";
import type { Peer, PeerHandler } from "./listen.ts";
import { Owners } from "./owners.ts";

/** What all connections of a server share. */
export interface SessionHost {
  readonly store: BulkheadStore;
  readonly executions: Pick<Executions, "whenEnded"> | undefined;
  /** How long (ms) a peer may take to say its HELLO. */
  readonly helloMs: number;
  /** Most asks of one connection that wait or hold permits. */
  readonly maxOpen: number;
  /** Bytes of answers that a peer may leave unread. */
  readonly maxUnread: number;
  /** The peer broke the rules, or an answer could not be had. */
  onProblem(error: CoreError, pid: number | undefined): void;
  onClosed(session: Session): void;
}

/** One connection: what it asks for, what it holds, and the end of that. */
export class Session implements PeerHandler {
  readonly #host: SessionHost;
  readonly #peer: Peer;
  readonly #reader: FrameReader;
  /** What waits or holds permits, by the peer's number. */
  readonly #open = new Map<number, Entry>();
  readonly #owners = new Owners();
  #greeted = false;
  #scoped = false;
  #closed = false;
  #hurry: ReturnType<typeof setTimeout> | undefined;
  /** -1 until it has been looked for. */
  #pid: number | undefined = -1;
  /** The execution that asks now. */
  #execution: object | undefined;
  #forget: (() => void) | undefined;
  /** For the next wait. */
  #aborter: AbortController | undefined;

  constructor(host: SessionHost, peer: Peer) {
    this.#host = host;
    this.#peer = peer;
    this.#reader = new FrameReader(longestToServer, (type, number, payload) => this.#frame(type, number, payload));
    this.#hurry = setTimeout(() => this.#fail(broken("Expected HELLO within its time")), host.helloMs);
  }

  /** The process at the other end; undefined when it cannot be told. */
  get pid(): number | undefined {
    if (this.#pid === -1) {
      const { fd } = this.#peer;
      // 0: a process that this container cannot see.
      this.#pid = (fd === undefined || fd < 0 ? undefined : unixPeerPid(fd)) || undefined;
    }
    return this.#pid;
  }

  /** Asks that wait or hold permits. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Closes it when its process is gone although the connection is not: a program that the process has started, and that got its
   * descriptors, keeps it open.
   */
  look(alive: (pid: number) => boolean): void {
    const { pid } = this;
    if (pid !== undefined && !alive(pid)) this.destroy();
  }

  onData(chunk: Uint8Array): void {
    if (this.#closed) return;
    try {
      this.#reader.push(chunk);
    } catch (cause) {
      this.#fail(CoreError.at("bulkhead", "socket", cause));
    }
  }

  /** Its permits go back, its waits end. */
  onClose(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#hurry);
    this.#forget?.();
    for (const entry of this.#waitsFirst()) this.#drop(entry);
    this.#open.clear();
    this.#host.onClosed(this);
  }

  destroy(): void {
    this.onClose();
    this.#peer.destroy();
  }

  #frame(type: number, number: number, payload: DataView): void {
    // The rest of a chunk whose first frames broke the rules.
    if (this.#closed) return;
    if (!this.#greeted) return this.#hello(type, payload);
    if (number === 0) throw broken("Expected a number above 0");
    switch (type) {
      case op.acquire:
        return this.#acquire(number, readAcquire(payload));
      case op.release:
        return this.#release(number, readRelease(payload));
      case op.cancel:
        expectLength("CANCEL", payload, 0);
        return this.#open.get(number)?.cancel();
      case op.counts:
        return this.#count(number, () => this.#host.store.counts(readCounts(payload)));
      case op.resize: {
        const { limit, name } = readResize(payload);
        return this.#count(number, async () => {
          await this.#host.store.resize(name, limit);
          return this.#host.store.counts(name);
        });
      }
      default:
        throw broken(`Expected a frame that the server takes, got type ${type}`);
    }
  }

  #hello(type: number, payload: DataView): void {
    if (type !== op.hello) throw broken(`Expected HELLO first, got type ${type}`);
    const hello = readHello(payload);
    if (hello.version !== version) throw broken(`Expected version ${version}, got ${hello.version}`);
    this.#greeted = true;
    this.#scoped = hello.scoped;
    clearTimeout(this.#hurry);
    this.#write(writeWelcome());
  }

  #acquire(number: number, { owner, name, limit, weight, leaseMs, maxWaitMs, maxQueue }: AcquireFrame): void {
    if (this.#open.has(number)) throw broken(`Expected a number that is free, got ${number}`);
    if (this.#open.size >= this.#host.maxOpen) {
      return this.#write(writeDeny(number, { reason: "queue_full", waitedMs: 0, retryAfterMs: 0 }));
    }
    const bound = this.#bind();
    // One that nobody has listened to serves again: to make one costs more than all the rest.
    const aborter = maxWaitMs > 0 ? this.#aborter ?? new AbortController() : undefined;
    this.#aborter = undefined;
    const entry = new Entry(number, owner, bound, leaseMs, aborter);
    const who = owner === 0 ? undefined : owner > 1 ? this.#owners.take(owner) : bound ? this.#execution! : this;
    const ask: { -readonly [K in keyof BulkheadAsk]: BulkheadAsk[K] } = { name, limit, weight, leaseMs, maxWaitMs };
    if (maxQueue !== undefined) ask.maxQueue = maxQueue;
    if (who !== undefined) ask.owner = who;
    if (aborter !== undefined) ask.signal = aborter.signal;
    this.#open.set(number, entry);
    try {
      const answer = this.#host.store.acquire(ask);
      if (answer instanceof Promise) {
        answer.then((late) => this.#answer(entry, late), (error) => this.#fault(entry, error));
      } else {
        this.#aborter = aborter;
        this.#answer(entry, answer);
      }
    } catch (error) {
      this.#fault(entry, error);
    }
  }

  #answer(entry: Entry, answer: BulkheadAnswer): void {
    if (entry.over) {
      // Nobody is there to take it.
      if (answer.granted) this.#giveBack(answer);
      return;
    }
    const { number } = entry;
    if (!answer.granted) {
      this.#remove(entry);
      return this.#write(writeDeny(number, answer));
    }
    entry.grant = answer;
    this.#write(writeGrant(number, answer));
    entry.unlisten = answer.onLost(() => {
      this.#remove(entry);
      this.#write(bare(op.lost, number));
    });
  }

  #fault(entry: Entry, cause: unknown): void {
    if (entry.over) return;
    this.#remove(entry);
    this.#write(writeFault(entry.number, this.#problem(cause)));
  }

  #release(number: number, answered: boolean): void {
    const entry = this.#open.get(number);
    const tell = answered ? (inTime: boolean) => this.#write(writeReleased(number, inTime)) : undefined;
    if (entry?.grant === undefined) return tell?.(false);
    this.#remove(entry);
    this.#giveBack(entry.grant, tell);
  }

  #count(number: number, count: () => ReturnType<BulkheadStore["counts"]>): void {
    const failed = (cause: unknown) => this.#write(writeFault(number, this.#problem(cause)));
    try {
      const counts = count();
      if (counts instanceof Promise) counts.then((late) => this.#write(writeCounted(number, late)), failed);
      else this.#write(writeCounted(number, counts));
    } catch (cause) {
      // What is wrong with the frame is the connection's end, not an answer.
      if ((cause as { code?: unknown }).code === "BULKHEAD_PROTOCOL") throw cause;
      failed(cause);
    }
  }

  /** Whether the peer runs an execution of the server's: then what it asks for ends with that. */
  #bind(): boolean {
    if (this.#execution !== undefined) return true;
    const { executions } = this.#host;
    const pid = executions === undefined ? undefined : this.pid;
    const forget = pid === undefined ? undefined : executions!.whenEnded(pid, () => this.#ended());
    if (forget === undefined) return false;
    this.#forget = forget;
    this.#execution = {};
    return true;
  }

  #ended(): void {
    this.#execution = this.#forget = undefined;
    for (const entry of this.#waitsFirst()) {
      if (!entry.bound) continue;
      // It may have finished its response and work on: it closes the connection when it is done.
      if (this.#scoped) entry.expire(() => this.#takeAway(entry));
      else this.#takeAway(entry);
    }
  }

  /** What waits must not get what is given back. */
  #waitsFirst(): readonly Entry[] {
    const all = [...this.#open.values()];
    return [...all.filter(({ grant }) => grant === undefined), ...all.filter(({ grant }) => grant !== undefined)];
  }

  #takeAway(entry: Entry): void {
    this.#remove(entry);
    const { number, grant } = entry;
    this.#drop(entry);
    if (grant !== undefined) this.#write(bare(op.lost, number));
    else this.#write(writeDeny(number, { reason: "cancelled", waitedMs: entry.waitedMs, retryAfterMs: 0 }));
  }

  #remove(entry: Entry): void {
    entry.end();
    this.#open.delete(entry.number);
    if (entry.owner > 1) this.#owners.leave(entry.owner);
  }

  /** Gives back what the entry holds, or ends its wait. */
  #drop(entry: Entry): void {
    entry.end();
    if (entry.grant === undefined) entry.cancel();
    else this.#giveBack(entry.grant);
  }

  #giveBack(grant: BulkheadGrant, tell?: (inTime: boolean) => void): void {
    const failed = (cause: unknown) => {
      this.#problem(cause);
      tell?.(false);
    };
    try {
      const inTime = grant.release();
      if (inTime instanceof Promise) inTime.then(tell, failed);
      else tell?.(inTime);
    } catch (cause) {
      failed(cause);
    }
  }

  #problem(cause: unknown): CoreError {
    const error = CoreError.at("bulkhead", "store", cause);
    // A question that was wrong is the asker's to hear of.
    if (error.code === "PLUGIN_FAILED" || error.code === "BULKHEAD_PROTOCOL") this.#host.onProblem(error, this.pid);
    return error;
  }

  #write(bytes: Uint8Array): void {
    if (this.#closed) return;
    this.#peer.write(bytes);
    if (this.#peer.pending > this.#host.maxUnread) this.#fail(broken("Expected the peer to read its answers"));
  }

  #fail(error: CoreError): void {
    if (this.#closed) return;
    this.#host.onProblem(error, this.pid);
    this.#peer.write(writeFault(0, error));
    this.onClose();
    this.#peer.end();
  }
}
