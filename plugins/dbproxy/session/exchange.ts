import type { CoreError } from "../../../core/error.ts";
import type { Backend } from "../backend/backend.ts";
import type { Statement } from "../sql/statement.ts";
import type { Step } from "../state/plan.ts";
import { CAP } from "../wire/capabilities.ts";
import { maxFrame } from "../wire/frame.ts";
import { errorAnswer } from "./answers.ts";
import { errorFor } from "./error_for.ts";
import type { Running } from "./running.ts";
import type { Session } from "./session.ts";

/** A session's commands on their way to its backend, and the ends of the replies: one at a time. */
export class Exchange {
  readonly #session: Session;
  readonly #running: Running;
  /** The command whose backend is awaited. */
  #waiting: Uint8Array | undefined;

  constructor(session: Session, running: Running) {
    this.#session = session;
    this.#running = running;
  }

  /** Has the backend do it, once there is one. */
  forward(frames: Uint8Array, statement: Statement | undefined): void {
    const session = this.#session;
    this.#running.started = session.host.now();
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

  /** No backend could be had, or not one that fits: the command has not run, the session lives on. */
  #refuse(error: CoreError): void {
    const session = this.#session;
    this.#waiting = undefined;
    session.hold.drop("unprepared");
    session.host.problem(error);
    const packet = errorFor(error);
    if (!this.#running.whole) return session.fail(packet);
    session.answer(errorAnswer(packet));
    session.flow();
  }

  #done(): void {
    const session = this.#session;
    this.#running.conclude(session, session.track, session.host, session.relay);
    session.next();
  }
}

const none: readonly Step[] = [];
