import { describe, expect, test } from "bun:test";
import * as z from "zod";
import type { Environment } from "../../core/config/environment.ts";
import type { Table } from "../../core/config/json_schema.ts";
import { parseConfigFile, thirdParty } from "../../core/config/read.ts";
import { type Config, validate } from "../../core/config/validate.ts";
import { CoreError } from "../../core/error.ts";
import type { StandardSchema } from "../../core/standard_schema.ts";
import { tables } from "./tables.ts";

async function load(text: string | undefined, env: Environment = {}, some: readonly Table[] = tables): Promise<Config> {
  const raw = await parseConfigFile(text === undefined ? undefined : "fairlead.toml", () => text!);
  return await validate(raw, some, { env });
}

async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof CoreError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error("no error");
}

/** The lines of a CONFIG_INVALID below its head. */
async function problems(text: string | undefined, env: Environment = {}, some?: readonly Table[]): Promise<string[]> {
  const [head, ...lines] = (await failure(load(text, env, some))).split("\n");
  expect(head).toMatch(/^CONFIG_INVALID: (fairlead.toml|The configuration) has (one problem|\d+ problems):$/);
  return lines.map((line) => line.slice(2));
}

describe("a valid configuration", () => {
  test("is all defaults when nothing is written", async () => {
    const { values, baseDir } = await load(undefined);
    expect(values).toEqual({
      server: { listen: ["127.0.0.1:8080"], max_body: 8_388_608, body_timeout: 10_000 },
      admission: { max_queue: 100, mode: "fifo", auto: true },
      php: {
        root: "public",
        dsn: "mysql://app@db/shop",
        env: {},
        pool: { min: 1, idle: 60_000 },
        workers: "auto",
        tls: false,
      },
      bulkhead: { routes: [] },
      geo: { database: "geo.mmdb" },
    });
    expect(baseDir).toBe(process.cwd());
  });

  test("takes the file, and starts relative paths at its folder", async () => {
    const raw = await parseConfigFile("/etc/fairlead/app.toml", (path) => {
      expect(path).toBe("/etc/fairlead/app.toml");
      return '[php]\nroot = "web"\nenv = { A = "1" }\n[php.pool]\nidle = "1.5s"\n[plugins.geo]\nuse = "./geo.ts"\ndatabase = "x"\n';
    });
    const { values, baseDir } = await validate(raw, tables);
    expect(values["php"]).toMatchObject({ root: "web", env: { A: "1" }, pool: { min: 1, idle: 1500 } });
    expect(values["geo"]).toEqual({ database: "x" });
    expect(baseDir).toBe("/etc/fairlead");
  });

  test("is frozen all the way down", async () => {
    const { values } = await load('[[bulkhead.routes]]\nname = "a"\nlimit = 1\n');
    const routes = (values["bulkhead"] as { routes: { name: string }[] }).routes;
    expect([values, values["php"], routes, routes[0]].map(Object.isFrozen)).toEqual([true, true, true, true]);
  });

  test("can be validated twice from one raw file", async () => {
    const raw = await parseConfigFile("fairlead.toml", () => '[plugins.geo]\nuse = "x"\n[php]\nroot = "a"\n');
    const env = { FAIRLEAD_PHP__ROOT: "b" };
    const first = await validate(raw, tables, { env });
    expect((await validate(raw, tables, { env })).values).toEqual(first.values);
    expect((await validate(raw, tables)).values["php"]).toMatchObject({ root: "a" });
  });
});

describe("an invalid configuration", () => {
  test("names every problem with file, line, key, what was expected and what was got", async () => {
    expect(
      await failure(load(`
[server]
listen = "80"
max_body = "1TB"
body_timeout = "1000h"

[admission]
max_que = 4
mode = "fivo"
max_queue = 0
grace = 10
auto = "yes"

[phpp]
x = 1
`)),
    ).toBe(`CONFIG_INVALID: fairlead.toml has 9 problems:
  fairlead.toml:3: server.listen: expected an array, got the string "80"
  fairlead.toml:4: server.max_body: expected a size such as "512B", "64KB" or "10MB", or a number of bytes, got "1TB"
  fairlead.toml:5: server.body_timeout: expected a duration of at most 596h, got "1000h"
  fairlead.toml:8: admission.max_que: unknown key; did you mean "max_queue"?
  fairlead.toml:9: admission.mode: expected one of "fifo", "lifo", got "fivo"
  fairlead.toml:10: admission.max_queue: must be at least 1, got 0
  fairlead.toml:11: admission.grace: expected a duration such as "250ms", "1.5s" or "2m", got 10
  fairlead.toml:12: admission.auto: expected true or false, got the string "yes"
  fairlead.toml:14: phpp: unknown key; did you mean "php"?`);
  });

  test("one problem is counted as one", async () => {
    expect(await failure(load("[php]\nroot = 1\n"))).toBe(
      "CONFIG_INVALID: fairlead.toml has one problem:\n  fairlead.toml:2: php.root: expected a string, got 1",
    );
  });

  test("finds unknown, missing and wrong keys in arrays of tables and below", async () => {
    const text = `[[bulkhead.routes]]
name = "a"
limit = 1
[[bulkhead.routes]]
nmae = "b"
limit = 2.5
rules = [
  { path = "/ok" },
  { path = "bad" },
  { paths = "/" },
]
[php]
pool = { mim = 1 }
`;
    expect(await problems(text)).toEqual([
      "fairlead.toml:4: bulkhead.routes[1].name: missing; expected a string",
      'fairlead.toml:5: bulkhead.routes[1].nmae: unknown key; did you mean "name"?',
      "fairlead.toml:6: bulkhead.routes[1].limit: expected a whole number, got 2.5",
      'fairlead.toml:9: bulkhead.routes[1].rules[1].path: must start with "/", got "bad"',
      "fairlead.toml:10: bulkhead.routes[1].rules[2].path: missing; expected a string",
      'fairlead.toml:10: bulkhead.routes[1].rules[2].paths: unknown key; did you mean "path"?',
      'fairlead.toml:13: php.pool.mim: unknown key; did you mean "min"?',
    ]);
  });

  test("looks into the branch of a union that was meant", async () => {
    expect(await problems("[php]\ntls = { cert = 1, kee = 2 }\nworkers = 0\n")).toEqual([
      "fairlead.toml:2: php.tls.cert: expected a string, got 1",
      "fairlead.toml:2: php.tls.key: missing; expected a string",
      'fairlead.toml:2: php.tls.kee: unknown key; did you mean "key"?',
      "fairlead.toml:3: php.workers: must be at least 1, got 0",
    ]);
    expect(await problems('[php]\ntls = "x"\nworkers = [1]\n')).toEqual([
      'fairlead.toml:2: php.tls: expected true or false or a table, got the string "x"',
      'fairlead.toml:3: php.workers: expected "auto" or a number, got an array',
    ]);
  });

  test("takes the branch of a union with the fewest problems", async () => {
    const store = z.union([
      z.strictObject({ host: z.string(), port: z.int() }),
      z.strictObject({ socket: z.string() }),
    ]);
    const some = [{ name: "x", schema: z.strictObject({ store }) }];
    expect(await problems("[x]\nstore = { socket = 1 }\n", {}, some)).toEqual([
      "fairlead.toml:2: x.store.socket: expected a string, got 1",
    ]);
  });

  test("says which keys there are when none is near", async () => {
    expect(await problems("[admission]\nzzz = 1\n")).toEqual([
      "fairlead.toml:2: admission.zzz: unknown key; known here: max_queue, mode, grace, auto",
    ]);
    expect(await problems("workers = 1\n")).toEqual([
      "fairlead.toml:1: workers: unknown key; known here: server, admission, php, bulkhead, plugins",
    ]);
  });

  test("never shows a secret", async () => {
    expect(await problems('[php]\npassword = 1234\ndsn = ["mysql://a:hunter2@h"]\n')).toEqual([
      "fairlead.toml:2: php.password: expected a string",
      "fairlead.toml:3: php.dsn: expected a string, got an array",
    ]);
    expect(await problems('[php]\nworkers = "mysql://a:hunter2@h"\n')).toEqual([
      'fairlead.toml:2: php.workers: expected "auto" or a number, got the string "mysql://a:***@h"',
    ]);
  });

  test("never shows a secret that a schema library put into its message", async () => {
    const schema = z.object({
      token: z.string().refine((text) => text.length > 9, { error: (issue) => `${issue.input} is short` }),
    });
    expect(await problems('[x]\ntoken = "hunter2"\n', {}, [{ name: "x", schema }])).toEqual([
      "fairlead.toml:2: x.token: *** is short",
    ]);
    expect(await problems('[x]\ntoken = ""\n', {}, [{ name: "x", schema }])).toEqual([
      "fairlead.toml:2: x.token:  is short",
    ]);
  });

  test("a table that is none", async () => {
    expect(await problems('php = "public"\n')).toEqual([
      'fairlead.toml:1: php: expected a table, got the string "public"',
    ]);
  });

  test("a missing key points at its table, or at the file", async () => {
    const needy = [{ name: "db", schema: z.strictObject({ host: z.string() }) }];
    expect(await problems("\n[db]\n", {}, needy)).toEqual(["fairlead.toml:2: db.host: missing; expected a string"]);
    expect(await problems("", {}, needy)).toEqual(["fairlead.toml: db.host: missing; expected a string"]);
    expect(await problems(undefined, {}, needy)).toEqual(["db.host: missing; expected a string"]);
  });

  test("takes any Standard Schema, with its own words", async () => {
    const schema: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "own",
        validate: (value) =>
          Promise.resolve(
            (value as { n?: number }).n === 1
              ? { value }
              : { issues: [{ message: "n shall be 1", path: [{ key: "n" }] }] },
          ),
      },
    };
    expect((await load("[own]\nn = 1\n", {}, [{ name: "own", schema }])).values).toEqual({ own: { n: 1 } });
    expect(await problems("[own]\nn = 2\n", {}, [{ name: "own", schema }])).toEqual([
      "fairlead.toml:2: own.n: n shall be 1, got 2",
    ]);
  });
});

describe("third-party plugins", () => {
  const raw = (text: string) => parseConfigFile("fairlead.toml", () => text);

  test("are listed before anything is validated", async () => {
    const text = '[php]\nnonsense = 1\n[plugins.geo]\ndatabase = 1\nuse = "./geo.ts"\n[plugins]\nb.use = "npm:b"\n';
    expect(thirdParty(await raw(text))).toEqual([
      { name: "geo", use: "./geo.ts", line: 5 },
      { name: "b", use: "npm:b", line: 7 },
    ]);
    expect(thirdParty(await raw(""))).toEqual([]);
  });

  test("need a use", async () => {
    const failing = async (text: string) => await failure(raw(text).then(thirdParty));
    expect(await failing("[plugins.geo]\nx = 1\n")).toBe(
      'CONFIG_INVALID: fairlead.toml:1: plugins.geo: expected a table with use = "./plugin.ts" (or "npm:package")',
    );
    expect(await failing("plugins = 1\n")).toBe(
      'CONFIG_INVALID: fairlead.toml:1: plugins: expected tables such as [plugins.geo] with use = "./geo.ts"',
    );
  });

  test("have their own strict table, which the environment cannot redirect", async () => {
    const text = '[plugins.geo]\nuse = "./geo.ts"\ndatabse = "x"\n[plugins.gio]\nuse = "y"\n';
    expect(await problems(text, { FAIRLEAD_PLUGINS__GEO__USE: "./evil.ts" })).toEqual([
      'fairlead.toml:3: plugins.geo.databse: unknown key; did you mean "database"?',
      'fairlead.toml:4: plugins.gio: unknown key; did you mean "geo"?',
      "env FAIRLEAD_PLUGINS__GEO__USE: plugins.geo.use: unknown key; known here: database, useCache",
    ]);
  });
});

describe("a file that cannot be read", () => {
  const refuse = (code: string) =>
    parseConfigFile("sub/app.toml", () => Promise.reject(Object.assign(new Error("no"), { code })));

  test("is named with its full path and the reason", async () => {
    expect(await failure(refuse("ENOENT"))).toBe(
      `CONFIG_MISSING: Cannot read ${process.cwd()}/sub/app.toml: no such file`,
    );
    expect(await failure(refuse("EACCES"))).toBe(
      `CONFIG_MISSING: Cannot read ${process.cwd()}/sub/app.toml: permission denied`,
    );
    expect(await failure(parseConfigFile("/"))).toBe("CONFIG_MISSING: Cannot read /: it is a folder");
    expect(await failure(parseConfigFile("/nowhere/app.toml"))).toBe(
      "CONFIG_MISSING: Cannot read /nowhere/app.toml: no such file",
    );
  });
});
