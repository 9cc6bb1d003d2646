import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AnyPlugin, builtin, prepare, startServer } from "../../mod.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-library-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe("mod.ts", () => {
  test("is enough to serve what a file says, with a plugin of one's own", async () => {
    const file = join(dir, "fairlead.toml");
    writeFileSync(
      file,
      '[server]\nlisten = ["127.0.0.1:0"]\n[admin]\nlisten = ""\n[log]\nlevel = "error"\naccess = "off"\n',
    );
    const mine: AnyPlugin = {
      name: "mine",
      api: 1,
      config: { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } },
      setup: () => ({ onResolve: (x) => new Response(`mine at ${x.path}`) }),
    };
    const { options } = await prepare(file);
    expect(options.plugins).toEqual(builtin);
    const server = await startServer({ ...options, plugins: [...options.plugins, mine] });
    const [at] = server.addresses;
    if (at?.kind !== "tcp") throw new Error("expected a TCP address");
    expect(await (await fetch(`http://127.0.0.1:${at.port}/here`)).text()).toBe("mine at /here");
    expect(await server.stop()).toEqual([]);
  });
});
