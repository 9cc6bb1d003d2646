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

/**
 * When the HTTP request must have ended that a client works for now, in ms on `performance.now`; undefined when that cannot be
 * told at once. Of a client on a unix socket the system knows the process; one on TCP would have to be searched for, which is
 * too dear for every wait.
 */
export function deadlineOf(client: Client, executions: Executions): number | undefined {
  const pid = client.peerPid([]);
  return pid === undefined ? undefined : executions.byPid(pid)?.deadline;
}
