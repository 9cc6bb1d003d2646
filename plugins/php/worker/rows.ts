import type { Member } from "./member.ts";
import type { WorkerRestart } from "./restarts.ts";
import type { MemberRules } from "./rules.ts";

/** One process, for people. */
export interface WorkerRow {
  /** 0 while it is not known. */
  readonly pid: number;
  readonly state: "booting" | "idle" | "busy" | "stopping" | "killed";
  /** Why it is to be replaced, or was. */
  readonly due: WorkerRestart | undefined;
  /** Requests it was sent. */
  readonly requests: number;
  /** From its start. */
  readonly uptime: number;
  /** Resident bytes; undefined when not known. */
  readonly rss: number | undefined;
  /** The request it runs. */
  readonly id: string | undefined;
  readonly target: string | undefined;
}

export function rowOf(member: Member, now: number, inspect: MemberRules["inspect"]): WorkerRow {
  const { pid, current } = member;
  return {
    pid,
    state: member.state as WorkerRow["state"],
    due: member.reason ?? member.due,
    requests: member.requests,
    uptime: now - member.bornAt,
    rss: pid === 0 ? undefined : inspect?.(pid)?.rss,
    id: current?.x.id,
    target: current?.x.target,
  };
}
