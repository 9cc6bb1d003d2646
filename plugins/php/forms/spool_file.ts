import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { join } from "node:path";

export interface SpoolPlace {
  /**
   * A folder of ours alone, but for the PHP user, who must be able to pass through it, and to write to it where uploads are to
   * be moved by a rename.
   */
  readonly dir: string;
  /** Whose the files become, when we are root. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Of the files; 0600 when absent. */
  readonly mode?: number | undefined;
  /** Makes a file to write; `open` of `node:fs/promises` when absent. */
  readonly open?: ((path: string, mode: number) => Promise<FileHandle>) | undefined;
}

/** A file with a name, for PHP to open. */
export class SpoolFile {
  readonly path: string;
  readonly #file: FileHandle;
  #length = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  static async create(
    kind: string,
    { dir, owner, mode = 0o600, open: make = exclusive }: SpoolPlace,
  ): Promise<SpoolFile> {
    const path = join(dir, `${kind}-${randomUUID()}`);
    const file = new SpoolFile(path, await make(path, mode));
    try {
      // By the descriptor: where PHP may write to the folder, the path may already be something else.
      if (owner !== undefined) await file.#file.chown(owner.uid, owner.gid);
    } catch (error) {
      await file.remove();
      throw error;
    }
    return file;
  }

  get length(): number {
    return this.#length;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) {
      at += (await this.#file.write(bytes, at, bytes.byteLength - at, this.#length + at)).bytesWritten;
    }
    this.#length += bytes.byteLength;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /** Closes and deletes it, whatever state it is in. Never rejects. */
  async remove(): Promise<void> {
    await this.#file.close().catch(() => {});
    await deleteFile(this.path);
  }
}

/** One that is no longer there is none of ours: PHP has moved it. Never rejects. */
export async function deleteFile(path: string): Promise<void> {
  await unlink(path).catch(() => {});
}

function exclusive(path: string, mode: number): Promise<FileHandle> {
  return open(path, "wx", mode);
}
