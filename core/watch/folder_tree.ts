import { dirname } from "node:path";
import type { WatchFs } from "./watch_fs.ts";
import type { WatchRules } from "./watch_patterns.ts";

/** Told by a {@linkcode FolderTree}. */
export interface TreeEvents {
  onFile(path: string): void;
  onFolder(path: string): void;
  onFolderGone(path: string): void;
}

interface Folder {
  readonly id: string;
  readonly files: Map<string, string>;
  folders: ReadonlySet<string>;
}

/** What is known of the watched folders, and how it differs from what is there now. */
export class FolderTree {
  readonly #fs: WatchFs;
  readonly #rules: WatchRules;
  readonly #events: TreeEvents;
  readonly #folders = new Map<string, Folder>();
  readonly #maxFiles: number;
  #files = 0;

  constructor(fs: WatchFs, rules: WatchRules, maxFiles: number, events: TreeEvents) {
    this.#fs = fs;
    this.#rules = rules;
    this.#maxFiles = maxFiles;
    this.#events = events;
  }

  get folders(): Iterable<string> {
    return this.#folders.keys();
  }

  get files(): number {
    return this.#files;
  }

  /** Whether there are more files than it looks at. */
  get full(): boolean {
    return this.#files >= this.#maxFiles;
  }

  has(folder: string): boolean {
    return this.#folders.has(folder);
  }

  /** Looks at everything. It may rest after every folder. */
  *all(): Generator<void, void> {
    const seen = new Set<string>();
    for (const root of this.#rules.roots) yield* this.#below(root, seen);
  }

  /** Looks at one folder, and at what is new below it. */
  look(folder: string): void {
    for (const _ of this.#below(folder, undefined));
  }

  /** Looks at one file, of a folder that is known. */
  lookAtFile(path: string): void {
    const folder = this.#folders.get(dirname(path));
    if (folder !== undefined && !this.#file(folder, path) && folder.files.has(path)) this.#fileGone(folder, path);
  }

  /** @param seen folders of this round; undefined: only new ones are entered */
  *#below(path: string, seen: Set<string> | undefined): Generator<void, void> {
    if (seen?.has(path)) return;
    seen?.add(path);
    const folders = this.#compare(path);
    yield;
    for (const folder of folders) {
      if (seen !== undefined || !this.has(folder)) yield* this.#below(folder, seen);
    }
  }

  #compare(path: string): ReadonlySet<string> {
    const stat = this.#fs.stat(path);
    const id = stat?.folder === true ? stat.id : undefined;
    // Another folder of this name has files of its own.
    if (this.#folders.get(path)?.id !== id) this.#forget(path);
    if (id === undefined) return new Set();
    // Known before it is read: what comes meanwhile is told.
    const folder = this.#folder(path, id);
    const entries = this.#fs.list(path);
    if (entries === undefined) {
      this.#forget(path);
      return new Set();
    }
    const files = new Set<string>();
    const folders = new Set<string>();
    for (const { name, kind } of entries) {
      const full = path === "/" ? `/${name}` : `${path}/${name}`;
      if (kind === "folder" ? this.#rules.enters(full) : kind === "link" && this.#leadsOn(full)) folders.add(full);
      else if (kind !== "folder" && this.#asked(folder, full) && this.#file(folder, full)) files.add(full);
    }
    for (const file of folder.files.keys()) if (!files.has(file)) this.#fileGone(folder, file);
    for (const known of folder.folders) {
      if (!folders.has(known) || this.#fs.stat(known)?.id !== this.#folders.get(known)?.id) this.#forget(known);
    }
    folder.folders = folders;
    return folders;
  }

  #folder(path: string, id: string): Folder {
    let folder = this.#folders.get(path);
    if (folder === undefined) {
      this.#folders.set(path, folder = { id, files: new Map(), folders: new Set() });
      this.#events.onFolder(path);
    }
    return folder;
  }

  #asked(folder: Folder, path: string): boolean {
    return folder.files.has(path) || this.#rules.matches(path);
  }

  /** Whether there is such a file. */
  #file(folder: Folder, path: string): boolean {
    const known = folder.files.get(path);
    if (known === undefined && this.full) return false;
    const stat = this.#fs.stat(path);
    if (stat === undefined || stat.folder) return false;
    if (stat.stamp === known) return true;
    if (known === undefined) this.#files++;
    folder.files.set(path, stat.stamp);
    this.#events.onFile(path);
    return true;
  }

  #fileGone(folder: Folder, path: string): void {
    folder.files.delete(path);
    this.#files--;
    this.#events.onFile(path);
  }

  #forget(path: string): void {
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    this.#folders.delete(path);
    for (const file of folder.files.keys()) this.#fileGone(folder, file);
    for (const below of folder.folders) this.#forget(below);
    this.#events.onFolderGone(path);
  }

  /** Whether a link leads to a folder that is none of those it lies in. */
  #leadsOn(link: string): boolean {
    if (!this.#rules.enters(link)) return false;
    const target = this.#fs.stat(link);
    if (target === undefined || !target.folder) return false;
    for (let above = dirname(link);; above = dirname(above)) {
      if (this.#fs.stat(above)?.id === target.id) return false;
      if (above === dirname(above)) return true;
    }
  }
}
