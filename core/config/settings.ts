import { type JsonSchema, schemasAt } from "./json_schema.ts";
import { isTable, type Path, type TomlTable } from "./path.ts";
import { maskUrls, type Places } from "./places.ts";

/** One key of the effective configuration. */
export interface Setting {
  readonly path: Path;
  /** As one would write it in the file (`"10s"`), secrets masked. */
  readonly value: unknown;
  /** `default`, `fairlead.toml:12`, `env FAIRLEAD_…` or `file /run/secrets/…`. */
  readonly from: string;
}

interface Known {
  readonly schema: JsonSchema;
  readonly places: Places;
}

/**
 * Lists the keys at and below `path`, the plain ones of each table before its tables, as TOML wants them. `input` is
 * what was written, by the user or else (`preset`) in a default; `output` is what the schema made of it.
 */
export function settingsOf(path: Path, input: unknown, output: unknown, known: Known, preset = false): Setting[] {
  const { schema, places } = known;
  const written = input ?? schemasAt(schema, path).find((at) => at["default"] !== undefined)?.["default"];
  const unset = preset || input === undefined;
  const open = written === undefined || typeof written === "object";
  const rows = Array.isArray(output) && output.length > 0 && output.every(isTable);
  if (open && (rows || isTable(output))) {
    const parts = Object.entries(output).map(([key, made]) =>
      settingsOf([...path, rows ? Number(key) : key], (written as TomlTable | undefined)?.[key], made, known, unset)
    );
    const nested = (part: Setting[]) => Number(part.length !== 1 || part[0]!.path.length > path.length + 1);
    return parts.sort((a, b) => nested(a) - nested(b)).flat();
  }
  const value = written ?? output;
  if (value === undefined || value === null) return [];
  const from = unset ? "default" : places.from(path) ?? "default";
  return [{ path, value: masked(path, value, places), from }];
}

/** A value without its secrets, those inside arrays too. */
function masked(path: Path, value: unknown, places: Places): unknown {
  if (places.secret(path)) return "***";
  if (Array.isArray(value)) return value.map((inner, i) => masked([...path, i], inner, places));
  if (!isTable(value)) return maskUrls(value);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked([...path, key], inner, places)]));
}
