import { configSchema } from "../core/config/json_schema.ts";
import { configArgument } from "./arguments.ts";
import { chooseFile, loadTables } from "./prepare.ts";

/** Prints a JSON Schema of the configuration, with the tables of the plugins that the file names. */
export async function schema(args: readonly string[]): Promise<number> {
  const { tables } = await loadTables(chooseFile(configArgument(args)));
  console.log(JSON.stringify(configSchema(tables), null, 2));
  return 0;
}
