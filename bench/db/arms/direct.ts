/**
 * No proxy: the control, the control once more, and the database's own unix socket.
 *
 * @module
 */
import type { Database } from "../../../tests/support/database.ts";
import { executable } from "../../support/procfs.ts";
import { type ArmProcess, withDoors } from "./arm.ts";

export const DIRECT_ABOUT: Readonly<Record<string, string>> = {
  "direct tcp": "no proxy, loopback TCP: the control",
  "direct tcp again": "the same once more: its ratio to the control is what chance alone does",
  "direct socket": "no proxy, the database's unix socket",
};

export function direct(database: Database): ArmProcess {
  const file = executable(database.pid);
  if (file === undefined) throw new Error(`The database (pid ${database.pid}) is gone`);
  return withDoors(
    {
      arm: "direct",
      pid: database.pid,
      executable: file,
      command: [file],
      config: {},
      stop: () => Promise.resolve(),
    },
    [
      { name: "direct tcp", via: "tcp", place: database },
      { name: "direct tcp again", via: "tcp", place: database },
      { name: "direct socket", via: "socket", place: database },
    ],
  );
}
