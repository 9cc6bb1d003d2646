import type { Context, Env, MiddlewareHandler } from "hono";
import type { AdmissionOptions } from "./admission_options.ts";
import { Entrance } from "./entrance.ts";
import { untilSent } from "./sending.ts";
import { serverTiming } from "./server_timing.ts";
import { Visit } from "./visit.ts";

/**
 * Hono middleware that lets requests into what follows it through a fair gate; what `admit` says holds here too. Each call
 * makes a gate of its own: to share one between routes, make a `FairGate` and pass it as `gate`.
 *
 * Middleware that changes bodies (compression) belongs outside, before this one, so that permits are held for it too.
 *
 * @throws CoreError `ADMISSION_NUMBER` for a limit that is not a whole number of at least 1
 *
 * @example
 * ```ts
 * import { fairAdmission } from "fairlead/admission";
 *
 * app.use("/reports/*", fairAdmission({
 *   limit: 4,
 *   maxQueue: 100,
 *   grace: 5_000,
 *   deadline: (c) => c.req.header("x-timeout-ms") === undefined ? undefined : Number(c.req.header("x-timeout-ms")),
 *   onRefuse: (_, { reason, response }) => Response.json({ error: reason }, { status: response.status }),
 * }));
 * ```
 */
export function fairAdmission<E extends Env = Env>(options: AdmissionOptions<Context<E>>): MiddlewareHandler<E> {
  const entrance = new Entrance(options);
  return async (c, next) => {
    if (entrance.exempts(c)) return next();
    const visit = await entrance.enter(c, c.req.raw);
    if (!(visit instanceof Visit)) return visit;
    try {
      await next();
      const response = c.res;
      const sent = serverTiming(await untilSent(response, c.req.raw, () => visit.release()), visit.waitedMs);
      if (sent === response) return;
      // Hono would add the headers of the response that was there, which this one has already.
      c.res = undefined;
      c.res = sent;
    } catch (error) {
      visit.release();
      throw error;
    }
  };
}
