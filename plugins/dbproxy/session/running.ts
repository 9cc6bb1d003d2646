import { COM } from "../wire/commands.ts";
import type { Digest } from "../sql/digest.ts";
import type { ErrPacket, OkPacket } from "../wire/packets.ts";
import type { Client, SessionHost } from "./host.ts";
import { PreparedTexts } from "./prepared.ts";
import type { Query } from "./query.ts";
import type { Reading } from "./reading.ts";
import type { Track } from "./track.ts";

/** The reply that is being relayed. */
export interface Counted {
  readonly rows: number;
  readonly bytes: number;
}

/** The command of a session that runs, what is noted of it, and what earlier ones have left that concerns it. */
export class Running {
  /** Its byte; -1: none runs. */
  command = -1;
  /** It has come to its end. */
  whole = true;
  /** The reply to it was relayed to its end. */
  replied = false;
  /** When it went to the server, on the host's clock. */
  started = 0;
  query: Query | undefined;
  /** That of its text, where somebody had to know it before it ran. */
  digest: Digest | undefined;
  /** The reply to it, while it may be one to keep. */
  reading: Reading | undefined;
  /** The statement that it is about. */
  statementId = 0;
  /** What COM_SET_OPTION asks for: multi-statements or not. */
  option = false;
  /** A prepared statement may change databases, views, accounts. */
  preparedChanges = false;
  readonly prepared: PreparedTexts = new PreparedTexts();
  /** The server's error code; 0 for none. */
  #error = 0;

  begin(command: number, whole: boolean): void {
    this.command = command;
    this.whole = whole;
    this.replied = false;
    this.#error = 0;
    this.query = undefined;
    this.digest = undefined;
    this.reading = undefined;
  }

  /** The text that is executed, of a prepared statement too; undefined where there is none, or it is not known. */
  get sql(): Uint8Array | undefined {
    return this.query?.sql ?? this.prepared.sqlOf(this.command, this.statementId);
  }

  end(): void {
    this.command = -1;
    this.query = undefined;
  }

  /** What follows is a new session. */
  renew(): void {
    this.prepared.clear();
    this.preparedChanges = false;
  }

  onOk(ok: OkPacket, track: Track, host: SessionHost): void {
    track.ok(ok, this.query?.statement, this.query?.text, host.graph);
    if (ok.warnings === 0) return;
    // A SELECT without tables leaves the warnings of the one before it.
    this.reading = undefined;
    track.soil("show");
  }

  onErr(err: ErrPacket, track: Track): void {
    this.#error = err.code;
    this.reading = undefined;
    track.soil("opaque");
  }

  /** It is over: what it has shown is learned and counted. */
  conclude(client: Client, track: Track, host: SessionHost, reply: Counted): void {
    const { command, query, reading } = this;
    if (reading !== undefined) this.#learn(reading, track, host);
    if (command === COM.SET_OPTION && this.#error === 0) track.multiStatements = this.option;
    const executes = command === COM.STMT_EXECUTE && this.preparedChanges;
    if (executes || query?.statement.changesCatalogue === true) host.catalogueChanges();
    host.executed(client, {
      command,
      sql: this.sql,
      digest: this.digest,
      mode: track.mode,
      schema: track.schema,
      ms: host.now() - this.started,
      rows: reply.rows,
      bytes: reply.bytes,
      error: this.#error,
    });
  }

  #learn(reading: Reading, track: Track, host: SessionHost): void {
    this.reading = undefined;
    const { bytes } = reading;
    if (bytes === undefined || track.dirty !== undefined) return;
    host.graph?.learnReading(track.settings, reading.key, reading.names, bytes);
  }
}
