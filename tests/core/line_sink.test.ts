import { afterAll, describe, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileSink } from "../../core/line_sink.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-sink-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe("a sink of lines", () => {
  test("a flush writes every line once, in order, also while a write is under way", async () => {
    const path = join(dir, "log"), fd = openSync(path, "a");
    const sink = fileSink(fd);
    const lines = Array.from({ length: 200 }, (_, i) => `line ${i}\n`);
    for (const [i, line] of lines.entries()) {
      sink.write(line);
      // Every now and then the turn ends, so that what follows meets a write that has begun.
      if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await sink.flush();
    expect(readFileSync(path, "utf8")).toBe(lines.join(""));
    await sink.flush();
    closeSync(fd);
  });

  test("a flush ends when nobody can be written to", async () => {
    const fd = openSync(join(dir, "read-only"), "w"), path = join(dir, "read-only");
    closeSync(fd);
    const unwritable = openSync(path, "r");
    const sink = fileSink(unwritable);
    sink.write("lost\n");
    await sink.flush();
    expect(readFileSync(path, "utf8")).toBe("");
    closeSync(unwritable);
  });
});
