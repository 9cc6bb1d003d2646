import type { Holding, Party, Standing } from "./deadlock.ts";

/** Someone who holds and waits. */
export class Owner<H extends Holding = Holding, W extends Standing = Standing> implements Party {
  readonly self: object;
  readonly holds: H[] = [];
  readonly waits: W[] = [];
  /** When it was last heard of, where that is told. */
  heardAt = 0;

  constructor(self: object) {
    this.self = self;
  }
}

/** Owners of a store's permits and places in line: each is known for as long as it holds or waits. */
export class KnownOwners<H extends Holding, W extends Standing> {
  readonly #known = new Map<object, Owner<H, W>>();

  get size(): number {
    return this.#known.size;
  }

  find(self: object): Owner<H, W> | undefined {
    return this.#known.get(self);
  }

  /** The one that is known, or one that will be when it holds or waits. */
  of(self: object | undefined): Owner<H, W> | undefined {
    return self === undefined ? undefined : this.#known.get(self) ?? new Owner(self);
  }

  holds(owner: Owner<H, W>, holding: H): void {
    owner.holds.push(holding);
    this.#known.set(owner.self, owner);
  }

  waits(owner: Owner<H, W>, standing: W): void {
    owner.waits.push(standing);
    this.#known.set(owner.self, owner);
  }

  /** It holds that no more. */
  gaveUp(owner: Owner<H, W>, holding: H): void {
    drop(owner.holds, holding);
    this.#parted(owner);
  }

  /** It does not wait for that any more. */
  left(owner: Owner<H, W>, standing: W): void {
    drop(owner.waits, standing);
    this.#parted(owner);
  }

  #parted(owner: Owner<H, W>): void {
    if (owner.holds.length === 0 && owner.waits.length === 0) this.#known.delete(owner.self);
  }
}

function drop<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}
