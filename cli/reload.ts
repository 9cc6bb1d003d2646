import { postAdmin } from "./admin_client.ts";
import { adminTarget } from "./admin_target.ts";

/** `fairlead reload`: has a running server take new code, and waits until it has. */
export async function reload(args: readonly string[]): Promise<number> {
  const { reloaded } = await postAdmin(await adminTarget(args, "SIGHUP"), "/-/reload") as {
    readonly reloaded: Readonly<Record<string, string>>;
  };
  for (const [part, outcome] of Object.entries(reloaded)) console.log(`${part}: ${outcome}`);
  return Object.values(reloaded).every((outcome) => outcome === "ok") ? 0 : 1;
}
