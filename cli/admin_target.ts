import { parseArgs } from "node:util";
import { CoreError } from "../core/error.ts";
import type { Address } from "../core/http/address.ts";
import { adminAddress } from "./admin_client.ts";
import { prepare } from "./prepare.ts";

/**
 * The admin listener of the server that a command is for: `--admin ADDRESS`, or what the configuration (`-c FILE`) says.
 *
 * @param signal what does the same where there is none
 * @throws CoreError `USAGE`, `ADMIN_OFF`, and those of a configuration that is wrong
 */
export async function adminTarget(args: readonly string[], signal: string): Promise<Address> {
  const { admin, config } = readArguments(args);
  const listen = admin ?? (await prepare(config)).options.admin.listen;
  if (listen === "") {
    throw new CoreError(
      "ADMIN_OFF",
      `The configuration switches the admin listener off; send the server ${signal} instead`,
    );
  }
  return adminAddress(listen);
}

function readArguments(args: readonly string[]) {
  try {
    const options = { config: { type: "string", short: "c" }, admin: { type: "string" } } as const;
    const { values } = parseArgs({ args: [...args], options, strict: true });
    if (values.admin !== undefined && values.config !== undefined) throw new Error("-c and --admin exclude each other");
    return values;
  } catch (cause) {
    throw new CoreError("USAGE", `${(cause as Error).message}; expected [-c FILE | --admin ADDRESS]`, { cause });
  }
}
