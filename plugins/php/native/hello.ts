import { malformed } from "./frame.ts";
import { readPhpValue } from "./php_serialize.ts";

/** What a process says of itself when it connects. */
export interface Hello {
  /** Of the protocol. */
  readonly version: number;
  readonly token: string;
  readonly pid: number;
  /** PHP's version. */
  readonly php: string;
  /** `cli`, `cgi-fcgi`. */
  readonly sapi: string;
  /** `parent` for one that forks. */
  readonly role: string | undefined;
  /** In a forked child: its parent's pid. */
  readonly parent: number | undefined;
}

/** The version of the protocol spoken here. */
export const VERSION = 1;

/** @throws CoreError `PHP_PROTOCOL` */
export function readHello(payload: Uint8Array): Hello {
  const value = readPhpValue(payload);
  if (!(value instanceof Map)) throw malformed("a hello that is no array");
  const text = (key: string): string => {
    const found = value.get(key);
    if (typeof found !== "string") throw malformed(`a hello without its ${key}`);
    return found;
  };
  const whole = (key: string): number => {
    const found = value.get(key);
    if (typeof found !== "number" || found < 1) throw malformed(`a hello without its ${key}`);
    return found;
  };
  return {
    version: whole("v"),
    token: text("token"),
    pid: whole("pid"),
    php: text("php"),
    sapi: text("sapi"),
    role: value.has("role") ? text("role") : undefined,
    parent: value.has("parent") ? whole("parent") : undefined,
  };
}
