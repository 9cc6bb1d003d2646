import { pathPattern } from "../../core/http/path_pattern.ts";
import { type Asked, hostTest } from "./scope.ts";

/** One `[[site.headers]]`; names in small letters. */
export interface HeaderRule {
  readonly match: string;
  readonly host?: readonly string[] | undefined;
  readonly scheme?: "http" | "https" | undefined;
  readonly status: "all" | "success" | readonly number[];
  readonly remove: readonly string[];
  /** In the place of what the response says. */
  readonly set: Readonly<Record<string, string>>;
  /** Where the response says nothing. */
  readonly default: Readonly<Record<string, string>>;
  /** Beside what the response says. */
  readonly add: Readonly<Record<string, string>>;
}

/** Headers as rules change them: those of a response, or those that will be added to one. */
export interface Editable {
  has(name: string): boolean;
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  delete(name: string): void;
}

/** What a 304 says again of the response that it stands for (RFC 9110, 15.4.5). */
const repeated = new Set(["cache-control", "content-location", "date", "etag", "expires", "vary"]);
/** What it does not say again, as it has no content. */
const ofContent = new Set(["content-disposition", "content-language", "content-type", "last-modified"]);

/** A rule that can be asked whether it is for a response, and be applied to one. */
export class CompiledHeaderRule {
  readonly #rule: HeaderRule;
  readonly #pattern: RegExp;
  readonly #hosts: (host: string) => boolean;

  constructor(rule: HeaderRule) {
    this.#rule = rule;
    this.#pattern = pathPattern(rule.match);
    this.#hosts = hostTest(rule.host);
  }

  matches(x: Asked, status: number): boolean {
    const { scheme, status: wanted } = this.#rule;
    if (scheme !== undefined && scheme !== x.scheme) return false;
    // Who gets a 304 has the 200.
    const meant = status === 304 ? 200 : status;
    const right = wanted === "all" ||
      (wanted === "success" ? meant >= 200 && meant < 300 : wanted.includes(meant) || wanted.includes(status));
    return right && this.#pattern.test(x.path) && this.#hosts(x.host);
  }

  /**
   * Removes, sets, fills in, adds. In a 304 a cache replaces what it has by what it is told (RFC 9111, 3.2): what depends on what the
   * response said is left out where the 304 does not repeat that.
   */
  apply(status: number, headers: Editable, mayName: (name: string) => boolean = () => true): void {
    const { remove, set, default: usual, add } = this.#rule;
    const unchanged = status === 304;
    const may = (name: string) => mayName(name) && !(unchanged && ofContent.has(name));
    for (const name of remove) headers.delete(name);
    for (const name in set) if (may(name)) headers.set(name, set[name]!);
    for (const name in usual) {
      if (may(name) && (!unchanged || repeated.has(name)) && !headers.has(name)) headers.set(name, usual[name]!);
    }
    for (const name in add) {
      if (may(name) && (!unchanged || repeated.has(name) || headers.has(name))) headers.append(name, add[name]!);
    }
  }
}
