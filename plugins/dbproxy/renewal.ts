import type { CoreError } from "../../core/error.ts";
import type { Account } from "./backend/account.ts";
import type { Backend } from "./backend/backend.ts";
import { changeUser } from "./backend/change_user.ts";
import type { ServerFacts } from "./backend/facts.ts";
import { beginning, forgetFound } from "./backend/steps.ts";
import type { ControlConnection } from "./control.ts";
import { type ServerKnowledge, staleAfter } from "./knowledge.ts";
import type { Want } from "./session/host.ts";
import { otherSchema, plan, reachable } from "./state/plan.ts";

export interface RenewalOptions {
  readonly account: Account;
  readonly strategy: "smart" | "always" | "never";
  readonly knowledge: ServerKnowledge;
  readonly control: ControlConnection;
  readonly now: () => number;
  /** A KILL is on its way to it. */
  killed(backend: Backend): boolean;
  /** `done`: reset; `skipped`: nothing could differ; `failed`: closed. */
  reset(result: "done" | "skipped" | "failed"): void;
  problem(error: CoreError): void;
}

/** Makes a connection that a session has used as good as new, where anything could differ. */
export class Renewal {
  readonly #options: RenewalOptions;
  /** What was renewed before this moment may be out of date. */
  #changed = -Infinity;

  constructor(options: RenewalOptions) {
    this.#options = options;
  }

  get #facts(): ServerFacts {
    // Whoever has a backend has reached the server.
    return this.#options.knowledge.facts!;
  }

  /** Global settings may be others than they were when sessions began. */
  globalsChange(): void {
    this.#changed = this.#options.now();
  }

  /** Whether global settings may have changed since the connection was renewed. */
  outdated(backend: Backend): boolean {
    return backend.renewed <= this.#changed;
  }

  /** Whether making the backend what is wanted would undo what the server has run for its new session. */
  undoes(backend: Backend, want: Want): boolean {
    if (this.#facts.initConnect === "" || !reachable(backend.state, want)) return false;
    return this.outdated(backend) ||
      plan(backend.state, want).some(({ kind }) => kind === "reset" || kind === "names");
  }

  /** At the end of a session: brings its backend back to the beginning, if it is not there. */
  clean(backend: Backend): Promise<boolean> | true {
    const { strategy, reset: tell } = this.#options;
    const { state, role, doom } = backend;
    // A KILL that is on its way would hit whoever has the backend next.
    if (doom !== undefined || this.#options.killed(backend)) return Promise.resolve(false);
    if (strategy === "never") {
      backend.state = { ...state, dirty: undefined, used: false };
      return true;
    }
    const used = state.used && this.#facts.initConnect !== "";
    const reset = used || strategy === "always" || state.dirty !== undefined || this.#options.knowledge.due ||
      this.outdated(backend) ||
      this.#options.now() - backend.renewed > staleAfter;
    if (!reset) {
      tell("skipped");
      return true;
    }
    // No reset takes a role back, and no server tells of every one that was taken. No command runs an init_connect again.
    const { roles, initConnect } = this.#facts;
    if (role === "yes" || (role === "maybe" && roles) || initConnect !== "") {
      this.#askApart();
      tell("failed");
      return Promise.resolve(false);
    }
    return this.#renew(backend);
  }

  /** Brings what is known of the server up to date where no backend may be asked. */
  #askApart(): void {
    const knowledge = this.#options.knowledge;
    if (!knowledge.due) return;
    // What cannot be asked stays unknown, which is safe.
    this.#options.control.run(async (control) => knowledge.due ? await knowledge.ask(control) : undefined).catch(
      () => {},
    );
  }

  async #renew(backend: Backend): Promise<boolean> {
    const { reset: tell } = this.#options;
    const { schema, settings: { root } } = backend.state;
    let at: number;
    try {
      if (this.#options.knowledge.due) {
        await backend.prepare([{ kind: "reset" }]);
        await this.#options.knowledge.ask(backend);
        if (this.#facts.initConnect !== "") {
          tell("failed");
          return false;
        }
      }
      at = this.#options.now();
      const old = this.outdated(backend) || at - backend.renewed > staleAfter;
      await backend.prepare([
        { kind: "reset" },
        ...beginning(root.charset),
        // A reset does not choose the schema again, whose collation may be another by now.
        ...(old && schema !== undefined ? [{ kind: "schema", name: otherSchema } as const] : []),
        // Nor is it certain to be the one that was chosen: the session may have turned off what tells of another.
        ...(schema !== undefined ? [{ kind: "schema", name: schema } as const] : []),
      ]);
    } catch (error) {
      this.#options.problem(error as CoreError);
      tell("failed");
      return false;
    }
    backend.state = { ...backend.state, settings: root, dirty: undefined, used: false };
    backend.renewed = at;
    tell("done");
    return true;
  }

  /**
   * Makes it a new session in the state that is wanted, by COM_CHANGE_USER.
   *
   * @throws ServerRefused where the schema is not to be had: the backend's state is unknown then
   */
  async changeUser(backend: Backend, want: Want): Promise<void> {
    const { schema, settings } = want;
    const at = this.#options.now();
    await changeUser(backend, this.#options.account, { charset: settings.charset, schema });
    const { root } = settings;
    backend.kind = want.kind;
    backend.state = {
      settings: root,
      dirty: undefined,
      schema,
      multiStatements: backend.state.multiStatements,
      used: false,
    };
    backend.role = "no";
    backend.renewed = at;
    await backend.prepare([
      // It leaves what a reset leaves.
      ...(this.#facts.server === "mysql" ? [{ kind: "query", text: forgetFound } as const] : []),
      ...beginning(root.charset),
      ...plan(backend.state, want),
    ]);
    backend.state = { ...backend.state, settings, multiStatements: want.multiStatements };
  }
}
