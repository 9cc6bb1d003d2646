/**
 * Opening files so that what was checked is what is read.
 *
 * @module
 */
import * as fs from "node:fs";
import { sep } from "node:path";
import { CoreError } from "../../core/error.ts";
import { isPublicOnDisk } from "./path.ts";

/** A regular file, open for reading. Whoever receives it closes `fd`. */
export interface OpenFile {
  readonly fd: number;
  /** Bytes. */
  readonly size: number;
  /** Nanoseconds since 1970, as exact as the runtime tells (Deno: milliseconds). */
  readonly mtime: bigint;
}

/** `O_NONBLOCK`: a pipe put in the place of a file must not stop the server. Windows has neither. */
const FLAGS = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0) | (fs.constants.O_NOCTTY ?? 0);

/** Why a path cannot be opened that means "no such file" to a client; anything else is the server's trouble. */
const ABSENT = new Set(["ENOENT", "ENOTDIR", "EISDIR", "EACCES", "EPERM", "ELOOP", "ENXIO", "ENAMETOOLONG", "ENODEV"]);

/**
 * Where the file behind a descriptor is, links resolved. Linux tells it by the descriptor itself, which nobody can swap
 * in between. Elsewhere the path is resolved and must lead to the same file that was opened.
 */
export type WhereIs = (fd: number, path: string) => string | undefined;

export const byDescriptor: WhereIs = (fd) => fs.readlinkSync(`/proc/self/fd/${fd}`);

export const byPath: WhereIs = (fd, path) => {
  const real = fs.realpathSync.native(path);
  const [opened, found] = [fs.fstatSync(fd, { bigint: true }), fs.lstatSync(real, { bigint: true })];
  return opened.ino === found.ino && opened.dev === found.dev ? real : undefined;
};

function bestWay(): WhereIs {
  if (process.platform !== "linux") return byPath;
  try {
    return fs.readlinkSync("/proc/self/fd/0") === "" ? byPath : byDescriptor;
  } catch {
    return byPath;
  }
}

/** The folders files may come from: the public root, and those that links in it may lead into. */
export class Roots {
  readonly #folders: readonly string[];
  readonly #whereIs: WhereIs;
  readonly #onEscape: (path: string, real: string) => void;
  readonly #denied: (path: string) => boolean;
  #real: readonly string[] = [];
  /** The first of the folders. */
  #root: string | undefined;

  /** `onEscape` is told of a link that leads out of every folder; `denied` is asked where in the first folder a file really is. */
  constructor(
    folders: readonly string[],
    onEscape: (path: string, real: string) => void = () => {},
    whereIs: WhereIs = bestWay(),
    denied: (path: string) => boolean = () => false,
  ) {
    this.#folders = folders;
    this.#onEscape = onEscape;
    this.#whereIs = whereIs;
    this.#denied = denied;
  }

  /**
   * Opens a regular file that is inside, whatever links lead there.
   *
   * @throws CoreError `FILE_UNREADABLE` (503) when the system cannot open any file now
   */
  open(path: string): OpenFile | "folder" | undefined {
    let fd: number;
    try {
      fd = fs.openSync(path, FLAGS);
    } catch (cause) {
      if (!ABSENT.has((cause as NodeJS.ErrnoException).code ?? "")) throw unreadable(path, cause);
      // Where a folder cannot be opened (Windows) it is still a folder.
      return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ? "folder" : undefined;
    }
    let kept = false;
    try {
      const stat = fs.fstatSync(fd, { bigint: true });
      if (stat.isDirectory()) return "folder";
      if (!stat.isFile() || !this.#allows(fd, path)) return undefined;
      kept = true;
      return { fd, size: Number(stat.size), mtime: stat.mtimeNs };
    } finally {
      if (!kept) fs.closeSync(fd);
    }
  }

  #allows(fd: number, path: string): boolean {
    let real: string | undefined;
    try {
      real = this.#whereIs(fd, path);
    } catch {
      return false;
    }
    if (real === undefined) return false;
    let inside = this.#relative(real);
    if (inside === undefined) {
      // A deploy may have turned the link that leads to the root.
      this.#resolve();
      inside = this.#relative(real);
    }
    if (inside === undefined) this.#onEscape(path, real);
    if (inside === undefined || !isPublicOnDisk(inside)) return false;
    // Patterns are about the public root: what is in another folder is asked for by the name of the link.
    return !this.#inRoot(real) || !this.#denied(inside);
  }

  /** The rest of `real` below the folder it is in, with its leading slash. */
  #relative(real: string): string | undefined {
    for (const folder of this.#real) {
      if (real.startsWith(folder) && real.startsWith(sep, folder.length)) {
        const rest = real.slice(folder.length);
        return sep === "/" ? rest : rest.replaceAll(sep, "/");
      }
    }
    return undefined;
  }

  #inRoot(real: string): boolean {
    const root = this.#root;
    return root !== undefined && real.startsWith(root) && real.startsWith(sep, root.length);
  }

  #resolve(): void {
    this.#root = realFolder(this.#folders[0]!);
    this.#real = this.#folders.map(realFolder).filter((real) => real !== undefined);
  }
}

/** A folder with its links resolved and without a slash at its end; undefined when there is none. */
function realFolder(folder: string): string | undefined {
  try {
    const real = fs.realpathSync.native(folder);
    return real.endsWith(sep) ? real.slice(0, -1) : real;
  } catch {
    return undefined;
  }
}

function unreadable(path: string, cause: unknown): CoreError {
  return new CoreError("FILE_UNREADABLE", `Cannot open ${path}: ${(cause as Error).message}`, { status: 503, cause });
}
