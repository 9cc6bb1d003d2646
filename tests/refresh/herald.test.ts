import { describe, expect, test } from "bun:test";
import type { Change } from "../../plugins/refresh/changes.ts";
import { Herald } from "../../plugins/refresh/herald.ts";
import { VirtualClock } from "../admission/virtual_clock.ts";

/** A server whose workers watch everything below `/app/src`. */
function world() {
  const clock = new VirtualClock();
  const told: Change[] = [];
  const reloads = { running: false, watched: (path: string) => path.startsWith("/app/src/") };
  const herald = new Herald({
    reloads,
    roots: ["/app/public", "/shop/public"],
    clock,
    tell: (change) => told.push(change),
  });
  return { clock, told, reloads, herald };
}
const reload: Change = { kind: "reload" };

describe("what browsers are told", () => {
  test("stylesheets by their paths where nothing else changed, and a reload otherwise", () => {
    const { told, herald } = world();
    herald.filesChanged(["/app/public/a.css", "/app/public/b/c.css"]);
    herald.filesChanged(["/app/public/a.css", "/app/public/a.js"]);
    herald.filesChanged(["/app/templates/a.css"]);
    expect(told).toEqual([{ kind: "css", paths: ["/a.css", "/b/c.css"] }, reload, reload]);
    // Of several sites each has its own stylesheets.
    herald.filesChanged(["/shop/public/a.css"]);
    herald.filesChanged(["/app/public/a.css", "/shop/public/a.css"]);
    expect(told.slice(3)).toEqual([{ kind: "css", paths: ["/a.css"] }, reload]);
  });

  test("of files that workers take, when they have taken them", () => {
    const { clock, told, reloads, herald } = world();
    herald.filesChanged(["/app/src/a.php"]);
    clock.advance(60_000);
    expect(told).toEqual([]);
    reloads.running = true;
    herald.filesChanged(["/app/public/a.css"]);
    clock.advance(60_000);
    expect(told).toEqual([]);
    reloads.running = false;
    herald.reloaded({ php: undefined, "php:api": undefined });
    expect([told, clock.live]).toEqual([[reload], 0]);
  });

  test("of files that changed together with those of workers, after them, or alone where none reload", () => {
    const { clock, told, reloads, herald } = world();
    herald.filesChanged(["/app/public/a.css", "/app/src/a.php"]);
    herald.filesChanged(["/app/public/b.css"]);
    expect(told).toEqual([]);
    clock.advance(2000);
    expect(told).toEqual([{ kind: "css", paths: ["/a.css", "/b.css"] }]);

    herald.filesChanged(["/app/public/a.css", "/app/src/a.php"]);
    reloads.running = true;
    clock.advance(60_000);
    expect(told.length).toBe(1);
    herald.reloaded({ php: undefined });
    expect(told.slice(1)).toEqual([reload]);
  });

  test("of new code that was refused, why, and no reload; what else changed is shown", () => {
    const { told, herald } = world();
    herald.filesChanged(["/app/public/a.css", "/app/src/a.php"]);
    herald.reloaded({ php: "syntax error" });
    expect(told).toEqual([
      { kind: "failed", text: "reload of php failed: syntax error" },
      { kind: "css", paths: ["/a.css"] },
    ]);
    herald.reloaded({ php: "syntax error", "php:api": undefined });
    expect(told.slice(2)).toEqual([{ kind: "failed", text: "reload of php failed: syntax error" }, reload]);
    herald.reloaded({});
    expect(told.length).toBe(4);
  });
});
