import type { StandardSchema } from "../standard_schema.ts";
import { isTable, type Path } from "./path.ts";

/** One table of the configuration and what it may hold. */
export interface Table {
  /** `php` for `[php]`; for a third-party plugin, `geo` for `[plugins.geo]`. */
  readonly name: string;
  readonly schema: StandardSchema;
  /** Set for a third-party plugin. */
  readonly external?: boolean;
}

/** A JSON Schema of draft 2020-12, read loosely. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Where a table stands in the file. */
export function tablePath(table: Table): readonly string[] {
  return table.external ? ["plugins", table.name] : [table.name];
}

/**
 * One JSON Schema over all tables, for editors and for this folder's own knowledge of keys. A table whose library does
 * not speak Standard JSON Schema (standardschema.dev/json-schema) takes anything.
 */
export function configSchema(tables: readonly Table[]): JsonSchema {
  const use = { type: "string", description: "Where the plugin is: a path from the file's folder, or `npm:…`" };
  const external = { type: "object", properties: { use }, required: ["use"] };
  const of = (wanted: boolean) =>
    tables.filter((table) => (table.external ?? false) === wanted).map((table) => [table.name, schemaOf(table)]);
  const extended = of(true).map(([name, schema]) => {
    if (!isTable(schema)) return [name, external];
    const { properties, required } = schema as { properties?: JsonSchema; required?: string[] };
    return [name, { ...schema, properties: { use, ...properties }, required: ["use", ...(required ?? [])] }];
  });
  const plugins = {
    type: "object",
    description: "Third-party plugins",
    properties: Object.fromEntries(extended),
    additionalProperties: external,
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Fairlead configuration",
    type: "object",
    properties: { ...Object.fromEntries(of(false)), plugins },
    additionalProperties: false,
  };
}

function schemaOf({ name, schema }: Table): JsonSchema | true {
  const source = schema["~standard"] as { jsonSchema?: { input(options: unknown): JsonSchema } };
  try {
    const options = { target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } };
    const { $schema: _, ...json } = source.jsonSchema!.input(options);
    return "$defs" in json ? { $id: name, ...json } : json; // its references are to its own root
  } catch {
    return true;
  }
}

/** The schemas that hold at a path: more than one below a union, none where nothing is known. */
export function schemasAt(root: unknown, path: Path): JsonSchema[] {
  return path.reduce<JsonSchema[]>(
    (found, part) => found.flatMap((schema) => branches(child(schema, part))),
    branches(root),
  );
}

function child(schema: JsonSchema, part: string | number): unknown {
  if (typeof part === "number") return schema["items"];
  const properties = schema["properties"] as JsonSchema | undefined;
  return properties?.[part] ?? schema["additionalProperties"];
}

function branches(schema: unknown): JsonSchema[] {
  if (!isTable(schema)) return [];
  return [schema, ...["anyOf", "oneOf", "allOf"].flatMap((way) => (schema[way] as unknown[] ?? []).flatMap(branches))];
}

/** The keys a table may have, as far as known. */
export function keysAt(root: JsonSchema, path: Path): string[] {
  return [...new Set(schemasAt(root, path).flatMap((schema) => Object.keys(schema["properties"] ?? {})))];
}

/** Every key that can be named without an array's index, tables included. */
export function knownPaths(root: JsonSchema, path: readonly string[] = []): (readonly string[])[] {
  return keysAt(root, path).flatMap((key) => [[...path, key], ...knownPaths(root, [...path, key])]);
}
