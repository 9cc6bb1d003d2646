import { expect, test } from "bun:test";
import { requestContext } from "../../plugins/php/goridge/context.ts";
import { remoteAddress } from "../../plugins/php/remote_address.ts";
import { requestVars } from "../../plugins/php/server_vars.ts";
import { TestExchange } from "../support/exchange.ts";

const nobody = { address: "", port: 0 };

test("the address that scripts see is the client's, or that of a unix socket", () => {
  expect(remoteAddress({ client: { address: "192.0.2.7", port: 1 }, local: nobody }, "unix:")).toBe("192.0.2.7");
  expect(remoteAddress({ client: nobody, local: nobody }, "unix:")).toBe("unix:");
});

test("a client that has reset its connection is not this machine", () => {
  const x = new TestExchange("/", { peer: nobody });
  const vars = new Map<string, string>();
  requestVars((name, value) => void vars.set(name, value), x);
  const { remoteAddr } = requestContext(x, { parsed: false, uploads: undefined } as never);
  expect([vars.get("REMOTE_ADDR"), remoteAddr]).toEqual(["0.0.0.0", "0.0.0.0"]);
});
