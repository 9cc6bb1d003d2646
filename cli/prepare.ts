import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import process from "node:process";
import { CoreError } from "../core/error.ts";
import type { Table } from "../core/config/json_schema.ts";
import { parseConfigFile, type RawConfig, thirdParty } from "../core/config/read.ts";
import { type Config, validate } from "../core/config/validate.ts";
import { loadPlugin } from "../core/loader.ts";
import type { AnyPlugin } from "../core/plugin.ts";
import type { ServerOptions } from "../core/server.ts";
import {
  type AdminSettings,
  adminTable,
  type LogSettings,
  logTable,
  type ServerSettings,
  serverTable,
} from "../core/settings.ts";
import { builtin } from "./builtin.ts";

const coreTables: readonly Table[] = [
  { name: "server", schema: serverTable },
  { name: "admin", schema: adminTable },
  { name: "log", schema: logTable },
];

/** Names that a third-party plugin cannot have: what is configured is kept by name. */
const reserved: ReadonlySet<string> = new Set([...coreTables, ...builtin].map(({ name }) => name));

/** A configuration read and checked, with the plugins it names loaded. */
export interface Prepared {
  readonly config: Config;
  readonly options: ServerOptions;
}

/** The file to read: the one named, else `FAIRLEAD_CONFIG`, else `fairlead.toml` here when there is one. */
export function chooseFile(named: string | undefined): string | undefined {
  return named ?? process.env["FAIRLEAD_CONFIG"] ?? (existsSync("fairlead.toml") ? "fairlead.toml" : undefined);
}

/** A file as it was written, the plugins it names, and every table it may have. */
export interface Loaded {
  readonly raw: RawConfig;
  readonly tables: readonly Table[];
  readonly plugins: readonly AnyPlugin[];
}

/** Reads a file and loads the plugins it names; nothing is validated yet. */
export async function loadTables(file: string | undefined): Promise<Loaded> {
  const raw = await parseConfigFile(file);
  const external: AnyPlugin[] = [];
  for (const { name, use, line } of thirdParty(raw)) {
    if (reserved.has(name)) {
      throw new CoreError(
        "CONFIG_INVALID",
        `${raw.file}:${line ?? "?"}: plugins.${name}: Fairlead has a table of that name; expected another one`,
      );
    }
    external.push(await loadPlugin(name, use, raw.baseDir));
  }
  const tables: readonly Table[] = [
    ...coreTables,
    ...builtin.map(({ name, config }) => ({ name, schema: config })),
    ...external.map(({ name, config }) => ({ name, schema: config, external: true })),
  ];
  return { raw, tables, plugins: [...builtin, ...external] };
}

/** Reads, checks and loads everything that comes before listening. */
export async function prepare(named: string | undefined): Promise<Prepared> {
  const { raw, tables, plugins } = await loadTables(chooseFile(named));
  const config = await validate(raw, tables, { env: process.env });
  const { values, baseDir } = config;
  return {
    config,
    options: {
      server: values["server"] as ServerSettings,
      admin: values["admin"] as AdminSettings,
      log: values["log"] as LogSettings,
      plugins,
      config: values,
      baseDir,
      configHash: createHash("sha256").update(JSON.stringify(values)).digest("hex"),
    },
  };
}
