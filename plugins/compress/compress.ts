import type { Counter, Meter } from "../../core/contracts/meter.ts";
import type { Exchange } from "../../core/exchange.ts";
import { negotiate } from "../../core/http/accept_encoding.ts";
import { joinBytes, totalBytes } from "../../core/http/bytes.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { encoded, type Rules, unchanged, vary, worthIt } from "./candidate.ts";
import type { Encoder } from "./encoders.ts";
import { squeeze } from "./squeeze.ts";
import { Turns } from "./turns.ts";

/** An encoder, and what is counted of its work. */
interface Offer extends Encoder {
  readonly responses: Counter;
  readonly sent: Counter;
}

/** A body of a known length up to so many bytes, and not streamed, is compressed as one piece. */
const wholeBytes = 64 * 1024;
/** Pieces compressed at once. Each takes up to 1.4 MB from when it is asked for, and there are no more threads for them. */
const mostWhole = 8;
/** Streams compressed at once. Each takes as much until its client has it all, and clients of HTTP/2 can let hundreds stand. */
const mostStreams = 128;

/** Compresses the responses of others. */
export class Compress {
  readonly #turns = new Turns(mostWhole);
  #streams = 0;
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
    if (status === 304) {
      const same = unchanged(headers, x.headers.get("if-none-match"));
      return same === undefined ? response : x.remake(response, null, same);
    }
    const head = x.method === "HEAD";
    const pieces = x.pieces(response);
    const length = pieces === undefined ? lengthOf(headers) : totalBytes(pieces);
    if (!worthIt(status, headers, length, this.#rules)) return response;
    // A part stays a part of what it is of. HTTP/1.0 proxies know nothing of Vary.
    const offer = status === 206 || x.protocol === "HTTP/1.0"
      ? undefined
      : negotiate(x.headers.get("accept-encoding"), this.#offers);
    if (offer === undefined || (head && length < 0)) return this.#plain(x, response);
    const changed = encoded(headers, offer.name);
    if (head) return x.remake(response, null, changed);
    if (response.body === null) return response;
    const streams = pieces === undefined && (x.sent !== undefined || length < 0 || length > wholeBytes);
    if (streams && this.#streams >= mostStreams) return this.#plain(x, response);
    offer.responses.inc();
    return streams ? this.#stream(x, response, changed, offer) : this.#whole(x, response, pieces, changed, offer);
  }

  #stream(x: Exchange, response: Response, headers: Headers, offer: Offer): Response {
    const { stream, sent } = squeeze(response.body!, offer, (bytes) => {
      x.bytes = bytes;
      offer.sent.inc(bytes);
    });
    // Who looks at it does so later, and may find it failed; and nobody looks at the one that was there.
    this.#streams++;
    const over = () => void this.#streams--;
    sent.then(over, over);
    x.sent?.catch(() => {});
    x.sent = sent;
    return x.remake(response, stream, headers);
  }

  async #whole(
    x: Exchange,
    response: Response,
    pieces: readonly Uint8Array<ArrayBuffer>[] | undefined,
    headers: Headers,
    offer: Offer,
  ): Promise<Response> {
    const plain = pieces === undefined ? new Uint8Array(await response.arrayBuffer()) : joinBytes(pieces);
    const bytes = await this.#turns.run(() => offer.whole(plain));
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

function lengthOf(headers: Headers): number {
  const length = headers.get("content-length");
  return length === null ? -1 : Number(length);
}
