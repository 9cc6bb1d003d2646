import { openSync } from "node:fs";
import { resolve } from "node:path";
import { CoreError } from "./error.ts";
import { fileSink, type LineSink } from "./line_sink.ts";
import type { LogSettings } from "./settings.ts";

/** Where the log and the access log are written. */
export interface Sinks {
  readonly log: LineSink;
  /** Undefined when there is to be none. */
  readonly access: LineSink | undefined;
  flush(): Promise<unknown>;
}

/** Opens what `[log]` names. @throws LOG_UNWRITABLE */
export function openSinks({ access }: LogSettings, baseDir: string): Sinks {
  const log = fileSink(2);
  const sink = access === "off" ? undefined : access === "stderr" ? log : fileSink(accessFile(access, baseDir));
  return { log, access: sink, flush: () => Promise.all([log.flush(), sink?.flush()]) };
}

function accessFile(access: string, baseDir: string): number {
  if (access === "stdout") return 1;
  const path = resolve(baseDir, access);
  try {
    return openSync(path, "a", 0o640);
  } catch (cause) {
    throw new CoreError("LOG_UNWRITABLE", `Cannot open the access log ${path}: ${(cause as Error).message}`, { cause });
  }
}
