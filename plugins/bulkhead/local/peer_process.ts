import type { Executions } from "../../../core/contracts/executions.ts";
import { unixPeerPid } from "../../../core/libc.ts";
import type { Peer } from "./listen.ts";

/** The process at the other end of a connection, and the execution of the server's that it runs. */
export class PeerProcess {
  readonly #peer: Peer;
  readonly #executions: Pick<Executions, "whenEnded"> | undefined;
  readonly #onEnded: () => void;
  /** -1 until it has been looked for. */
  #pid: number | undefined = -1;
  #execution: object | undefined;
  #forget: (() => void) | undefined;

  /** @param onEnded the execution that was found last has ended */
  constructor(peer: Peer, executions: Pick<Executions, "whenEnded"> | undefined, onEnded: () => void) {
    this.#peer = peer;
    this.#executions = executions;
    this.#onEnded = onEnded;
  }

  /** Undefined when it cannot be told. */
  get pid(): number | undefined {
    if (this.#pid === -1) {
      const { fd } = this.#peer;
      // 0: a process that this container cannot see.
      this.#pid = (fd === undefined || fd < 0 ? undefined : unixPeerPid(fd)) || undefined;
    }
    return this.#pid;
  }

  /** The execution that asks now, if the peer runs one: what it asks for ends with that. */
  execution(): object | undefined {
    if (this.#execution !== undefined) return this.#execution;
    const executions = this.#executions;
    const pid = executions === undefined ? undefined : this.pid;
    const forget = pid === undefined ? undefined : executions!.whenEnded(pid, () => this.#ended());
    if (forget === undefined) return undefined;
    this.#forget = forget;
    return this.#execution = {};
  }

  /** Nothing is to be heard of it any more. */
  forget(): void {
    this.#forget?.();
  }

  #ended(): void {
    this.#execution = this.#forget = undefined;
    this.#onEnded();
  }
}
