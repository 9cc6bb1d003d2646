import * as z from "zod";
import { duration, size } from "./config/units.ts";
import { hostProblems, type HostSettings, hostsTable, tlsTable } from "./host_settings.ts";
import { parseAddress } from "./http/address.ts";
import { type ProxyHeader, proxyHeaders, TrustedProxies, usualProxyHeaders } from "./http/proxies.ts";
import type { Tls } from "./http/tls.ts";
import type { Level } from "./log.ts";

/** A text that a function takes without an error; its error is the problem reported. */
function readBy(read: (text: string) => unknown): z.ZodString {
  return z.string().superRefine((text, ctx) => {
    try {
      read(text);
    } catch (error) {
      ctx.addIssue({ code: "custom", message: (error as Error).message.replace(/, got .*$/s, "") });
    }
  });
}

/** A time that is one: node:http takes 0 as "no limit", and a request could not meet it. */
const someTime = () => duration().refine((ms) => ms > 0, 'expected a duration above 0, such as "30s"');

/** Where HTTP/2 is spoken beside HTTP/1.1. */
export const http2Places = ["off", "tls", "all"] as const;
export type Http2 = typeof http2Places[number];

/** `[server]`; times in ms, sizes in bytes. */
export interface ServerSettings {
  readonly listen: readonly string[];
  readonly public?: string | undefined;
  readonly hosts?: Readonly<Record<string, HostSettings>> | undefined;
  readonly tls?: Tls | undefined;
  readonly listen_plain?: readonly string[] | undefined;
  readonly http2?: Http2 | undefined;
  readonly trusted_proxies: readonly string[];
  readonly trusted_headers?: readonly ProxyHeader[] | undefined;
  readonly max_body: number;
  readonly max_header: number;
  readonly timeout: number;
  readonly header_timeout: number;
  readonly body_timeout: number;
  readonly keep_alive: number;
  readonly drain: number;
}

/** `[admin]` */
export interface AdminSettings {
  readonly listen: string;
  readonly hosts: readonly string[];
}

/** `[log]` */
export interface LogSettings {
  readonly level: Level;
  readonly format: "text" | "json";
  readonly access: string;
}

/** The schema of `[server]`. */
export const serverTable: z.ZodType<ServerSettings> = z.strictObject({
  listen: z.array(readBy(parseAddress)).min(1).default(["127.0.0.1:8080"])
    .describe('Addresses to serve on: "HOST:PORT", "[IPV6]:PORT", ":PORT" or "unix:/PATH".'),
  public: z.string().optional().describe(
    "The only folder served, relative to this file. With hosts, to those that none of them names: 404 when absent.",
  ),
  hosts: hostsTable.default({}).describe("Several sites: the public root of each, by the name of its host."),
  tls: tlsTable.optional().describe("Serve HTTPS on every TCP address of listen."),
  listen_plain: z.array(readBy(parseAddress)).default([])
    .describe("Addresses without TLS beside those of listen, where there is tls: port 80, to redirect to https."),
  http2: z.enum(http2Places).default("tls").describe(
    "Where HTTP/2 is spoken too: over TLS, on all TCP addresses (without TLS by prior knowledge), or off. Not on Deno.",
  ),
  trusted_proxies: z.array(readBy((rule) => new TrustedProxies([rule]))).default([])
    .describe('Peers whose trusted_headers are believed: addresses, ranges, or "unix".'),
  trusted_headers: z.array(z.enum(proxyHeaders)).default([...usualProxyHeaders])
    .describe(
      "Headers that every trusted proxy sets itself, whatever the client sent; x-forwarded-* before forwarded.",
    ),
  max_body: size().prefault("10MB").describe("Largest request body (413 above)."),
  max_header: size().prefault("32KB").describe("Largest request line and headers together (431 above)."),
  timeout: someTime().prefault("60s").describe(
    "A request's absolute deadline: 408 while its body comes, 504 until its answer has begun; PHP is ended.",
  ),
  header_timeout: someTime().prefault("10s").describe(
    "How long a request's head may take to arrive (408 after). On Bun it is always about 10 s, without the 408.",
  ),
  body_timeout: someTime().prefault("30s").describe("Longest silence within a request body (408 after)."),
  keep_alive: someTime().prefault("75s").describe("How long an idle connection is kept."),
  drain: duration().prefault("30s").describe("How long running requests may take to end at shutdown."),
}).superRefine(({ tls, listen_plain, hosts }, ctx) => {
  if (tls === undefined && listen_plain.length > 0) {
    const message = "expected none without server.tls: addresses of server.listen speak plain HTTP then";
    ctx.addIssue({ code: "custom", path: ["listen_plain"], message });
  }
  for (const [path, message] of hostProblems(hosts, tls !== undefined)) ctx.addIssue({ code: "custom", path, message });
});

/** The schema of `[admin]`. */
export const adminTable: z.ZodType<AdminSettings> = z.strictObject({
  listen: z.union([z.literal(""), readBy(parseAddress)]).default("127.0.0.1:9180")
    .describe('Address of /metrics, /livez, /readyz and /-/whoami; "" switches it off. Keep it private.'),
  hosts: z.array(z.string().regex(/^[\w-]+(?:\.[\w-]+)*\.?$/, "expected the name of a host, without a port")).default(
    [],
  )
    .describe(
      "Names it may be asked by besides IP addresses, localhost and that in listen. When empty, any name will do unless it " +
        "listens for this machine alone (421).",
    ),
});

/** The schema of `[log]`. */
export const logTable: z.ZodType<LogSettings> = z.strictObject({
  level: z.enum(["debug", "info", "warn", "error"]).default("info").describe("Least level that is logged."),
  format: z.enum(["text", "json"]).default("text").describe("Form of log and access log."),
  access: z.string().default("stdout").describe('Access log: "stdout", "stderr", "off" or a file.'),
});
