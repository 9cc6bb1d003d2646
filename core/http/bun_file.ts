import { closeSync, existsSync } from "node:fs";
import { fileOf } from "./bytes.ts";

interface BunFiles {
  file(path: string): { slice(start: number, end: number): Blob };
}

/**
 * Bun sends a stream chunked and drops its `Content-Length` (oven-sh/bun#10507). A file it sends with the length, by
 * `sendfile` and at the pace of the client, but only one that it has opened by a path: of a descriptor it gets the
 * length of a slice wrong. Linux has a path for every open descriptor that leads to the very file that was opened,
 * whatever became of its name.
 */
const byDescriptor = process.platform === "linux" && existsSync("/proc/self/fd");

/** Puts Bun's own file in the place of a stream that is read from one. */
export function withBunFile(response: Response): Response {
  const file = byDescriptor ? fileOf(response) : undefined;
  // Without a content type Bun would add one, and a name to save the file under.
  if (file === undefined || !response.headers.has("content-type") || !file.take()) return response;
  // Bun opens the path when it gets the response, before anything else can run.
  setImmediate(closeSync, file.fd);
  const { status, statusText, headers } = response;
  const body = (globalThis as unknown as { Bun: BunFiles }).Bun.file(`/proc/self/fd/${file.fd}`);
  return new Response(body.slice(file.start, file.end), { status, statusText, headers });
}
