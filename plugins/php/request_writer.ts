import type { Exchange } from "../../core/exchange.ts";
import { ParamsWriter } from "./fastcgi/params.ts";
import type { FcgiRequest } from "./fastcgi/request.ts";
import type { Script } from "./resolve.ts";
import { constantVars, environmentVars, requestVars, scriptVars } from "./server_vars.ts";
import { requestDeadline, systemTimes, type Times } from "./times.ts";

/** Scripts whose encoded variables are kept; when there are more, all are forgotten. */
const keptScripts = 512;

/**
 * Writes an exchange as a FastCGI request. What only the server or the script decides is encoded once. `env` is sent too,
 * for a php-fpm that does not have these variables in its own environment.
 */
export function requestWriter(
  software: string,
  env: Readonly<Record<string, string>> = {},
  times: Times = systemTimes,
): (x: Exchange, script: Script, body: FcgiRequest["body"]) => FcgiRequest {
  const writer = new ParamsWriter();
  const sink = (name: string, value: string) => writer.bytes(name, value);
  // The later of two variables of one name counts, so that none here can take the place of a real one.
  environmentVars(sink, env);
  constantVars(sink, software);
  const constant = writer.take();
  const scripts = new Map<Script, Uint8Array>();

  return (x, script, body) => {
    let fixed = scripts.get(script);
    if (fixed === undefined) {
      scriptVars(sink, script);
      fixed = writer.take();
      if (scripts.size >= keptScripts) scripts.clear();
      scripts.set(script, fixed);
    }
    const length = body === undefined ? 0 : body instanceof Uint8Array ? body.byteLength : body.length;
    requestVars(sink, x, { length });
    sink("REQUEST_DEADLINE", requestDeadline(x, times).toFixed(3));
    return { params: [constant, fixed, writer.take()], body };
  };
}
