import { readFileSync } from "node:fs";

/** One process for ever: the system gives its pid to another one day, but not with the same time of start. */
export interface Identity {
  readonly pid: number;
  readonly parent: number;
  /** Process group. */
  readonly group: number;
  /** In ticks since the system's boot. */
  readonly started: string;
  /** A letter of `ps`; `Z`: it has ended, and nobody has taken its end. */
  readonly state: string;
}

/** Who has this pid now; undefined when nobody has. */
export function identify(pid: number): Identity | undefined {
  if (!Number.isSafeInteger(pid) || pid < 1) return undefined;
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // proc(5): the name comes second, in brackets, and may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group] = fields;
  const started = fields[19];
  if (state === undefined || started === undefined) return undefined;
  return { pid, parent: Number(parent), group: Number(group), started, state };
}

/** Whether that very process runs. */
export function alive(who: Identity): boolean {
  const now = identify(who.pid);
  return now !== undefined && now.started === who.started && now.state !== "Z" && now.state !== "X";
}
