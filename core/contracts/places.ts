import type { Address } from "../http/address.ts";
import { type Awaitable, type Token, token } from "../plugin.ts";

/** A listener. */
export interface Stoppable {
  /** Closes it, and its connections. */
  stop(force: true): unknown;
}

/** An address that was taken. */
export interface Taken<T> {
  /** What `open` returned. */
  readonly bound: T;
  /** Takes the name of a unix socket away, unless it is a successor's by now. Before the listener is closed. */
  leave(): void;
}

/**
 * Where parts of the server listen. They take their addresses here, so that `fairlead restart` can put a successor beside a server
 * that runs, and neither refuses anybody. The core provides it.
 *
 * @example
 * ```ts
 * const { bound, leave } = await places.take(at, (at, shared) => open(at, { reusePort: shared }));
 * places.onPassed(() => bound.stopAccepting());
 * ```
 */
export interface Places {
  /**
   * Binds an address that must be free, but for the server that this one is to replace.
   *
   * @param open binds what it is given: of a unix socket another name, which becomes the right one when `open` is done; with
   * SO_REUSEPORT when `shared`
   * @param dress gives a unix socket its mode and owner before it has its name
   * @throws CoreError `ADDRESS_TAKEN` and its kin, and those of `open` and `dress`
   */
  take<T extends Stoppable>(
    at: Address,
    open: (at: Address, shared: boolean) => Awaitable<T>,
    dress?: (path: string) => void,
  ): Promise<Taken<T>>;
  /**
   * `stop` is called when a successor serves all that is listened on here, and nobody comes here any more: stop accepting. Connections
   * live on. It must do nothing where that was done already.
   */
  onPassed(stop: () => Awaitable<void>): void;
}

/** The service of the core by which parts listen. */
export const Places: Token<Places> = token("places@1");
