/**
 * A handler that can do four things at a time, and a gate in front of it. Only web APIs: it runs on Bun, on Deno, and
 * wherever `export default { fetch }` does.
 *
 * @module
 */
import { admit, FairGate } from "../../plugins/admission/mod.ts"; // "fairlead/admission" in a project of your own

/** Made here and not by `admit`, so that `/health` can tell how it stands. */
const gate = new FairGate({ name: "reports", limit: 4, maxQueue: 20, grace: 2_000 });

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A report of ten lines that takes half a second to write. Its permit is out until the last line is read, or nobody reads. */
function report(): Response {
  const encoder = new TextEncoder();
  let line = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      await pause(50);
      controller.enqueue(encoder.encode(`line ${++line}\n`));
      if (line === 10) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/plain" } });
}

function handle(request: Request): Response {
  const { pathname } = new URL(request.url);
  if (pathname === "/health") return Response.json({ running: gate.used, waiting: gate.queued });
  if (pathname === "/report") return report();
  return new Response("Try /report and /health\n", { status: 404 });
}

const worker: { fetch(request: Request): Promise<Response> } = {
  fetch: admit(handle, {
    gate,
    exempt: (request) => !request.url.endsWith("/report"),
    onRefuse: (_, { reason, response }) =>
      Response.json({ error: reason }, {
        status: response.status,
        headers: { "retry-after": response.headers.get("retry-after") ?? "1" },
      }),
  }),
};

export default worker;
