import { describe, expect, test } from "bun:test";
import { CoreError } from "../../core/error.ts";
import { createLog } from "../../core/log.ts";

function lines(format: "text" | "json") {
  const seen: string[] = [];
  const log = createLog({
    level: "info",
    format,
    sink: { write: (line) => void seen.push(line), flush: () => Promise.resolve() },
    now: () => 0,
  });
  return { log, seen };
}

describe("the log", () => {
  test("what is below the level is left out", () => {
    const { log, seen } = lines("text");
    log("debug", "quiet");
    log("warn", "loud", { plugin: "geo", n: 1 });
    expect(seen).toEqual(["1970-01-01T00:00:00.000Z WARN  [geo] loud n=1\n"]);
  });

  test("text from outside stays on one line", () => {
    const { log, seen } = lines("text");
    log("info", "a\nb\rc", { target: "/x\ny z" });
    expect(seen[0]!.split("\n").length).toBe(2);
  });

  test("an error comes with its cause, whose stack is where it happened", () => {
    const cause = new TypeError("x is not a function");
    const error = CoreError.at("geo", "onResolve", cause);
    for (const format of ["text", "json"] as const) {
      const { log, seen } = lines(format);
      log("error", "request failed", { error });
      const { error: told } = format === "json"
        ? JSON.parse(seen[0]!)
        : { error: JSON.parse(seen[0]!.slice(seen[0]!.indexOf("{"))) };
      expect([told.code, told.message]).toEqual(["PLUGIN_FAILED", "geo.onResolve: x is not a function"]);
      expect([told.cause.message, told.cause.stack]).toEqual([cause.message, cause.stack]);
    }
  });
});
