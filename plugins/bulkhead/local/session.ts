import { CoreError } from "../../../core/error.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadStore } from "../store.ts";
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
import { Entries } from "./entries.ts";
import { Entry } from "./entry.ts";
import { bare, broken, expectLength, longestToServer, op } from "./frame.ts";
import { FrameReader, type Payload } from "./frame_reader.ts";
import type { Peer, PeerHandler } from "./listen.ts";
import { PeerProcess } from "./peer_process.ts";
import type { SessionHost } from "./session_host.ts";

/** One connection: what it asks for, what it holds, and the end of that. */
export class Session implements PeerHandler {
  readonly #host: SessionHost;
  readonly #peer: Peer;
  readonly #reader: FrameReader;
  readonly #process: PeerProcess;
  readonly #open = new Entries((cause) => void this.#problem(cause));
  #greeted = false;
  #scoped = false;
  #closed = false;
  #hurry: ReturnType<typeof setTimeout> | undefined;
  /** For the next wait. */
  #aborter: AbortController | undefined;

  constructor(host: SessionHost, peer: Peer) {
    this.#host = host;
    this.#peer = peer;
    this.#process = new PeerProcess(peer, host.executions, host.ownerOf, () => this.#ended());
    this.#reader = new FrameReader(longestToServer, (type, number, payload) => this.#frame(type, number, payload));
    this.#hurry = setTimeout(() => this.#fail(broken("Expected HELLO within its time")), host.helloMs);
  }

  /** The process at the other end; undefined when it cannot be told. */
  get pid(): number | undefined {
    return this.#process.pid;
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
    this.#process.forget();
    this.#open.dropAll();
    this.#host.onClosed(this);
  }

  destroy(): void {
    this.onClose();
    this.#peer.destroy();
  }

  #frame(type: number, number: number, payload: Payload): void {
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

  #hello(type: number, payload: Payload): void {
    if (type !== op.hello) throw broken(`Expected HELLO first, got type ${type}`);
    const hello = readHello(payload);
    if (hello.version !== version) throw broken(`Expected version ${version}, got ${hello.version}`);
    this.#greeted = true;
    this.#scoped = hello.scoped;
    clearTimeout(this.#hurry);
    this.#write(writeWelcome());
  }

  #acquire(number: number, { owner, name, limit, weight, leaseMs, maxWaitMs, maxQueue }: AcquireFrame): void {
    if (this.#open.get(number) !== undefined) throw broken(`Expected a number that is free, got ${number}`);
    if (this.#open.size >= this.#host.maxOpen) {
      return this.#write(writeDeny(number, { reason: "queue_full", waitedMs: 0, retryAfterMs: 0 }));
    }
    const execution = this.#process.execution();
    // One that nobody has listened to serves again: to make one costs more than all the rest.
    const aborter = maxWaitMs > 0 ? this.#aborter ?? new AbortController() : undefined;
    this.#aborter = undefined;
    const entry = new Entry(number, owner, execution !== undefined, leaseMs, aborter);
    const who = owner === 0
      ? undefined
      : owner > 1
      ? this.#open.owners.take(owner, this.#process.asker)
      : execution ?? this;
    const ask: { -readonly [K in keyof BulkheadAsk]: BulkheadAsk[K] } = { name, limit, weight, leaseMs, maxWaitMs };
    if (maxQueue !== undefined) ask.maxQueue = maxQueue;
    if (who !== undefined) ask.owner = who;
    if (aborter !== undefined) ask.signal = aborter.signal;
    this.#open.add(entry);
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
      if (answer.granted) this.#open.giveBack(answer);
      return;
    }
    const { number } = entry;
    if (!answer.granted) {
      this.#open.remove(entry);
      return this.#write(writeDeny(number, answer));
    }
    entry.grant = answer;
    this.#write(writeGrant(number, answer));
    entry.unlisten = answer.onLost(() => {
      this.#open.remove(entry);
      this.#write(bare(op.lost, number));
    });
  }

  #fault(entry: Entry, cause: unknown): void {
    if (entry.over) return;
    this.#open.remove(entry);
    this.#write(writeFault(entry.number, this.#problem(cause)));
  }

  #release(number: number, answered: boolean): void {
    const entry = this.#open.get(number);
    const tell = answered ? (inTime: boolean) => this.#write(writeReleased(number, inTime)) : undefined;
    if (entry?.grant === undefined) return tell?.(false);
    this.#open.remove(entry);
    this.#open.giveBack(entry.grant, tell);
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

  #ended(): void {
    for (const entry of this.#open.waitsFirst()) {
      if (!entry.bound) continue;
      // It may have finished its response and work on: it closes the connection when it is done.
      if (this.#scoped) entry.expire(() => this.#takeAway(entry));
      else this.#takeAway(entry);
    }
  }

  #takeAway(entry: Entry): void {
    this.#open.remove(entry);
    const { number, grant } = entry;
    this.#open.drop(entry);
    if (grant !== undefined) this.#write(bare(op.lost, number));
    else this.#write(writeDeny(number, { reason: "cancelled", waitedMs: entry.waitedMs, retryAfterMs: 0 }));
  }

  #problem(cause: unknown): CoreError {
    const error = CoreError.at("bulkhead", "store", cause);
    // A question that was wrong is the asker's to hear of.
    if (error.code === "PLUGIN_FAILED" || error.code === "BULKHEAD_PROTOCOL") {
      this.#host.onProblem(error, this.pid);
    }
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
