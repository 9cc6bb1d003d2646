import process from "node:process";
import { keepMemory } from "../core/allocator.ts";
import { showAddress } from "../core/http/address.ts";
import { collectOrphans } from "../core/orphans.ts";
import { type RunningServer, type ServerOptions, startServer } from "../core/server.ts";
import { configArgument } from "./arguments.ts";
import { prepare } from "./prepare.ts";

/** Serves until SIGTERM or SIGINT, drains, and returns 0 when everything ended well; a second signal forces. */
export async function serve(args: readonly string[]): Promise<number> {
  keepMemory();
  const { options } = await prepare(configArgument(args));
  const told = Promise.withResolvers<void>();
  const force = new AbortController();
  let signals = 0;
  const onSignal = () => {
    if (++signals === 1) told.resolve();
    else force.abort();
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, onSignal);

  // From the start on: what is not handled ends the process.
  let running: RunningServer | undefined;
  process.on("SIGHUP", () => void running?.reload());

  const server = running = await startServer(options);
  const { log } = server.app;
  if (options.server.public === undefined) {
    log(
      "warn",
      "no server.public: no files are served, only what plugins answer; is this the folder of your fairlead.toml?",
    );
  }
  if (!collectOrphans()) {
    log("warn", "this is process 1 and cannot collect orphans: start it with an init, such as docker run --init");
  }
  process.on("unhandledRejection", (error) => log("error", "a promise was rejected and nobody looked", { error }));
  process.on("uncaughtException", (error) => log("error", "an error was thrown and nobody caught it", { error }));

  for (const line of banner(server.addresses.map(showAddress), server.admin && showAddress(server.admin), options)) {
    log("info", line);
  }
  await told.promise;
  const failed = await server.stop(force.signal);
  return failed.length === 0 && !force.signal.aborted ? 0 : 1;
}

/** Two or three lines that say what runs where. */
function* banner(
  addresses: readonly string[],
  admin: string | undefined,
  options: Pick<ServerOptions, "server" | "config">,
): Iterable<string> {
  const { public: folder, tls } = options.server;
  const url = (at: string) => at.startsWith("unix:") ? at : `${tls === undefined ? "http" : "https"}://${at}`;
  yield `serving ${folder ?? "no files"} on ${addresses.map(url).join(", ")}`;
  if (admin === undefined) return;
  const plain = admin.startsWith("unix:") ? admin : `http://${admin}/`;
  const { enabled } = options.config["dashboard"] as { readonly enabled: boolean };
  yield `${enabled ? "dashboard, " : ""}metrics and health on ${plain} (/metrics /livez /readyz /-/whoami)`;
}
