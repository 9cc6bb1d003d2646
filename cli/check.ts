import { explainConfig } from "./explain.ts";
import { configArgument } from "./arguments.ts";
import { prepare } from "./prepare.ts";

/** Validates the configuration and prints what is in effect, and where each value comes from. */
export async function check(args: readonly string[]): Promise<number> {
  const { config } = await prepare(configArgument(args));
  console.log(explainConfig(config).trimEnd());
  return 0;
}
