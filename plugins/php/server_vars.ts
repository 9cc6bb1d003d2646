/**
 * The CGI variables of a request, as nginx's `fastcgi.conf` gives them to php-fpm.
 *
 * They come in three groups so that a codec can keep what does not change: {@linkcode constantVars} once for a server,
 * {@linkcode scriptVars} once for a script, {@linkcode requestVars} for each request.
 *
 * Every name and value is a byte string: one character for each byte, as `Headers` holds them. A codec writes them as
 * Latin-1; text outside ASCII (a file name) has been turned into the characters of its UTF-8 bytes here.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Exchange } from "../../core/exchange.ts";
import { hostName } from "../../core/http/host.ts";
import { headerVariable } from "./header_names.ts";
import { remoteAddress } from "./remote_address.ts";
import type { Script } from "./resolve.ts";

/** Receives one variable. */
export type VarSink = (name: string, value: string) => void;

/** Environment variables, as scripts find them in `$_SERVER` and by `getenv()`. */
export function environmentVars(sink: VarSink, env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) sink(byteString(name), byteString(value));
}

/** What no request changes. `software` is `name/version`. */
export function constantVars(sink: VarSink, software: string): void {
  sink("GATEWAY_INTERFACE", "CGI/1.1");
  sink("SERVER_SOFTWARE", software);
  // php-cgi built to be called by redirects only refuses to run without it.
  sink("REDIRECT_STATUS", "200");
}

/** What depends on the script alone. PATH_INFO is sent even when empty, as Debian's nginx does. */
export function scriptVars(sink: VarSink, script: Script): void {
  sink("SCRIPT_FILENAME", byteString(script.scriptFilename));
  sink("SCRIPT_NAME", byteString(script.scriptName));
  sink("DOCUMENT_URI", byteString(script.documentUri));
  sink("DOCUMENT_ROOT", byteString(script.documentRoot));
  sink("PATH_INFO", byteString(script.pathInfo));
}

/** What a request changes besides its script. */
export interface RequestFacts {
  /** The length of the body that PHP will really be sent; the exchange's own when absent. */
  readonly length?: number | undefined;
  /** SERVER_NAME; the host the client named when absent. */
  readonly serverName?: string | undefined;
}

/** What depends on the request, its headers included. */
export function requestVars(sink: VarSink, x: Exchange, facts: RequestFacts = {}): void {
  const { headers } = x;
  const length = facts.length ?? x.length;
  sink("QUERY_STRING", x.query);
  sink("REQUEST_METHOD", x.method);
  sink("CONTENT_TYPE", headers.get("content-type") ?? "");
  sink("CONTENT_LENGTH", length > 0 || (length === 0 && headers.has("content-length")) ? String(length) : "");
  sink("REQUEST_URI", x.target);
  sink("SERVER_PROTOCOL", x.protocol);
  sink("REQUEST_SCHEME", x.scheme);
  if (x.scheme === "https") sink("HTTPS", "on");
  sink("REMOTE_ADDR", remoteAddress(x, "unix:"));
  sink("REMOTE_PORT", x.client.port > 0 ? String(x.client.port) : "");
  sink("SERVER_ADDR", x.local.address || "unix:");
  sink("SERVER_PORT", String(x.local.port || (x.scheme === "https" ? 443 : 80)));
  sink("SERVER_NAME", facts.serverName ?? hostName(x.host));
  // The host as the server read it: for a target in absolute form that is the target's, whatever the field says.
  if (x.host !== "") sink("HTTP_HOST", x.host);
  headers.forEach((value, name) => {
    const variable = headerVariable(name);
    if (variable !== "") sink(variable, value);
  });
}

const ascii = /^[\0-\x7f]*$/;

function byteString(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}
