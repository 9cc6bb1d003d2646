import { configSchema, type JsonSchema, type Table } from "../core/config/json_schema.ts";
import { isTable } from "../core/config/path.ts";

/** Every table and key in Markdown: name, type (or the schema's title), default and the schema's description. */
export function configReference(tables: readonly Table[]): string {
  const properties = configSchema(tables)["properties"] as Record<string, JsonSchema>;
  return tables.map(({ name, external }) => {
    const schema = external
      ? (properties["plugins"]!["properties"] as Record<string, JsonSchema>)[name]
      : properties[name];
    const rows = rowsOf(isTable(schema) ? schema : {}, "");
    const head = `## [${external ? "plugins." : ""}${name}]\n`;
    const about = isTable(schema) && schema["description"] ? `\n${schema["description"]}\n` : "";
    return head + about +
      (rows.length > 0 ? `\n| key | type | default | |\n|---|---|---|---|\n${rows.join("\n")}\n` : "");
  }).join("\n");
}

function rowsOf(schema: JsonSchema, prefix: string): string[] {
  const required = schema["required"] as string[] | undefined ?? [];
  return Object.entries(schema["properties"] as Record<string, JsonSchema> ?? {}).flatMap(([key, inner]) => {
    const name = prefix + key;
    const named = repeats(inner) ? undefined : inner["additionalProperties"];
    const parts = { ".": inner, "[].": inner["items"], ".*.": named };
    const below = Object.entries(parts).flatMap(([join, part]) => isTable(part) ? rowsOf(part, name + join) : []);
    if (inner["properties"] && !inner["description"]) return below;
    const standard = inner["properties"]
      ? ""
      : "default" in inner
      ? code(inner["default"])
      : required.includes(key)
      ? "**required**"
      : "";
    return [`| \`${name}\` | ${typeOf(inner)} | ${standard} | ${cell(String(inner["description"] ?? ""))} |`, ...below];
  });
}

/** Whether tables below a table have its own keys again: `[db.mysql]` and `[db.mysql.NAME]`. */
function repeats({ properties, additionalProperties: below }: JsonSchema): boolean {
  const keys = (of: unknown) => Object.keys(isTable(of) ? of : {}).join();
  return isTable(below) && properties !== undefined && keys(properties) === keys(below["properties"]);
}

function typeOf(schema: JsonSchema): string {
  const { title, type, items, enum: values, const: only, anyOf, oneOf } = schema as Record<string, unknown>;
  if (title) return String(title);
  if (values || only !== undefined) return (values as unknown[] ?? [only]).map(code).join(", ");
  const ways = (anyOf ?? oneOf) as JsonSchema[] | undefined;
  if (ways) return [...new Set(ways.map(typeOf))].join(" or ");
  if (type === "array") return isTable(items) ? `array of ${typeOf(items)}` : "array";
  const names: Record<string, string> = { object: "table", integer: "whole number" };
  return [type ?? "any"].flat().map((name) => names[String(name)] ?? String(name)).join(" or ");
}

const code = (value: unknown): string => `\`${cell(JSON.stringify(value))}\``;
const cell = (text: string): string => text.replace(/\|/g, "\\|").replace(/\s*\n\s*/g, " ");
