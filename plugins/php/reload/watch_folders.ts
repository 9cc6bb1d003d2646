/**
 * Tells when files of the application change, for reloads in development.
 *
 * @module
 */
import { dirname } from "node:path";
import { type Clock, systemClock } from "../../../core/clock.ts";
import { FolderTree } from "./folder_tree.ts";
import { diskFs, type WatchFs } from "./watch_fs.ts";
import { watchRules } from "./watch_patterns.ts";

export interface WatchFoldersOptions {
  /** What relative patterns are relative to. */
  readonly root: string;
  /**
   * `app/**` + `/*.php`, `config/*.{php,yaml}`, `.env`, or a folder. Folders named `node_modules`, `vendor`, `.git`, `var` and
   * `storage` are left out unless a pattern names them.
   */
  readonly patterns: readonly string[];
  /** Once for a burst of changes, with the paths that changed, came or went, sorted. */
  onChange(paths: readonly string[]): void;
  /** Something a user should know, as a sentence without a period. */
  onNotice?(text: string): void;
  /** Look for changes instead of being told: for folders of other machines, whose events do not come. */
  readonly poll?: boolean | undefined;
  /** Ms between two rounds of looking, at least; 500 when absent. */
  readonly pollMs?: number | undefined;
  /** Ms without another change that end a burst; 150 when absent. */
  readonly debounceMs?: number | undefined;
  /** Files that are looked at, at most; 50,000 when absent. */
  readonly maxFiles?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fs?: WatchFs | undefined;
}

export interface FolderWatch {
  /** `native`: the system tells. `poll`: by looking, because it was asked for or the system does not tell. */
  readonly mode: "native" | "poll";
  /** Files it looks at. */
  readonly files: number;
  close(): void;
}

/** Ms of looking at once. */
const slice = 4;
/** Rests so many times as long as it looked: 1 % of a core. */
const rest = 100;
/** The same while the system tells. */
const auditRest = 500;
/** Files that changed lately are looked at in every slice: they are the ones being worked on. */
const maxRecent = 32;
/** Ms between rounds of looking while the system tells: what it does not tell is found by these. */
const auditMs = 5000;
/** A burst that does not end is told after so many times its silence. */
const patience = 10;
/** An event may be this late (ms), or early. */
const lateness = 1000;

/**
 * Begins to watch. The folders are read once before it returns.
 *
 * The system's events only say where to look; what has changed is what differs on disk. So a lost event costs time, not a
 * reload: a slow round of looking finds it, and when no event comes at all the watch goes over to looking.
 */
export function watchFolders(options: WatchFoldersOptions): FolderWatch {
  return new Watching(options);
}

class Watching implements FolderWatch {
  readonly #options: WatchFoldersOptions;
  readonly #clock: Clock;
  readonly #fs: WatchFs;
  readonly #roots: readonly string[];
  readonly #matches: (file: string) => boolean;
  readonly #debounceMs: number;
  readonly #tree: FolderTree;
  readonly #watchers = new Map<string, () => void>();
  /** Folders to look at. */
  readonly #dirty = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #recent = new Set<string>();
  #mode: "native" | "poll";
  #closed = false;
  #cancelRound = () => {};
  #cancelBurst = () => {};
  /** When the burst began. */
  #burst: number | undefined;
  #toldAt = -Infinity;
  /** When looking found what no event had told. */
  #untold: number | undefined;

  constructor(options: WatchFoldersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#fs = options.fs ?? diskFs;
    this.#debounceMs = options.debounceMs ?? 150;
    this.#mode = options.poll === true ? "poll" : "native";
    const rules = watchRules(options.root, options.patterns);
    this.#roots = rules.roots;
    this.#matches = rules.matches;
    this.#tree = new FolderTree(this.#fs, rules, options.maxFiles ?? 50_000, {
      onFile: (path) => this.#changed.add(path),
      onFolder: (path) => this.#watch(path),
      onFolderGone: (path) => this.#unwatch(path),
    });
    for (const _ of this.#tree.all());
    this.#changed.clear();
    if (this.#tree.full) {
      options.onNotice?.(`Watching ${this.#tree.files} files and no more; name fewer folders in the patterns`);
    }
    this.#watchAnchors();
    this.#nextRound(0);
  }

  get mode(): "native" | "poll" {
    return this.#mode;
  }

  get files(): number {
    return this.#tree.files;
  }

  close(): void {
    this.#closed = true;
    this.#cancelRound();
    this.#cancelBurst();
    this.#unwatchAll();
  }

  #watch(folder: string): void {
    if (this.#mode === "poll" || this.#closed || this.#watchers.has(folder)) return;
    try {
      const close = this.#fs.watch(folder, (name) => this.#told(folder, name), (error) => this.#fails(folder, error));
      this.#watchers.set(folder, close);
    } catch (error) {
      this.#fails(folder, error);
    }
  }

  #unwatch(folder: string): void {
    this.#watchers.get(folder)?.();
    this.#watchers.delete(folder);
  }

  #unwatchAll(): void {
    for (const close of this.#watchers.values()) close();
    this.#watchers.clear();
  }

  /** A root that is not there shows in the nearest folder above. */
  #watchAnchors(): void {
    for (const root of this.#roots) {
      if (this.#tree.has(root)) continue;
      let above = dirname(root);
      while (this.#fs.list(above) === undefined && above !== dirname(above)) above = dirname(above);
      this.#watch(above);
    }
  }

  #told(folder: string, name: string | undefined): void {
    if (this.#closed || this.#mode === "poll") return;
    this.#toldAt = this.#clock.now();
    if (name !== undefined && this.#concernsNothing(`${folder}/${name}`)) return;
    this.#dirty.add(folder);
    this.#wait();
  }

  /** A file that is not asked for, as logs are, prolongs no burst. */
  #concernsNothing(path: string): boolean {
    if (this.#matches(path) || this.#tree.has(path)) return false;
    const stat = this.#fs.stat(path);
    return stat !== undefined && !stat.folder;
  }

  #fails(folder: string, error: unknown): void {
    // A folder that has gone is no failure: the one above tells.
    if (this.#closed || this.#fs.list(folder) === undefined) return;
    this.#toPolling(`the system does not watch ${folder}: ${error instanceof Error ? error.message : String(error)}`);
  }

  #toPolling(why: string): void {
    if (this.#mode === "poll") return;
    this.#mode = "poll";
    this.#unwatchAll();
    this.#options.onNotice?.(`Looking for changes every ${this.#pollMs} ms: ${why}`);
    this.#nextRound(0);
  }

  get #pollMs(): number {
    return this.#options.pollMs ?? 500;
  }

  /** Waits for the end of a burst. */
  #wait(): void {
    const now = this.#clock.now();
    this.#burst ??= now;
    const left = this.#burst + patience * this.#debounceMs - now;
    this.#cancelBurst();
    this.#cancelBurst = this.#clock.setTimer(Math.max(0, Math.min(this.#debounceMs, left)), () => this.#burstEnds());
  }

  #burstEnds(): void {
    this.#burst = undefined;
    for (const folder of this.#dirty) this.#look(folder);
    this.#dirty.clear();
    const paths = [...this.#changed].sort();
    this.#changed.clear();
    if (this.#untold !== undefined && this.#toldAt < this.#untold - lateness) {
      this.#toPolling("files change without the system telling");
    }
    this.#untold = undefined;
    if (paths.length === 0) return;
    this.#remember(paths);
    this.#options.onChange(paths);
  }

  #remember(paths: readonly string[]): void {
    for (const path of paths.slice(0, maxRecent)) {
      this.#recent.delete(path);
      this.#recent.add(path);
    }
    for (const path of this.#recent) {
      if (this.#recent.size <= maxRecent) break;
      this.#recent.delete(path);
    }
  }

  #look(folder: string): void {
    if (this.#tree.has(folder)) this.#tree.look(folder);
    for (const root of this.#roots) if (!this.#tree.has(root)) this.#tree.look(root);
    this.#watchAnchors();
  }

  #nextRound(after: number): void {
    const every = this.#mode === "poll" ? this.#pollMs : auditMs;
    this.#lookIn(Math.max(after, every), this.#tree.all());
  }

  #lookIn(ms: number, looking: Generator<void, void>): void {
    this.#cancelRound();
    if (!this.#closed) this.#cancelRound = this.#clock.setTimer(ms, () => this.#round(looking));
  }

  #round(looking: Generator<void, void>): void {
    const start = this.#clock.now();
    const before = this.#changed.size;
    let over = false;
    if (this.#mode === "poll") { for (const path of this.#recent) this.#tree.lookAtFile(path); }
    while (!over && this.#clock.now() - start < slice) over = looking.next().done === true;
    if (this.#changed.size > before) {
      if (this.#mode === "native" && this.#dirty.size === 0) this.#untold ??= start;
      this.#wait();
    }
    const pause = (this.#mode === "poll" ? rest : auditRest) * (this.#clock.now() - start);
    if (over) this.#nextRound(pause);
    else this.#lookIn(pause, looking);
  }
}
