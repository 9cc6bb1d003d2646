import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import { CompiledHeaderRule, type Editable, type HeaderRule } from "./header_rules.ts";

/** Changes the headers of what others answer. */
export class SiteHeaders {
  readonly #rules: readonly CompiledHeaderRule[];

  constructor(rules: readonly HeaderRule[]) {
    this.#rules = rules.map((rule) => new CompiledHeaderRule(rule));
  }

  /** The response with its headers as the rules want them. */
  answer(x: Exchange, response: Response): Response {
    const { status } = response;
    const rules = this.#rules.filter((rule) => rule.matches(x, status));
    if (rules.length === 0) return response;
    try {
      this.#apply(rules, x, status, response.headers);
      return response;
    } catch {
      // The headers of `Response.redirect` and `fetch` cannot be changed.
      const headers = new Headers(response.headers);
      this.#apply(rules, x, status, headers);
      return x.remake(response, response.body, headers);
    }
  }

  /** Has the rules say what they say of the answer that the core makes of an error. */
  failed(x: Exchange, error: unknown): void {
    const status = error instanceof CoreError ? error.status ?? 500 : 500;
    const extra = extraHeaders(x);
    // The core says of its own text what it is.
    const may = (name: string) => name !== "content-type";
    for (const rule of this.#rules) if (rule.matches(x, status)) rule.apply(status, extra, may);
  }

  /** What `x.extra` adds to the response later counts as said by it. */
  #apply(rules: readonly CompiledHeaderRule[], x: Exchange, status: number, headers: Headers): void {
    const extra = extraHeaders(x);
    const both: Editable = {
      has: (name) => headers.has(name) || extra.has(name),
      set(name, value) {
        headers.set(name, value);
        extra.delete(name);
      },
      append: (name, value) => headers.append(name, value),
      delete(name) {
        headers.delete(name);
        extra.delete(name);
      },
    };
    for (const rule of rules) rule.apply(status, both);
  }
}

/** `x.extra` as headers. */
function extraHeaders(x: Exchange): Editable {
  const { extra } = x;
  const drop = (name: string) => {
    for (let i = extra.length - 1; i >= 0; i--) if (extra[i]![0].toLowerCase() === name) extra.splice(i, 1);
  };
  return {
    has: (name) => extra.some(([one]) => one.toLowerCase() === name),
    set(name, value) {
      drop(name);
      extra.push([name, value]);
    },
    append: (name, value) => void extra.push([name, value]),
    delete: drop,
  };
}
