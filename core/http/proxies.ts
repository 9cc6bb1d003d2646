import { BlockList, isIP } from "node:net";
import { CoreError } from "../error.ts";

/** What a trusted proxy says about the request it passes on. */
export interface Forwarded {
  readonly address: string;
  readonly port: number;
  readonly scheme: "http" | "https" | undefined;
  readonly host: string | undefined;
}

/** Headers a trusted proxy may be believed in. */
export const proxyHeaders = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded"] as const;

export type ProxyHeader = (typeof proxyHeaders)[number];

/**
 * Believed unless told otherwise. `X-Forwarded-Host` is not among them: most proxies pass on what the client wrote there,
 * and keep `Host` as it was.
 */
export const usualProxyHeaders: readonly ProxyHeader[] = ["x-forwarded-for", "x-forwarded-proto", "forwarded"];

/** One hop of `X-Forwarded-For` or `Forwarded`, as read; `address` is empty when the header hides it. */
interface Hop {
  readonly address: string;
  readonly port: number;
}

/** IPv4 in IPv6 clothes (`::ffff:10.0.0.1`) is IPv4: one rule must match both. */
export function plainAddress(address: string): string {
  const m = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  return m ? m[1]! : address;
}

/**
 * Decides who the client is when the peer is a proxy: the right-most hop that is not itself trusted. Anything further
 * left was written by that hop and proves nothing.
 */
export class TrustedProxies {
  readonly #list = new BlockList();
  readonly #unix: boolean;
  readonly #believes: (header: ProxyHeader) => boolean;
  readonly empty: boolean;

  /**
   * @param rules addresses and CIDR ranges, and `unix` for every peer on a unix socket
   * @param headers what they are believed in; anything else was perhaps passed on as the client wrote it
   */
  constructor(rules: readonly string[], headers: readonly ProxyHeader[] = usualProxyHeaders) {
    this.#believes = (header) => headers.includes(header);
    this.empty = rules.length === 0;
    this.#unix = rules.includes("unix");
    for (const rule of rules) {
      if (rule === "unix") continue;
      const [address = "", bits, ...more] = rule.split("/");
      const family = isIP(address);
      const length = bits === undefined ? (family === 4 ? 32 : 128) : /^\d+$/.test(bits) ? Number(bits) : NaN;
      if (family === 0 || more.length > 0 || !(length >= 0 && length <= (family === 4 ? 32 : 128))) {
        throw new CoreError(
          "CONFIG_INVALID",
          `expected an address, a range such as "10.0.0.0/8" or "unix", got "${rule}"`,
        );
      }
      this.#list.addSubnet(address, length, family === 4 ? "ipv4" : "ipv6");
    }
  }

  trusts(address: string): boolean {
    if (address === "") return this.#unix;
    const plain = plainAddress(address);
    const family = isIP(plain);
    return family !== 0 && this.#list.check(plain, family === 4 ? "ipv4" : "ipv6");
  }

  /**
   * What the peer's headers say, or undefined when the peer is not trusted or says nothing. `Forwarded` counts only where
   * no `X-Forwarded-*` header does: never a part from the one and a part from the other.
   */
  read(peer: string, headers: Headers): Forwarded | undefined {
    if (this.empty || !this.trusts(peer)) return undefined;
    const get = (header: ProxyHeader) => this.#believes(header) ? headers.get(header) : null;
    const [list, proto, host] = [get("x-forwarded-for"), get("x-forwarded-proto"), get("x-forwarded-host")];
    if (list !== null || proto !== null || host !== null) {
      return {
        ...this.#client((list ?? "").split(",").map((s) => readHop(s.trim()))),
        scheme: readScheme(last(proto)),
        host: last(host),
      };
    }
    const forwarded = get("forwarded");
    if (forwarded === null) return undefined;
    const elements = splitQuoted(forwarded, ",").map(readElement);
    const nearest = elements.at(-1);
    return {
      ...this.#client(elements.map((e) => readHop(e.get("for") ?? ""))),
      scheme: readScheme(nearest?.get("proto")),
      host: nearest?.get("host"),
    };
  }

  #client(hops: readonly Hop[]): Hop {
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = hops[i]!;
      // A hop that is no address (`unknown`, an obfuscated name) was still written by a trusted one: stop there.
      if (hop.address === "" || i === 0 || !this.trusts(hop.address)) return hop;
    }
    return { address: "", port: 0 };
  }
}

function readHop(text: string): Hop {
  const bare = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  const m = /^\[([^\]]+)\](?::(\d+))?$/.exec(bare) ?? /^([^:]+)(?::(\d+))?$/.exec(bare);
  const address = plainAddress(m?.[1] ?? bare);
  return isIP(address) === 0 ? { address: "", port: 0 } : { address, port: Number(m?.[2] ?? 0) };
}

function readScheme(text: string | undefined): "http" | "https" | undefined {
  const lower = text?.toLowerCase();
  return lower === "http" || lower === "https" ? lower : undefined;
}

function last(list: string | null): string | undefined {
  const value = list?.split(",").at(-1)?.trim();
  return value === "" ? undefined : value;
}

/** Reads `for=1.2.3.4;proto=https` (RFC 7239, section 4). */
function readElement(text: string): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const part of splitQuoted(text, ";")) {
    const eq = part.indexOf("=");
    if (eq < 0) continue;
    const value = part.slice(eq + 1).trim();
    const name = part.slice(0, eq).trim().toLowerCase();
    pairs.set(name, value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value);
  }
  return pairs;
}

function splitQuoted(text: string, separator: "," | ";"): string[] {
  const out: string[] = [];
  let quoted = false, start = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "\\" && quoted) i++;
    else if (c === '"') quoted = !quoted;
    else if (c === separator && !quoted) {
      out.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  out.push(text.slice(start).trim());
  return out;
}
