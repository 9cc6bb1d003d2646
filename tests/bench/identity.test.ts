import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:net";
import process from "node:process";
import type { Running } from "../../bench/http/arms/arm.ts";
import { checkIdentity, iniDifferences, type PhpFacts } from "../../bench/http/identity.ts";

describe("checkIdentity", () => {
  let server: Server;
  let self: Running;

  beforeAll(async () => {
    server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    self = {
      port: typeof address === "object" && address !== null ? address.port : 0,
      pid: process.pid,
      executable: process.execPath,
      roots: [process.pid],
      command: [],
      config: {},
      stop: () => Promise.resolve(),
    };
  });

  afterAll(() => {
    server.close();
  });

  const refusal = (running: Running, children = 0) =>
    checkIdentity(running, "/no/php-fpm", children).then(() => "measured", (error: Error) => error.message);

  test("lets the server that was started be measured", async () => {
    expect(await refusal(self)).toBe("measured");
  });

  test("refuses another executable", async () => {
    expect(await refusal({ ...self, executable: "/usr/sbin/other" })).toContain("expected /usr/sbin/other");
  });

  test("refuses a port somebody else holds", async () => {
    // A pid that cannot exist stands for a server that was started and lost the port to this process.
    const other = { ...self, pid: 2 ** 22 + 1, roots: [2 ** 22 + 1] };
    expect(await refusal(other)).toContain(`is also held by ${process.pid}`);
  });

  test("refuses a port nobody holds", async () => {
    const port = self.port === 1 ? 2 : 1;
    expect(await refusal({ ...self, port })).toBe(`Nobody listens on port ${port}`);
  });

  test("refuses another number of PHP children", async () => {
    expect(await refusal(self, 2)).toBe("0 PHP children stand ready, expected 2");
  });
});

test("differences in PHP's settings are named", () => {
  const facts: PhpFacts = {
    pid: 1,
    version: "8.2.0",
    sapi: "fpm-fcgi",
    user: 33,
    opcache: true,
    jit: false,
    extensions: ["core"],
    ini: { memory_limit: "128M", html_errors: "1" },
  };
  expect(iniDifferences(facts, facts)).toEqual([]);
  expect(iniDifferences(facts, { ...facts, version: "8.3.0", ini: { memory_limit: "256M", html_errors: "1" } }))
    .toEqual(["memory_limit: 128M -> 256M", "PHP_VERSION: 8.2.0 -> 8.3.0"]);
});
