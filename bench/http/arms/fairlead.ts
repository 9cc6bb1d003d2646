/**
 * Fairlead as an arm: on Bun, on Deno, and as the compiled binary. It starts its own php-fpm.
 *
 * @module
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, launch, until } from "../process.ts";
import type { Arm, ArmOptions, Running } from "./arm.ts";

type Command = (root: string) => readonly [string, ...string[]];

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

async function start(o: ArmOptions, command: Command): Promise<Running> {
  mkdirSync(o.dir, { recursive: true });
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = { "fairlead.toml": toml(o, port, adminPort) };
  const file = join(o.dir, "fairlead.toml");
  writeFileSync(file, config["fairlead.toml"]);
  const [runtime, ...rest] = command(o.fairleadRoot);
  const server = launch({
    command: [runtime, ...rest, "serve", "-c", file],
    logFile: join(o.dir, "fairlead.out"),
    cwd: o.fairleadRoot,
    env: o.env,
  });
  try {
    await until("Fairlead is ready", server, async () => {
      return (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status === 200;
    });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    port,
    adminPort,
    pid: server.pid,
    executable: realpathSync(runtime),
    roots: [server.pid],
    command: server.command,
    config,
    stop: () => server.stop(),
  };
}

const bun = (root: string) => join(root, "node_modules/.bin/bun");
const deno = (root: string) => join(root, "node_modules/.bin/deno");

export const FAIRLEAD_ARMS: readonly Arm[] = [
  {
    name: "fairlead-bun",
    about: "Fairlead on Bun with `--smol`, as `npm start` runs it",
    start: (o) => start(o, (root) => [bun(root), "--smol", "run", "mod.ts"]),
  },
  {
    name: "fairlead-bun-nosmol",
    about: "Fairlead on Bun",
    start: (o) => start(o, (root) => [bun(root), "run", "mod.ts"]),
  },
  {
    name: "fairlead-deno",
    about: "Fairlead on Deno",
    start: (o) => start(o, (root) => [deno(root), "run", "-A", "mod.ts"]),
  },
  {
    name: "fairlead-binary",
    about: "Fairlead as one compiled binary",
    start: (o) => start(o, (root) => [join(root, "dist/fairlead")]),
  },
];
