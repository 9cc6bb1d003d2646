/**
 * Fairlead on Bun and on Deno: one process with a database entry for each reset strategy, every one on TCP and on a
 * unix socket.
 *
 * @module
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "../../../tests/support/ports.ts";
import { BUN, DENO_SMALL, type Runtime, startFairlead } from "../../support/fairlead.ts";
import { type ArmProcess, type Door, type ProxyArm, type ProxyOptions, withDoors } from "./arm.ts";

export const STRATEGIES = ["smart", "always", "never"] as const;
export type Strategy = typeof STRATEGIES[number];

/** Connections to the database of each entry, at most. */
export const BACKENDS = 20;

function entry(o: ProxyOptions, strategy: Strategy, port: number, socket: string): string {
  const { host, port: to, user, password } = o.upstream;
  return `
[db.mysql.${strategy}]
url = "mysql://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}:${to}/test"
tls = "disabled"
listen = "127.0.0.1:${port}"
socket = ${JSON.stringify(socket)}
max_connections = ${BACKENDS}
reset_strategy = "${strategy}"
inject = false
slow_query = "0s"
${o.toml}`;
}

async function start(arm: string, runtime: Runtime, o: ProxyOptions): Promise<ArmProcess> {
  mkdirSync(join(o.dir, "public"), { recursive: true });
  const { dir, fairleadRoot: root } = o;
  const [web = 0, adminPort = 0, ...ports] = await freePorts(2 + STRATEGIES.length);
  const doors: Omit<Door, "process" | "arm">[] = [];
  let toml = `[server]
listen = ["127.0.0.1:${web}"]
public = ${JSON.stringify(join(o.dir, "public"))}

[admin]
listen = "127.0.0.1:${adminPort}"

[log]
level = "warn"
access = "off"
`;
  for (const [i, strategy] of STRATEGIES.entries()) {
    const [port, socket] = [ports[i]!, join(o.dir, `${strategy}.sock`)];
    toml += entry(o, strategy, port, socket);
    const place = { ...o.upstream, host: "127.0.0.1", port, socket };
    for (const via of ["tcp", "socket"] as const) doors.push({ name: `${arm} ${via} ${strategy}`, via, place });
  }
  const server = await startFairlead({ name: arm, runtime, root, dir, toml, adminPort });
  return withDoors({ arm, ...server }, doors);
}

const here = () => undefined;

export const FAIRLEAD_ARMS: readonly ProxyArm[] = [
  {
    name: "fairlead-bun",
    about: `Fairlead on Bun with \`--smol\`, as \`npm start\` runs it, ${BACKENDS} connections at most`,
    absent: here,
    start: (o) => start("fairlead-bun", BUN, o),
  },
  {
    name: "fairlead-deno",
    about: `Fairlead on Deno as \`npm start\` runs it there, ${BACKENDS} connections at most`,
    absent: here,
    start: (o) => start("fairlead-deno", DENO_SMALL, o),
  },
];
