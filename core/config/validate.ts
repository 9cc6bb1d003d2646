import { type Environment, type Override, readOverrides } from "./environment.ts";
import { configSchema, keysAt, type Table, tablePath } from "./json_schema.ts";
import { getIn, isTable, keyName, type Path, setIn, startsWith } from "./path.ts";
import { Places } from "./places.ts";
import { issuePath, problemsOf } from "./problems.ts";
import { type RawConfig, type ReadFile, readText } from "./read.ts";
import { invalidConfig } from "./report.ts";
import { type Setting, settingsOf } from "./settings.ts";

/** A valid configuration. */
export interface Config {
  /** What each table's schema made of it, deeply frozen, by the table's name. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Every key, defaults included, with where its value came from. */
  readonly settings: readonly Setting[];
  readonly baseDir: string;
}

export interface Outside {
  readonly env?: Environment;
  readonly readFile?: ReadFile;
}

/**
 * Lays the environment over the file and gives each table to its schema; a table that is absent gets its defaults.
 * Throws one `CONFIG_INVALID` that lists every problem, or `CONFIG_SECRET`.
 *
 * @example
 * ```ts
 * const raw = await parseConfigFile("fairlead.toml");
 * const { values } = await validate(raw, [{ name: "php", schema: php.config }], { env: process.env });
 * ```
 */
export async function validate(raw: RawConfig, tables: readonly Table[], outside: Outside = {}): Promise<Config> {
  const schema = configSchema(tables);
  const overrides = await readOverrides(outside.env ?? {}, schema, outside.readFile ?? readText);
  const places = new Places(raw, overrides, schema);
  let input: unknown = raw.value;
  for (const table of tables) if (table.external) input = withoutUse(input, tablePath(table));
  for (const { path, readings } of overrides) input = setIn(input, path, readings[0]);

  const problems = [[], ["plugins"]].flatMap((path) => {
    const table = getIn(input, path);
    const keys = isTable(table) ? Object.keys(table).filter((key) => !keysAt(schema, path).includes(key)) : [];
    return problemsOf({ message: "", path, keys }, []);
  });
  const values: Record<string, unknown> = {};
  for (const table of tables) {
    input = await settle(input, table, overrides);
    const result = await check(input, table);
    if (result.issues) problems.push(...result.issues.flatMap((issue) => problemsOf(issue, tablePath(table))));
    else values[table.name] = deepFreeze(result.value);
  }
  if (problems.length > 0) throw invalidConfig(raw.file, problems, input, schema, places);

  const settings = tables.flatMap((table) => {
    const path = tablePath(table);
    const use = table.external ? { use: getIn(raw.value, [...path, "use"]) } : {};
    const written = { ...getIn(input, path) as object, ...use };
    const made = values[table.name];
    return settingsOf(path, written, isTable(made) ? { ...use, ...made } : made, { schema, places });
  });
  return { values: Object.freeze(values), settings, baseDir: raw.baseDir };
}

const check = (input: unknown, table: Table) =>
  table.schema["~standard"].validate(getIn(input, tablePath(table)) ?? {});

/** Where a schema refuses the likelier reading of a variable and takes another, the other it is. */
async function settle(input: unknown, table: Table, overrides: readonly Override[]): Promise<unknown> {
  const base = tablePath(table);
  const refused = async (tried: unknown, path: Path) =>
    (await check(tried, table)).issues?.some((issue) => keyName(issuePath(issue, base)) === keyName(path)) ?? false;
  for (const { path, readings } of overrides) {
    if (readings.length < 2 || !startsWith(path, base) || !await refused(input, path)) continue;
    const other = setIn(input, path, readings[1]);
    if (!await refused(other, path)) input = other;
  }
  return input;
}

function withoutUse(input: unknown, path: readonly string[]): unknown {
  const table = getIn(input, path);
  if (!isTable(table)) return input;
  const { use: _, ...rest } = table;
  return setIn(input, path, rest);
}

function deepFreeze<T>(value: T): T {
  if (isTable(value) || Array.isArray(value)) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
