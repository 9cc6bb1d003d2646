/**
 * Free TCP ports, asked of the system.
 *
 * @module
 */
import { createServer, type Server } from "node:net";

function bind(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
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
