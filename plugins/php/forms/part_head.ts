/**
 * The header of one part of a multipart form, read as PHP's `main/rfc1867.c` reads it. Its rules are not those of MIME, and
 * what an application sees depends on them: `'` quotes as `"` does, `\` escapes only itself and the quote, `filename*` is
 * nothing, names end at a NUL.
 *
 * @module
 */

/** What a part says of itself. */
export interface PartHead {
  /** False: no `Content-Disposition`; the part is nothing. */
  readonly known: boolean;
  readonly name: string | undefined;
  readonly filename: string | undefined;
  readonly mime: string;
}

const space = /^[ \t\n\v\f\r]+/;

/** @param lines without their line ends, as byte strings */
export function partHead(lines: readonly string[]): PartHead {
  const headers = unfold(lines);
  const disposition = headers.get("content-disposition");
  if (disposition === undefined) return { known: false, name: undefined, filename: undefined, mime: "" };
  const mime = headers.get("content-type")?.split(";", 1)[0] ?? "";
  return { known: true, mime, ...parameters(disposition) };
}

/** The first of each name. A line with a space in front, or without a colon, goes on with the one before. */
function unfold(lines: readonly string[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let key: string | undefined;
  let value: string[] = [];
  const add = () => {
    if (key !== undefined && !headers.has(key)) headers.set(key, value.join(""));
  };
  for (const line of lines) {
    const colon = space.test(line) ? -1 : line.indexOf(":");
    if (colon >= 0) {
      add();
      key = line.slice(0, colon).toLowerCase();
      value = [line.slice(colon + 1).replace(space, "")];
    } else if (key !== undefined) {
      value.push(line);
    }
  }
  add();
  return headers;
}

function parameters(disposition: string): { name: string | undefined; filename: string | undefined } {
  let name: string | undefined;
  let filename: string | undefined;
  for (let rest = disposition.replace(space, ""); rest !== "";) {
    const [pair, after] = word(rest, ";");
    rest = after.replace(space, "");
    if (!pair.includes("=")) continue;
    const [key, value] = word(pair, "=");
    if (key.toLowerCase() === "name") name = unquoted(value);
    else if (key.toLowerCase() === "filename") filename = unquoted(value);
  }
  return { name, filename };
}

/** Up to `stop` outside of quotes, and what follows that and its repetitions. */
function word(text: string, stop: string): [word: string, rest: string] {
  let at = 0;
  while (at < text.length && text[at] !== stop) {
    const quote = text[at++];
    if (quote !== '"' && quote !== "'") continue;
    while (at < text.length && text[at] !== quote) at += text[at] === "\\" && text[at + 1] === quote ? 2 : 1;
    if (at < text.length) at++;
  }
  let next = at;
  while (text[next] === stop) next++;
  return [text.slice(0, at), text.slice(next)];
}

function unquoted(value: string): string {
  const text = value.replace(space, "");
  const quote = text[0];
  if (quote !== '"' && quote !== "'") return unescaped(text.split(/[ \t\n\v\f\r]/, 1)[0]!, undefined);
  return unescaped(text.slice(1), quote);
}

function unescaped(text: string, quote: string | undefined): string {
  let out = "";
  for (let i = 0; i < text.length && text[i] !== quote; i++) {
    if (text[i] === "\\" && (text[i + 1] === "\\" || (quote !== undefined && text[i + 1] === quote))) i++;
    out += text[i];
  }
  return out;
}
