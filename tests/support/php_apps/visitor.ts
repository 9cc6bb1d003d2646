/**
 * A client that writes down what it was answered in a form in which two servers can be compared: what can never be the same
 * twice (dates, ids, tokens) is named by its order of appearance.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { ask, type RawResponse } from "../raw_http.ts";

export interface Seen {
  readonly asked: string;
  readonly status: number;
  /** `name: value`, sorted by name; repeated ones keep their order. */
  readonly headers: readonly string[];
  readonly framing: RawResponse["framing"];
  readonly complete: boolean;
  /** A hash when it is long. */
  readonly body: string;
}

export interface Ask {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Keeps the session's cookie out of it. */
  readonly anonymous?: boolean;
}

/** What only the server knows, and differs from one answer to the next. */
const passing = new Set(["date", "x-request-id", "server-timing", "connection", "keep-alive"]);

export class Visitor {
  readonly port: number;
  readonly #cookies = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly seen: Seen[] = [];

  constructor(port: number) {
    this.port = port;
  }

  /** Asks, keeps the cookies, writes the answer down, and returns it as it came. */
  async go(method: string, path: string, { headers = {}, body, anonymous = false }: Ask = {}): Promise<RawResponse> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const all: Record<string, string> = {
      Host: "shop.example",
      Connection: "close",
      ...(cookie === "" || anonymous ? {} : { Cookie: cookie }),
      ...headers,
      ...(body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body as string)) }),
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, "latin1");
    const bytes = body === undefined ? head : Buffer.concat([head, Buffer.from(body as Uint8Array)]);
    const response = await ask(this.port, bytes, { head: method === "HEAD", timeout: 20_000 });
    if (response === undefined) throw new Error(`${method} ${path}: closed without an answer`);
    for (const line of response.all("set-cookie")) {
      const [, name, value, rest] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? [];
      if (name !== undefined && value !== undefined && /sess|xsrf/i.test(name)) {
        if (/max-age=0/i.test(rest ?? "")) this.#cookies.delete(name);
        else this.#cookies.set(name, value);
        this.hide(value, "session");
      }
    }
    this.seen.push({
      asked: `${method} ${path.length > 80 ? `${path.slice(0, 80)}...` : path}`,
      status: response.status,
      headers: this.#headers(response, method === "HEAD"),
      framing: response.framing,
      complete: response.complete,
      body: response.body.length > 2000
        ? `${response.body.length} bytes, ${createHash("sha1").update(response.body).digest("hex")}`
        : this.#plain(Buffer.from(response.body).toString("latin1")),
    });
    return response;
  }

  /** Names a value that is drawn by chance. */
  hide(value: string, kind: string): void {
    if (!this.#names.has(value)) this.#names.set(value, `<${kind} ${this.#names.size + 1}>`);
  }

  #headers({ headers }: RawResponse, head: boolean): string[] {
    return headers.map(([name, value]) => [name.toLowerCase(), value] as const)
      // To HEAD a server may tell the length or not; that it is the right one has a test of its own.
      .filter(([name]) => !passing.has(name) && !(head && name === "content-length"))
      .map(([name, value], at) => ({ text: `${name}: ${this.#plain(value)}`, name, at }))
      .sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : a.at - b.at)
      .map(({ text }) => text);
  }

  #plain(text: string): string {
    for (const [value, name] of this.#names) text = text.replaceAll(value, name);
    return text.replace(/Max-Age=(\d+)/gi, (_, seconds) => `Max-Age=${Math.round(Number(seconds) / 60)} minutes`)
      .replace(/\w{3}, \d\d[- ]\w{3}[- ]\d{4} [\d:]{8} GMT/g, (date) => {
        return Math.abs(Date.parse(date) - Date.now()) < 400 * 86_400_000 ? "<a date>" : date;
      });
  }
}

/** A form as browsers send it with files. */
export function multipart(
  parts: readonly {
    readonly name: string;
    readonly filename?: string;
    readonly type?: string;
    readonly data: string | Uint8Array;
  }[],
): { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array } {
  const boundary = "----fairleadtest7MA4YWxkTrZu0gW";
  const pieces = parts.flatMap(({ name, filename, type, data }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${
        filename === undefined ? "" : `; filename="${filename}"`
      }\r\n${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n`,
      "latin1",
    ),
    Buffer.from(data as Uint8Array),
    Buffer.from("\r\n"),
  ]);
  return {
    headers: { "Content-Type": `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}

export const formType = { "Content-Type": "application/x-www-form-urlencoded" } as const;
export const jsonType = { "Content-Type": "application/json" } as const;
