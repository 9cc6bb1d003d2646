import { write } from "node:fs";

/** Where log lines go. */
export interface LineSink {
  write(line: string): void;
  /** Resolves when what is held has been written, or after a second: a stalled reader must not hold up the end. */
  flush(): Promise<void>;
}

/** Characters held while a slow reader keeps a pipe full; beyond that lines are dropped and counted. */
const mostHeld = 4_000_000;

/** Milliseconds {@linkcode LineSink.flush} waits. */
const longestFlush = 1000;

/**
 * Gathers lines and writes them to a file descriptor a turn of the event loop later, many at once. A reader that stalls
 * never stops the server: past 4 MB of held text lines are dropped, and a line says how many.
 */
export function fileSink(fd: number): LineSink {
  let held = "", dropped = 0, writing: Uint8Array | undefined, scheduled = false;
  const flushed: (() => void)[] = [];

  const next = () => {
    scheduled = false;
    if (writing !== undefined) return;
    if (held === "" && dropped === 0) {
      for (const done of flushed.splice(0)) done();
      return;
    }
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
    flush() {
      if (held === "" && dropped === 0 && writing === undefined) return Promise.resolve();
      return new Promise((resolve) => {
        const late = setTimeout(resolve, longestFlush);
        flushed.push(() => (clearTimeout(late), resolve()));
      });
    },
  };
}
