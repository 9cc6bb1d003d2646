import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type FileRequest, type FileSettings, StaticFiles } from "../../plugins/static/files.ts";

/** A public root in a folder of its own, so that there is something outside to reach for. */
export interface Tree {
  readonly base: string;
  readonly root: string;
  /** Writes a file below `base`; `mtime` in seconds since 1970. */
  write(path: string, content: string | Uint8Array, mtime?: number): void;
  link(path: string, target: string): void;
  remove(): void;
}

export const MTIME: number = Date.UTC(2024, 4, 6, 7, 8, 9) / 1000;
export const LAST_MODIFIED = "Mon, 06 May 2024 07:08:09 GMT";

export function tree(): Tree {
  const base = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "fairlead-static-")));
  const root = join(base, "public");
  fs.mkdirSync(root);
  return {
    base,
    root,
    write(path, content, mtime = MTIME) {
      const file = join(base, path);
      fs.mkdirSync(dirname(file), { recursive: true });
      fs.writeFileSync(file, content);
      fs.utimesSync(file, mtime, mtime);
    },
    link(path, target) {
      fs.mkdirSync(dirname(join(base, path)), { recursive: true });
      fs.symlinkSync(target, join(base, path));
    },
    remove: () => fs.rmSync(base, { recursive: true, force: true }),
  };
}

export function fifo(path: string): void {
  execFileSync("mkfifo", [path]);
}

export type Ask = (
  path: string,
  headers?: Record<string, string>,
  method?: string,
  query?: string,
) => Response | undefined;

export function asker(settings: FileSettings): Ask {
  const files = new StaticFiles(settings);
  return (path, headers = {}, method = "GET", query = "") => files.serve(request(path, headers, method, query));
}

export function request(path: string, headers: Record<string, string> = {}, method = "GET", query = ""): FileRequest {
  return { method, path, query, headers: new Headers(headers) };
}

/** The response that has to be there. */
export function must(response: Response | undefined): Response {
  if (response === undefined) throw new Error("expected a response, got none");
  return response;
}

/** Paths of open descriptors below `folder`. */
export function openBelow(folder: string): string[] {
  return fs.readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      return [];
    }
  });
}
