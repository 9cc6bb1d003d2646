/**
 * A raw client of the MySQL protocol: negotiates any flags, sends any packet, shows every byte of a reply. It shares no
 * code with the proxy, so that it can be its judge.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { ConnectionOptions } from "node:tls";
import type { Place } from "./database.ts";
import { Cursor, lenenc, lenencString, nul, uint } from "./mysql/bytes.ts";
import { rsaPassword, scramble } from "./mysql/scramble.ts";
import { type Packet, PacketStream } from "./mysql/stream.ts";
import {
  type Column,
  decodeBinaryRow,
  decodeColumn,
  decodeErr,
  decodeOk,
  decodeTextRow,
  type Result,
} from "./mysql/results.ts";

export type { Column, Result } from "./mysql/results.ts";

/** Capability bits. */
export const FLAGS = {
  LONG_PASSWORD: 1,
  FOUND_ROWS: 2,
  LONG_FLAG: 4,
  WITH_DB: 8,
  COMPRESS: 0x20,
  LOCAL_FILES: 0x80,
  IGNORE_SPACE: 0x100,
  PROTOCOL_41: 0x200,
  INTERACTIVE: 0x400,
  SSL: 0x800,
  TRANSACTIONS: 0x2000,
  SECURE_CONNECTION: 0x8000,
  MULTI_STATEMENTS: 0x10000,
  MULTI_RESULTS: 0x20000,
  PS_MULTI_RESULTS: 0x40000,
  PLUGIN_AUTH: 0x80000,
  CONNECT_ATTRS: 0x100000,
  SESSION_TRACK: 0x800000,
  DEPRECATE_EOF: 0x1000000,
  QUERY_ATTRIBUTES: 0x8000000,
} as const;

/** What mysqlnd asks for. */
const PHP_FLAGS: number = 0x1ba28d & ~FLAGS.WITH_DB & ~FLAGS.LOCAL_FILES;

export interface RawOptions {
  /** Over the unix socket instead of TCP. */
  readonly viaSocket?: boolean;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  /** Flags besides those of PHP. */
  readonly flags?: number;
  /** Flags of PHP not to ask for. */
  readonly without?: number;
  /** Collation id; 45 (utf8mb4_general_ci) when absent. */
  readonly charset?: number;
  /** The plugin whose answer goes with the login; the greeting's when absent. */
  readonly plugin?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  /** TLS before the login. */
  readonly tls?: ConnectionOptions;
  readonly maxPacket?: number;
}

export interface RawGreeting {
  readonly version: string;
  readonly threadId: number;
  readonly nonce: Buffer;
  readonly capabilities: number;
  readonly extended: Buffer;
  readonly charset: number;
  readonly status: number;
  readonly plugin: string;
  readonly bytes: Buffer;
}

/** An ERR packet that was not expected. */
export class MysqlError extends Error {
  readonly code: number;
  readonly state: string;

  constructor(code: number, state: string, message: string) {
    super(`${code} (${state}) ${message}`);
    this.code = code;
    this.state = state;
  }
}

export class RawClient {
  readonly stream: PacketStream;
  readonly greeting: RawGreeting;
  /** What both sides agreed on. */
  flags = 0;
  /** Payloads of the authentication phase, the server's after the greeting. */
  readonly dialogue: Buffer[] = [];

  private constructor(stream: PacketStream, greeting: RawGreeting) {
    this.stream = stream;
    this.greeting = greeting;
  }

  /** Reads the greeting only. An ERR in its place is thrown. */
  static async greet(place: Place, options: RawOptions = {}): Promise<RawClient> {
    const stream = await PacketStream.open(
      options.viaSocket ? { path: place.socket } : { host: place.host, port: place.port },
    );
    try {
      const { payload } = await stream.read();
      if (payload[0] === 0xff) throw errorOf(payload, false);
      return new RawClient(stream, decodeGreeting(payload));
    } catch (error) {
      stream.destroy();
      throw error;
    }
  }

  /** Connects and logs in. */
  static async login(place: Place, options: RawOptions = {}): Promise<RawClient> {
    const client = await RawClient.greet(place, options);
    try {
      await client.authenticate({ user: place.user, password: place.password, ...options });
      return client;
    } catch (error) {
      client.stream.destroy();
      throw error;
    }
  }

  /** Sends the login for a greeting that was read, and goes through the dialogue. */
  async authenticate(options: RawOptions): Promise<Result & { kind: "ok" }> {
    const { greeting } = this;
    const { database, password = "", user = "", maxPacket = 0xc0000000, charset = 45 } = options;
    let asked = ((PHP_FLAGS | (options.flags ?? 0)) & ~(options.without ?? 0)) >>> 0;
    if (database !== undefined) asked |= FLAGS.WITH_DB;
    if (options.attributes) asked |= FLAGS.CONNECT_ATTRS;
    else asked &= ~FLAGS.CONNECT_ATTRS;
    if (options.tls) asked |= FLAGS.SSL;
    else asked &= ~FLAGS.SSL;
    this.flags = (asked & (greeting.capabilities | FLAGS.WITH_DB)) >>> 0;
    const plugin = options.plugin ?? greeting.plugin;
    const head = Buffer.concat([uint(this.flags, 4), uint(maxPacket, 4), uint(charset & 255, 1), Buffer.alloc(23)]);
    let seq = 1;
    if (options.tls) {
      this.stream.send(head, seq++);
      await this.stream.secure(options.tls);
    }
    const auth = scramble(plugin, password, greeting.nonce);
    const parts = [head, nul(user), uint(auth.length, 1), auth];
    if (database !== undefined) parts.push(nul(database));
    if (this.flags & FLAGS.PLUGIN_AUTH) parts.push(nul(plugin));
    if (this.flags & FLAGS.CONNECT_ATTRS) {
      parts.push(lenencString(Buffer.concat(Object.entries(options.attributes ?? {}).flat().map(lenencString))));
    }
    this.stream.send(Buffer.concat(parts), seq);
    const secure = options.tls !== undefined || options.viaSocket === true;
    const ok = await this.#dialogue(plugin, password, greeting.nonce, secure);
    if (this.flags & FLAGS.COMPRESS) this.stream.compress();
    return ok;
  }

  async #dialogue(plugin: string, password: string, nonce: Buffer, secure: boolean): Promise<Result & { kind: "ok" }> {
    for (;;) {
      const { payload, seq } = await this.stream.read();
      this.dialogue.push(payload);
      switch (payload[0]) {
        case 0x00:
          return decodeOk(payload, this.flags);
        case 0xff:
          throw errorOf(payload, true);
        case 0xfe: {
          const cursor = new Cursor(payload, 1);
          plugin = cursor.untilNul().toString();
          nonce = cursor.take(Math.min(cursor.left, 20));
          this.stream.send(
            secure && plugin === "sha256_password" ? nul(password) : scramble(plugin, password, nonce),
            seq + 1,
          );
          break;
        }
        case 0x01:
          if (payload.length === 2 && payload[1] === 3) break;
          if (payload.length === 2 && payload[1] === 4) {
            this.stream.send(secure ? nul(password) : Buffer.of(2), seq + 1);
          } else {
            this.stream.send(rsaPassword(password, nonce, payload.subarray(1)), seq + 1);
          }
          break;
        default:
          throw new Error(`Unexpected in the login: ${payload.toString("hex")}`);
      }
    }
  }

  /** One command; its reply is read by what comes next. */
  command(code: number, payload: string | Uint8Array = ""): void {
    this.stream.forget();
    this.stream.send(Buffer.concat([Buffer.of(code), Buffer.from(payload as string)]));
  }

  /** COM_QUERY with all its results. `infile` is what to send when the server asks for a file. */
  async query(sql: string | Uint8Array, infile?: Buffer): Promise<Result[]> {
    const attributes = this.flags & FLAGS.QUERY_ATTRIBUTES ? Buffer.of(0, 1) : Buffer.alloc(0);
    this.command(3, Buffer.concat([attributes, Buffer.from(sql as string)]));
    return await this.results(false, infile);
  }

  /** The rows of the only result as texts; throws what the server refused. */
  async rows(sql: string): Promise<(string | null)[][]> {
    const [result] = ok(await this.query(sql));
    return result?.kind === "rows" ? result.rows.map((row) => row.map((value) => value?.toString() ?? null)) : [];
  }

  /** The first field of the first row. */
  async one(sql: string): Promise<string | null | undefined> {
    return (await this.rows(sql))[0]?.[0];
  }

  /** Runs statements one after the other, and fails at the first that fails. */
  async run(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) ok(await this.query(statement));
  }

  /** The results of a command that answers as COM_QUERY does; rows of the binary protocol with `binary`. */
  async results(binary = false, infile?: Buffer): Promise<Result[]> {
    const all: Result[] = [];
    for (;;) {
      const result = await this.#result(binary, infile);
      all.push(result);
      if (result.kind === "error" || (result.status & 8) === 0) return all;
    }
  }

  async #result(binary: boolean, infile: Buffer | undefined): Promise<Result> {
    const { payload, seq } = await this.stream.read();
    if (payload[0] === 0x00) return decodeOk(payload, this.flags);
    if (payload[0] === 0xff) return decodeErr(payload);
    if (payload[0] === 0xfb) {
      let next = seq + 1;
      for (let at = 0; infile && at < infile.length; at += 65536) {
        this.stream.send(infile.subarray(at, at + 65536), next++);
      }
      this.stream.send(Buffer.alloc(0), next);
      return await this.#result(binary, undefined);
    }
    const columns = await this.columns(new Cursor(payload).lenenc()!);
    if (!(this.flags & FLAGS.DEPRECATE_EOF)) {
      const status = (await this.stream.read()).payload.readUInt16LE(3);
      // A cursor was opened: the rows are fetched one by one, and nothing follows.
      if (status & 0x40) return { kind: "rows", columns, rows: [], status, warnings: 0 };
    }
    return await this.fetched(columns, binary);
  }

  async columns(count: number): Promise<Column[]> {
    const columns: Column[] = [];
    while (columns.length < count) columns.push(decodeColumn((await this.stream.read()).payload));
    return columns;
  }

  /** Rows up to their end. */
  async fetched(columns: readonly Column[], binary: boolean): Promise<Result> {
    const rows: (Buffer | null)[][] = [];
    for (;;) {
      const { payload } = await this.stream.read();
      const modern = (this.flags & FLAGS.DEPRECATE_EOF) !== 0;
      if (payload[0] === 0xff) return decodeErr(payload);
      if (payload[0] === 0xfe && (modern ? payload.length < 0xffffff : payload.length < 9)) {
        if (modern) {
          const { status, warnings } = decodeOk(payload, this.flags);
          return { kind: "rows", columns, rows, status, warnings };
        }
        return { kind: "rows", columns, rows, status: payload.readUInt16LE(3), warnings: payload.readUInt16LE(1) };
      }
      rows.push(binary ? decodeBinaryRow(payload, columns) : decodeTextRow(payload, columns.length));
    }
  }

  /** COM_STMT_PREPARE; throws the server's refusal. */
  async prepare(sql: string): Promise<{ id: number; params: number; columns: Column[] }> {
    this.command(0x16, sql);
    const { payload } = await this.stream.read();
    if (payload[0] === 0xff) throw errorOf(payload, true);
    const [id, columnCount, params] = [payload.readUInt32LE(1), payload.readUInt16LE(5), payload.readUInt16LE(7)];
    const classic = !(this.flags & FLAGS.DEPRECATE_EOF);
    await this.columns(params);
    if (params > 0 && classic) await this.stream.read();
    const columns = await this.columns(columnCount);
    if (columnCount > 0 && classic) await this.stream.read();
    return { id, params, columns };
  }

  /** COM_STMT_EXECUTE; every value goes as a string. */
  async execute(id: number, values: readonly (string | Uint8Array | null)[] = [], cursor = 0): Promise<Result[]> {
    const nulls = Buffer.alloc((values.length + 7) >> 3);
    values.forEach((value, index) => value === null && (nulls[index >> 3]! |= 1 << (index & 7)));
    const parts = [uint(id, 4), uint(cursor, 1), uint(1, 4)];
    if (values.length > 0) {
      parts.push(nulls, Buffer.of(1), ...values.map(() => Buffer.of(0xfd, 0)));
      for (const value of values) if (value !== null) parts.push(lenencString(value));
    }
    this.command(0x17, Buffer.concat(parts));
    return await this.results(true);
  }

  /** COM_STMT_CLOSE; no reply comes. */
  closeStatement(id: number): void {
    this.command(0x19, uint(id, 4));
  }

  /** A command whose reply is one packet: OK, ERR, or an end. */
  async simple(code: number, payload: string | Uint8Array = ""): Promise<Result> {
    this.command(code, payload);
    const packet = await this.stream.read();
    if (packet.payload[0] === 0xff) return decodeErr(packet.payload);
    if (packet.payload[0] === 0xfe && packet.payload.length === 5) {
      return {
        kind: "ok",
        affected: 0,
        insertId: 0,
        status: packet.payload.readUInt16LE(3),
        warnings: 0,
        info: "",
        trackers: undefined,
      };
    }
    return decodeOk(packet.payload, this.flags);
  }

  ping(): Promise<Result> {
    return this.simple(0x0e);
  }

  reset(): Promise<Result> {
    return this.simple(0x1f);
  }

  /** COM_CHANGE_USER, with its dialogue; throws the server's refusal. */
  async changeUser(user: string, password: string, database = "", charset = 45): Promise<void> {
    // No scramble goes with it: the server always starts the dialogue anew.
    this.command(
      0x11,
      Buffer.concat([nul(user), uint(0, 1), nul(database), uint(charset, 2), nul(this.greeting.plugin)]),
    );
    await this.#dialogue(this.greeting.plugin, password, this.greeting.nonce, false);
  }

  /** The last reply as text: one line a packet, `seq: hex`. */
  dump(): string {
    return this.stream.seen.map(({ seq, payload }: Packet) => `${seq}: ${payload.toString("hex")}`).join("\n");
  }

  /** COM_QUIT, and waits for the server to close. */
  async quit(): Promise<void> {
    this.command(1);
    await this.stream.closed;
  }

  /** Closes without a word, as a killed client does. */
  destroy(): void {
    this.stream.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
    await this.stream.closed;
  }
}

/** The results, when none is an error; else throws it. */
export function ok(results: Result[]): Result[] {
  for (const result of results) {
    if (result.kind === "error") throw new MysqlError(result.code, result.state, result.message);
  }
  return results;
}

function errorOf(payload: Buffer, stated: boolean): MysqlError {
  if (stated || payload[3] === 0x23) {
    const { code, state, message } = decodeErr(payload);
    return new MysqlError(code, state, message);
  }
  return new MysqlError(payload.readUInt16LE(1), "", payload.subarray(3).toString());
}

function decodeGreeting(bytes: Buffer): RawGreeting {
  const cursor = new Cursor(bytes, 1);
  const version = cursor.untilNul().toString();
  const threadId = cursor.uint(4);
  const first = cursor.take(8);
  cursor.take(1);
  const low = cursor.uint(2);
  const [charset, status, high, length] = [cursor.uint(1), cursor.uint(2), cursor.uint(2), cursor.uint(1)];
  const extended = cursor.take(10).subarray(6);
  const second = cursor.take(Math.max(13, length - 8)).subarray(0, 12);
  const plugin = cursor.untilNul().toString();
  return {
    version,
    threadId,
    nonce: Buffer.concat([first, second]),
    capabilities: (low | high << 16) >>> 0,
    extended,
    charset,
    status,
    plugin,
    bytes,
  };
}

/** A length-encoded integer, for packets made by hand. */
export { lenenc, lenencString, nul, uint };
