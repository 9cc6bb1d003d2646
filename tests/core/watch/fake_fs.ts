import type { WatchEntry, WatchFs, WatchStat } from "../../../core/watch/watch_fs.ts";

type Node =
  | { readonly kind: "file"; readonly id: string; version: number }
  | { readonly kind: "folder"; readonly id: string; readonly items: Map<string, Node> }
  | { readonly kind: "link"; readonly to: string };

interface Watcher {
  onEvent(name: string | undefined): void;
  onError(error: Error): void;
}

/** A file system in memory, that tells or does not tell. */
export class FakeFs implements WatchFs {
  readonly #root: Node & { kind: "folder" } = { kind: "folder", id: "root", items: new Map() };
  readonly watched: Map<string, Watcher> = new Map();
  /** Whether events come. */
  tells: boolean = true;
  /** Folders that can be watched. */
  room: number = Infinity;
  stats: number = 0;
  #ids = 0;

  list(path: string): readonly WatchEntry[] | undefined {
    const node = this.#at(path);
    return node?.kind === "folder" ? [...node.items].map(([name, { kind }]) => ({ name, kind })) : undefined;
  }

  stat(path: string): WatchStat | undefined {
    this.stats++;
    const node = this.#at(path);
    if (node === undefined || node.kind === "link") return undefined;
    const stamp = node.kind === "file" ? `${node.id}:${node.version}` : node.id;
    return { folder: node.kind === "folder", id: node.id, stamp };
  }

  watch(path: string, onEvent: (name: string | undefined) => void, onError: (error: Error) => void): () => void {
    if (this.#at(path)?.kind !== "folder") throw new Error("ENOENT");
    if (this.watched.has(path)) throw new Error(`watched twice: ${path}`);
    if (this.watched.size >= this.room) throw new Error("ENOSPC");
    this.watched.set(path, { onEvent, onError });
    return () => void this.watched.delete(path);
  }

  write(path: string): void {
    const [folder, name] = this.#parent(path);
    const node = folder.items.get(name);
    if (node?.kind === "file") node.version++;
    else folder.items.set(name, { kind: "file", id: `${this.#ids++}`, version: 0 });
    this.#tell(path);
  }

  mkdir(path: string): void {
    this.#parent(`${path}/x`);
  }

  link(path: string, to: string): void {
    const [folder, name] = this.#parent(path);
    folder.items.set(name, { kind: "link", to });
    this.#tell(path);
  }

  remove(path: string): void {
    const [folder, name] = this.#parent(path);
    folder.items.delete(name);
    this.#tell(path);
  }

  move(from: string, to: string): void {
    const [folder, name] = this.#parent(from);
    const node = folder.items.get(name)!;
    folder.items.delete(name);
    const [target, as] = this.#parent(to);
    target.items.set(as, node);
    this.#tell(from);
    this.#tell(to);
  }

  #tell(path: string): void {
    const at = path.lastIndexOf("/");
    if (this.tells) this.watched.get(path.slice(0, at) || "/")?.onEvent(path.slice(at + 1));
  }

  #parent(path: string): [folder: Node & { kind: "folder" }, name: string] {
    const names = path.split("/").slice(1);
    let node = this.#root;
    let full = "";
    for (const name of names.slice(0, -1)) {
      full += `/${name}`;
      let next = node.items.get(name);
      if (next === undefined) {
        node.items.set(name, next = { kind: "folder", id: `${this.#ids++}`, items: new Map() });
        this.#tell(full);
      }
      if (next.kind !== "folder") throw new Error(`no folder: ${full}`);
      node = next;
    }
    return [node, names.at(-1)!];
  }

  #at(path: string, links = 0): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const name of path.split("/").filter((name) => name !== "")) {
      if (node?.kind !== "folder") return undefined;
      node = node.items.get(name);
      if (node?.kind === "link") node = links > 20 ? undefined : this.#at(node.to, links + 1);
    }
    return node;
  }
}
