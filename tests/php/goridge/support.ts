/** Workers, and those who listen to them. */
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { CoreError } from "../../../core/error.ts";
import type { ResponseHead } from "../../../plugins/php/fastcgi/head.ts";
import type { Progress } from "../../../plugins/php/fastcgi/handler.ts";
import { goridgeLaunch, type GoridgeOptions } from "../../../plugins/php/goridge/launch.ts";
import type { ReplySink } from "../../../plugins/php/reply_sink.ts";
import type { RequestBody } from "../../../plugins/php/worker/body.ts";
import type { Worker, WorkerEvents, WorkerExit, WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import { waitFor } from "../../support/wait.ts";
import { exchangeOf } from "../support/exchange.ts";

const here = dirname(fileURLToPath(import.meta.url));
export const workerScript: string = join(here, "worker.php");

/** Keeps what it hears. */
export class Answer implements ReplySink {
  head: ResponseHead | undefined;
  readonly early: ResponseHead[] = [];
  readonly chunks: Uint8Array[] = [];
  bytes = 0;
  stderr = "";
  error: CoreError | undefined;
  progress: Progress | undefined;
  /** Final calls; must never exceed one, and nothing may follow. */
  finals = 0;
  late = 0;
  onChunk: ((bytes: Uint8Array) => void) | undefined;
  readonly over: Promise<this>;
  #settle!: (answer: this) => void;

  constructor() {
    this.over = new Promise((resolve) => this.#settle = resolve);
  }
  #note(): void {
    if (this.finals > 0) this.late++;
  }
  onStdout(): void {
    throw new Error("this protocol knows heads");
  }
  onStderr(bytes: Uint8Array): void {
    this.#note();
    this.stderr += new TextDecoder().decode(bytes);
  }
  onHead(head: ResponseHead): void {
    this.#note();
    if (this.head !== undefined) this.late++;
    this.head = head;
  }
  onBody(bytes: Uint8Array): void {
    this.#note();
    this.bytes += bytes.byteLength;
    this.chunks.push(bytes);
    this.onChunk?.(bytes);
  }
  onInformational(head: ResponseHead): void {
    this.#note();
    this.early.push(head);
  }
  onEnd(): void {
    this.#note();
    this.finals++;
    this.#settle(this);
  }
  onFail(error: CoreError, progress: Progress): void {
    this.#note();
    this.finals++;
    this.error = error;
    this.progress = progress;
    this.#settle(this);
  }
  get body(): string {
    return new TextDecoder().decode(joined(this.chunks));
  }
  header(name: string): string | undefined {
    return this.head?.headers.find(([one]) => one === name)?.[1];
  }
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.byteLength;
  }
  return out;
}

/** A request of the worker, as a pool sends it. */
export function request(target: string, body?: RequestBody, head = "", method?: string): WorkerRequest {
  const verb = method ?? (body === undefined ? "GET" : "POST");
  const x = exchangeOf(`${verb} ${target} HTTP/1.1\r\nHost: app.test\r\n${head}\r\n\r\n`, { localPort: 8080 });
  const script = {
    kind: "script",
    scriptFilename: "/srv/public/index.php",
    scriptName: "/index.php",
    pathInfo: "",
    documentUri: "/index.php",
    documentRoot: "/srv/public",
  } as const;
  return { x, script, body };
}

/** One worker and what it has said, in order. */
export class Heard implements WorkerEvents {
  readonly log: string[] = [];
  readonly lines: string[] = [];
  ready = 0;
  stopAsked = 0;
  broken: CoreError | undefined;
  exit: WorkerExit | undefined;
  worker!: Worker;

  onReady(): void {
    this.ready++;
    this.log.push("ready");
  }
  onStopAsked(): void {
    this.stopAsked++;
    this.log.push("stop asked");
  }
  onBroken(error: CoreError): void {
    this.broken = error;
    this.log.push("broken");
  }
  onLine(text: string): void {
    this.lines.push(text);
  }
  onExit(exit: WorkerExit): void {
    this.exit = exit;
    this.log.push("exit");
  }

  async becomesReady(): Promise<void> {
    const before = this.ready;
    if (before === 0) await waitFor(() => this.ready > 0 || this.exit, { what: "the worker to be ready" });
  }
  async readyAgain(count: number): Promise<void> {
    await waitFor(() => this.ready >= count, { what: `ready ${count} times, not ${this.ready}`, every: 2 });
  }
  async ends(): Promise<WorkerExit> {
    return await waitFor(() => this.exit, { what: "the worker to end" });
  }
  /** Sends a request and waits for its answer, and until the worker is ready again (or has ended). */
  async ask(one: WorkerRequest): Promise<Answer> {
    const answer = new Answer(), before = this.ready;
    this.worker.send(one, answer);
    await answer.over;
    if (answer.error === undefined) await this.readyAgain(before + 1);
    return answer;
  }
}

/** Starts the worker of this folder; end it with `worker.kill()`. */
export async function start(options: Partial<GoridgeOptions> = {}, mode = ""): Promise<Heard> {
  const heard = new Heard();
  const env = { PATH: process.env["PATH"] ?? "", WORKER_MODE: mode, ...options.env };
  heard.worker = goridgeLaunch({ script: workerScript, ...options, env })(heard);
  if (mode === "") await heard.becomesReady();
  return heard;
}

/** Ends a worker and waits for it. */
export async function end(heard: Heard): Promise<void> {
  heard.worker.kill();
  await heard.ends();
}
