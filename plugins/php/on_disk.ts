import { CoreError } from "../../core/error.ts";

/**
 * Awaits a file operation on a request body. What fails there is the server's trouble and not the client's: a full disk, a
 * folder that is gone.
 *
 * @throws CoreError `BODY_UNSPOOLED` (503)
 */
export async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new CoreError("BODY_UNSPOOLED", `Cannot keep the request body on disk: ${text}`, { status: 503, cause });
  }
}

/** Makes a task that does nothing the second time. */
export function once(task: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    task();
  };
}
