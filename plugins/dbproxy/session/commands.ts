import type { CoreError } from "../../../core/error.ts";
import { CAP } from "../wire/capabilities.ts";
import { COM } from "../wire/commands.ts";
import type { CommandSink } from "../wire/command_reader.ts";
import { unknownCommand } from "../wire/errors.ts";
import type { Backend } from "../backend/backend.ts";
import { errorAnswer, plainOk } from "./answers.ts";
import { errorFor } from "./error_for.ts";
import { kill } from "./kill.ts";
import { queryOf } from "./query.ts";
import { Reading } from "./reading.ts";
import type { Running } from "./running.ts";
import type { Session } from "./session.ts";
import { commandShortcut, queryShortcut, readingKey, readingOf } from "./shortcut.ts";
import { Track } from "./track.ts";

/** Commands that begin a copy of the server, or a stream without an end. */
const refused: ReadonlySet<number> = new Set([
  COM.BINLOG_DUMP,
  COM.BINLOG_DUMP_GTID,
  COM.TABLE_DUMP,
  COM.REGISTER_SLAVE,
  COM.CONNECT_OUT,
]);

/** Reads what each command of a session is and may leave behind, and has it answered here, or passed on to its backend. */
export class Commands implements CommandSink {
  readonly #session: Session;
  readonly #running: Running;
  readonly #changeUser: (payload: Uint8Array) => void;

  /** @param changeUser see `change_user.ts` */
  constructor(session: Session, running: Running, changeUser: (payload: Uint8Array) => void) {
    this.#session = session;
    this.#running = running;
    this.#changeUser = changeUser;
  }

  onCommand(command: number, frames: Uint8Array, whole: boolean): void {
    const session = this.#session, running = this.#running;
    running.begin(command, whole);
    const { track } = session;
    switch (command) {
      case COM.QUIT:
        running.end();
        return session.close(true);
      case COM.QUERY:
        return this.#onQuery(frames, whole);
      case COM.PING:
      case COM.INIT_DB:
      case COM.SET_OPTION: {
        running.option = frames[5] === 0;
        const known = session.backend === undefined && whole
          ? commandShortcut(command, frames, session, session.host)
          : undefined;
        if (known !== undefined) return session.answer(known);
        break;
      }
      case COM.STMT_CLOSE:
        running.prepared.delete(statementId(frames));
        if (session.backend === undefined) return session.next();
        break;
      case COM.STMT_PREPARE:
        track.soil("prepare");
        running.prepared.preparing(frames.subarray(5));
        running.preparedChanges ||= !whole ||
          session.host.analyser.analyse(frames.subarray(5), track.mode).changesCatalogue;
        break;
      case COM.STMT_EXECUTE:
      case COM.STMT_FETCH:
        // A statement may do anything; that it was prepared has soiled the session already.
        running.statementId = statementId(frames);
        break;
      case COM.STMT_SEND_LONG_DATA:
        break;
      case COM.STATISTICS:
      case COM.FIELD_LIST:
        break;
      case COM.RESET_CONNECTION: {
        const { backend } = session;
        // A reset on MariaDB gives the charset of the handshake: the client's, which the backend's may not be.
        if (session.host.facts.server === "mariadb" && backend !== undefined) return this.#reset(backend);
        track.soil("admin");
        break;
      }
      case COM.CHANGE_USER:
        if (!whole) return session.fail(unknownCommand());
        // A view of the reader's: what it holds is used while more is read.
        return this.#changeUser(frames.slice(4));
      case COM.PROCESS_KILL:
        if (whole && frames.byteLength === 9 && this.#kills(frames)) return;
        track.soil("admin");
        break;
      default:
        if (command < 0 || refused.has(command)) return session.answer(errorAnswer(unknownCommand()));
        // Whatever a server has that is not known here.
        track.soil("admin");
    }
    session.forward(frames, undefined);
  }

  onMore(frames: Uint8Array, last: boolean): void {
    this.#session.more(frames, last);
  }

  onProblem(error: CoreError): void {
    this.#session.fail(errorFor(error));
  }

  #onQuery(frames: Uint8Array, whole: boolean): void {
    const session = this.#session;
    const { host, track, capabilities } = session;
    const query = this.#running.query = queryOf(frames, whole, capabilities, host.analyser, track);
    const { statement } = query;
    if (statement.changesCatalogue) host.catalogueChanges();
    if (statement.kind === "kill" && statement.kill !== undefined && kill(session, host, statement.kill)) return;
    const known = session.backend === undefined ? queryShortcut(query, session, host) : undefined;
    if (known !== undefined) return session.answer(known);
    switch (statement.kind) {
      case "set":
      case "use":
      case "empty":
        break;
      case "select": {
        if (host.mayRunMore(statement.tables)) track.soil("function");
        const hears = (capabilities & CAP.SESSION_TRACK) !== 0;
        const names = hears ? undefined : readingOf(statement, track, host);
        if (names !== undefined && query.text !== undefined) {
          this.#running.reading = new Reading(readingKey(query.text, capabilities), names);
        }
        break;
      }
      default:
        track.soil(statement.residue ?? "opaque");
    }
    session.forward(frames, statement);
  }

  /** The old command for it. MySQL knows it no more: it says so itself. */
  #kills(frames: Uint8Array): boolean {
    const { host } = this.#session;
    const { server, version } = host.facts;
    if (server === "mysql" && version >= 90_000) return false;
    return kill(this.#session, host, { id: statementId(frames), query: false });
  }

  /** The client wants its session to begin anew. */
  #reset(backend: Backend): void {
    const session = this.#session, running = this.#running;
    const { host } = session;
    const { settings, schema, multiStatements } = session.track;
    const { root } = settings;
    running.prepared.clear();
    running.started = host.now();
    session.hold.use();
    backend.prepare([{ kind: "reset" }, { kind: "names", charset: root.charset }, { kind: "trackers" }]).then(
      () => {
        if (session.backend !== backend) return;
        session.track = new Track(session.host.facts, root, schema, multiStatements);
        session.track.soil("admin");
        session.answer(plainOk(session.track.status, session.capabilities));
      },
      (error) => session.onBackendLost(error),
    );
  }
}

/** The four bytes behind the command; -1 where there are less. */
function statementId(frames: Uint8Array): number {
  if (frames.byteLength < 9) return -1;
  return (frames[5]! | frames[6]! << 8 | frames[7]! << 16 | frames[8]! << 24) >>> 0;
}
