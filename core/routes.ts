import type { Hono } from "hono";
import type { Exchange } from "./exchange.ts";
import { urlHost } from "./http/host.ts";
import type { Awaitable, PublicEnv } from "./plugin.ts";

/** Puts the plugins' routes in front: what no route matches goes on to `inner`. */
export function behind(
  site: Hono<PublicEnv>,
  inner: (x: Exchange) => Awaitable<Response>,
): (x: Exchange) => Awaitable<Response> {
  site.notFound((c) => {
    c.env.exchange.handler = "core";
    return inner(c.env.exchange);
  });
  site.onError((error) => {
    throw error;
  });
  return (x) => {
    x.handler = "route";
    return site.fetch(canonicalRequest(x), { exchange: x });
  };
}

/**
 * Routers match on `request.url`: it must hold the canonical path, or a route could be passed by spelling it oddly. Bun gives that of a
 * request without a `Host` no authority, which routers take the path apart by.
 */
export function canonicalRequest(x: Exchange): Request {
  const { request } = x;
  const path = encodeURI(x.path).replace(/[?#]/g, encodeURIComponent);
  if (x.host !== "" && x.target === (x.query === "" ? path : `${path}?${x.query}`)) return request;
  return new Request(`${x.scheme}://${urlHost(x.host)}${path}${x.query === "" ? "" : `?${x.query}`}`, request);
}
