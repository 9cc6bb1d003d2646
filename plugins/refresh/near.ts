import type { Exchange } from "../../core/exchange.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";

/** This machine, private networks, and networks without a router. */
const ranges = [
  ...["127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
  ...["169.254.0.0/16", "fe80::/10"],
];
const list = new TrustedProxies(ranges);
/** By which proxies and balancers say for whom they ask, or only that they do. */
const forwarding = [
  ...["x-forwarded-for", "forwarded", "x-real-ip", "via", "x-forwarded-host", "x-forwarded-proto"],
  ...["cf-connecting-ip", "true-client-ip", "x-client-ip", "x-cluster-client-ip", "fastly-client-ip"],
];

/**
 * Whether a client is on this machine or in a private network. One who comes through a proxy that is not trusted may be
 * anybody, and so may one of whom nothing is known.
 */
export function isNear(
  x: Pick<Exchange, "client" | "peer" | "headers">,
  trusts: (address: string) => boolean,
): boolean {
  const { address } = x.client;
  if (address === "" || !list.trusts(address)) return false;
  return trusts(x.peer.address) || !forwarding.some((name) => x.headers.has(name));
}
