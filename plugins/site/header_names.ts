/** Headers that are the server's own: they tell how a message is framed and passed on, or what its bytes are. */
const own = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-range",
  "date",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-request-id",
]);

/** What is wrong with the name of a header in a rule, or undefined. */
export function nameProblem(name: string): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return "must be the name of a header, such as X-Frame-Options";
  return own.has(name.toLowerCase())
    ? "is the server's own header: it frames the message, or tells what its bytes are"
    : undefined;
}

/** What is wrong with a value, or undefined. */
export function valueProblem(value: string): string | undefined {
  return /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(value)
    ? undefined
    : "must be a header value: printable ASCII, not empty, without spaces around it";
}
