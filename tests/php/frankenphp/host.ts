/**
 * A host for one worker: starts php-cgi with the runtime, as the native engine does, and asks it.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  EARLY,
  type Frame,
  frame,
  frameReader,
  GONE,
  HELLO,
  LAST,
  LEAVING,
  LOG,
  READY,
  REPLY,
  REQUEST,
  serialize,
  STOP,
} from "./frames.ts";

const here = dirname(fileURLToPath(import.meta.url));
export const runtime: string = join(here, "../../../php/runtime");
export const disabled: readonly string[] = readFileSync(join(runtime, "disabled_functions.txt"), "latin1").trim().split(
  "\n",
);

/** Name, file name, type, path, error and size. */
export type UploadedFile = readonly [string, string, string, string, number, number];

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly post?: readonly (readonly [name: string, value: string])[];
  readonly files?: readonly UploadedFile[];
  readonly input?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: readonly string[];
  /** One character a byte. */
  readonly body: string;
  /** Without the head. */
  readonly early: readonly string[];
  /** When its frames came, and how many bytes each brought. */
  readonly frames: readonly Frame[];
  /** False when the process ended before its response was whole. */
  readonly whole: boolean;
  readonly leaving: boolean;
}

export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

export interface Host {
  readonly folder: string;
  readonly pid: number;
  readonly logs: readonly string[];
  /** The hello, or how the process ended without one. */
  readonly booted: Promise<string>;
  readonly ended: Promise<Ended>;
  /** Resolves with the whole response; the next `ask` waits until the worker is ready. */
  ask(request?: Ask): Promise<Reply>;
  /** Resolves when the worker has told that it is ready. */
  idle(): Promise<void>;
  /** Each reply frame as it comes. */
  onFrame(hear: (frame: Frame) => void): void;
  gone(): void;
  /** How often it has told that it leaves. */
  readonly leaves: number;
  /** Closes the connection. */
  hangUp(): void;
  stop(): Promise<Ended>;
  /** Kills it. */
  close(): Promise<Ended>;
}

export interface HostOptions {
  readonly ini?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Waiting {
  readonly frames: Frame[];
  readonly early: string[];
  leaving: boolean;
  readonly done: (reply: Reply) => void;
}

export const scriptPath = (name: string): string => join(here, "scripts", name);

/** Starts php-cgi with a script of `scripts/`. */
export function startWorker(script: string, options: HostOptions = {}): Promise<Host> {
  const folder = mkdtempSync(join(tmpdir(), "frankenphp-"));
  const address = join(folder, "worker.sock");
  const token = "0123456789abcdef0123456789abcdef";
  const path = script.startsWith("/") ? script : scriptPath(script);
  const ini = {
    auto_prepend_file: join(runtime, "frankenphp.php"),
    disable_functions: disabled.join(","),
    output_buffering: "0",
    display_errors: "1",
    html_errors: "0",
    log_errors: "1",
    error_log: "",
    expose_php: "0",
    "session.save_path": folder,
    upload_tmp_dir: folder,
    ...options.ini,
  };
  let socket: Socket | undefined;
  let number = 0;
  let waiting: Waiting | undefined;
  let ready = false;
  let leaves = 0;
  const onReady: (() => void)[] = [];
  const logs: string[] = [];
  const hearing: ((frame: Frame) => void)[] = [];
  let booted: (text: string) => void = () => {};
  const bootedOnce = new Promise<string>((done) => booted = done);
  const markReady = () => {
    ready = true;
    for (const done of onReady.splice(0)) done();
  };
  const finish = (whole: boolean) => {
    const of = waiting;
    waiting = undefined;
    of?.done({ ...parse(of.frames), early: of.early, frames: of.frames, leaving: of.leaving, whole });
  };
  const hear = (got: Frame) => {
    if (got.type === HELLO) {
      booted(got.payload.toString("latin1"));
      markReady();
    } else if (got.type === REPLY) {
      if (got.number !== number) throw new Error(`frame of request ${got.number} while ${number} runs`);
      if (got.payload.length > 0 || (got.flags & LAST) !== 0) {
        if (waiting === undefined) throw new Error("output after the end of the response");
        waiting.frames.push(got);
      }
      for (const each of hearing) each(got);
      if ((got.flags & LAST) !== 0) finish(true);
      if ((got.flags & READY) !== 0) markReady();
    } else if (got.type === EARLY) waiting?.early.push(got.payload.toString("latin1"));
    else if (got.type === LOG) logs.push(`${got.payload[0]} ${got.payload.toString("utf8", 1)}`);
    else if (got.type === LEAVING) {
      leaves++;
      if (waiting !== undefined) waiting.leaving = true;
    } else throw new Error(`unexpected frame of type ${got.type}`);
  };
  const server = createServer((accepted) => {
    socket = accepted;
    accepted.on("data", frameReader(hear));
    accepted.on("error", () => {});
    accepted.on("close", () => finish(false));
  });
  return new Promise((done) => {
    server.listen(address, () => {
      const child = spawn("php-cgi", Object.entries(ini).flatMap(([name, value]) => ["-d", `${name}=${value}`]), {
        env: {
          PATH: process.env.PATH ?? "",
          TZ: "UTC",
          REDIRECT_STATUS: "200",
          REQUEST_METHOD: "GET",
          SCRIPT_FILENAME: path,
          FAIRLEAD_SOCKET: address,
          FAIRLEAD_TOKEN: token,
          FAIRLEAD_WORKER: "1",
          FAIRLEAD_ISOLATION: "none",
          ...options.env,
        },
        cwd: folder,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let stderr = "";
      child.stderr.on("data", (bytes: Uint8Array) => stderr += Buffer.from(bytes).toString());
      child.stdout.resume();
      const ended = new Promise<Ended>((end) => child.on("close", (code) => end({ code, stderr })));
      ended.then(({ stderr }) => {
        booted(`ended: ${stderr}`);
        markReady();
        server.close();
        rmSync(folder, { recursive: true, force: true });
      });
      const idle = () => ready ? Promise.resolve() : new Promise<void>((when) => onReady.push(when));
      done({
        folder,
        pid: child.pid ?? 0,
        logs,
        booted: bootedOnce,
        ended,
        idle,
        onFrame: (each) => hearing.push(each),
        async ask(request = {}) {
          await idle();
          ready = false;
          number++;
          return new Promise<Reply>((answer) => {
            waiting = { frames: [], early: [], leaving: false, done: answer };
            if (socket === undefined || socket.destroyed) finish(false);
            else socket.write(frame(REQUEST, number, payload(request, path)));
          });
        },
        get leaves() {
          return leaves;
        },
        hangUp: () => socket?.destroy(),
        gone: () => socket?.write(frame(GONE, number)),
        async stop() {
          await idle();
          socket?.write(frame(STOP, 0));
          return ended;
        },
        close() {
          child.kill("SIGKILL");
          socket?.destroy();
          return ended;
        },
      });
    });
  });
}

function payload(ask: Ask, script: string): Buffer {
  const { method = "GET", path = "/", query = "", headers = {}, body = "" } = ask;
  const named = Object.entries(headers).map(([name, value]) => {
    const upper = name.toUpperCase().replaceAll("-", "_");
    return [upper === "CONTENT_TYPE" || upper === "CONTENT_LENGTH" ? upper : `HTTP_${upper}`, value];
  });
  const server: Record<string, string> = {
    GATEWAY_INTERFACE: "CGI/1.1",
    SERVER_PROTOCOL: "HTTP/1.1",
    SERVER_NAME: "localhost",
    SERVER_PORT: "80",
    REMOTE_ADDR: "127.0.0.1",
    REQUEST_METHOD: method,
    REQUEST_URI: query === "" ? path : `${path}?${query}`,
    QUERY_STRING: query,
    SCRIPT_NAME: "/index.php",
    SCRIPT_FILENAME: script,
    PHP_SELF: "/index.php",
    ...Object.fromEntries(named),
  };
  const head = [...Object.values(server), "test", "30000", Object.keys(server).join("\n")].join("\0");
  const { post, files, input } = ask;
  const told = post === undefined && files === undefined && input === undefined
    ? ""
    : serialize({ post, files, input });
  const parts = [sized(head)];
  if (told !== "" || body !== "") parts.push(sized(told), Buffer.from(body, "latin1"));
  return Buffer.concat(parts);
}

/** A byte string with its length before it. */
function sized(text: string): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  return Buffer.concat([size, Buffer.from(text, "latin1")]);
}

function parse(frames: readonly Frame[]): Pick<Reply, "status" | "headers" | "body"> {
  const text = Buffer.concat(frames.map(({ payload }) => payload)).toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  const lines = end < 0 ? [] : text.slice(0, end).split("\r\n");
  const status = lines.find((line) => /^status:/i.test(line));
  return {
    status: status === undefined ? (end < 0 ? 0 : 200) : Number(status.slice(7, 12)),
    headers: lines.filter((line) => line !== status && line !== ""),
    body: text.slice(end < 0 ? 0 : end + 4),
  };
}
