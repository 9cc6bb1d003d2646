/**
 * What the tests need of a database server, whichever it is.
 *
 * @module
 */
import type { Certificates } from "./certificates.ts";

/** Where and as whom to log in: at a server, or at a proxy before it. */
export interface Place {
  readonly host: string;
  readonly port: number;
  readonly socket: string;
  readonly user: string;
  readonly password: string;
}

export interface DatabaseOptions {
  /** Lines of its `[mysqld]`, such as `max_connections=20`. */
  readonly options?: readonly string[];
  /** Certificates of the tests' own authority; TLS is then offered on TCP. MySQL offers TLS with its own ones anyhow. */
  readonly tls?: boolean;
  /** Statements to run as a user with every privilege before it is handed out. */
  readonly init?: readonly string[];
}

export interface Database extends Place {
  readonly kind: "mariadb" | "mysql";
  readonly host: "127.0.0.1";
  /** Of the process that runs now; -1 when none does. */
  readonly pid: number;
  readonly certificates: Certificates | undefined;
  output(): string;
  /** Runs statements as a user with every privilege over the socket, and returns the last one's rows. */
  admin(...statements: readonly string[]): Promise<(string | null)[][]>;
  /** SIGKILL, then gone until {@linkcode Database.start}. */
  kill(): Promise<void>;
  /** Shut down in order, then gone until {@linkcode Database.start}. */
  halt(): Promise<void>;
  /** After `kill` or `halt`: on the same port, with the same data. */
  start(): Promise<void>;
  /** SIGSTOP: connections are accepted by the system, but nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The user every test may use: all privileges, from the loopback address and over the socket. */
export const tester = { user: "tester", password: "tester-password" } as const;
