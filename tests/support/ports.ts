/**
 * Free TCP ports for servers that are started later. Not those that the system gives: it gives the same ones to outgoing connections,
 * and between the asking and the listening there are many.
 *
 * @module
 */
import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/** Below what Linux gives to outgoing connections (`net.ipv4.ip_local_port_range`), above most services' own. */
const [first, behind] = [10_240, 32_000] as const;

async function bind(): Promise<Server> {
  for (let tries = 0;; tries++) {
    try {
      return await listen(randomInt(first, behind));
    } catch (error) {
      if (tries === 100) throw error;
    }
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

/** `count` different free ports on the loopback address. They are held together first, so no two are the same. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, bind));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** One free port on the loopback address. */
export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!;
}
