/**
 * A `fetch` that keeps cookies and follows redirects by hand, as a browser does.
 *
 * @module
 */
type Body = NonNullable<RequestInit["body"]>;

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
}

export interface Visit {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  text(): string;
  json<T>(): T;
}

export interface VisitOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  /** Sent as `application/x-www-form-urlencoded`, by POST. */
  readonly form?: Readonly<Record<string, string>>;
  /** How many redirects to follow; 5 when absent. */
  readonly redirects?: number;
}

export class Browser {
  readonly #base: string;
  readonly #cookies = new Map<string, Cookie>();

  constructor(base: string) {
    this.#base = base;
  }

  /** Names of the cookies held now. */
  get cookieNames(): string[] {
    return [...this.#cookies.values()].map((cookie) => cookie.name);
  }

  /** Forgets every cookie. */
  forget(): void {
    this.#cookies.clear();
  }

  /** The value of the `Cookie` header for a path, or undefined. */
  cookiesFor(path: string): string | undefined {
    const held = [...this.#cookies.values()].filter((cookie) =>
      path === cookie.path || path.startsWith(cookie.path.endsWith("/") ? cookie.path : `${cookie.path}/`)
    );
    return held.length === 0 ? undefined : held.map((cookie) => `${cookie.name}=${cookie.value}`).join("; ");
  }

  async visit(where: string | URL, options: VisitOptions = {}): Promise<Visit> {
    // Joined as text, so that `//x` stays a path of this server.
    let url = new URL(String(where).startsWith("/") ? this.#base + where : where);
    let method = options.method ?? (options.form ? "POST" : "GET");
    let body: Body | null = options.form ? new URLSearchParams(options.form) : options.body ?? null;
    for (let left = options.redirects ?? 5;; left--) {
      const headers = new Headers(options.headers);
      const cookie = this.cookiesFor(url.pathname);
      if (cookie !== undefined) headers.set("cookie", cookie);
      const response = await fetch(url, { method, headers, body, redirect: "manual" });
      const bytes = new Uint8Array(await response.arrayBuffer());
      for (const line of response.headers.getSetCookie()) this.#keep(line, url);
      const location = response.headers.get("location");
      if (location === null || response.status < 300 || response.status > 399 || left <= 0) {
        return {
          url,
          status: response.status,
          headers: response.headers,
          bytes,
          text: () => new TextDecoder().decode(bytes),
          json: () => JSON.parse(new TextDecoder().decode(bytes)),
        };
      }
      url = new URL(location, url);
      if (response.status < 307) {
        method = "GET";
        body = null;
      }
    }
  }

  #keep(line: string, url: URL): void {
    const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
    const equals = pair.indexOf("=");
    const name = pair.slice(0, equals);
    const settings = new Map(attributes.map((attribute) => {
      const [key = "", value = ""] = attribute.split("=");
      return [key.toLowerCase(), value] as const;
    }));
    const path = settings.get("path") || url.pathname.slice(0, url.pathname.lastIndexOf("/")) || "/";
    const key = `${name};${path}`;
    const expires = settings.get("expires");
    const over = settings.get("max-age") === "0" || (expires !== undefined && Date.parse(expires) < Date.now());
    if (over) this.#cookies.delete(key);
    else this.#cookies.set(key, { name, value: pair.slice(equals + 1), path });
  }
}
