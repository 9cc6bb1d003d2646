import { parseArgs } from "node:util";
import { CoreError } from "../core/error.ts";

/** The configuration file named by `-c FILE` or `--config FILE`, if any. */
export function configArgument(args: readonly string[]): string | undefined {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { config: { type: "string", short: "c" } },
      strict: true,
    });
    return values.config;
  } catch (cause) {
    throw new CoreError("USAGE", `${(cause as Error).message}; expected -c FILE`, { cause });
  }
}
