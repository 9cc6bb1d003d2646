import type { Counter, Meter } from "../../core/contracts/meter.ts";
import type { Exchange } from "../../core/exchange.ts";
import { negotiate } from "../../core/http/accept_encoding.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { encoded, type Rules, vary, worthIt } from "./candidate.ts";
import type { Encoder } from "./encoders.ts";
import { squeeze } from "./squeeze.ts";

/** An encoder, and what is counted of its work. */
interface Offer extends Encoder {
  readonly responses: Counter;
  readonly sent: Counter;
}

/** Compresses the responses of others. */
export class Compress {
  readonly #offers: readonly Offer[];
  readonly #rules: Rules;

  constructor(encoders: readonly Encoder[], rules: Rules, meter: Meter) {
    const responses = meter.counters("fairlead_compress_responses_total", "Responses compressed", ["encoding"]);
    const sent = meter.counters("fairlead_compress_sent_bytes_total", "Bytes of bodies sent compressed", ["encoding"]);
    this.#offers = encoders.map((each) => ({
      ...each,
      responses: responses.with(each.name),
      sent: sent.with(each.name),
    }));
    this.#rules = rules;
  }

  /** The response as the client gets it. */
  answer(x: Exchange, response: Response): Awaitable<Response> {
    const { status, headers } = response;
    const head = x.method === "HEAD";
    if (response.body === null && !head) return response;
    const length = headers.get("content-length");
    const pieces = x.pieces(response);
    const known = pieces === undefined ? length === null ? -1 : Number(length) : total(pieces);
    if (!worthIt(status, headers, head && length === null ? -1 : known, this.#rules)) return response;
    // HTTP/1.0 proxies know nothing of Vary.
    const offer = x.protocol === "HTTP/1.0" ? undefined : negotiate(x.headers.get("accept-encoding"), this.#offers);
    if (offer === undefined) return this.#plain(x, response);
    const changed = encoded(headers, offer.name);
    offer.responses.inc();
    if (head) return x.remake(response, null, changed);
    if (pieces !== undefined) return this.#whole(x, response, pieces, changed, offer);
    const { stream, sent } = squeeze(response.body!, offer);
    x.bytes = -1;
    const whole = sent.then((bytes) => {
      x.bytes = bytes;
      offer.sent.inc(bytes);
    });
    // Who looks at it does so later, and may find it failed.
    whole.catch(() => {});
    x.sent = whole;
    return x.remake(response, stream, changed);
  }

  async #whole(
    x: Exchange,
    response: Response,
    pieces: readonly Uint8Array[],
    headers: Headers,
    offer: Offer,
  ): Promise<Response> {
    const bytes = await offer.whole(pieces.length === 1 ? pieces[0]! : join(pieces));
    x.bytes = bytes.byteLength;
    offer.sent.inc(bytes.byteLength);
    return x.remake(response, [bytes], headers);
  }

  /** As it is, for a client that takes it no other way. */
  #plain(x: Exchange, response: Response): Response {
    try {
      vary(response.headers);
      return response;
    } catch {
      // The headers of `Response.redirect` and `fetch` cannot be changed.
      const headers = new Headers(response.headers);
      vary(headers);
      return x.remake(response, response.body, headers);
    }
  }
}

function total(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(total(pieces));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
