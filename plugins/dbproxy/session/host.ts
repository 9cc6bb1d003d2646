import type { CoreError } from "../../../core/error.ts";
import type { Backend } from "../backend/backend.ts";
import type { ServerFacts } from "../backend/facts.ts";
import type { Checkout, CheckoutWaiter } from "../pool/pool.ts";
import type { Analyser } from "../sql/analyser.ts";
import type { Residue, Statement } from "../sql/statement.ts";
import type { SettingsGraph } from "../state/graph.ts";
import type { Settings } from "../state/settings.ts";
import type { SessionRegistry } from "./registry.ts";
import type { SchemaMemory } from "./schemas.ts";

/** What a session wants of the backend it is lent. */
export interface Want {
  readonly kind: string;
  /** Capability bits the client has negotiated. */
  readonly capabilities: number;
  readonly settings: Settings;
  readonly schema: string | undefined;
  readonly multiStatements: boolean;
  /** It must be as good as new, whatever is known of it: something an earlier session left would be read. */
  readonly fresh: boolean;
}

/** One command that is over, for the statistics. */
export interface Executed {
  readonly command: number;
  readonly sql: Uint8Array | undefined;
  readonly statement: Statement | undefined;
  readonly schema: string | undefined;
  readonly ms: number;
  readonly rows: number;
  readonly bytes: number;
  /** The server's error code; 0 for none. */
  readonly error: number;
}

/** What sessions share, and what they need of whoever keeps the connections. */
export interface SessionHost {
  readonly facts: ServerFacts;
  /** Undefined when nothing is to be learned. */
  readonly graph: SettingsGraph | undefined;
  readonly roots: SettingsGraph;
  readonly analyser: Analyser;
  readonly sessions: SessionRegistry;
  readonly schemas: SchemaMemory;
  /** Names of views, lower case: who reads one may run anything. */
  readonly views: ReadonlySet<string>;
  readonly now: () => number;
  checkout(want: Want, waiter: CheckoutWaiter<Backend>): Checkout;
  /** Gives a backend back; its state says what has to be undone. */
  release(backend: Backend): void;
  /** A backend that must not be used again. */
  discard(backend: Backend, reason: string): void;
  /** Ends a server's connection, or what runs on it, over a connection of its own. */
  kill(backendId: number, query: boolean): Promise<void>;
  /** Databases, views, accounts or global settings may have changed. */
  catalogueChanged(): void;
  executed(session: { readonly user: string }, what: Executed): void;
  /** An answer given without the server. */
  answered(kind: "set" | "read" | "use" | "ping"): void;
  pinned(residue: Residue): void;
  problem(error: CoreError): void;
}
