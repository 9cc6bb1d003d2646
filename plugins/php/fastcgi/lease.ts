import type { Child } from "./child.ts";
import { childDied } from "./errors.ts";
import type { FcgiHandler } from "./handler.ts";
import type { FcgiRequest } from "./request.ts";

/**
 * The right to use one PHP child. It ends with `done` or `kill`, whichever comes first; everything after that does
 * nothing, so that a late call can never touch the child's next holder.
 */
export class Lease {
  readonly #child: Child;
  readonly #life: number;
  #over = false;
  /** The process lent. */
  readonly pid: number;

  constructor(child: Child) {
    this.#child = child;
    this.#life = child.life;
    this.pid = child.pid;
    child.lease = this;
  }

  /** False when the child was lost: `send` fails as `unsent`, and all there is to do is `done`. */
  get alive(): boolean {
    return this.#child.lease === this;
  }

  /** As {@linkcode Connection.send}. */
  send(request: FcgiRequest, handler: FcgiHandler): void {
    if (this.alive) this.#child.connection!.send(request, handler);
    else handler.onFail(childDied("before the request was sent"), "unsent");
  }

  /** Stops and goes on reading the response; see {@linkcode Connection.pause}. */
  pause(): void {
    if (this.alive) this.#child.connection!.pause();
  }

  resume(): void {
    if (this.alive) this.#child.connection!.resume();
  }

  /**
   * Gives the child back, after the response has ended or failed; before, it is a `kill`.
   *
   * @param onFree called once, when a child is there for someone else: before this returns when the child goes on, else when
   * its successor has been greeted, or when {@linkcode ChildPool.childGone} or the pool's end is told. It must not throw.
   */
  done(onFree?: () => void): void {
    if (this.#end(onFree)) this.#child.finish(onFree);
  }

  /**
   * Ends the child's process, whatever it does, and closes its connection. The handler of a running request hears nothing
   * more.
   *
   * @param onFree as in `done`: what a permit must wait for, since a child that was told to die may still be at work
   */
  kill(reason: "killed" | "timeout", onFree?: () => void): void {
    if (this.#end(onFree)) this.#child.kill(reason, onFree);
  }

  /**
   * Closes the connection and leaves the process alone: nobody waits for the answer any more. PHP notices when it prints;
   * a script that goes on in silence is the caller's to end, at its deadline. A process that has not got its whole request
   * body is killed: it would take the close for the body's end, and run on half of it. The handler hears nothing more.
   *
   * @param onFree as in `done`: the successor's greeting is answered only when a process is free again
   */
  hangUp(onFree?: () => void): void {
    if (this.#end(onFree)) this.#child.hangUp(onFree);
  }

  /** Ends the lease; true when the child is still to be given back. */
  #end(onFree: (() => void) | undefined): boolean {
    if (this.#over) return false;
    this.#over = true;
    if (this.alive) return true;
    if (onFree !== undefined) this.#child.whenFree(this.#life, onFree);
    return false;
  }
}
