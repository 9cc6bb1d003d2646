import type { Counter, Meter } from "../../core/contracts/meter.ts";
import type { Exchange } from "../../core/exchange.ts";
import { answer } from "../../core/http/answers.ts";
import { network } from "../../core/http/network.ts";
import { thenable } from "../../core/hooks.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { type AccessRule, accessRules, type Decision } from "./access_rules.ts";
import { challenge, readBasic } from "./basic.ts";
import type { PasswordCheck, Verdict } from "./password_check.ts";
import type { Users } from "./users.ts";

/** Who may come in with a password. */
export interface Auth {
  readonly realm: string;
  /** Whether the application is not to see the `Authorization` header. */
  readonly hide: boolean;
  readonly users: () => Users;
}

/** Why somebody is not let in: a label of the metrics. */
type Reason = "address" | "no_password" | "wrong_password" | "busy";

/** Undefined on a TCP socket whose client has gone before the system was asked: an empty address is a unix socket's. */
function addressOf({ client, local }: Exchange): string | undefined {
  return client.address === "" && local.port !== 0 ? undefined : client.address;
}

/** Lets in, or turns away: 403 by address, 401 without the right password, 503 when too many passwords are being checked. */
export class Access {
  /** What the rules say of a request. */
  readonly decide: (x: Exchange) => Decision<Auth>;
  readonly #check: PasswordCheck;
  readonly #refused: Readonly<Record<Reason, Counter>>;

  constructor(rules: readonly AccessRule<Auth>[], check: PasswordCheck, meter: Meter) {
    const decide = accessRules(rules);
    this.decide = (x) => decide(x, () => addressOf(x));
    this.#check = check;
    const refused = meter.counters("fairlead_site_refused_total", "Requests that site.access turned away", ["reason"]);
    this.#refused = {
      address: refused.with("address"),
      no_password: refused.with("no_password"),
      wrong_password: refused.with("wrong_password"),
      busy: refused.with("busy"),
    };
  }

  /** For an address that may not come in. */
  forbidden(): Response {
    return this.#refuse("address", 403);
  }

  /** Lets somebody pass who need not be asked. */
  pass(x: Exchange, auth: Auth | undefined): void {
    if (auth?.hide) x.headers.delete("authorization");
  }

  /** Lets pass who says the right password, and gives the answer for anybody else. */
  ask(x: Exchange, auth: Auth): Awaitable<Response | undefined> {
    const said = readBasic(x.headers.get("authorization"));
    if (said === undefined) return this.#unauthorized("no_password", auth);
    const users = auth.users();
    const known = users.get(said.user);
    // A name that nobody has takes as long as the first that somebody has.
    const stored = known ?? users.values().next().value;
    if (stored === undefined) return this.#unauthorized("wrong_password", auth);
    const settle = (verdict: Verdict): Response | undefined => {
      if (verdict === "busy") return this.#refuse("busy", 503, { "retry-after": "1" });
      if (verdict === "wrong" || known === undefined) return this.#unauthorized("wrong_password", auth);
      this.pass(x, auth);
      return undefined;
    };
    const verdict = this.#check.check(stored, said.password, network(x.client.address));
    return thenable(verdict) ? (verdict as Promise<Verdict>).then(settle) : settle(verdict as Verdict);
  }

  #unauthorized(reason: Reason, { realm }: Auth): Response {
    return this.#refuse(reason, 401, { "www-authenticate": challenge(realm) });
  }

  #refuse(reason: Reason, status: number, headers: Readonly<Record<string, string>> = {}): Response {
    this.#refused[reason].inc();
    return answer(status, headers);
  }
}
