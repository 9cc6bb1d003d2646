import type { Counter } from "../../core/contracts/meter.ts";
import type { Exchange } from "../../core/exchange.ts";
import { thenable } from "../../core/hooks.ts";
import type { Awaitable } from "../../core/plugin.ts";
import type { Access } from "./access.ts";
import type { Redirect, Redirects } from "./redirects.ts";

export interface DoorkeeperOptions {
  /** Who answers. */
  readonly name: string;
  readonly access: Access | undefined;
  readonly redirects: Redirects | undefined;
  readonly redirected: Counter;
}

/**
 * Returns what answers an exchange that must not come in, or has to go elsewhere; undefined lets it in. In this order: the address, a
 * redirect from http to https, the password, any other redirect. So nobody says his password over http where https is meant.
 */
export function doorkeeper({ name, access, redirects, redirected }: DoorkeeperOptions): (
  x: Exchange,
) => Awaitable<Response | undefined> {
  const turnedAway = (x: Exchange, response: Response | undefined) => {
    if (response !== undefined) x.handler = name;
    return response;
  };
  const redirect = (x: Exchange, found: Redirect | undefined) => {
    if (found === undefined) return undefined;
    redirected.inc();
    x.handler = name;
    return new Response(null, { status: found.status, headers: { location: found.text, "content-length": "0" } });
  };
  return (x) => {
    const decision = access?.decide(x);
    if (decision?.kind === "refuse") return turnedAway(x, access!.forbidden());
    const found = redirects?.find(x);
    if (decision?.kind !== "ask" || found?.secures) {
      if (decision?.kind === "pass") access!.pass(x, decision.auth);
      return redirect(x, found);
    }
    const asked = access!.ask(x, decision.auth);
    return thenable(asked)
      ? (asked as Promise<Response | undefined>).then((no) => turnedAway(x, no) ?? redirect(x, found))
      : turnedAway(x, asked as Response | undefined) ?? redirect(x, found);
  };
}
