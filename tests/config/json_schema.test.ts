import { describe, expect, test } from "bun:test";
import * as z from "zod";
import { configSchema, type JsonSchema, keysAt, knownPaths } from "../../core/config/json_schema.ts";
import { configReference } from "../../scripts/config_reference.ts";
import type { StandardSchema } from "../../core/standard_schema.ts";
import { tables } from "./tables.ts";

const opaque: StandardSchema = { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } };

describe("configSchema", () => {
  const schema = configSchema([...tables, { name: "own", schema: opaque }, {
    name: "far",
    schema: opaque,
    external: true,
  }]);
  const properties = schema["properties"] as Record<string, JsonSchema>;

  test("knows every table and forbids others", () => {
    expect(schema["$schema"]).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(schema["additionalProperties"]).toBe(false);
    expect(Object.keys(properties)).toEqual(["server", "admission", "php", "bulkhead", "own", "plugins"]);
  });

  test("describes what is written, not what it becomes", () => {
    expect(properties["server"]).toEqual({
      type: "object",
      description: "The public listener.",
      properties: {
        listen: {
          type: "array",
          items: { type: "string" },
          default: ["127.0.0.1:8080"],
          description: "Addresses to listen on",
        },
        max_body: {
          title: "size",
          description: "Largest request body",
          default: "8MB",
          anyOf: [
            { type: "string", pattern: "^(?:\\d+B|\\d+(?:\\.\\d+)?[KMG]B)$" },
            { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
          ],
        },
        body_timeout: {
          title: "duration",
          description: "Longest pause between two bytes of a body",
          default: "10s",
          anyOf: [
            { type: "string", pattern: "^(?:0|\\d+(?:\\.\\d+)?(?:ms|s|m|h))$" },
            { type: "number", const: 0 },
          ],
        },
      },
      additionalProperties: false,
    });
  });

  test("a third-party plugin also has its use, and other plugins may be named", () => {
    const { properties: plugins, additionalProperties } = properties["plugins"]!;
    expect((plugins as Record<string, JsonSchema>)["geo"]).toMatchObject({
      required: ["use"],
      additionalProperties: false,
    });
    expect(keysAt(schema, ["plugins", "geo"])).toEqual(["use", "database", "useCache"]);
    expect(additionalProperties).toMatchObject({ required: ["use"] });
  });

  test("a schema it cannot read takes anything", () => {
    expect(properties["own"] as unknown).toBe(true);
    expect(keysAt(schema, ["plugins", "far"])).toEqual(["use"]);
    expect(keysAt(schema, ["own", "x"])).toEqual([]);
  });

  test("references of a recursive schema stay inside its table", () => {
    const tree: z.ZodType = z.strictObject({
      get kids() {
        return z.array(tree).optional();
      },
    }).meta({ id: "tree" });
    const table = configSchema([{ name: "t", schema: z.strictObject({ tree }) }])["properties"] as Record<
      string,
      JsonSchema
    >;
    expect(table["t"]).toMatchObject({ $id: "t", properties: { tree: { $ref: "#/$defs/tree" } } });
  });

  test("sees through unions and arrays, and never into prototypes", () => {
    expect(keysAt(schema, ["php", "tls"])).toEqual(["cert", "key"]);
    expect(keysAt(schema, ["bulkhead", "routes", 3, "rules", 0])).toEqual(["path"]);
    expect(keysAt(schema, ["constructor"])).toEqual([]);
    expect(knownPaths(schema)).toContainEqual(["php", "pool", "idle"]);
  });
});

test("configReference lists every key with type, default and meaning", () => {
  expect(configReference(tables.filter(({ name }) => name !== "bulkhead"))).toBe(`## [server]

The public listener.

| key | type | default | |
|---|---|---|---|
| \`listen\` | array of string | \`["127.0.0.1:8080"]\` | Addresses to listen on |
| \`max_body\` | size | \`"8MB"\` | Largest request body |
| \`body_timeout\` | duration | \`"10s"\` | Longest pause between two bytes of a body |

## [admission]

| key | type | default | |
|---|---|---|---|
| \`max_queue\` | whole number | \`100\` |  |
| \`mode\` | \`"fifo"\`, \`"lifo"\` | \`"fifo"\` | Order of the line: a\\|b |
| \`grace\` | duration |  |  |
| \`auto\` | boolean | \`true\` |  |

## [php]

| key | type | default | |
|---|---|---|---|
| \`root\` | string | \`"public"\` |  |
| \`version\` | string |  |  |
| \`password\` | string |  |  |
| \`dsn\` | string | \`"mysql://app@db/shop"\` |  |
| \`env\` | table | \`{}\` |  |
| \`pool.min\` | whole number | \`1\` |  |
| \`pool.idle\` | duration | \`"1m"\` |  |
| \`workers\` | \`"auto"\` or whole number | \`"auto"\` |  |
| \`tls\` | boolean or table | \`false\` |  |

## [plugins.geo]

| key | type | default | |
|---|---|---|---|
| \`use\` | string | **required** | Where the plugin is: a path from the file's folder, or \`npm:…\` |
| \`database\` | string | \`"geo.mmdb"\` |  |
| \`useCache\` | boolean |  |  |
`);
  const sites = z.strictObject({
    sites: z.record(z.string(), z.strictObject({ root: z.string().describe("Its\nfolder") })),
  });
  expect(configReference([{ name: "x", schema: sites }])).toContain(
    "| `sites.*.root` | string | **required** | Its folder |",
  );
  expect(configReference(tables)).toContain("| `routes[].rules[].path` | string | **required** |  |");
});
