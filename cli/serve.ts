import process from "node:process";
import { notifyManager } from "../core/handover/notify.ts";
import { Predecessor } from "../core/handover/predecessor.ts";
import { showAddress } from "../core/http/address.ts";
import { collectOrphans } from "../core/orphans.ts";
import { type RunningServer, type ServerOptions, startServer } from "../core/server.ts";
import { configArgument } from "./arguments.ts";
import { prepare } from "./prepare.ts";
import { hearSignals, type Signals } from "./signals.ts";

/** Serves until SIGTERM or SIGINT, drains, and returns 0 when everything ended well; a second signal forces. */
export async function serve(args: readonly string[]): Promise<number> {
  const signals = hearSignals();
  const predecessor = await Predecessor.meet();
  const { options } = await prepare(configArgument(args)).catch(async (error) => {
    await predecessor?.failed(error);
    throw error;
  });
  const server = await start(options, signals, predecessor);
  if (server === undefined) return 0;
  signals.onReload(() => void server.reload());
  // What went wrong is in the log.
  signals.onRestart(() => void server.restart().catch(() => {}));
  const { log } = server.app;
  if (options.server.public === undefined && Object.keys(options.server.hosts ?? {}).length === 0) {
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
  // A successor's readiness is told by the server that it replaces, which the manager knows.
  if (predecessor === undefined && !notifyManager("READY=1")) {
    log("warn", "cannot tell the service manager that this is ready: that needs glibc or musl, and on Deno -A");
  }
  await Promise.race([aborted(signals.stop), server.replaced]);
  if (signals.stop.aborted) notifyManager("STOPPING=1");
  // One that was replaced is stopped by nobody but who has lost patience.
  const force = signals.stop.aborted ? signals.force : AbortSignal.any([signals.stop, signals.force]);
  const failed = await server.stop(force);
  return failed.length === 0 && !force.aborted ? 0 : 1;
}

/** Undefined when it was told to stop before it was ready, and has taken back what it had begun. */
async function start(
  options: ServerOptions,
  { stop, force }: Signals,
  predecessor: Predecessor | undefined,
): Promise<RunningServer | undefined> {
  // What plugins have begun cannot be cut short; what they have started is tied to this process.
  const giveUp = () => process.exit(1);
  force.addEventListener("abort", giveUp);
  try {
    return await startServer(options, stop, predecessor);
  } catch (error) {
    if (stop.aborted && error === stop.reason) return undefined;
    throw error;
  } finally {
    force.removeEventListener("abort", giveUp);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) return done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
}

/** Two or three lines that say what runs where. */
function* banner(
  addresses: readonly string[],
  admin: string | undefined,
  options: Pick<ServerOptions, "server" | "config">,
): Iterable<string> {
  const { public: folder, hosts = {}, tls, listen } = options.server;
  const url = (at: string, i: number) =>
    at.startsWith("unix:") ? at : `${tls === undefined || i >= listen.length ? "http" : "https"}://${at}`;
  const named = Object.keys(hosts);
  const what = folder === undefined && named.length > 0 ? named : [folder ?? "no files", ...named];
  yield `serving ${what.join(", ")} on ${addresses.map(url).join(", ")}`;
  if (admin === undefined) return;
  const plain = admin.startsWith("unix:") ? admin : `http://${admin}/`;
  const { enabled } = options.config["dashboard"] as { readonly enabled: boolean };
  yield `${enabled ? "dashboard, " : ""}metrics and health on ${plain} (/metrics /livez /readyz /-/whoami)`;
}
