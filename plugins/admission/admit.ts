import type { Awaitable } from "../../core/plugin.ts";
import type { AdmissionOptions } from "./admission_options.ts";
import { Entrance } from "./entrance.ts";
import { untilSent } from "./sending.ts";
import { serverTiming } from "./server_timing.ts";
import { Visit } from "./visit.ts";

/** A handler in the manner of `Bun.serve`, `Deno.serve` and the edge runtimes, with whatever they pass beside the request. */
export type FetchHandler<Rest extends readonly unknown[]> = (request: Request, ...rest: Rest) => Awaitable<Response>;

/**
 * A fetch handler that lets requests into `handler` through a fair gate: at most `limit` at a time, the rest in line in order of
 * arrival.
 *
 * A permit is held until the handler has failed or its response's body has been sent or cancelled; a body that lies in memory
 * counts as sent. A client that leaves (`request.signal`) leaves the line at once, and its handler never runs. Who is not let
 * in is answered 503, 429, 504 or 499, with `Retry-After` where coming back helps; who waited is told how long in
 * `Server-Timing: adm;dur=` (ms).
 *
 * @throws CoreError `ADMISSION_NUMBER` here for a limit that is not a whole number of at least 1; the returned handler throws
 * what `handler` and the options' functions throw, and `ADMISSION_WEIGHT` for a weight above the limit
 *
 * @example
 * ```ts
 * import { admit } from "fairlead/admission";
 *
 * export default {
 *   fetch: admit((request: Request) => render(request), { limit: 4, maxQueue: 100, grace: 5_000 }),
 * };
 * ```
 */
export function admit<Rest extends readonly unknown[]>(
  handler: FetchHandler<Rest>,
  options: AdmissionOptions<Request>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  const entrance = new Entrance(options);
  return async (request, ...rest) => {
    if (entrance.exempts(request)) return handler(request, ...rest);
    const visit = await entrance.enter(request, request);
    if (!(visit instanceof Visit)) return visit;
    try {
      const response = await handler(request, ...rest);
      return serverTiming(await untilSent(response, request, () => visit.release()), visit.waitedMs);
    } catch (error) {
      visit.release();
      throw error;
    }
  };
}
