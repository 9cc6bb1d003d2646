import { identify, type Identity } from "../../../core/process_identity.ts";
import { signal } from "../processes.ts";

/**
 * Sends SIGKILL to that very process, and to its group when it leads one; true when it was sent. A process that has ended and
 * whose end nobody has taken keeps its pid and its group: what it started is still ended.
 */
export function killIdentified(who: Identity): boolean {
  if (identify(who.pid)?.started !== who.started) return false;
  return who.group === who.pid ? signal(-who.pid, "SIGKILL") : signal(who.pid, "SIGKILL");
}

/** Ends what an ended process has left behind in the group that it led. */
export function killRest(who: Identity): void {
  if (who.group !== who.pid) return;
  // While a group has members its number is nobody's pid: a process that has it now means that nobody is left.
  const now = identify(who.pid);
  if (now === undefined || now.started === who.started) signal(-who.pid, "SIGKILL");
}
