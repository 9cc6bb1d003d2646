import { CoreError } from "./error.ts";
import type { AnyPlugin, Token } from "./plugin.ts";

/** A service the core itself offers. */
export type Offer = readonly [token: Token<unknown>, service: unknown];

/** What one plugin sees of the services. */
export interface ServiceAccess {
  // deno-lint-ignore no-explicit-any -- a token carries the type, the map of services cannot
  use(token: Token<unknown>): any;
  // deno-lint-ignore no-explicit-any -- as above
  find(token: Token<unknown>): any;
  provide(token: Token<unknown>, service: unknown): void;
}

/**
 * The services of an application. A plugin gets at those it has declared and at no other, whether it was written with types
 * or without: an undeclared one may not have been set up yet, so it would work or not by the order of the plugins.
 */
export class Services {
  readonly #services: Map<string, unknown>;

  constructor(offers: readonly Offer[]) {
    this.#services = new Map(offers.map(([token, service]) => [token.id, service]));
  }

  /** @throws SERVICE_UNDECLARED from each function, for a token that the plugin's list does not have */
  of(plugin: AnyPlugin): ServiceAccess {
    const { name, needs = [], wants = [], provides = [] } = plugin;
    const check = (token: Token<unknown>, list: readonly Token<unknown>[], what: string, field: string): string => {
      if (list.some(({ id }) => id === token.id)) return token.id;
      throw new CoreError(
        "SERVICE_UNDECLARED",
        `${name} ${what} "${token.id}", which it has not declared; add the token to \`${field}\` of the plugin`,
        { plugin: name },
      );
    };
    return {
      use: (token) => this.#services.get(check(token, needs, "uses", "needs")),
      find: (token) => this.#services.get(check(token, wants, "looks for", "wants")),
      provide: (token, service) => void this.#services.set(check(token, provides, "provides", "provides"), service),
    };
  }

  /** @throws SERVICE_MISSING when the plugin has not provided what it declares */
  checkProvided({ name, provides = [] }: AnyPlugin): void {
    const missing = (provides as readonly Token<unknown>[]).find(({ id }) => !this.#services.has(id));
    if (missing === undefined) return;
    throw new CoreError("SERVICE_MISSING", `${name} did not provide "${missing.id}" in setup`, { plugin: name });
  }
}
