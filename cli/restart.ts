import { CoreError } from "../core/error.ts";
import { postAdmin } from "./admin_client.ts";
import { adminTarget } from "./admin_target.ts";

/** `fairlead restart`: has a running server start another in its place, and waits until that one serves. */
export async function restart(args: readonly string[]): Promise<number> {
  const { successor, error, code } = await postAdmin(await adminTarget(args, "SIGUSR2"), "/-/restart") as {
    readonly successor?: number;
    readonly error?: string;
    readonly code?: string;
  };
  if (error !== undefined) throw new CoreError(code ?? "HANDOVER_FAILED", error);
  console.log(`pid ${successor} serves now`);
  return 0;
}
