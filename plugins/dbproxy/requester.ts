import type { Executions } from "../../core/contracts/executions.ts";
import type { Client } from "./session/host.ts";

/**
 * The id of the HTTP request on whose behalf a client had a statement executed that began at `began` (ms on
 * `performance.now`); undefined when the client is no process that runs one, or was at work for another then.
 */
export function requesterOf(client: Client, began: number, executions: Executions): string | undefined {
  const pid = client.peerPid(executions.pids());
  const execution = pid === undefined ? undefined : executions.byPid(pid);
  return execution === undefined || execution.started > began ? undefined : execution.id;
}
