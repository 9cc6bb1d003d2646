import type { Executions, RunningExecution } from "../../../core/contracts/executions.ts";
import { unixPeerPid } from "../../../core/libc.ts";
import type { Peer } from "./listen.ts";

/** What is needed to know of executions; without `byPid` they are nameless. */
export type KnownExecutions = Pick<Executions, "whenEnded"> & Partial<Pick<Executions, "byPid">>;

/** Who owns what an execution asks for, where that is somebody who is known already. */
export type OwnerOf = (execution: RunningExecution) => object | undefined;

/** Who asks, as operators may be shown it. */
export interface Asker {
  readonly pid?: number;
  /** Of the HTTP request. */
  readonly id?: string;
  readonly target?: string;
}

/** The process at the other end of a connection, and the execution of the server's that it runs. */
export class PeerProcess {
  readonly #peer: Peer;
  readonly #executions: KnownExecutions | undefined;
  readonly #ownerOf: OwnerOf | undefined;
  readonly #onEnded: () => void;
  /** -1 until it has been looked for. */
  #pid: number | undefined = -1;
  #execution: object | undefined;
  #asker: Asker | undefined;
  #forget: (() => void) | undefined;

  /** @param onEnded the execution that was found last has ended */
  constructor(
    peer: Peer,
    executions: KnownExecutions | undefined,
    ownerOf: OwnerOf | undefined,
    onEnded: () => void,
  ) {
    this.#peer = peer;
    this.#executions = executions;
    this.#ownerOf = ownerOf;
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
    const running = executions!.byPid?.(pid!);
    this.#asker = running === undefined ? { pid: pid! } : { pid: pid!, id: running.id, target: running.target };
    return this.#execution = (running && this.#ownerOf?.(running)) ?? this.#asker;
  }

  /** What is known of whoever asks now. */
  get asker(): Asker {
    const { pid } = this;
    return this.#asker ?? (pid === undefined ? {} : { pid });
  }

  /** Nothing is to be heard of it any more. */
  forget(): void {
    this.#forget?.();
  }

  #ended(): void {
    this.#execution = this.#asker = this.#forget = undefined;
    this.#onEnded();
  }
}
