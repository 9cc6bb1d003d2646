/** Real PHP processes that use the library of `php/`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { CoreError } from "../../../../core/error.ts";
import { cliCommand } from "../../../../plugins/php/native/command.ts";
import { type Door, openDoor } from "../../../../plugins/php/native/door.ts";
import { findPhp } from "../../../../plugins/php/native/find_php.ts";
import { nativeLaunch } from "../../../../plugins/php/native/launch.ts";
import type { LogLine } from "../../../../plugins/php/native/log_line.ts";
import type { Worker, WorkerEvents, WorkerExit } from "../../../../plugins/php/worker/handle.ts";
import { waitFor } from "../../../support/wait.ts";
import { type Ask, ask } from "./request.ts";
import { Sink } from "./sink.ts";

export const library: string = fileURLToPath(new URL("../../../../php/src/autoload.php", import.meta.url));

/** Waits for a condition. */
export async function until(what: string, look: () => boolean): Promise<void> {
  await waitFor(look, { what, every: 2 });
}

/** A worker and what it has told. */
export class Started implements WorkerEvents {
  readonly lines: string[] = [];
  readonly logged: LogLine[] = [];
  readonly worker: Worker;
  ready = 0;
  stopAsked = 0;
  broken: CoreError | undefined;
  exit: WorkerExit | undefined;

  constructor(launch: (events: WorkerEvents) => Worker) {
    this.worker = launch(this);
  }

  onReady(): void {
    this.ready++;
  }
  onStopAsked(): void {
    this.stopAsked++;
  }
  onBroken(error: CoreError): void {
    this.broken ??= error;
    this.worker.kill();
  }
  onLine(text: string): void {
    this.lines.push(text);
  }
  onExit(exit: WorkerExit): void {
    if (this.exit !== undefined) throw new Error("a worker ended twice");
    this.exit = exit;
  }

  /** Until it is ready for the n-th time, and first of all when absent. */
  async up(n = 1): Promise<this> {
    await until("the worker to be ready", () => this.ready >= n || this.exit !== undefined);
    if (this.ready < n) throw new Error(`it ended: ${JSON.stringify(this.exit)} ${this.lines.join("\n")}`);
    return this;
  }

  send(line?: string, more?: Ask): Sink {
    const sink = new Sink();
    this.worker.send(ask(line, more), sink);
    return sink;
  }

  /** Sends a request and waits for its answer. */
  async get(line?: string, more?: Ask): Promise<Sink> {
    const ready = this.ready;
    const sink = this.send(line, more);
    await until("the answer", () => sink.finals > 0 || this.exit !== undefined);
    if (sink.error !== undefined) throw sink.error;
    await until("the worker to be free", () => this.ready > ready || this.exit !== undefined);
    return sink;
  }

  async gone(): Promise<WorkerExit> {
    await until("the worker to end", () => this.exit !== undefined);
    return this.exit!;
  }
}

export interface World {
  readonly dir: string;
  readonly door: Door;
  /** Starts a worker from PHP code; `$worker` is there already. */
  start(code: string, ini?: Readonly<Record<string, string | number>>): Started;
  /** Starts a worker from PHP code that does without the library. */
  startBare(code: string): Started;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-native-test-"));
  const door = await openDoor({ software: "fairlead/1.0", tempDir: dir });
  const php = (await findPhp("cli")).path;
  const all: Started[] = [];
  const begin = (text: string, ini: Readonly<Record<string, string | number>>) => {
    const script = join(dir, `worker${all.length}.php`);
    writeFileSync(script, text);
    const logged: LogLine[] = [];
    const started = new Started(nativeLaunch({
      command: cliCommand(php, script, ini),
      door,
      env: { PATH: process.env["PATH"] ?? "", DIR: dir },
      onLog: (line) => void logged.push(line),
    }));
    Object.assign(started, { logged });
    all.push(started);
    return started;
  };
  return {
    dir,
    door,
    start: (code, ini = {}) =>
      begin(`<?php\nrequire ${JSON.stringify(library)};\n$worker = Fairlead\\Worker::create();\n${code}\n`, ini),
    startBare: (code) => begin(`<?php\n${bare}\n${code}\n`, {}),
    async close() {
      for (const one of all) one.worker.kill();
      for (const one of all) await one.gone();
      door.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** `connect()`, `say()` and `frame()` for scripts that break the rules. */
const bare = `
function frame($type, $flags, $number, $payload = '') {
  return pack('VCCvV', strlen($payload), $type, $flags, 0, $number) . $payload;
}
function hello($more = []) {
  return frame(1, 0, 0, serialize($more + ['v' => 1, 'token' => getenv('FAIRLEAD_TOKEN'), 'pid' => getmypid(), 'php' => PHP_VERSION, 'sapi' => PHP_SAPI]));
}
function connect($more = []) {
  $socket = stream_socket_client('unix://' . getenv('FAIRLEAD_SOCKET'));
  fwrite($socket, hello($more));
  return $socket;
}
function request($socket) {
  $head = unpack('Vlength/Ctype/Cflags/vzero/Vnumber', fread($socket, 12));
  if ($head['length'] > 0) stream_get_contents($socket, $head['length']);
  return $head['number'];
}`;
