/**
 * HAProxy in TCP mode: it passes bytes on and understands none of them. A careful operator's settings: a thread for each
 * core, no logging, timeouts that never fire.
 *
 * @module
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { resolveBinary } from "../../support/binary.ts";
import { freePort } from "../../../tests/support/ports.ts";
import { launch, until } from "../../support/process.ts";
import { executable } from "../../support/procfs.ts";
import { tcpHolders } from "../identity.ts";
import { type ArmProcess, type ProxyArm, type ProxyOptions, withDoors } from "./arm.ts";

function config(o: ProxyOptions, port: number, socket: string): string {
  const { host, port: to } = o.upstream;
  return `global
  maxconn 4000
  nbthread ${availableParallelism()}
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen tcp
  bind ${host}:${port} backlog 4096
  server database ${host}:${to}
listen socket
  bind unix@${socket} mode 660 backlog 4096
  server database ${host}:${to}
`;
}

async function start(o: ProxyOptions): Promise<ArmProcess> {
  mkdirSync(o.dir, { recursive: true });
  const [port, socket] = [await freePort(), join(o.dir, "mysql.sock")];
  const text = config(o, port, socket);
  const file = join(o.dir, "haproxy.cfg");
  writeFileSync(file, text);
  const server = launch({ command: ["haproxy", "-db", "-f", file], logFile: join(o.dir, "haproxy.out") });
  try {
    await until("HAProxy is ready", server, () => Promise.resolve(tcpHolders(port).length > 0));
  } catch (error) {
    await server.stop();
    throw error;
  }
  const place = { ...o.upstream, port, socket };
  return withDoors(
    {
      arm: "haproxy",
      pid: server.pid,
      executable: realpathSync(executable(server.pid) ?? ""),
      command: server.command,
      config: { "haproxy.cfg": text },
      stop: () => server.stop(),
    },
    [{ name: "haproxy tcp", via: "tcp", place }, { name: "haproxy socket", via: "socket", place }],
  );
}

export const HAPROXY: ProxyArm = {
  name: "haproxy",
  about: "HAProxy in TCP mode, a thread for each core",
  absent() {
    try {
      resolveBinary("haproxy", "/usr/sbin/haproxy");
      return undefined;
    } catch {
      return "no HAProxy: install the package haproxy";
    }
  },
  start,
};
