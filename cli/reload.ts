import { parseArgs } from "node:util";
import { CoreError } from "../core/error.ts";
import { adminAddress, postAdmin } from "./admin_client.ts";
import { prepare } from "./prepare.ts";

/** `fairlead reload`: has a running server take new code, and waits until it has. */
export async function reload(args: readonly string[]): Promise<number> {
  const { admin, config } = readArguments(args);
  const listen = admin ?? (await prepare(config)).options.admin.listen;
  if (listen === "") {
    throw new CoreError(
      "ADMIN_OFF",
      "The configuration switches the admin listener off; send the server SIGHUP instead",
    );
  }
  const { reloaded } = await postAdmin(adminAddress(listen), "/-/reload") as {
    readonly reloaded: Readonly<Record<string, string>>;
  };
  for (const [part, outcome] of Object.entries(reloaded)) console.log(`${part}: ${outcome}`);
  return Object.values(reloaded).every((outcome) => outcome === "ok") ? 0 : 1;
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
