import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import * as z from "zod";
import { variableName } from "../../core/config/environment.ts";
import { parseConfigFile } from "../../core/config/read.ts";
import { validate } from "../../core/config/validate.ts";
import { tables } from "./tables.ts";

const files: Record<string, string> = { "/run/secrets/p": "12345\n", "/crlf": "a\nb\r\n", "/two": "x\n\n" };

async function load(env: Record<string, string>, text = "", some = tables) {
  const raw = await parseConfigFile("fairlead.toml", () => text);
  const readFile = (path: string) => files[path] ?? Promise.reject(Object.assign(new Error("no"), { code: "ENOENT" }));
  return await validate(raw, some, { env, readFile });
}

async function failure(env: Record<string, string>, text?: string): Promise<string> {
  const error = await load(env, text).then(() => undefined, (error) => error);
  return `${error?.code}: ${error?.message}`;
}

const invalid = (...lines: string[]) =>
  `CONFIG_INVALID: fairlead.toml has ${lines.length === 1 ? "one problem" : `${lines.length} problems`}:\n` +
  lines.map((line) => `  ${line}`).join("\n");

describe("FAIRLEAD_* variables", () => {
  test("set keys at any depth, over the file", async () => {
    const { values } = await load({
      FAIRLEAD_ADMISSION__MAX_QUEUE: "7",
      FAIRLEAD_ADMISSION__AUTO: "false",
      FAIRLEAD_PHP__POOL__IDLE: "2s",
      FAIRLEAD_SERVER__LISTEN: '["a", "b"]',
      FAIRLEAD_SERVER__MAX_BODY: "1024",
      FAIRLEAD_PHP__ENV: '{"APP_ENV": "prod"}',
      FAIRLEAD_PLUGINS__GEO__USECACHE: "true",
    }, "[admission]\nmax_queue = 3\ngrace = '1s'\n[php.pool]\nmin = 2\n");
    expect(values).toMatchObject({
      admission: { max_queue: 7, auto: false, grace: 1000 },
      php: { pool: { idle: 2000, min: 2 }, env: { APP_ENV: "prod" } },
      server: { listen: ["a", "b"], max_body: 1024 },
      geo: { useCache: true },
    });
  });

  test("are strings where the schema wants a string, whatever they look like", async () => {
    for (const text of ["8.20", "true", "[1]", '{"a":1}', "null", '"q"', "", "1e400"]) {
      const { values } = await load({ FAIRLEAD_PHP__VERSION: text });
      expect(values["php"]).toMatchObject({ version: text });
    }
  });

  test("outer tables go first, whatever the order", async () => {
    const env = {
      FAIRLEAD_PHP__POOL__MIN: "5",
      FAIRLEAD_PHP__POOL: '{"min": 1, "idle": "3s"}',
      FAIRLEAD_PHP: '{"root": "r"}',
    };
    const { values } = await load(env, '[php]\nversion = "gone"\n');
    expect(values["php"]).toMatchObject({ root: "r", pool: { min: 5, idle: 3000 } });
    expect(values["php"]).not.toHaveProperty("version");
  });

  test("that are no key are errors naming the nearest", async () => {
    expect(
      await failure({
        FAIRLEAD_PHP_ROOT: "x",
        FAIRLEAD_PHP__POOL_IDLE: "x",
        FAIRLEAD_PHPP__ROOT: "x",
        FAIRLEAD_PLUGINS__GIO__DATABASE: "x",
        FAIRLEAD_BULKHEAD__ROUTES: '[{"name": "a", "limit": 1, "ruels": []}]',
        FAIRLEAD_ADMISSION__MAX_QUEU: "1",
        FAIRLEAD_PHP__POOL__MIN: "many",
        FAIRLEAD_SERVER__LISTEN__X: "1",
        FAIRLEAD_PHP__: "1",
      }, "[server]\nmax_body = -1\nlisten = []\n"),
    ).toBe(invalid(
      'fairlead.toml:2: server.max_body: expected a size such as "512B", "64KB" or "10MB", or a number of bytes, got -1',
      'env FAIRLEAD_PHP_ROOT: php_root: unknown key; did you mean "FAIRLEAD_PHP__ROOT"?',
      'env FAIRLEAD_PHPP__ROOT: phpp: unknown key; did you mean "FAIRLEAD_PHP__ROOT"?',
      'env FAIRLEAD_PLUGINS__GIO__DATABASE: plugins.gio: unknown key; did you mean "FAIRLEAD_PLUGINS__GEO__DATABASE"?',
      "env FAIRLEAD_SERVER__LISTEN__X: server.listen: expected an array, got a table",
      'env FAIRLEAD_ADMISSION__MAX_QUEU: admission.max_queu: unknown key; did you mean "FAIRLEAD_ADMISSION__MAX_QUEUE"?',
      'env FAIRLEAD_PHP__POOL__MIN: php.pool.min: expected a number, got the string "many"',
      'env FAIRLEAD_PHP__POOL_IDLE: php.pool_idle: unknown key; did you mean "FAIRLEAD_PHP__POOL__IDLE"?',
      'env FAIRLEAD_PHP__: php."": unknown key; did you mean "FAIRLEAD_PHP"?',
      'env FAIRLEAD_BULKHEAD__ROUTES: bulkhead.routes[0].ruels: unknown key; did you mean "rules"?',
    ));
  });

  test("that hold arrays and tables are JSON", async () => {
    expect(await failure({ FAIRLEAD_SERVER__LISTEN: "a,b", FAIRLEAD_PHP__POOL: "{min = 1}" })).toBe(invalid(
      'env FAIRLEAD_SERVER__LISTEN: server.listen: expected an array, got the string "a,b"; a variable holds it as JSON',
      'env FAIRLEAD_PHP__POOL: php.pool: expected a table, got the string "{min = 1}"; a variable holds it as JSON',
    ));
  });

  test("that are wrong either way are reported as what they look like", async () => {
    expect(await failure({ FAIRLEAD_ADMISSION__MAX_QUEUE: "0" })).toBe(
      invalid("env FAIRLEAD_ADMISSION__MAX_QUEUE: admission.max_queue: must be at least 1, got 0"),
    );
  });

  test("are blamed for their own key only", async () => {
    const env = { FAIRLEAD_PHP__POOL: '{"idle": 5}', FAIRLEAD_PHP__POOL__MIN: "many" };
    expect(await failure(env)).toBe(invalid(
      'env FAIRLEAD_PHP__POOL__MIN: php.pool.min: expected a number, got the string "many"',
      'env FAIRLEAD_PHP__POOL: php.pool.idle: expected a duration such as "250ms", "1.5s" or "2m", got 5',
    ));
    const schema = z.object({ min: z.int(), max: z.int() }).refine(
      ({ min, max }) => min < max,
      "min must be below max",
    );
    const error = await load({ FAIRLEAD_X__MIN: "9" }, "\n[x]\nmax = 3\n", [{ name: "x", schema }]).catch((error) =>
      error
    );
    expect(error.message).toBe("fairlead.toml has one problem:\n  fairlead.toml:2: x: min must be below max");
  });

  test("of others are left alone", async () => {
    const env = {
      FAIRLEAD_CONFIG: "/etc/x.toml",
      FAIRLEAD_SERVICE_HOST: "10.0.0.1",
      FAIRLEAD_SERVICE_PORT: "80",
      FAIRLEAD_SERVICE_PORT_HTTP: "80",
      FAIRLEAD_PORT: "tcp://10.0.0.1:80",
      FAIRLEAD_PORT_80_TCP_ADDR: "10.0.0.1",
      fairlead_php__root: "x",
      PHP__ROOT: "x",
    };
    expect((await load(env)).values).toEqual((await load({})).values);
  });

  test("carry any value of any depth", async () => {
    const schema = z.strictObject({
      s: z.string(),
      n: z.number(),
      b: z.boolean(),
      t: z.strictObject({ a: z.array(z.json()), "c-d": z.string() }),
    });
    const json = fc.jsonValue({ noUnicodeString: false }).filter((value) =>
      !JSON.stringify(value).includes("__proto__")
    );
    const values = fc.record({
      s: fc.string(),
      n: fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
      b: fc.boolean(),
      a: fc.array(json),
      c: fc.string(),
    });
    await fc.assert(fc.asyncProperty(values, async ({ s, n, b, a, c }) => {
      const env = {
        [variableName(["x", "s"])]: s,
        [variableName(["x", "n"])]: String(n),
        [variableName(["x", "b"])]: String(b),
        [variableName(["x", "t", "a"])]: JSON.stringify(a),
        [variableName(["x", "t", "c-d"])]: c,
      };
      const { values } = await load(env, "", [{ name: "x", schema }]);
      expect(values["x"]).toEqual({ s, n, b, t: { a: JSON.parse(JSON.stringify(a)), "c-d": c } });
    }));
  });
});

describe("FAIRLEAD_*_FILE variables", () => {
  test("set a key from what a file holds, less one newline", async () => {
    const read = async (file: string) => (await load({ FAIRLEAD_PHP__PASSWORD_FILE: file })).values["php"];
    expect(await read("/run/secrets/p")).toMatchObject({ password: "12345" });
    expect(await read("/crlf")).toMatchObject({ password: "a\nb" });
    expect(await read("/two")).toMatchObject({ password: "x\n" });
  });

  test("can set what is no string", async () => {
    const { values } = await load({ FAIRLEAD_ADMISSION__MAX_QUEUE_FILE: "/run/secrets/p" });
    expect(values["admission"]).toMatchObject({ max_queue: 12345 });
  });

  test("are plain settings where a key has that name", async () => {
    const schema = z.strictObject({ log_file: z.string(), file: z.string() });
    const env = { FAIRLEAD_X__LOG_FILE: "/var/log/x", FAIRLEAD_X__FILE: "/y" };
    expect((await load(env, "", [{ name: "x", schema }])).values["x"]).toEqual({ log_file: "/var/log/x", file: "/y" });
  });

  test("are text first, even when they look like a number", async () => {
    const schema = z.strictObject({ pin: z.union([z.number(), z.string()]) });
    const load1 = async (name: string, text: string) =>
      (await load({ [name]: text }, "", [{ name: "x", schema }])).values["x"];
    expect(await load1("FAIRLEAD_X__PIN_FILE", "/run/secrets/p")).toEqual({ pin: "12345" });
    expect(await load1("FAIRLEAD_X__PIN", "12345")).toEqual({ pin: 12345 });
  });

  test("need the name of a key before the suffix", async () => {
    expect(await failure({ FAIRLEAD_PHP__POOL__FILE: "/run/secrets/p" })).toBe(
      invalid("env FAIRLEAD_PHP__POOL__FILE: php.pool.file: unknown key; known here: min, idle"),
    );
  });

  test("fail naming the variable and the file", async () => {
    expect(await failure({ FAIRLEAD_PHP__PASSWORD_FILE: "/none" })).toBe(
      "CONFIG_SECRET: Cannot read /none, named by FAIRLEAD_PHP__PASSWORD_FILE: no such file",
    );
    expect(await failure({ FAIRLEAD_PHP__PASSWORD_FILE: "/none", FAIRLEAD_PHP__PASSWORD: "" })).toBe(
      "CONFIG_SECRET: Set either FAIRLEAD_PHP__PASSWORD or FAIRLEAD_PHP__PASSWORD_FILE, not both",
    );
  });

  test("are not shown when they are wrong", async () => {
    expect(await failure({ FAIRLEAD_PHP__TLS_FILE: "/run/secrets/p" })).toBe(
      invalid("file /run/secrets/p: php.tls: expected true or false or a table"),
    );
    expect(await failure({ FAIRLEAD_PHP__PASSWRD_FILE: "/run/secrets/p" })).toBe(
      invalid('file /run/secrets/p: php.passwrd: unknown key; did you mean "password"?'),
    );
  });
});
