import { expect, test } from "bun:test";
import { connect } from "node:net";
import { listen } from "../../core/http/listen.ts";
import { TrustedProxies } from "../../core/http/proxies.ts";
import { waitFor } from "../support/wait.ts";

test("a client that resets its connection is not taken for a proxy on a unix socket", async () => {
  const clients: string[] = [], local: number[] = [];
  const server = await listen({
    at: { kind: "tcp", host: "127.0.0.1", port: 0 },
    intake: { proxies: new TrustedProxies(["unix"]), timeoutMs: 5000, maxBody: 1000, idleMs: 5000 },
    maxHeader: 10_000,
    keepAliveMs: 5000,
    headerMs: 5000,
    http2: false,
    tls: undefined,
    handle(x) {
      clients.push(x.client.address);
      local.push(x.local.port);
      return new Response();
    },
  });
  const { port } = server.at as { port: number };
  const request = "POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.1\r\nContent-Length: 0\r\n\r\n";
  const ask = (reset: boolean) =>
    new Promise<void>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(request);
        if (reset) socket.resetAndDestroy();
      });
      socket.on("error", () => {});
      socket.on("data", () => socket.destroy());
      socket.on("close", () => resolve());
    });
  await Promise.all(Array.from({ length: 20 }, () => ask(true)));
  await ask(false);
  await waitFor(() => clients.includes("127.0.0.1"), { what: "the request of one that stayed" });
  // Of those that are gone the system tells no address, or that they had.
  expect(clients).not.toContain("10.0.0.1");
  expect(new Set(local).has(0)).toBe(false);
  await server.stop(true);
});
