import { CoreError } from "../../../core/error.ts";
import type { Backend, BackendUser } from "../backend/backend.ts";
import { queryPayload } from "../backend/steps.ts";
import type { ByteSocket, SocketHandler } from "../net/socket.ts";
import { ReplyRelay } from "../reply/relay.ts";
import type { Statement } from "../sql/statement.ts";
import { CAP } from "../wire/capabilities.ts";
import { COM } from "../wire/commands.ts";
import { CommandReader } from "../wire/command_reader.ts";
import { frame } from "../wire/frame.ts";
import type { ErrPacket } from "../wire/packets.ts";
import { errorAnswer } from "./answers.ts";
import { Commands } from "./commands.ts";
import { Exchange } from "./exchange.ts";
import { Guard } from "./guard.ts";
import { Hold } from "./hold.ts";
import { type SessionHost, wantOf } from "./host.ts";
import { passFile } from "./infile.ts";
import type { SessionOptions } from "./options.ts";
import { Running } from "./running.ts";
import { usualTrackers } from "./shown_trackers.ts";
import { SessionTalk } from "./talk.ts";
import type { Track } from "./track.ts";

/** With more than this many bytes waiting on one side, the other is no longer read. */
const high = 262_144;

/** One client that is logged in: its commands go to the backend it holds, from the first one that needs one to its end. */
export class Session implements SocketHandler, BackendUser {
  readonly id: number;
  readonly relay: ReplyRelay;
  readonly reader: CommandReader;
  readonly capabilities: number;
  user: string;
  track: Track;
  /** It has a connection of its own, that is not pooled. */
  dedicated: boolean;
  /** Refused changes of its user. */
  refusals = 0;
  /** Called once when the client leaves. */
  onLeave: (() => void) | undefined;
  #host: SessionHost;
  readonly #socket: ByteSocket;
  readonly #restart: (() => void) | undefined;
  readonly hold: Hold;
  /** Holds its statements to the caps on them, if there are any. */
  guard: Guard | undefined;
  readonly #running: Running = new Running();
  readonly #exchange: Exchange = new Exchange(this, this.#running);
  /** The client has left. */
  #gone = false;
  /** The dialogue that a command has begun. */
  #talk: SessionTalk | undefined;

  constructor(host: SessionHost, options: SessionOptions) {
    this.#host = host;
    this.id = options.id;
    this.user = options.user;
    this.dedicated = options.dedicated ?? false;
    this.capabilities = options.capabilities;
    this.track = options.track;
    this.#socket = options.socket;
    this.#restart = options.restart;
    const { capabilities } = options;
    const running = this.#running;
    const commands = new Commands(this, running, (payload) => {
      this.#talk = new SessionTalk(options.socket, this.reader);
      options.changeUser(this, this.#talk, payload);
    });
    const client = {
      deprecateEof: (capabilities & CAP.DEPRECATE_EOF) !== 0,
      sessionTrack: (capabilities & CAP.SESSION_TRACK) !== 0,
      trackers: usualTrackers(host.facts.server),
    };
    this.relay = new ReplyRelay(client, (bytes, last) => this.#toClient(bytes, last), {
      onOk: (ok) => running.onOk(ok, this.track, this.#host),
      onErr: (err) => running.onErr(err, this.track),
      onPrepared: (id) => running.prepared.add(id),
      onInfile: () => passFile(this, (capabilities & CAP.LOCAL_FILES) !== 0),
      onEnd: () => {},
      onBroken: (error) => this.onBackendLost(error),
    });
    this.reader = new CommandReader(commands);
    this.hold = new Hold(this, host, options.promised);
    this.guard = Guard.of(this, running);
    host.sessions.add(this);
    this.#socket.handler = this;
    // The backend may have died since: the session ends then, so all else must be there.
    this.hold.adopt(options.backend);
  }

  /** The server's id of the connection it holds. */
  get backendId(): number | undefined {
    return this.backend?.id;
  }

  /** The connection it holds. */
  get backend(): Backend | undefined {
    return this.hold.backend;
  }

  /** Whoever keeps the connections for it. */
  get host(): SessionHost {
    return this.#host;
  }

  get state(): "idle" | "waiting" | "active" {
    return this.hold.waiting || this.guard?.waiting === true
      ? "waiting"
      : this.#running.command >= 0
      ? "active"
      : "idle";
  }

  // The client.

  onData(chunk: Uint8Array): void {
    try {
      this.reader.push(chunk);
    } catch (cause) {
      // Whatever a client sends ends its own session at most.
      this.#host.problem(cause instanceof CoreError ? cause : new CoreError("DB_SESSION", String(cause), { cause }));
      return this.close();
    }
    if (this.reader.held > high) this.#socket.pause();
  }

  onDrain(): void {
    this.backend?.resume();
  }

  onClose(): void {
    this.close();
  }

  /**
   * Ends the session, whatever it does: what runs is killed, what it has is cleaned and given back.
   *
   * @param unread nothing more is to be read of the client: it has said its last word, or there is nobody to hear it
   */
  close(unread = false): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#host.sessions.delete(this);
    // Who it was can be told of an open connection only, and what runs ends later.
    if (this.#running.command >= 0) this.#socket.peerPid?.([]);
    const socket = this.#socket;
    // Who sends nothing more need not be waited for: closing resets no connection. Only TLS has a word of its own for it.
    if (unread && !socket.encrypted && this.reader.held === 0 && socket.flushed()) socket.destroy();
    else socket.end();
    this.#talk?.leave();
    this.onLeave?.();
    const { command, whole } = this.#running;
    if (command < 0 || this.#exchange.stopped) this.hold.leave("nothing");
    else this.hold.leave(whole && command !== COM.CHANGE_USER ? "running" : "unending");
    // Where something runs yet, its end gives back the permit.
    if (this.backend === undefined) this.guard?.leave();
  }

  /** It is killed before it has a connection: the one it was promised is not seen again. */
  end(): void {
    const promised = this.promised;
    if (promised !== undefined) this.#host.promises.void(promised);
    this.close();
  }

  /** The backend whose id it was greeted with, as long as that is there for it. */
  get promised(): Backend | undefined {
    return this.hold.promised;
  }

  /** It is sent before all that is noted about it, but for what is to be known of the client while it waits. */
  #toClient(bytes: Uint8Array, last: boolean): void {
    this.#running.reading?.record(bytes);
    if (this.#gone) return;
    const now = last && !this.#host.asksWho(this.#host.now() - this.#running.started);
    if (!this.#socket.write(bytes, now)) this.hold.backend?.pause();
  }

  /** Nothing runs any more on the connection it held. */
  onFree(): void {
    this.guard?.leave();
  }

  /** KILL QUERY, where the server has not been asked yet. */
  interrupt(): void {
    this.guard?.interrupt();
  }

  /** Answers without the server. */
  answer(bytes: Uint8Array): void {
    // The answers to commands that came together go out together.
    if (!this.#gone) this.#socket.write(bytes, this.reader.held === 0);
    this.next();
  }

  /** Has the server asked in other words than the client's. */
  instead(text: string): void {
    this.#running.command = COM.QUERY;
    this.#exchange.pass(frame(0, queryPayload(text, (this.capabilities & CAP.QUERY_ATTRIBUTES) !== 0)), undefined);
  }

  /** The last words to a client. */
  fail(packet: ErrPacket): void {
    const { command, replied } = this.#running;
    const replying = command >= 0 && (this.relay.active || replied);
    // In the middle of a row, or of a dialogue, an error would be taken for a part of it.
    const may = command !== COM.CHANGE_USER && (!replying || this.relay.whole);
    if (!this.#gone && may) this.#socket.write(errorAnswer(packet, replying ? this.relay.nextSeq : 1));
    this.close();
  }

  /** The command is over. */
  next(): void {
    this.#running.end();
    if (this.#gone) return this.hold.over();
    this.#restart?.();
    this.reader.next();
    if (this.reader.held <= high) this.#socket.resume();
  }

  // The backend.

  /** Has the backend do it, once there is one. */
  forward(frames: Uint8Array, statement: Statement | undefined): void {
    this.#exchange.forward(frames, statement);
  }

  /** More of a command that was not whole. */
  more(frames: Uint8Array, last: boolean): void {
    this.#exchange.onMore(frames, last);
  }

  onReplied(): void {
    this.#exchange.onReplied();
  }

  /** As they are: their number is right for a client that waits for nothing. */
  onLastWords(packet: Uint8Array): void {
    if (!this.#gone && this.#running.command < 0) this.#socket.write(packet, true);
  }

  onBackendLost(error: CoreError): void {
    this.#exchange.onBackendLost(error);
  }

  onBackendDrain(): void {
    this.flow();
  }

  /** Reads on where it was held up. */
  flow(): void {
    this.reader.release();
    if (this.reader.held <= high) this.#socket.resume();
  }

  // COM_CHANGE_USER; see `change_user.ts`.

  /** Takes the backend that was needed to check its new schema, if any. */
  adopt(backend: Backend | undefined): void {
    this.hold.adopt(backend);
  }

  /** Makes the backend it holds one of a new session. */
  async renew(track: Track): Promise<void> {
    if (this.backend !== undefined) await this.#host.changeUser(this.backend, wantOf(track, this.capabilities, true));
  }

  /** Goes on with a connection of its own. */
  move(host: SessionHost, backend: Backend): void {
    this.#host = host;
    this.dedicated = true;
    this.hold.move(host, backend);
  }

  /** What follows is a new session. */
  begin(user: string, track: Track): void {
    this.user = user;
    this.track = track;
    this.hold.begin();
    this.#running.renew();
    this.guard = Guard.of(this, this.#running);
  }

  /** The dialogue is over. */
  changed(): void {
    this.#talk = undefined;
    this.next();
  }

  /** Where the client is, as a server says it. */
  get peer(): string {
    return this.#socket.remoteAddress === "" ? "localhost" : this.#socket.remoteAddress;
  }

  /** The process the client is, when it can be told; see {@linkcode ByteSocket}. */
  peerPid(candidates: Iterable<number>): number | undefined {
    return this.#socket.peerPid?.(candidates);
  }
}
