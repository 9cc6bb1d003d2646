/**
 * What clients connect to: a database server, and the proxies before it.
 *
 * @module
 */
import type { Place } from "../../../tests/support/database.ts";
import type { Owner } from "../../support/ownership.ts";

export type Via = "tcp" | "socket";

/** One address where clients log in. */
export interface Door {
  /** `direct tcp`, `fairlead-bun socket always`: unique in a field. */
  readonly name: string;
  readonly arm: string;
  readonly via: Via;
  readonly place: Place;
  readonly process: ArmProcess;
}

/** The process behind doors; of the direct ones it is the database itself. */
export interface ArmProcess extends Owner {
  readonly arm: string;
  readonly command: readonly string[];
  /** Configuration files by name, for the record. */
  readonly config: Readonly<Record<string, string>>;
  readonly doors: readonly Door[];
  stop(): Promise<void>;
}

export interface ProxyOptions {
  /** Where the proxy finds the database (always over TCP), and who logs in. */
  readonly upstream: Place;
  /** An empty folder for configuration, sockets and logs. */
  readonly dir: string;
  readonly fairleadRoot: string;
  /** Appended to each database of the configuration of every Fairlead arm. */
  readonly toml: string;
}

export interface ProxyArm {
  readonly name: string;
  readonly about: string;
  /** Why it cannot stand before this kind of server here; undefined when it can. */
  absent(kind: "mariadb" | "mysql"): string | undefined;
  start(options: ProxyOptions): Promise<ArmProcess>;
}

/** Doors that know their process, which is not there before they are. */
export function withDoors(
  process: Omit<ArmProcess, "doors">,
  doors: readonly Omit<Door, "process" | "arm">[],
): ArmProcess {
  const known: Door[] = [];
  const whole: ArmProcess = { ...process, doors: known };
  for (const door of doors) known.push({ ...door, arm: process.arm, process: whole });
  return whole;
}
