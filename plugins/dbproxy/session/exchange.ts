import type { CoreError } from "../../../core/error.ts";
import type { Backend } from "../backend/backend.ts";
import type { Statement } from "../sql/statement.ts";
import type { Step } from "../state/plan.ts";
import { CAP } from "../wire/capabilities.ts";
import { COM } from "../wire/commands.ts";
import { maxFrame } from "../wire/frame.ts";
import type { ErrPacket } from "../wire/packets.ts";
import { errorAnswer } from "./answers.ts";
import { errorFor, stoppedBy } from "./error_for.ts";
import type { Stopped } from "./guard.ts";
import type { Running } from "./running.ts";
import type { Session } from "./session.ts";

/** A session's commands on their way to its backend, and the ends of the replies: one at a time. */
export class Exchange {
  readonly #session: Session;
  readonly #running: Running;
  /** The command whose backend is awaited. */
  #waiting: Uint8Array | undefined;
  /** The answer to a command that must not run and has not come whole. */
  #refusal: ErrPacket | undefined;

  constructor(session: Session, running: Running) {
    this.#session = session;
    this.#running = running;
  }

  /** A cap holds up the command, or has refused it: nothing of it is at the backend. */
  get stopped(): boolean {
    return this.#refusal !== undefined || this.#session.guard?.waiting === true;
  }

  /** Has the backend do it, once it may run and there is one. */
  forward(frames: Uint8Array, statement: Statement | undefined): void {
    const { guard, reader } = this.#session;
    if (guard === undefined) return this.pass(frames, statement);
    const stopped = guard.ask((later) => {
      const { backend } = this.#session;
      if (later !== undefined) this.#turnAway(frames, later);
      else this.pass(frames, statement);
      // Else it goes on waiting, for a backend.
      if (later !== undefined || backend !== undefined) this.#session.flow();
    });
    if (stopped === undefined) this.pass(frames, statement);
    else if (stopped === "waits") reader.hold();
    else this.#turnAway(frames, stopped);
  }

  /** Whatever caps there are. */
  pass(frames: Uint8Array, statement: Statement | undefined): void {
    const session = this.#session;
    const { backend } = session;
    if (backend !== undefined) return this.#send(backend, none, frames);
    this.#waiting = frames;
    session.reader.hold();
    // After a plain SELECT all that can be read of earlier statements is its own.
    const fresh = statement?.kind !== "select" || statement.readsPrevious;
    session.hold.take(
      fresh,
      (lent, steps) => this.#sendWaiting(lent, steps),
      (error) => this.#refuse(error),
    );
  }

  /** More of a command that has not come whole. */
  onMore(frames: Uint8Array, last: boolean): void {
    const session = this.#session, running = this.#running;
    running.whole = last;
    if (this.#refusal !== undefined) return last ? this.#tell(this.#refusal) : undefined;
    const { backend } = session;
    if (backend === undefined) return last ? session.next() : undefined;
    if (!backend.write(frames)) session.reader.hold();
    if (last && (running.replied || !session.relay.active)) this.#done();
  }

  /** The reply has been relayed whole. */
  onReplied(): void {
    // It broke off: that has been told already.
    if (this.#session.backend === undefined) return;
    this.#running.replied = true;
    // A server may answer a command before it has read it whole.
    if (this.#running.whole) this.#done();
  }

  onBackendLost(error: CoreError): void {
    const session = this.#session;
    if (session.backend === undefined) return;
    const waits = this.#running.command >= 0 && !this.#running.replied;
    session.hold.drop("lost");
    session.host.problem(error);
    // Who waits for nothing sees what a client of the server sees: a connection closed both ways, so that over a unix socket
    // its next write fails already.
    if (waits) session.fail(errorFor(error));
    else session.close(true);
  }

  #sendWaiting(backend: Backend, steps: readonly Step[]): void {
    const session = this.#session;
    const frames = this.#waiting!;
    this.#waiting = undefined;
    const { schema } = session.track;
    if (schema !== undefined) session.host.schemas.remember(schema);
    this.#send(backend, steps, frames);
    session.flow();
  }

  #send(backend: Backend, steps: readonly Step[], frames: Uint8Array): void {
    const { hold, relay, reader, capabilities } = this.#session;
    const { command, whole } = this.#running;
    this.#running.started = this.#session.host.now();
    hold.use();
    relay.begin(command, {
      allowInfile: (capabilities & CAP.LOCAL_FILES) !== 0,
      // The reply goes on counting where the command's last frame ends.
      seq: whole && frames.byteLength <= maxFrame ? 1 : -1,
    });
    const flowing = backend.send(steps, frames);
    // CLOSE and SEND_LONG_DATA have no reply.
    if (!relay.active && whole) return this.#done();
    if (!flowing && !whole) reader.hold();
  }

  /**
   * A cap lets the command not run: the session lives on. What more comes of it is read and forgotten, but where there is more of it
   * than one frame, whose numbers the answer would have to go on from.
   */
  #turnAway(frames: Uint8Array, stopped: Stopped): void {
    const session = this.#session;
    const packet = stoppedBy(stopped);
    if (this.#running.whole) return this.#tell(packet);
    if ((frames[0]! | frames[1]! << 8 | frames[2]! << 16) === maxFrame) return session.fail(packet);
    this.#refusal = packet;
  }

  #tell(packet: ErrPacket): void {
    const session = this.#session;
    const { backend } = session;
    const { command, statementId } = this.#running;
    this.#refusal = undefined;
    const answer = () => session.answer(errorAnswer(packet));
    if (backend === undefined || command !== COM.STMT_EXECUTE) return answer();
    // Parameters that were sent ahead go with their execution, also with one that fails.
    backend.prepare([{ kind: "statement", id: statementId }], true).then(answer, (error) => {
      if (session.backend === backend) session.onBackendLost(error);
    });
  }

  /** No backend could be had, or not one that fits: the command has not run, the session lives on. */
  #refuse(error: CoreError): void {
    const session = this.#session;
    this.#waiting = undefined;
    session.guard?.leave();
    session.hold.drop("unprepared");
    session.host.problem(error);
    const packet = errorFor(error);
    if (!this.#running.whole) return session.fail(packet);
    session.answer(errorAnswer(packet));
    session.flow();
  }

  #done(): void {
    const session = this.#session;
    session.guard?.leave();
    this.#running.conclude(session, session.track, session.host, session.relay);
    session.next();
  }
}

const none: readonly Step[] = [];
