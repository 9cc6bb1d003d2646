import { randomBytes } from "node:crypto";
import { CoreError } from "../../../core/error.ts";
import type { Launch } from "../worker/handle.ts";
import type { ProcessOptions } from "../worker/process.ts";
import { lastSaid } from "../worker/report.ts";
import { Child } from "./child.ts";
import { alive, identify } from "../../../core/process_identity.ts";
import { killIdentified, killRest } from "./identity.ts";
import type { Door } from "./link.ts";
import { Nursery } from "./nursery.ts";
import { ParentProcess } from "./parent.ts";
import { ForkedWorker } from "./worker.ts";

export interface ForkOptions {
  /** The process that boots: FAIRLEAD_* variables are added to its environment. */
  readonly process: Pick<ProcessOptions, "argv" | "env" | "cwd" | "user" | "scheduling">;
  readonly door: Door;
  /** Children kept ready beside those the pool has taken; 1 when absent. */
  readonly spares?: number;
  /** Lines of stderr of the parent and of all its children, which cannot be told apart. */
  onLine(text: string): void;
  /** What the parent logs; `level` as in PROTOCOL.md. */
  onLog(level: number, text: string): void;
  /** A parent that had booted is lost; the next launch starts another one. */
  onProblem(error: CoreError): void;
}

/** Workers of one boot. A reload takes a new one. */
export interface ForkLaunch {
  /** Each worker answers one request: it asks to be replaced as soon as it has it. */
  readonly launch: Launch;
  /** Of the booted parent; 0 while there is none. */
  readonly pid: number;
  /** Children that are ready and not the pool's yet. */
  readonly ready: number;
  /** For when the pool has let go of all workers of this boot. Those that run still finish; settles when all is gone. */
  close(): Promise<void>;
  /** Ends the parent at once, and no child: the pool kills those it has. */
  kill(): void;
}

/**
 * Workers that are forked, one for each request, from a process that has booted once. The parent is started by the first
 * launch.
 */
export function forkLaunch(options: ForkOptions): ForkLaunch {
  const { door } = options;
  const token = () => randomBytes(16).toString("hex");
  let parent: ParentProcess | undefined;
  const nursery = new Nursery<Child>({
    spares: options.spares ?? 1,
    token,
    forget: (child) => parent?.forget(child),
    start(events) {
      const started: ParentProcess = new ParentProcess({ process: options.process, door, token: token() }, {
        onUp: () => events.onUp(),
        onArrival(name, arrival) {
          const who = identify(arrival.pid);
          // It says who it is; the system says whose child that is.
          if (who === undefined || who.parent !== started.pid) {
            const message = `process ${arrival.pid} has the token of a child, and is none of ${started.pid}`;
            return events.onEnded({ token: name, pid: 0, code: null, signal: null, message });
          }
          events.onBorn(
            new Child({
              token: name,
              who,
              open: (link) => arrival.asChild(link),
              system: { alive, kill: killIdentified, killRest },
              lastWords: () => started.words,
              onLine: options.onLine,
              wakeParent: () => started.wake(),
              onOver: (child) => nursery.over(child),
            }),
          );
        },
        onEnded: (end) => events.onEnded(end),
        onLog: options.onLog,
        onLine: options.onLine,
        onBroken: options.onProblem,
        onGone: (exit) => events.onGone(exit),
      });
      parent = started;
      return started;
    },
    onLost(exit, orphans) {
      const words = lastSaid(exit);
      options.onProblem(
        new CoreError(
          "PHP_FORK_PARENT",
          `The PHP process that forks the workers ended (${exit.signal ?? `exit code ${exit.code}`})` +
            `${words === "" ? "" : `: ${words}`}; ${orphans} of its children still finish, another one boots`,
        ),
      );
    },
  });
  return {
    launch: (events) => new ForkedWorker(nursery, events),
    get pid() {
      return nursery.pid;
    },
    get ready() {
      return nursery.ready;
    },
    close: () => nursery.close(),
    kill: () => nursery.kill(),
  };
}
