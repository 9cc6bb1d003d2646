import { CoreError } from "../../core/error.ts";
import type { Account } from "./backend/account.ts";
import { Backend, type BackendOwner } from "./backend/backend.ts";
import { factQueries, greetingWith, readFacts, type ServerFacts } from "./backend/facts.ts";
import { flagsOf, kindOf } from "./backend/kind.ts";
import { login } from "./backend/login.ts";
import { beginning } from "./backend/steps.ts";
import type { ServerKnowledge } from "./knowledge.ts";
import type { Want } from "./session/host.ts";
import type { SettingsGraph } from "./state/graph.ts";
import { CAP } from "./wire/capabilities.ts";

/** The collation utf8mb4_general_ci, which every server has. */
export const defaultCharset = 45;

export interface DialerOptions {
  readonly account: Account;
  /** Of sessions whose client names none; the server's when undefined. */
  readonly charset: string | undefined;
  readonly knowledge: ServerKnowledge;
  readonly graph: SettingsGraph;
  readonly owner: BackendOwner;
  readonly now: () => number;
  /** The server was reached for the first time, or is another one now. */
  met(facts: ServerFacts): void;
}

/** Opens connections to one server, and learns from the first what the server is like. */
export class Dialer {
  readonly #options: DialerOptions;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /** Opens a connection that is ready for a session of this kind. */
  async dial(kind: string, want: Want, signal: AbortSignal): Promise<Backend> {
    const backend = await this.connect(
      {
        flags: flagsOf(kind) | (want.multiStatements ? CAP.MULTI_STATEMENTS : 0),
        charset: want.settings.charset,
        schema: want.schema,
      },
      signal,
    );
    const { charset } = want.settings;
    // What the server runs for each new session comes after the login, and may choose another charset.
    const names = this.#options.knowledge.facts!.initConnect === "" || charset > 0xff;
    await whileWanted(
      backend,
      signal,
      () => backend.prepare(names ? beginning(charset) : [{ kind: "trackers" }]),
    );
    return backend;
  }

  /** Opens a connection; a server that is not known yet is asked for its facts over it. */
  async connect(
    wish: { readonly flags: number; readonly charset: number; readonly schema: string | undefined },
    signal?: AbortSignal,
  ): Promise<Backend> {
    // A login has one byte for the collation; what does not fit is set afterwards.
    const charset = wish.charset > 0xff ? defaultCharset : wish.charset;
    const logged = await login(this.#options.account, { ...wish, charset }, signal).catch((cause: CoreError) => {
      if (cause.code !== "DB_CLOSED") throw cause;
      // To a session that code says that its client has left, who then is told nothing.
      throw new CoreError("DB_LOST", "The database closed the connection during its handshake", { cause });
    });
    const known = this.#options.knowledge.facts;
    const same = known !== undefined && known.greeting.version === logged.greeting.version;
    const backend = new Backend(logged, {
      kind: kindOf(wish.flags, wish.schema),
      facts: same ? known : readFacts(logged.greeting, []),
      state: {
        settings: this.#options.graph.root(wish.charset),
        dirty: undefined,
        schema: wish.schema,
        multiStatements: (wish.flags & CAP.MULTI_STATEMENTS) !== 0,
        used: false,
      },
      renewed: this.#options.now(),
      owner: this.#options.owner,
    });
    if (same) return backend;
    await whileWanted(backend, signal, async () => {
      const facts = readFacts(logged.greeting, await backend.ask(factQueries));
      backend.facts = this.#options.charset === undefined ? facts : greetingWith(facts, this.#options.charset);
    });
    // Several first connections may have asked at the same time.
    if (this.#options.knowledge.facts?.greeting.version === logged.greeting.version) return backend;
    // Another version: what was learned of the last one may be wrong.
    this.#options.graph.forget();
    this.#options.knowledge.meet(backend.facts);
    this.#options.met(backend.facts);
    return backend;
  }
}

/** Runs a step of opening a connection; closes that when it fails, or is not wanted any more. */
async function whileWanted(
  backend: Backend,
  signal: AbortSignal | undefined,
  step: () => Promise<void>,
): Promise<void> {
  const close = () => backend.close(false);
  signal?.addEventListener("abort", close, { once: true });
  try {
    if (signal?.aborted === true) close();
    await step();
  } catch (cause) {
    close();
    throw cause;
  } finally {
    signal?.removeEventListener("abort", close);
  }
}
