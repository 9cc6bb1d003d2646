import type { Endpoint } from "../../core/exchange.ts";
import { BaseExchange, type Intake } from "../../core/http/exchange.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";

export interface ExchangeInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly intake?: Partial<Intake>;
  readonly peer?: Endpoint;
}

/** An exchange without a socket: `leave()` is the client hanging up. */
export class TestExchange extends BaseExchange {
  readonly peer: Endpoint;
  readonly #body: string | undefined;
  readonly #abort = new AbortController();

  constructor(target: string, init: ExchangeInit = {}) {
    const headers = new Headers({ host: "shop.example", ...init.headers });
    if (init.body !== undefined && !headers.has("transfer-encoding")) {
      headers.set("content-length", String(new TextEncoder().encode(init.body).byteLength));
    }
    const peer = init.peer ?? { address: "192.0.2.7", port: 40_000 };
    super(
      {
        method: init.method ?? "GET",
        protocol: "HTTP/1.1",
        target,
        headers,
        scheme: "http",
        local: { address: "127.0.0.1", port: 8080 },
      },
      { proxies: new TrustedProxies([]), timeoutMs: 60_000, maxBody: 1_000_000, idleMs: 30_000, ...init.intake },
      peer.address,
    );
    this.peer = peer;
    this.#body = init.body;
  }

  get request(): Request {
    return new Request(`${this.scheme}://${this.host}${this.target}`, {
      method: this.method,
      headers: this.headers,
      body: this.body,
    });
  }

  get gone(): boolean {
    return this.#abort.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  onGone(left: () => void): () => void {
    if (this.gone) left();
    else this.signal.addEventListener("abort", left, { once: true });
    return () => this.signal.removeEventListener("abort", left);
  }

  leave(): void {
    this.#abort.abort();
  }

  protected source(): ReadableStream<Uint8Array> | null {
    return this.#body === undefined ? null : new Response(this.#body).body as ReadableStream<Uint8Array> | null;
  }
}
