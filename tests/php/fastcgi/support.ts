/** A virtual clock and sockets without a kernel. */
import type { Clock as CoreClock } from "../../../core/clock.ts";
import type { Clock } from "../../../plugins/php/fastcgi/clock.ts";
import type { FcgiHandler, Progress } from "../../../plugins/php/fastcgi/handler.ts";
import { type Pair, ParamsWriter } from "../../../plugins/php/fastcgi/params.ts";
import { END_REQUEST, HEADER, STDOUT } from "../../../plugins/php/fastcgi/record.ts";
import type { FcgiSocket } from "../../../plugins/php/fastcgi/socket.ts";
import type { CoreError } from "../../../core/error.ts";

/** Encodes pairs whose values are HTTP header bytes. */
export function encodeHeaderParams(pairs: Iterable<Pair>): Uint8Array {
  const writer = new ParamsWriter();
  for (const [name, value] of pairs) writer.bytes(name, value);
  return writer.take();
}

export class VirtualClock implements Clock, CoreClock {
  #now = 0;
  #timers = new Set<{ readonly at: number; readonly task: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, task: () => void): () => void {
    const timer = { at: this.#now + ms, task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  setTimer(ms: number, fire: () => void): () => void {
    return this.after(ms, fire);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** How long until the next timer; undefined when there is none. */
  get next(): number | undefined {
    const times = [...this.#timers].map((timer) => timer.at - this.#now);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = due.at;
      due.task();
    }
    this.#now = end;
  }
}

type Listener = (...values: never[]) => void;

/** Records what is written; the test plays the other end. */
export class FakeSocket implements FcgiSocket {
  readonly written: Uint8Array[] = [];
  destroyed = false;
  paused = false;
  flowing = true;
  readonly #listeners = new Map<string, Listener[]>();
  onWrite: ((bytes: Uint8Array) => void) | undefined;
  onDestroy: (() => void) | undefined;

  write(bytes: Uint8Array): boolean {
    this.written.push(bytes.slice());
    this.onWrite?.(bytes);
    return this.flowing;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.onDestroy?.();
  }
  on(event: string, listener: Listener): void {
    this.#listeners.set(event, [...this.#listeners.get(event) ?? [], listener]);
  }
  emit(event: string, value?: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) (listener as (value: unknown) => void)(value);
  }

  /** All bytes written so far, as one array. */
  get bytes(): Uint8Array {
    return join(this.written);
  }
  /** Id of the last request begun. */
  get lastId(): number {
    const begin = this.written.findLast((bytes) => bytes[1] === 1)!;
    return begin[2]! << 8 | begin[3]!;
  }
  /** Answers the last request. */
  answer(body: string, id: number = this.lastId): void {
    this.emit("data", join([record(STDOUT, id, text(body)), record(STDOUT, id), end(id)]));
  }
}

export function record(type: number, id: number, content: Uint8Array = new Uint8Array(0), padding = 0): Uint8Array {
  const out = new Uint8Array(HEADER + content.length + padding).fill(0xee);
  out.set([1, type, id >> 8, id & 255, content.length >> 8, content.length & 255, padding, 0x77]);
  out.set(content, HEADER);
  return out;
}

export function end(id: number, appStatus = 0, protocolStatus = 0): Uint8Array {
  const app = [appStatus >>> 24, appStatus >>> 16 & 255, appStatus >>> 8 & 255, appStatus & 255];
  return record(END_REQUEST, id, new Uint8Array([...app, protocolStatus, 1, 2, 3]));
}

export function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Cuts bytes at the given fractions. */
export function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, i) => bytes.subarray(places[i]!, place)).filter((part) => part.length > 0);
}

/** A handler that keeps everything, and a promise of the end. */
export class Answer implements FcgiHandler {
  readonly chunks: Uint8Array[] = [];
  stderr = "";
  appStatus: number | undefined;
  error: CoreError | undefined;
  progress: Progress | undefined;
  /** Final calls; must never exceed one. */
  finals = 0;
  readonly over: Promise<void>;
  #settle: () => void = () => {};
  onChunk: ((bytes: Uint8Array) => void) | undefined;

  constructor() {
    this.over = new Promise((resolve) => this.#settle = resolve);
  }
  onStdout(bytes: Uint8Array): void {
    this.chunks.push(bytes);
    this.onChunk?.(bytes);
  }
  onStderr(bytes: Uint8Array): void {
    this.stderr += new TextDecoder().decode(bytes);
  }
  onEnd(appStatus: number): void {
    this.finals++;
    this.appStatus = appStatus;
    this.#settle();
  }
  onFail(error: CoreError, progress: Progress): void {
    this.finals++;
    this.error = error;
    this.progress = progress;
    this.#settle();
  }
  get stdout(): string {
    return new TextDecoder().decode(join(this.chunks));
  }
  /** What follows the head. */
  get body(): string {
    return this.stdout.slice(this.stdout.indexOf("\r\n\r\n") + 4);
  }
}

/** Lets every promise that can settle without time settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
