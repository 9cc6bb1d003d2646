import { isWhole } from "./whole_body.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Bodies whose response was thrown away unread: their work is told to stop when the collector finds them. */
const forgotten = typeof FinalizationRegistry === "function"
  ? new FinalizationRegistry<Sending>((sending) => void sending.stop(new Error("The response was thrown away")))
  : undefined;

/**
 * Calls `ended` once when the body of `response` needs nothing more from its maker: it has been read to its end, has
 * failed, was cancelled by its reader or because the client left (`request.signal`), or was thrown away. Resolves to the
 * response to send: the given one when its body is whole already, else one that passes the body on chunk by chunk, as its
 * reader asks.
 *
 * @throws TypeError when the body has been read already, which no runtime could send; `ended` is not called then
 */
export async function untilSent(response: Response, request: Request, ended: () => void): Promise<Response> {
  // After an upgrade, Bun's handlers return nothing and Deno's a 101 that must not be copied.
  if ((response as Response | undefined) === undefined || response.status === 101 || await isWhole(response)) {
    ended();
    return response;
  }
  const sending = new Sending(response, ended);
  if (request.method === "HEAD") {
    await sending.stop(undefined);
    // Neither null nor ended from the start: Bun would claim a length of 0.
    return new Response(
      new ReadableStream({ pull: (controller) => controller.close() }, { highWaterMark: 0 }),
      response,
    );
  }
  sending.follow(request.signal);
  // No chunk is asked for before its reader asks.
  const stream = new ReadableStream<Bytes>(sending, { highWaterMark: 0 });
  forgotten?.register(stream, sending, sending);
  return new Response(stream, response);
}

/** A body on its way. It does not know the stream it feeds, so that one can be collected. */
class Sending {
  readonly #reader: {
    read(): Promise<{ done: boolean; value?: Bytes | undefined }>;
    cancel(reason: unknown): Promise<void>;
  };
  readonly #left = () => void this.stop(this.#signal?.reason);
  #ended: (() => void) | undefined;
  #signal: AbortSignal | undefined = undefined;
  #stopped: { readonly reason: unknown } | undefined = undefined;

  constructor(response: Response, ended: () => void) {
    this.#reader = response.body!.getReader();
    this.#ended = ended;
  }

  follow(signal: AbortSignal): void {
    this.#signal = signal;
    if (signal.aborted) this.#left();
    else signal.addEventListener("abort", this.#left, { once: true });
  }

  async pull(controller: { enqueue(chunk: Bytes): void; close(): void }): Promise<void> {
    try {
      const { done, value } = await this.#reader.read();
      if (this.#stopped !== undefined) throw this.#stopped.reason;
      if (!done) return controller.enqueue(value!);
      this.#end();
      controller.close();
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  cancel(reason: unknown): Promise<void> {
    return this.stop(reason);
  }

  /** Tells the body's maker that nobody reads on; its work has ended when it has answered that. */
  async stop(reason: unknown): Promise<void> {
    if (this.#stopped !== undefined || this.#ended === undefined) return;
    this.#stopped = { reason };
    try {
      await this.#reader.cancel(reason);
    } catch {
      // It failed instead of stopping; it has ended either way.
    }
    this.#end();
  }

  #end(): void {
    this.#signal?.removeEventListener("abort", this.#left);
    forgotten?.unregister(this);
    this.#ended?.();
    this.#ended = undefined;
  }
}
