import { request } from "node:http";
import { CoreError } from "../core/error.ts";
import { type Address, parseAddress, showAddress } from "../core/http/address.ts";

/** How long (ms) the admin listener may take to answer. */
const patience = 5_000;

/**
 * Reads where an admin listener is: `http://HOST:PORT`, or an address as in `admin.listen`.
 *
 * @throws CoreError `USAGE`
 */
export function adminAddress(text: string): Address {
  try {
    return parseAddress(text.replace(/^http:\/\/([^/]+)\/?$/, (_, place: string) => withPort(place)));
  } catch (cause) {
    throw new CoreError("USAGE", `${(cause as Error).message}; expected the address of admin.listen`, { cause });
  }
}

const withPort = (place: string): string => /:\d+$/.test(place) ? place : `${place}:80`;

/**
 * Asks the admin listener for JSON.
 *
 * @throws CoreError `ADMIN_UNREACHABLE`, `ADMIN_REFUSED` (with what the server says was wrong)
 */
export function askAdmin(at: Address, path: string): Promise<unknown> {
  return call(at, "GET", path, patience);
}

/** As {@linkcode askAdmin}, for what the server shall do, however long that takes. */
export function postAdmin(at: Address, path: string): Promise<unknown> {
  return call(at, "POST", path, 0);
}

async function call(at: Address, method: string, path: string, timeout: number): Promise<unknown> {
  const { status, text } = await exchange(at, method, path, timeout);
  let answer: { readonly error?: string };
  try {
    answer = JSON.parse(text) as { error?: string };
  } catch (cause) {
    const hint = status === 404 ? "; is it a Fairlead of this version?" : "";
    throw unreachable(at, `it answered ${status} to ${path}${hint}`, cause);
  }
  const { error } = answer;
  // What was done in part is told like what was done: by the answer itself.
  if (status === 200 || (method === "POST" && error === undefined)) return answer;
  throw new CoreError("ADMIN_REFUSED", `The server at ${showAddress(at)} refused: ${error ?? text}`);
}

/**
 * Reads whatever the admin listener has at a path.
 *
 * @throws CoreError `ADMIN_UNREACHABLE`
 */
export function readAdmin(at: Address, path: string): Promise<AdminAnswer> {
  return exchange(at, "GET", path, patience);
}

/** What came back, whatever it is. */
export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
}

function unreachable(at: Address, why: string, cause: unknown): CoreError {
  return new CoreError("ADMIN_UNREACHABLE", `Cannot ask the server at ${showAddress(at)}: ${why}`, { cause });
}

function exchange(at: Address, method: string, path: string, timeout: number): Promise<AdminAnswer> {
  const place = at.kind === "unix" ? { socketPath: at.path } : { host: connectable(at.host), port: at.port };
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown) => reject(unreachable(at, why, cause));
    const asked = request({ ...place, method, path, timeout, agent: false }, (response) => {
      const chunks: Uint8Array[] = [];
      response.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      response.on("error", (cause) => fail(cause.message, cause));
      response.on(
        "end",
        () => resolve({ status: response.statusCode ?? 0, text: new TextDecoder().decode(join(chunks)) }),
      );
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer in ${patience / 1000} s`)));
    asked.on(
      "error",
      (cause: Error & { code?: string }) =>
        fail(cause.code === "ECONNREFUSED" || cause.code === "ENOENT" ? "nothing listens there" : cause.message, cause),
    );
    asked.end();
  });
}

/** An address to connect to, for one to listen on. */
function connectable(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
