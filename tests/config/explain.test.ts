import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import * as z from "zod";
import type { Environment } from "../../core/config/environment.ts";
import { explainConfig } from "../../cli/explain.ts";
import type { Table } from "../../core/config/json_schema.ts";
import { parseConfigFile } from "../../core/config/read.ts";
import { validate } from "../../core/config/validate.ts";
import { duration } from "../../core/config/units.ts";
import { tables } from "./tables.ts";

async function load(text: string, env: Environment = {}, some: readonly Table[] = tables) {
  const raw = await parseConfigFile("fairlead.toml", () => text);
  return await validate(raw, some, { env, readFile: () => "hunter2\n" });
}

describe("explainConfig", () => {
  test("shows every key as it would be written, and where it came from", async () => {
    const config = await load(
      `[server]
max_body = "64KB"
[php.env]
"APP KEY" = "b"
TOKEN = "shown to nobody"
[[bulkhead.routes]]
name = "a"
limit = 1
[[bulkhead.routes]]
name = "b"
limit = 2
rules = [{ path = "/x" }]
[plugins.geo]
use = "./geo.ts"
`,
      {
        FAIRLEAD_ADMISSION__MAX_QUEUE: "7",
        FAIRLEAD_PHP__PASSWORD_FILE: "/run/secrets/p",
        FAIRLEAD_PHP__DSN: "mysql://app:p@ss/word@db/shop",
        FAIRLEAD_PHP__POOL: '{"min": 2}',
      },
    );
    expect(explainConfig(config)).toBe(`[server]
listen = [ "127.0.0.1:8080" ]    # default
max_body = "64KB"                # fairlead.toml:2
body_timeout = "10s"             # default

[admission]
max_queue = 7                    # env FAIRLEAD_ADMISSION__MAX_QUEUE
mode = "fifo"                    # default
auto = true                      # default

[php]
root = "public"                  # default
password = "***"                 # file /run/secrets/p
dsn = "mysql://app:***@db/shop"  # env FAIRLEAD_PHP__DSN
workers = "auto"                 # default
tls = false                      # default

[php.env]
"APP KEY" = "b"                  # fairlead.toml:4
TOKEN = "***"                    # fairlead.toml:5

[php.pool]
min = 2                          # env FAIRLEAD_PHP__POOL
idle = "1m"                      # default

[[bulkhead.routes]]
name = "a"                       # fairlead.toml:7
limit = 1                        # fairlead.toml:8
rules = []                       # default

[[bulkhead.routes]]
name = "b"                       # fairlead.toml:10
limit = 2                        # fairlead.toml:11

[[bulkhead.routes.rules]]
path = "/x"                      # fairlead.toml:12

[plugins.geo]
use = "./geo.ts"                 # fairlead.toml:14
database = "geo.mmdb"            # default
`);
  });

  test("hides what its name calls a secret, however it is written", async () => {
    const secret = [
      "DB_PASSWORD",
      "db_pass",
      "PASS",
      "MYSQL_PWD",
      "APP_KEY",
      "STRIPE_SECRETS",
      "api_token",
      "REDIS_AUTH",
    ];
    const open = ["bypass", "key", "PWD_FILE", "author", "token_count"];
    const lines = [...secret, ...open].map((name) => `${name} = "v"\n`);
    const shown = explainConfig(await load(`[php.env]\n${lines.join("")}`));
    const hidden = [...shown.matchAll(/^(\w+) = "\*\*\*"/gm)].map(([, name]) => name);
    expect(hidden).toEqual(secret);
  });

  test("a string the schema takes apart is shown as written", async () => {
    const address = z.string().transform((text) => ({ host: text.split(":")[0], port: Number(text.split(":")[1]) }));
    const schema = z.strictObject({
      a: address,
      b: address.prefault("y:2"),
      c: z.string().default("z").transform((s) => new URL(`http://${s}`)),
    });
    expect(explainConfig(await load('[x]\na = "x:1"\n', {}, [{ name: "x", schema }]))).toBe(
      '[x]\na = "x:1"  # fairlead.toml:2\nb = "y:2"  # default\nc = "z"    # default\n',
    );
  });

  test("tables in a default are shown as the default writes them", async () => {
    const route = z.strictObject({ name: z.string(), wait: duration("3s") });
    const routes = z.array(route).prefault([{ name: "a", wait: "2s" }, { name: "b" }]);
    const config = await load("", {}, [{ name: "x", schema: z.strictObject({ routes }) }]);
    expect(explainConfig(config)).toBe(
      '[[x.routes]]\nname = "a"   # default\nwait = "2s"  # default\n\n[[x.routes]]\nname = "b"   # default\nwait = "3s"  # default\n',
    );
  });

  test("tables inside nested arrays stay on one line, and a long line does not push the others", async () => {
    const schema = z.strictObject({ grid: z.array(z.array(z.strictObject({ a: z.int() }))), z: z.int().default(1) });
    const config = await load("[x]\ngrid = [[{a=1},{a=2}], [{a=1111111111111},{a=1111111111111}]]\n", {}, [{
      name: "x",
      schema,
    }]);
    expect(explainConfig(config)).toBe(
      "[x]\ngrid = [ [ { a = 1 }, { a = 2 } ], [ { a = 1111111111111 }, { a = 1111111111111 } ] ]  # fairlead.toml:2\nz = 1  # default\n",
    );
  });

  test("is a configuration with the same values", async () => {
    const ms = fc.nat(10_000).map((n) => `${n}ms`);
    const name = fc.string({ minLength: 1 });
    const documents = fc.record({
      admission: fc.record({ max_queue: fc.integer({ min: 1 }), grace: ms }, { requiredKeys: [] }),
      php: fc.record({
        root: fc.string({ unit: "binary" }).filter((text) => !text.includes("://") && text.isWellFormed()),
        env: fc.dictionary(
          name.filter((key) =>
            !/^(__proto__|constructor)$|(password|passwd|passphrase|pwd|secret|token|credential|_key|_auth|(^|_)pass)s?$/i
              .test(key)
          ),
          name,
        ),
        pool: fc.record({ min: fc.nat(), idle: ms }, { requiredKeys: [] }),
        tls: fc.oneof(fc.boolean(), fc.record({ cert: name, key: name })),
      }, { requiredKeys: [] }),
      bulkhead: fc.record({
        routes: fc.array(
          fc.record({ name, limit: fc.integer(), rules: fc.array(fc.record({ path: name.map((s) => `/${s}`) })) }),
        ),
      }),
    });
    await fc.assert(fc.asyncProperty(documents, async ({ admission, php, bulkhead }) => {
      const env = {
        FAIRLEAD_ADMISSION: JSON.stringify(admission),
        FAIRLEAD_PHP: JSON.stringify(php),
        FAIRLEAD_BULKHEAD: JSON.stringify(bulkhead),
      };
      const some = tables.filter((table) => !table.external);
      const config = await load("", env, some);
      expect((await load(explainConfig(config), {}, some)).values).toEqual(config.values);
    }));
  });
});
