import type { Exchange } from "../../core/exchange.ts";

/** The part of an exchange that admission looks at; reading anything else is an error. */
export class FakeExchange {
  deadline: number;
  readonly started: number;
  readonly headers: Headers;
  readonly method: string = "GET";
  readonly host: string = "shop.example";
  path: string = "/";
  peer: { readonly address: string; readonly port: number } = { address: "203.0.113.9", port: 1 };
  client: { readonly address: string; readonly port: number } = { address: "203.0.113.9", port: 1 };
  readonly local: { readonly address: string; readonly port: number } = { address: "192.0.2.1", port: 80 };
  readonly extra: (readonly [string, string])[] = [];
  gone: boolean = false;
  /** Listeners registered for the client's leaving. */
  readonly leavers: Set<() => void> = new Set();

  constructor(deadline: number = Infinity, headers: Record<string, string> = {}, started: number = 0) {
    this.deadline = deadline;
    this.headers = new Headers(headers);
    this.started = started;
  }

  get signal(): AbortSignal {
    throw new Error("Expected admission not to make an AbortSignal");
  }

  onGone(left: () => void): () => void {
    this.leavers.add(left);
    return () => void this.leavers.delete(left);
  }

  leave(): void {
    this.gone = true;
    for (const left of this.leavers) left();
  }

  get exchange(): Exchange {
    return this as unknown as Exchange;
  }
}
