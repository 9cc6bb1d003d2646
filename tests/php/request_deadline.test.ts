import { expect, test } from "bun:test";
import { requestWriter } from "../../plugins/php/request_writer.ts";
import type { Script } from "../../plugins/php/resolve.ts";
import { exchangeOf } from "./support/exchange.ts";

const script: Script = {
  kind: "script",
  scriptFilename: "/srv/index.php",
  scriptName: "/index.php",
  pathInfo: "",
  documentUri: "/index.php",
  documentRoot: "/srv",
};

/** The value of a short name in blobs of name-value pairs. */
function valueOf(params: readonly Uint8Array[], name: string): string | undefined {
  const text = params.map((blob) => String.fromCharCode(...blob)).join("");
  const found = [...text.matchAll(new RegExp(name, "g"))].filter(({ index }) =>
    text.charCodeAt(index - 2) === name.length
  );
  const at = found[0]?.index;
  return at === undefined ? undefined : text.slice(at + name.length, at + name.length + text.charCodeAt(at - 1));
}

test("php-fpm is told in seconds of Unix time when a request must have ended, whatever the client calls itself", () => {
  const times = { wall: () => 1_793_337_000_250, monotonic: () => 1000 };
  const write = requestWriter("fairlead/1", {}, times);
  const x = exchangeOf("GET / HTTP/1.1\r\nHost: a\r\nRequest-Deadline: 1\r\n\r\n", { localPort: 80 });
  x.deadline = 31_500.6;
  expect(valueOf(write(x, script, undefined).params, "REQUEST_DEADLINE")).toBe("1793337030.751");
  x.deadline = 0;
  const { params } = write(x, script, undefined);
  expect(valueOf(params, "REQUEST_DEADLINE")).toBe("1793336999.250");
});
