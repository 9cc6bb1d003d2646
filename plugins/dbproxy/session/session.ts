import { CoreError } from "../../../core/error.ts";
import type { Backend, BackendUser } from "../backend/backend.ts";
import { queryPayload } from "../backend/steps.ts";
import type { ByteSocket, SocketHandler } from "../net/socket.ts";
import { ReplyRelay } from "../reply/relay.ts";
import type { Statement } from "../sql/statement.ts";
import type { Step } from "../state/plan.ts";
import { CAP } from "../wire/capabilities.ts";
import { COM } from "../wire/commands.ts";
import { CommandReader } from "../wire/command_reader.ts";
import { frame, maxFrame } from "../wire/frame.ts";
import type { ErrPacket, OkPacket } from "../wire/packets.ts";
import { errorAnswer, plainOk } from "./answers.ts";
import { errorFor } from "./error_for.ts";
import { Hold } from "./hold.ts";
import { type SessionHost, wantOf } from "./host.ts";
import { PreparedTexts } from "./prepared.ts";
import { type Query, queryOf } from "./query.ts";
import { Reading } from "./reading.ts";
import { usualTrackers } from "./shown_trackers.ts";
import { commandShortcut, queryShortcut, readingKey, readingOf } from "./shortcut.ts";
import { Renumber } from "./renumber.ts";
import { kill } from "./kill.ts";
import { Track } from "./track.ts";
import { unknownCommand } from "../wire/errors.ts";

/** With more than this many bytes waiting on one side, the other is no longer read. */
const high = 262_144;

/** Commands that begin a copy of the server, or a stream without an end. */
const refusedCommands: ReadonlySet<number> = new Set([
  COM.BINLOG_DUMP,
  COM.BINLOG_DUMP_GTID,
  COM.TABLE_DUMP,
  COM.REGISTER_SLAVE,
  COM.CONNECT_OUT,
]);

/** What a session is made of, once its client is logged in. */
export interface SessionOptions {
  readonly id: number;
  readonly user: string;
  readonly capabilities: number;
  readonly socket: ByteSocket;
  /** Tells a compressed connection that the next command may come. */
  readonly restart?: (() => void) | undefined;
  readonly track: Track;
  /** A backend that was needed to log in. */
  readonly backend?: Backend | undefined;
  /** The backend whose id it was greeted with. */
  readonly promised?: Backend | undefined;
  /** Changes the user; see `change_user.ts`. */
  readonly changeUser: (session: Session, payload: Uint8Array) => void;
  /** A session with a connection of its own, that is not pooled. */
  readonly dedicated?: boolean;
}

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
  readonly #changeUser: SessionOptions["changeUser"];
  readonly #restart: (() => void) | undefined;
  readonly #hold: Hold;
  /** The client has left. */
  #gone = false;
  /** The command that runs. */
  #command = -1;
  #query: Query | undefined;
  #whole = true;
  #replied = false;
  #started = 0;
  #error = 0;
  #reading: Reading | undefined;
  readonly #prepared = new PreparedTexts();
  #statementId = 0;
  /** What COM_SET_OPTION asks for: multi-statements or not. */
  #option = false;
  /** A prepared statement may change databases, views, accounts. */
  #preparedChanges = false;
  /** Fails whoever reads a dialogue. */
  #unheard: ((error: CoreError) => void) | undefined;
  /** The command whose backend is awaited. */
  #waiting: Uint8Array | undefined;

  constructor(host: SessionHost, options: SessionOptions) {
    this.#host = host;
    this.id = options.id;
    this.user = options.user;
    this.dedicated = options.dedicated ?? false;
    this.capabilities = options.capabilities;
    this.track = options.track;
    this.#socket = options.socket;
    this.#changeUser = options.changeUser;
    this.#restart = options.restart;
    const { capabilities } = options;
    const client = {
      deprecateEof: (capabilities & CAP.DEPRECATE_EOF) !== 0,
      sessionTrack: (capabilities & CAP.SESSION_TRACK) !== 0,
      trackers: usualTrackers(host.facts.server),
    };
    this.relay = new ReplyRelay(client, (bytes, last) => this.#toClient(bytes, last), {
      onOk: (ok) => this.#onOk(ok),
      onErr: (err) => this.#onErr(err),
      onPrepared: (id) => this.#prepared.add(id),
      onInfile: () => this.#onInfile(),
      onEnd: () => {},
      onBroken: (error) => this.onBackendLost(error),
    });
    this.reader = new CommandReader({
      onCommand: (command, frames, whole) => this.#onCommand(command, frames, whole),
      onMore: (frames, last) => this.#onMore(frames, last),
      onProblem: (error) => this.#fail(errorFor(error)),
    });
    this.#hold = new Hold(this, host, options.promised);
    host.sessions.add(this);
    this.#socket.handler = this;
    // The backend may have died since: the session ends then, so all else must be there.
    this.#hold.adopt(options.backend);
  }

  /** The server's id of the connection it holds. */
  get backendId(): number | undefined {
    return this.#backend?.id;
  }

  /** The connection it holds. */
  get backend(): Backend | undefined {
    return this.#backend;
  }

  get state(): "idle" | "waiting" | "active" {
    return this.#hold.waiting ? "waiting" : this.#command >= 0 ? "active" : "idle";
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
    this.#backend?.resume();
  }

  onClose(): void {
    this.close();
  }

  /**
   * Ends the session, whatever it does: what runs is killed, what it has is cleaned and given back.
   *
   * @param quit the client has said its last word
   */
  close(quit = false): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#host.sessions.delete(this);
    // Who it was can be told of an open connection only, and what runs ends later.
    if (this.#command >= 0) this.#socket.peerPid?.([]);
    const socket = this.#socket;
    // Who sends nothing more need not be waited for: closing resets no connection. Only TLS has a word of its own for it.
    if (quit && !socket.encrypted && this.reader.held === 0 && socket.flushed()) socket.destroy();
    else socket.end();
    this.#unheard?.(new CoreError("DB_CLOSED", "The client left in the middle of a dialogue"));
    this.onLeave?.();
    if (this.#command < 0) return this.#hold.leave("nothing");
    this.#hold.leave(this.#whole && this.#command !== COM.CHANGE_USER ? "running" : "unending");
  }

  /** It is killed before it has a connection: the one it was promised is not seen again. */
  end(): void {
    const promised = this.promised;
    if (promised !== undefined) this.#host.promises.void(promised);
    this.close();
  }

  /** The backend whose id it was greeted with, as long as that is there for it. */
  get promised(): Backend | undefined {
    return this.#hold.promised;
  }

  /** It is sent before all that is noted about it. */
  #toClient(bytes: Uint8Array, last: boolean): void {
    this.#reading?.record(bytes);
    if (this.#gone) return;
    if (!this.#socket.write(bytes, last)) this.#hold.backend?.pause();
  }

  /** Answers without the server. */
  answer(bytes: Uint8Array): void {
    // The answers to commands that came together go out together.
    if (!this.#gone) this.#socket.write(bytes, this.reader.held === 0);
    this.#next();
  }

  /** Has the server asked in other words than the client's. */
  instead(text: string): void {
    this.#command = COM.QUERY;
    this.#forward(frame(0, queryPayload(text, (this.capabilities & CAP.QUERY_ATTRIBUTES) !== 0)), undefined);
  }

  /** The last words to a client. */
  #fail(packet: ErrPacket): void {
    const replying = this.#command >= 0 && (this.relay.active || this.#replied);
    // In the middle of a row, or of a dialogue, an error would be taken for a part of it.
    const may = this.#command !== COM.CHANGE_USER && (!replying || this.relay.whole);
    if (!this.#gone && may) this.#socket.write(errorAnswer(packet, replying ? this.relay.nextSeq : 1));
    this.close();
  }

  #next(): void {
    this.#command = -1;
    this.#query = undefined;
    if (this.#gone) return this.#hold.over();
    this.#restart?.();
    this.reader.next();
    if (this.reader.held <= high) this.#socket.resume();
  }

  // Commands.

  #onCommand(command: number, frames: Uint8Array, whole: boolean): void {
    this.#command = command;
    this.#whole = whole;
    this.#replied = false;
    this.#error = 0;
    this.#query = undefined;
    this.#reading = undefined;
    const { track } = this;
    switch (command) {
      case COM.QUIT:
        this.#command = -1;
        return this.close(true);
      case COM.QUERY:
        return this.#onQuery(frames, whole);
      case COM.PING:
      case COM.INIT_DB:
      case COM.SET_OPTION: {
        this.#option = frames[5] === 0;
        const known = this.#backend === undefined && whole
          ? commandShortcut(command, frames, this, this.#host)
          : undefined;
        if (known !== undefined) return this.answer(known);
        break;
      }
      case COM.STMT_CLOSE:
        this.#prepared.delete(statementId(frames));
        if (this.#backend === undefined) return this.#next();
        break;
      case COM.STMT_PREPARE:
        track.soil("prepare");
        this.#prepared.preparing(frames.subarray(5));
        this.#preparedChanges ||= !whole ||
          this.#host.analyser.analyse(frames.subarray(5), track.mode).changesCatalogue;
        break;
      case COM.STMT_EXECUTE:
      case COM.STMT_FETCH:
        // A statement may do anything; that it was prepared has soiled the session already.
        this.#statementId = statementId(frames);
        break;
      case COM.STMT_SEND_LONG_DATA:
        break;
      case COM.STATISTICS:
      case COM.FIELD_LIST:
        break;
      case COM.RESET_CONNECTION:
        // A reset on MariaDB gives the charset of the handshake: the client's, which the backend's may not be.
        if (this.#host.facts.server === "mariadb" && this.#backend !== undefined) return this.#reset(this.#backend);
        track.soil("admin");
        break;
      case COM.CHANGE_USER:
        if (!whole) return this.#fail(unknownCommand());
        // A view of the reader's: what it holds is used while more is read.
        return this.#changeUser(this, frames.slice(4));
      case COM.PROCESS_KILL:
        if (whole && frames.byteLength === 9) {
          const id = new DataView(frames.buffer, frames.byteOffset + 5, 4).getUint32(0, true);
          const { server, version } = this.#host.facts;
          // MySQL knows the command no more: it says so itself.
          if ((server === "mariadb" || version < 90_000) && kill(this, this.#host, { id, query: false })) return;
        }
        track.soil("admin");
        break;
      default:
        if (command < 0 || refusedCommands.has(command)) return this.answer(errorAnswer(unknownCommand()));
        // Whatever a server has that is not known here.
        track.soil("admin");
    }
    this.#forward(frames, undefined);
  }

  #onQuery(frames: Uint8Array, whole: boolean): void {
    const { track } = this;
    const host = this.#host;
    const query = this.#query = queryOf(frames, whole, this.capabilities, host.analyser, track);
    const { statement } = query;
    if (statement.changesCatalogue) host.catalogueChanges();
    if (statement.kind === "kill" && statement.kill !== undefined && kill(this, host, statement.kill)) return;
    const known = this.#backend === undefined ? queryShortcut(query, this, host) : undefined;
    if (known !== undefined) return this.answer(known);
    switch (statement.kind) {
      case "set":
      case "use":
      case "empty":
        break;
      case "select": {
        if (host.mayRunMore(statement.tables)) track.soil("function");
        const names = this.#hears ? undefined : readingOf(statement, track, host);
        if (names !== undefined && query.text !== undefined) {
          this.#reading = new Reading(readingKey(query.text, this.capabilities), names);
        }
        break;
      }
      default:
        track.soil(statement.residue ?? "opaque");
    }
    this.#forward(frames, statement);
  }

  /** The client wants its session to begin anew. */
  #reset(backend: Backend): void {
    const { settings, schema, multiStatements } = this.track;
    const { root } = settings;
    this.#prepared.clear();
    this.#started = this.#host.now();
    this.#hold.use();
    backend.prepare([{ kind: "reset" }, { kind: "names", charset: root.charset }, { kind: "trackers" }]).then(
      () => {
        if (this.#backend !== backend) return;
        this.track = new Track(this.#host.facts, root, schema, multiStatements);
        this.track.soil("admin");
        this.answer(plainOk(this.track.status, this.capabilities));
      },
      (error) => this.onBackendLost(error),
    );
  }

  get #backend(): Backend | undefined {
    return this.#hold.backend;
  }

  /** The client hears of changes in its session. */
  get #hears(): boolean {
    return (this.capabilities & CAP.SESSION_TRACK) !== 0;
  }

  #forward(frames: Uint8Array, statement: Statement | undefined): void {
    this.#started = this.#host.now();
    const backend = this.#backend;
    if (backend !== undefined) return this.#send(backend, [], frames);
    this.#waiting = frames;
    this.reader.hold();
    // After a plain SELECT all that can be read of earlier statements is its own.
    const fresh = statement?.kind !== "select" || statement.readsPrevious;
    this.#hold.take(
      fresh,
      (lent, steps) => this.#sendWaiting(lent, steps),
      (error) => this.#refuse(error),
    );
  }

  #sendWaiting(backend: Backend, steps: readonly Step[]): void {
    const frames = this.#waiting!;
    this.#waiting = undefined;
    if (this.track.schema !== undefined) this.#host.schemas.remember(this.track.schema);
    this.#send(backend, steps, frames);
    this.#flow();
  }

  #send(backend: Backend, steps: readonly Step[], frames: Uint8Array): void {
    this.#hold.use();
    this.relay.begin(this.#command, {
      allowInfile: (this.capabilities & CAP.LOCAL_FILES) !== 0,
      // The reply goes on counting where the command's last frame ends.
      ...(this.#whole && frames.byteLength <= maxFrame ? {} : { seq: -1 }),
    });
    const flowing = backend.send(steps, frames);
    // CLOSE and SEND_LONG_DATA have no reply.
    if (!this.relay.active && this.#whole) return this.#done();
    if (!flowing && !this.#whole) this.reader.hold();
  }

  #onMore(frames: Uint8Array, last: boolean): void {
    this.#whole = last;
    const backend = this.#backend;
    if (backend === undefined) return last ? this.#next() : undefined;
    if (!backend.write(frames)) this.reader.hold();
    if (last && (this.#replied || !this.relay.active)) this.#done();
  }

  #onInfile(): void {
    if ((this.capabilities & CAP.LOCAL_FILES) === 0) {
      // The client was not asked: it may send no file.
      this.#backend?.write(frame(this.relay.backendSeq, new Uint8Array(0)));
      return this.relay.infileSent();
    }
    const renumber = this.relay.shift === 0 ? undefined : new Renumber(this.relay.shift);
    this.reader.infile((frames, last) => {
      renumber?.pass(frames);
      if (this.#backend?.write(frames) === false) this.reader.hold();
      if (last) this.relay.infileSent();
    });
  }

  /** No backend could be had, or not one that fits: the command has not run, the session lives on. */
  #refuse(error: CoreError): void {
    this.#waiting = undefined;
    this.#hold.drop("unprepared");
    this.#host.problem(error);
    const packet = errorFor(error);
    if (!this.#whole) return this.#fail(packet);
    this.answer(errorAnswer(packet));
    this.#flow();
  }

  // The backend.

  onBackendDrain(): void {
    this.#flow();
  }

  /** Reads on where it was held up. */
  #flow(): void {
    this.reader.release();
    if (this.reader.held <= high) this.#socket.resume();
  }

  onBackendLost(error: CoreError): void {
    if (this.#backend === undefined) return;
    const waits = this.#command >= 0 && !this.#replied;
    this.#hold.drop("lost");
    this.#host.problem(error);
    // Who waits for nothing sees what a client of the server sees: a closed connection.
    if (waits) this.#fail(errorFor(error));
    else this.close();
  }

  #onOk(ok: OkPacket): void {
    const query = this.#query;
    this.track.ok(ok, query?.statement, query?.text, this.#host.graph);
    if (ok.warnings === 0) return;
    // A SELECT without tables leaves the warnings of the one before it.
    this.#reading = undefined;
    this.track.soil("show");
  }

  #onErr(err: ErrPacket): void {
    this.#error = err.code;
    this.#reading = undefined;
    this.track.soil("opaque");
  }

  /** The reply has been relayed whole. */
  onReplied(): void {
    // It broke off: that has been told already.
    if (this.#backend === undefined) return;
    this.#replied = true;
    // A server may answer a command before it has read it whole.
    if (this.#whole) this.#done();
  }

  #done(): void {
    const query = this.#query;
    const { track } = this;
    const reading = this.#reading;
    this.#reading = undefined;
    const reply = reading?.bytes;
    if (reading !== undefined && reply !== undefined && track.dirty === undefined) {
      this.#host.graph?.learnReading(track.settings, reading.key, reading.names, reply);
    }
    if (this.#command === COM.SET_OPTION && this.#error === 0) track.multiStatements = this.#option;
    const executes = this.#command === COM.STMT_EXECUTE && this.#preparedChanges;
    if (executes || query?.statement.changesCatalogue === true) this.#host.catalogueChanges();
    this.#host.executed(this, {
      command: this.#command,
      sql: query?.sql ?? this.#prepared.sqlOf(this.#command, this.#statementId),
      mode: track.mode,
      schema: track.schema,
      ms: this.#host.now() - this.#started,
      rows: this.relay.rows,
      bytes: this.relay.bytes,
      error: this.#error,
    });
    this.#next();
  }

  // COM_CHANGE_USER; see `change_user.ts`.

  /** Takes the backend that was needed to check its new schema, if any. */
  adopt(backend: Backend | undefined): void {
    this.#hold.adopt(backend);
  }

  /** Makes the backend it holds one of a new session. */
  async renew(track: Track): Promise<void> {
    if (this.#backend !== undefined) await this.#host.changeUser(this.#backend, wantOf(track, this.capabilities, true));
  }

  /** Goes on with a connection of its own. */
  move(host: SessionHost, backend: Backend): void {
    this.#host = host;
    this.dedicated = true;
    this.#hold.move(host, backend);
  }

  /** What follows is a new session. */
  begin(user: string, track: Track): void {
    this.user = user;
    this.track = track;
    this.#hold.begin();
    this.#prepared.clear();
    this.#preparedChanges = false;
  }

  /** The dialogue is over. */
  changed(): void {
    this.#next();
  }

  /** What its connection is like: whether a secret may come as it is, and over TLS. */
  get connection(): { readonly secure: boolean; readonly encrypted: boolean } {
    return this.#socket;
  }

  /** Where the client is, as a server says it. */
  get peer(): string {
    return this.#socket.remoteAddress === "" ? "localhost" : this.#socket.remoteAddress;
  }

  /** The process the client is, when it can be told; see {@linkcode ByteSocket}. */
  peerPid(candidates: Iterable<number>): number | undefined {
    return this.#socket.peerPid?.(candidates);
  }

  /**
   * The next packet of a dialogue, which is no command.
   *
   * @throws CoreError `DB_CLOSED` when the client leaves
   */
  packet(): Promise<{ readonly payload: Uint8Array; readonly seq: number }> {
    return new Promise((resolve, reject) => {
      if (this.#gone) return reject(new CoreError("DB_CLOSED", "The client has left"));
      this.#unheard = reject;
      this.reader.takePackets((payload, seq) => {
        this.#unheard = undefined;
        resolve({ payload: payload.slice(), seq });
        return false;
      });
    });
  }

  /** Writes packets that are no reply: a dialogue. */
  say(bytes: Uint8Array): void {
    if (!this.#gone) this.#socket.write(bytes);
  }
}

function statementId(frames: Uint8Array): number {
  if (frames.byteLength < 9) return -1;
  return (frames[5]! | frames[6]! << 8 | frames[7]! << 16 | frames[8]! << 24) >>> 0;
}
