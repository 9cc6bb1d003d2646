/**
 * From an HTTP field name to the name PHP knows it by.
 *
 * @module
 */

/** Fields that never reach PHP: `Proxy` would set HTTP_PROXY (httpoxy), `Host` is sent apart, as the server read it. */
const dropped: ReadonlySet<string> = new Set(["proxy", "host"]);

const known = new Map<string, string>();
const limit = 1000;

/**
 * `accept-language` to `HTTP_ACCEPT_LANGUAGE`; empty for a field PHP must not see. As in nginx, only letters, digits
 * and `-` make a name: with `_` let through, `X_Forwarded_For` would pass for `X-Forwarded-For`.
 */
export function headerVariable(name: string): string {
  const variable = known.get(name);
  if (variable !== undefined) return variable;
  const made = make(name);
  if (known.size < limit) known.set(name, made);
  return made;
}

function make(name: string): string {
  if (!/^[A-Za-z0-9-]+$/.test(name) || dropped.has(name.toLowerCase())) return "";
  return `HTTP_${name.toUpperCase().replaceAll("-", "_")}`;
}
