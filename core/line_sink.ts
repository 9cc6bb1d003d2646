import { write, writeSync } from "node:fs";

/** Where log lines go. */
export interface LineSink {
  write(line: string): void;
  /** Writes what is still held, waiting for it; for the end of the process. */
  flushSync(): void;
}

/** Characters held while a slow reader keeps a pipe full; beyond that lines are dropped and counted. */
const mostHeld = 4_000_000;

/**
 * Gathers lines and writes them to a file descriptor a turn of the event loop later, many at once. A reader that stalls
 * never stops the server: past 4 MB of held text lines are dropped, and a line says how many.
 */
export function fileSink(fd: number): LineSink {
  let held = "", dropped = 0, writing: Uint8Array | undefined, scheduled = false;

  const next = () => {
    scheduled = false;
    if (writing !== undefined || (held === "" && dropped === 0)) return;
    if (dropped > 0) {
      held += `${dropped} log lines were dropped: the reader is too slow\n`;
      dropped = 0;
    }
    writing = new TextEncoder().encode(held);
    held = "";
    push();
  };
  const push = () => {
    const bytes = writing!;
    write(fd, bytes, 0, bytes.byteLength, null, (error, count) => {
      if (writing !== bytes) return;
      const full = (error as { code?: string } | null)?.code === "EAGAIN";
      // Any other error means that nobody reads any more: the text is lost.
      writing = full ? bytes : error !== null || count >= bytes.byteLength ? undefined : bytes.subarray(count);
      if (full) setTimeout(push, 10).unref?.();
      else if (writing !== undefined) push();
      else next();
    });
  };
  return {
    write(line) {
      if (held.length > mostHeld) {
        dropped++;
        return;
      }
      held += line;
      if (!scheduled && writing === undefined) {
        scheduled = true;
        setImmediate(next);
      }
    },
    flushSync() {
      const rest = new TextEncoder().encode(held);
      held = "";
      for (const bytes of writing === undefined ? [rest] : [writing, rest]) writeAll(fd, bytes);
      writing = undefined;
    },
  };
}

function writeAll(fd: number, bytes: Uint8Array): void {
  const until = Date.now() + 1000;
  for (let at = 0; at < bytes.byteLength && Date.now() < until;) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN") return;
    }
  }
}
