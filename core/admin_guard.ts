/**
 * Keeps web pages away from the admin listener. A page of any site may have the browser beside a server send requests to it: by a
 * name of its own that it lets point to the server's address (DNS rebinding), then it can read the answers too; and plain POSTs,
 * whose answers it cannot read.
 *
 * @module
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Address } from "./http/address.ts";
import type { BaseExchange } from "./http/exchange.ts";
import { hostName } from "./http/host.ts";

/** Turns a request away, or lets it pass. */
export type AdminGuard = (x: BaseExchange) => Response | undefined;

/**
 * Makes the guard of a listener. A `Host` is known when no page could have made it up: an IP address, `localhost` and names below it
 * (RFC 6761), the name listened on, and those in `hosts`; so is none at all, for browsers always send one. Others are refused where
 * `hosts` are named, and where only this machine can connect: a scraper elsewhere may use whatever name it resolves. Requests that
 * change something are refused when a browser sends them for a page that is not the listener's own.
 */
export async function adminGuard(at: Address, hosts: readonly string[]): Promise<AdminGuard> {
  const names = new Set([...hosts, ...(at.kind === "tcp" ? [at.host] : [])].map(plain));
  const strict = at.kind === "tcp" && (hosts.length > 0 || await isLoopback(at.host));
  const known = (host: string) => {
    const name = plain(hostName(host));
    return name === "" || isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost") || names.has(name);
  };
  return (x) => {
    const isKnown = known(x.host);
    if (strict && !isKnown) {
      const error = `expected an IP address, localhost or a name in admin.hosts as Host, got ${JSON.stringify(x.host)}`;
      return Response.json({ code: "ADMIN_HOST", error }, { status: 421 });
    }
    if (reading.has(x.method) || !fromBrowser(x.headers) || (isKnown && sameOrigin(x.headers, x.host))) {
      return undefined;
    }
    const error = "not for pages of other sites: use the command line, curl -X POST, or a Host that admin.hosts names";
    return Response.json({ code: "ADMIN_ORIGIN", error }, { status: 403 });
  };
}

const reading = new Set(["GET", "HEAD", "OPTIONS"]);

/** A name as it is compared: without case, the root's dot and the brackets of an IPv6 address. */
const plain = (name: string): string => name.toLowerCase().replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");

/** Whether only this machine can connect; a name that has no address is for the listener to tell of. */
async function isLoopback(host: string): Promise<boolean> {
  const address = isIP(host) !== 0 ? host : await lookup(host).then((found) => found.address, () => "");
  if (isIP(address) !== 6) return address.startsWith("127.");
  // An IPv6 address has many spellings; that of a URL is the shortest.
  return /^\[::(?:1|ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4})\]$/.test(new URL(`http://[${address}]`).hostname);
}

/** Every browser of today says at least one of these with what is not read only. */
function fromBrowser(headers: Headers): boolean {
  return headers.has("origin") || headers.has("sec-fetch-site");
}

/** Whether the page is one that came from here; `Sec-Fetch-Site` is left out where the page was not fetched safely. */
function sameOrigin(headers: Headers, host: string): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin" || site === "none";
  return /^https?:\/\/(.*)$/.exec(headers.get("origin") ?? "")?.[1]?.toLowerCase() === host.toLowerCase();
}
