import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CoreError } from "../error.ts";
import { hear, say, type Welcome, type Word } from "./channel.ts";
import type { Command } from "./own_command.ts";
import { variable } from "./predecessor.ts";

/** A process that was started to replace this one. */
export interface Successor {
  /** Resolves with its pid when it serves; rejects with `HANDOVER_FAILED` and why it does not. */
  readonly serving: Promise<number>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** This server listens no more, or takes back what it had shared: the addresses are one server's again. */
  release(): void;
  /** Ends it: it is not wanted any more. */
  stop(): void;
}

/** How long (ms) it may take all in all; it gives up long before by itself. */
const longest = 180_000;

/** Starts the program that is to replace this one, with its folder, files and terminal. @throws CoreError `HANDOVER_FAILED` */
export async function startSuccessor({ program, args, env }: Command, welcome: Welcome): Promise<Successor> {
  const folder = mkdtempSync(join(tmpdir(), `fairlead-handover-${process.pid}-`));
  const path = join(folder, "s");
  const word = Promise.withResolvers<number>(), ended = Promise.withResolvers<void>();
  const fail = (why: string) => word.reject(new CoreError("HANDOVER_FAILED", why));
  let caller: Socket | undefined;
  const server = createServer((socket) => {
    caller = socket;
    socket.on("error", () => {});
    hear<Word>(socket, (said) => "serving" in said ? word.resolve(said.serving) : fail(said.failed));
    say(socket, welcome);
  });
  const close = () => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  let child: ChildProcess;
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    child = spawn(program, args, { env: { ...env, [variable]: path } as NodeJS.ProcessEnv, stdio: "inherit" });
  } catch (cause) {
    close();
    throw new CoreError("HANDOVER_FAILED", `Cannot start ${program}: ${(cause as Error).message}`, { cause });
  }
  child.once("error", (cause) => {
    fail(`Cannot start ${program}: ${cause.message}`);
    ended.resolve();
  });
  child.once("exit", (code, signal) => {
    fail(`The new server ended before it served (${signal ?? `exit code ${code}`}); its log may say why`);
    ended.resolve();
  });
  child.unref();
  const timer = setTimeout(() => {
    fail(`The new server did not come to serve within ${longest / 1000} s`);
    child.kill("SIGKILL");
  }, longest);
  const over = () => {
    clearTimeout(timer);
    close();
  };
  word.promise.then(over, over);
  return {
    serving: word.promise,
    ended: ended.promise,
    release: () => caller?.end(),
    stop: () => void child.kill("SIGTERM"),
  };
}
