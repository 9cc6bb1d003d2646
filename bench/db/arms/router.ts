/**
 * MySQL Router 9 in the chroot of MySQL 9 (`scripts/mysql9.mjs`), with connection sharing off and on. Its pool holds
 * as many connections as a bootstrapped one does.
 *
 * @module
 */
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { mysql9Absent, mysql9Root } from "../../../tests/support/mysql9.ts";
import { freePorts } from "../../../tests/support/ports.ts";
import { launch, until } from "../../support/process.ts";
import { executable } from "../../support/procfs.ts";
import { tcpHolders } from "../identity.ts";
import { type ArmProcess, type ProxyArm, type ProxyOptions, withDoors } from "./arm.ts";

function routing(name: string, o: ProxyOptions, port: number, sharing: boolean): string {
  return `[routing:${name}]
bind_address=127.0.0.1
bind_port=${port}
destinations=${o.upstream.host}:${o.upstream.port}
routing_strategy=first-available
protocol=classic
max_connections=0
client_ssl_mode=DISABLED
server_ssl_mode=DISABLED
${sharing ? "connection_sharing=1\nconnection_sharing_delay=0\n" : ""}`;
}

async function start(o: ProxyOptions): Promise<ArmProcess> {
  // Its folder must be inside the chroot.
  const dir = mkdtempSync(join(mysql9Root, "tmp", "r-"));
  const name = `/tmp/${basename(dir)}`;
  chmodSync(dir, 0o755);
  const [plain = 0, sharing = 0] = await freePorts(2);
  const text = `[DEFAULT]
logging_folder=
plugin_folder=/usr/lib/mysqlrouter/plugin
runtime_folder=${name}
data_folder=${name}
config_folder=${name}
keyring_path=${name}/keyring
[logger]
level=warning
[connection_pool]
max_idle_server_connections=64
idle_timeout=60
${routing("plain", o, plain, false)}${routing("sharing", o, sharing, true)}`;
  writeFileSync(join(dir, "router.conf"), text);
  const server = launch({
    command: ["chroot", mysql9Root, "mysqlrouter", "-c", `${name}/router.conf`],
    logFile: join(dir, "router.out"),
  });
  const stop = async () => {
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    const ready = () => tcpHolders(plain).length > 0 && tcpHolders(sharing).length > 0;
    await until("MySQL Router is ready", server, () => Promise.resolve(ready()));
  } catch (error) {
    await stop();
    throw error;
  }
  return withDoors(
    {
      arm: "router",
      pid: server.pid,
      executable: executable(server.pid) ?? "",
      command: server.command,
      config: { "router.conf": text },
      stop,
    },
    [
      { name: "router tcp", via: "tcp", place: { ...o.upstream, port: plain, socket: "" } },
      { name: "router tcp sharing", via: "tcp", place: { ...o.upstream, port: sharing, socket: "" } },
    ],
  );
}

export const ROUTER: ProxyArm = {
  name: "router",
  about: "MySQL Router 9, TLS off on both sides, connection sharing off, and on without delay",
  absent(kind) {
    if (kind === "mariadb") return "MySQL Router stands before MySQL only";
    return mysql9Absent() ??
      (existsSync(join(mysql9Root, "usr/bin/mysqlrouter")) ? undefined : `no mysqlrouter in ${mysql9Root}`);
  },
  start,
};
