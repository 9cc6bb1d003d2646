/**
 * Fairlead as an arm: on Bun, on Deno, and as the compiled binary. It starts its own php-fpm.
 *
 * @module
 */
import { freePorts } from "../../../tests/support/ports.ts";
import { BINARY, BUN, BUN_NOT_SMOL, DENO, type Runtime, startFairlead } from "../../support/fairlead.ts";
import type { Arm, ArmOptions, Running } from "./arm.ts";

function toml(o: ArmOptions, port: number, adminPort: number): string {
  return `[server]
listen = ["127.0.0.1:${port}"]
public = ${JSON.stringify(o.publicDir)}

[admin]
listen = "127.0.0.1:${adminPort}"

[php]
concurrency = ${o.children}

[admission]
${o.admissionToml ?? `max_queue = 10000\ngrace = "30s"`}

[log]
level = "warn"
access = "off"
${o.fairleadToml}`;
}

async function start(o: ArmOptions, runtime: Runtime): Promise<Running> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const server = await startFairlead({
    name: "Fairlead",
    runtime,
    root: o.fairleadRoot,
    dir: o.dir,
    toml: toml(o, port, adminPort),
    adminPort,
    env: o.env,
  });
  return { ...server, port, roots: [server.pid] };
}

export const FAIRLEAD_ARMS: readonly Arm[] = [
  {
    name: "fairlead-bun",
    about: "Fairlead on Bun with `--smol`, as `npm start` runs it",
    start: (o) => start(o, BUN),
  },
  {
    name: "fairlead-bun-nosmol",
    about: "Fairlead on Bun",
    start: (o) => start(o, BUN_NOT_SMOL),
  },
  {
    name: "fairlead-deno",
    about: "Fairlead on Deno",
    start: (o) => start(o, DENO),
  },
  {
    name: "fairlead-binary",
    about: "Fairlead as one compiled binary",
    start: (o) => start(o, BINARY),
  },
];
