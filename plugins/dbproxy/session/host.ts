import type { DatabaseCaps } from "../../../core/contracts/statement_caps.ts";
import type { CoreError } from "../../../core/error.ts";
import type { Backend } from "../backend/backend.ts";
import { kindOf } from "../backend/kind.ts";
import type { ServerFacts } from "../backend/facts.ts";
import type { Checkout, CheckoutWaiter } from "../pool/options.ts";
import type { Analyser } from "../sql/analyser.ts";
import type { Digest } from "../sql/digest.ts";
import type { Residue, SqlMode } from "../sql/statement.ts";
import type { SettingsGraph } from "../state/graph.ts";
import { reachable } from "../state/plan.ts";
import type { Settings } from "../state/settings.ts";
import type { WantedState } from "../state/backend_state.ts";
import type { Promises } from "./promises.ts";
import type { SessionRegistry } from "./registry.ts";
import type { Track } from "./track.ts";
import type { SchemaMemory } from "./schemas.ts";

/** What a session wants of the backend it is lent. */
export interface Want extends WantedState {
  readonly kind: string;
  /** The backend whose id the client was greeted with. */
  readonly promised?: Backend | undefined;
}

/** What a session in this state needs; `fresh` as in {@linkcode WantedState}. */
export function wantOf(track: Track, capabilities: number, fresh: boolean): Want {
  const { settings, schema, multiStatements } = track;
  return { kind: kindOf(capabilities, schema), settings, schema, multiStatements, fresh };
}

/** The same of the backend that the client was promised, where that is of use. */
export function withPromised(want: Want, promised: Backend | undefined): Want {
  const fits = promised !== undefined && promised.kind === want.kind && reachable(promised.state, want);
  return fits ? { ...want, promised } : want;
}

/** One command that is over, for the statistics. */
export interface Executed {
  readonly command: number;
  /** The text, of a prepared statement too; undefined for commands without one. The beginning of a very long one. */
  readonly sql: Uint8Array | undefined;
  /** That of the text, if it is known already. */
  readonly digest?: Digest | undefined;
  readonly mode: SqlMode;
  readonly schema: string | undefined;
  readonly ms: number;
  readonly rows: number;
  readonly bytes: number;
  /** The server's error code; 0 for none. */
  readonly error: number;
}

/** Who had a command executed. */
export interface Client {
  readonly user: string;
  /** As {@linkcode ByteSocket}'s: not for every command. */
  peerPid(candidates: Iterable<number>): number | undefined;
}

/** The caps on a database's statements, and how many sessions wait for permits while they keep a connection of the pool's. */
export interface HostCaps {
  /** The database's name. */
  readonly db: string;
  readonly own: DatabaseCaps;
  /** Most sessions that may wait so: the other connections are for those who do not wait. */
  readonly most: number;
  waiting: number;
}

/** What sessions share, and what they need of whoever keeps the connections. */
export interface SessionHost {
  readonly facts: ServerFacts;
  /** Undefined when nothing is to be learned. */
  readonly graph: SettingsGraph | undefined;
  /** The settings of a new session with this collation id. */
  root(charset: number): Settings;
  readonly analyser: Analyser;
  /** Undefined when no statement is capped. */
  readonly caps: HostCaps | undefined;
  readonly sessions: SessionRegistry;
  readonly schemas: SchemaMemory;
  /** Whether one of these names (lower case) may be a view, which can call anything. */
  mayRunMore(tables: readonly string[]): boolean;
  readonly now: () => number;
  readonly promises: Promises;
  /** When the HTTP request must have ended that this client works for, in ms on {@linkcode SessionHost.now}; if that is known. */
  deadlineOf(client: Client): number | undefined;
  checkout(want: Want, waiter: CheckoutWaiter<Backend>): Checkout;
  /** Gives a backend back; its state says what has to be undone. */
  release(backend: Backend): void;
  /** A backend that must not be used again. */
  discard(backend: Backend, reason: string): void;
  /**
   * Makes a session's backend as good as new and what is wanted, whose kind may differ in having a default schema.
   *
   * @throws ServerRefused where the schema is not to be had: the backend's state is unknown then
   */
  changeUser(backend: Backend, want: Want): Promise<void>;
  /** Ends a server's connection, or what runs on it, over a connection of its own. */
  kill(backendId: number, query: boolean): Promise<void>;
  /** Databases, views, accounts or global settings may have changed. */
  catalogueChanges(): void;
  executed(session: Client, what: Executed): void;
  /**
   * Whether it will be looked up who had a command executed that took `ms`: of a client on TCP that can be told only while it is
   * there, and it may leave as soon as it has its answer.
   */
  asksWho(ms: number): boolean;
  /** An answer given without the server. */
  answered(kind: "set" | "read" | "use" | "ping"): void;
  pinned(residue: Residue): void;
  problem(error: CoreError): void;
}
