import process from "node:process";
import { CoreError } from "../core/error.ts";

/** What signals ask of the server. */
export interface Signals {
  /** Aborted by the first SIGTERM or SIGINT. */
  readonly stop: AbortSignal;
  /** Aborted by the second one. */
  readonly force: AbortSignal;
  /** From now on SIGHUP calls it, and at once if there was one before. */
  onReload(reload: () => void): void;
  /** From now on SIGUSR2 calls it; before, it does nothing. */
  onRestart(restart: () => void): void;
}

let heard: Signals | undefined;

/**
 * Signals from the first call on: a signal that has no handler ends the process, so the command line calls it before it loads anything
 * else. What comes before there is a server is kept for it.
 */
export function hearSignals(): Signals {
  return heard ??= listen();
}

function listen(): Signals {
  const stop = new AbortController(), force = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) force.abort();
      else stop.abort(new CoreError("STOPPED", `Stopped by ${signal} before it was ready`));
    });
  }
  let reload: (() => void) | undefined;
  let early = false;
  process.on("SIGHUP", () => {
    // A server that ends takes nothing new.
    if (stop.signal.aborted) return;
    if (reload === undefined) early = true;
    else reload();
  });
  let restart: (() => void) | undefined;
  process.on("SIGUSR2", () => {
    if (!stop.signal.aborted) restart?.();
  });
  return {
    stop: stop.signal,
    force: force.signal,
    onReload(now) {
      reload = now;
      if (early) now();
      early = false;
    },
    onRestart: (now) => restart = now,
  };
}
