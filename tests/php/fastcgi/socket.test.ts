import { expect, test } from "bun:test";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { connect, parseAddress } from "../../../plugins/php/fastcgi/socket.ts";

const codeOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test("addresses", () => {
  expect(parseAddress("/run/php.sock")).toEqual({ path: "/run/php.sock" });
  expect(parseAddress("unix:/run/php.sock")).toEqual({ path: "/run/php.sock" });
  expect(parseAddress("127.0.0.1:9000")).toEqual({ host: "127.0.0.1", port: 9000 });
  expect(parseAddress("php:9000")).toEqual({ host: "php", port: 9000 });
  expect(parseAddress("[::1]:9000")).toEqual({ host: "::1", port: 9000 });
  for (
    const bad of ["", "php", "php:", ":9000", "php:0", "php:65536", "php:90a", "::1:9000", "[::1]", "unix:php.sock"]
  ) {
    expect([bad, codeOf(() => parseAddress(bad))]).toEqual([bad, "PHP_ADDRESS"]);
  }
});

test("a TCP socket connects, and says when nobody listens", async () => {
  const server = createServer((socket) => socket.end("x"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = await connect({ host: "127.0.0.1", port });
  const chunk = await new Promise<Uint8Array>((resolve) => socket.on("data", resolve));
  expect([...chunk]).toEqual([120]);
  socket.destroy();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  const error = await connect({ host: "127.0.0.1", port }).catch((reason) => reason);
  expect([error.code, error.status, error.message.includes(`127.0.0.1:${port}`)]).toEqual(["PHP_CONNECT", 502, true]);
});

test("an aborted connect rejects", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  for (const early of [true, false]) {
    const abort = new AbortController();
    if (early) abort.abort(new Error("enough"));
    const connecting = connect({ host: "127.0.0.1", port }, abort.signal).catch((reason) => reason);
    abort.abort(new Error("enough"));
    const error = await connecting;
    expect([error.code, error.message.endsWith("enough")]).toEqual(["PHP_CONNECT", true]);
  }
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
