import { CoreError } from "../../../core/error.ts";
import type { ByteSocket, SocketHandler } from "../net/socket.ts";
import type { Pooled } from "../pool/options.ts";
import { type Collected, ReplyCollector } from "../reply/collector.ts";
import type { ReplyRelay } from "../reply/relay.ts";
import type { RoleRisk } from "../session/track.ts";
import type { BackendState } from "../state/backend_state.ts";
import type { Step } from "../state/plan.ts";
import { CAP } from "../wire/capabilities.ts";
import { COM } from "../wire/commands.ts";
import { Conversation } from "../wire/conversation.ts";
import { decodeErr } from "../wire/err.ts";
import { frame } from "../wire/frame.ts";
import type { ErrPacket, Greeting } from "../wire/packets.ts";
import { type LoggedIn, ServerRefused } from "./login.ts";
import { type ServerFacts } from "./facts.ts";
import { encodeSteps, type OwnCommand, queryPayload } from "./steps.ts";

/** Who works with a backend while it is lent. */
export interface BackendUser {
  /** The reply to the command that was begun last. */
  readonly relay: ReplyRelay;
  /** What it leaves behind. */
  readonly track: { readonly role: RoleRisk; readonly schemaLost: boolean };
  /** The reply has ended, and nothing of it is being worked on any more. */
  onReplied(): void;
  /** The backend takes bytes again. */
  onBackendDrain(): void;
  /** The server says why it is about to close the connection, while no command runs: an error packet, whole. */
  onLastWords(packet: Uint8Array): void;
  /** The backend is gone or no longer makes sense; it must be discarded. */
  onBackendLost(error: CoreError): void;
}

/** Who owns it otherwise. */
export interface BackendOwner {
  /** It died, or spoke, while nobody used it. */
  onStray(backend: Backend, reason: "closed" | "spoke"): void;
}

/** One connection to the database, logged in. It does one thing at a time: it is idle, lent to a session, or runs a command of the proxy. */
export class Backend implements Pooled, SocketHandler {
  /** The server's connection id. */
  readonly id: number;
  /** Changes while it is lent only: it may get a default schema, and loses it with its user. */
  kind: string;
  /** A client was greeted with its id: while that one lives it serves nobody else. */
  promised = false;
  /** What it was greeted with, and asked for then. */
  readonly greeting: Greeting;
  readonly capabilities: number;
  facts: ServerFacts;
  state: BackendState;
  /** When it was last as good as new, in ms of the pool's clock. */
  renewed: number;
  /** Whether who used it last may have left it another role. */
  role: RoleRisk = "no";
  /** Why nobody may have it after who uses it now. */
  doom: string | undefined;
  readonly #socket: ByteSocket;
  readonly #owner: BackendOwner;
  /** Query attributes were negotiated. */
  readonly #attributes: boolean;
  readonly #collector = new ReplyCollector();
  #user: BackendUser | undefined;
  #pending: ((error: CoreError) => void)[] = [];
  #lost: CoreError | undefined;

  constructor(
    login: LoggedIn,
    options: { kind: string; facts: ServerFacts; state: BackendState; renewed: number; owner: BackendOwner },
  ) {
    this.id = login.greeting.threadId;
    this.greeting = login.greeting;
    this.capabilities = login.capabilities;
    this.kind = options.kind;
    this.facts = options.facts;
    this.state = options.state;
    this.renewed = options.renewed;
    this.#owner = options.owner;
    this.#attributes = (login.capabilities & CAP.QUERY_ATTRIBUTES) !== 0;
    this.#socket = login.socket;
    this.#socket.handler = this;
    if (login.leftover.byteLength > 0) this.onData(login.leftover);
  }

  /** Bytes that wait to be sent. */
  get pending(): number {
    return this.#socket.pending;
  }

  /** Hands it to a session: replies go to its relay from now on. */
  lend(user: BackendUser): void {
    this.#user = user;
    if (this.#lost !== undefined) user.onBackendLost(this.#lost);
  }

  /** Takes it back. */
  reclaim(): void {
    const track = this.#user?.track;
    if (track !== undefined) this.role = track.role;
    if (track?.schemaLost === true) this.doom ??= "schema";
    this.#user = undefined;
    this.#socket.resume();
  }

  /**
   * Sends a session's command, in one write with the steps that must come before it. The steps must be such that cannot
   * fail; when one does, the session is told that the backend is lost, whatever the command has done by then.
   */
  send(steps: readonly Step[], command: Uint8Array): boolean {
    if (steps.length === 0) return this.#socket.write(command, true);
    const parts: Uint8Array[] = [];
    for (const own of encodeSteps(steps, this.facts, this.#attributes)) {
      parts.push(this.#expect(own, (error) => this.#down(error)));
    }
    parts.push(command);
    return this.#socket.write(concat(parts), true);
  }

  /** More bytes of a command that has begun. */
  write(bytes: Uint8Array): boolean {
    return this.#socket.write(bytes);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /**
   * Runs steps on their own, in one write.
   *
   * @throws CoreError `DB_STEP_FAILED` with the server's text (the connection is not as it should be: discard it), or what
   * it was lost with
   * @param lenient the server may refuse steps
   */
  async prepare(steps: readonly Step[], lenient = false): Promise<void> {
    if (steps.length === 0) return;
    const parts: Uint8Array[] = [];
    const done = Promise.all(
      encodeSteps(steps, this.facts, this.#attributes).map((own) =>
        new Promise<void>((resolve, reject) => {
          const refused = (error: CoreError) => lenient && error instanceof StepFailed ? resolve() : reject(error);
          parts.push(this.#expect(own, refused, resolve));
          this.#pending.push(reject);
        })
      ),
    );
    this.#socket.write(concat(parts));
    try {
      await done;
    } finally {
      if (this.#collector.waiting === 0) this.#pending = [];
    }
  }

  /** Asks something of the server, several texts in one write. Errors of the server are in the answers. */
  async ask(texts: readonly string[]): Promise<readonly Collected[]> {
    const parts: Uint8Array[] = [];
    const answers = Promise.all(texts.map((text) =>
      new Promise<Collected>((resolve, reject) => {
        if (this.#lost !== undefined) return reject(this.#lost);
        this.#collector.expect(COM.QUERY, resolve);
        this.#pending.push(reject);
        parts.push(frame(0, queryPayload(text, this.#attributes)));
      })
    ));
    this.#socket.write(concat(parts));
    try {
      return await answers;
    } finally {
      if (this.#collector.waiting === 0) this.#pending = [];
    }
  }

  /**
   * Speaks with the server packet by packet, for what is no command and its reply: the dialogue of COM_CHANGE_USER.
   *
   * @throws what `talk` throws; the connection is lost then, unless that was an error packet
   */
  async converse<T>(talk: (server: Conversation) => Promise<T>): Promise<T> {
    if (this.#lost !== undefined) throw this.#lost;
    const server = new Conversation(this.#socket);
    try {
      return await talk(server);
    } catch (cause) {
      if (!(cause instanceof ServerRefused)) this.#down(cause as CoreError);
      throw cause;
    } finally {
      this.#socket.handler = this;
      const rest = server.leave();
      if (rest.byteLength > 0) this.onData(rest);
    }
  }

  /** Whether it answers. */
  async ping(): Promise<boolean> {
    try {
      return await new Promise<boolean>((resolve, reject) => {
        if (this.#lost !== undefined) return reject(this.#lost);
        this.#collector.expect(COM.PING, (reply) => resolve(reply.ok !== undefined));
        this.#pending.push(reject);
        this.#socket.write(frame(0, Uint8Array.of(COM.PING)));
      });
    } catch {
      return false;
    } finally {
      this.#pending = [];
    }
  }

  /** Ends the connection: with COM_QUIT when nothing runs, so that the server does not count an aborted client. */
  close(polite: boolean): void {
    const error = new CoreError("DB_CLOSED", "The proxy closed its connection to the database");
    this.#lost ??= error;
    this.promised = false;
    if (polite) {
      this.#socket.write(frame(0, Uint8Array.of(COM.QUIT)));
      this.#socket.end();
    } else this.#socket.destroy();
    for (const reject of this.#pending.splice(0)) reject(error);
  }

  onData(chunk: Uint8Array): void {
    let rest = chunk;
    try {
      if (this.#collector.waiting > 0) {
        const used = this.#collector.push(rest);
        if (used === rest.byteLength) return;
        rest = rest.subarray(used);
      }
      const user = this.#user;
      if (user === undefined) return this.#stray("spoke");
      const { relay } = user;
      if (!relay.active) return this.#unasked(rest, user);
      if (relay.push(rest) < rest.byteLength) return this.#down(protocol("bytes behind the end of a reply"));
      if (!relay.active) user.onReplied();
    } catch (cause) {
      this.#down(cause instanceof CoreError ? cause : protocol(String(cause)));
    }
  }

  /** MySQL tells a client that it has been idle for too long. */
  #unasked(bytes: Uint8Array, user: BackendUser): void {
    const length = bytes.byteLength < 7 ? 0 : bytes[0]! | bytes[1]! << 8 | bytes[2]! << 16;
    if (length + 4 !== bytes.byteLength || bytes[4] !== 0xff) {
      return this.#down(protocol("bytes that no command asked for"));
    }
    user.onLastWords(bytes);
    this.#down(new CoreError("DB_LOST", `The database closed the connection: ${decodeErr(bytes.subarray(4)).message}`));
  }

  onDrain(): void {
    this.#user?.onBackendDrain();
  }

  onClose(error: Error | undefined): void {
    if (this.#lost !== undefined) return;
    if (this.#user === undefined && this.#collector.waiting === 0) return this.#stray("closed");
    this.#down(
      new CoreError("DB_LOST", `The database closed the connection${error ? `: ${error.message}` : ""}`, {
        cause: error,
      }),
    );
  }

  #stray(reason: "closed" | "spoke"): void {
    if (this.#lost !== undefined) return;
    this.#lost = new CoreError("DB_LOST", "The database closed an idle connection");
    this.promised = false;
    this.#socket.destroy();
    this.#owner.onStray(this, reason);
  }

  #down(error: CoreError): void {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    this.promised = false;
    this.#socket.destroy();
    for (const reject of this.#pending.splice(0)) reject(error);
    this.#user?.onBackendLost(error);
  }

  /** Notes what is expected of a command, and frames it. */
  #expect(own: OwnCommand, failed: (error: CoreError) => void, done?: () => void): Uint8Array {
    if (this.#lost !== undefined) failed(this.#lost);
    this.#collector.expect(own.command, (reply) => {
      if (reply.err !== undefined) {
        const text = `The database refused ${own.step} in preparing a connection: ${reply.err.message}`;
        failed(new StepFailed(text, reply.err));
      } else done?.();
    });
    return frame(0, own.payload);
  }
}

/** A step of preparing a connection that the server refused. */
export class StepFailed extends CoreError {
  readonly packet: ErrPacket;

  constructor(text: string, packet: ErrPacket) {
    super("DB_STEP_FAILED", text);
    this.packet = packet;
  }
}

function protocol(what: string): CoreError {
  return new CoreError("DB_PROTOCOL", `The database sent ${what}`);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  let length = 0;
  for (const part of parts) length += part.byteLength;
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.byteLength;
  }
  return out;
}
