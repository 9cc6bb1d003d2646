import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { CoreError } from "../core/error.ts";
import type { Table } from "../core/config/json_schema.ts";
import { parseConfigFile, place, type RawConfig, thirdParty } from "../core/config/read.ts";
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
  return await load(await parseConfigFile(file), []);
}

async function load(raw: RawConfig, given: readonly AnyPlugin[]): Promise<Loaded> {
  const external = [...given];
  for (const { name, use } of thirdParty(raw, given.map((plugin) => plugin.name))) {
    external.push(await loadPlugin(name, use, raw.baseDir));
  }
  for (const { name } of external) {
    if (!reserved.has(name)) continue;
    const where = place(raw, ["plugins", name]);
    throw new CoreError("CONFIG_INVALID", `${where}plugins.${name}: Fairlead has a table of that name; use another`);
  }
  const tables: readonly Table[] = [
    ...coreTables,
    ...builtin.map(({ name, config }) => ({ name, schema: config })),
    ...external.map(({ name, config }) => ({ name, schema: config, external: true })),
  ];
  return { raw, tables, plugins: [...builtin, ...external] };
}

/**
 * Reads, checks and loads everything that comes before listening: the file, the environment, the plugins they name.
 *
 * @example
 * ```ts
 * const { options } = await prepare("./fairlead.toml");
 * const server = await startServer({ ...options, plugins: [...options.plugins, mine] });
 * ```
 */
export async function prepare(named: string | undefined): Promise<Prepared> {
  return await check(await loadTables(chooseFile(named)), process.env);
}

/** What {@linkcode configure} may be told besides the tables. */
export interface ConfigureOptions {
  /** Plugins besides the built-in ones; the table of each is `plugins.NAME`, without a `use`. */
  readonly plugins?: readonly AnyPlugin[];
  /** Where relative paths start; the working directory when absent. */
  readonly baseDir?: string;
  /** Where `FAIRLEAD_*` variables are read; nowhere when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Makes a server's options from code: the tables of `fairlead.toml`, checked as the file is, with its defaults.
 *
 * @throws CONFIG_INVALID with everything that is wrong
 * @example
 * ```ts
 * const server = await startServer(await configure({ server: { public: "./public", listen: ["127.0.0.1:0"] } }));
 * ```
 */
export async function configure(
  tables: Readonly<Record<string, unknown>>,
  { plugins = [], baseDir = ".", env = {} }: ConfigureOptions = {},
): Promise<ServerOptions> {
  const raw: RawConfig = { file: undefined, baseDir: resolve(baseDir), value: tables, line: () => undefined };
  return (await check(await load(raw, plugins), env)).options;
}

async function check({ raw, tables, plugins }: Loaded, env: ConfigureOptions["env"] = {}): Promise<Prepared> {
  const config = await validate(raw, tables, { env });
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
